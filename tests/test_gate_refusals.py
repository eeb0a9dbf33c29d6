"""What a gate and a comparison must not take for the same: other candidates, units, levels and data."""

from types import SimpleNamespace

import numpy as np
import pytest

from rankbound import build_ranking_report, compare_pair, errors, evaluate_embeddings, evaluate_scores
from rankbound.catalogue import CatalogCoverage, ExpectedExposure, IntraListDiversity, Novelty
from rankbound.gate import run_gate

N_LISTS, N_ITEMS = 60, 12
RNG = np.random.default_rng(11)
TRUTHS = RNG.integers(0, N_ITEMS, N_LISTS)
TARGETS = np.eye(N_ITEMS)[TRUTHS]
SCORES = RNG.random((N_LISTS, N_ITEMS)) + 0.2 * TARGETS
FEW, MANY = ((RNG.random(SCORES.shape) < share) & (TARGETS == 0) for share in (0.1, 0.7))


def regression(metric):
    return {"regression": [{"metric": metric, "max_drop": 0.0, "on_undecided": "fail"}]}


@pytest.mark.parametrize("form", ["exclude", "mask", "neg_inf", "embeddings"])
def test_lists_without_the_same_candidates_are_not_compared(form):
    def evaluate(missing):
        if form == "embeddings":
            vectors = np.eye(N_ITEMS, dtype=np.float32)
            return evaluate_embeddings(SCORES.astype(np.float32), vectors, TARGETS, metrics="mrr", exclude=missing)
        if form == "neg_inf":
            return evaluate_scores(np.where(missing, -np.inf, SCORES), TARGETS, metrics="mrr", mask_neg_inf=True)
        return evaluate_scores(SCORES, TARGETS, metrics="mrr", **{form: missing})

    few, many = evaluate(FEW), evaluate(MANY)
    with pytest.raises(errors.ComparisonError, match=r"candidates\.mask_hash"):
        compare_pair(few, many, "mrr")
    gate = run_gate(many, against=few, policy=regression("mrr"))
    assert gate.exit_code == 2
    assert "candidates.mask_hash" in gate.outcomes[0].reason
    assert compare_pair(few, evaluate(FEW.copy()), "mrr").difference == 0


def test_the_hash_of_what_is_excluded_does_not_depend_on_its_form(monkeypatch):
    sparse = pytest.importorskip("scipy.sparse").csr_array(FEW)
    monkeypatch.setattr("rankbound._exclusion._BLOCK_MARKS", 3 * N_ITEMS)
    monkeypatch.setattr("rankbound._validation._BLOCK_SCORES", 7 * N_ITEMS)
    masked, half = np.where(FEW, -np.inf, SCORES), np.arange(N_ITEMS) < N_ITEMS // 2
    forms = [
        evaluate_scores(scores, TARGETS, metrics="mrr", **options)
        for scores, options in [
            (SCORES, {"exclude": FEW}),
            (SCORES, {"exclude": sparse}),
            (SCORES, {"mask": FEW}),
            (SCORES, {"exclude": sparse, "mask": FEW}),
            (masked, {"mask_neg_inf": True}),
            (masked, {"mask_neg_inf": True, "exclude": sparse}),
            (np.where(FEW & half, -np.inf, SCORES), {"mask_neg_inf": True, "mask": FEW & ~half}),
        ]
    ]
    assert forms[0].protocol["candidates"]["mask_hash"] is not None
    for other in forms[1:]:
        assert other.protocol["candidates"] == forms[0].protocol["candidates"]
        assert other["mrr"] == forms[0]["mrr"]
    none = [{}, {"mask_neg_inf": True}, {"exclude": np.zeros_like(FEW)}]
    for options in none:
        candidates = evaluate_scores(SCORES, TARGETS, metrics="mrr", **options).protocol["candidates"]
        assert candidates == {"kind": "full", "n_items": N_ITEMS, "mask_hash": None}


def test_values_of_other_units_are_not_those_of_a_report(tmp_path):
    users = np.arange(N_LISTS) // 10
    build_ranking_report(SCORES, TRUTHS, k=3).per_unit.save(tmp_path / "new.units.npz")
    build_ranking_report(SCORES, TRUTHS, k=3, groups=users).to_json(tmp_path / "new.json")
    with pytest.raises(errors.FileFormatError, match="other lists, units or options"):
        run_gate(tmp_path / "new.json", policy={"floor": [{"metric": "mrr@3", "at_least": 0.0}]})
    # How intervals are made of the values is another matter.
    build_ranking_report(SCORES, TRUTHS, k=3, seed=1, confidence_level=0.9).to_json(tmp_path / "new.json")
    run_gate(tmp_path / "new.json", policy={"floor": [{"metric": "mrr@3", "at_least": 0.0}]})


