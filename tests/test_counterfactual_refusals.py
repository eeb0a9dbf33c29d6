"""What estimates from clicks refuse, and what they say about it."""

import math

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from click_log import LOG, NEW, RR, STATED
from rankbound.counterfactual import (
    ips,
    naive,
    snips,
)
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
    UnknownLabelError,
)

pytestmark = pytest.mark.filterwarnings("ignore::rankbound.errors.ReliabilityWarning")


@pytest.mark.parametrize("estimator", [ips, snips])
@pytest.mark.parametrize("source", [None, "click curve", 1])
def test_unstated_sources_are_refused(estimator, source):
    with pytest.raises(InvalidParameterError, match="propensity_source must"):
        estimator(LOG, NEW, *RR, n_queries=2, propensity_source=source)
    with pytest.raises(InvalidParameterError, match="a curve of clicks by rank is none of these"):
        estimator(LOG, NEW, *RR, n_queries=2)


def replaced(column, row, value):
    return LOG | {column: [value if at == row else old for at, old in enumerate(LOG[column])]}


@pytest.mark.parametrize(
    ("log", "error", "message"),
    [
        (replaced("propensity", 4, 0.0), InvalidParameterError, r"log\['propensity'\] has 0.0 at row 4"),
        (replaced("propensity", 4, 1.5), InvalidParameterError, r"log\['propensity'\] has 1.5 at row 4"),
        (replaced("propensity", 4, -0.1), InvalidParameterError, r"log\['propensity'\] has -0.1 at row 4"),
        (replaced("propensity", 4, math.inf), InvalidParameterError, r"log\['propensity'\] has inf at row 4"),
        (replaced("propensity", 4, math.nan), InvalidTypeError, r"log\['propensity'\] has no value at row 4"),
        (replaced("propensity", 4, None), InvalidTypeError, r"log\['propensity'\] has no value at row 4"),
        (replaced("logged_rank", 1, None), InvalidTypeError, r"log\['logged_rank'\] has no value at row 1"),
        (replaced("logged_rank", 1, 0), InvalidParameterError, r"log\['logged_rank'\] has 0.0 at row 1"),
        (replaced("logged_rank", 1, 1.5), InvalidParameterError, r"log\['logged_rank'\] has 1.5 at row 1"),
        (replaced("click", 1, 2), InvalidParameterError, r"log\['click'\] has 2.0 at row 1"),
        (replaced("click", 1, math.nan), InvalidTypeError, r"log\['click'\] has no value at row 1"),
        (LOG | {"click": ["yes"] * 6}, InvalidTypeError, r"log\['click'\] must hold numbers"),
        (replaced("item", 3, None), InvalidTypeError, r"log\['item'\] has no value at row 3"),
        (replaced("item", 3, "a"), DuplicateItemError, "has item 'a' of query 2 at rows 2 and 3"),
        (LOG | {"query": [1] * 5}, ShapeError, "columns of different lengths"),
        ({name: [] for name in LOG}, EmptyInputError, "log has no rows"),
        ({"query": [1]}, InvalidParameterError, "log has no column 'item', 'logged_rank', 'click', 'propensity'"),
        (LOG | {"query": ["q"] * 2 + ["r"] * 4}, InvalidTypeError, r"scores\['query'\] holds integers, but log"),
        ([1, 2], InvalidTypeError, "log must be a mapping of names to arrays or an eager"),
        (pl.LazyFrame(LOG), InvalidTypeError, "log must be a mapping of names to arrays or an eager"),
    ],
)
def test_wrong_logs_are_refused(log, error, message):
    with pytest.raises(error, match=message):
        ips(log, NEW, *RR, **STATED)


