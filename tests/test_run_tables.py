"""Runs against relevance judgements from every form of table, with ids of every kind."""

from hashlib import blake2b

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankbound import errors, evaluate_run
from run_examples import METRICS, QRELS, RUN, same


def rows(nested):
    return [(query, item, value) for query, items in nested.items() for item, value in items.items()]


def numbered(nested):
    """The same with integer ids in the same order."""
    return {10 * ord(query[-1]): {ord(item) - 150: value for item, value in of.items()} for query, of in nested.items()}


class Capsule:
    """A table that nothing but the Arrow PyCapsule interface can read."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def columns(nested, value):
    queries, items, values = zip(*rows(nested), strict=True)
    return {"query_id": list(queries), "docno": list(items), value: [float(value) for value in values]}


def chunked(of):
    parts = [{name: values[at : at + 2] for name, values in of.items()} for at in range(0, len(of["docno"]), 2)]
    return pa.concat_tables([pa.table(part) for part in parts])


def framed(of):
    """The same between two other rows."""
    return {name: [values[-1], *values, values[0]] for name, values in of.items()}


def text_views(of):
    kind = pa.string_view() if isinstance(of["docno"][0], str) else pa.int64()
    return pa.table({k: pa.array(v, None if k == list(of)[-1] else kind) for k, v in of.items()})


def text_columns(of, dtype):
    kind = dtype if isinstance(of["docno"][0], str) else "int32"
    return pd.DataFrame(of).astype({"query_id": kind, "docno": kind})


def categorical(of):
    frame = pd.DataFrame(of)
    return frame.astype({"query_id": "category", "docno": "category"})


FORMS = {
    "pandas": pd.DataFrame,
    "pandas objects": lambda of: pd.DataFrame(of).astype({"query_id": object, "docno": object}),
    "pandas strings of Python": lambda of: text_columns(of, "string[python]"),
    "pandas strings of Arrow": lambda of: text_columns(of, "string[pyarrow]"),
    "pandas categories": categorical,
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "polars categories": lambda of: pl.DataFrame(of).with_columns(pl.col("query_id", "docno").cast(pl.Categorical)),
    "polars enums": lambda of: pl.DataFrame(of).with_columns(
        pl.col(name).cast(pl.Enum(sorted(set(of[name])))) for name in ("query_id", "docno")
    ),
    "pyarrow": pa.table,
    "pyarrow dictionaries": lambda of: pa.table(
        {k: pa.array(v).dictionary_encode() if k != list(of)[-1] else v for k, v in of.items()}
    ),
    "pyarrow views": text_views,
    "pyarrow chunks": chunked,
    "pandas slices": lambda of: pd.DataFrame(framed(of)).iloc[1:-1],
    "polars slices": lambda of: pl.DataFrame(framed(of)).slice(1, len(of["docno"])),
    "capsule": lambda of: Capsule(pa.table(of)),
}
TEXTS_ONLY = ("polars categories", "polars enums")


@pytest.mark.parametrize(
    ("form", "ids"),
    [(form, ids) for form in FORMS for ids in ("names", "numbers") if form not in TEXTS_ONLY or ids == "names"],
)
def test_every_form_of_table_gives_the_same(form, ids):
    run, qrels = (RUN, QRELS) if ids == "names" else (numbered(RUN), numbered(QRELS))
    expected = evaluate_run(run, qrels, metrics=METRICS)
    make = FORMS[form]
    same(evaluate_run(make(columns(run, "score")), make(columns(qrels, "label")), metrics=METRICS), expected)


def test_strings_without_pyarrow(monkeypatch):
    expected = evaluate_run(RUN, QRELS, metrics=METRICS)
    monkeypatch.setattr("rankbound.evaluation.tables.find_spec", {}.get)
    for form in ("pandas", "pandas categories", "polars", "polars categories", "polars lazy"):
        make = FORMS[form]
        same(evaluate_run(make(columns(RUN, "score")), make(columns(QRELS, "label")), metrics=METRICS), expected)


# Alike in the bytes that are compared first, beyond them, and in none; with letters of one to four bytes.
NAMES = ["document-10", "document-9", "document-1", "document", "documen", "é", "日本", "😀", "", "d"]


@pytest.mark.parametrize("form", ["dicts", *FORMS])
def test_ids_of_any_length_and_script(form):
    run = {query: {item: place for place, item in enumerate(NAMES)} for query in NAMES}
    qrels = {query: {item: 1} for query, item in zip(NAMES, reversed(NAMES), strict=True)}
    if form != "dicts":
        run, qrels = FORMS[form](columns(run, "score")), FORMS[form](columns(qrels, "label"))
    result = evaluate_run(run, qrels, metrics="mrr", slices={"last": ("items", {NAMES[-1]: True})})
    assert result.sample_ids.tolist() == sorted(NAMES)
    digest = blake2b(("U" + "\n".join(sorted(NAMES))).encode(), digest_size=16).hexdigest()
    assert result.protocol["population"]["rows_hash"] == result.protocol["candidates"]["items_hash"] == digest
    # Query number i judges the item at the same place from the end, which has rank i + 1.
    expected = {query: 1 / (place + 1) for place, query in enumerate(NAMES)}
    assert result.per_user["mrr"].tolist() == [expected[query] for query in sorted(NAMES)]
    assert result.slices["last"]["mrr"] == 1


@pytest.mark.parametrize("qrels", [QRELS, numbered(QRELS)])
@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_an_empty_run_has_ids_of_any_kind(kind, qrels):
    empty = pl.DataFrame(schema={"qid": kind, "docno": kind, "score": pl.Float64})
    with pytest.warns(errors.ReliabilityWarning, match="no query of qrels"):
        assert evaluate_run(empty, qrels, metrics="mrr")["mrr"] == 0
