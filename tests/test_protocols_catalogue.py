"""What the graded lists of both protocols show of their items, by hand."""

import numpy as np
import pytest

from rankbound import errors
from rankbound.catalogue import AverageRecommendationPopularity, Novelty, Serendipity, TailHit
from rankbound.protocols import ltr_lists, recommendation_lists

# Training until day 3: of the catalogue v, x, y, z ann has seen x and y, bob v and y. Bob's truth w is unseen.
VISITS = {
    "entity": ["ann", "ann", "bob", "bob", "cem", "ann", "ann", "bob", "dan"],
    "item": ["x", "y", "y", "v", "z", "z", "v", "w", "x"],
    "label": [1, 1, 1, 1, 1, 3, 1, 1, 1],
    "day": [1, 1, 2, 3, 3, 4, 5, 4, 6],
}
SCORES = {"ann": [0.5, 0.9, 0.9, 0.5], "bob": [0.1, 0.2, 0.3, 0.4], "dan": [0.4, 0.4, 0.4, 0.4]}

# Of the catalogue a, b, c, d every entity has candidates of its own.
SHOWN = {
    "entity": ["ann"] * 3 + ["bob"] * 2 + ["cem"] * 4 + ["dan"] * 2,
    "item": ["a", "b", "c", "a", "d", "a", "b", "c", "d", "b", "c"],
    "label": [1, 0, 1, 0, 1, 0, 2, 0, 1, 1, 0],
    "estimate": [5, 9, 5, 1, 1, 8, 8, 8, 2, 3, 1],
}


def visited(table=VISITS, **options):
    calls = []

    def score(entities, _items):
        calls.extend(entities.tolist())
        return np.array([SCORES[entity] for entity in entities.tolist()])

    lists = recommendation_lists(table, score, **{"timestamp": "day", "split_at": 4, "truth": "set"} | options)
    return lists, calls


def shown(table=SHOWN, **options):
    return ltr_lists(table, "estimate", **{"test_share": None, "truth": "set"} | options)


