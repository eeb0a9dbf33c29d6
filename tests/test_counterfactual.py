"""Estimates from clicks: orders of ties and outcomes of clicks enumerated, in fractions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import bootstrap

from click_log import LOG, NEW, RR, STATED
from oracle import orders
from rankbound.counterfactual import (
    ips,
    naive,
    sensitivity_sweep,
    snips,
)
from rankbound.errors import (
    ReliabilityWarning,
)

pytestmark = pytest.mark.filterwarnings("ignore::rankbound.errors.ReliabilityWarning")


def test_worked_example():
    found = ips(LOG, NEW, *RR, **STATED)
    assert found.value == pytest.approx(13 / 6, rel=1e-15)
    diagnostics = found.diagnostics
    assert diagnostics.sum_of_weights == 2 + 1 + 4
    assert diagnostics.effective_sample_size == pytest.approx(7 / 3, rel=1e-15)
    assert diagnostics.effective_share == pytest.approx(7 / 9, rel=1e-15)
    assert diagnostics.largest_weight_share == pytest.approx(4 / 7, rel=1e-15)
    assert (diagnostics.n_clicks, diagnostics.n_clipped, diagnostics.n_unranked_clicks) == (3, 0, 0)
    assert diagnostics.uncovered_mass == 0
    per_item = snips(LOG, NEW, *RR, **STATED)
    assert per_item.value == pytest.approx(13 / 21, rel=1e-15)
    assert per_item.value * diagnostics.sum_of_weights / found.n_queries == pytest.approx(found.value, rel=1e-15)
    assert naive(LOG, NEW, *RR, n_queries=2).value == pytest.approx(11 / 12, rel=1e-15)
    clipped = ips(LOG, NEW, *RR, **STATED, clip=1 / 3)
    assert clipped.value == pytest.approx(23 / 12, rel=1e-15)
    assert clipped.diagnostics.n_clipped == 1
    squared = LOG | {"propensity": [1 / rank**2 for rank in LOG["logged_rank"]]}
    assert ips(squared, NEW, *RR, **STATED).value == pytest.approx(37 / 6, rel=1e-15)
    sweep = sensitivity_sweep(LOG, NEW, NEW, *RR, n_queries=2)
    assert sweep.model[[0, 2, 4]] == pytest.approx([11 / 12, 13 / 6, 37 / 6], rel=1e-15)
    assert sweep.crossing is None
    assert sweep.gap.tolist() == [0] * 5


def test_what_a_result_says():
    found = ips(LOG, NEW, "rbp", 3, **STATED, clip=0.25, patience=0.5)
    assert found.name == "ips_rbp@3[p=0.5,clip=0.25]"
    assert snips(LOG, NEW, "dcg", **STATED, clip=0.1).name == "snips_dcg[clip=0.1]"
    bare = naive(LOG, NEW, "hits", 2, n_queries=5)
    assert bare.name == "naive_hits@2"
    assert (bare.propensity_source, bare.clip, bare.n_queries, bare.n_units) == (None, None, 5, 5)
    assert (found.propensity_source, found.clip, found.seed, found.n_resamples) == ("assumption", 0.25, 0, 1000)
    # A propensity at the clip is not clipped.
    assert found.diagnostics.n_clipped == 0


LAMBDAS = {
    "dcg": lambda rank, _: Fraction(1 / math.log2(1 + rank)),
    "hits": lambda _, __: Fraction(1),
    "precision": lambda _, k: Fraction(1, k),
    "reciprocal_rank_sum": lambda rank, _: Fraction(1, rank),
    "rbp": lambda rank, _: Fraction(1, 4) * Fraction(3, 4) ** (rank - 1),
}


@pytest.mark.parametrize(
    ("metric", "k"),
    [*product(LAMBDAS, [1, 3, 4, 50]), ("dcg", None), ("reciprocal_rank_sum", None), ("rbp", None)],
)
def test_ties_of_the_new_scores(metric, k):
    scores = {"x": [5, 3, 3, 3, 1, 1], "y": [2, 2, 2, 2]}
    clicks, theta = {"x": [1, 1, 0, 1, 0, 1], "y": [0, 1, 0, 0]}, [1, 0.5, 0.25, 0.125, 0.5, 1]
    rows = [(query, item) for query, values in scores.items() for item in range(len(values))]
    log = {
        "query": [query for query, _ in rows],
        "item": [item for _, item in rows],
        "logged_rank": [item + 1 for _, item in rows],
        "click": [clicks[query][item] for query, item in rows],
        "propensity": [theta[item] for _, item in rows],
        "score": [scores[query][item] for query, item in rows],
    }
    expected = Fraction(0)
    for query, item in rows:
        if clicks[query][item]:
            ranks = [order.index(item) + 1 for order in orders(scores[query])]
            gains = [LAMBDAS[metric](rank, k) if k is None or rank <= k else 0 for rank in ranks]
            expected += sum(gains) / len(ranks) / Fraction(theta[item])
    found = ips(log, log, metric, k, n_queries=2, propensity_source="randomisation", patience=0.75, n_resamples=0)
    assert found.value == pytest.approx(float(expected / 2), rel=1e-14, abs=1e-17)
    assert (found.ci_low, found.ci_high) == (None, None)


@pytest.mark.parametrize("metric", ["dcg", "rbp"])
def test_ips_is_unbiased(metric):
    """All outcomes of clicks under the position-based model, each with its probability."""
    relevance, theta, logged = [0.75, 0.5, 0.25], [1, 0.5, 0.25], [2, 3, 1]
    scores = [1, 2, 2]
    log = {"query": [7] * 3, "item": [0, 1, 2], "logged_rank": logged, "propensity": [theta[r - 1] for r in logged]}
    new = log | {"score": scores}
    expectation = 0.0
    for clicks in product([0, 1], repeat=3):
        chances = [theta[r - 1] * rel for r, rel in zip(logged, relevance, strict=True)]
        probability = math.prod(p if click else 1 - p for p, click in zip(chances, clicks, strict=True))
        options = {"n_queries": 1, "propensity_source": "assumption", "patience": 0.75}
        expectation += probability * ips(log | {"click": clicks}, new, metric, **options).value
    of_orders = [
        sum(relevance[item] * float(LAMBDAS[metric](rank, None)) for rank, item in enumerate(order, 1))
        for order in orders(scores)
    ]
    assert expectation == pytest.approx(sum(of_orders) / len(of_orders), rel=1e-14)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: columns])
@pytest.mark.parametrize("kind", ["strings", "integers"])
def test_tables_of_every_library(library, kind):
    columns = LOG | {"item": LOG["item"] if kind == "strings" else [ord(item) for item in LOG["item"]]}
    new = NEW | {"item": columns["item"]}
    found = ips(library(columns), library(new), *RR, **STATED)
    assert found == ips(LOG, NEW, *RR, **STATED)


def test_arrays_and_nullable_columns():
    arrays = {name: np.array(values) for name, values in LOG.items()}
    nullable = pd.DataFrame(LOG).convert_dtypes()
    assert ips(arrays, NEW, *RR, **STATED) == ips(nullable, pd.DataFrame(NEW).convert_dtypes(), *RR, **STATED)
    assert ips(arrays | {"click": arrays["click"] == 1}, NEW, *RR, **STATED).value == pytest.approx(13 / 6)


def test_no_order_of_rows_matters():
    rng = np.random.default_rng(5)
    n = 300
    log = {
        "query": np.repeat(np.arange(60), 5),
        "item": np.tile(np.arange(5), 60),
        "logged_rank": np.tile(np.arange(1, 6), 60),
        "click": (rng.random(n) < 0.4).astype(int),
        "propensity": 1 / np.tile(np.arange(1, 6), 60),
        "score": rng.integers(0, 3, n),
    }
    shuffled = rng.permutation(n)
    mixed = {name: values[shuffled] for name, values in log.items()}
    for estimator in (ips, snips):
        options = {"n_queries": 60, "propensity_source": "harvesting"}
        expected = estimator(log, log, "dcg", 3, **options)
        assert estimator(mixed, log, "dcg", 3, **options, num_threads=3) == expected
        assert estimator(log, mixed, "dcg", 3, **options) == expected


# Intervals


def scipy_limits(sums, counts, n_resamples):
    limits = bootstrap(
        (np.array(sums, dtype=float), np.array(counts, dtype=float)),
        lambda s, n, axis: s.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=n_resamples,
        batch=50,
        method="percentile",
        rng=np.random.default_rng(3),
    ).confidence_interval
    return pytest.approx([limits.low, limits.high], rel=1e-12)


def clicks_of(counts, propensity=0.5):
    """Return a log in which query q has counts[q] clicks, all at rank 1 after the new ranking's top."""
    rows = [(query, item) for query, count in enumerate(counts) for item in range(max(count, 1))]
    return {
        "query": [query for query, _ in rows],
        "item": [item for _, item in rows],
        "logged_rank": [item + 1 for _, item in rows],
        "click": [int(counts[query] > 0) for query, _ in rows],
        "propensity": [propensity / (1 + item) for _, item in rows],
        "score": [-item for _, item in rows],
        "user": [f"user {query // 3}" for query, _ in rows],
    }


