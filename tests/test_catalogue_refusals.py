"""What catalogue metrics refuse, and how they say it."""

import numpy as np
import pytest

from rankbound import RankedLists, catalogue, errors

SCORES = [[3.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
LISTS = RankedLists([[0, 1], [2, 0]], n_items=3)
SHOWN = catalogue.exposure(SCORES, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: catalogue.exposure(SCORES, 0), errors.InvalidKError, "at least 1"),
        (lambda: catalogue.catalog_coverage(SCORES), errors.InvalidKError, "k must be given"),
        (
            lambda: catalogue.CatalogueEvaluator("catalog_coverage@²"),
            errors.InvalidParameterError,
            "needs one cut-off, such as 'catalog_coverage@10'",
        ),
        (
            lambda: catalogue.catalog_coverage(SCORES, 2, exlude=1),
            errors.InvalidParameterError,
            "'exlude' is no option",
        ),
        (lambda: catalogue.catalog_coverage(SHOWN, 3), errors.InvalidKError, "top 2"),
        (lambda: catalogue.catalog_coverage(SHOWN, exclude=[]), errors.InvalidParameterError, "exclude"),
        (lambda: catalogue.catalog_coverage(SCORES, 2, catalog_size=2), errors.InvalidParameterError, "3 items"),
        (lambda: catalogue.exposure([1.0, 2.0], 1), errors.ShapeError, "two dimensions"),
        (
            lambda: catalogue.exposure([[1.0, np.nan]], 1),
            errors.NonFiniteScoreError,
            "recommendations has NaN at row 0, column 1",
        ),
        (lambda: catalogue.exposure(LISTS, 3), errors.InvalidKError, "lists of 2"),
        (lambda: catalogue.exposure(RankedLists([[0, 1]]), 2), errors.InvalidParameterError, "n_items"),
        (lambda: catalogue.exposure(LISTS, 2, n_items=4), errors.ShapeError, "n_items is 4"),
        (lambda: catalogue.exposure(LISTS, 2, mask_neg_inf=True), errors.InvalidParameterError, "for scores"),
        (lambda: catalogue.exposure(LISTS, 2, open_tie="bounds"), errors.InvalidParameterError, "open_tie"),
        (lambda: catalogue.exposure(RankedLists(np.empty((0, 2)), n_items=3), 2), errors.EmptyInputError, "no rows"),
        (
            lambda: catalogue.exposure(RankedLists([[0, 1]], [[1.0, 1.0]], n_items=3), 2),
            errors.OpenTieError,
            "list 0 ends within a tie that reaches into its top 2",
        ),
        (lambda: catalogue.exposure(RankedLists([[0, 0]], n_items=3), 2), errors.DuplicateItemError, "item 0"),
        (lambda: catalogue.exposure(RankedLists([[0, 3]], n_items=3), 2), errors.UnknownLabelError, "item 3"),
        (
            lambda: catalogue.exposure(RankedLists([[0, 1]], [[1.0, 2.0]], n_items=3), 2),
            errors.InvalidParameterError,
            "rise",
        ),
        (lambda: catalogue.exposure(SCORES, 2, weights="linear"), errors.InvalidParameterError, "weights"),
        (lambda: catalogue.exposure(SCORES, 2, weights="geometric"), errors.InvalidParameterError, "patience"),
        (lambda: catalogue.exposure(SCORES, 2, patience=0.5), errors.InvalidParameterError, "patience"),
        (
            lambda: catalogue.exposure(SCORES, 2, weights="geometric", patience=1.0),
            errors.InvalidParameterError,
            "between 0 and 1",
        ),
        (lambda: catalogue.group_exposure(SCORES, ["a", "b"], 2), errors.ShapeError, "2 labels"),
        (lambda: catalogue.group_exposure(SHOWN, ["a", "b"]), errors.ShapeError, "2 labels"),
        (lambda: catalogue.group_exposure(SHOWN, ["a", None, "b"]), errors.InvalidTypeError, "item 1"),
        (lambda: catalogue.group_exposure(SHOWN, [0, 0, 1], merit=[1, -1, 0]), errors.InvalidParameterError, "item 1"),
        (lambda: catalogue.group_exposure(SHOWN, [0, 0, 1], merit=[1, 0]), errors.ShapeError, "merit"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[1, 2]), errors.ShapeError, "2 items"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[0, 0, 0]), errors.InvalidParameterError, "every item"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[0.5, 0.25, 0.25]), errors.InvalidParameterError, "whole numbers"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[1, -1, 0]), errors.InvalidParameterError, "item 1"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[1, np.nan, 0]), errors.InvalidParameterError, "item 1"),
        (lambda: catalogue.novelty(SCORES, 2, counts=["a", "b", "c"]), errors.InvalidTypeError, "dtype"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[[1, 2, 3]]), errors.ShapeError, "one number per item"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[1, 2, 3], q="items"), errors.InvalidParameterError, "q"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[1, 2, 3], q="users"), errors.InvalidParameterError, "n_users"),
        (lambda: catalogue.novelty(SCORES, 2, counts=[1, 2, 3], n_users=4), errors.InvalidParameterError, "n_users"),
        (
            lambda: catalogue.novelty(SCORES, 2, counts=[1, 2, 3], q="users", n_users=2),
            errors.InvalidParameterError,
            "item 2",
        ),
        (
            lambda: catalogue.average_recommendation_popularity(SCORES, 2, counts=[1, 2, 3], scale="log"),
            errors.InvalidParameterError,
            "scale",
        ),
        (
            lambda: catalogue.tail_share(SCORES, 2, counts=[1, 2, 3], tail_mass=2),
            errors.InvalidParameterError,
            "tail_mass",
        ),
        (lambda: catalogue.intra_list_diversity(SCORES, 2), errors.InvalidParameterError, "features must be given"),
        (
            lambda: catalogue.intra_list_diversity(SCORES, 2, features=np.eye(3), metric="jaccard"),
            errors.InvalidParameterError,
            "cosine",
        ),
        (
            lambda: catalogue.intra_list_diversity(SCORES, 2, features=[[1, 0], [0, 0], [0, 1]]),
            errors.InvalidParameterError,
            "item 1",
        ),
        (
            lambda: catalogue.intra_list_diversity(SCORES, 2, features=[[1, 0], [np.inf, 0], [0, 1]]),
            errors.InvalidParameterError,
            r"\(1, 0\)",
        ),
        (
            lambda: catalogue.intra_list_diversity(SCORES, 2, features=[1, 2, 3]),
            errors.ShapeError,
            "one vector per item",
        ),
        (lambda: catalogue.intra_list_diversity(SCORES, 2, metric=np.ones((3, 2))), errors.ShapeError, "square"),
        (
            lambda: catalogue.intra_list_diversity(SCORES, 2, metric=[[0, 1, 1], [2, 0, 1], [1, 1, 0]]),
            errors.InvalidParameterError,
            "from item 0 to 1",
        ),
        (
            lambda: catalogue.intra_list_diversity(SCORES, 2, metric=-np.ones((3, 3))),
            errors.InvalidParameterError,
            "at least 0",
        ),
        (
            lambda: catalogue.intra_list_diversity(SCORES, 2, features=np.eye(3), metric=np.ones((3, 3))),
            errors.InvalidParameterError,
            "both given",
        ),
        (
            lambda: catalogue.intra_list_diversity(SCORES, 2, features=np.eye(3), metric=lambda _a, _b: "far"),
            errors.InvalidTypeError,
            "items 1 and 0",
        ),
        (
            lambda: catalogue.intra_list_diversity(SHOWN, 2, features=np.eye(3)),
            errors.InvalidTypeError,
            "does not tell the lists apart",
        ),
        (
            lambda: catalogue.serendipity(SCORES, np.eye(3), 2, popularity=[1, 2, 3]),
            errors.ShapeError,
            "3 rows, but there are 2 lists",
        ),
        (lambda: catalogue.serendipity(SCORES, np.eye(2), 2, popularity=[1, 2, 3]), errors.ShapeError, "has 2 items"),
        (lambda: catalogue.macro_recall(SCORES, None, 2), errors.InvalidTypeError, "macro_recall@2 needs targets"),
        (lambda: catalogue.expected_exposure(SCORES, np.eye(2, 3)), errors.InvalidKError, "k must be given"),
        (lambda: catalogue.expected_exposure(SHOWN, [1, 0]), errors.ShapeError, "2 grades"),
        (lambda: catalogue.expected_exposure(SHOWN, [0, 0, 0]), errors.InvalidParameterError, "no relevant item"),
        (lambda: catalogue.CatalogueEvaluator([]), errors.InvalidParameterError, "empty"),
        (lambda: catalogue.CatalogueEvaluator(3), errors.InvalidTypeError, "got 3"),
        (lambda: catalogue.CatalogueEvaluator(["ndcg@10"]), errors.InvalidTypeError, "ndcg@10"),
        (
            lambda: catalogue.CatalogueEvaluator(["macro_recall@2", catalogue.MacroRecall(2)]),
            errors.InvalidParameterError,
            "macro_recall@2",
        ),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_exposure_by_uneven_lists_has_no_mean_over_lists():
    uneven = catalogue.exposure(SCORES, 2, exclude=np.array([[False, True, True], [False, False, False]]))
    weighted = catalogue.exposure(SCORES, 2, weights="log2")
    for shown in (uneven, weighted):
        with pytest.raises(errors.InvalidParameterError, match="novelty@2"):
            catalogue.novelty(shown, counts=[1, 2, 3])


def test_nothing_added_is_nan():
    found = catalogue.CatalogueEvaluator(["catalog_coverage@2", "expected_exposure@2"]).compute()
    assert list(found) == [
        "catalog_coverage@2",
        "expected_exposure_loss@2",
        "expected_exposure_disparity@2",
        "expected_exposure_relevance@2",
    ]
    assert np.isnan(list(found.values())).all()