def near(expected):
    return pytest.approx(expected, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("batch_size", [1, 2, 1024])
def test_what_lists_over_a_catalogue_show(batch_size):
    """The first place: v or z of ann, z of bob, any of dan."""
    lists, calls = visited()
    metrics = ["catalog_coverage@1", AverageRecommendationPopularity(1, counts=[4, 3, 2, 1])]
    result = lists.evaluate(metrics, batch_size=batch_size)
    assert result["catalog_coverage@1"] == near((5 / 8 + 1 / 4 + 1 / 4 + 1) / 4)
    assert result.per_user["average_recommendation_popularity@1"].tolist() == [2.5, 1, 2.5]
    assert result.protocol["catalogue"]["average_recommendation_popularity@1"]["scale"] == "counts"
    # No list is scored twice.
    assert calls == ["ann", "bob", "dan"]


def test_relevant_items_of_lists_over_a_catalogue():
    """Of ann, v (1) and z (3) are relevant, and popularity shows v, since x and y are no candidates; of dan x."""
    lists, _ = visited(unseen="drop")
    popularity = [4, 3, 2, 1]
    metrics = [
        "macro_recall@1",
        "expected_exposure@1",
        Serendipity(1, popularity=popularity),
        TailHit(1, counts=popularity, tail_mass=0.6),
    ]
    result = lists.evaluate(metrics)
    assert result["macro_recall@1"] == near((1 / 2 + 1 / 2 + 1 / 4) / 3)
    assert result["serendipity@1"] == (1 / 2 + 1 / 4) / 2
    # The tail are x, y and z.
    assert result["tail_hit@1"] == (1 / 2 + 1 / 4) / 2
    parts = [result[f"expected_exposure_{part}@1"] for part in ("loss", "disparity", "relevance")]
    assert parts == [(1 / 2 + 3 / 4) / 2, (1 / 2 + 1 / 4) / 2, (1 / 2 + 1 / 4) / 2]


def test_a_relevant_item_that_is_no_candidate_is_missed():
    """Ann met y before, so that nobody shows it; v, z and x as above."""
    table = {name: [*column[:7], column[8]] for name, column in VISITS.items()}
    more = {"entity": "ann", "item": "y", "label": 1, "day": 5}
    lists, _ = visited({name: [*column, more[name]] for name, column in table.items()})
    assert lists.evaluate("macro_recall@1")["macro_recall@1"] == near((1 / 2 + 1 / 2 + 0 + 1 / 4) / 4)


@pytest.mark.parametrize("batch_size", [1, 3, 1024])
def test_what_lists_of_candidates_show(batch_size):
    """The first place: b of ann; a or d of bob; a, b or c of cem; b of dan, of whom popularity shows b too."""
    metrics = [
        "catalog_coverage@1",
        "expected_exposure@1",
        AverageRecommendationPopularity(1, counts=[1, 2, 3, 4]),
        Serendipity(1, popularity=[4, 3, 2, 1]),
    ]
    result = shown().evaluate(metrics, batch_size=batch_size)
    assert result["catalog_coverage@1"] == near((2 / 3 + 1 + 1 / 3 + 1 / 2) / 4)
    assert result["average_recommendation_popularity@1"] == (2 + 2.5 + 2 + 2) / 4
    assert result.per_user["serendipity@1"] == near([0, 1 / 2, 1 / 3, 0])
    assert result.per_user["expected_exposure_loss@1"] == near([3 / 2, 1 / 2, 2 / 3, 0])
    assert result.per_user["expected_exposure_disparity@1"] == near([1, 1 / 2, 1 / 3, 1])
    assert result.per_user["expected_exposure_relevance@1"] == near([0, 1 / 2, 1 / 3, 1])


def test_nobody_shows_what_is_no_candidate():
    """Dan has two candidates: the one that is not relevant is due all that the second rank gives, and gets it."""
    result = shown().evaluate("expected_exposure@2")
    assert result.per_user["expected_exposure_loss@2"][3] == near(0)
    assert result.per_user["expected_exposure_disparity@2"][3] == near(1 + 1 / np.log2(3) ** 2)


def test_a_report_shows_the_same():
    for together, apart in (
        (visited()[0], visited(truth="per_truth")[0]),
        (shown(), shown(truth="per_truth")),
    ):
        keys = ["catalog_coverage", "recommendation_gini"]
        result = together.evaluate([f"{key}@2" for key in keys])
        macro = apart.report(k=2, n_resamples=0, eval_all_objectives=False)["objectives"]["accuracy"]["macro"]
        assert [result[f"{key}@2"] for key in keys] == near([macro[key] for key in keys])


def test_lists_that_are_graded_once_for_each_truth():
    once = r"'ann' for each of its truths.*truth='set', or use report\(\)"
    with pytest.raises(errors.InvalidParameterError, match=f"catalog_coverage@1.*{once}"):
        visited(truth="per_truth")[0].evaluate(["mrr@1", "catalog_coverage@1"])
    with pytest.raises(errors.InvalidParameterError, match=f"novelty@1.*{once}"):
        shown(truth="per_truth").evaluate(Novelty(1, counts=[1, 1, 1, 1]))
    # One truth per list.
    table = {name: np.array(column)[[0, 1, 3, 4, 9, 10]] for name, column in SHOWN.items()}
    found = shown(table, truth="per_truth").evaluate("catalog_coverage@1")
    assert found["catalog_coverage@1"] == near((1 / 2 + 1 + 0 + 1 / 2) / 4)


def test_truths_that_are_left_out_of_each_others_candidates():
    """Both lists of ann show b; those of cem show a, b or c, and a or c."""
    found = shown(truth="per_truth", other_truths="exclude").evaluate("catalog_coverage@1")
    of_a, of_c = 1 - 1 / 2 * 2 / 3 * 1 / 2, 1 - 2 / 3 * 1 / 2
    assert found["catalog_coverage@1"] == near((of_a + 1 + of_c + 1 / 2) / 4)


def test_what_is_not_in_the_catalogue():
    lists, _ = visited()
    unseen = "1 of them, such as item 'w'.*unseen='drop'"
    with pytest.raises(errors.InvalidParameterError, match=f"macro_recall@1.*{unseen}"):
        lists.evaluate(["catalog_coverage@1", "macro_recall@1"])
    with pytest.raises(errors.ShapeError, match="novelty@1 has data about 5 items, but the lists are over 4"):
        lists.evaluate(Novelty(1, counts=[1, 1, 1, 1, 1]))