COUNTS = [1, 0, 2, 3, 1, 1, 0, 2, 2, 4, 1, 0]


def test_interval_resamples_queries():
    log = clicks_of(COUNTS)
    options = {"propensity_source": "assumption", "n_resamples": 400, "seed": 3}
    found = ips(log, log, "hits", 2, n_queries=14, **options)
    sums = [sum(2 * (1 + item) for item in range(min(count, 2))) for count in COUNTS] + [0, 0]
    assert [found.ci_low, found.ci_high] == scipy_limits(sums, [1] * 14, 400)
    assert found.value == pytest.approx(sum(sums) / 14)
    assert found.n_units == 14


def test_interval_resamples_users():
    log = clicks_of(COUNTS)
    options = {"propensity_source": "assumption", "n_resamples": 400, "seed": 3, "groups": "user"}
    found = ips(log, log, "hits", 2, n_queries=12, **options)
    sums = [sum(2 * (1 + item) for item in range(min(count, 2))) for count in COUNTS]
    of_users = [sum(sums[at : at + 3]) for at in range(0, 12, 3)]
    assert [found.ci_low, found.ci_high] == scipy_limits(of_users, [3] * 4, 400)
    assert found.n_units == 4


def test_interval_of_snips_weighs_its_units():
    log = clicks_of(COUNTS)
    options = {"propensity_source": "assumption", "n_resamples": 400, "seed": 3}
    found = snips(log, log, "hits", 2, n_queries=12, **options)
    clicked = [count for count in COUNTS if count]
    sums = [sum(2 * (1 + item) for item in range(min(count, 2))) for count in clicked]
    weights = [sum(2 * (1 + item) for item in range(count)) for count in clicked]
    assert [found.ci_low, found.ci_high] == scipy_limits(sums, weights, 400)
    assert found.n_units == len(clicked)


