"""Ranks of the truth and the best items of each row."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import rankdata

import oracle
from rankbound import rank_bounds_of_truth, rank_of_truth, top_k
from rankbound.errors import InvalidKError, NonFiniteScoreError, ShapeError, UnknownLabelError

SCORES = np.array([[0.9, 0.7, 0.7, 0.7], [1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])


def test_bounds_and_average():
    best, worst = rank_bounds_of_truth(SCORES, [2, 0, -1, None])
    assert (best.tolist(), worst.tolist()) == ([2, 1, -1, -1], [4, 4, -1, -1])
    assert (best.dtype, worst.dtype) == (np.int64, np.int64)
    ranks = rank_of_truth(SCORES, [2, 0, -1, None])
    assert ranks[:3].tolist() == [3.0, 2.5, math.inf]
    assert math.isnan(ranks[3])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u8"])
def test_ranks_are_those_of_scipy(dtype):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, (40, 15)).astype(dtype)
    truths = rng.integers(0, 15, 40)
    of_truth = (np.arange(40), truths)
    ranked = {method: rankdata(-scores.astype(float), method, axis=1)[of_truth] for method in ("min", "max", "average")}
    best, worst = rank_bounds_of_truth(scores, truths)
    assert best.tolist() == ranked["min"].tolist()
    assert worst.tolist() == ranked["max"].tolist()
    assert rank_of_truth(scores, truths).tolist() == ranked["average"].tolist()
    single = rank_bounds_of_truth(scores, truths, num_threads=1)
    assert np.array_equal(single, [best, worst])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([-1.0, -0.0, 0.0, 0.5, -math.inf]), min_size=1, max_size=6),
    st.integers(0, 5),
    st.sets(st.integers(0, 5)),
)
def test_ranks_by_enumeration(row, truth, excluded):
    truth %= len(row)
    masked = {column for column, score in enumerate(row) if score == -math.inf or column in excluded}
    mask = [[column in excluded for column in range(len(row))]]
    if len(masked) == len(row):
        return
    ranks = [order.index(truth) + 1 for order in oracle.orders(row, masked) if truth in order]
    best, worst = rank_bounds_of_truth([row], [truth], exclude=mask, mask_neg_inf=True)
    assert (best[0], worst[0]) == ((min(ranks), max(ranks)) if ranks else (-1, -1))
    average = rank_of_truth([row], [truth], exclude=mask, mask_neg_inf=True)[0]
    assert average == (float(oracle.mean(ranks)) if ranks else math.inf)


def test_labels_and_exclusions():
    exclude = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]], dtype=bool))
    best, worst = rank_bounds_of_truth(SCORES, list("cdbd"), classes=list("abcd"), exclude=exclude)
    assert (best.tolist(), worst.tolist()) == ([1, 1, 2, -1], [2, 4, 2, -1])
    assert rank_of_truth(SCORES, list("cdbd"), classes=list("abcd"), exclude=exclude).tolist() == [
        1.5,
        2.5,
        2,
        math.inf,
    ]


def test_best_items():
    assert top_k(SCORES[[0, 2]], 2) == [[(0, 0.9), (1, 0.7)], [(3, 4.0), (2, 3.0)]]
    assert top_k(SCORES[:2], 9, classes=list("abcd"))[1] == [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)]
    exclude = np.array([[True, False, True, False]] * 4)
    picks = top_k(np.array(SCORES, np.int16), 3, exclude=exclude)
    assert picks[2] == [(3, 4), (1, 2)]
    masked = np.where(exclude, -np.inf, SCORES)
    assert top_k(masked, 3, mask_neg_inf=True)[2] == [(3, 4.0), (1, 2.0)]
    assert all(type(name) is int and type(score) is float for name, score in top_k(SCORES, 1)[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=1, max_size=40), st.integers(1, 45))
def test_best_items_are_a_stable_sort(row, k):
    order = sorted(range(len(row)), key=lambda column: -row[column])[:k]
    assert top_k([row], k) == [[(column, row[column]) for column in order]]
    assert top_k(np.array([row], np.float32), k, num_threads=1) == [[(column, row[column]) for column in order]]


@pytest.mark.parametrize("function", [rank_bounds_of_truth, rank_of_truth])
def test_refused(function):
    with pytest.raises(ShapeError, match="y_true has 2 entries, but proba has 4 rows"):
        function(SCORES, [0, 1])
    with pytest.raises(UnknownLabelError, match="y_true has 4 at row 1"):
        function(SCORES, [0, 4, 0, 0])
    with pytest.raises(NonFiniteScoreError, match="row 1, column 0"):
        function([[0.0, 1.0], [math.nan, 1.0]], [0, 0])
    with pytest.raises(ShapeError, match=r"exclude has shape \(1, 4\), but proba has \(4, 4\)"):
        function(SCORES, [0] * 4, exclude=[[True] * 4])


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_refused_cut_offs(k):
    with pytest.raises(InvalidKError, match="k must be"):
        top_k(SCORES, k)
