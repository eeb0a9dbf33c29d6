"""Kendall's measures between label rankings: the definitions by enumeration, scipy, scikit-learn's machinery."""

import builtins
import itertools
import math
import os
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor

import rankbound
from rankbound.errors import (
    EmptyInputError,
    IncompleteRankingError,
    InvalidParameterError,
    InvalidTypeError,
    MissingDependencyError,
    RankboundError,
    ShapeError,
    TiedRankingError,
)
from rankbound.label_ranking import (
    get_scorer,
    get_scorer_names,
    kendall_distance,
    kendall_tau_expected,
    kendall_tau_score,
    tau_x_score,
)

TIE_FREE = [kendall_tau_score, kendall_distance]
WITH_TIES = [tau_x_score, kendall_tau_expected]
EVERY = TIE_FREE + WITH_TIES


def label_pairs(row):
    return itertools.combinations(range(len(row)), 2)


def n_discordant(true, pred):
    return sum((true[i] - true[j]) * (pred[i] - pred[j]) < 0 for i, j in label_pairs(true))


def tau(true, pred):
    return 1 - Fraction(2 * n_discordant(true, pred), math.comb(len(true), 2))


def tau_x(true, pred):
    """Return the sum of products of Emond and Mason's score matrices over ordered pairs."""
    ordered = list(itertools.permutations(range(len(true)), 2))
    sides = [{(i, j): 1 if row[i] <= row[j] else -1 for i, j in ordered} for row in (true, pred)]
    return Fraction(sum(sides[0][pair] * sides[1][pair] for pair in ordered), len(ordered))


def orders(row):
    """Return the rankings without ties that breaking ties can make of one."""
    every = itertools.permutations(range(len(row)))
    return [
        order for order in every if all((row[i] - row[j]) * (order[i] - order[j]) >= 0 for i, j in label_pairs(row))
    ]


def tau_over_orders(true, pred):
    taus = [tau(*both) for both in itertools.product(orders(true), orders(pred))]
    return sum(taus) / len(taus)


def mean(values, weights=None):
    """Return the exact weighted mean, rounded once."""
    weights = [Fraction(weight) for weight in weights or [1] * len(values)]
    return float(sum(map(Fraction.__mul__, weights, map(Fraction, values))) / sum(weights))


def matrices(ranking, n_labels):
    return st.integers(1, 6).flatmap(
        lambda n_rows: st.tuples(*[st.lists(ranking(n_labels), min_size=n_rows, max_size=n_rows)] * 2)
    )


def untied(n_labels):
    return st.permutations(range(n_labels)).map(lambda row: [3 * position - 1 for position in row])


def tied(n_labels):
    return st.lists(st.integers(-1, 2), min_size=n_labels, max_size=n_labels)


WEIGHTS = st.lists(st.sampled_from([0.0, 0.1, 1 / 3, 1.0, 7.5, 1e-300, 5e-324, 1e300]), min_size=6, max_size=6)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7).flatmap(lambda n_labels: matrices(untied, n_labels)), WEIGHTS)
def test_rankings_without_ties(both, weights):
    rows = list(zip(*both, strict=True))
    weights = weights[: len(rows)] if any(weights[: len(rows)]) else None
    counts = [n_discordant(*row) for row in rows]
    taus = [tau(*row) for row in rows]
    assert kendall_distance(*both, normalize=False, sample_weight=weights) == mean(counts, weights)
    n_pairs = math.comb(len(both[0][0]), 2)
    assert kendall_distance(*both, sample_weight=weights) == mean(
        [Fraction(count, n_pairs) for count in counts], weights
    )
    for function in (kendall_tau_score, kendall_tau_expected, tau_x_score):
        assert function(*both, sample_weight=weights) == mean(taus, weights)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5).flatmap(lambda n_labels: matrices(tied, n_labels)), WEIGHTS)
def test_rankings_with_ties(both, weights):
    rows = list(zip(*both, strict=True))
    weights = weights[: len(rows)] if any(weights[: len(rows)]) else None
    assert tau_x_score(*both, sample_weight=weights) == mean([tau_x(*row) for row in rows], weights)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4).flatmap(lambda n_labels: matrices(tied, n_labels)))
def test_expectation_over_all_ways_to_break_ties(both):
    rows = zip(*both, strict=True)
    assert kendall_tau_expected(*both) == mean([tau_over_orders(*row) for row in rows])


