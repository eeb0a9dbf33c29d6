"""The worked examples of the methods, as fractions and hexadecimal floats."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rankbound import build_ranking_report, rank_of_truth, ranking_uncertainty

GOLDEN = json.loads((Path(__file__).parent / "data" / "golden.json").read_text(encoding="utf-8"))


def exact(number):
    """Return a golden number: a fraction, or a float in hexadecimal."""
    return float.fromhex(number["hex"]) if isinstance(number, dict) else float(Fraction(number))


def plain(scores, truths, k, **options):
    return build_ranking_report(scores, truths, k=k, n_resamples=0, eval_all_objectives=False, **options)


@pytest.mark.parametrize("case", GOLDEN["single_truth"], ids=lambda case: f"{case['b']}-{case['t']}-{case['k']}")
@pytest.mark.parametrize("n_worse", [0, 7])
def test_single_truth(case, n_worse):
    b, t, k = case["b"], case["t"], case["k"]
    scores = [[2] * b + [1] * t + [0] * n_worse]
    truth = [b + t // 2]
    report = plain(scores, truth, k)
    micro, ties = report["objectives"]["accuracy"]["micro"], report["ties"]
    assert micro[f"hit@{k}"] == exact(case["hit"])
    assert micro[f"mrr@{k}"] == pytest.approx(exact(case["rr"]), rel=4e-16)
    assert micro[f"ndcg@{k}"] == pytest.approx(exact(case["ndcg"]), rel=4e-16)
    assert ties[f"mrr@{k}"]["sd"] ** 2 == pytest.approx(exact(case["rr_var"]), rel=1e-13, abs=1e-16)
    assert (ties[f"hit@{k}"]["min"], ties[f"hit@{k}"]["max"]) == (case["hit_min"], case["hit_max"])
    assert (ties[f"mrr@{k}"]["min"], ties[f"mrr@{k}"]["max"]) == (exact(case["rr_min"]), exact(case["rr_max"]))
    assert rank_of_truth(scores, truth)[0] == exact(case["mean_rank"])
    assert ties["mean_tie_width"] == t


@pytest.mark.parametrize("case", GOLDEN["multi_relevance"], ids=lambda case: f"{case['groups']}@{case['k']}")
def test_truths_of_one_served_list(case):
    k, grades = case["k"], case["grades"]
    truths = [item for item, grade in enumerate(grades) if grade]
    n_relevant = len(truths)
    report = plain([case["scores"]] * n_relevant, truths, k, list_ids=[0] * n_relevant)
    micro, ties = report["objectives"]["accuracy"]["micro"], report["ties"]
    hits = n_relevant * micro[f"hit@{k}"]
    assert hits == pytest.approx(exact(case["hits"]), rel=4e-16)
    assert hits / k == pytest.approx(exact(case["precision"]), rel=4e-16)
    assert micro[f"hit@{k}"] == pytest.approx(exact(case["recall"]), rel=4e-16)
    assert (n_relevant * ties[f"hit@{k}"]["sd"]) ** 2 == pytest.approx(exact(case["hits_var"]), rel=1e-14)
    if set(grades) == {0, 1}:
        ideal = exact(case["dcg_linear"]) / exact(case["ndcg_linear"])
        assert n_relevant * micro[f"ndcg@{k}"] == pytest.approx(exact(case["dcg_linear"]), rel=1e-15)
        sd = n_relevant * ties[f"ndcg@{k}"]["sd"] / ideal
        assert sd == pytest.approx(exact(case["ndcg_sd_linear"]), rel=1e-13)


def spread_over_lists(sums, counts):
    """Return per-list values and units that have the sums and counts: the first list of a unit holds its sum."""
    counts = np.asarray(counts, dtype=int)
    units = np.repeat(np.arange(len(counts)), counts)
    values = np.zeros(len(units))
    values[np.cumsum(counts) - counts] = sums
    return values, units


def test_bootstrap():
    case = GOLDEN["bootstrap"]
    model, units = spread_over_lists(case["S"], case["N"])
    floor, _ = spread_over_lists(case["floor"], case["N"])
    options = {"groups": units, "seed": case["seed"]}
    found = ranking_uncertainty({"m": model}, {"f": {"m": floor}}, n_resamples=case["B"], **options)
    limits = found["model"]["m"]
    assert [limits["ci_low"], limits["ci_high"]] == list(map(exact, case["ci"]))
    assert limits["estimate"] == exact(case["theta"])
    difference = found["baselines"]["f"]["difference"]["m"]
    assert [difference["ci_low"], difference["ci_high"]] == list(map(exact, case["diff_ci"]))
    # A single resample is both limits.
    once = ranking_uncertainty({"m": model}, n_resamples=1, **options)["model"]["m"]
    assert once["ci_low"] == once["ci_high"] == exact(case["first5"][0])


def test_bootstrap_of_many_units():
    case = GOLDEN["bootstrap_601"]
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 5, size=601).astype(float)
    sums = rng.random(601) * counts
    values, units = spread_over_lists(sums, counts)
    limits = ranking_uncertainty({"m": values}, groups=units)["model"]["m"]
    assert [limits["ci_low"], limits["ci_high"]] == list(map(exact, case["ci"]))


@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_recommenders_of_krichene_and_rendle(name):
    case = GOLDEN["krichene_rendle_toy"][name]
    n_items, ranks = 10_000, case["ranks"]
    scores = np.broadcast_to(-np.arange(n_items), (len(ranks), n_items))
    report = plain(scores, np.array(ranks) - 1, n_items)
    micro = report["objectives"]["accuracy"]["micro"]
    assert micro[f"mrr@{n_items}"] == pytest.approx(case["exact"]["AP"], rel=1e-14)
    assert micro[f"ndcg@{n_items}"] == pytest.approx(case["exact"]["NDCG"], rel=1e-14)
    assert plain(scores, np.array(ranks) - 1, 10)["objectives"]["accuracy"]["micro"]["hit@10"] == case["exact"]["R10"]
    mean_rank = math.fsum(rank_of_truth(scores, np.array(ranks) - 1)) / len(ranks)
    assert (n_items - mean_rank) / (n_items - 1) == pytest.approx(case["exact"]["AUC"], rel=1e-14)
