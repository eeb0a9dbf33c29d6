"""Catalogue metrics against the enumeration of every order that ties allow, and the worked examples of the methods."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import oracle
from rankbound import RankedLists, catalogue

SCORES = np.array([[3, 2, 2, 1], [0, 0, 0, 0], [1, 5, 1, 1]])
RNG = np.random.default_rng(11)


def random_case(*, width=6):
    """Return scores with ties, excluded items, a cut-off and grades."""
    n_items = int(RNG.integers(2, width))
    scores = RNG.integers(0, 3, (4, n_items))
    exclude = RNG.random(scores.shape) < 0.15
    exclude[:, 0] = False
    grades = RNG.integers(0, 3, scores.shape)
    return scores, exclude, int(RNG.integers(1, n_items + 2)), grades


CASES = [random_case() for _ in range(25)]


def tops(scores, exclude, k):
    """Return, per row, the top k of each order."""
    return [
        [order[:k] for order in oracle.orders(row, np.flatnonzero(mask))]
        for row, mask in zip(scores, exclude, strict=True)
    ]


def mean_over_lists(lists, value):
    """Return the mean over lists of the mean over orders."""
    return float(oracle.mean(oracle.mean(value(row, top) for top in of_row) for row, of_row in enumerate(lists)))


def same(found, expected):
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("case", CASES)
def test_means_over_items(case):
    scores, exclude, k, _ = case
    lists = tops(scores, exclude, k)
    counts = RNG.integers(0, 9, scores.shape[1])
    counts[0] = 3
    total = int(counts.sum())
    information = [Fraction(-math.log2(max(count, 1) / total)) for count in counts]
    in_tail = oracle.tail(counts.tolist(), 0.4)
    percentile = [
        (np.sum(counts < count) + Fraction(int(np.sum(counts == count)), 2)) / len(counts) for count in counts
    ]

    def mean_of(numbers):
        return mean_over_lists(lists, lambda _, top: oracle.mean(Fraction(numbers[item]) for item in top))

    options = {"counts": counts, "exclude": exclude}
    same(catalogue.novelty(scores, k, **options), mean_of(information))
    popularity = catalogue.average_recommendation_popularity
    same(popularity(scores, k, **options), mean_of(counts.tolist()))
    same(popularity(scores, k, scale="share", **options), mean_of([Fraction(int(one), total) for one in counts]))
    same(popularity(scores, k, scale="percentile", **options), mean_of(percentile))
    tail = [int(item in in_tail) for item in range(len(counts))]
    same(catalogue.tail_share(scores, k, tail_mass=0.4, **options), mean_of(tail))


@pytest.mark.parametrize("case", CASES)
def test_exposure_coverage_and_groups(case):
    scores, exclude, k, _ = case
    lists = tops(scores, exclude, k)
    n_items = scores.shape[1]
    weights = {
        "top": lambda _: Fraction(1),
        "log2": lambda rank: Fraction(1 / math.log2(1 + rank)),
        "geometric": lambda rank: Fraction(0.25 * 0.75 ** (rank - 1)),
    }
    for name, weight in weights.items():
        expected = [
            sum(
                oracle.mean(weight(top.index(item) + 1) if item in top else Fraction(0) for top in of_row)
                for of_row in lists
            )
            for item in range(n_items)
        ]
        patience = 0.75 if name == "geometric" else None
        shown = catalogue.exposure(scores, k, weights=name, patience=patience, exclude=exclude)
        same(shown.expected, [float(one) for one in expected])
        labels = [item % 2 for item in range(n_items)]
        groups = catalogue.group_exposure(shown, labels, merit=np.arange(n_items) + 1.0)
        same(groups.exposure, [float(sum(expected[group::2])) for group in (0, 1)])
        merits = [sum(range(1 + group, n_items + 1, 2)) for group in (0, 1)]
        shares = [sum(expected[group::2]) / sum(expected) for group in (0, 1)]
        same(groups.ratio, [float(share * sum(merits) / merit) for share, merit in zip(shares, merits, strict=True)])
    unseen = [
        math.prod(1 - oracle.mean(Fraction(item in top) for top in of_row) for of_row in lists)
        for item in range(n_items)
    ]
    same(catalogue.exposure(scores, k, exclude=exclude).seen, [float(1 - one) for one in unseen])
    same(catalogue.catalog_coverage(scores, k, exclude=exclude), float(1 - oracle.mean(unseen)))
    coverage = catalogue.catalog_coverage(scores, k, exclude=exclude, catalog_size=2 * n_items)
    same(coverage, float(1 - oracle.mean(unseen)) / 2)
    first = [oracle.mean(Fraction(item in top) for top in lists[0]) for item in range(n_items)]
    same(catalogue.recommendation_gini(scores[:1], k, exclude=exclude[:1]), float(oracle.gini(first)))
    same(catalogue.recommendation_entropy(scores[:1], k, exclude=exclude[:1]), oracle.entropy(first))


@pytest.mark.parametrize("case", CASES)
def test_diversity(case):
    scores, exclude, k, _ = case
    n_items = scores.shape[1]
    features = RNG.integers(1, 5, (n_items, 3)).astype(float)
    distances = np.abs(features[:, None] - features).sum(axis=2)
    norms = np.linalg.norm(features, axis=1)
    cosines = 1 - features @ features.T / np.outer(norms, norms)

    def mean_of(matrix):
        def value(_, top):
            return oracle.mean(Fraction(matrix[pair]) for pair in combinations(top, 2))

        long_enough = [of_row for of_row in tops(scores, exclude, k) if len(of_row[0]) > 1]
        return mean_over_lists(long_enough, value)

    found = [
        catalogue.intra_list_diversity(scores, k, exclude=exclude, **data)
        for data in (
            {"features": features},
            {"metric": distances},
            {"features": features, "metric": lambda a, b: abs(a - b).sum()},
        )
    ]
    same(found, [mean_of(cosines), mean_of(distances), mean_of(distances)])


@pytest.mark.parametrize("case", CASES)
def test_relevant_items(case):
    scores, exclude, k, grades = case
    lists = tops(scores, exclude, k)
    n_items = scores.shape[1]
    counts = RNG.integers(1, 4, n_items)
    in_tail = oracle.tail(counts.tolist(), 0.5)
    pairs = {}
    for row, item in zip(*np.nonzero(grades), strict=True):
        pairs.setdefault(item, []).append(oracle.mean(Fraction(item in top) for top in lists[row]))
    same(
        catalogue.macro_recall(scores, grades, k, exclude=exclude), float(oracle.mean(map(oracle.mean, pairs.values())))
    )
    tail = [hit for item, hits in pairs.items() if item in in_tail for hit in hits]
    found = catalogue.tail_hit(scores, grades, k, counts=counts, tail_mass=0.5, exclude=exclude)
    same(found, float(oracle.mean(tail)))
    popular = tops(np.tile(counts, (len(scores), 1)), exclude, k)
    values = [
        oracle.mean(
            Fraction(sum(grades[row, item] > 0 and item not in other for item in top), len(top))
            for top, other in product(of_row, popular[row])
        )
        for row, of_row in enumerate(lists)
        if grades[row].any()
    ]
    same(catalogue.serendipity(scores, grades, k, popularity=counts, exclude=exclude), float(oracle.mean(values)))


@pytest.mark.parametrize("case", CASES)
def test_expected_exposure(case):
    scores, exclude, k, grades = case

    def exposures(values, mask):
        orders = oracle.orders(values, np.flatnonzero(mask))
        weight = [Fraction(1 / math.log2(2 + place)) for place in range(k)] + [Fraction(0)] * len(values)
        return [
            oracle.mean(weight[order.index(item)] if item in order else Fraction(0) for order in orders)
            for item in range(len(values))
        ]

    parts = []
    for row, mask, grade in zip(scores, exclude, grades, strict=True):
        if grade.any():
            own, deserved = exposures(row, mask), exposures(grade, mask)
            parts.append(
                (
                    sum((a - b) ** 2 for a, b in zip(own, deserved, strict=True)),
                    sum(a * a for a in own),
                    sum(a * b for a, b in zip(own, deserved, strict=True)),
                )
            )
    found = catalogue.expected_exposure(scores, grades, k, exclude=exclude)
    expected = [float(oracle.mean(part)) for part in zip(*parts, strict=True)] if parts else [math.nan] * 3
    same([found.loss, found.disparity, found.relevance], expected)


def test_expected_exposure_of_one_need_served_by_many_lists():
    drawn = RankedLists([[0, 1], [1, 0], [2, 1], [0, 2]], n_items=3)
    shown = catalogue.exposure(drawn, 1, weights="top")
    found = catalogue.expected_exposure(shown, [1, 1, 0])
    # Shares 1/2, 1/4, 1/4 against 1/2, 1/2, 0.
    assert (found.loss, found.disparity, found.relevance) == (0.125, 0.375, 0.375)
    ideal = catalogue.expected_exposure([[1, 1, 0]], [[1, 1, 0]], 2)
    assert ideal.loss == 0
    assert ideal.disparity == ideal.relevance


def test_worked_example_of_exposure():
    shown = catalogue.exposure(SCORES, 2)
    same(shown.expected, [11 / 6, 2, 4 / 3, 5 / 6])
    same(shown.seen, [1, 1, 5 / 6, 2 / 3])
    same(catalogue.catalog_coverage(shown), 7 / 8)
    same(catalogue.recommendation_gini(shown), 1 / 6)
    same(catalogue.recommendation_entropy(shown), 1.3368953358492415)
    assert (shown.n_lists, shown.k, shown.n_items, shown.n_tied_at_cut) == (3, 2, 4, 3)


def test_worked_examples_of_constant_scores():
    constant = np.zeros((10, 20))
    same(catalogue.catalog_coverage(constant, 10), 1023 / 1024)
    assert catalogue.recommendation_gini(constant, 10) == 0
    assert catalogue.catalog_coverage(constant[:1], 10) == 0.5


def test_worked_examples_of_lists():
    assert catalogue.novelty([[7, 7, 7, 7]], 2, counts=[4, 2, 1, 1]) == 9 / 4
    distances = [[0, 1, 0.5], [1, 0, 0], [0.5, 0, 0]]
    assert catalogue.intra_list_diversity([[1, 1, 1]], 2, metric=distances) == 0.5
    hits = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    truths = [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0]]
    same(catalogue.macro_recall(hits, truths, 1), 1 / 3)
    counts = [50, 28, 11, 11]
    assert math.isnan(catalogue.tail_hit([[1, 0, 0, 0]], [[1, 1, 1, 1]], 1, counts=counts))
    assert catalogue.tail_hit([[1, 0, 2, 0, 0]], [[1, 1, 1, 0, 0]], 1, counts=[50, 30, 10, 5, 5]) == 1


def test_novelty_by_users_and_items_never_seen_in_training():
    # -log2 of 4/8 and of one of eight users.
    assert catalogue.novelty([[2, 1, 0]], 2, counts=[4, 0, 8], q="users", n_users=8) == 2
    assert catalogue.Novelty(2, counts=[4, 0, 8]).n_floored == 1
    assert catalogue.novelty([[0, 1, 0]], 1, counts=[4, 0, 4]) == 3


def test_an_exposure_gives_the_means_of_items_too():
    counts = [5, 1, 2, 8]
    shown = catalogue.exposure(SCORES, 2)
    for metric in (catalogue.novelty, catalogue.average_recommendation_popularity, catalogue.tail_share):
        same(metric(shown, counts=counts), metric(SCORES, 2, counts=counts))


def test_ranked_lists_are_what_their_scores_are():
    order = np.argsort(-SCORES, axis=1, kind="stable")
    lists = RankedLists(order, np.take_along_axis(SCORES, order, axis=1), n_items=4)
    targets, features = [[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]], [[1, 0], [1, 1], [0, 1], [2, 1]]
    metrics = [
        "catalog_coverage@2",
        "recommendation_entropy@2",
        "macro_recall@2",
        "expected_exposure@2",
        catalogue.Novelty(2, counts=[5, 1, 2, 8]),
        catalogue.IntraListDiversity(2, features=features),
        catalogue.Serendipity(2, popularity=[5, 1, 2, 8]),
        catalogue.TailHit(2, counts=[5, 1, 2, 8]),
        catalogue.GroupExposure(2, groups=["a", "b", "a", "b"], weights="log2"),
    ]
    found = []
    for recommendations in (SCORES, lists):
        evaluator = catalogue.CatalogueEvaluator(metrics)
        evaluator.update(recommendations, targets)
        found.append(evaluator.compute())
    assert found[0] == found[1]
    assert not np.isnan(list(found[0].values())).any()


def test_padding_short_lists_and_repeated_items():
    lists = RankedLists([[2, 0, -1], [1, 1, 0]], lengths=[2, 3], n_items=4)
    # The first list has two items, the second two once the repetition is left out.
    shown = catalogue.exposure(lists, 3, duplicates="keep_first")
    assert shown.expected.tolist() == [2, 1, 1, 0]
    assert catalogue.novelty(lists, 3, counts=[1, 2, 4, 1], duplicates="keep_first") == (2 + 2.5) / 2
    single = RankedLists([[2, 0], [1, 3]], lengths=[1, 2], n_items=4)
    distances = 1.0 - np.eye(4)
    assert catalogue.intra_list_diversity(single, 2, metric=distances) == 1
    empty = RankedLists([[0, 0]], lengths=[0], n_items=4)
    assert math.isnan(catalogue.novelty(empty, 2, counts=[1, 2, 4, 1]))
    assert math.isnan(catalogue.recommendation_gini(empty, 2))


def test_a_tie_at_the_end_of_a_list_can_be_taken_as_complete():
    lists = RankedLists([[3, 0, 1]], [[2.0, 1.0, 1.0]], n_items=4)
    assert catalogue.exposure(lists, 2, open_tie="as_listed").expected.tolist() == [0.5, 0.5, 0, 1]


def test_minus_infinity_can_mask():
    scores = [[0.0, 0.0, -np.inf]]
    assert catalogue.exposure(scores, 2, mask_neg_inf=True).expected.tolist() == [1, 1, 0]
