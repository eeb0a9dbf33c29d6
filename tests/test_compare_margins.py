"""Margins, planning and the units that change most."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from compared import result
from rankbound.compare import equivalence, largest_changes, minimum_detectable_effect, noninferiority, units_needed
from rankbound.errors import ComparisonError, InvalidParameterError, InvalidTypeError

QUICK = {"n_resamples": 300, "num_threads": 2}


def exact_greater(gaps):
    sums = [np.dot(signs, gaps) for signs in itertools.product((1, -1), repeat=len(gaps))]
    return np.mean(np.array(sums) >= sum(gaps))


def test_a_margin_moves_the_null_hypothesis():
    # Eighths, whose sums are exact; units of several lists get the margin for each of them.
    ids = [0, 1, 1, 2, 3, 4, 4, 4]
    gaps = np.array([1, -2, 1, 0, -1, 1, 0, -3]) / 8
    by_unit, n_lists = np.bincount(ids, gaps), np.bincount(ids)
    found = equivalence(result(np.ones(8), ids), result(1 + gaps, ids), "m", margin=0.5, **QUICK)
    assert found.p_worse == exact_greater(by_unit + 0.5 * n_lists)
    assert found.p_better == exact_greater(-(by_unit - 0.5 * n_lists))
    assert found.p_value == max(found.p_worse, found.p_better)
    one_sided = noninferiority(result(np.ones(8), ids), result(1 + gaps, ids), "m", margin=0.5, **QUICK)
    assert (one_sided.p_value, one_sided.p_worse) == (found.p_worse, found.p_worse)
    assert math.isnan(one_sided.p_better)
    assert (one_sided.n_samples, one_sided.n_units, one_sided.difference) == (8, 5, gaps.mean())


def test_t_tests_against_a_margin_are_scipys():
    a, b = np.random.default_rng(0).random((2, 50))
    found = equivalence(result(a), result(b), "m", margin=0.1, test_method="t", **QUICK)
    p_worse = stats.ttest_1samp(b - a, -0.1, alternative="greater").pvalue
    p_better = stats.ttest_1samp(b - a, 0.1, alternative="less").pvalue
    assert (found.p_worse, found.p_better) == pytest.approx((p_worse, p_better), rel=1e-9)


def test_bootstrap_tests_against_a_margin():
    gaps = np.random.default_rng(1).integers(-8, 9, 40) / 16
    found = noninferiority(result(np.ones(40)), result(1 + gaps), "m", margin=0.125, test_method="bootstrap", **QUICK)
    shifted = gaps[np.random.default_rng(0).integers(0, 40, (300, 40))].mean(axis=1) - gaps.mean()
    assert found.p_value == (1 + (shifted >= gaps.mean() + 0.125).sum()) / 301


def test_the_interval_has_the_level_on_each_side():
    a, b = np.random.default_rng(2).random((2, 60))
    found = noninferiority(result(a), result(b), "m", margin=0.5, confidence_level=0.9, **QUICK)
    replicates = (b - a)[np.random.default_rng(0).integers(0, 60, (300, 60))].mean(axis=1)
    assert found.interval_level == pytest.approx(0.8)
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(np.quantile(replicates, [0.1, 0.9])), rel=1e-9)
    assert found.established


def test_relative_margins():
    baseline = result(np.full(8, 0.5))
    relative = noninferiority(baseline, result(np.full(8, 0.45)), "m", margin=0.2, relative=True, **QUICK)
    assert relative.margin == 0.1
    assert relative.established
    assert not noninferiority(baseline, result(np.full(8, 0.45)), "m", margin=0.05, relative=True, **QUICK).established
    with pytest.raises(InvalidParameterError, match="relative=True needs a baseline whose mean is above 0, got 0"):
        noninferiority(result(np.zeros(3)), result(np.ones(3)), "m", margin=0.1, relative=True)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"margin": 0}, InvalidParameterError, "margin must be above 0"),
        ({"margin": -0.1}, InvalidParameterError, "margin must be finite and at least 0"),
        ({"margin": 0.1, "confidence_level": 0.5}, InvalidParameterError, "confidence_level must exceed 0.5"),
        ({"margin": 0.1, "relative": "no"}, InvalidTypeError, "relative must be True or False"),
    ],
)
def test_margins_are_checked(options, error, words):
    for test in (noninferiority, equivalence):
        with pytest.raises(error, match=words):
            test(result([1, 0]), result([0, 1]), "m", **options)


def test_the_detectable_effect():
    # Methods 5.5.
    assert minimum_detectable_effect(0.01) == pytest.approx(0.0280158, rel=1e-5)
    for alternative, sides in [("two-sided", 2), ("greater", 1), ("less", 1)]:
        effect = minimum_detectable_effect(0.3, power=0.9, confidence_level=0.99, alternative=alternative)
        assert effect == pytest.approx(0.3 * (stats.norm.isf(0.01 / sides) + stats.norm.ppf(0.9)), rel=1e-12)
    assert minimum_detectable_effect(0) == 0


def test_units_needed_detect_their_effect():
    for difference in (0.014, -0.014):
        n_units = units_needed(difference, standard_error=0.01, n_units=1000)
        assert minimum_detectable_effect(0.01 * math.sqrt(1000 / n_units)) <= 0.014
        assert minimum_detectable_effect(0.01 * math.sqrt(1000 / (n_units - 1))) > 0.014
    assert units_needed(1.0, standard_error=0.0, n_units=10) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: units_needed(0, standard_error=0.1, n_units=5),
            "difference and n_units must be finite and not 0, got 0",
        ),
        (lambda: units_needed(0.1, standard_error=0.1, n_units=0), "must be finite and not 0, got 0.1 and 0"),
        (lambda: units_needed(math.nan, standard_error=0.1, n_units=5), "must be finite and not 0, got nan and 5"),
        (lambda: units_needed(1e-300, standard_error=0.1, n_units=5), "difference is 1e-300, too small beside"),
        (lambda: minimum_detectable_effect(-1), "standard_error must be finite and at least 0"),
        (lambda: minimum_detectable_effect(1, power=0.02), "power must exceed 0.025"),
        (lambda: minimum_detectable_effect(1, alternative="both"), "alternative must be one of"),
    ],
)
def test_plans_are_checked(call, words):
    with pytest.raises(InvalidParameterError, match=words):
        call()


@pytest.mark.parametrize("difference", ["0.1", None, True])
def test_a_difference_is_a_number(difference):
    with pytest.raises(InvalidTypeError, match="difference must be a number"):
        units_needed(difference, standard_error=0.1, n_units=5)


def test_a_margin_test_without_variation_says_so():
    words = "candidate raised by the margin and baseline have the same gap in m in all units"
    with pytest.raises(ComparisonError, match=words):
        noninferiority(result([1, 2, 3]), result([1, 2, 3]), "m", margin=0.1, test_method="t", **QUICK)


def test_largest_changes():
    ids = ["e", "a", "b", "b", "c", "d", "f"]
    before, after = [0, 0, 0, 1, 1, 0.5, 0.25], [1, 1, 0.5, 1, 0, 0.25, 0.25]
    found = largest_changes(result(before, ids), result(after, ids), "m", n=2)
    # Equal gains stand in the order of their ids.
    assert [(change.unit, change.difference, change.n_samples) for change in found.improved] == [
        ("a", 1, 1),
        ("e", 1, 1),
    ]
    assert [(change.unit, change.difference) for change in found.regressed] == [("c", -1), ("d", -0.25)]
    assert (found.n_improved, found.n_regressed, found.n_unchanged) == (3, 2, 1)
    everything = largest_changes(result(before, ids), result(after, ids), "m", n=100)
    assert [change.unit for change in everything.improved] == ["a", "e", "b"]
    assert everything.improved[2].n_samples == 2
    assert (everything.improved[2].baseline_mean, everything.improved[2].candidate_mean) == (0.5, 0.75)
    assert largest_changes(result(before, ids), result(after, ids), "m", n=0).improved == ()
