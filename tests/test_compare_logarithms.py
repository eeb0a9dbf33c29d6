"""Metrics whose values are logarithms: gaps are log ratios of means, whatever the size of the exponentials."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

from compared import Result
from rankbound import EvaluationResult, compare_models, compare_pair, evaluate_scores
from rankbound.compare import compare_slices, equivalence, largest_changes, noninferiority
from rankbound.errors import ComparisonError
from rankbound.gate import run_gate
from rankbound.metrics import LogRBP

KEY = "LogRBP.logmean"
QUICK = {"n_resamples": 400, "num_threads": 2}
TESTS = ["randomization", "t", "bootstrap"]


def log_mean(values):
    return float(np.logaddexp.reduce(values) - math.log(len(values)))


def logs(values, ids=None, **fields):
    values = np.asarray(values, float)
    return Result({KEY: values}, ids, aggregates={KEY: log_mean(values[~np.isnan(values)])}, **fields)


def shares(n_lists, seed=0, *, n_models=2):
    """Rank-biased precisions that are neither 0 nor so small that scipy could not divide them."""
    return np.random.default_rng(seed).uniform(0.05, 0.6, (n_models, n_lists))


def scipy_limits(candidate, baseline, counts, method):
    def log_ratio(a, b, n_lists, axis=-1):
        return np.log(a.sum(axis=axis) / n_lists.sum(axis=axis)) - np.log(b.sum(axis=axis) / n_lists.sum(axis=axis))

    return stats.bootstrap(
        (candidate, baseline, counts),
        log_ratio,
        paired=True,
        vectorized=True,
        n_resamples=400,
        batch=50,
        method=method,
        rng=np.random.default_rng(0),
    )


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("shift", [0.0, -900.0])
def test_intervals_are_scipys_of_the_log_ratio(method, shift):
    baseline, candidate = shares(40)
    candidate *= 1.3
    expected = scipy_limits(candidate, baseline, np.ones(40), {"bca": "BCa"}.get(method, method))
    # A shift of both changes no ratio, but the exponentials underflow.
    found = compare_pair(
        logs(np.log(baseline) + shift), logs(np.log(candidate) + shift), KEY, interval_method=method, **QUICK
    )
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(expected.confidence_interval), rel=1e-9)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    assert found.difference == pytest.approx(math.log(candidate.mean() / baseline.mean()), rel=1e-9)
    assert found.relative_difference == pytest.approx(candidate.mean() / baseline.mean() - 1, rel=1e-9)
    assert found.n_dropped == 0


def test_lists_of_a_user_are_one_unit():
    ids = np.random.default_rng(1).integers(0, 12, 40)
    baseline, candidate = shares(40, 1)
    units, unit_of, counts = np.unique(ids, return_inverse=True, return_counts=True)
    sums = [np.bincount(unit_of, values) for values in (candidate, baseline)]
    expected = scipy_limits(*sums, counts.astype(float), "percentile")
    # Users whose lists are far below the others' keep their digits.
    found = compare_pair(logs(np.log(baseline), ids), logs(np.log(candidate), ids), KEY, **QUICK)
    assert (found.n_samples, found.n_units) == (40, len(units))
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(expected.confidence_interval), rel=1e-9)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_signs_are_flipped_of_the_exponentials(alternative):
    # All or nothing, so that sums tie.
    baseline, candidate = np.random.default_rng(2).integers(0, 2, (2, 14))
    gaps = candidate - baseline
    sums = np.array([np.dot(signs, gaps) for signs in itertools.product((1, -1), repeat=14)])
    extreme = {"two-sided": abs(sums) >= abs(gaps.sum()), "greater": sums >= gaps.sum(), "less": sums <= gaps.sum()}
    with np.errstate(divide="ignore"):
        values = [np.log(of) - 814.5 for of in (baseline, candidate)]
    found = compare_pair(*map(logs, values), KEY, alternative=alternative, **QUICK)
    assert found.p_value == extreme[alternative].mean()
    assert found.n_nonzero == np.count_nonzero(gaps)
    distinct = shares(9, 3)
    plain = compare_pair(*(Result({"rbp": of}) for of in distinct), "rbp", alternative=alternative, **QUICK)
    found = compare_pair(*(logs(np.log(of) - 814.5) for of in distinct), KEY, alternative=alternative, **QUICK)
    assert (found.p_value, found.exact) == (plain.p_value, True)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_t_is_scipys_of_the_exponentials(alternative):
    baseline, candidate = shares(30, 4)
    found = compare_pair(
        logs(np.log(baseline) - 900),
        logs(np.log(candidate) - 900),
        KEY,
        test_method="t",
        alternative=alternative,
        **QUICK,
    )
    expected = stats.ttest_rel(candidate, baseline, alternative=alternative).pvalue
    assert found.p_value == pytest.approx(expected, rel=1e-9)


def test_the_bootstrap_test_shifts_log_ratios():
    baseline, candidate = shares(30, 5)
    draws = np.random.default_rng(0).integers(0, 30, (400, 30))
    replicates = np.log(candidate[draws].mean(axis=1) / baseline[draws].mean(axis=1))
    estimate = math.log(candidate.mean() / baseline.mean())
    found = compare_pair(logs(np.log(baseline)), logs(np.log(candidate)), KEY, test_method="bootstrap", **QUICK)
    assert found.p_value == (1 + (abs(replicates - estimate) >= abs(estimate)).sum()) / 401


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_neither_the_order_of_models_nor_a_third_one_matters(method, test):
    a, b = (np.log(of) - 40 for of in shares(50, 6))
    a[3] = b[7] = -math.inf
    options = {"interval_method": method, "test_method": test, "correction": None, **QUICK}
    forward = compare_models({"a": logs(a), "b": logs(b)}, **options)[0]
    backward = compare_models({"b": logs(b), "a": logs(a)}, **options)[0]
    assert (backward.difference, backward.ci_low, backward.ci_high) == (
        -forward.difference,
        -forward.ci_high,
        -forward.ci_low,
    )
    assert (backward.p_value, backward.standard_error) == (forward.p_value, forward.standard_error)
    # Beside the best model the others underflow.
    far = compare_models({"far": logs(a + 900), "a": logs(a), "b": logs(b)}, **options)[2]
    assert (far.ci_low, far.ci_high, far.p_value) == (forward.ci_low, forward.ci_high, forward.p_value)


def test_models_far_apart_are_told_apart():
    far = np.full(25, -814.0)
    far[::2] -= 1
    found = compare_pair(logs(far), logs(np.full(25, -2.0)), KEY, **QUICK)
    assert found.difference == pytest.approx(-2 - log_mean(far), rel=1e-12)
    assert found.ci_low < found.difference < found.ci_high
    assert (found.direction, found.relative_difference) == ("better", math.inf)


def test_the_aggregates_of_an_evaluation_are_compared():
    rng = np.random.default_rng(7)
    targets = (rng.random((60, 12)) < 0.1).astype(int)
    results = [
        evaluate_scores(scores, targets, metrics=[LogRBP(3), "ndcg@3"], collect_per_user=True)
        for scores in (rng.random((60, 12)), rng.random((60, 12)) + 0.4 * targets)
    ]
    report = compare_models(dict(zip("ab", results, strict=True)), **QUICK)
    assert [row.metric for row in report] == ["LogRBP@3.logmean", "ndcg@3"]
    assert report[0].difference == results[1]["LogRBP@3.logmean"] - results[0]["LogRBP@3.logmean"]
    assert report[0].direction == "better"
    assert not report.skipped_metrics


def test_values_in_single_precision():
    baseline, candidate = (np.log(of) for of in shares(40, 8))
    exact = compare_pair(logs(baseline), logs(candidate), KEY, **QUICK)
    single = [logs(of) for of in (baseline, candidate)]
    for of in single:
        of.per_user = {KEY: of.per_user[KEY].astype(np.float32)}
    found = compare_pair(*single, KEY, **QUICK)
    assert (found.ci_low, found.ci_high) == pytest.approx((exact.ci_low, exact.ci_high), abs=1e-6)


@pytest.mark.parametrize("test", TESTS)
def test_a_model_that_finds_nothing_is_named(test):
    nothing, something = np.full(30, -math.inf), np.log(shares(30)[0])
    for values, difference in [((something, nothing), -math.inf), ((nothing, something), math.inf)]:
        report = compare_models(
            {"old": logs(values[0]), "new": logs(values[1])}, test_method=test, interval_method="bca", **QUICK
        )
        (found,) = report
        assert found.difference == difference
        assert math.isnan(found.ci_low)
        assert math.isnan(found.ci_high)
        assert math.isnan(found.standard_error)
        name = "new" if values[1] is nothing else "old"
        words = f"no interval in {KEY}: the mean of {name} is 0, whose logarithm is minus infinity"
        assert words in report.to_markdown()
        # No resample has a log ratio, which the bootstrap takes to speak against a difference.
        assert (found.direction == "inconclusive") == (test == "bootstrap")
        assert json.loads(report.to_json())["comparisons"][0]["ci_low"] is None
    (both,) = compare_models({"old": logs(nothing), "new": logs(nothing)}, test_method=test, **QUICK)
    assert math.isnan(both.difference)
    assert (both.p_value, both.direction, both.n_nonzero) == (1.0, "inconclusive", 0)


def test_resamples_without_a_logarithm_are_counted():
    # Two of twelve lists count: (10/12)^12 = 11% of the resamples have neither.
    few = np.full(12, -math.inf)
    few[[3, 8]] = -1.0
    found = compare_models({"few": logs(few), "all": logs(np.full(12, -2.0))}, **QUICK)
    draws = np.random.default_rng(0).integers(0, 12, (400, 12))
    assert found[0].n_dropped == (~np.isin(draws, [3, 8]).any(axis=1)).sum()
    assert math.isnan(found[0].ci_low)
    assert f"{found[0].n_dropped} of 400 resamples have none" in found.to_markdown()


def test_studentized_limits_are_of_means_alone():
    found = compare_pair(*(logs(np.log(of)) for of in shares(30)), KEY, interval_method="studentized", **QUICK)
    assert math.isnan(found.ci_low)
    assert found.n_dropped == 400
    assert found.standard_error > 0


def test_lists_without_a_value_are_left_out_and_counted():
    baseline, candidate = (np.log(of) for of in shares(30, 9))
    ids = np.arange(30) // 2
    whole = {"a": logs(baseline, ids), "b": logs(candidate, ids)}
    without = np.arange(30) % 7 != 0
    holes = [np.where(without, of, math.nan) for of in (baseline, candidate)]
    other = [{KEY: of, "m": np.exp(of)} for of in (baseline, candidate)]
    for of, values in zip(other, holes, strict=True):
        of[KEY] = values
    aggregates = [{KEY: log_mean(of[KEY][without]), "m": of["m"].mean()} for of in other]
    results = [Result(of, ids, aggregates=means) for of, means in zip(other, aggregates, strict=True)]
    report = compare_models(dict(zip("ab", results, strict=True)), **QUICK)
    alone = compare_pair(*(logs(of.per_user[KEY][without], ids[without]) for of in whole.values()), KEY, **QUICK)
    assert (report[0].n_samples, report[0].n_undefined, report[0].n_units) == (25, 5, 15)
    assert (report[1].n_samples, report[1].n_undefined) == (30, 0)
    assert (report[0].ci_low, report[0].p_value) == (alone.ci_low, alone.p_value)
    assert f"{KEY} has no value in 5 lists, which were left out" in report.to_markdown()
    # A list that only one of them has a value for is no pair.
    with pytest.raises(ComparisonError, match="b has no value at id 0, where a has one"):
        compare_models({"a": logs(baseline), "b": logs(holes[1])}, metrics=[KEY], **QUICK)
    with pytest.raises(ComparisonError, match="baseline has no list with a value"):
        compare_pair(*(Result({KEY: [math.nan] * 3}, aggregates={}) for _ in "ab"), KEY, **QUICK)


def test_slices_of_lists_without_a_value_are_refused():
    values = np.log(shares(6)[0])
    values[4:] = math.nan
    slices = ["x", "x", "y", "y", "z", "z"]
    with pytest.raises(ComparisonError, match="slices has 'z', no list of which has a value"):
        compare_slices(logs(values), logs(values), KEY, slices=slices, **QUICK)
    slices[4:] = "yy"
    found = compare_slices(logs(values), logs(values), KEY, slices=slices, **QUICK)
    assert [(row.slice, row.n_samples, row.n_undefined) for row in found] == [("x", 2, 0), ("y", 2, 2)]


@pytest.mark.parametrize("test", TESTS)
def test_a_margin_is_a_log_ratio(test):
    baseline, candidate = shares(12, 10)
    ids = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    margin = 0.25
    found = equivalence(
        logs(np.log(baseline), ids), logs(np.log(candidate), ids), KEY, margin=margin, test_method=test, **QUICK
    )
    raised, lowered = (logs(np.log(candidate) + shift, ids) for shift in (margin, -margin))
    worse = compare_pair(logs(np.log(baseline), ids), raised, KEY, alternative="greater", test_method=test, **QUICK)
    better = compare_pair(logs(np.log(baseline), ids), lowered, KEY, alternative="less", test_method=test, **QUICK)
    assert (found.p_worse, found.p_better) == pytest.approx((worse.p_value, better.p_value), rel=1e-9)
    one_sided = noninferiority(
        logs(np.log(baseline), ids), logs(np.log(candidate), ids), KEY, margin=margin, test_method=test, **QUICK
    )
    assert one_sided.p_value == found.p_worse


def test_changes_of_units_are_log_ratios():
    before = [-1.0, -math.inf, -math.inf, -900.0, -901.0, -3.0]
    after = [-1.0, -math.inf, -2.0, -899.0, -900.0, -math.inf]
    ids = ["same", "nothing", "found", "both", "both", "lost"]
    found = largest_changes(logs(before, ids), logs(after, ids), KEY)
    assert [change.unit for change in found.improved] == ["found", "both"]
    assert found.improved[1].difference == pytest.approx(1.0, rel=1e-12)
    assert found.improved[1].baseline_mean == pytest.approx(log_mean([-900, -901]), rel=1e-14)
    assert [(change.unit, change.difference) for change in found.regressed] == [("lost", -math.inf)]
    assert found.n_unchanged == 2


def evaluation(scores, targets):
    return evaluate_scores(scores, targets, metrics=[LogRBP(3)], collect_per_user=True)


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(11)
    targets = np.eye(12, dtype=int)[rng.integers(0, 12, 200)]
    scores = rng.random((200, 12))
    hopeless = np.where(targets, -1.0, scores)
    return {
        name: evaluation(of, targets)
        for name, of in [("good", scores + 0.5 * targets), ("bad", scores), ("none", hopeless)]
    }


METRIC = "LogRBP@3.logmean"


@pytest.mark.parametrize(
    ("rules", "pair", "code", "words"),
    [
        ({"floor": [{"metric": METRIC, "at_least": -4.0}]}, ("good", None), 0, "interval [-"),
        ({"floor": [{"metric": METRIC, "at_least": -2.0}]}, ("good", None), 1, "interval [-"),
        ({"floor": [{"metric": METRIC, "at_least": -9.0}]}, ("none", None), 1, "interval [-inf, -inf]"),
        ({"regression": [{"metric": METRIC, "max_drop": 0.1}]}, ("good", "bad"), 0, "paired interval ["),
        ({"regression": [{"metric": METRIC, "max_drop": 0.1}]}, ("bad", "good"), 1, "paired interval ["),
        ({"regression": [{"metric": METRIC, "max_relative_drop": 0.05}]}, ("bad", "good"), 1, "paired interval ["),
        ({"regression": [{"metric": METRIC, "max_relative_drop": 1.0}]}, ("bad", "good"), 0, "paired interval ["),
        ({"regression": [{"metric": METRIC, "max_drop": 0.1}]}, ("none", "good"), 2, "is no difference"),
        ({"regression": [{"metric": METRIC, "max_drop": 0.1}]}, ("good", "none"), 2, "is no difference"),
        ({"regression": [{"metric": METRIC, "max_drop": 0.1}]}, ("none", "none"), 2, "is no difference"),
    ],
)  # fmt: skip
def test_a_gate_judges_log_ratios(models, rules, pair, code, words):
    candidate, against = pair
    found = run_gate(models[candidate], policy=rules, against=models.get(against))
    assert found.exit_code == code
    assert words in found.to_text()


def test_the_interval_of_a_floor_is_that_of_the_logarithm(models):
    found = run_gate(models["good"], policy={"floor": [{"metric": METRIC, "at_least": -4.0}], "n_resamples": 400})
    values = np.exp(models["good"].per_user[METRIC])
    replicates = values[np.random.default_rng(0).integers(0, 200, (400, 200))].mean(axis=1)
    low, high = np.log(np.quantile(replicates, [0.025, 0.975]))
    assert f"interval [{low:.6g}, {high:.6g}]" in found.to_text()


def test_a_relative_drop_is_a_share_before_the_logarithm():
    before, after = logs_result(-2.0), logs_result(-2.0 + math.log(0.895))
    for share, code in [(0.11, 0), (0.1, 1)]:
        rules = {"regression": [{"metric": METRIC, "max_relative_drop": share}]}
        assert run_gate(after, policy=rules, against=before).exit_code == code


def logs_result(value):
    values = np.full(9, value)
    return EvaluationResult(
        metrics={METRIC: value},
        n_rows=9,
        n_scored_rows=9,
        n_units=9,
        required_k=3,
        per_user={METRIC: values},
        sample_ids=np.arange(9),
    )
