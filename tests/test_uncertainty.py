"""Intervals: those of scipy, bit for bit, and what the verdicts mean."""

import math

import numpy as np
import pytest
from scipy import stats

from rankbound import build_ranking_report, ranking_uncertainty
from rankbound.errors import (
    EmptyInputError,
    InvalidParameterError,
    InvalidTypeError,
    ShapeError,
)

# Older releases of scipy take their quantiles from numpy, whose last bit differs.
as_in_scipy = pytest.mark.skipif(not hasattr(stats, "quantile"), reason="needs a scipy with stats.quantile")


def scipy_limits(statistic, *samples, n_resamples, confidence_level=0.95, seed=0):
    found = stats.bootstrap(
        samples,
        statistic,
        paired=True,
        vectorized=True,
        axis=-1,
        n_resamples=n_resamples,
        batch=64,
        confidence_level=confidence_level,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return tuple(map(float, found.confidence_interval))


def ratio(sums, counts, axis=-1):
    return sums.sum(axis=axis) / counts.sum(axis=axis)


def ratio_difference(model, floor, counts, axis=-1):
    return ratio(model, counts, axis) - ratio(floor, counts, axis)


def limits(found):
    return found["ci_low"], found["ci_high"]


@as_in_scipy
@pytest.mark.parametrize("n_lists", [2, 7, 8, 100, 129, 500, 1023])
@pytest.mark.parametrize(("seed", "level"), [(0, 0.95), (12345678901234567890, 0.8)])
def test_lists_are_resampled_as_by_scipy(n_lists, seed, level):
    rng = np.random.default_rng(n_lists)
    model, floor, ones = rng.random(n_lists), rng.random(n_lists) / 3, np.ones(n_lists)
    found = ranking_uncertainty(
        {"m": model}, {"f": {"m": floor}}, n_resamples=99, confidence_level=level, seed=seed, num_threads=2
    )
    options = {"n_resamples": 99, "confidence_level": level, "seed": seed}
    assert limits(found["model"]["m"]) == scipy_limits(ratio, model, ones, **options)
    of_floor = found["baselines"]["f"]
    assert limits(of_floor["metrics"]["m"]) == scipy_limits(ratio, floor, ones, **options)
    assert limits(of_floor["difference"]["m"]) == scipy_limits(ratio_difference, model, floor, ones, **options)
    means = math.fsum(model) / n_lists, math.fsum(floor) / n_lists
    assert found["model"]["m"]["estimate"] == pytest.approx(means[0], rel=1e-15)
    assert of_floor["difference"]["m"]["estimate"] == pytest.approx(means[0] - means[1], rel=1e-14)


@as_in_scipy
@pytest.mark.parametrize("n_units", [2, 30, 400])
def test_groups_are_resampled_as_by_scipy(n_units):
    rng = np.random.default_rng(n_units)
    units = np.concatenate([np.arange(n_units), rng.integers(0, n_units, 3 * n_units)])
    rng.shuffle(units)
    # Multiples of 2^-20, whose sums are exact in any order.
    model, floor = rng.integers(0, 2**20, (2, len(units))) / 2**20
    sums = [np.bincount(units, values) for values in (model, floor)]
    counts = np.bincount(units).astype(float)
    names = np.array([f"user {unit:04}" for unit in units])
    found = ranking_uncertainty({"m": model}, {"f": {"m": floor}}, groups=names, n_resamples=200)
    assert (found["unit"], found["n_units"]) == ("group", n_units)
    assert limits(found["model"]["m"]) == scipy_limits(ratio, sums[0], counts, n_resamples=200)
    difference = found["baselines"]["f"]["difference"]["m"]
    assert limits(difference) == scipy_limits(ratio_difference, *sums, counts, n_resamples=200)
    assert found["model"]["m"]["estimate"] == sums[0].sum() / len(units)
    assert difference["n_nonzero"] == (sums[0] != sums[1]).sum()


@as_in_scipy
@pytest.mark.parametrize("grouped", [False, True])
def test_the_intervals_of_a_report_are_those_of_scipy(grouped):
    rng = np.random.default_rng(5)
    # A power of two of columns tie or none: every value is exact.
    scores = rng.permuted(np.tile(np.arange(8.0), (120, 1)), axis=1) // rng.choice([1, 2, 4], (120, 1))
    truths = rng.integers(-1, 8, 120)
    units = np.concatenate([np.arange(30), rng.integers(0, 30, 90)]) if grouped else np.arange(120)
    report = build_ranking_report(
        scores, truths, k=3, popularity=[8, 7, 6, 5, 4, 3, 2, 1], groups=units if grouped else None
    )
    seen = truths >= 0
    own = scores[np.arange(120), truths][:, np.newaxis]
    better, tied = (scores > own).sum(1), (scores == own).sum(1)
    hits = np.where(seen, np.clip(3 - better, 0, tied) / tied, 0)
    floor = np.where(seen, truths < 3, 0).astype(float)
    counts = np.bincount(units).astype(float)
    sums = [np.bincount(units, values) for values in (hits, floor)]
    found = report["uncertainty"]
    assert limits(found["model"]["hit@3"]) == scipy_limits(ratio, sums[0], counts, n_resamples=1000)
    of_floor = found["baselines"]["global_pop"]
    assert limits(of_floor["metrics"]["hit@3"]) == scipy_limits(ratio, sums[1], counts, n_resamples=1000)
    difference = of_floor["difference"]["hit@3"]
    assert limits(difference) == scipy_limits(ratio_difference, *sums, counts, n_resamples=1000)
    assert found["model"]["hit@3"]["estimate"] == report["objectives"]["accuracy"]["micro"]["hit@3"] == hits.mean()
    assert difference["estimate"] == pytest.approx(hits.mean() - floor.mean(), rel=1e-14)
    assert difference["n_nonzero"] == (sums[0] != sums[1]).sum()


def test_two_units_by_hand():
    # Lists 1, 0, 0, 0: a resample holds the first unit twice, once or never, and 1/4 of all are (1, 1).
    found = ranking_uncertainty(
        {"m": [1, 0, 0, 0]}, groups=["b", "a", "a", "a"], n_resamples=4000, confidence_level=0.6
    )
    assert found["model"]["m"] == {"estimate": 0.25, "ci_low": 0.0, "ci_high": 1.0}
    narrow = ranking_uncertainty(
        {"m": [1, 0, 0, 0]}, groups=["b", "a", "a", "a"], n_resamples=4000, confidence_level=0.4
    )
    assert limits(narrow["model"]["m"]) == (0.25, 0.25)


def test_metrics_and_baselines_share_their_draws():
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 50))
    together = ranking_uncertainty({"a": a, "b": b}, {"x": {"a": b, "b": a}, "y": {"a": a, "b": b}}, n_resamples=50)
    assert together["model"]["a"] == ranking_uncertainty({"a": a}, n_resamples=50)["model"]["a"]
    assert together["baselines"]["x"]["metrics"]["b"] == together["model"]["a"]
    mirrored = [-limit for limit in reversed(limits(together["baselines"]["x"]["difference"]["b"]))]
    assert limits(together["baselines"]["x"]["difference"]["a"]) == pytest.approx(mirrored, rel=1e-12)
    itself = {"estimate": 0.0, "ci_low": 0.0, "ci_high": 0.0, "verdict": "undecided", "n_nonzero": 0}
    assert together["baselines"]["y"]["difference"]["a"] == itself


