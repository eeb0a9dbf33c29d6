"""Refusals name the argument that the caller gave, not the one of what is called inside."""

from types import SimpleNamespace

import numpy as np
import pytest

from rankbound import (
    ComparabilityState,
    EvaluationResult,
    RankingConfig,
    compare_pair,
    evaluate_embeddings,
    evaluate_ranked_predictions,
    evaluate_recommender,
    evaluate_scores,
)
from rankbound.catalogue import CatalogueEvaluator, Exposure
from rankbound.compat import ranx, sklearn
from rankbound.counterfactual import ips, sensitivity_sweep
from rankbound.errors import FileFormatError, InvalidKError, InvalidParameterError, RankboundError
from rankbound.gate import run_gate

TARGETS = np.eye(3)[:2]
VECTORS = np.ones((2, 2), np.float32), np.ones((3, 2), np.float32)
RESULT = evaluate_scores(TARGETS, TARGETS, metrics="mrr")
LOG = {"query": [1], "item": [1], "logged_rank": [1.5], "click": [1], "propensity": [0.5]}
FINITE = "y_score has nan at row 0, column 1: every score must be finite$"
POLICY = {"floor": [{"metric": "mrr", "at_least": 0.1}]}


def listed(**parts):
    given = {"cols": [[0], [1]], "vals": [[1.0], [1.0]], "shape": (2, 3)} | parts
    return evaluate_ranked_predictions(SimpleNamespace(**given), TARGETS, metrics="mrr@1")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sklearn.top_k_accuracy_score(["a", "b"], TARGETS, labels=["a", "a", "b"]), "labels has 'a' at posi"),
        (lambda: sklearn.top_k_accuracy_score(["a", "b"], TARGETS, labels=[1, 2, 3]), "y_true holds strings, but lab"),
        (lambda: sklearn.top_k_accuracy_score([0, 1], [[0.1, np.nan, 0.3]] * 2, labels=[0, 1, 2]), FINITE),
        (lambda: sklearn.ndcg_score([[1, 0]], [[0.5, np.nan]]), FINITE),
        (lambda: listed(cols=[[0.5], [1]]), "predictions.cols has dtype float64"),
        (lambda: listed(vals=[["a"], ["b"]]), "predictions.vals has dtype <U1"),
        (lambda: listed(vals=[[1.0]]), r"predictions.vals has shape \(1, 1\), but predictions.cols has \(2, 1\)"),
        (lambda: listed(shape=(2, "a")), r"predictions.shape\[1\] must be an integer, got 'a'"),
        (lambda: evaluate_ranked_predictions([["a"]], TARGETS), "predictions has dtype <U1"),
        (lambda: sensitivity_sweep({}, {}, {}, "hits", 1, n_queries=1, etas=[]), r"etas has shape \(0,\)"),
        (lambda: sensitivity_sweep({}, {}, {}, "hits", 1, n_queries=1, etas=[2, 1]), "etas must be ascending, got"),
        (lambda: compare_pair("a", RESULT, "mrr"), "baseline: 'a' must end in .npz or .parquet"),
        (lambda: compare_pair(RESULT, "none.npz", "mrr"), "candidate: there is no file 'none.npz'"),
        (lambda: run_gate(RESULT, policy=POLICY, against="none.json"), "against: cannot read 'none.json'"),
        (
            lambda: evaluate_embeddings(*VECTORS, TARGETS, metrics="mrr", exclude=np.zeros((3, 3), bool)),
            r"exclude has shape \(3, 3\), but there are 2 queries and 3 items; it must be \(2, 3\)",
        ),
        (lambda: ranx.evaluate({"q": {"d": 1}}, {"q": {"d": 1}}, "mrr", threads="a"), "threads must be an integer"),
        (
            lambda: ips(LOG, LOG | {"score": [1]}, "hits", 1, n_queries=1, propensity_source="assumption"),
            r"log\['logged_rank'\] has 1.5 at row 0; ranks are integers from 1$",
        ),
    ],
)
def test_the_callers_argument_is_named(call, message):
    with pytest.raises(RankboundError, match=f"^{message}"):
        call()


def test_a_size_is_no_cut_off():
    with pytest.raises(InvalidParameterError, match="batch_size must be at least 1, got 0") as refused:
        evaluate_recommender(
            SimpleNamespace(predict_on_batch=print), source=TARGETS, targets=TARGETS, metrics="mrr@1", batch_size=0
        )
    assert not isinstance(refused.value, InvalidKError)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("rbp@3[patiance=.5]", r"has the option 'patiance', which does not fit rbp: .*\[patience=...\]"),
        ("ndcg@3[patience=.5]", "has the option 'patience', which does not fit ndcg: it takes no options"),
        ("LogRBP[k=4]", r"has the option 'k', which does not fit LogRBP: .*\[patience=...\]"),
        ("catalog_coverge@3", "did you mean 'catalog_coverage@3'"),
        ("noveltyy", "did you mean 'novelty@10'"),
        ("Novelty@3", r"needs data that no label can hold: pass Novelty\(10, counts=...\)"),
        ("ndgc@3", "did you mean 'ndcg@3'"),
    ],
)
def test_labels_that_are_nearly_right(label, message):
    with pytest.raises(InvalidParameterError, match=message):
        evaluate_scores(TARGETS, TARGETS, metrics=label)


def test_labels_in_any_case():
    found = evaluate_scores(TARGETS, TARGETS, metrics=["Catalog_Coverage@1", "NDCG@1"])
    assert list(found.metrics) == ["ndcg@1", "catalog_coverage@1"]
    with pytest.raises(RankboundError, match="no catalogue metric; did you mean 'catalog_coverage'"):
        CatalogueEvaluator("catalog_coverge@3")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("header"), "no saved evaluation, or damaged .it holds other arrays: column_0, col"),
        (lambda arrays: arrays.pop("column_1"), "is damaged .it names 2 columns, but holds 1"),
        (lambda arrays: arrays.update(column_2=arrays["column_1"]), "is damaged .it names 2 columns, but holds 3"),
        (lambda arrays: arrays.update(column_7=arrays.pop("column_0")), "holds an array 'column_7', which is none of"),
        (lambda arrays: arrays.update(header=np.frombuffer(b"[]", np.uint8)), "it is of another format"),
    ],
)
def test_saved_evaluations_that_are_none(tmp_path, change, message):
    path = tmp_path / "result.npz"
    RESULT.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    change(arrays)
    np.savez(path, **arrays)
    with pytest.raises(FileFormatError, match=message):
        EvaluationResult.load(path)


@pytest.mark.parametrize(("kind", "lacking"), [(ComparabilityState, "metadata"), (Exposure, "header")])
def test_archives_of_something_else(tmp_path, kind, lacking):
    np.savez(tmp_path / "other.npz", numbers=np.arange(3))
    with pytest.raises(FileFormatError, match=rf"other\.npz' is no .*, or damaged \(it lacks '{lacking}'\)"):
        kind.load(tmp_path / "other.npz")


def test_a_configuration_names_its_file(tmp_path):
    (tmp_path / "k.toml").write_text("k = 0", encoding="utf-8")
    with pytest.raises(InvalidKError, match=r"k\.toml': k must be at least 1, got 0"):
        RankingConfig.load(tmp_path / "k.toml")
