"""Cases behind public bug reports about ranking metrics, each with its source in ``data/reported_cases.json``."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rankbound import (
    RankedLists,
    RankingEvaluator,
    _core,
    build_ranking_report,
    errors,
    evaluate_ranked_predictions,
    evaluate_scores,
    ranking_uncertainty,
)
from rankbound.metrics import DCG, MAP, MRR, NDCG, RBP, HitRate, LogRBP, Precision

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "data" / "reported_cases.json").read_text("utf-8"))
}

# In test_cases_beyond.py and test_catalogue_cases.py.
ELSEWHERE = {
    "agg-10", "cat-05", "cat-07", "err-10", "ips-01", "ips-03", "lab-01", "lab-05", "lab-07", "lab-09", "lab-10",
    "sig-01", "sig-03", "sig-04", "sig-05", "sig-06", "sig-08", "smp-01", "smp-05",
}  # fmt: skip
NOT_OFFERED = {
    "p-values of Kendall's tau": {"lab-03"},
    "a corrected rank on its own, not the metric of it": {"smp-03"},
}

LISTS = [
    "agg-01", "den-01", "den-03", "den-09", "den-11", "den-12", "err-01", "err-03", "err-04b", "err-05", "err-08",
    "err-12", "tie-01", "tie-05", "tie-07", "tie-13", "tie-15", "tie-17", "tie-23", "tie-25", "tie-27", "tie-30",
    "tie-34",
]  # fmt: skip
SEVERAL_RELEVANT = [
    "agg-05", "agg-07", "den-05", "den-07", "den-14", "err-03c", "err-07", "err-11", "idcg-01", "idcg-03", "idcg-07",
    "idcg-09", "idcg-10", "idcg-12", "idcg-15", "log-01", "log-05", "rr-01", "rr-02", "tie-03", "tie-09", "tie-11",
    "tie-19", "tie-21", "tie-28", "tie-32",
]  # fmt: skip
OTHERS = {
    "agg-03", "agg-09", "agg-11", "agg-13", "agg-14", "cat-01", "cat-03", "cat-08", "idcg-05", "log-03", "sig-10",
}  # fmt: skip
# Average precision of a list with one relevant item is its reciprocal rank.
NAMES = {"precision": "hit", "recall": "hit", "hit": "hit", "rr": "mrr", "ap": "mrr", "ndcg": "ndcg"}
REFUSALS = {
    "EmptyInput": errors.EmptyInputError,
    "NaNScore": errors.NonFiniteScoreError,
    "InvalidK": errors.InvalidKError,
    "UnknownLabel": errors.UnknownLabelError,
    "DuplicateItem": errors.DuplicateItemError,
    "GainOverflow": errors.GainOverflowError,
    "InvalidParameter": errors.InvalidParameterError,
    "UnknownItem": errors.UnknownLabelError,
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


def test_every_case_is_tested_or_not_offered():
    left_out = [name for names in NOT_OFFERED.values() for name in names]
    assert sorted([*left_out, *ELSEWHERE, *LISTS, *SEVERAL_RELEVANT, *OTHERS]) == sorted(CASES)


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


def metric_of(case):
    """Return the metric of a case; grades count as they are unless it says otherwise."""
    k, options = case["k"], case["input"].get("options", {})
    of_name = {
        "precision": lambda: Precision(k),
        "hit": lambda: HitRate(k),
        "rr": lambda: MRR(k),
        "ap": lambda: MAP(k, denominator="min_k_relevant" if options.get("ap_denominator") == "min_k" else "relevant"),
        "ndcg": lambda: NDCG(k, gain=options.get("gain", "linear")),
        "rbp": lambda: RBP(k, patience=options["p"], gain="linear"),
        "log_rbp": lambda: LogRBP(k, patience=case["input"]["p"]),
    }
    return of_name[case["metric"]]()


def as_ranked(lists, k, **options):
    """Return lists of any ids as ranked lists of at least k places with their targets, and the options."""
    ids = sorted({item for one in lists for item in [*one["ranked"], *(item for item, _ in one["truth"])]}, key=str)
    width = max(k, *(len(one["ranked"]) for one in lists))
    indices, targets = np.full((len(lists), width), -1), np.zeros((len(lists), len(ids)))
    for row, one in enumerate(lists):
        indices[row, : len(one["ranked"])] = [ids.index(item) for item in one["ranked"]]
        for item, grade in one["truth"]:
            targets[row, ids.index(item)] = grade
    lengths = [len(one["ranked"]) for one in lists]
    return RankedLists(indices, lengths=lengths), targets, options


def evaluate(case):
    given, kind, metric = case["input"], case["kind"], metric_of(case)
    if kind in ("ranked", "aggregate_ranked"):
        options = {"duplicates": given["duplicates"]} if "duplicates" in given else {}
        lists, targets, options = as_ranked(given.get("users", [given]), case["k"], **options)
        return evaluate_ranked_predictions(lists, targets, metrics=metric, **options)
    if kind == "ranks":
        depth = max(given["first_relevant_rank"])
        targets = np.arange(1, depth + 1) == np.array(given["first_relevant_rank"])[:, None]
        return evaluate_scores(np.tile(-np.arange(depth), (len(targets), 1)), targets, metrics=metric)
    lists = given.get("users", [given])
    scores, grades = ([one[name] for one in lists] for name in ("scores", "relevance"))
    return evaluate_scores(scores, np.array(grades), metrics=metric)


@pytest.mark.parametrize("name", SEVERAL_RELEVANT)
def test_lists_with_several_relevant_items(name):
    case = CASES[name]
    if isinstance(case["expected"], dict):
        with pytest.raises(REFUSALS[case["expected"]["error"]]):
            evaluate(case)
        return
    result = evaluate(case)
    (key,) = result.per_user
    assert result[key] == pytest.approx(case["expected"], rel=1e-13)


def test_lists_without_relevant_items_are_left_out_instead_of_scored_zero():
    case = CASES["agg-03"]
    result = evaluate(case)
    assert result["ndcg_linear@3"] == 1
    # With the two counts anybody can have the other convention.
    assert result["ndcg_linear@3"] * result.n_scored_rows / result.n_rows == case["expected"]


def test_the_ideal_list_is_cut_where_the_list_is():
    # An ideal that is not cut is not offered: no list could reach 1. It is the ratio of two DCGs.
    case = CASES["idcg-05"]
    lists, targets, _ = as_ranked([case["input"]], 2)
    assert evaluate_ranked_predictions(lists, targets, metrics=NDCG(2))["ndcg@2"] == 1
    gained = evaluate_ranked_predictions(lists, targets, metrics=DCG(2))["dcg@2"]
    ideal = evaluate_ranked_predictions([[0, 1, 2]], targets, metrics=DCG(3))["dcg@3"]
    assert gained / ideal == pytest.approx(case["expected"], rel=1e-15)


def test_precision_divides_by_the_cut_off_and_averages_users():
    case = CASES["agg-11"]
    hits, shown = case["input"]["hits"], case["input"]["shown"]
    targets = np.arange(4) < np.array(hits)[:, None]
    lists = RankedLists(np.tile(np.arange(4), (2, 1)), lengths=shown)
    result = evaluate_ranked_predictions(lists, targets, metrics=Precision(shown))
    of_users = [result.per_user[f"precision@{length}"][user] for user, length in enumerate(shown)]
    assert _core.exact_mean(np.array(of_users)) == case["expected"]
    assert result["precision@4"] == (1 / 4 + 3 / 4) / 2


def test_an_item_outside_the_catalogue_is_refused():
    case = CASES["cat-08"]
    catalogue = case["input"]["catalogue"]
    codes = [
        [catalogue.index(item) if item in catalogue else len(catalogue) for item in one]
        for one in case["input"]["lists"]
    ]
    with pytest.raises(REFUSALS[case["expected"]["error"]], match="list 1 names item 3 at position 1"):
        evaluate_ranked_predictions(codes, np.ones((2, len(catalogue))), metrics=Precision(case["k"]))


def test_nothing_returned_is_minus_infinity_and_nothing_relevant_is_undefined():
    case = CASES["log-03"]
    scores, patience = case["input"]["scores"], case["input"]["options"]["p"]
    metric = LogRBP(case["k"], patience=patience)
    result = evaluate_scores([[*scores, 0]], [[0, 0, 1]], metrics=metric)
    assert result["LogRBP@2.logmean"] == float(case["expected"])
    undefined = evaluate_scores([scores], [case["input"]["relevance"]], metrics=metric)
    assert math.isnan(undefined["LogRBP@2.logmean"])
    assert undefined["LogRBP@2.n"] == 0


def test_partial_results_merge_by_sums_and_counts():
    case = CASES["agg-09"]
    merged = RankingEvaluator(DCG(1, gain="linear"))
    for values in case["input"]["batches"]:
        part = RankingEvaluator(DCG(1, gain="linear"))
        # The gain of the only item, at the first rank.
        part.update(np.zeros((len(values), 1), dtype=int), np.array(values)[:, None])
        merged.merge(part)
    assert merged.compute()["dcg_linear@1"] == case["expected"]
