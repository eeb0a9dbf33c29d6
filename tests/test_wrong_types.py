"""Arguments of a wrong type, wherever they are given: refused by name, never by what Python stumbles over."""

from types import SimpleNamespace

import numpy as np
import pytest

from rankbound import (
    ComparabilityState,
    EvaluationResult,
    RankingConfig,
    RankingReport,
    build_ranking_report,
    compare_models,
    evaluate_ranked_predictions,
    evaluate_scores,
    fit_comparability,
)
from rankbound.catalogue import Exposure
from rankbound.compat import catboost, lightgbm, pytrec_eval, ranx, xgboost
from rankbound.errors import InvalidParameterError, InvalidTypeError, RankboundError, ShapeError
from rankbound.gate import GatePolicy

SCORES = [[0.3, 0.2, 0.5], [0.1, 0.8, 0.1], [0.6, 0.3, 0.1]]
REPORT = build_ranking_report(SCORES, [0, 1, 2], y_train=[0, 1, 1, 2], n_resamples=10)
RESULTS = {
    name: evaluate_scores(scores, np.eye(3), metrics="mrr") for name, scores in [("a", SCORES), ("b", np.eye(3))]
}
COMPARISON = compare_models(RESULTS, n_resamples=10)
STATE = fit_comparability([0, 1, 1], n_classes=2)
QRELS, RUN = {"q": {"d": 1}}, {"q": {"d": 0.5}}
NO_NAME = "must be the name of a file, a string or a pathlib.Path, got "


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (RankingReport.from_json, "source"),
        (REPORT.to_json, "path"),
        (RankingConfig.load, "path"),
        (ComparabilityState.load, "path"),
        (STATE.save, "path"),
        (EvaluationResult.load, "path"),
        (RESULTS["a"].save, "path"),
        (GatePolicy.load, "path"),
        (COMPARISON.to_json, "path"),
        (Exposure.load, "path"),
    ],
)
@pytest.mark.parametrize("wrong", [3, bytearray(b"name"), ["name"]])
def test_what_names_no_file(call, argument, wrong):
    with pytest.raises(InvalidTypeError) as refused:
        call(wrong)
    assert str(refused.value) == f"{argument} {NO_NAME}{wrong!r}"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RankingReport.from_json(None), f"source {NO_NAME}None"),
        (lambda: RankingConfig.from_toml(None), "text must be a string, got None"),
        (lambda: RankingConfig.from_toml(b"k = 3"), r"text must be a string, got b'k = 3'; decode it"),
        (lambda: GatePolicy.from_toml(b"a = 3"), r"text must be a string, got b'a = 3'; decode it"),
        (lambda: GatePolicy.from_dict(None), "rules must be a mapping, such as a dict, got None"),
        (lambda: RankingReport(None), "payload must be a mapping, such as a dict, got None"),
        (lambda: RankingReport(REPORT, per_unit=3), "per_unit must be an EvaluationResult, got 3"),
        (lambda: RESULTS["a"].movers(RESULTS["b"], ["mrr"]), r"metric must be a string, got \['mrr'\]"),
        (lambda: ranx.evaluate(QRELS, RUN, 3), "metrics must be a list of names such as 'ndcg@10', got 3"),
        (lambda: ranx.compare(QRELS, None, "mrr"), "runs must be a list of Run objects, got None"),
        (lambda: ranx.compare(QRELS, [ranx.Run(RUN)], "mrr", max_p="a"), "max_p must be a number, got 'a'"),
        (lambda: ranx.compare(QRELS, [ranx.Run(RUN)], "mrr", random_seed="a"), "random_seed must be an integer"),
        (lambda: ranx.Qrels().add("q", 3, [1]), "doc_ids must be a list of document ids, got 3"),
        (lambda: ranx.Run(RUN).make_comparable(3), "qrels must be Qrels, got 3"),
        (
            lambda: pytrec_eval.RelevanceEvaluator(QRELS, None),
            "measures must be a list of names such as 'map', got None",
        ),
        (lambda: lightgbm.eval_ndcg(3)([0.5], 3), "eval_data must be a lightgbm.Dataset, got 3"),
        (lambda: xgboost.eval_ndcg(3)([0.5], 3), "dtrain must be a xgboost.DMatrix, got 3"),
        (lambda: catboost.eval_ndcg(None, 3, 3), "data must be a catboost.Pool, got 3"),
        (lambda: catboost.eval_ndcg(3, POOL, 3), "model must be a CatBoost model, got 3"),
        (lambda: lightgbm.ranker_eval_ndcg(3)(["a"], [0.5], None, [1]), "labels has dtype <U1; it must hold numbers"),
        (lambda: lightgbm.ranker_eval_ndcg(3)([1], ["a"], None, [1]), "predictions has dtype <U1; it must hold num"),
        (lambda: lightgbm.ranker_eval_ndcg(3)([1], [0.5], None, ["a"]), "groups has dtype <U1; it must hold numbers"),
        (lambda: lightgbm.ranker_eval_ndcg(3)([1], [0.5], ["a"], [1]), "weights has dtype <U1; it must hold numbers"),
    ],
)
def test_wrong_types_are_refused_by_name(call, message):
    with pytest.raises(InvalidTypeError, match=f"^{message}"):
        call()


POOL = SimpleNamespace(get_label=lambda: [1.0], get_group_id_hash=lambda: np.array([7]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: lightgbm.ranker_eval_ndcg(3)([1, 0], [0.5, 0.1], None, [-2, 4]),
            ShapeError,
            "groups has -2 at position 0; give the number of rows of each group",
        ),
        (
            lambda: lightgbm.ranker_eval_ndcg(3)([1, 0], [0.5, 0.1], [1, 2, 3], [2]),
            ShapeError,
            r"weights has shape \(3,\), but there are 2 rows; give one weight per row",
        ),
        (
            lambda: ranx.Qrels().add_multi(["q"], [], []),
            ShapeError,
            "q_ids has 1 queries, doc_ids 0 lists and scores 0",
        ),
        (lambda: RESULTS["a"].movers(RESULTS["b"], "mrr", n=0), InvalidParameterError, "n must be at least 1, got 0"),
    ],
)
def test_wrong_values_are_refused_by_name(call, error, message):
    with pytest.raises(RankboundError, match=f"^{message}") as refused:
        call()
    assert type(refused.value) is error


@pytest.mark.parametrize(
    ("held", "keys"),
    [(REPORT, "schema_version, rankbound_version, k"), (RESULTS["a"], "mrr"), (ranx.Qrels(QRELS), "1 queries")],
)
def test_unknown_keys_are_named_beside_those_there_are(held, keys):
    with pytest.raises(KeyError, match=f"'x'.*{keys}"):
        held["x"]


@pytest.mark.parametrize("targets", [[[]], np.zeros((1, 0))])
def test_targets_without_items_are_refused(targets):
    with pytest.raises(ShapeError, match=r"targets has shape \(1, 0\); it must have a column for each item"):
        evaluate_ranked_predictions([[0, 1]], targets, metrics="mrr@2")
