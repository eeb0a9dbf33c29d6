"""Catalogue metrics beside the others in ``evaluate_*``."""

import numpy as np
import pytest

from rankbound import (
    EvaluationResult,
    RankedLists,
    catalogue,
    errors,
    evaluate_ranked_predictions,
    evaluate_recommender,
    evaluate_scores,
)

SCORES = np.array([[3, 2, 2, 1, 0], [0, 0, 0, 0, 0], [1, 5, 1, 1, 2], [4, 3, 2, 1, 0]])
TARGETS = np.array([[0, 1, 0, 1, 0], [1, 0, 0, 0, 2], [0, 0, 0, 0, 0], [0, 0, 1, 0, 0]])
SCORED = [0, 1, 3]
COUNTS = [9, 3, 2, 1, 1]
METRICS = [
    "recall@2",
    "catalog_coverage@2",
    "recommendation_gini@2",
    "macro_recall@2",
    catalogue.Novelty(2, counts=COUNTS),
    catalogue.Serendipity(2, popularity=COUNTS),
    catalogue.IntraListDiversity(2, metric=1 - np.eye(5)),
    catalogue.ExpectedExposure(2),
]


def test_values_are_those_of_the_functions_over_the_scored_rows():
    result = evaluate_scores(SCORES, TARGETS, metrics=METRICS)
    scores, targets = SCORES[SCORED], TARGETS[SCORED]
    assert result["catalog_coverage@2"] == catalogue.catalog_coverage(scores, 2)
    assert result["recommendation_gini@2"] == catalogue.recommendation_gini(scores, 2)
    assert result["macro_recall@2"] == catalogue.macro_recall(scores, targets, 2)
    assert result["novelty@2"] == catalogue.novelty(scores, 2, counts=COUNTS)
    assert result["serendipity@2"] == catalogue.serendipity(scores, targets, 2, popularity=COUNTS)
    assert result["intra_list_diversity@2"] == 1
    parts = catalogue.expected_exposure(scores, targets, 2)
    assert result["expected_exposure_loss@2"] == parts.loss
    assert result["expected_exposure_relevance@2"] == parts.relevance
    # Metrics of all lists together belong to none of them.
    assert "catalog_coverage@2" not in result.per_user
    assert result.per_user["novelty@2"].tolist() == [
        catalogue.novelty(SCORES[[row]], 2, counts=COUNTS) for row in SCORED
    ]
    assert set(result.ties) == {"recall@2", "catalog_coverage@2"}
    assert result.required_k == 2


def test_a_metric_is_absent_unless_it_is_asked_for():
    assert list(evaluate_scores(SCORES, TARGETS, metrics="recall@2").metrics) == ["recall@2"]


def test_catalogue_metrics_alone_are_enough():
    assert list(evaluate_scores(SCORES, TARGETS, metrics="catalog_coverage@1").metrics) == ["catalog_coverage@1"]


def test_without_scored_rows_nothing_is_defined():
    result = evaluate_scores(SCORES, np.zeros_like(TARGETS), metrics=METRICS)
    assert result.n_scored_rows == 0
    assert np.isnan(result["novelty@2"])
    assert np.isnan(result["recommendation_gini@2"])
    assert np.isnan(result["catalog_coverage@2"])


def test_masks_and_unseen_items():
    exclude = np.zeros(TARGETS.shape, dtype=bool)
    exclude[0, 1] = True
    found = {
        unseen: evaluate_scores(SCORES, TARGETS, metrics=["macro_recall@2"], exclude=exclude, unseen=unseen)
        for unseen in ("miss", "drop")
    }
    # Item 3 is shown in no list, 0 and 4 with probability 2/5, 2 never; 1 is relevant once, where it is excluded.
    assert found["miss"]["macro_recall@2"] == pytest.approx(0.8 / 5, rel=1e-15)
    assert found["drop"]["macro_recall@2"] == pytest.approx(0.8 / 4, rel=1e-15)


def test_slices_hold_what_has_a_value_per_list():
    slices = {
        "even": np.array([True, False, True, False]),
        "items": ("items", np.array([True, True, False, False, False])),
    }
    of_all = pytest.warns(errors.ReliabilityWarning, match="slices have no .*catalog_coverage@")
    of_items = pytest.warns(errors.ReliabilityWarning, match="slices of items, such as 'items', have no .*novelty@2")
    with of_all, of_items:
        result = evaluate_scores(SCORES, TARGETS, metrics=METRICS, slices=slices)
    even = result.slices["even"]
    assert even["novelty@2"] == catalogue.novelty(SCORES[:1], 2, counts=COUNTS)
    assert "catalog_coverage@2" not in even
    assert set(result.slices["items"]) == {"n_rows", "n_scored_rows", "recall@2"}
    # Groups of rows lack no value per list.
    evaluate_scores(SCORES, TARGETS, metrics=catalogue.Novelty(2, counts=COUNTS), slices={"even": slices["even"]})


