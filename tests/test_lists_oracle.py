"""Lists with any number of relevant items: every number by enumeration of the orders that ties allow."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from rankbound import RankedLists, evaluate_ranked_predictions, evaluate_scores
from rankbound.metrics import (
    ERR,
    F1,
    MAP,
    MRR,
    NDCG,
    RBP,
    REGISTRY,
    CalibratedRecall,
    HitRate,
    LogRBP,
    Precision,
    Recall,
    RPrecision,
    parse,
)

GOLDEN = json.loads((Path(__file__).parent / "data" / "golden.json").read_text(encoding="utf-8"))["multi_relevance"]
MAX_GRADE = 3
# No short form of the variance is known for these.
WITHOUT_SD = ("map", "map_relevant", "err")


def at(name, k):
    return name if k is None else f"{name}@{k}"


def spec(key):
    return parse(f"{key}[max_grade={MAX_GRADE}]" if key.startswith("err") else key)


@st.composite
def problems(draw):
    """A few short lists full of ties, with graded relevant items, some of which are no candidates."""
    n_items = draw(st.integers(1, 5))
    n_lists = draw(st.integers(1, 2))
    rows = st.lists(st.integers(0, 2), min_size=n_items, max_size=n_items)
    grades = st.lists(st.sampled_from([0, 0, 1, 2, 3]), min_size=n_items, max_size=n_items)
    masks = st.sets(st.integers(0, n_items - 1), max_size=n_items - 1)
    return {
        "scores": [draw(rows) for _ in range(n_lists)],
        "grades": [draw(grades) for _ in range(n_lists)],
        "excluded": [draw(masks) for _ in range(n_lists)],
        "k": draw(st.one_of(st.none(), st.integers(1, 6))),
        "drop": draw(st.booleans()),
    }


def evaluate(problem, metrics):
    masks = np.zeros(np.shape(problem["scores"]), dtype=bool)
    for row, excluded in enumerate(problem["excluded"]):
        masks[row, sorted(excluded)] = True
    unseen = "drop" if problem["drop"] else "miss"
    return evaluate_scores(
        problem["scores"], np.array(problem["grades"]), metrics=metrics, exclude=masks, unseen=unseen
    )


def outcomes(problem, metric):
    """Return the values over all orders of each list that has relevant items."""
    lists = zip(problem["scores"], problem["grades"], problem["excluded"], strict=True)
    found = [oracle.list_outcomes(metric, *one, drop=problem["drop"]) for one in lists]
    return [values for values in found if values]


def crosses(scores, grades, excluded, cut):
    """Whether equal scores, a relevant one among them, stand on both sides of the cut-off."""
    candidates = [item for item in range(len(scores)) if item not in excluded]
    for level in {scores[item] for item in candidates if grades[item] > 0}:
        better = sum(scores[item] > level for item in candidates)
        if better < cut < better + sum(scores[item] == level for item in candidates):
            return True
    return False


def test_the_definitions_cover_every_metric():
    assert {key.split("@")[0] for key in oracle.list_metrics(1)} | {"rbp_linear", "LogRBP"} == set(REGISTRY)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_every_metric_by_enumeration(problem):
    k = problem["k"]
    metrics = oracle.list_metrics(k, max_grade=MAX_GRADE)
    result = evaluate(problem, [spec(key) for key in metrics])
    for key, metric in metrics.items():
        values = outcomes(problem, metric)
        assert result.n_scored_rows == len(values)
        means = list(map(oracle.mean, values))
        assert result.per_user[key].tolist() == pytest.approx(list(map(float, means)), rel=1e-13, abs=1e-15)
        ties = result.ties[key]
        if not values:
            assert math.isnan(result[key])
            assert math.isnan(ties["mean_best"])
            continue
        found = [result[key], ties["mean_best"], ties["mean_worst"]]
        expected = [oracle.mean(means), oracle.mean(map(max, values)), oracle.mean(map(min, values))]
        assert found == pytest.approx(list(map(float, expected)), rel=1e-13, abs=1e-15)
        if key.split("@")[0] in WITHOUT_SD:
            assert ties["sd"] in (None, 0)
        else:
            variance = float(sum(map(oracle.variance, values))) / len(values) ** 2
            assert ties["sd"] ** 2 == pytest.approx(variance, rel=1e-12, abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(15, 16)]))
def test_rank_biased_precision_and_its_logarithm(problem, patience):
    k = problem["k"]
    biased = oracle.list_metrics(k, patience=patience)[at("rbp", k)]

    def linear(ranked, _relevant):
        weights = [(1 - patience) * patience**place for place in range(len(ranked))]
        return sum((weight * grade for weight, grade in zip(weights[:k], ranked, strict=False)), Fraction(0))

    result = evaluate(problem, [RBP(k, patience=float(patience)), LogRBP(k, patience=float(patience))])
    values = outcomes(problem, biased)
    means = list(map(oracle.mean, values))
    assert result.per_user[at("rbp", k)].tolist() == pytest.approx(list(map(float, means)), rel=1e-13)
    logs = [math.log(value) if value else -math.inf for value in means]
    assert result.per_user[at("LogRBP", k) + ".logmean"].tolist() == pytest.approx(logs, rel=1e-13, abs=1e-14)
    assert result[at("LogRBP", k) + ".n"] == len(values)
    ties = result.ties[at("LogRBP", k) + ".logmean"]
    found = [result[at("LogRBP", k) + ".logmean"], ties["mean_best"], ties["mean_worst"]]
    if values:
        expected = [oracle.mean(means), oracle.mean(map(max, values)), oracle.mean(map(min, values))]
        assert found == pytest.approx(
            [math.log(mean) if mean else -math.inf for mean in expected], rel=1e-13, abs=1e-14
        )
    else:
        assert all(map(math.isnan, found))
    scaled = problem | {"grades": [[grade / 4 for grade in grades] for grades in problem["grades"]]}
    result = evaluate(scaled, RBP(k, patience=float(patience), gain="linear"))
    means = list(map(oracle.mean, outcomes(scaled, linear)))
    assert result.per_user[at("rbp_linear", k)].tolist() == pytest.approx(list(map(float, means)), rel=1e-13)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_ties_at_the_cut_off(problem):
    k = problem["k"] or 2
    result = evaluate(problem, [Recall(k), RPrecision()])
    expected = {"recall": [], "r_precision": []}
    for scores, grades, excluded in zip(problem["scores"], problem["grades"], problem["excluded"], strict=True):
        n_relevant = sum(grade > 0 and not (problem["drop"] and item in excluded) for item, grade in enumerate(grades))
        if n_relevant:
            expected["recall"].append(crosses(scores, grades, excluded, k))
            expected["r_precision"].append(crosses(scores, grades, excluded, n_relevant))
    for key, name in ((f"recall@{k}", "recall"), ("r_precision", "r_precision")):
        share = np.mean(expected[name]) if expected[name] else math.nan
        assert result.ties[key]["share_tied_at_cut"] == pytest.approx(share, nan_ok=True)


def exact(number):
    return float.fromhex(number["hex"]) if isinstance(number, dict) else float(Fraction(number))


def ranked(case):
    order = np.argsort(-np.array(case["scores"]), kind="stable")
    return RankedLists([order], scores=[np.array(case["scores"])[order]])


@pytest.mark.parametrize("as_lists", [False, True], ids=["scores", "lists"])
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['groups']}@{case['k']}")
def test_worked_examples(case, as_lists):
    k = case["k"]
    specs = [
        Precision(k), Recall(k), CalibratedRecall(k), F1(k), HitRate(k), MRR(k), MAP(k), MAP(k, denominator="relevant"),
        RPrecision(), RBP(k, patience=0.5), *(parse(f"{name}_{gain}@{k}") for name in ("dcg", "ndcg")
        for gain in ("linear", "exp2")),
    ]  # fmt: skip
    if "err" in case:
        specs.append(ERR(k, max_grade=case["err_gmax"]))
    if as_lists:
        result = evaluate_ranked_predictions(ranked(case), [case["grades"]], metrics=specs)
    else:
        result = evaluate_scores([case["scores"]], [case["grades"]], metrics=specs)
    names = {
        "precision": "precision", "recall": "recall", "calibrated_recall": "capped_recall", "f1": "f1",
        "hit_rate": "success", "mrr": "rr", "map": "ap_capped", "map_relevant": "ap_R", "rbp": "rbp_half",
        "dcg_linear": "dcg_linear", "ndcg_linear": "ndcg_linear", "dcg_exp2": "dcg_exp2", "ndcg_exp2": "ndcg_exp2",
    }  # fmt: skip
    for name, golden in names.items():
        assert result[f"{name}@{k}"] == pytest.approx(exact(case[golden]), rel=1e-14), name
    assert result["r_precision"] == pytest.approx(exact(case["r_precision"]), rel=1e-15)
    if "err" in case:
        assert result[f"err@{k}"] == pytest.approx(exact(case["err"]), rel=1e-15)
    ties = result.ties
    assert ties[f"mrr@{k}"]["sd"] ** 2 == pytest.approx(exact(case["rr_var"]), rel=1e-13, abs=1e-16)
    assert (ties[f"precision@{k}"]["sd"] * k) ** 2 == pytest.approx(exact(case["hits_var"]), rel=1e-13)
    for gain in ("linear", "exp2"):
        expected = exact(case[f"ndcg_sd_{gain}"])
        assert ties[f"ndcg_{gain}@{k}"]["sd"] == pytest.approx(expected, rel=1e-13)


def test_extremes_of_the_worked_examples():
    # Methods, section 1.4: the hits of the binary list, and ERR of the graded one.
    binary, graded = GOLDEN[0], GOLDEN[3]
    hits = evaluate_scores([binary["scores"]], [binary["grades"]], metrics=Precision([3, 6])).ties
    assert (hits["precision@3"]["mean_worst"], hits["precision@3"]["mean_best"]) == (0, 2 / 3)
    assert (hits["precision@6"]["mean_worst"], hits["precision@6"]["mean_best"]) == (0.5, 0.5)
    err = evaluate_scores([graded["scores"]], [graded["grades"]], metrics=ERR(3, max_grade=2)).ties["err@3"]
    assert [err["mean_worst"], err["mean_best"]] == pytest.approx([1 / 12, 19 / 48], rel=1e-15)
    assert err["sd"] is None


FIRST, DEEP = math.log1p(-0.85), -814.4917674737605


def log_rbp(better, tied, n_items):
    """Return scores and targets of a list whose relevant item ties with others behind better ones."""
    scores = np.repeat([2.0, 1.0, 0.0], [better, tied, n_items - better - tied])
    return scores, np.arange(n_items) == better


@pytest.mark.parametrize(
    ("better", "tied", "expected"),
    [
        (0, 1, -1.897119984885881),
        (1, 3, -2.213373014325698),
        (5000, 1, DEEP),
        (5000, 2, -814.5697290152302),
        (100_000, 50, -16255.805268591334),
    ],
)
def test_logarithm_of_rank_biased_precision(better, tied, expected):
    scores, targets = log_rbp(better, tied, better + tied + 5)
    result = evaluate_scores([scores], [targets], metrics=LogRBP())
    assert result["LogRBP.logmean"] == pytest.approx(expected, rel=1e-15)
    assert result["LogRBP.n"] == 1
    # A list that ends above the relevant item does not hold it.
    if better:
        assert evaluate_scores([scores], [targets], metrics=LogRBP(better))[f"LogRBP@{better}.logmean"] == -math.inf


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([1, 5001, None], math.log(0.05)),
        ([5001, 5002, None], -814.9751941233385),
        ([None, None], -math.inf),
        ([1, None, "no truth"], math.log(0.075)),
        (["no truth"], math.nan),
    ],
)
def test_logarithm_of_the_mean(ranks, expected):
    n_items = 5003
    targets = np.zeros((len(ranks), n_items))
    for row, rank in enumerate(ranks):
        if rank != "no truth":
            # The last item is never a candidate.
            targets[row, -1 if rank is None else rank - 1] = 1
    exclude = np.tile(np.arange(n_items) == n_items - 1, (len(ranks), 1))
    result = evaluate_scores(np.tile(-np.arange(n_items), (len(ranks), 1)), targets, metrics=LogRBP(), exclude=exclude)
    assert result["LogRBP.logmean"] == pytest.approx(expected, rel=1e-15, nan_ok=True)
    assert result["LogRBP.n"] == len(ranks) - ranks.count("no truth")
    # No mean of logarithms is reported.
    assert set(result) == {"LogRBP.n", "LogRBP.logmean", "n_scored_rows", "n_units"}


def test_gains_of_one_ulp_apart_are_not_ties():
    scores = [[1.0, np.nextafter(1.0, 2), -0.0, 0.0]]
    result = evaluate_scores(scores, [[1, 0, 1, 0]], metrics=[NDCG(1), MRR(3)])
    assert result["ndcg@1"] == 0
    assert result["mrr@3"] == 0.5
    assert result.ties["mrr@3"]["mean_best"] == 0.5
    # -0.0 equals 0.0.
    assert evaluate_scores(scores, [[0, 0, 1, 0]], metrics="recall@3")["recall@3"] == 0.5
