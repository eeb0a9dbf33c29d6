"""The drop-ins of scikit-learn: expectations over orders by enumeration, rows without pairs, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import oracle
from rankbound.compat.sklearn import (
    coverage_error,
    dcg_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
    ndcg_score,
    top_k_accuracy_score,
)
from rankbound.errors import (
    GainOverflowError,
    GradeError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
    UnknownLabelError,
)


def average_precision(order, relevant):
    ranks = [rank for rank, label in enumerate(order, 1) if label in relevant]
    return mean(Fraction(hits, rank) for hits, rank in enumerate(ranks, 1)) if ranks else Fraction(1)


def depth(order, relevant):
    return Fraction(max((order.index(label) + 1 for label in relevant), default=0))


def loss(order, relevant):
    wrong = [order.index(b) < order.index(a) for a in relevant for b in set(order) - relevant]
    return mean(map(Fraction, wrong)) if wrong else Fraction(0)


def mean(values):
    return oracle.mean(list(values))


LABEL_METRICS = [
    (label_ranking_average_precision_score, average_precision),
    (coverage_error, depth),
    (label_ranking_loss, loss),
]
ROWS = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6)


@pytest.mark.parametrize(("function", "of_order"), LABEL_METRICS, ids=lambda value: value.__name__)
@settings(max_examples=60, deadline=None)
@given(row=ROWS)
def test_label_rankings_by_enumeration(function, of_order, row):
    scores, truth = ([values] for values in zip(*row, strict=True))
    relevant = {label for label, marked in enumerate(truth[0]) if marked}
    expected = mean(of_order(order, relevant) for order in oracle.orders(scores[0]))
    assert function(truth, scores) == pytest.approx(float(expected), rel=1e-14)


def test_label_rankings_of_many_rows_are_means():
    rng = np.random.default_rng(0)
    scores, truth = rng.integers(0, 4, (50, 7)), rng.random((50, 7)) < 0.3
    weights = rng.integers(0, 4, 50)
    for function, _ in LABEL_METRICS:
        single = np.array([function(truth[[row]], scores[[row]]) for row in range(50)])
        assert function(truth, scores) == pytest.approx(single.mean(), rel=1e-14)
        weighted = function(sparse.csr_array(truth), scores, sample_weight=weights)
        assert weighted == pytest.approx(np.average(single, weights=weights), rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(
    row=st.lists(st.tuples(st.integers(0, 2), st.integers(-2, 3)), min_size=2, max_size=6),
    k=st.none() | st.integers(1, 7),
)
def test_gains_by_enumeration(row, k):
    scores, gains = zip(*row, strict=True)

    def dcg(order):
        return math.fsum(gains[label] / math.log2(rank + 1) for rank, label in enumerate(order[:k], 1))

    expected = math.fsum(map(dcg, oracle.orders(scores))) / len(oracle.orders(scores))
    assert dcg_score([gains], [scores], k=k) == pytest.approx(expected, rel=1e-13, abs=1e-13)
    natural = dcg_score([gains], [scores], k=k, log_base=math.e)
    assert natural == pytest.approx(expected / math.log(2), rel=1e-13, abs=1e-13)
    if min(gains) >= 0:
        ideal = dcg(sorted(range(len(gains)), key=lambda label: -gains[label]))
        normalised = expected / ideal if ideal else 0.0
        assert ndcg_score([gains], [scores], k=k) == pytest.approx(normalised, rel=1e-13)


def test_ignored_ties_follow_argsort():
    # numpy's order of four equal scores, reversed.
    assert dcg_score([[1, 0, 0, 0]], [[0.5] * 4], k=3, ignore_ties=True) == 0.0
    assert dcg_score([[0, 0, 0, 1]], [[0.5] * 4], k=3, ignore_ties=True) == 1.0


@settings(max_examples=60, deadline=None)
@given(
    row=st.lists(st.integers(0, 2), min_size=3, max_size=5),
    truth=st.integers(0, 4),
    k=st.integers(1, 2),
)
def test_top_k_accuracy_by_enumeration(row, truth, k):
    truth %= len(row)
    expected = mean(Fraction(truth in order[:k]) for order in oracle.orders(row))
    labels = list("abcde"[: len(row)])
    found = top_k_accuracy_score([labels[truth]], [row], k=k, labels=labels)
    assert found == pytest.approx(float(expected), rel=1e-15)


def test_top_k_accuracy_of_two_labels():
    # Probabilities have the threshold 0.5, decisions 0; a score on the threshold is a coin toss.
    assert top_k_accuracy_score([0, 1, 1, 1], [0.2, 0.7, 0.5, 0.1], k=1) == 0.625
    assert top_k_accuracy_score([0, 1, 1, 1], [-0.2, 0.7, 0.0, -3.0], k=1, normalize=False) == 2.5
    weights = [1, 0, 2, 1]
    assert top_k_accuracy_score(list("abbb"), [0.2, 0.7, 0.5, 0.1], k=1, sample_weight=weights) == 0.5
    found = top_k_accuracy_score(list("abbb"), [0.2, 0.7, 0.5, 0.1], k=1, normalize=False, sample_weight=weights)
    assert found == 2.0


def test_top_k_accuracy_of_all_labels_warns():
    with pytest.warns(UserWarning, match="k=3 takes all 3 labels"):
        assert top_k_accuracy_score([0, 1, 2], np.eye(3), k=3) == 1.0


def test_refused():
    scores = [[0.1, 0.2, 0.3]]
    with pytest.raises(ShapeError, match="give at least 2"):
        ndcg_score([[1]], [[1.0]])
    with pytest.raises(ShapeError, match="they must be the same"):
        ndcg_score([[1, 0]], scores)
    with pytest.raises(GradeError, match="grade -1 at row 0, item 1"):
        ndcg_score([[1, -1, 0]], scores)
    with pytest.raises(GainOverflowError):
        ndcg_score([[2.0**41, 1, 0]], scores)
    with pytest.raises(NonFiniteScoreError, match="y_score has nan at row 0, column 1"):
        dcg_score([[1, 0, 0]], [[0.0, math.nan, 1.0]], ignore_ties=True)
    with pytest.raises(InvalidParameterError, match="log_base is 0"):
        dcg_score([[1, 0, 0]], scores, log_base=0)
    with pytest.raises(InvalidKError):
        dcg_score([[1, 0, 0]], scores, k=0)
    with pytest.raises(GradeError, match="y_true has 2 at row 0, column 2"):
        coverage_error([[1, 0, 2]], scores)
    with pytest.raises(ShapeError, match="sample_weight has shape"):
        label_ranking_loss([[1, 0, 0]], scores, sample_weight=[1, 2])
    with pytest.raises(InvalidParameterError, match="sample_weight has -1 at row 0"):
        label_ranking_loss([[1, 0, 0]], scores, sample_weight=[-1])
    with pytest.raises(InvalidParameterError, match="0 for all rows"):
        label_ranking_loss([[1, 0, 0]], scores, sample_weight=[0])


def test_refused_labels():
    scores = np.eye(3)
    with pytest.raises(ShapeError, match="y_score has 3 columns for 2 labels"):
        top_k_accuracy_score([0, 1, 1], scores, k=1)
    with pytest.raises(UnknownLabelError, match="y_true has 7 at row 2"):
        top_k_accuracy_score([0, 1, 7], scores, k=1, labels=[0, 1, 2])
    with pytest.raises(InvalidParameterError, match="labels is not sorted"):
        top_k_accuracy_score([0, 1, 2], scores, k=1, labels=[2, 1, 0])
    with pytest.raises(InvalidTypeError, match="y_true has no label at row 1"):
        top_k_accuracy_score([0, None, 2], scores, k=1)
    with pytest.raises(ShapeError, match="y_true has 2 entries"):
        top_k_accuracy_score([0, 1], scores, k=1, labels=[0, 1, 2])


def test_gains_of_small_integers_have_no_abs_of_their_least():
    gains = np.array([[-128, 0, 1]], dtype=np.int8)
    assert dcg_score(gains, [[3.0, 2.0, 1.0]]) == pytest.approx(-128 + 1 / 2, rel=1e-15)


def test_a_cut_off_is_named_as_it_was_given():
    for function in (dcg_score, ndcg_score):
        with pytest.raises(InvalidKError, match=r"^k must be at least 1, got 0"):
            function([[1, 0]], [[0.2, 0.1]], k=0)
