"""What a table of a run or of qrels cannot hold: refused by its place, whatever library holds it."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import compute

from rankbound import errors, evaluate_run, evaluate_scores
from rankbound.catalogue import Novelty

QRELS = {"a": {"x": 1}, "b": {"y": 1}}
NO_NUMBER = "it must hold numbers, each the "


class Capsule:
    """What nothing but the Arrow PyCapsule interface can read."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def listing(items, frame=pa.table):
    return frame({"query": ["a"] * len(items), "item": items, "score": np.arange(len(items), dtype=float)})


def scored(scores, frame=pa.table, column="score"):
    return frame({"query": ["a"] * len(scores), "item": [f"d{at}" for at in range(len(scores))], column: scores})


def refusal(run=QRELS, qrels=QRELS, *, error=errors.InvalidTypeError, **options):
    with pytest.raises(error) as refused:
        evaluate_run(run, qrels, metrics="mrr", **options)
    assert type(refused.value) is error
    return str(refused.value)


def encoded(values):
    """The dictionary itself has the null."""
    return compute.dictionary_encode(pa.array(values), null_encoding="encode")


@pytest.mark.parametrize(
    "items",
    [
        encoded(["x", None]),
        encoded([1, None]),
        pa.array(["x", None]).dictionary_encode(),
        pa.chunked_array([pa.array(["x"]).dictionary_encode(), encoded([None, "y"])]),
    ],
)
def test_a_null_in_a_dictionary_is_a_missing_id(items):
    assert refusal(listing(items)) == "run['item'] has no id at row 1; give every row one"
    qrels = listing(items).rename_columns(["query", "item", "label"])
    assert refusal(qrels=qrels) == "qrels['item'] has no id at row 1; give every row one"


@pytest.mark.parametrize("values", [[1.0, 2.0], [b"x", b"y"], [True, False], [(1, 2), (3, 4)], ["x", 1]])
@pytest.mark.parametrize("pyarrow", [True, False])
def test_categories_are_ids_of_the_kinds_that_columns_are(values, pyarrow, monkeypatch):
    if not pyarrow:
        monkeypatch.setattr("rankbound.evaluation.tables.find_spec", {}.get)
    plain = listing(pd.Series(values), pd.DataFrame)
    said = refusal(plain)
    assert "ids must be integers or strings" in said or "ids of both kinds, such as 1 and 'x'" in said
    assert refusal(listing(pd.Categorical(values), pd.DataFrame)) == said
    if not isinstance(values[0], tuple) and values != ["x", 1]:
        assert refusal(listing(pa.array(values).dictionary_encode())) == said


@pytest.mark.parametrize("values", [pd.date_range("2024-01-01", periods=2), pd.interval_range(0, 2)])
def test_categories_are_no_dates_and_no_intervals(values):
    said = refusal(listing(pd.Categorical(values), pd.DataFrame))
    assert said == f"run['item'] has the id {values[0]!r}: ids must be integers or strings; convert them"


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table])
def test_ids_that_numpy_would_cut_are_refused(frame):
    mappings = {"a\0": {"x": 1}, "a": {"y": 1}}, {"a\0": {"x": 1}, "a": {"x": 1}}
    assert refusal(*mappings) == r"qrels has the query 'a\x00', which ends in a NUL that numpy would drop; rename it"
    judged = frame({"query": ["", "a", "a"], "item": ["", "x", "x\0"], "label": [1, 1, 1]})
    assert refusal(qrels=judged) == r"qrels has the item 'x\x00', which ends in a NUL that numpy would drop; rename it"
    # One within is kept, as are those of a run, which the core alone reads.
    run, qrels = {"a\0b": {"x": 1, "x\0": 2}}, {"a\0b": {"x": 1}, "a": {"x": 1}}
    result = evaluate_run(run, qrels, metrics="mrr")
    assert (result.n_units, result["mrr"]) == (2, 0.25)
    items = {"item_ids": ["x", "y", "x\0"], "tie_break": "trec_eval"}
    with pytest.raises(errors.InvalidTypeError, match=r"item_ids has 'x\\x00', which ends in a NUL"):
        evaluate_run(run, qrels, metrics=Novelty(2, counts=[1, 2, 3]), **items)


@pytest.mark.parametrize("ids", [["b", "a\0", "a"], [b"b", b"a\0", b"a"], np.array(["b", "a\0", "a"], dtype="T")])
def test_sample_ids_that_numpy_would_cut_are_refused(ids):
    with pytest.raises(errors.InvalidTypeError, match=r"sample_ids has b?'a\\x00' at position 1, which ends in a NUL"):
        evaluate_scores(np.eye(3), np.eye(3), metrics="mrr", sample_ids=ids)


