"""What the making of graded lists refuses; the message names the column, the place and the value."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankbound import build_ranking_report
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    GradeError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
)
from rankbound.protocols import ltr_lists, recommendation_lists

TABLE = {
    "entity": ["ann", "ann", "bob", "bob", "ann", "bob"],
    "item": [1, 2, 2, 3, 3, 1],
    "label": [1, 0, 1, 1, 2, 1],
    "time": [1, 1, 2, 2, 3, 4],
    "estimate": [0.5, 0.25, 0.5, 0.25, 0.5, 0.125],
}
BY_TIME = {"timestamp": "time", "split_at": 3}


def replaced(column, row, value):
    return TABLE | {column: [value if at == row else old for at, old in enumerate(TABLE[column])]}


@pytest.mark.parametrize("make", [recommendation_lists, ltr_lists])
@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (replaced("entity", 3, None), InvalidTypeError, r"table\['entity'\] has no value at row 3"),
        (replaced("item", 2, None), InvalidTypeError, r"table\['item'\] has no value at row 2"),
        (replaced("item", 2, "x"), InvalidTypeError, r"table\['item'\] has 'x' \(str\) at position 2"),
        (replaced("label", 1, math.nan), InvalidTypeError, r"table\['label'\] has no value at row 1"),
        (replaced("label", 1, -1), GradeError, r"table\['label'\] has -1 at row 1: labels must be finite and at least"),
        (replaced("label", 1, math.inf), GradeError, r"table\['label'\] has inf at row 1"),
        (TABLE | {"label": list("abcdef")}, InvalidTypeError, r"table\['label'\] must hold numbers"),
        (replaced("time", 4, math.nan), InvalidTypeError, r"table\['time'\] has no value at row 4"),
        (replaced("time", 4, math.inf), InvalidParameterError, r"table\['time'\] has inf at row 4"),
        (TABLE | {"time": list("abcdef")}, InvalidTypeError, r"table\['time'\] must hold numbers or dates"),
        (TABLE | {"time": np.array(["NaT"] * 6, "M8[s]")}, InvalidTypeError, r"table\['time'\] has no value at row 0"),
        (TABLE | {"item": [1, 2]}, ShapeError, "columns of different lengths"),
        ({name: [] for name in TABLE}, EmptyInputError, "table has no rows"),
        ({"entity": ["a"]}, InvalidParameterError, "table has no column 'item', 'label'"),
        ([1, 2], InvalidTypeError, "table must be a mapping"),
        (pd.DataFrame(replaced("label", 1, None)), InvalidTypeError, r"table\['label'\] has no value at row 1"),
        (pl.DataFrame(replaced("time", 1, None)), InvalidTypeError, r"table\['time'\] has no value at row 1"),
    ],
)
def test_tables_that_are_wrong(make, table, error, message):
    with pytest.raises(error, match=message):
        make(table, **BY_TIME)


@pytest.mark.parametrize("make", [recommendation_lists, ltr_lists])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"truth": "last"}, InvalidParameterError, "truth must be one of 'per_truth', 'first', 'set', got 'last'"),
        ({"other_truths": "drop"}, InvalidParameterError, "other_truths must be one of"),
        ({"unseen": "keep"}, InvalidParameterError, "unseen must be one of"),
        ({"truth": "set", "other_truths": "exclude"}, InvalidParameterError, "no meaning with truth='set'"),
        ({"test_share": 0}, InvalidParameterError, "test_share must lie between 0 and 1, got 0"),
        ({"test_share": 1}, InvalidParameterError, "test_share must lie between 0 and 1, got 1"),
        ({"test_share": "half"}, InvalidTypeError, "test_share must be a number"),
        ({"seed": -1}, InvalidParameterError, "seed must be at least 0"),
        ({"timestamp": None}, InvalidParameterError, "split_at is 3, but the table has no timestamps"),
        ({"split_at": "soon"}, InvalidTypeError, "split_at must be a number"),
        ({"split_at": math.nan}, InvalidParameterError, "split_at must be finite"),
        (
            {"split_at": 5},
            EmptyInputError,
            "the test part is empty: split_at is 5, but the (last )?timestamps (of the lists )?go from",
        ),
        ({"split_at": 1}, EmptyInputError, "the training part is empty: split_at is 1"),
        ({"entity": 1}, InvalidTypeError, "entity must be the name of a column of table, got 1"),
        ({"entity": None}, InvalidTypeError, "entity must be the name of a column"),
        ({"entity": "item"}, InvalidParameterError, "the columns must differ"),
        ({"occasion": "visit"}, InvalidParameterError, "table has no column 'visit'"),
    ],
)
def test_options_that_are_wrong(make, options, error, message):
    with pytest.raises(error, match=message):
        make(TABLE, **(BY_TIME | options))


def test_a_part_that_is_empty():
    with pytest.raises(EmptyInputError, match=r"test_share=0\.2 of 2 entities is less than one"):
        recommendation_lists(TABLE)
    with pytest.raises(EmptyInputError, match=r"1 of 6 have the last timestamp, 4, more than test_share=0\.1"):
        recommendation_lists(TABLE, timestamp="time", test_share=0.1)
    with pytest.raises(EmptyInputError, match="no label above 0"):
        recommendation_lists(TABLE | {"label": [1, 1, 1, 1, 0, 0]}, **BY_TIME)
    seen_before = TABLE | {"item": [1, 2, 2, 3, 2, 3]}
    with pytest.raises(EmptyInputError, match="unseen='drop' leaves such truths out"):
        recommendation_lists(seen_before, **BY_TIME, unseen="drop")


def test_whole_lists_leave_a_part_empty():
    with pytest.raises(EmptyInputError, match="the last timestamps of the lists go from 3 to 4"):
        ltr_lists(TABLE, **BY_TIME)


def test_dates_are_split_at_dates():
    table = TABLE | {"time": np.datetime64("2024-01-01") + np.array(TABLE["time"])}
    with pytest.raises(InvalidTypeError, match="split_at must be a date, as the timestamps are, got 'soon'"):
        recommendation_lists(table, timestamp="time", split_at="soon")
    with pytest.raises(InvalidParameterError, match="split_at is not a time"):
        recommendation_lists(table, timestamp="time", split_at="NaT")


def test_an_item_twice_in_a_list():
    twice = {name: column + column[-1:] for name, column in TABLE.items()}
    for make, options in ((recommendation_lists, BY_TIME), (ltr_lists, {"test_share": None})):
        with pytest.raises(DuplicateItemError, match="table has item 1 of entity 'bob' at rows 5 and 6"):
            make(twice, **options)
    merged = recommendation_lists(twice, **BY_TIME, duplicates="merge")
    assert merged.protocol["population"]["n_merged_rows"] == 1
    with_visits = twice | {"visit": [0] * 7}
    with pytest.raises(DuplicateItemError, match="item 1 of entity 'bob', occasion 0 at rows 5 and 6"):
        recommendation_lists(with_visits, **BY_TIME, occasion="visit")
    # Apart in time, they are no duplicates: seen before.
    assert (
        recommendation_lists(TABLE | {"item": [1, 2, 2, 3, 1, 1]}, **BY_TIME).protocol["population"]["n_masked_truth"]
        == 1
    )


def test_a_list_without_candidates():
    table = {
        "entity": ["ann", "ann", "ann", "bob"],
        "item": [1, 2, 2, 1],
        "label": [1, 1, 1, 1],
        "time": [1, 1, 2, 2],
    }
    with pytest.raises(EmptyInputError, match="the list of item 2 of entity 'ann' has no candidates"):
        recommendation_lists(table, timestamp="time", split_at=2)
    assert len(recommendation_lists(table, timestamp="time", split_at=2, exclude_seen=False)) == 2


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (np.ones((2, 2)), ShapeError, r"returned shape \(2, 2\); it must return \(2, 3\): one row per entity"),
        (np.ones(6), ShapeError, "has 1 dimension"),
        (np.ones((2, 3), dtype=bool), InvalidTypeError, "booleans are decisions"),
        ([[1, 2, 3], [1, math.nan, 3]], NonFiniteScoreError, "returned nan for entity 'bob' and item 2"),
        ([[1, 2, 3], [1, 2, -math.inf]], NonFiniteScoreError, "returned -inf for entity 'bob' and item 3"),
    ],
)
def test_scores_of_a_catalogue(returned, error, message):
    lists = recommendation_lists(TABLE, lambda *_: returned, **BY_TIME)
    with pytest.raises(error, match=message):
        lists.evaluate("mrr@2")
    with pytest.raises(error, match=message):
        lists.report()


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (np.ones(5), ShapeError, r"returned shape \(5,\); it must return \(6,\): one score per candidate"),
        (["a"] * 6, InvalidTypeError, "dtype <U1; scores must be float16/32/64 or integers"),
        ([0, 0, 0, math.nan, 0, 0], NonFiniteScoreError, "has nan for item 1 at row 5 of the table"),
        ([0, 0, 0, 2**53 + 1, 0, 0], InvalidTypeError, r"beyond 2\^53"),
    ],
)
def test_scores_of_candidates(returned, error, message):
    lists = ltr_lists(TABLE, lambda _: returned, test_share=None)
    with pytest.raises(error, match=message):
        lists.evaluate("mrr@2")


def test_scores_of_a_column():
    with pytest.raises(NonFiniteScoreError, match="score has inf for item 3 at row 4 of the table"):
        ltr_lists(replaced("estimate", 4, math.inf), "estimate", test_share=None).evaluate("mrr@2")
    with pytest.raises(InvalidTypeError, match=r"table\['estimate'\] has no value at row 4"):
        ltr_lists(replaced("estimate", 4, math.nan), "estimate", test_share=None)
    with pytest.raises(InvalidParameterError, match="table has no column 'guess'"):
        ltr_lists(TABLE, "guess", test_share=None)


def test_ways_to_score():
    for make, options in ((recommendation_lists, BY_TIME), (ltr_lists, {"test_share": None})):
        with pytest.raises(InvalidTypeError, match="score must be a function of what is to be scored, got int"):
            make(TABLE, 3, **options)
        lists = make(TABLE, **options)
        with pytest.raises(InvalidParameterError, match="no scores yet"):
            lists.evaluate("mrr@2")
        with pytest.raises(InvalidTypeError, match="got ndarray"):
            lists.scored_by(np.ones(3))
    with pytest.raises(InvalidTypeError, match="got str"):
        recommendation_lists(TABLE, "estimate", **BY_TIME)

    def changing(entities, items):
        return np.ones((1, len(items)), dtype=np.float32 if entities[0] == "ann" else np.float64)

    lists = recommendation_lists(TABLE, changing, **BY_TIME)
    for use in (lambda: lists.evaluate("mrr@2", batch_size=1), lambda: lists.report(batch_size=1)):
        with pytest.raises(InvalidTypeError, match="float32 for one batch and float64 for another"):
            use()


def test_options_of_candidates():
    with pytest.raises(InvalidParameterError, match="max_candidates must be at least 1, got 0"):
        ltr_lists(TABLE, max_candidates=0)
    with pytest.raises(InvalidParameterError, match="max_candidates is 2, but a list has 3 candidates and there is no"):
        ltr_lists(TABLE, test_share=None, max_candidates=2)
    with pytest.raises(InvalidParameterError, match="leave out split_at, or give a share"):
        ltr_lists(TABLE, **BY_TIME, test_share=None)
    with pytest.raises(InvalidTypeError, match="without labels every candidate is a truth"):
        ltr_lists(TABLE, label=None)
    with pytest.raises(InvalidTypeError, match="exclude_seen must be True or False"):
        recommendation_lists(TABLE, exclude_seen="yes")
    with pytest.raises(InvalidParameterError, match="duplicates must be one of"):
        recommendation_lists(TABLE, duplicates="keep_first")


def test_reports_of_lists():
    whole = ltr_lists(TABLE, "estimate", test_share=None, truth="set")
    with pytest.raises(InvalidParameterError, match="a report grades one per list"):
        whole.report()
    with pytest.raises(InvalidParameterError, match="groups is set by the lists themselves"):
        ltr_lists(TABLE, "estimate", test_share=None).report(groups=[1])
    for protocol, error, message in (
        ([], InvalidTypeError, "protocol must be a mapping of sections"),
        ({"truth": 1}, InvalidTypeError, "protocol must be a mapping of sections"),
        ({"hash": {}}, InvalidParameterError, "protocol has the section 'hash'"),
    ):
        with pytest.raises(error, match=message):
            build_ranking_report([[0.5, 0.5]], [0], protocol=protocol)