def test_worked_examples():
    y_true, y_pred = [[1, 2, 3], [3, 2, 1]], [[1, 2, 3], [1, 3, 2]]
    assert kendall_tau_score(y_true, y_pred) == 1 / 3
    assert kendall_distance(y_true, y_pred) == 1 / 3
    assert kendall_distance(y_true, y_pred, normalize=False) == 1.0
    assert tau_x_score([[1, 1, 1]], [[1, 2, 3]]) == 0
    assert tau_x_score([[1, 1, 2, 3]], [[1, 2, 2, 3]]) == 2 / 3
    assert tau_x_score([[1, 1, 2], [1, 2, 3]], [[1, 1, 2], [1, 1, 1]]) == 1 / 2
    assert tau_x_score([[4, 4, 4]], [[0, 0, 0]]) == 1
    assert kendall_tau_expected([[4, 4, 4]], [[0, 0, 0]]) == 0


@pytest.mark.parametrize("n_labels", [2, 20, 63, 64, 65, 129, 500])
def test_scipy_agrees(n_labels):
    rng = np.random.default_rng(n_labels)
    y_true, y_pred = (rng.permuted(np.tile(np.arange(n_labels), (5, 1)), axis=1) for _ in range(2))
    expected = np.mean([kendalltau(*row).statistic for row in zip(y_true, y_pred, strict=True)])
    assert kendall_tau_score(y_true, y_pred) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    # tau_b has another denominator: the geometric mean of the pairs that each ranking orders.
    for row in zip(y_true // 3, y_pred // 2, strict=True):
        ordered = [math.comb(n_labels, 2) - sum(math.comb(int(size), 2) for size in np.bincount(side)) for side in row]
        statistic = kendalltau(*row).statistic
        tau_b = (
            kendall_tau_expected(*[[side] for side in row])
            * math.comb(n_labels, 2)
            / math.sqrt(math.prod(ordered) or 1)
        )
        assert tau_b == pytest.approx(0 if math.isnan(statistic) else statistic, rel=1e-12, abs=1e-15)


def test_many_labels():
    n_labels = 200_000
    rising, falling = np.arange(n_labels)[np.newaxis], np.arange(n_labels, 0, -(1.5**0))[np.newaxis]
    assert kendall_tau_score(rising, falling) == -1
    assert kendall_distance(rising, falling, normalize=False) == math.comb(n_labels, 2)
    swapped = rising.copy()
    swapped[0, :2] = [1, 0]
    assert kendall_distance(rising, swapped, normalize=False) == 1
    assert kendall_tau_score(rising, swapped) == float(1 - Fraction(2, math.comb(n_labels, 2)))
    assert tau_x_score(rising * 0, swapped) == 0


@pytest.mark.parametrize("function", EVERY)
def test_any_type_and_layout_gives_the_same_bits(function):
    rng = np.random.default_rng(0)
    y_true, y_pred = (rng.permuted(np.tile(np.arange(9), (40, 1)), axis=1) for _ in range(2))
    expected = function(y_true, y_pred, num_threads=1)
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "u8", "f2", "f4", "f8", ">i4"):
        assert function(y_true.astype(dtype), y_pred) == expected
        assert function(y_true, y_pred.astype(dtype)) == expected
    frame = pd.DataFrame(y_true)
    for same in (frame, frame.astype("Int64"), pl.from_pandas(frame), y_true.tolist(), np.asfortranarray(y_true)):
        assert function(same, y_pred) == expected
    huge = 2**62 + y_true, 5e-324 * (y_pred - 4)
    assert function(*huge) == expected
    # Only the order of positions counts, and each row counts alike in any order.
    assert function(rankdata(y_true, axis=1) * 1e9, -1 / (y_pred + 2.5)) == expected
    assert function(y_true[::-1, ::-1], y_pred[::-1, ::-1]) == expected
    assert function(y_true, y_pred, sample_weight=np.full(40, 0.1), num_threads=3) == expected
    assert function(np.repeat(y_true, 2, axis=0)[::2], y_pred) == expected


def test_weights():
    y_true, y_pred = [[1, 2], [1, 2], [1, 2]], [[1, 2], [2, 1], [2, 1]]
    for weights in (
        [3, 1, 0],
        np.array([0.3, 0.1, 0.0], "f4"),
        [True, False, False],
        pd.Series([3, 1, 0], index=[7, 8, 9]),
    ):
        exact = [Fraction(float(weight)) for weight in weights]
        assert kendall_distance(y_true, y_pred, sample_weight=weights) == float(sum(exact[1:]) / sum(exact))