@pytest.mark.parametrize(
    ("model", "floor", "verdict"),
    [
        ([1, 1, 1, 1], [0, 0, 0, 0], "model_ahead"),
        ([0, 0, 0, 0], [1, 1, 1, 1], "baseline_ahead"),
        ([1, 0, 1, 0], [0, 1, 0, 1], "undecided"),
        ([1, 1, 1, 1], [1, 1, 1, 1], "undecided"),
        # A limit of exactly 0 decides nothing.
        ([1, 0, 0, 0], [0, 0, 0, 0], "undecided"),
        ([0, 0, 0, 0], [1, 0, 0, 0], "undecided"),
    ],
)
def test_verdicts(model, floor, verdict):
    difference = ranking_uncertainty({"m": model}, {"f": {"m": floor}})["baselines"]["f"]["difference"]["m"]
    assert difference["verdict"] == verdict
    assert difference["n_nonzero"] == sum(a != b for a, b in zip(model, floor, strict=True))


def test_few_units_that_differ_are_warned_of():
    scores = np.eye(2)[[0] * 40]
    few = build_ranking_report(scores, [0] * 11 + [1] * 29, popularity=[0, 1], k=1, n_resamples=20)
    assert not any("take the interval with care" in warning for warning in few["warnings"])
    for truths, n_nonzero in (([-1] * 11 + [1] * 29, 29), ([-1] * 40, 0)):
        report = build_ranking_report(scores, truths, popularity=[0, 1], k=1, n_resamples=20, eval_all_objectives=False)
        wanted = f"only {n_nonzero} units tell the model and global_pop apart in ndcg@1: take the interval with care"
        assert wanted in report["warnings"]