@pytest.mark.parametrize("column", ["f", "item"])
def test_a_column_that_is_there_twice(column):
    names = ["query", "item", "score", column, column]
    names = names if column == "f" else names[:4]
    values = [["a"], ["x"], [1.0], [2.0], [3.0]][: len(names)]
    table = pa.Table.from_arrays([pa.array(of) for of in values], names=names)
    frame = pd.DataFrame([[of[0] for of in values]], columns=names)
    for twice in (frame, table):
        said = refusal(twice, error=errors.InvalidParameterError)
        assert said == f"run has 2 columns called {column!r}; rename or drop all but one"
    assert column in refusal(Capsule(table))


@pytest.mark.parametrize("given", [pd.Series([1]), pl.Series([1]), pa.chunked_array([[1]])])
def test_one_column_is_no_table(given):
    kinds = "run must be a pandas, polars or Arrow table, a mapping of mappings, or the path of a TREC file, got "
    assert refusal(given) == kinds + type(given).__name__
    assert refusal(Capsule(pa.chunked_array([[1]]))).startswith("run cannot be read as an Arrow table of columns (")


def test_integers_of_128_bits():
    wide = pl.Series([1, 2], dtype=pl.Int128)
    assert refusal(listing(wide, pl.DataFrame)) == "run['item'] has dtype Int128; convert it to Int64"
    assert refusal(scored(wide, pl.DataFrame)) == "run['score'] has dtype Int128; convert it to Int64"


@pytest.mark.parametrize(
    "wrong", [None, "1", b"1", Decimal(1), 1j, [1], [1, 2], 2**70, 10**400, np.datetime64("2024-01-01"), pd.NA]
)
def test_what_is_no_number_is_shown_with_its_item(wrong):
    for run in ({"a": {"x": wrong}}, {"a": {"y": 1.0, "x": wrong}}, {1: {3: 0.5, 4: wrong}}):
        pair = "item 'x' of query 'a'" if "a" in run else "item 4 of query 1"
        assert refusal(run).startswith(f"run has {wrong!r} for {pair}; {NO_NUMBER}score")
        assert refusal(qrels=run).startswith(f"qrels has {wrong!r} for {pair}; {NO_NUMBER}relevance")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (pd.array([True, None], dtype="boolean"), "<NA>"),
        (pl.Series([True, None]), "None"),
        (pa.array([True, None]), "None"),
        (pa.array([Decimal("1.5"), Decimal("0.5")]), "Decimal('1.5')"),
        (pl.Series([Decimal("1.5"), Decimal("0.5")]), "Decimal('1.5')"),
        (pl.Series(["1", "2"]), "'1'"),
        (pd.Series(["1", "2"]), "'1'"),
    ],
)
def test_what_is_no_number_is_shown_with_its_row(values, shown):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(type(values).__module__.split(".")[0], pa.table)
    row = 1 if shown in ("<NA>", "None") else 0
    found = refusal(qrels=scored(values, frame, "label"))
    assert found.startswith(f"qrels['label'] has {shown} at row {row}; {NO_NUMBER}relevance of an item: integers or")
    if "Decimal" in shown:
        assert refusal(scored(values, frame)).startswith(f"run['score'] has {shown} at row 0; {NO_NUMBER}score")


def test_integers_that_floats_would_merge_are_placed():
    assert "run has 9007199254740994 for item 'x' of query 'a': " in refusal({"a": {"y": 1, "x": 2**53 + 2}})
    assert "run['score'] has 9007199254740994 at row 1: " in refusal(scored([1, 2**53 + 2]))


@pytest.mark.parametrize(
    "empty",
    [
        pd.DataFrame(columns=["query", "item", "score"]),
        pl.DataFrame({"query": [], "item": [], "score": []}),
        pa.table({"query": pa.array([], pa.string()), "item": pa.array([], pa.string()), "score": pa.nulls(0)}),
        {"a": {}},
    ],
)
def test_a_run_without_rows_is_empty_whatever_its_types(empty):
    with pytest.warns(errors.ReliabilityWarning, match="every list is empty"):
        assert evaluate_run(empty, QRELS, metrics="mrr")["mrr"] == 0


@pytest.mark.parametrize("kind", [set, frozenset])
def test_items_without_an_order_are_no_catalogue(kind):
    metrics = Novelty(1, counts=[3, 1])
    with pytest.raises(errors.InvalidTypeError, match=f"item_ids is a {kind.__name__}, which has no order"):
        evaluate_run(QRELS, QRELS, metrics=metrics, item_ids=kind(["x", "y"]))
    keys = evaluate_run(QRELS, QRELS, metrics=metrics, item_ids={"x": 1, "y": 2}.keys())
    assert keys == evaluate_run(QRELS, QRELS, metrics=metrics, item_ids=["x", "y"])
