"""Propensities from swapped ranks, power laws, and what conclusions owe to them."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from click_log import LOG, NEW, RR, STATED
from rankbound.counterfactual import (
    estimate_propensities_from_swaps,
    fit_power_law,
    ips,
    sensitivity_sweep,
)
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    InvalidParameterError,
    InvalidTypeError,
    RankboundError,
    ShapeError,
)

pytestmark = pytest.mark.filterwarnings("ignore::rankbound.errors.ReliabilityWarning")


def test_swaps():
    found = estimate_propensities_from_swaps([3, 2], [90, 100], [30, 50], [900, 1000])
    assert found.ranks.tolist() == [2, 3]
    assert found.propensities == pytest.approx([1 / 2, 1 / 3], rel=1e-15)
    expected = [(1 - 0.05) / 50 + (1 - 0.1) / 100, (1 - 1 / 30) / 30 + (1 - 0.1) / 90]
    assert found.log_variances == pytest.approx(expected, rel=1e-14)
    assert not found.smoothed.any()


def test_swaps_cancel_relevance():
    """All outcomes of an impression under the position-based model: the expected clicks have the ratio of theta."""
    theta = [1, Fraction(1, 3)]
    for relevance in product([Fraction(1, 10), Fraction(9, 10)], repeat=2):
        first, other = (
            sum(theta[rank] * relevance[item] for item in order) / 2 for rank, order in enumerate([(0, 1), (1, 0)])
        )
        scale = 600
        found = estimate_propensities_from_swaps([2], [int(first * scale)], [int(other * scale)], [scale])
        assert found.propensities[0] == pytest.approx(1 / 3, rel=1e-15)


def test_ranks_without_clicks():
    with pytest.raises(InvalidParameterError, match="ranks has 3 at position 1; without clicks at both ranks"):
        estimate_propensities_from_swaps([2, 3], [10, 10], [5, 0], [100, 100])
    found = estimate_propensities_from_swaps([2, 3], [10, 10], [5, 0], [100, 100], add_half=True)
    assert found.smoothed.tolist() == [False, True]
    assert found.propensities == pytest.approx([1 / 2, 1 / 21], rel=1e-15)
    assert found.log_variances[1] == pytest.approx((1 - 0.5 / 101) / 0.5 + (1 - 10.5 / 101) / 10.5, rel=1e-14)


def test_power_law_recovers_an_exact_one():
    ranks = np.array([2, 3, 5, 8])
    law = fit_power_law(ranks, ranks**-0.7, [0.1, 0.2, 0.1, 0.4])
    assert law.exponent == pytest.approx(0.7, rel=1e-14)
    assert law.chi_square == pytest.approx(0, abs=1e-25)
    assert (law.degrees_of_freedom, law.largest_rank) == (3, 8)
    assert law.propensities([1, 2, 8]) == pytest.approx([1, 2**-0.7, 8**-0.7], rel=1e-14)


def test_power_law_is_weighted_least_squares():
    ranks, ratios, variances = np.array([2, 4, 9]), np.array([0.6, 0.2, 0.15]), np.array([0.01, 0.04, 0.09])
    law = fit_power_law(ranks, ratios, variances)
    scaled = np.log(ranks)[:, None] / np.sqrt(variances)[:, None]
    (slope,), (residual,), _, _ = np.linalg.lstsq(scaled, np.log(ratios) / np.sqrt(variances))
    assert law.exponent == pytest.approx(-slope, rel=1e-13)
    assert law.chi_square == pytest.approx(residual, rel=1e-12)
    assert law.standard_error == pytest.approx(np.linalg.inv(scaled.T @ scaled)[0, 0] ** 0.5, rel=1e-13)


def test_extrapolation_is_asked_for():
    law = fit_power_law([2, 4], [0.5, 0.25], [0.1, 0.1])
    with pytest.raises(InvalidParameterError, match=r"ranks has 5 at position 1; .* up to rank 4; pass extrapolate"):
        law.propensities([1, 5])
    assert law.propensities([1, 5], extrapolate=True) == pytest.approx([1, 1 / 5])
    with pytest.raises(InvalidParameterError, match="ranks has 0 at position 0; ranks count from 1"):
        law.propensities([0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1], [5], [5], [9]), InvalidParameterError, "ranks has 1 at position 0; it must be a whole number from 2"),
        (([2.5], [5], [5], [9]), InvalidParameterError, "ranks has 2.5"),
        (([2], [10], [5], [9]), InvalidParameterError, "clicks_at_first has 10 at position 0; there are fewer"),
        (([2], [5], [10], [9]), InvalidParameterError, "clicks_at_rank has 10 at position 0; there are fewer"),
        (([2], [-5], [5], [9]), InvalidParameterError, "clicks_at_first has -5"),
        (([2], [5], [5], [0]), InvalidParameterError, "n_impressions has 0"),
        (([2, 2], [5, 5], [5, 5], [9, 9]), DuplicateItemError, "ranks has 2 twice"),
        (([2], [5, 5], [5], [9]), ShapeError, "different lengths"),
        (([], [], [], []), EmptyInputError, "has no rows"),
        ((["a"], [5], [5], [9]), InvalidTypeError, "ranks must hold numbers"),
    ],
)
def test_wrong_swaps_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        estimate_propensities_from_swaps(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1], [0.5], [0.1]), InvalidParameterError, "ranks has 1 at position 0"),
        (([2, 2], [0.5, 0.5], [0.1, 0.1]), DuplicateItemError, "ranks has 2 twice"),
        (([2], [0.0], [0.1]), InvalidParameterError, "propensities has 0 at position 0"),
        (([2], [0.5], [0.0]), InvalidParameterError, "log_variances has 0 at position 0"),
        (([2], [0.5], [math.inf]), InvalidParameterError, "log_variances has inf at position 0"),
    ],
)
def test_wrong_measurements_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        fit_power_law(*arguments)


# Sensitivity


def two_sided(n_first, n_second):
    """Return a log with clicks at rank 1, which the model finds, and at rank 4, which the baseline finds."""
    clicks = [(1, 0)] * n_first + [(0, 1)] * n_second
    n = len(clicks)
    log = {
        "query": np.repeat(np.arange(n), 2),
        "item": np.tile([0, 1], n),
        "logged_rank": np.tile([1, 4], n),
        "click": np.ravel(clicks),
    }
    model, baseline = log | {"score": np.tile([1, 0], n)}, log | {"score": np.tile([0, 1], n)}
    return log, model, baseline, n


def test_crossing():
    # The gap is 6 - 2 * 4^eta, over 8 queries: it changes its sign at log(3) / log(4).
    log, model, baseline, n = two_sided(6, 2)
    found = sensitivity_sweep(log, model, baseline, "hits", 1, n_queries=n)
    assert found.gap == pytest.approx([(6 - 2 * 4**eta) / 8 for eta in (0, 0.5, 1, 1.5, 2)], rel=1e-14)
    assert found.gap == pytest.approx(found.model - found.baseline, rel=1e-14)
    assert found.crossing == pytest.approx(math.log(3) / math.log(4), rel=1e-14)
    assert found.name == "ips_hits@1"
    narrow = sensitivity_sweep(log, model, baseline, "hits", 1, n_queries=n, etas=[0, 0.7])
    assert narrow.crossing is None
    # With a clip the weights of rank 4 stop at 2, and the model stays ahead.
    clipped = sensitivity_sweep(log, model, baseline, "hits", 1, n_queries=n, clip=0.5)
    assert clipped.gap == pytest.approx([4 / 8, 2 / 8, 2 / 8, 2 / 8, 2 / 8])
    assert clipped.crossing is None


def test_crossing_at_an_exponent_of_the_sweep():
    log, model, baseline, n = two_sided(4, 2)
    assert sensitivity_sweep(log, model, baseline, "hits", 1, n_queries=n).crossing == 0.5
    log, model, baseline, n = two_sided(2, 2)
    assert sensitivity_sweep(log, model, baseline, "hits", 1, n_queries=n).crossing == 0


def test_sweep_agrees_with_ips():
    new, old = NEW, NEW | {"score": [2, 1, 4, 3, 2, 1]}
    sweep = sensitivity_sweep(LOG, new, old, "dcg", 2, n_queries=2, etas=[1])
    assert sweep.model[0] == pytest.approx(ips(LOG, new, "dcg", 2, **STATED).value, rel=1e-15)
    assert sweep.baseline[0] == pytest.approx(ips(LOG, old, "dcg", 2, **STATED).value, rel=1e-15)


@pytest.mark.parametrize(
    ("etas", "message"),
    [
        ([1, 0.5], r"etas must be ascending, got \[1.0, 0.5\]"),
        ([-1, 0], "etas has -1 for exponent 0; it must be finite, below 2.40 and at least 0"),
        ([0, math.inf], "etas has inf for exponent 1"),
        ([1, 1], "etas must be ascending"),
    ],
)
def test_wrong_exponents_are_refused(etas, message):
    with pytest.raises(InvalidParameterError, match=message):
        sensitivity_sweep(LOG, NEW, NEW, *RR, n_queries=2, etas=etas)


def test_the_baseline_is_named_where_it_is_wrong():
    with pytest.raises(RankboundError, match="baseline_scores has no column 'score'"):
        sensitivity_sweep(LOG, NEW, LOG, *RR, n_queries=2)