def test_one_unit_has_no_interval():
    log = clicks_of([2])
    found = ips(log, log, "hits", 2, n_queries=1, propensity_source="assumption")
    assert (found.value, found.ci_low, found.ci_high, found.n_units) == (6, None, None, 1)


# Diagnostics


def test_uncovered_mass_is_an_expectation_over_ties():
    log = {"query": [1, 1, 2], "item": list("aba"), "logged_rank": [1, 2, 1], "click": [1, 0, 0]}
    # Query 1: c first, then a, b and d tie for ranks 2 to 4. Query 2: a alone. Query 3 is not in the log.
    new = {
        "query": [1, 1, 1, 1, 2, 3, 3],
        "item": list("abcdaab"),
        "score": [0.5, 0.5, 0.9, 0.5, 0.1, 0.2, 0.3],
    }
    with pytest.warns(ReliabilityWarning, match="of the new ranking's slots show items that were never shown"):
        found = naive(log, new, "hits", 2, n_queries=3)
    assert found.diagnostics.uncovered_mass == pytest.approx((1 + 1 / 3 + 2) / (2 + 1 + 2), rel=1e-15)
    whole = naive(log, new, "dcg", n_queries=3)
    assert whole.diagnostics.uncovered_mass == pytest.approx((2 + 2) / 7, rel=1e-15)


def test_clicks_on_items_that_the_new_ranking_lacks():
    new = {name: values[:5] for name, values in NEW.items()}
    found = ips(LOG, new, *RR, **STATED)
    # The click on d earns nothing; a moves from rank 3 to 2.
    assert found.value == pytest.approx((2 + 1 / 2) / 2, rel=1e-15)
    assert found.diagnostics.n_unranked_clicks == 1
    assert found.diagnostics.sum_of_weights == 7


def test_warnings_of_the_weights():
    def log_of(propensities):
        n = len(propensities)
        return {
            "query": np.arange(n),
            "item": np.zeros(n, dtype=int),
            "logged_rank": np.ones(n, dtype=int),
            "click": np.ones(n, dtype=int),
            "propensity": propensities,
            "score": np.zeros(n),
        }

    def warnings_of(propensities):
        log = log_of(propensities)
        return ips(log, log, "hits", 1, n_queries=len(propensities), propensity_source="assumption").warnings

    assert warnings_of(np.full(5, 0.3)) == ()
    (largest,) = warnings_of(np.full(4, 0.3))
    assert largest.startswith("a single click carries 25.0% of all weight")
    # 10 weights of 1000 among 990 of 1: (10990^2 / 10000990) = 12.1 of 1000, and none above a tenth.
    (share,) = warnings_of(np.array([0.001] * 10 + [1.0] * 990))
    assert share.startswith("1000 clicks say as much as 12.1 of equal weight (1.2%)")
    with pytest.warns(ReliabilityWarning) as caught:
        found = ips(log_of([1.0, 0.001]), log_of([1.0, 0.001]), "hits", 1, **STATED)
    assert tuple(str(warning.message) for warning in caught) == found.warnings
    assert all(warning.filename == __file__ for warning in caught)


def test_no_click():
    log = LOG | {"click": [0] * 6}
    found = ips(log, NEW, *RR, **STATED)
    assert (found.value, found.ci_low, found.ci_high) == (0, 0, 0)
    assert found.diagnostics.effective_sample_size == 0
    assert math.isnan(found.diagnostics.effective_share)
    assert math.isnan(found.diagnostics.largest_weight_share)
    assert found.warnings == ("there is no click: the estimate knows nothing",)
    per_item = snips(log, NEW, *RR, **STATED)
    assert math.isnan(per_item.value)
    assert (per_item.ci_low, per_item.ci_high) == (None, None)


def test_huge_weights_keep_their_share():
    log = clicks_of([1, 1], propensity=1e-200)
    found = snips(log, log, "hits", 1, n_queries=2, propensity_source="assumption", clip=1e-5)
    assert found.diagnostics.effective_sample_size == pytest.approx(2)
