"""The names of sampled results, and what is refused because of them."""

import math
import operator

import numpy as np
import pytest

from rankbound.errors import (
    ComparisonError,
    EmptyInputError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    RankboundError,
    ShapeError,
)
from rankbound.sampled import (
    SampledResult,
    check_comparable,
    correct_sampled,
    estimate_rank_distribution,
    expected_sampled_metric,
)

pytestmark = pytest.mark.filterwarnings("ignore::rankbound.errors.ReliabilityWarning")


def test_names_carry_the_design():
    names = [
        expected_sampled_metric([1], 1000, 100, metric, k, replacement=replacement).name
        for metric, k, replacement in [("recall", 10, True), ("mrr", None, False), ("auc", None, True)]
    ]
    assert names == ["sampled_recall@10[m=100,wr]", "sampled_mrr[m=100,wor]", "sampled_auc[m=100,wr]"]


def test_the_same_metric_under_other_names():
    values = {
        name: expected_sampled_metric([3, 40], 100, 9, name, k, replacement=True).value
        for name, k in [("hit", 2), ("hit_rate", 2), ("recall", 2), ("mrr", None), ("map", None)]
    }
    assert values["hit"] == values["hit_rate"] == values["recall"] != values["mrr"] == values["map"]


CALLS = {
    "expected": lambda **options: expected_sampled_metric([1], metric="mrr", **options),
    "correct": lambda **options: correct_sampled([1], metric="mrr", **options),
    "estimate": lambda **options: estimate_rank_distribution([1], **options),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("unknown", ["n_items", "n_samples", "replacement"])
def test_unknown_designs_are_refused(call, unknown):
    known = {"n_items": 10, "n_samples": 3, "replacement": True}
    call(**known)
    with pytest.raises(InvalidParameterError, match=f"{unknown} must be known"):
        call(**known | {unknown: None})


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_items": 1}, "n_items must be between 2 and"),
        ({"n_samples": 0}, "n_samples must be between 1 and"),
        ({"n_samples": 10, "replacement": False}, "only 9 of 10 items are negatives"),
        ({"n_items": 10.0}, "n_items must be an integer"),
        ({"replacement": "wr"}, "replacement must be True or False"),
    ],
)
def test_impossible_designs_are_refused(call, wrong, message):
    with pytest.raises(RankboundError, match=message):
        call(**{"n_items": 10, "n_samples": 3, "replacement": True} | wrong)


@pytest.mark.parametrize(
    ("ranks", "error", "message"),
    [
        ([], EmptyInputError, "ranks is empty"),
        ([1, 0], InvalidParameterError, "ranks has 0 at list 1; ranks among 10 items are integers from 1 to 10"),
        ([-1], InvalidParameterError, "leave out lists whose truth is no candidate"),
        ([11], InvalidParameterError, "ranks has 11"),
        ([1.5], InvalidParameterError, "ranks has 1.5"),
        ([math.nan], InvalidParameterError, "ranks has nan"),
        (["a"], InvalidTypeError, "ranks must hold integers"),
        ([True], InvalidTypeError, "ranks must hold integers, got booleans"),
        ([[1]], ShapeError, "ranks has 2 dimension"),
    ],
)
def test_wrong_ranks_are_refused(ranks, error, message):
    with pytest.raises(error, match=message):
        expected_sampled_metric(ranks, 10, 3, "mrr", replacement=True)


def test_sampled_ranks_end_after_the_negatives():
    with pytest.raises(InvalidParameterError, match="the item and its 3 negatives are integers from 1 to 4"):
        correct_sampled([5], 10, 3, "mrr", replacement=True)
    with pytest.raises(InvalidParameterError, match="worst_ranks has 1 at list 0, above its best rank 2"):
        correct_sampled([2], 10, 3, "mrr", replacement=True, worst_ranks=[1])
    with pytest.raises(ShapeError, match="worst_ranks has 2 entries, but ranks has 1"):
        correct_sampled([2], 10, 3, "mrr", replacement=True, worst_ranks=[2, 2])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "recall@10"}, InvalidParameterError, "metric must be one of"),
        ({"metric": "err"}, InvalidParameterError, "metric must be one of"),
        ({"metric": "hit"}, InvalidKError, "'hit' needs a cut-off"),
        ({"metric": "auc", "k": 3}, InvalidKError, "'auc' takes the whole list"),
        ({"k": 0}, InvalidKError, "k must be at least 1"),
        ({"method": "best"}, InvalidParameterError, "method must be one of"),
        ({"gamma": 1.1}, InvalidParameterError, "gamma must lie between 0 and 1"),
        ({"gamma": "0"}, InvalidTypeError, "gamma must be a number"),
        ({"prior": [1]}, ShapeError, "give a probability for each of the 10 ranks"),
        ({"prior": [0.2] * 10}, InvalidParameterError, "prior sums to 2.0"),
        ({"prior": [-1] + [0.2] * 9}, InvalidParameterError, "prior has -1.0 at rank 1"),
        ({"prior": ["a"] * 10}, InvalidTypeError, "prior must hold numbers"),
        ({"prior": [0.1] * 10, "method": "rank"}, InvalidParameterError, "prior is of no use to method 'rank'"),
        ({"n_samples": 10, "method": "cls"}, InvalidParameterError, "'cls' has no unique solution"),
        ({"n_samples": 10, "method": "least_bias"}, InvalidParameterError, "'least_bias' has no unique solution"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        correct_sampled([1], **{"n_items": 10, "n_samples": 3, "metric": "mrr", "replacement": True} | options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"eta": 0}, InvalidParameterError, "eta must be above 0"),
        ({"eta": -1}, InvalidParameterError, "eta must be finite and at least 0"),
        ({"method": "mle", "n_iterations": -1}, InvalidParameterError, "n_iterations must be at least 0"),
        ({"method": "em"}, InvalidParameterError, "method must be one of 'mle', 'mes'"),
        ({"n_samples": [2.5]}, InvalidTypeError, "n_samples must hold integers, got floats"),
        ({"n_samples": ["a"]}, InvalidTypeError, "n_samples must hold integers, got strings"),
    ],
)
def test_wrong_options_of_estimates_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        estimate_rank_distribution([1], **{"n_items": 10, "n_samples": 3, "replacement": True} | options)


