"""scikit-learn where its definitions coincide with ours, all classes ranked."""

import numpy as np
import pytest
from sklearn.metrics import (
    coverage_error,
    dcg_score,
    f1_score,
    label_ranking_average_precision_score,
    ndcg_score,
    precision_score,
    recall_score,
    top_k_accuracy_score,
)

from rankbound import build_ranking_report, evaluate_scores, rank_bounds_of_truth
from rankbound.metrics import DCG, F1, MAP, NDCG, Precision, Recall

N_ROWS, N_CLASSES = 80, 12


@pytest.fixture(params=["distinct", "tied", "constant", "float32"])
def problem(request):
    rng = np.random.default_rng(4)
    scores = {
        "distinct": rng.random((N_ROWS, N_CLASSES)),
        "tied": rng.integers(0, 4, (N_ROWS, N_CLASSES)) / 4,
        "constant": np.full((N_ROWS, N_CLASSES), 0.5),
        "float32": rng.random((N_ROWS, N_CLASSES), dtype=np.float32),
    }[request.param]
    return scores, np.concatenate([np.arange(N_CLASSES), rng.integers(0, N_CLASSES, N_ROWS - N_CLASSES)])


def report(scores, truths, k):
    return build_ranking_report(scores, truths, k=k, n_resamples=0, eval_all_objectives=False)


@pytest.mark.parametrize("k", [1, 3, 10, 12])
def test_ndcg(problem, k):
    scores, truths = problem
    found = report(scores, truths, k)["objectives"]["accuracy"]["micro"][f"ndcg@{k}"]
    assert found == pytest.approx(ndcg_score(np.eye(N_CLASSES)[truths], scores, k=k), rel=1e-13)


@pytest.mark.parametrize("k", [1, 2, 5, 11])
def test_top_k_accuracy(problem, k):
    scores, truths = problem
    found = report(scores, truths, k)
    accuracy = top_k_accuracy_score(truths, scores, k=k)
    if found["ties"]["mean_tie_width"] == 1:
        assert found["objectives"]["accuracy"]["micro"][f"hit@{k}"] == pytest.approx(accuracy, rel=1e-15)
    # It breaks ties by column, which is one of the orders.
    spread = found["ties"][f"hit@{k}"]
    assert spread["min"] - 1e-15 <= accuracy <= spread["max"] + 1e-15


def test_reciprocal_rank_of_the_worst_order(problem):
    scores, truths = problem
    # Average precision with one label, ties counted against it.
    average_precision = label_ranking_average_precision_score(np.eye(N_CLASSES)[truths], scores)
    assert report(scores, truths, N_CLASSES)["ties"][f"mrr@{N_CLASSES}"]["min"] == pytest.approx(
        average_precision, rel=1e-14
    )


def test_worst_rank(problem):
    scores, truths = problem
    _, worst = rank_bounds_of_truth(scores, truths)
    assert worst.mean() == pytest.approx(coverage_error(np.eye(N_CLASSES)[truths], scores), rel=1e-15)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_macro_recall(dtype):
    rng = np.random.default_rng(9)
    scores, truths = rng.random((60, 7)).astype(dtype), rng.integers(0, 5, 60)
    found = report(scores, truths, 1)["objectives"]["accuracy"]
    predicted = scores.argmax(axis=1)
    recall = recall_score(truths, predicted, labels=np.unique(truths), average="macro")
    assert found["macro"]["macro_recall@1"] == pytest.approx(recall, rel=1e-14)
    assert found["macro"]["catalog_coverage"] == pytest.approx(len(np.unique(predicted)) / 7, rel=1e-15)


@pytest.fixture
def grades():
    """Any number of relevant items per row, none in some."""
    return np.random.default_rng(6).choice([0, 0, 0, 1, 2, 3], (N_ROWS, N_CLASSES))


@pytest.mark.parametrize("k", [1, 3, 10, 12, 20])
@pytest.mark.parametrize("gain", ["binary", "linear", "exp2"])
def test_graded_gains(problem, grades, k, gain):
    scores, _ = problem
    gains = {"binary": grades > 0, "linear": grades, "exp2": 2.0**grades - 1}[gain].astype(float)
    result = evaluate_scores(scores, grades, metrics=[DCG(k, gain=gain), NDCG(k, gain=gain)])
    for name, score in (("dcg", dcg_score), ("ndcg", ndcg_score)):
        key = name + ("" if gain == "binary" else f"_{gain}") + f"@{k}"
        expected = [score(gains[[row]], scores[[row]], k=k) for row in result.sample_ids[:3]]
        assert result.per_user[key][:3].tolist() == pytest.approx(expected, rel=1e-12)
        # It scores rows without relevant items 0.
        assert result[key] * result.n_scored_rows / N_ROWS == pytest.approx(score(gains, scores, k=k), rel=1e-12)


@pytest.mark.parametrize("k", [1, 3, 5, 12])
def test_sets_in_the_top(problem, grades, k):
    scores, _ = problem
    result = evaluate_scores(scores, grades, metrics=[Precision(k), Recall(k), F1(k)])
    top = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(top, np.argsort(-scores, axis=1, kind="stable")[:, :k], values=True, axis=1)
    truth = grades > 0
    scored = truth.any(axis=1)
    for key, score in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        expected = score(truth[scored], top[scored], average="samples", zero_division=0)
        ties = result.ties[f"{key}@{k}"]
        # It breaks ties by column, which is one of the orders.
        assert ties["mean_worst"] - 1e-12 <= expected <= ties["mean_best"] + 1e-12
        if ties["mean_worst"] == ties["mean_best"]:
            assert result[f"{key}@{k}"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_average_precision_of_all_labels(grades, dtype):
    # Without ties, of which it has a view of its own.
    scores = np.random.default_rng(4).random((N_ROWS, N_CLASSES)).astype(dtype)
    truth = grades > 0
    scored = truth.any(axis=1)
    found = label_ranking_average_precision_score(truth[scored], scores[scored])
    assert evaluate_scores(scores, truth, metrics=MAP())["map"] == pytest.approx(found, rel=1e-12)
