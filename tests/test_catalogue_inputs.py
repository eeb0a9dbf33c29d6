"""Every catalogue metric from every input: vectors, runs, recommenders and batches say what the scores say."""

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest

import oracle
from rankbound import (
    RankedLists,
    RankingEvaluator,
    catalogue,
    errors,
    evaluate_embeddings,
    evaluate_ranked_predictions,
    evaluate_recommender,
    evaluate_run,
    evaluate_scores,
)
from rankbound.catalogue import Embeddings

RNG = np.random.default_rng(17)
N_QUERIES, N_ITEMS, K = 12, 9, 3
# Small integers: every score is exact, and many are equal.
QUERIES = RNG.integers(-1, 2, (N_QUERIES, 4)).astype(np.float32)
ITEMS = RNG.integers(-1, 2, (N_ITEMS, 4)).astype(np.float32)
ITEM_BIAS = RNG.integers(0, 2, N_ITEMS).astype(np.float32)
SCORES = QUERIES @ ITEMS.T + ITEM_BIAS
TARGETS = RNG.integers(0, 3, (N_QUERIES, N_ITEMS)) * (RNG.random((N_QUERIES, N_ITEMS)) < 0.4)
TARGETS[4] = 0
EXCLUDE = RNG.random((N_QUERIES, N_ITEMS)) < 0.2
EXCLUDE[:, 0] = False
COUNTS = RNG.integers(0, 20, N_ITEMS)
FEATURES = RNG.random((N_ITEMS, 3)) + 0.1
GROUPS = np.arange(N_ITEMS) % 2


def every_metric(order=slice(None)):
    """Return all of them, with data about the items in an order."""
    counts = COUNTS[order]
    return [
        "recall@3",
        "catalog_coverage@3",
        "recommendation_entropy@3",
        "recommendation_gini@3",
        "macro_recall@3",
        "expected_exposure@3",
        catalogue.GroupExposure(K, groups=GROUPS[order]),
        catalogue.GroupExposure(K, groups=GROUPS[order], weights="log2"),
        catalogue.Novelty(K, counts=counts),
        catalogue.AverageRecommendationPopularity(K, counts=counts),
        catalogue.TailShare(K, counts=counts),
        catalogue.TailHit(K, counts=counts, tail_mass=0.4),
        catalogue.IntraListDiversity(K, features=FEATURES[order]),
        catalogue.Serendipity(K, popularity=counts),
    ]


def check_same(found, expected):
    """Compare results bit for bit."""
    assert dict(found.metrics) == dict(expected.metrics)
    assert not np.isnan(list(found.metrics.values())).any()
    assert {key: column.tolist() for key, column in found.per_user.items()} == {
        key: column.tolist() for key, column in expected.per_user.items()
    }
    assert found.ties == expected.ties
    assert found.protocol["catalogue"] == expected.protocol["catalogue"]