@pytest.mark.parametrize("function", EVERY)
def test_incomplete_rankings_are_refused(function):
    complete = [[1, 2, 3], [3, 1, 2]]
    for hole, shown in ((math.nan, "NaN"), (math.inf, "inf"), (-math.inf, "-inf"), (None, "None"), (pd.NA, "<NA>")):
        with pytest.raises(
            IncompleteRankingError, match=f"y_pred has {shown} at row 1, column 2: rankings must be complete"
        ):
            function(complete, [[1, 2, 3], [3, 1, hole]])
    with pytest.raises(IncompleteRankingError, match="y_true has NaN at row 0, column 1"):
        function(pd.DataFrame({"a": [1, 2], "b": [None, 1]}, dtype="Int64"), [[1, 2], [2, 1]])
    with pytest.raises(InvalidTypeError, match="y_true is a masked array"):
        function(np.ma.masked_equal(complete, 3), complete)
    with pytest.raises(InvalidTypeError, match="y_true cannot be read"):
        function([[1, 2, 3], [1, 2]], complete)


@pytest.mark.parametrize("function", TIE_FREE)
def test_ties_are_refused_where_they_have_no_meaning(function):
    with pytest.raises(TiedRankingError, match=r"y_true has 2 twice at row 1, in columns 1 and 2: .* tau_x_score"):
        function([[1, 2, 3], [1, 2, 2]], [[2, 1, 3], [1, 1, 3]])
    with pytest.raises(TiedRankingError, match=r"y_pred has 0.5 twice at row 0, in columns 0 and 3"):
        function([[1, 2, 3, 4]], [[0.5, 0.25, 7, 0.5]])
    with pytest.raises(TiedRankingError, match=r"in columns 1 and 199999"):
        function([np.arange(200_000)], [[0, *range(1, 199_999), 1]])


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "error", "words"),
    [
        ([1, 2, 3], [[1, 2, 3]], ShapeError, r"y_true has 1 dimension\(s\), shape \(3,\); .* pass \[y_true\]"),
        ([[1, 2]], [[[1, 2]]], ShapeError, r"y_pred has 3 dimension\(s\)"),
        ([[1], [1]], [[1], [1]], ShapeError, r"y_true has shape \(2, 1\): a single label has no order"),
        ([[1, 2]], [[1, 2], [2, 1]], ShapeError, r"y_true has shape \(1, 2\), but y_pred has \(2, 2\)"),
        ([[1, 2]], [[1, 2, 3]], ShapeError, r"y_true has shape \(1, 2\), but y_pred has \(1, 3\)"),
        (np.empty((0, 3)), np.empty((0, 3)), EmptyInputError, r"y_true has shape \(0, 3\)"),
        ([[]], [[]], EmptyInputError, r"y_true has shape \(1, 0\)"),
        ([["a", "b"]], [[1, 2]], InvalidTypeError, "y_true has dtype <U1"),
        ([[1, 2]], [[True, False]], InvalidTypeError, "y_pred has dtype bool"),
        ([[1, 2]], np.array([[1, 2**64 - 1]], "u8"), InvalidParameterError, "y_pred has 18446744073709551615 at row 0"),
    ],
)  # fmt: skip
def test_refused(function, y_true, y_pred, error, words):
    with pytest.raises(error, match=words) as refused:
        function(y_true, y_pred)
    assert isinstance(refused.value, RankboundError)


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize(
    ("weights", "error", "words"),
    [
        ([1, -2], InvalidParameterError, "sample_weight has -2 at row 1"),
        ([math.nan, 1], InvalidParameterError, "sample_weight has nan at row 0"),
        ([1, math.inf], InvalidParameterError, "sample_weight has inf at row 1"),
        ([1, 2**53 + 1], InvalidParameterError, "sample_weight has 9007199254740993 at row 1"),
        ([0, 0], InvalidParameterError, "sample_weight is 0 for all 2 rankings"),
        ([1], ShapeError, r"sample_weight has shape \(1,\), but there are 2 rankings"),
        ([[1], [1]], ShapeError, r"sample_weight has shape \(2, 1\)"),
        (3, InvalidTypeError, "sample_weight cannot be read"),
        (["a", "b"], InvalidTypeError, "sample_weight has dtype <U1"),
    ],
)
def test_refused_weights(function, weights, error, words):
    with pytest.raises(error, match=words):
        function([[1, 2], [2, 1]], [[1, 2], [2, 1]], sample_weight=weights)


def test_refused_options():
    with pytest.raises(InvalidTypeError, match="normalize must be True or False, got 'no'"):
        kendall_distance([[1, 2]], [[1, 2]], normalize="no")
    with pytest.raises(InvalidParameterError, match="num_threads must be between 1"):
        kendall_distance([[1, 2]], [[1, 2]], num_threads=0)
    with pytest.raises(TypeError, match="positional"):
        kendall_distance([[1, 2]], [[1, 2]], False)