def sampled(n_items=10, n_samples=3, replacement=True, metric="mrr", ranks=(1, 2)):
    return expected_sampled_metric(ranks, n_items, n_samples, metric, replacement=replacement)


def test_results_of_one_design_compare():
    high, low = sampled(), sampled(ranks=[2, 3])
    assert high - low == pytest.approx(high.value - low.value)
    assert high > low
    assert high >= low
    assert low < high
    assert low <= high
    assert isinstance(high, SampledResult)


ORDERS = [operator.sub, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("order", ORDERS)
def test_sampled_and_exact_do_not_compare(order):
    for left, right in [(sampled(), 0.5), (0.5, sampled()), (np.float64(0.5), sampled()), (sampled(), "mrr")]:
        with pytest.raises(ComparisonError, match=r"stems from sampled negatives and .* does not"):
            order(left, right)
    corrected = correct_sampled([1], 10, 3, "mrr", replacement=True)
    for left, right, message in [
        (sampled(), corrected, "differ in metric, design or method"),
        (sampled(), sampled(n_samples=4), "differ in metric, design or method"),
        (sampled(), sampled(replacement=False), "differ in metric, design or method"),
        (sampled(), sampled(metric="ndcg"), "differ in metric, design or method"),
        (sampled(), sampled(n_items=11), "10 items on one side and from 11"),
    ]:
        with pytest.raises(ComparisonError, match=message):
            order(left, right)


def test_names_are_checked():
    check_comparable("ndcg@10", 0.3)
    check_comparable("sampled_recall@10[m=100,wr]", "sampled_recall@10[m=100,wr]")
    with pytest.raises(ComparisonError, match="does not say how its negatives were drawn"):
        check_comparable("sampled_recall@10", "sampled_recall@10")
    with pytest.raises(ComparisonError, match="does not say how its negatives were drawn"):
        check_comparable("recall@10", "corrected_recall@10[wr]")
    with pytest.raises(ComparisonError, match="stems from sampled negatives and dict does not"):
        check_comparable({"recall@10": 0.5}, "sampled_recall@10[m=100,wor]")


def test_negatives_are_not_drawn_here():
    import rankbound.sampled

    assert not hasattr(rankbound.sampled, "sample_negatives")


def test_what_rules_a_rank_out_is_named():
    # Of two items one is sampled five times: the truth is first or last.
    with pytest.raises(InvalidParameterError, match="ranks has 2 at list 1, which the design rules out"):
        correct_sampled([1, 2], 2, 5, "ndcg", 1, replacement=True)
    prior = np.eye(10)[9]
    with pytest.raises(InvalidParameterError, match="ranks has 1 at list 0, which the prior rules out"):
        correct_sampled([1, 2], 10, 3, "ndcg", 1, replacement=False, prior=prior)


def test_a_correction_that_cannot_be_solved_names_one_that_can():
    with pytest.raises(InvalidParameterError, match="use method 'bias_variance' with a gamma closer to 1"):
        correct_sampled([1, 2], 10_000, 100, "ndcg", 1, replacement=False, method="least_bias")


def test_a_missing_number_of_negatives_is_named():
    with pytest.raises(InvalidTypeError, match="n_samples has no number at list 1"):
        estimate_rank_distribution([1, 2], 10, [3, None], replacement=True, method="mle")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: expected_sampled_metric([1], 10**9, 5, "ndcg", replacement=True, worst_ranks=[10**9]),
            "n_items=1000000000 and n_samples=5 need an array of 1000000000 numbers, .* break some of the ties",
        ),
        (
            lambda: correct_sampled([1], 10**9, 5, "ndcg", replacement=True),
            "need an array of 1000000000 numbers, .*'bias_variance' takes up to 268435456 items; method 'rank' takes",
        ),
        (
            lambda: correct_sampled([1], 10**6, 10**5, "ndcg", replacement=True),
            "need an array of 10000200001 numbers, .*'bias_variance' takes up to 16383 negatives; method 'rank'",
        ),
        (
            lambda: correct_sampled([1], 10**6, 10**4, "ndcg", method="cls", replacement=True),
            "method 'cls' takes up to 4095 negatives; method 'rank' takes more",
        ),
        (
            lambda: estimate_rank_distribution([1], 10**8, 10, replacement=True),
            "need an array of 1100000000 numbers, .*n_items may be up to 24403223 with so many negatives",
        ),
    ],
)
def test_what_does_not_fit_in_memory_is_refused_before_it_is_made(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_what_needs_no_table_takes_the_largest_catalogue():
    # The sampled rank 5 stands for the true rank 1 + (10^9 - 1) * 4 // 100.
    found = correct_sampled([1, 5], 10**9, 100, "ndcg", method="rank", replacement=True)
    assert found.value == pytest.approx((1 + 1 / np.log2(40_000_001)) / 2, rel=1e-12)
