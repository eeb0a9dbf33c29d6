"""Agreement of two runs: against sets, the series of rank-biased overlap, and enumeration of ties."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from rankbound.compare import overlap
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
)


def by_definition(a, b, k, p):
    """Shared share and extrapolated rank-biased overlap of two strict orders."""
    shares = [Fraction(len(set(a[:depth]) & set(b[:depth])), depth) for depth in range(1, k + 1)]
    return shares[-1], shares[-1] * p**k + (1 - p) * sum(share * p**at for at, share in enumerate(shares))


@pytest.mark.parametrize("k", [1, 3, 8])
def test_strict_orders(k):
    rng = np.random.default_rng(k)
    a, b = (np.array([rng.permutation(12)[:8] for _ in range(600)]) for _ in range(2))
    found = overlap(a, b, k, persistence=0.75, num_threads=2)
    expected = [by_definition(x, y, k, Fraction(3, 4)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert found.per_list["shared"] == pytest.approx([float(share) for share, _ in expected], rel=1e-15)
    assert found.per_list["rank_biased_overlap"] == pytest.approx([float(rbo) for _, rbo in expected], rel=1e-13)
    assert found.shared == pytest.approx(float(sum(share for share, _ in expected) / 600), rel=1e-13)
    assert (found.n_lists, found.n_undefined) == (600, 0)
    single = overlap(a, b, k, persistence=0.75, num_threads=1)
    assert np.array_equal(single.per_list["shared"], found.per_list["shared"])


def orders(items, scores):
    """All orders that a list's ties allow."""
    groups = [list(group) for _, group in itertools.groupby(zip(items, scores, strict=True), key=lambda pair: pair[1])]
    for chosen in itertools.product(*(itertools.permutations([item for item, _ in group]) for group in groups)):
        yield list(itertools.chain(*chosen))


def test_ties_are_expectations():
    rng = np.random.default_rng(0)
    p = Fraction(9, 10)
    for k in (1, 2, 4):
        a, b = ([rng.permutation(7)[:6].tolist() for _ in range(8)] for _ in range(2))
        # The last score is lower than all others: the top five are known.
        a_scores, b_scores = ([[*sorted(rng.integers(1, 4, 5).tolist(), reverse=True), 0] for _ in a] for _ in range(2))
        found = overlap(a, b, k, a_scores=a_scores, b_scores=b_scores, persistence=0.9)
        for at in range(8):
            pairs = list(itertools.product(orders(a[at], a_scores[at]), orders(b[at], b_scores[at])))
            shares, overlaps = zip(*(by_definition(*pair, k, p) for pair in pairs), strict=True)
            assert found.per_list["shared"][at] == pytest.approx(float(sum(shares) / len(pairs)), rel=1e-13)
            assert found.per_list["rank_biased_overlap"][at] == pytest.approx(
                float(sum(overlaps) / len(pairs)), rel=1e-13
            )


def test_equal_runs_agree():
    items = np.tile(np.arange(10), (5, 1))
    found = overlap(items, items)
    assert found.shared == 1.0
    assert found.rank_biased_overlap == pytest.approx(1.0, abs=1e-15)


def test_what_is_undefined_is_counted():
    a = [[1, 2, 3], [1, 2, 3], [-1, -1, -1], [1, -1, -1]]
    tied_at_the_end = [[3, 2, 2], [3, 2, 1], [0, 0, 0], [1, math.nan, math.nan]]
    found = overlap(a, [[1, 2, 3], [1, 2, 3], [-1, -1, -1], [1, 2, -1]], 2, a_scores=tied_at_the_end)
    # The first list may have been cut within a tie, the third is empty in both runs.
    assert np.isnan(found.per_list["shared"]).tolist() == [True, False, True, False]
    assert (found.n_undefined, found.shared) == (2, 0.75)
    nothing = overlap([[-1]], [[-1]], 1)
    assert nothing.n_undefined == 1
    assert math.isnan(nothing.shared)


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        (([[1, 2]], [[1, 2], [2, 1]], 1), {}, ShapeError, "a has 1 lists and b has 2"),
        (([1, 2], [[1, 2]], 1), {}, ShapeError, r"a has shape \(2,\)"),
        (([[1, 2]], [[1, 2]], 3), {}, ShapeError, "a has 2 ranks, fewer than k=3"),
        (([[1, 2]], [[1, 2]], 0), {}, InvalidKError, "k must be at least 1"),
        (([[1.0, 2]], [[1, 2]], 1), {}, InvalidTypeError, "a has dtype float64"),
        ((np.empty((0, 2), int), [[1, 2]], 1), {}, EmptyInputError, "a has no lists"),
        (([[1, 2]], [[2, 2]], 1), {}, DuplicateItemError, "b has item 2 twice in list 0"),
        (([[1, 2]], [[-1, 2]], 1), {}, InvalidParameterError, "b has 2 at list 0, rank 2: items are at least 0"),
        (([[1, -2]], [[1, 2]], 1), {}, InvalidParameterError, "a has -2 at list 0, rank 2"),
        ((np.array([[1, 2**64 - 1]], np.uint64), [[1, 2]], 1), {}, InvalidParameterError, "a has 18446744073709551615"),
        (([[1, 2]], [[1, 2]], 1), {"a_scores": [[1, 2]]}, InvalidParameterError, "a_scores rises from 1.0 to 2.0 in"),
        (([[1, 2]], [[1, 2]], 1), {"b_scores": [[1.0]]}, ShapeError, r"b_scores has shape \(1, 1\)"),
        (([[1, 2]], [[1, 2]], 1), {"a_scores": [[math.nan, 1]]}, NonFiniteScoreError, "a_scores has nan at list 0"),
        (([[1, 2]], [[1, 2]], 1), {"persistence": 1}, InvalidParameterError, "persistence must lie between"),
    ],
)  # fmt: skip
def test_what_is_no_ranking_is_refused(args, options, error, words):
    with pytest.raises(error, match=words):
        overlap(*args, **options)