@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table, lambda log: pd.DataFrame(log).convert_dtypes()])
def test_gaps_of_tables_are_refused(frame):
    for column in ("query", "propensity", "logged_rank"):
        with pytest.raises(InvalidTypeError, match=rf"log\['{column}'\] has no value at row 2"):
            ips(frame(replaced(column, 2, None)), NEW, *RR, **STATED)


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table])
def test_a_column_that_is_there_twice_is_refused(frame):
    table = pa.table(LOG)
    table = table.append_column("note", table["click"]).append_column("note", table["click"])
    twice = table if frame is pa.table else table.to_pandas()
    with pytest.raises(InvalidParameterError, match="log has 2 columns called 'note'; rename or drop all but one"):
        ips(twice, NEW, *RR, **STATED)


def test_integers_of_128_bits_are_refused_where_they_are_read():
    log = pl.DataFrame(LOG).with_columns(other=pl.lit(1, pl.Int128))
    assert ips(log, NEW, *RR, **STATED) == ips(LOG, NEW, *RR, **STATED)
    with pytest.raises(InvalidTypeError, match=r"log\['item'\] has dtype Int128; convert it to Int64"):
        ips(log.with_columns(item=pl.col("other")), NEW, *RR, **STATED)


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (NEW | {"score": [1, 2, 2, math.inf, 1, 3]}, NonFiniteScoreError, "has inf at row 3"),
        (NEW | {"score": ["x"] * 6}, InvalidTypeError, r"scores\['score'\] must hold numbers"),
        (NEW | {"item": list("ababcc")}, DuplicateItemError, "scores has item 'c' of query 2 at rows 4 and 5"),
        (NEW | {"query": [1] * 3 + [3] * 3, "item": list("abcabc")}, UnknownLabelError, "no row for query 2, which is"),
        (NEW | {"query": [1, 1, 2, 2, 3, 3]}, InvalidParameterError, "scores ranks 3 queries, but n_queries is 2"),
    ],
)
def test_wrong_rankings_are_refused(scores, error, message):
    with pytest.raises(error, match=message):
        ips(LOG, scores, *RR, **STATED)


@pytest.mark.parametrize(
    "metric", ["hit", "hit_rate", "success", "mrr", "rr", "err", "map", "ap", "ndcg", "recall", "r_precision", "f1"]
)
@pytest.mark.parametrize("estimator", [ips, snips])
def test_metrics_that_do_not_add_up_are_refused(estimator, metric):
    with pytest.raises(InvalidParameterError, match=f"metric '{metric}' cannot be estimated from clicks: it .*; use '"):
        estimator(LOG, NEW, metric, 3, **STATED)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "auc"}, InvalidParameterError, "metric must be one of 'hits'"),
        ({"metric": "hits"}, InvalidKError, "'hits' needs a cut-off"),
        ({"metric": "precision"}, InvalidKError, "'precision' needs a cut-off"),
        ({"k": 0}, InvalidKError, "k must be at least 1"),
        ({"n_queries": 1}, InvalidParameterError, "n_queries is 1, but the log contains 2 queries"),
        ({"n_queries": None}, InvalidTypeError, "n_queries must be an integer"),
        ({"clip": 0}, InvalidParameterError, "clip must be above 0 and at most 1"),
        ({"clip": 1.1}, InvalidParameterError, "clip must be above 0 and at most 1"),
        ({"patience": 1}, InvalidParameterError, "patience must lie between 0 and 1"),
        ({"groups": ["u"] * 6}, InvalidTypeError, "groups must be the name of a column"),
        ({"groups": "country"}, InvalidParameterError, "log has no column 'country'"),
        ({"groups": "item"}, InvalidParameterError, r"log\['item'\] names several units for query 1"),
        ({"groups": "user", "n_queries": 3}, InvalidParameterError, "the units of the others are unknown"),
        ({"n_resamples": -1}, InvalidParameterError, "n_resamples must be at least 0"),
        ({"confidence_level": 1}, InvalidParameterError, "confidence_level must lie between 0 and 1"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        ips(LOG, NEW, **{"metric": "dcg", **STATED} | options)


def test_the_denominator_must_be_given():
    with pytest.raises(TypeError, match="n_queries"):
        naive(LOG, NEW, *RR)
