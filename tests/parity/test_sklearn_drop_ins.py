"""The drop-ins of scikit-learn beside the real functions."""

import inspect
import warnings

import numpy as np
import pytest
import sklearn.metrics

from rankbound.compat import sklearn as drop_ins

N_ROWS, N_LABELS = 60, 9
NAMES = drop_ins.__all__
MODULES = (drop_ins, sklearn.metrics)
rng = np.random.default_rng(8)
DISTINCT = rng.permuted(np.tile(np.arange(N_LABELS) / 4, (N_ROWS, 1)), axis=1)
TIED = rng.integers(0, 3, (N_ROWS, N_LABELS)) / 2
MARKS = (rng.random((N_ROWS, N_LABELS)) < 0.3).astype(int)
MARKS[:3] = [[0] * N_LABELS, [1] * N_LABELS, [0] * N_LABELS]
WEIGHTS = rng.random(N_ROWS)


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (drop_ins, sklearn.metrics))
    described = [[(p.name, p.kind, p.default) for p in parameters.values()] for parameters in (ours, theirs)]
    assert described[0] == described[1]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("label", "coverage"))])
def test_label_rankings_without_ties(name, weights):
    found, expected = (getattr(module, name)(MARKS, DISTINCT, sample_weight=weights) for module in MODULES)
    assert found == pytest.approx(expected, rel=1e-13)


def test_label_rankings_under_ties_are_better_than_the_worst_order():
    for name in ("coverage_error", "label_ranking_loss"):
        found, pessimistic = (getattr(module, name)(MARKS, TIED) for module in MODULES)
        assert found < pessimistic
    assert sklearn.metrics.coverage_error([[1, 0]], [[1, 1]]) == 2
    assert drop_ins.coverage_error([[1, 0]], [[1, 1]]) == 1.5


@pytest.mark.parametrize("ignore_ties", [False, True])
@pytest.mark.parametrize("k", [None, 1, 4, 20])
@pytest.mark.parametrize("scores", [DISTINCT, TIED, TIED.astype("f4")], ids=["distinct", "tied", "float32"])
def test_gains_under_ties_too(scores, k, ignore_ties):
    gains = np.random.default_rng(1).integers(0, 5, scores.shape) * MARKS
    options = {"k": k, "sample_weight": WEIGHTS, "ignore_ties": ignore_ties}
    found, expected = (module.ndcg_score(gains, scores, **options) for module in MODULES)
    assert found == pytest.approx(expected, rel=1e-13)
    found, expected = (module.dcg_score(gains - 1.5, scores, log_base=3, **options) for module in MODULES)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_top_k_accuracy_without_ties(k, weights, normalize):
    truth = np.concatenate([np.arange(7), np.random.default_rng(2).integers(0, 7, N_ROWS - 7)])
    options = {"k": k, "normalize": normalize, "sample_weight": weights, "labels": np.arange(N_LABELS)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found, expected = (module.top_k_accuracy_score(truth, DISTINCT, **options) for module in MODULES)
    assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("scores", [rng.random(N_ROWS), rng.normal(size=N_ROWS)], ids=["probability", "decision"])
def test_top_k_accuracy_of_two_labels(scores):
    truth = np.random.default_rng(3).choice(["no", "yes"], N_ROWS)
    found, expected = (module.top_k_accuracy_score(truth, scores, k=1) for module in MODULES)
    assert found == pytest.approx(expected, rel=1e-15)


def test_top_k_accuracy_by_column_is_one_of_the_orders():
    orders = np.random.default_rng(4)
    truth = orders.integers(0, N_LABELS, N_ROWS)
    options = {"k": 3, "labels": np.arange(N_LABELS)}
    by_column = [
        sklearn.metrics.top_k_accuracy_score(order.argsort()[truth], TIED[:, order], **options)
        for order in (orders.permutation(N_LABELS) for _ in range(500))
    ]
    found = drop_ins.top_k_accuracy_score(truth, TIED, **options)
    assert found == pytest.approx(np.mean(by_column), abs=5 * np.std(by_column) / np.sqrt(len(by_column)))