def test_short_lists_have_no_diversity_and_do_not_spoil_the_others():
    lists = RankedLists([[0, 1], [2, 0]], lengths=[2, 1])
    targets = np.array([[1, 0, 0], [0, 0, 1]])
    metric = catalogue.IntraListDiversity(2, metric=1 - np.eye(3))
    result = evaluate_ranked_predictions(lists, targets, metrics=["recall@2", metric], slices={"all": np.ones(2, bool)})
    assert result["intra_list_diversity@2"] == 1
    assert result.slices["all"]["intra_list_diversity@2"] == 1
    np.testing.assert_array_equal(result.per_user["intra_list_diversity@2"], [1, np.nan])


def test_a_recommender_is_measured_batch_by_batch():
    class Constant:
        def predict_on_batch(self, source, *, k):
            return np.tile(np.arange(k), (len(source), 1))

    result = evaluate_recommender(
        Constant(), source=np.ones((4, 1)), targets=TARGETS, metrics=["recall@2", "catalog_coverage@2"], batch_size=2
    )
    assert result["catalog_coverage@2"] == 2 / 5


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_results_come_back_from_files(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    result = evaluate_scores(SCORES, TARGETS, metrics=METRICS)
    result.save(tmp_path / f"result{suffix}")
    loaded = EvaluationResult.load(tmp_path / f"result{suffix}")
    assert dict(loaded) == dict(result)
    assert {key: values.tolist() for key, values in loaded.per_user.items()} == {
        key: values.tolist() for key, values in result.per_user.items()
    }
    assert loaded.protocol == result.protocol


def test_the_protocol_names_data_and_conventions():
    protocol = evaluate_scores(SCORES, TARGETS, metrics=METRICS).protocol
    assert protocol["metrics"]["labels"][-1] == "expected_exposure@2"
    novelty = protocol["catalogue"]["novelty@2"]
    assert (novelty["q"], novelty["n_users"], novelty["n_floored"]) == ("interactions", None, 0)
    other = catalogue.Novelty(2, counts=[9, 3, 2, 1, 2])
    assert novelty["counts"] != other.protocol["counts"]
    assert protocol["truth"]["relevance"] == "graded"
    assert "catalogue" not in evaluate_scores(SCORES, TARGETS, metrics="recall@2").protocol


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("novelty@10", r"Novelty\(10, counts=\.\.\.\)"),
        ("serendipity@10", r"Serendipity\(10, popularity=\.\.\.\)"),
        ("intra_list_diversity", r"features=\.\.\."),
        ("catalog_coverage", "catalog_coverage@10"),
        ("catalog_coverage@a", "catalog_coverage@10"),
    ],
)
def test_labels_that_need_more_say_what(label, message):
    with pytest.raises(errors.InvalidParameterError, match=message):
        evaluate_scores(SCORES, TARGETS, metrics=[label])


def test_what_cannot_be_evaluated_is_refused():
    lists = RankedLists([[0, 1]] * 4)
    with pytest.raises(errors.InvalidKError, match="catalog_coverage@3"):
        evaluate_ranked_predictions(lists, TARGETS, metrics="catalog_coverage@3")
    with pytest.raises(errors.InvalidParameterError, match="bounds"):
        evaluate_ranked_predictions(lists, TARGETS, metrics="catalog_coverage@2", open_tie="bounds")
    with pytest.raises(errors.InvalidParameterError, match="key of two metrics"):
        evaluate_scores(SCORES, TARGETS, metrics=["catalog_coverage@2", catalogue.CatalogCoverage(2)])
    with pytest.raises(errors.ShapeError, match="novelty@2 has data about 4 items"):
        evaluate_scores(SCORES, TARGETS, metrics=catalogue.Novelty(2, counts=COUNTS[:4]))
    # No value of recall depends on the tie, but what is shown does.
    tied = RankedLists([[2, 0, 1]], [[2.0, 1.0, 1.0]])
    target = [[0, 0, 1, 0]]
    assert evaluate_ranked_predictions(tied, target, metrics="recall@2")["recall@2"] == 1
    with pytest.raises(errors.OpenTieError, match="top 2"):
        evaluate_ranked_predictions(tied, target, metrics="catalog_coverage@2")