class NearestRanking(KNeighborsRegressor):
    """Predicts the order of the mean positions of the nearest neighbours."""

    def predict(self, X):
        return np.argsort(np.argsort(super().predict(X), axis=1, kind="stable"), axis=1)


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    X = rng.random((60, 2))
    Y = rankdata(X @ rng.normal(size=(2, 5)) + 0.3 * rng.random((60, 5)), axis=1).astype(int)
    return X, Y, rng.integers(1, 4, 60)


FUNCTIONS = {
    "kendall_tau": kendall_tau_score,
    "neg_kendall_distance": lambda *both, **weights: -kendall_distance(*both, **weights),
    "tau_x": tau_x_score,
}


def test_scorer_names():
    assert get_scorer_names() == sorted(FUNCTIONS)
    assert [repr(get_scorer(name)) for name in get_scorer_names()] == [
        "make_scorer(kendall_tau_score, response_method='predict')",
        "make_scorer(kendall_distance, greater_is_better=False, response_method='predict')",
        "make_scorer(tau_x_score, response_method='predict')",
    ]
    with pytest.raises(InvalidParameterError, match=r"name must be one of 'kendall_tau', .*, got 'accuracy'"):
        get_scorer("accuracy")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scorers(name, problem):
    X, Y, weights = problem
    model = NearestRanking(3).fit(X[:40], Y[:40])
    scorer = pickle.loads(pickle.dumps(get_scorer(name)))  # noqa: S301 - our own bytes, as sent to workers
    held_out = X[40:], Y[40:]
    predicted = model.predict(X[40:])
    assert scorer(model, *held_out) == FUNCTIONS[name](Y[40:], predicted)
    weighted = FUNCTIONS[name](Y[40:], predicted, sample_weight=weights[40:])
    assert scorer(model, *held_out, sample_weight=weights[40:]) == weighted
    folds = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    scores = cross_val_score(NearestRanking(3), X, Y, scoring=scorer, cv=folds)
    assert scores[0] == FUNCTIONS[name](Y[40:], predicted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_grid_search_finds_what_is_better(name, problem):
    X, Y, _ = problem
    folds = [(np.arange(40), np.arange(40, 60))]
    grid = {"n_neighbors": [1, 5, 40]}
    search = GridSearchCV(NearestRanking(), grid, scoring=get_scorer(name), cv=folds, refit=False).fit(X, Y)
    scores = [
        FUNCTIONS[name](Y[40:], NearestRanking(n_neighbors).fit(X[:40], Y[:40]).predict(X[40:]))
        for n_neighbors in grid["n_neighbors"]
    ]
    assert len(set(scores)) == 3
    assert search.cv_results_["mean_test_score"].tolist() == scores
    assert search.best_score_ == max(scores)


class Constant(BaseEstimator):
    """Ranks labels as they stand."""

    def fit(self, X, y):  # noqa: ARG002 - the names of scikit-learn
        self.n_labels_ = np.shape(y)[1]
        return self

    def predict(self, X):
        return np.tile(np.arange(self.n_labels_), (len(X), 1))


def test_metadata_routing(problem):
    X, Y, weights = problem
    folds = [(np.arange(40), np.arange(40, 60))]
    predicted = np.tile(np.arange(5), (20, 1))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("tau_x").set_score_request(sample_weight=True)
        scores = cross_val_score(Constant(), X, Y, scoring=scorer, cv=folds, params={"sample_weight": weights})
        search = GridSearchCV(Constant(), {}, scoring=scorer, cv=folds).fit(X, Y, sample_weight=weights)
    expected = tau_x_score(Y[40:], predicted, sample_weight=weights[40:])
    assert scores.tolist() == [search.best_score_] == [expected]
    assert expected != tau_x_score(Y[40:], predicted)


def test_without_scikit_learn(monkeypatch):
    real_import = builtins.__import__

    def without(name, *rest):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'rankbound\[sklearn\]'"):
        get_scorer("tau_x")
    assert kendall_tau_score([[1, 2]], [[1, 2]]) == 1


def test_the_module_is_an_attribute():
    assert rankbound.label_ranking.tau_x_score is tau_x_score
    assert "label_ranking" in rankbound.__all__


def test_threads_of_the_environment(monkeypatch):
    monkeypatch.setitem(os.environ, "RANKBOUND_NUM_THREADS", "none")
    with pytest.raises(InvalidParameterError, match="RANKBOUND_NUM_THREADS is 'none'"):
        kendall_tau_score([[1, 2]], [[1, 2]])