def squared_distances(queries, items):
    return -((queries[:, None] - items[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize(
    ("similarity", "scores"),
    [("inner", SCORES), ("l2", squared_distances(QUERIES, ITEMS) + ITEM_BIAS)],
)
@pytest.mark.parametrize("unseen", ["miss", "drop"])
@pytest.mark.parametrize("num_threads", [1, 3])
def test_embeddings_show_what_their_scores_show(similarity, scores, unseen, num_threads):
    options = {"metrics": every_metric(), "exclude": EXCLUDE, "unseen": unseen, "num_threads": num_threads}
    found = evaluate_embeddings(QUERIES, ITEMS, TARGETS, item_bias=ITEM_BIAS, similarity=similarity, **options)
    check_same(found, evaluate_scores(scores, TARGETS, **options))


def test_cosine_similarity_and_half_precision():
    axes = np.array([[1, 0], [0, 3], [2, 0], [0, -1]], dtype=np.float16)
    found = evaluate_embeddings(axes, axes, np.eye(4), similarity="cosine", metrics=["catalog_coverage@1"])
    cosines = [[1, 0, 1, 0], [0, 1, 0, -1], [1, 0, 1, 0], [0, -1, 0, 1]]
    assert found["catalog_coverage@1"] == catalogue.catalog_coverage(cosines, 1)


def test_vectors_so_long_that_items_come_in_pieces():
    queries = RNG.integers(-1, 2, (7, 130_000), dtype=np.int8).astype(np.float32)
    items = RNG.integers(-1, 2, (40, 130_000), dtype=np.int8).astype(np.float32)
    items[20:] = items[:20]
    # Whole numbers below 2^24: no sum is rounded.
    scores = queries @ items.T
    found = catalogue.exposure(Embeddings(queries, items), 5)
    expected = catalogue.exposure(scores, 5)
    assert found.expected.tolist() == expected.expected.tolist()
    assert found.n_tied_at_cut == expected.n_tied_at_cut > 0


def test_functions_take_embeddings():
    vectors = Embeddings(QUERIES, ITEMS, ITEM_BIAS)
    assert (len(vectors), vectors.n_items) == SCORES.shape

    def numbers(recommendations):
        options = {"exclude": EXCLUDE}
        shown = catalogue.exposure(recommendations, K, weights="geometric", patience=0.5, **options)
        shares = catalogue.group_exposure(recommendations, GROUPS, K, merit=COUNTS, **options)
        return [
            shown.expected.tolist(),
            shares.ratio.tolist(),
            catalogue.catalog_coverage(recommendations, K, catalog_size=20, **options),
            catalogue.recommendation_entropy(recommendations, K, **options),
            catalogue.recommendation_gini(recommendations, K, **options),
            catalogue.novelty(recommendations, K, counts=COUNTS, **options),
            catalogue.average_recommendation_popularity(recommendations, K, counts=COUNTS, **options),
            catalogue.tail_share(recommendations, K, counts=COUNTS, **options),
            catalogue.intra_list_diversity(recommendations, K, features=FEATURES, **options),
            catalogue.serendipity(recommendations, TARGETS, K, popularity=COUNTS, **options),
            catalogue.macro_recall(recommendations, TARGETS, K, **options),
            catalogue.tail_hit(recommendations, TARGETS, K, counts=COUNTS, tail_mass=0.4, **options),
            catalogue.expected_exposure(recommendations, TARGETS, K, **options),
        ]

    assert numbers(vectors) == numbers(SCORES)


def test_batches_of_embeddings_merge():
    whole = catalogue.CatalogueEvaluator(every_metric()[1:])
    whole.update(SCORES, TARGETS)
    parts = catalogue.CatalogueEvaluator(every_metric()[1:])
    parts.update(Embeddings(QUERIES[:5], ITEMS, ITEM_BIAS), TARGETS[:5])
    other = catalogue.CatalogueEvaluator(every_metric()[1:])
    other.update(Embeddings(QUERIES[5:], ITEMS, ITEM_BIAS), TARGETS[5:])
    parts.merge(other)
    assert parts.compute() == whole.compute()
    assert parts.ties() == whole.ties()
    assert parts.protocol() == whole.protocol()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Embeddings(QUERIES.astype(float), ITEMS), errors.InvalidTypeError, "queries has dtype float64"),
        (lambda: Embeddings(QUERIES, ITEMS[:, :3]), errors.ShapeError, "queries has 4 dimensions, but items has 3"),
        (lambda: Embeddings(QUERIES[0], ITEMS), errors.ShapeError, "queries has 1 dimension"),
        (lambda: Embeddings(QUERIES[:0], ITEMS), errors.EmptyInputError, r"queries has shape \(0, 4\)"),
        (lambda: Embeddings(QUERIES, ITEMS, ITEM_BIAS[:2]), errors.ShapeError, "item_bias"),
        (lambda: Embeddings(QUERIES, ITEMS, similarity="dot"), errors.InvalidParameterError, "similarity"),
        (
            lambda: catalogue.exposure(Embeddings(QUERIES, ITEMS), 2, mask_neg_inf=True),
            errors.InvalidParameterError,
            "mask_neg_inf is for scores",
        ),
        (
            lambda: catalogue.exposure(Embeddings(QUERIES, ITEMS), 2, exclude=EXCLUDE[:2]),
            errors.ShapeError,
            "exclude has shape .* but there are 12 queries and 9 items; it must be",
        ),
        (
            lambda: catalogue.exposure(Embeddings(QUERIES, ITEMS), 2, exclude=np.ones_like(EXCLUDE)),
            errors.EmptyInputError,
            "row 0 has no candidate left",
        ),
        (
            lambda: catalogue.exposure(Embeddings(np.full((3, 4), np.nan, np.float32), ITEMS), 2),
            errors.NonFiniteScoreError,
            "queries has NaN at row 0, dimension 0",
        ),
        (
            lambda: catalogue.exposure(Embeddings(np.full((3, 4), 3e38, np.float32), ITEMS * 9), 2),
            errors.NonFiniteScoreError,
            "query 0 scores",
        ),
    ],
)
def test_embeddings_that_cannot_be_shown(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Runs name items by ids, whose order in the catalogue is the caller's.
NAMES = np.array([f"item-{place}" for place in RNG.permutation(N_ITEMS)])
ORDER = RNG.permutation(N_ITEMS)
QRELS = {f"q{row:02}": {NAMES[item]: int(TARGETS[row, item]) for item in range(N_ITEMS)} for row in range(N_QUERIES)}


def as_run(scores, queries=range(N_QUERIES)):
    """Return candidates as nested mappings, in an order of no meaning."""
    return {
        f"q{row:02}": {NAMES[item]: float(scores[row, item]) for item in RNG.permutation(N_ITEMS)}
        for row in RNG.permutation(queries)
    } | {"q99": {"not in the catalogue": 1.0}}


def test_a_run_shows_what_its_scores_show():
    found = evaluate_run(as_run(SCORES), QRELS, metrics=every_metric(ORDER), item_ids=NAMES[ORDER])
    expected = evaluate_scores(SCORES[:, ORDER], TARGETS[:, ORDER], metrics=every_metric(ORDER))
    check_same(found, expected)
    assert found.protocol["population"]["n_items"] == N_ITEMS
    plain = evaluate_run(as_run(SCORES), QRELS, metrics="recall@3")
    assert plain.protocol["candidates"] == found.protocol["candidates"], "they can be compared"
    assert "n_items" not in plain.protocol["population"]
    other = evaluate_run(as_run(SCORES), QRELS, metrics="recall@3", item_ids=NAMES)
    assert other.protocol["population"]["catalogue_hash"] != found.protocol["population"]["catalogue_hash"]


def test_integer_ids_and_queries_without_rows():
    run = {query: {1000 - item: SCORES[query, item] for item in range(N_ITEMS)} for query in (0, 2, 3)}
    qrels = {query: {1000 - item: TARGETS[query, item] for item in range(N_ITEMS)} for query in range(4)}
    found = evaluate_run(run, qrels, metrics=every_metric(), item_ids=1000 - np.arange(N_ITEMS))
    lists = RankedLists(
        np.argsort(-SCORES[:4], axis=1, kind="stable"),
        -np.sort(-SCORES[:4], axis=1),
        lengths=[N_ITEMS, 0, N_ITEMS, N_ITEMS],
    )
    check_same_means = evaluate_ranked_predictions(lists, TARGETS[:4], metrics=every_metric())
    assert dict(found.metrics) == dict(check_same_means.metrics)
    assert np.isnan(found.per_user["novelty@3"][1])


@pytest.mark.parametrize("integers", [False, True])
def test_a_run_without_ties_shows_its_order(integers):
    names = [(7, 30, 10, 9, 100, 2, 81, 80, 8), NAMES.tolist()][not integers]
    key = {name: str(name) for name in names}
    run = {
        f"q{row:02}": dict(zip(names, (SCORES[row] + 1e-12 * np.arange(N_ITEMS)).tolist(), strict=True))
        for row in range(N_QUERIES)
    }
    qrels = {f"q{row:02}": dict(zip(names, TARGETS[row].tolist(), strict=True)) for row in range(N_QUERIES)}
    found = evaluate_run(run, qrels, metrics=every_metric(), item_ids=names, tie_break="trec_eval")
    # trec_eval compares scores in single precision, then ids as text, the largest first.
    indices = [
        sorted(range(N_ITEMS), key=lambda item: (SCORES[row, item], key[names[item]]), reverse=True)
        for row in range(N_QUERIES)
    ]
    check_same(found, evaluate_ranked_predictions(RankedLists(indices), TARGETS, metrics=every_metric()))


def test_a_run_by_its_rank_column():
    order = np.argsort(-SCORES, axis=1, kind="stable")
    rows = [(f"q{row:02}", NAMES[item], place + 1) for row in range(N_QUERIES) for place, item in enumerate(order[row])]
    pandas = pytest.importorskip("pandas")
    run = pandas.DataFrame(rows, columns=["query", "item", "rank"]).sample(frac=1, random_state=3)
    found = evaluate_run(run, QRELS, metrics=every_metric(), item_ids=NAMES, tie_break="rank_column")
    check_same(found, evaluate_ranked_predictions(RankedLists(order), TARGETS, metrics=every_metric()))


def test_what_a_run_must_say():
    run, qrels = {"q1": {"a": 2.0, "b": 1.0, "c": 1.0}}, {"q1": {"a": 1}}

    def refused(error, message, *, run=run, qrels=qrels, metrics="catalog_coverage@2", **options):
        with pytest.raises(error, match=message):
            evaluate_run(run, qrels, metrics=metrics, **options)

    refused(errors.InvalidParameterError, "metrics has catalog_coverage@2, but a run does not say .* item_ids")
    refused(errors.UnknownLabelError, "item_ids has no 'c', which run has", item_ids=["a", "b"])
    refused(errors.UnknownLabelError, "item_ids has no 'z'", qrels={"q1": {"z": 1}}, item_ids=["a", "b", "c"])
    refused(errors.DuplicateItemError, "'b' twice, again at position 2", item_ids=["a", "b", "b", "c"])
    refused(errors.DuplicateItemError, "5 twice, again at position 1", item_ids=[5, 5])
    refused(errors.InvalidTypeError, "run has 'a', item_ids has 1", item_ids=[1, 2, 3])
    refused(errors.InvalidTypeError, "ids must be integers or strings", item_ids=[1.5])
    refused(errors.InvalidTypeError, "ids of all items", item_ids="abc")
    refused(errors.EmptyInputError, "item_ids is empty", item_ids=[])
    refused(errors.InvalidParameterError, "no bounds", item_ids=list("abcd"), open_tie="bounds")
    refused(errors.ShapeError, "3 items", item_ids=list("abcd"), metrics=catalogue.Novelty(1, counts=[1, 2, 3]))


def test_a_run_that_ends_within_a_tie():
    """No value of recall depends on the tie, but what is shown does; unless the list holds every item."""
    run, qrels = (
        {"q1": {"a": 2.0, "b": 1.0, "c": 1.0}, "q0": {"c": 1.0}, "q2": {"a": 1.0}},
        {"q1": {"a": 1}, "q0": {"c": 1}, "q2": {"a": 1}},
    )
    metrics = ["recall@2", "catalog_coverage@2"]
    with pytest.raises(
        errors.OpenTieError, match="query 'q1' end within a tie that reaches into its top 2: 2 of its 3"
    ):
        evaluate_run(run, qrels, metrics=metrics, item_ids=["a", "b", "c", "d"], open_tie="refuse")
    listed = evaluate_run(run, qrels, metrics=metrics, item_ids=["a", "b", "c", "d"])
    assert listed["catalog_coverage@2"] == (1 + 1 / 2 + 1) / 4
    whole = evaluate_run(run, qrels, metrics=metrics, item_ids=["c", "b", "a"], open_tie="refuse")
    assert whole["catalog_coverage@2"] == (1 + 1 / 2 + 1) / 3
    shallow = evaluate_run(run, qrels, metrics="catalog_coverage@1", item_ids=["a", "b", "c", "d"], open_tie="refuse")
    assert shallow["catalog_coverage@1"] == 2 / 4


class Ranks:
    """Recommends by the scores, best first."""

    def predict_on_batch(self, source, *, k):  # noqa: ARG002 - it lists everything
        order = np.argsort(-source, axis=1, kind="stable")
        return RankedLists(order, np.take_along_axis(source, order, axis=1), n_items=N_ITEMS)


def test_recommenders_and_evaluators_have_every_metric():
    expected = evaluate_scores(SCORES, TARGETS, metrics=every_metric())
    found = evaluate_recommender(Ranks(), source=SCORES, targets=TARGETS, metrics=every_metric(), batch_size=5)
    check_same(found, expected)
    first, second = RankingEvaluator(every_metric()), RankingEvaluator(every_metric())
    lists = Ranks().predict_on_batch(SCORES, k=K)
    for evaluator, rows in ((first, slice(0, 3)), (first, slice(3, 7)), (second, slice(7, None))):
        evaluator.update(lists.rows(rows.start, rows.stop or N_QUERIES), TARGETS[rows])
    first.merge(second)
    check_same(first.compute(), expected)


def test_how_far_coverage_can_be_from_its_expectation():
    """Methods 2.5: the variance is 11/576, and 13/576 bounds it."""
    scores = [[3, 2, 2, 1], [0, 0, 0, 0], [1, 5, 1, 1]]
    tops = [{order[:2] for order in oracle.orders(row)} for row in scores]
    weights = [
        [(top, Fraction(sum(order[:2] == top for order in orders), len(orders))) for top in of_row]
        for of_row, orders in zip(tops, map(oracle.orders, scores), strict=True)
    ]
    first = second = Fraction(0)
    for drawn in product(*weights):
        weight = drawn[0][1] * drawn[1][1] * drawn[2][1]
        coverage = Fraction(len(set().union(*(top for top, _ in drawn))), 4)
        first, second = first + weight * coverage, second + weight * coverage**2
    assert second - first**2 == Fraction(11, 576)
    shown = catalogue.exposure(scores, 2)
    assert shown.coverage_sd_bound() == pytest.approx(sqrt(13) / 24, rel=1e-15)
    assert shown.coverage_sd_bound(8) == pytest.approx(sqrt(13) / 48, rel=1e-15)
    with pytest.raises(errors.InvalidParameterError, match="4 items"):
        shown.coverage_sd_bound(3)
    metrics = ["catalog_coverage@2", "recommendation_gini@2"]
    result = evaluate_scores(scores, np.eye(3, 4), metrics=metrics)
    assert result.ties == {"catalog_coverage@2": {"sd_bound": shown.coverage_sd_bound()}}
    half = catalogue.CatalogueEvaluator(catalogue.CatalogCoverage(2, catalog_size=8))
    assert half.ties() == {}
    half.update(scores)
    assert half.ties() == {"catalog_coverage@2": {"sd_bound": shown.coverage_sd_bound(8)}}
    certain = evaluate_scores([[3, 2, 1]], [[1, 0, 0]], metrics=metrics)
    assert certain.ties["catalog_coverage@2"] == {"sd_bound": 0}
    nothing = evaluate_scores(scores, np.zeros((3, 4)), metrics=metrics)
    assert np.isnan(nothing.ties["catalog_coverage@2"]["sd_bound"])


def test_what_macro_recall_rests_on():
    targets = np.array([[1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    result = evaluate_scores(np.zeros((5, 4)), targets, metrics="macro_recall@2")
    support = {"n_classes": 3, "min_support": 1, "median_support": 2.0}
    assert result.protocol["catalogue"]["macro_recall@2"] == support
    evaluator = catalogue.CatalogueEvaluator("macro_recall@2")
    assert evaluator.protocol() == {"macro_recall@2": {}}
    evaluator.update(np.zeros((5, 4)), targets)
    assert evaluator.protocol() == {"macro_recall@2": support}
    # What is left out of the mean is no support.
    exclude = np.zeros((5, 4), dtype=bool)
    exclude[3, 1] = True
    dropped = evaluate_scores(np.zeros((5, 4)), targets, metrics="macro_recall@2", exclude=exclude, unseen="drop")
    assert dropped.protocol["catalogue"]["macro_recall@2"] == {"n_classes": 2, "min_support": 2, "median_support": 2.5}
    nothing = evaluate_scores(np.zeros((5, 4)), 0 * targets, metrics="macro_recall@2")
    assert nothing.protocol["catalogue"]["macro_recall@2"]["n_classes"] == 0
    assert np.isnan(nothing.protocol["catalogue"]["macro_recall@2"]["min_support"])