DATA = {
    "value@3": [{"class_values": np.arange(1.0, N_ITEMS + 1) * factor} for factor in (1, 100)],
    "intra_list_diversity": [{"features": np.random.default_rng(seed).random((N_ITEMS, 3))} for seed in (0, 1)],
    "group_exposure[a]": [{"class_groups": list(groups)} for groups in ("aaabbbbbbbbb", "aaaaaaaaabbb")],
    "average_recommendation_popularity": [{"popularity": np.arange(1, N_ITEMS + 1) * factor} for factor in (1, 100)],
}


@pytest.mark.parametrize("metric", DATA)
def test_numbers_about_other_data_are_not_compared(metric):
    before, after = (build_ranking_report(SCORES, TRUTHS, k=3, n_resamples=0, **options) for options in DATA[metric])
    gate = run_gate(after, against=before, policy=regression(metric))
    assert gate.exit_code == 2
    assert "different protocols" in gate.outcomes[0].reason
    assert run_gate(after, against=after, policy=regression(metric)).exit_code == 0
    # It is about these numbers alone, and so is data that only one of them has.
    for other in ("catalog_coverage", "mrr@3"):
        assert run_gate(after, against=before, policy=regression(other)).exit_code == 0
    assert compare_pair(before, after, "mrr@3").difference == 0
    without = build_ranking_report(SCORES, TRUTHS, k=3, n_resamples=0)
    assert run_gate(after, against=without, policy=regression("catalog_coverage")).exit_code == (
        2 if metric == "average_recommendation_popularity" else 0
    )


@pytest.mark.parametrize("metric", ["novelty@3", "intra_list_diversity@3"])
def test_catalogue_metrics_of_evaluations_about_other_data_are_not_compared(metric):
    before, after = (
        evaluate_scores(
            SCORES,
            TARGETS,
            metrics=[
                "mrr",
                Novelty(3, counts=counts),
                IntraListDiversity(3, features=np.diag(counts)),
                CatalogCoverage(3),
            ],
        )
        for counts in (np.arange(1, N_ITEMS + 1), np.arange(2, N_ITEMS + 2) ** 2)
    )
    assert run_gate(after, against=before, policy=regression(metric)).exit_code == 2
    assert run_gate(before, against=before, policy=regression(metric)).exit_code == 0
    for other in ("mrr", "catalog_coverage@3"):
        assert run_gate(after, against=before, policy=regression(other)).exit_code == 0


def test_every_key_of_a_catalogue_metric_has_its_conventions():
    before, after = (
        evaluate_scores(SCORES, TARGETS, metrics=ExpectedExposure(3, weights="geometric", patience=patience))
        for patience in (0.5, 0.9)
    )
    (loss,) = [key for key in before.metrics if "loss" in key]
    assert run_gate(after, against=before, policy=regression(loss)).exit_code == 2
    assert run_gate(before, against=before, policy=regression(loss)).exit_code == 0


def test_intervals_and_verdicts_of_another_level_decide_nothing():
    report = build_ranking_report(SCORES, TRUTHS, k=3, y_train=TRUTHS, confidence_level=0.02)
    value = report["objectives"]["accuracy"]["micro"]["mrr@3"]
    floor = {"floor": [{"metric": "mrr@3", "at_least": value - 0.01}]}
    # The values per unit give an interval of the policy's level, which is wider.
    gate = run_gate(report, policy=floor)
    assert gate.exit_code == 1
    assert "at level 0.95 is undecided" in gate.outcomes[0].reason
    assert run_gate(report, policy=floor | {"confidence_level": 0.02}).exit_code == 0
    alone = type(report)(dict(report))
    verdict = {"verdict": [{"metric": "mrr@3"}]}
    for rule in (floor, verdict):
        gate = run_gate(alone, policy=rule)
        assert gate.exit_code == 2
        assert "of level 0.02, but the policy asks for 0.95" in gate.outcomes[0].reason


def test_an_empty_evaluation_cannot_be_judged():
    empty = evaluate_scores(SCORES[:5], np.zeros((5, N_ITEMS)), metrics="mrr")
    policy = {"min_units": 1, "floor": [{"metric": "mrr", "at_least": 0.1}]}
    for rules in (policy, {"min_units": 1}):
        gate = run_gate(empty, policy=rules)
        assert gate.exit_code == 2
        assert {outcome.status for outcome in gate.outcomes} == {"cannot_judge"}


@pytest.mark.parametrize("level", [0.9, 0.8, 0.95])
def test_a_p_value_at_the_level_is_significant(level):
    def model(values):
        ids = np.arange(len(values))
        return SimpleNamespace(per_user={"m": values}, sample_ids=ids, target_fingerprint="t", protocol={})

    # All resamples are less extreme: p = 1 / (n_resamples + 1).
    n_resamples = round(1 / (1 - level)) - 1
    gains = np.random.default_rng(0).uniform(0.5, 1.0, 40)
    pair = compare_pair(
        model(np.zeros(40)), model(gains), "m", n_resamples=n_resamples, confidence_level=level, num_threads=1
    )
    assert pair.p_value == 1 / (n_resamples + 1)
    assert pair.significant
    assert pair.direction == "better"
