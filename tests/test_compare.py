"""Paired comparison: tests and intervals against enumeration and scipy, whatever the order of models and lists."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import rankbound
from compared import Report, Result, models, result
from rankbound import compare_models, compare_pair
from rankbound.compare import compare_slices
from rankbound.compare.corrections import adjust_p_values
from rankbound.errors import (
    ComparisonError,
)

METHODS = ["percentile", "bca", "studentized"]
TESTS = ["randomization", "t", "bootstrap"]
QUICK = {"n_resamples": 500, "num_threads": 2}


def exact_p(gaps, alternative):
    total = sum(gaps)
    sums = [
        sum(s * g for s, g in zip(signs, gaps, strict=True)) for signs in itertools.product((1, -1), repeat=len(gaps))
    ]
    extreme = {
        "two-sided": lambda s: abs(s) >= abs(total),
        "greater": lambda s: s >= total,
        "less": lambda s: s <= total,
    }[alternative]
    return sum(map(extreme, sums)) / len(sums)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_few_units_are_tested_over_all_signs(alternative):
    rng = np.random.default_rng(0)
    for n_units in (1, 2, 5, 10):
        # Small integers, so that statistics tie.
        gaps = rng.integers(-3, 5, n_units)
        found = compare_pair(result(np.zeros(n_units)), result(gaps), "m", alternative=alternative, **QUICK)
        assert found.p_value == exact_p(gaps.tolist(), alternative)
        assert found.exact
        assert found.n_nonzero == np.count_nonzero(gaps)
        assert found.tie_rate == pytest.approx(np.mean(gaps == 0))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_exact_p_values_are_scipys(alternative):
    a, b = np.random.default_rng(1).random((2, 12))
    found = compare_pair(result(b), result(a), "m", alternative=alternative, **QUICK)
    expected = stats.permutation_test(
        (a, b),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
        vectorized=True,
    )
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize("n_units", [30, 64, 130])
def test_random_signs_are_the_bits_of_numpys_stream(n_units):
    # Integers: sums of floats are exact.
    gaps = np.random.default_rng(n_units).integers(-5, 7, n_units).astype(float)
    n_words = -(-n_units // 64)
    words = np.random.PCG64(7).random_raw(700 * n_words).astype("<u8").reshape(700, n_words)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :n_units]
    sums = (np.where(bits, -1, 1) * gaps).sum(axis=1)
    for alternative, extreme in {
        "two-sided": abs(sums) >= abs(gaps.sum()),
        "greater": sums >= gaps.sum(),
        "less": sums <= gaps.sum(),
    }.items():
        found = compare_pair(
            result(np.zeros(n_units)), result(gaps), "m", alternative=alternative, n_resamples=700, seed=7
        )
        assert found.p_value == (1 + extreme.sum()) / 701
        assert not found.exact


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_t_is_scipys(alternative):
    a, b = np.random.default_rng(2).random((2, 40))
    found = compare_pair(result(b), result(a), "m", test_method="t", alternative=alternative, **QUICK)
    assert found.p_value == pytest.approx(stats.ttest_rel(a, b, alternative=alternative).pvalue, rel=1e-11)


def test_t_of_users_with_several_lists_is_linearised():
    # Methods 5.4: sums (1, 1/2, 0, 2) over (1, 1, 2, 3) lists have the variance 2/49.
    ids = ["a", "b", "c", "c", "d", "d", "d"]
    values = [1, 0.5, 0, 0, 1, 0.5, 0.5]
    found = compare_pair(result(np.zeros(7), ids), result(values, ids), "m", test_method="t", **QUICK)
    assert (found.n_samples, found.n_units, found.difference) == (7, 4, 0.5)
    assert found.p_value == pytest.approx(2 * stats.t.sf(0.5 / math.sqrt(2 / 49), 3), rel=1e-12)


def test_t_without_variation():
    same = compare_pair(result([1, 2, 3]), result([1, 2, 3]), "m", test_method="t", **QUICK)
    assert (same.p_value, same.direction) == (1.0, "inconclusive")
    with pytest.raises(ComparisonError, match="baseline have the same gap in m in all units"):
        compare_pair(result([0.1, 0.2, 0.3]), result([0.4, 0.5, 0.6]), "m", test_method="t", **QUICK)


def ratio_gap(candidate, baseline, counts, axis=-1):
    n_lists = counts.sum(axis=axis)
    return candidate.sum(axis=axis) / n_lists - baseline.sum(axis=axis) / n_lists


def scipy_bootstrap(candidate, baseline, counts, method):
    return stats.bootstrap(
        (candidate, baseline, counts),
        ratio_gap,
        paired=True,
        vectorized=True,
        n_resamples=500,
        batch=50,
        method=method,
        rng=np.random.default_rng(0),
    )


def several_lists(n_units, seed=0):
    """Ids, values that are exact in any order, and their sums by unit; the candidate is ahead."""
    rng = np.random.default_rng(seed)
    ids = np.concatenate([np.arange(n_units), rng.integers(0, n_units, 2 * n_units)])
    rng.shuffle(ids)
    candidate, baseline = rng.integers(0, 2**20, (2, len(ids))) / 2**20
    candidate += 0.25
    sums = [np.bincount(ids, values) for values in (candidate, baseline)]
    return ids, candidate, baseline, *sums, np.bincount(ids).astype(float)


@pytest.mark.skipif(not hasattr(stats, "quantile"), reason="needs a scipy with stats.quantile")
@pytest.mark.parametrize("n_units", [3, 25, 150])
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_are_scipys(n_units, method):
    ids, candidate, baseline, *sums = several_lists(n_units)
    expected = scipy_bootstrap(*sums, {"bca": "BCa"}.get(method, method))
    found = compare_pair(result(baseline, ids), result(candidate, ids), "m", interval_method=method, **QUICK)
    limits = tuple(map(float, expected.confidence_interval))
    if method == "percentile":
        assert (found.ci_low, found.ci_high) == limits
    else:
        assert (found.ci_low, found.ci_high) == pytest.approx(limits, rel=1e-12)
    assert found.standard_error == expected.standard_error


@pytest.mark.parametrize("grouped", [False, True])
def test_studentized_intervals_by_definition(grouped):
    ids, candidate, baseline, *sums, counts = several_lists(40)
    if not grouped:
        ids, (candidate, baseline), counts = np.arange(40), sums, np.ones(40)
    found = compare_pair(result(baseline, ids), result(candidate, ids), "m", interval_method="studentized", **QUICK)

    def gap_and_error(units):
        gap = ratio_gap(sums[0][units], sums[1][units], counts[units])
        rest = sums[0][units] - sums[1][units] - gap * counts[units]
        return gap, math.sqrt(40 / 39 * (rest**2).sum()) / counts[units].sum()

    gap, error = gap_and_error(np.arange(40))
    replicates = map(gap_and_error, np.random.default_rng(0).integers(0, 40, (500, 40)))
    pivots = [(own_gap - gap) / own_error for own_gap, own_error in replicates]
    low, high = np.quantile(pivots, [0.025, 0.975])
    assert (found.ci_low, found.ci_high) == pytest.approx((gap - high * error, gap - low * error), rel=1e-9)
    assert found.n_dropped == 0


def test_studentized_drops_resamples_without_variation():
    # A resample of these two units has no variation every other time.
    found = compare_pair(result([0, 0]), result([0.1, 0.7]), "m", interval_method="studentized", **QUICK)
    indices = np.random.default_rng(0).integers(0, 2, (500, 2))
    assert found.n_dropped == (indices[:, 0] == indices[:, 1]).sum()
    assert math.isnan(found.ci_low)


@pytest.mark.parametrize(("alternative", "sign"), [("two-sided", 0), ("greater", 1), ("less", -1)])
def test_the_bootstrap_test_shifts_the_replicates(alternative, sign):
    gaps = np.random.default_rng(3).integers(-4, 6, 30) / 8
    found = compare_pair(
        result(np.zeros(30)), result(gaps), "m", test_method="bootstrap", alternative=alternative, **QUICK
    )
    shifted = gaps[np.random.default_rng(0).integers(0, 30, (500, 30))].mean(axis=1) - gaps.mean()
    extreme = abs(shifted) >= abs(gaps.mean()) if not sign else sign * shifted >= sign * gaps.mean()
    assert found.p_value == (1 + extreme.sum()) / 501


def test_corrections_by_hand():
    p_values = np.array([0.01, 0.04, 0.03, 0.005])
    assert adjust_p_values(p_values, None) is p_values
    for correction, adjusted in {
        "bonferroni": [0.04, 0.16, 0.12, 0.02],
        "holm": [0.03, 0.06, 0.06, 0.02],
        "bh": [0.02, 0.04, 0.04, 0.02],
    }.items():
        assert adjust_p_values(p_values, correction) == pytest.approx(adjusted, rel=1e-15)
        assert (adjust_p_values(np.array([0.9, 0.8]), correction) <= 1).all()
    assert adjust_p_values(p_values, "bh") == pytest.approx(stats.false_discovery_control(p_values), rel=1e-15)


def mirrored(row):
    """What a comparison must say once its models change places."""
    swap = {"better": "worse", "worse": "better", "inconclusive": "inconclusive"}
    return {
        "pair": {row.baseline, row.candidate},
        "difference": -row.difference,
        "limits": (-row.ci_high, -row.ci_low),
        "means": (row.candidate_mean, row.baseline_mean),
        "rest": (row.metric, row.p_value, row.p_adjusted, row.standard_error, row.n_nonzero, row.n_dropped),
        "direction": swap[row.direction],
    }


def plain(row):
    return {
        "pair": {row.baseline, row.candidate},
        "difference": row.difference,
        "limits": (row.ci_low, row.ci_high),
        "means": (row.baseline_mean, row.candidate_mean),
        "rest": (row.metric, row.p_value, row.p_adjusted, row.standard_error, row.n_nonzero, row.n_dropped),
        "direction": row.direction,
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("test", TESTS)
def test_the_order_of_models_and_lists_does_not_matter(method, test):
    ids, values = models()
    options = {"interval_method": method, "test_method": test, **QUICK}
    forward = compare_models({name: Result(of, ids) for name, of in values.items()}, **options)
    shuffle = np.random.default_rng(5).permutation(len(ids))
    backward = compare_models(
        {
            name: Result({key: np.asarray(of[key])[shuffle] for key in of}, ids[shuffle])
            for name, of in reversed(values.items())
        },
        **options | {"num_threads": 1},
    )
    assert len(forward) == len(backward) == 6
    found = {(row.metric, *sorted([row.baseline, row.candidate])): row for row in backward}
    for row in forward:
        other = found[row.metric, row.baseline, row.candidate]
        assert (other.baseline, other.candidate) == (row.candidate, row.baseline)
        assert mirrored(other) == plain(row)


def test_one_sided_tests_are_mirrored_too():
    a, b = np.random.default_rng(6).random((2, 40))
    for test in TESTS:
        greater = compare_pair(result(a), result(b), "m", test_method=test, alternative="greater", **QUICK)
        less = compare_pair(result(b), result(a), "m", test_method=test, alternative="less", **QUICK)
        assert greater.p_value == less.p_value


def test_equal_means_are_mirrored():
    a, b = [0.0, 1.0, 0.25, 0.5, 0.1], [1.0, 0.0, 0.5, 0.25, 0.1]
    for method in METHODS:
        forward = compare_pair(result(a), result(b), "m", interval_method=method, **QUICK)
        backward = compare_pair(result(b), result(a), "m", interval_method=method, **QUICK)
        assert forward.difference == 0.0
        assert mirrored(backward)["limits"] == plain(forward)["limits"]


def test_a_family_is_corrected_as_one():
    ids, values = models()
    results = {name: Result(of, ids) for name, of in values.items()}
    for correction in ("holm", "bonferroni", "bh", None):
        found = compare_models(results, correction=correction, **QUICK)
        p_values = np.array([row.p_value for row in found])
        assert [row.p_adjusted for row in found] == adjust_p_values(p_values, correction).tolist()
        assert {row.n_hypotheses for row in found} == {6}
    chosen = compare_models(results, reference="b", metrics=["m"], **QUICK)
    assert [(row.baseline, row.candidate) for row in chosen] == [("b", "a"), ("b", "c")]
    assert [row.direction for row in chosen] == ["worse", "better"]


def test_looks_are_corrected():
    ids, values = models()
    results = [Result(values[name], ids) for name in "ab"]
    once = compare_pair(*results, "m", test_method="t", **QUICK)
    often = compare_pair(*results, "m", test_method="t", looks=5, **QUICK)
    wider = compare_pair(*results, "m", confidence_level=1 - (1 - 0.95) / 5, **QUICK)
    assert often.p_value == once.p_value
    assert often.p_adjusted == min(1.0, 5 * once.p_value)
    assert (often.ci_low, often.ci_high) == (wider.ci_low, wider.ci_high)
    assert once.ci_low > often.ci_low


@pytest.mark.parametrize("test", TESTS)
def test_without_an_effect_few_are_significant(test):
    rng = np.random.default_rng(8)
    n_significant = sum(
        compare_pair(result(a), result(b), "m", test_method=test, n_resamples=199, num_threads=1).significant
        for a, b in rng.random((400, 2, 40))
    )
    # 5% of 400 are 20; more than 35 have a probability of 0.05%.
    assert 5 <= n_significant <= 35


def test_means_are_the_results_own():
    ids, values = models()
    row = compare_models({name: Result(of, ids) for name, of in values.items()}, metrics=["m"], **QUICK)[0]
    assert row.baseline_mean == float(sum(map(Fraction, values["a"]["m"])) / 50)
    assert row.relative_difference == row.difference / row.baseline_mean
    zero = compare_pair(result([0, 0, 0]), result([1, 0, 1]), "m", **QUICK)
    assert math.isnan(zero.relative_difference)


def test_reports_are_compared_by_the_results_they_keep():
    ids, values = models()
    results = [Result(values[name], ids) for name in "ab"]
    by_report = compare_pair(*map(Report, results), "m", **QUICK)
    assert by_report == compare_pair(*results, "m", **QUICK)
    assert by_report == compare_pair(results[0], Report(results[1]), "m", **QUICK)


def test_saved_results_are_loaded(monkeypatch, tmp_path):
    saved = {str(tmp_path / "a.npz"): result([0, 1, 1]), str(tmp_path / "b.npz"): result([1, 1, 1])}

    class EvaluationResult:
        load = staticmethod(saved.__getitem__)

    monkeypatch.setattr(rankbound, "EvaluationResult", EvaluationResult, raising=False)
    assert compare_pair(tmp_path / "a.npz", str(tmp_path / "b.npz"), "m", **QUICK).difference == pytest.approx(1 / 3)


def test_slices_are_compared_by_themselves():
    ids, values = models()
    results = [Result(values[name], ids) for name in "ac"]
    slices = np.where(np.arange(50) < 20, "new", "old")
    found = compare_slices(*results, "m", slices=slices, **QUICK)
    assert [row.slice for row in found] == ["new", "old"]
    for row in found:
        chosen = slices == row.slice
        alone = compare_pair(*(result(values[name]["m"][chosen], ids[chosen]) for name in "ac"), "m", **QUICK)
        assert (row.difference, row.ci_low, row.n_units) == (alone.difference, alone.ci_low, alone.n_units)
        assert row.p_value == alone.p_value
    assert [row.p_adjusted for row in found] == adjust_p_values(np.array([r.p_value for r in found]), "holm").tolist()
    assert "| slice |" in found.to_markdown()


def test_a_single_unit_has_a_test_but_no_interval():
    found = compare_pair(result([0, 0], [1, 1]), result([1, 1], [1, 1]), "m", **QUICK)
    assert (found.p_value, found.n_units, found.n_samples) == (1.0, 1, 2)
    assert math.isnan(found.ci_low)
    with pytest.raises(ComparisonError, match="needs at least 2 units, but there is 1"):
        compare_pair(result([0]), result([1]), "m", test_method="t", **QUICK)


def test_metrics_that_are_no_means_are_named():
    values = {"m": [0.5, 0.25], "LogRBP.logmean": [-1.0, -math.inf], "odd": [1.0, 2.0]}
    results = {
        # The mean of the logarithms, and the logarithm of the mean of the exponentials.
        name: Result(values, aggregates={"m": 0.375, "LogRBP.logmean": log_mean, "odd": odd})
        for name, log_mean, odd in [("a", -1 - math.log(2), 1.5), ("b", -math.inf, 7.0)]
    }
    found = compare_models(results, **QUICK)
    assert {row.metric for row in found} == {"m"}
    assert set(found.skipped_metrics) == {"LogRBP.logmean", "odd"}
    words = "'odd' cannot be compared: b has 7, but the mean of its values per list, which are compared, is 1.5"
    with pytest.raises(ComparisonError, match=words):
        compare_models(results, metrics=["odd"], **QUICK)
    lacking = compare_models({"a": result([1, 0]), "b": Result({"m": [1, 0], "n": [1, 0]})}, **QUICK)
    assert lacking.skipped_metrics == {"n": "a does not have it"}


def test_progress_is_told():
    seen = []
    compare_pair(
        result(np.zeros(40)), result(np.ones(40)), "m", show_progress=lambda *done: seen.append(done), n_resamples=100
    )
    assert seen.count((100, 100)) >= 2