@pytest.mark.parametrize("options", [{"n_resamples": 0}, {"groups": [1, 1, 1]}])
def test_no_intervals(options):
    assert ranking_uncertainty({"m": [1, 2, 3]}, **options) is None
    report = build_ranking_report(np.eye(3), [0, 1, 2], y_train=[0], **options)
    assert report["uncertainty"] is None
    assert report["protocol"]["uncertainty"] is None


def test_one_list_has_no_interval():
    assert ranking_uncertainty({"m": [1]}) is None
    assert build_ranking_report([[1.0, 0.0]], [0])["uncertainty"] is None


def test_protocol_of_the_intervals():
    found = ranking_uncertainty({"m": np.array([1, 0], bool)}, n_resamples=7, confidence_level=0.9, seed=3)
    assert {name: value for name, value in found.items() if name != "model"} == {
        "unit": "row",
        "n_units": 2,
        "n_resamples": 7,
        "confidence_level": 0.9,
        "seed": 3,
        "method": "paired percentile cluster bootstrap",
        "baselines": {},
    }


def test_the_order_of_the_lists_does_not_matter_with_groups():
    rng = np.random.default_rng(0)
    model, units = rng.random(80), rng.integers(0, 20, 80)
    found = ranking_uncertainty({"m": model}, groups=units, n_resamples=100, num_threads=1)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(80)
        assert ranking_uncertainty({"m": model[order]}, groups=units[order], n_resamples=100) == found
    renamed = np.array([f"{unit:02}" for unit in units])
    assert ranking_uncertainty({"m": model}, groups=renamed, n_resamples=100) == found


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        (({},), {}, EmptyInputError, "values is empty"),
        (({"m": []},), {}, EmptyInputError, "values is empty"),
        (([1, 2],), {}, InvalidTypeError, "values must map metric names to values per list, got list"),
        (({"m": ["a"]},), {}, InvalidTypeError, r"values\['m'\] must be one number per list"),
        (({"m": [[1.0]]},), {}, InvalidTypeError, r"one number per list, got float64 of \(1, 1\)"),
        (({"m": [1, math.nan]},), {}, InvalidParameterError, r"values\['m'\] has nan at list 1"),
        (({"m": [1, -math.inf]},), {}, InvalidParameterError, r"values\['m'\] has -inf at list 1"),
        (({"m": [1, 2], "n": [1]},), {}, ShapeError, "values has 1 lists under 'n', but 2 elsewhere"),
        (({"m": [1, 2]}, {"f": {"n": [1, 2]}}), {}, ShapeError, r"baselines\['f'\] has the metrics \['n'\]"),
        (({"m": [1, 2]}, {"f": {"m": [1]}}), {}, ShapeError, r"baselines\['f'\] has 1 lists under 'm', but 2"),
        (({"m": [1, 2]}, {"f": {"m": [1, math.nan]}}), {}, InvalidParameterError, r"\['f'\]\['m'\] has nan at list 1"),
        (({"m": [1, 2]},), {"groups": [1]}, ShapeError, "groups has 1 entries, but there are 2 lists"),
        (({"m": [1, 2]},), {"groups": [1, None]}, InvalidTypeError, "groups has no label at position 1"),
        (({"m": [1, 2]},), {"n_resamples": -1}, InvalidParameterError, "n_resamples must be at least 0, got -1"),
        (({"m": [1, 2]},), {"n_resamples": 1.5}, InvalidTypeError, "n_resamples must be an integer, got 1.5"),
        (({"m": [1, 2]},), {"confidence_level": 1.0}, InvalidParameterError, "confidence_level must lie between 0"),
        (({"m": [1, 2]},), {"confidence_level": math.nan}, InvalidParameterError, "confidence_level must be finite"),
        (({"m": [1, 2]},), {"seed": -4}, InvalidParameterError, "seed must be at least 0, got -4"),
        (({"m": [1, 2]},), {"num_threads": 0}, InvalidParameterError, "num_threads must be between"),
    ],
)  # fmt: skip
def test_refused(args, options, error, words):
    with pytest.raises(error, match=words):
        ranking_uncertainty(*args, **options)
