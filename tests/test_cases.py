"""Cases behind public bug reports about ranking metrics, each with its source in ``data/reported_cases.json``."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rankbound import _core, build_ranking_report, errors, ranking_uncertainty

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "data" / "reported_cases.json").read_text("utf-8"))
}

PENDING = {
    "several relevant items in one list (ndcg, ap, rr, success, gains)": {
        "agg-03", "agg-05", "den-05", "den-07", "den-14", "err-07", "idcg-01", "idcg-03", "idcg-05", "idcg-07",
        "idcg-09", "idcg-10", "idcg-12", "idcg-15", "rr-01", "rr-02", "tie-03", "tie-09", "tie-11", "tie-19", "tie-21",
        "tie-32",
    },
    "ranked lists as input": {"agg-07", "agg-11", "cat-08", "err-03c"},
    "rbp and log rbp": {"err-11", "log-01", "log-03", "log-05", "tie-28"},
    "merging partial results": {"agg-09", "agg-10"},
    "tests between models": {"sig-01", "sig-03", "sig-04", "sig-05", "sig-06", "sig-08", "err-10"},
    "catalogue metrics over item features": {"cat-05", "cat-07"},
    "label ranking": {"lab-01", "lab-03", "lab-05", "lab-07", "lab-09", "lab-10"},
    "sampled metrics": {"smp-01", "smp-03", "smp-05"},
    "click logs": {"ips-01", "ips-03"},
}  # fmt: skip

LISTS = [
    "agg-01", "den-01", "den-03", "den-09", "den-11", "den-12", "err-01", "err-03", "err-04b", "err-05", "err-08",
    "err-12", "tie-01", "tie-05", "tie-07", "tie-13", "tie-15", "tie-17", "tie-23", "tie-25", "tie-27", "tie-30",
    "tie-34",
]  # fmt: skip
OTHERS = {"agg-13", "agg-14", "cat-01", "cat-03", "sig-10"}
# Average precision of a list with one relevant item is its reciprocal rank.
NAMES = {"precision": "hit", "recall": "hit", "hit": "hit", "rr": "mrr", "ap": "mrr", "ndcg": "ndcg"}
REFUSALS = {
    "EmptyInput": errors.EmptyInputError,
    "NaNScore": errors.NonFiniteScoreError,
    "InvalidK": errors.InvalidKError,
    "UnknownLabel": errors.UnknownLabelError,
    "DuplicateItem": errors.DuplicateItemError,
}


def report(scores, truths, k, **options):
    return build_ranking_report(scores, truths, k=k, n_resamples=0, eval_all_objectives=False, **options)


def as_matrix(case):
    """Return scores, truths and options of a case: one row per relevant item, rows of one list share its id."""
    given, kind = case["input"], case["kind"]
    if kind == "multiclass":
        return np.array(given["scores"], dtype=float), given["label"], {}
    if kind == "ranked":
        truths = [item for item, grade in given["truth"] if grade > 0]
        ranked = np.array(given["ranked"], given.get("ranked_dtype"))
        labels = np.array(truths, given.get("truth_dtype"))
        scores = np.tile(-np.arange(len(ranked)), (len(truths), 1))
        exclude = np.tile(np.isin(ranked, given.get("exclude", [])), (len(truths), 1))
        return scores, labels, {"classes": ranked, "list_ids": [0] * len(truths), "exclude": exclude}
    if kind == "scores_repeat":
        return np.full((1, given["n"]), given["score"]), [given["relevant_index"]], {}
    lists = given["users"] if kind == "aggregate" else [given]
    rows = [
        (user, [float(score) for score in one["scores"]], item)
        for user, one in enumerate(lists)
        for item, grade in enumerate(one["relevance"])
        if grade > 0
    ]
    scores = np.array([row for _, row, _ in rows]) if rows else np.empty((0, 3))
    exclude = np.zeros(scores.shape, dtype=bool)
    exclude[:, given.get("exclude", [])] = True
    return scores, [item for _, _, item in rows], {"list_ids": [user for user, _, _ in rows], "exclude": exclude}


def test_every_case_is_tested_or_waits_for_its_feature():
    waiting = [name for names in PENDING.values() for name in names]
    assert sorted([*waiting, *LISTS, *OTHERS]) == sorted(CASES)


@pytest.mark.parametrize("name", LISTS)
def test_lists(name):
    case = CASES[name]
    scores, truths, options = as_matrix(case)
    k, expected = case["k"], case["expected"]
    if isinstance(expected, dict):
        with pytest.raises(REFUSALS[expected["error"]]):
            report(scores, truths, k, **options)
        return
    found = report(scores, truths, k, **options)
    key = f"{NAMES[case['metric']]}@{k}"
    n_lists = len(set(options.get("list_ids", [0])))
    assert case["metric"] in ("precision", "recall") or len(truths) == n_lists
    bound = case["input"].get("bound")
    value = found["ties"][key][bound] if bound else found["objectives"]["accuracy"]["micro"][key]
    if case["metric"] == "precision":
        value *= len(truths) / n_lists / k
    assert value == pytest.approx(expected, rel=1e-13)


def test_a_popularity_baseline_has_the_same_tie_rule():
    case = CASES["tie-25"]
    found = report([[0, 0, 1]], [0], case["k"], popularity=case["input"]["scores"])
    assert found["baselines"]["global_pop"]["micro"]["hit@1"] == case["expected"]


def test_mean_of_reciprocal_ranks():
    case = CASES["agg-13"]
    scores = np.tile(-np.arange(4), (2, 1))
    truths = np.array(case["input"]["first_relevant_rank"]) - 1
    assert report(scores, truths, 4)["objectives"]["accuracy"]["micro"]["mrr@4"] == case["expected"]


def test_mean_of_many():
    case = CASES["agg-14"]
    values = np.full(case["input"]["n_users"], case["input"]["value"])
    assert _core.exact_mean(values) == case["expected"]


def test_coverage_depends_on_k():
    case = CASES["cat-01"]
    scores = np.zeros((2, case["input"]["catalogue_size"]))
    for row, items in zip(scores, case["input"]["lists"], strict=True):
        row[items] = [3, 2, 1]
    coverage = {k: report(scores, [0, 0], k)["objectives"]["accuracy"]["macro"]["catalog_coverage"] for k in (1, 3)}
    assert coverage[case["k"]] == pytest.approx(case["expected"], rel=1e-15)
    assert coverage[3] == 0.5


def test_gini_counts_what_is_never_shown():
    case = CASES["cat-03"]
    counts = case["input"]["counts"]
    assert _core.exposure_gini(np.array(counts, dtype=float)) == case["expected"]
    shown = np.repeat(np.arange(len(counts)), counts)
    found = report(np.eye(len(counts))[shown], [0] * len(shown), 1)
    assert found["objectives"]["accuracy"]["macro"]["recommendation_gini"] == case["expected"]


def test_equal_differences_have_an_interval():
    case = CASES["sig-10"]
    a, b = case["input"]["a"], case["input"]["b"]
    difference = ranking_uncertainty({"m": a}, {"other": {"m": b}})["baselines"]["other"]["difference"]["m"]
    assert difference["ci_low"] == pytest.approx(case["expected"], abs=1e-12)
    assert difference["ci_high"] == pytest.approx(case["expected"], abs=1e-12)
    assert not math.isnan(difference["estimate"])
