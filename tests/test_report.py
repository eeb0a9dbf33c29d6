"""The ranking report: populations, baselines, catalogue, ties of served lists, values, inputs."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import oracle
from rankbound import (
    build_ranking_report,
    fit_comparability,
    transform_for_objective,
)

SCORES = [[0.9, 0.5, 0.5, 0.0], [0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.5, 0.5], [0.0, 1.0, 0.0, 0.0]]
DATES = np.array(["2023-01", "2024-01", "2025-01", "2026-01"], "M8[M]")


def accuracy(scores, truths, **options):
    """Report the scores as they are, without intervals."""
    return build_ranking_report(scores, truths, **{"n_resamples": 0, "eval_all_objectives": False} | options)


def block(report):
    return report["objectives"][report["primary_objective"]]


def micro(report):
    return block(report)["micro"]


def test_keys_and_counts():
    report = build_ranking_report(SCORES, [1, None, -1, 0], groups=["a", "a", "b", "b"], k=3)
    assert list(micro(report)) == ["hit@1", "hit@5", "hit@3", "mrr@3", "ndcg@3"]
    assert [report[name] for name in ("n_rows", "n_units", "n_unseen_truth", "n_no_truth", "n_classes")] == [
        3,
        2,
        1,
        1,
        4,
    ]
    assert report["protocol"]["population"] | {"rows_hash": ""} == {
        "n_rows": 3,
        "n_rows_given": 4,
        "n_eval_groups": 3,
        "n_units": 2,
        "n_classes_macro": 2,
        "min_support": 1,
        "median_support": 1.0,
        "n_unseen_truth": 1,
        "n_masked_truth": 0,
        "n_no_truth": 1,
        "rows_hash": "",
        "weights": None,
        "unit_kind": "group",
    }
    assert list(report["objectives"]) == ["accuracy", "balanced", "coverage"]
    assert report["primary_score"] == {"metric": "ndcg@3", "value": micro(report)["ndcg@3"]}
    assert report["schema_version"] == 3


@pytest.mark.parametrize("k", [1, 5])
def test_repeated_cut_offs_collapse(k):
    assert list(micro(accuracy(SCORES, [1, 2, 3, 0], k=k))) == ["hit@1", "hit@5", f"mrr@{k}", f"ndcg@{k}"]


@pytest.mark.parametrize("primary_metric", ["hit", "mrr", "ndcg"])
def test_primary_score(primary_metric):
    report = build_ranking_report(
        SCORES, [1, 2, 3, 0], k=2, primary_metric=primary_metric, primary_objective="coverage", y_train=[0, 1, 2, 3, 3]
    )
    key = f"{primary_metric}@2"
    assert report["primary_score"] == {"metric": key, "value": report["objectives"]["coverage"]["micro"][key]}
    assert report["uncertainty"]["model"][key]["estimate"] == report["primary_score"]["value"]


def test_a_cut_off_beyond_the_classes_is_legal():
    report = accuracy(SCORES, [1, 2, 3, 0], k=9)
    assert micro(report)["hit@9"] == 1
    assert report["ties"]["share_of_rows_tied_at_cut"] == 0
    assert block(report)["macro"]["catalog_coverage"] == 1


@pytest.mark.parametrize("missing", [None, math.nan, np.nan, pd.NA, pd.NaT])
def test_rows_without_truth_are_left_out_and_counted(missing):
    report = accuracy(SCORES, [1, missing, 3, missing])
    assert report["n_no_truth"] == 2
    assert repr(report["objectives"]) == repr(accuracy([SCORES[0], SCORES[2]], [1, 3])["objectives"])


def test_misses_and_dropped_rows_convert():
    truths = [1, -1, 3, -1, 0, 2, -1]
    scores = np.random.default_rng(0).integers(0, 4, (7, 5))
    miss, drop = (accuracy(scores, truths, k=2, unseen=unseen) for unseen in ("miss", "drop"))
    assert (miss["n_rows"], drop["n_rows"], miss["n_unseen_truth"], drop["n_unseen_truth"]) == (7, 4, 3, 3)
    for key, mean_drop in micro(drop).items():
        assert micro(miss)[key] == pytest.approx(mean_drop * (7 - 3) / 7, rel=1e-15)
    assert micro(miss)["hit@1"] == oracle.measure(scores.tolist(), [1, None, 3, None, 0, 2, None], 2)["micro"]["hit@1"]


def test_an_unseen_class_with_a_name_has_a_recall_of_0():
    options = {"classes": ["a", "b", "c", "d"], "k": 1}
    scores = [[3, 2, 1, 0], [3, 2, 1, 0], [3, 2, 1, 0], [3, 2, 1, 0]]
    truths = ["a", "b", "x", "y"]
    miss = accuracy(scores, truths, **options)
    assert block(miss)["macro"]["macro_recall@1"] == 0.25
    assert miss["protocol"]["catalogue"]["macro_scope"] == "all"
    # Dropped rows leave the classes that have a column.
    drop = accuracy(scores, truths, unseen="drop", **options)
    assert block(drop)["macro"]["macro_recall@1"] == 0.5
    assert drop["protocol"]["catalogue"]["macro_scope"] == "modelled"
    # Without names nobody knows how many classes are unseen.
    anonymous = accuracy(scores, [0, 1, -1, -1], k=1)
    assert block(anonymous)["macro"]["macro_recall@1"] == 0.5
    assert anonymous["protocol"]["catalogue"]["macro_scope"] == "modelled"


def test_every_truth_unseen():
    report = accuracy(SCORES, ["x"] * 4, classes=list("abcd"))
    assert set(micro(report).values()) == {0.0}
    assert math.isnan(report["ties"]["mean_tie_width"])
    assert any("every truth is unseen" in warning for warning in report["warnings"])


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (["b", "a", "d", "c"], ["a", "d", "?", None]),
        ([20, 10, 40, 30], [10, 40, -7, None]),
        ([20, 10, 40, 30], [10.0, 40.0, -7.0, math.nan]),
        ([b"b", b"a", b"d", b"c"], [b"a", b"d", b"?", None]),
        (DATES[[1, 0, 3, 2]], np.array([*DATES[[0, 3]], "1999-01", "NaT"], "M8[M]")),
    ],
)
def test_labels_are_indices_with_names(classes, labels):
    by_index = build_ranking_report(SCORES, [1, 2, -1, None], y_train=[1, 1, 2, 3, -1, None], k=2)
    train = [labels[3] if place is None else [*classes, labels[2]][place] for place in (1, 1, 2, 3, -1, None)]
    if isinstance(labels, np.ndarray):
        train = np.array(train, labels.dtype)
    by_name = build_ranking_report(SCORES, labels, classes=classes, y_train=train, k=2)
    # The macro recall alone differs: the unseen class has a name.
    for name in ("ties", "primary_score", "n_unseen_truth", "n_no_truth", "warnings", "uncertainty"):
        assert repr(by_name[name]) == repr(by_index[name])
    for name, families in by_index["objectives"].items():
        assert by_name["objectives"][name]["micro"] == families["micro"]
    assert by_name["baselines"]["global_pop"]["micro"] == by_index["baselines"]["global_pop"]["micro"]
    assert by_index["warnings"][0].startswith("y_train: 1 labels belong to no class")


def test_an_excluded_truth_is_a_miss():
    exclude = np.zeros((4, 4), dtype=bool)
    exclude[0, 0] = exclude[0, 1] = exclude[3, 1] = True
    report = accuracy(SCORES, [1, 2, 3, 0], exclude=exclude, k=2)
    expected = oracle.measure(SCORES, [1, 2, 3, 0], 2, excluded=[{0, 1}, (), (), {1}])
    assert micro(report) == pytest.approx(expected["micro"], rel=1e-14)
    assert report["protocol"]["population"]["n_masked_truth"] == 1
    assert report["n_unseen_truth"] == 0
    assert "1 truths are excluded from their own row and count as misses" in report["warnings"]
    assert report["protocol"]["candidates"]["kind"] == "per_row"
    assert report["protocol"]["candidates"]["mask_hash"] is not None


# Baselines and chance


def test_baselines_are_reports_of_their_scores():
    rng = np.random.default_rng(2)
    scores, truths = rng.random((30, 6)), rng.integers(-1, 6, 30)
    y_train, train_segments = rng.integers(0, 5, 50), rng.choice(["a", "b"], 50)
    segments = rng.choice(["a", "b", "new"], 30)
    exclude = rng.random((30, 6)) < 0.2
    shared = {
        "y_train": y_train,
        "exclude": exclude,
        "k": 3,
        "groups": rng.integers(0, 9, 30),
        "class_values": range(6),
    }
    report = build_ranking_report(
        scores, truths, segments=segments, train_segments=train_segments, primary_objective="coverage", **shared
    )
    counts = np.array([(y_train == column).sum() for column in range(6)])
    by_segment = {
        name: np.array([((y_train == column) & (train_segments == name)).sum() for column in range(6)]) for name in "ab"
    }
    rankings = {
        "global_pop": np.tile(counts, (30, 1)),
        "segment_pop": np.array([by_segment.get(name, counts) for name in segments]),
    }
    assert list(report["baselines"]) == list(rankings)
    for name, ranking in rankings.items():
        alone = build_ranking_report(ranking, truths, eval_all_objectives=False, **shared)
        assert repr(report["baselines"][name]) == repr(block(alone))
        assert report["uncertainty"]["baselines"][name]["metrics"] == alone["uncertainty"]["model"]
    share = np.mean(segments == "new")
    assert (
        f"segments: {share:.1%} of the lists have a segment without training data (global_pop used)"
        in report["warnings"]
    )


def test_popularity_instead_of_training_labels():
    by_labels = accuracy(SCORES, [1, 2, 3, 0], y_train=[0, 0, 1, 2, 2], k=2)
    by_popularity = accuracy(SCORES, [1, 2, 3, 0], popularity=[2, 1, 2, 0], k=2)
    assert repr(by_popularity["baselines"]) == repr(by_labels["baselines"])
    assert repr(by_popularity["objectives"]) == repr(by_labels["objectives"])
    assert by_popularity["protocol"]["catalogue"]["tail"]["source"] == "popularity"
    # Popularity gives no rates: the discount would be in-sample.
    report = build_ranking_report(SCORES, [1, 2, 3, 0], popularity=[2, 1, 2, 0])
    assert report["protocol"]["transform"]["state_fitted_on"] == "evaluation"
    assert any("base rates were fitted on the graded labels" in warning for warning in report["warnings"])


def test_example_of_popularity_and_chance():
    report = accuracy([[0.0, 1.0, 2.0, 3.0]], [2], popularity=[5, 3, 3, 1], k=3)
    floor, chance = report["baselines"]["global_pop"]["micro"], report["chance"]["micro"]
    assert (floor["hit@1"], floor["mrr@3"]) == (0, pytest.approx(5 / 12, rel=1e-15))
    assert chance["mrr@3"] == pytest.approx(11 / 24, rel=1e-15)
    assert accuracy([[0.0, 1.0, 2.0, 3.0]], [2], popularity=[5, 3, 3, 1], k=2)["chance"]["micro"]["hit@2"] == 0.5


def test_chance_ranks_each_rows_candidates():
    exclude = np.array([[True, False, False, False], [True, True, True, False]])
    report = accuracy(SCORES[:2], [1, 3], exclude=exclude, k=2)
    assert report["chance"]["micro"]["hit@1"] == pytest.approx((1 / 3 + 1) / 2, rel=1e-15)
    assert report["chance"]["macro"]["catalog_coverage"] == pytest.approx((0 + 2 / 3 + 2 / 3 + 1) / 4, rel=1e-15)


def test_without_training_data():
    report = build_ranking_report(SCORES, [1, 2, 3, 0])
    assert report["baselines"] == report["uncertainty"]["baselines"] == {}
    assert report["protocol"]["catalogue"]["tail"]["source"] == "evaluation"
    assert report["protocol"]["transform"]["state_fitted_on"] == "evaluation"
    assert [warning.split(":")[0] for warning in report["warnings"]][1:] == [
        "tail_hit",
        "base rates were fitted on the graded labels, in-sample; pass y_train or a state",
    ]
    assert report["warnings"][0].startswith("there is no baseline")
    assert "state_hash" in report["protocol"]["transform"]
    plain = accuracy(SCORES, [1, 2, 3, 0])
    assert plain["protocol"]["transform"]["state_hash"] is None


# Objectives


def test_discount_and_shrinkage_apply_to_the_primary_block_alone():
    rng = np.random.default_rng(5)
    scores, truths, y_train = rng.random((50, 9)), rng.integers(0, 9, 50), rng.integers(0, 9, 70) // 2
    options = {"y_train": y_train, "k": 3, "primary_objective": "balanced"}
    plain = build_ranking_report(scores, truths, **options)
    tuned = build_ranking_report(scores, truths, popularity_discount=2.0, shrinkage_strength=20, **options)
    for name in ("accuracy", "coverage"):
        assert tuned["objectives"][name] == plain["objectives"][name]
    assert tuned["objectives"]["balanced"] != plain["objectives"]["balanced"]
    assert tuned["baselines"] == plain["baselines"]
    assert tuned["objective_alpha"] == {"accuracy": 0.0, "balanced": 2.0, "coverage": 1.0}


def test_rates_come_from_the_state_then_the_training_labels():
    rng = np.random.default_rng(6)
    scores, truths, y_train = rng.random((40, 5)), rng.integers(0, 5, 40), rng.integers(0, 4, 90) // 2
    state = fit_comparability(y_train, n_classes=5, fitted_on="calibration")
    by_state = build_ranking_report(scores, truths, state=state)
    by_labels = build_ranking_report(scores, truths, y_train=y_train)
    for name, families in by_state["objectives"].items():
        # Without labels there is no popularity baseline to be serendipitous against.
        catalogue = dict(by_labels["objectives"][name]["catalogue"])
        del catalogue["serendipity"]
        assert repr(families) == repr(by_labels["objectives"][name] | {"catalogue": catalogue})
    assert by_state["protocol"]["transform"]["state_fitted_on"] == "calibration"
    assert by_labels["protocol"]["transform"]["state_fitted_on"] == "train"
    assert by_state["protocol"]["catalogue"]["tail"]["source"] == "state"
    in_sample = build_ranking_report(scores, truths)
    own = fit_comparability(truths, n_classes=5)
    assert repr(in_sample["objectives"]) == repr(build_ranking_report(scores, truths, state=own)["objectives"])


def test_shrinkage_without_a_state_keeps_dead_columns_at_0():
    scores = np.array([[0.0, 0.3, 0.0001], [0.0, 0.2, 0.4]])
    y_train = [0] * 8 + [1, 2]
    report = build_ranking_report(scores, [1, 2], y_train=y_train, shrinkage_strength=50, k=1, n_resamples=0)
    state = fit_comparability([0, 0], scores)
    assert state.dead.tolist() == [True, False, False]
    pi, z = 0.1, 1 / 51
    expected = [[0.0, pi + z * (0.3 - pi), pi + z * (0.0001 - pi)], [0.0, pi + z * (0.2 - pi), pi + z * (0.4 - pi)]]
    assert (
        report["objectives"]["accuracy"]["micro"] == accuracy(expected, [1, 2], k=1)["objectives"]["accuracy"]["micro"]
    )


def test_percentiles_without_a_state_are_those_of_the_graded_scores():
    rng = np.random.default_rng(8)
    scores, truths, y_train = rng.normal(size=(30, 4)), rng.integers(0, 4, 30), rng.integers(0, 4, 9)
    report = build_ranking_report(
        scores, truths, y_train=y_train, objectives=["accuracy", "coverage"], percentile_objectives=["coverage"], k=2
    )
    percentiles = np.array(
        [
            [
                float(Fraction(2 * (column < value).sum().item() + (column == value).sum().item(), 60))
                for value in column
            ]
            for column in scores.T
        ]
    ).T
    expected = accuracy(percentiles, truths, k=2)
    assert report["objectives"]["coverage"]["micro"] == block(expected)["micro"]
    assert report["objective_alpha"] == {"accuracy": 0.0, "coverage": None}
    assert any("percentiles were fitted on the graded scores" in warning for warning in report["warnings"])


# Catalogue and tail


def test_example_of_the_catalogue():
    report = accuracy([[3, 2, 2, 1], [0, 0, 0, 0], [1, 5, 1, 1]], [0, 0, 0], k=2)
    macro = block(report)["macro"]
    assert macro["catalog_coverage"] == pytest.approx(7 / 8, rel=1e-15)
    assert macro["recommendation_gini"] == pytest.approx(1 / 6, rel=1e-14)
    assert macro["recommendation_entropy"] == pytest.approx(1.3368953358492415, rel=1e-14)
    assert report["ties"]["share_of_rows_tied_at_cut"] == 1


def test_example_of_macro_recall():
    report = accuracy([[2, 1, 0], [2, 1, 0], [1, 2, 0], [2, 0, 1]], [0, 0, 0, 1], k=1)
    assert micro(report)["hit@1"] == 0.5
    assert block(report)["macro"]["macro_recall@1"] == pytest.approx((2 / 3 + 0) / 2, rel=1e-15)
    report = accuracy([[2, 1], [2, 1], [1, 2], [1, 2], [2, 1]], [0, 0, 0, 0, 1], k=1)
    assert block(report)["macro"]["macro_recall@1"] == 0.25


@pytest.mark.parametrize(
    ("counts", "mass", "tail"),
    [
        ([50, 30, 10, 5, 5], 0.2, {2, 3, 4}),
        ([50, 28, 11, 11], 0.2, set()),
        ([5, 10, 50, 5, 30], 0.2, {0, 1, 3}),
        ([8, 2, 0, 0], 0.0, {2, 3}),
        ([8, 2, 0, 0], 0.2, {1, 2, 3}),
        ([8, 2, 0, 0], 0.19, {2, 3}),
        ([12, 1, 1, 1], 0.2, {1, 2, 3}),
        ([3, 3, 3], 1.0, {0, 1, 2}),
        # In floats 0.29 * 100 is below 29.
        ([71, 29], 0.29, {1}),
        ([0.6, 0.3, 0.1], 0.1, {2}),
        ([0.6, 0.3, 0.1], 0.4, {1, 2}),
        ([0.6, 0.3, 0.1], 0.39, {2}),
    ],
)
def test_the_tail(counts, mass, tail):
    n_classes = len(counts)
    scores = np.eye(n_classes)
    for column in range(n_classes):
        report = accuracy(scores, [column] * n_classes, popularity=counts, tail_mass=mass, k=1)
        found = block(report)["macro"]["tail_hit@1"]
        assert found == pytest.approx(1 / n_classes if column in tail else math.nan, nan_ok=True)
    assert report["protocol"]["catalogue"]["tail"]["n_classes"] == len(tail)
    if all(float(count).is_integer() for count in counts):
        assert oracle.tail(counts, mass) == tail


def test_an_empty_tail_is_null_in_the_file():
    report = accuracy(np.eye(4), range(4), popularity=[50, 28, 11, 11], k=2)
    assert '"tail_hit@2": null' in report.to_json()


# Served lists


def test_truths_of_a_served_list_share_its_order():
    scores = [[0.5, 0.5, 0.5, 0.1]] * 3 + [[1.0, 0.0, 0.0, 0.0]]
    truths, names = [0, 1, -1, 2], ["x", "x", "x", "y"]
    report = accuracy(scores, truths, list_ids=names, k=2)
    expected = oracle.measure(scores, [0, 1, None, 2], 2, served=names)
    for key, spread in report["ties"].items():
        assert spread == pytest.approx(expected["ties"][key], rel=1e-13)
    assert block(report)["macro"] == pytest.approx(expected["macro"], rel=1e-13, nan_ok=True)
    assert report["protocol"]["catalogue"]["exposure_unit"] == "list_id"
    assert report["protocol"]["population"]["n_eval_groups"] == 2
    # Only one of two tied truths can come first.
    assert report["ties"]["hit@1"]["max"] == 0.25
    apart = accuracy(scores, truths, k=2)
    assert apart["ties"]["hit@1"]["max"] == 0.5
    assert micro(apart) == micro(report)
    assert apart["protocol"]["catalogue"]["exposure_unit"] == "row"


def test_a_served_list_counts_once_for_the_catalogue():
    scores = [[3, 2, 1]] * 3 + [[1, 2, 3]]
    once = accuracy(scores, [0, 1, 2, 0], list_ids=[7, 7, 7, 8], k=1)
    assert block(once)["macro"]["recommendation_gini"] == pytest.approx(1 / 3, rel=1e-15)
    assert block(once)["macro"]["recommendation_entropy"] == pytest.approx(math.log(2), rel=1e-15)
    each = accuracy(scores, [0, 1, 2, 0], k=1)
    assert block(each)["macro"]["recommendation_gini"] == pytest.approx(0.5, rel=1e-15)
    for name in ("chance", "baselines"):
        report = accuracy(scores, [0, 1, 2, 0], list_ids=[7, 7, 7, 8], k=1, popularity=[3, 2, 1])
        families = report[name]["global_pop"] if name == "baselines" else report[name]
        coverage = {"chance": 1 - (2 / 3) ** 2, "baselines": 1 / 3}[name]
        assert families["macro"]["catalog_coverage"] == pytest.approx(coverage, rel=1e-15)


def test_the_first_graded_row_of_a_served_list_stands_for_it():
    scores = [[3, 2, 1], [3, 2, 1]]
    report = accuracy(scores, [None, 1], list_ids=[0, 0], k=1)
    assert block(report)["macro"]["catalog_coverage"] == pytest.approx(1 / 3)
    # A row that is not graded may differ.
    assert accuracy([[1, 2, 3], [3, 2, 1]], [None, 1], list_ids=[0, 0], k=1)["n_rows"] == 1


# Values


def test_captured_value():
    scores = [[3, 2, 1], [1, 1, 1], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    report = accuracy(scores, [0, 1, 0, 2, -1], class_values=[10.0, 4.0, -3.0], k=2)
    value = block(report)["value"]
    captured = Fraction(10) + Fraction(2, 3) * 4
    assert value["value@2"] == pytest.approx(float(captured), rel=1e-15)
    assert value["value_share@2"] == pytest.approx(float(captured / 24), rel=1e-15)
    assert "value" in report["chance"]
    assert report["chance"]["value"]["value@2"] == pytest.approx(2 / 3 * (10 + 4 + 10 - 3), rel=1e-15)
    assert "value" not in block(accuracy(scores, [0, 1, 0, 2, -1]))
    worthless = accuracy(scores, [2, 2, 2, 2, 2], class_values=[1, 1, -2], k=2)
    assert block(worthless)["value"]["value@2"] == pytest.approx(-2 * (2 / 3 + 1), rel=1e-15)
    assert math.isnan(block(worthless)["value"]["value_share@2"])


def test_a_transformed_report_is_reached_by_hand():
    state = fit_comparability([0] * 6 + [1] * 3 + [2], n_classes=4)
    scores = np.array(SCORES)
    by_hand = accuracy(scores / np.maximum(state.base_rates, 0.1), [1, 2, 3, 0], k=2)
    report = build_ranking_report(scores, [1, 2, 3, 0], state=state, k=2, n_resamples=0)
    assert report["objectives"]["coverage"]["micro"] == micro(by_hand)
    assert transform_for_objective(scores, "coverage", state=state)[0, 0] == 0.9 / 0.6
