"""NDCG for gradient boosters: expectations by enumeration, groups, weights and refusals. The boosters are stand-ins."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from rankbound.compat import catboost, lightgbm, xgboost
from rankbound.errors import (
    GainOverflowError,
    GradeError,
    InvalidKError,
    InvalidParameterError,
    NonFiniteScoreError,
    ShapeError,
)


def expected_ndcg(scores, labels, k, gain):
    def dcg(order):
        return math.fsum(gain(labels[row]) / math.log2(rank + 1) for rank, row in enumerate(order[:k], 1))

    ideal = dcg(sorted(range(len(labels)), key=lambda row: -labels[row]))
    orders = oracle.orders(scores)
    return math.fsum(map(dcg, orders)) / len(orders) / ideal if ideal else 1.0


def of_lightgbm(scores, labels, sizes, k, *, weights=None, **options):
    data = SimpleNamespace(
        get_label=lambda: np.array(labels, np.float32),
        get_group=lambda: np.array(sizes, np.int32),
        get_weight=lambda: None if weights is None else np.repeat(np.array(weights, np.float32), sizes),
    )
    name, value, higher = lightgbm.eval_ndcg(k, **options)(np.array(scores), data)
    assert higher
    ranker = lightgbm.ranker_eval_ndcg(k, **options)(data.get_label(), np.array(scores), data.get_weight(), sizes)
    assert ranker == (name, value, True) or math.isnan(value)
    return name, value


def of_xgboost(scores, labels, sizes, k, *, weights=None, **options):
    data = SimpleNamespace(
        get_label=lambda: np.array(labels, np.float32),
        get_uint_info=lambda field: {"group_ptr": np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)}[field],
        get_weight=lambda: np.array([] if weights is None else weights, np.float32),
    )
    return xgboost.eval_ndcg(k, **options)(np.array(scores, np.float32), data)


def of_catboost(scores, labels, sizes, k, *, weights=None, gain="exp2", **options):
    pool = SimpleNamespace(
        get_label=lambda: labels,
        get_group_id_hash=lambda: np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes),
    )
    if weights is not None:
        options["group_weight"] = np.repeat(weights, sizes)
    model = SimpleNamespace(staged_predict=lambda *_, **__: iter([np.array(scores)]))
    ((name, (value,)),) = catboost.eval_ndcg(model, pool, k, gain=gain, **options).items()
    return name, value


BOOSTERS = pytest.mark.parametrize("of_booster", [of_lightgbm, of_xgboost, of_catboost])
GROUP = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=5)


@BOOSTERS
@settings(max_examples=40, deadline=None)
@given(groups=st.lists(GROUP, min_size=1, max_size=4), k=st.none() | st.integers(1, 6), exponential=st.booleans())
def test_groups_by_enumeration(of_booster, groups, k, exponential):
    gain = (lambda label: 2**label - 1) if exponential else (lambda label: label)
    values = [expected_ndcg(*zip(*group, strict=True), k, gain) for group in groups]
    scores, labels = zip(*(row for group in groups for row in group), strict=True)
    sizes = [len(group) for group in groups]
    name, found = of_booster(scores, labels, sizes, k, gain="exp2" if exponential else "linear")
    assert name == ("ndcg_exp2" if exponential else "ndcg_linear") + ("" if k is None else f"@{k}")
    assert found == pytest.approx(np.mean(values), rel=1e-13)
    weights = np.arange(1, len(groups) + 1)
    _, weighted = of_booster(scores, labels, sizes, k, gain="exp2" if exponential else "linear", weights=weights)
    assert weighted == pytest.approx(np.average(values, weights=weights), rel=1e-13)


@BOOSTERS
def test_groups_without_positives(of_booster):
    rows = ([0, 0, 0, 0], [1, 0, 0, 0], [2, 2], 1)
    assert of_booster(*rows)[1] == 0.75
    assert of_booster(*rows, no_positives="zero")[1] == 0.25
    assert of_booster(*rows, no_positives="skip")[1] == 0.5
    assert math.isnan(of_booster([0, 0], [0, 0], [2], 1, no_positives="skip")[1])


def test_groups_without_rows_do_not_count():
    assert of_lightgbm([0, 0], [1, 0], [0, 2, 0], 1)[1] == 0.5
    assert of_xgboost([0, 0], [1, 0], [0, 2, 0], 1, weights=[5, 1, 5])[1] == 0.5


def test_rows_of_a_matrix_without_groups_are_one():
    data = SimpleNamespace(
        get_label=lambda: np.array([1.0, 0.0]), get_uint_info=lambda _: np.array([]), get_weight=lambda: np.array([])
    )
    assert xgboost.eval_ndcg(1)(np.zeros(2), data) == ("ndcg_exp2@1", 0.5)


@BOOSTERS
def test_refused(of_booster):
    with pytest.raises(GradeError, match="label at row 1 is -1"):
        of_booster([0, 0], [1, -1], [2], 1)
    with pytest.raises(NonFiniteScoreError, match="prediction at row 1 is nan"):
        of_booster([0, math.nan], [1, 0], [2], 1)
    with pytest.raises(GainOverflowError):
        of_booster([0, 0], [41, 0], [2], 1)
    with pytest.raises(ShapeError, match="groups of 3 rows"):
        of_booster([0, 0], [1, 0], [1, 2], 1)
    with pytest.raises(InvalidParameterError, match="add up to 0"):
        of_booster([0, 0], [1, 0], [2], 1, weights=[0])
    with pytest.raises(InvalidKError):
        of_booster([0, 0], [1, 0], [2], 0)
    with pytest.raises(InvalidParameterError, match="gain must be one of 'exp2', 'linear'"):
        of_booster([0, 0], [1, 0], [2], 1, gain="binary")
    with pytest.raises(InvalidParameterError, match="no_positives must be one of"):
        of_booster([0, 0], [1, 0], [2], 1, no_positives="drop")


def test_data_without_groups_is_refused():
    data = SimpleNamespace(get_label=lambda: [1.0], get_group=lambda: None, get_weight=lambda: None)
    with pytest.raises(InvalidParameterError, match="the data set has no groups"):
        lightgbm.eval_ndcg(1)(np.zeros(1), data)
    pool = SimpleNamespace(get_label=list, get_group_id_hash=lambda: np.array([]))
    with pytest.raises(InvalidParameterError, match="data has no groups"):
        catboost.eval_ndcg(None, pool, 1)
    pool.get_group_id_hash = lambda: np.array([1, 1])
    with pytest.raises(ShapeError, match="group_weight has shape"):
        catboost.eval_ndcg(None, pool, 1, group_weight=[1])
