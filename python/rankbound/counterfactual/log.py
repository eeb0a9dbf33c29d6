"""The click log and the rankings it is asked about."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._labels import describe_kind, show
from rankbound._options import as_count
from rankbound._tables import as_numbers, read_columns
from rankbound.errors import (
    DuplicateItemError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    UnknownLabelError,
)

# Clicks at a rank beyond it would be a mistake of the log.
MAX_RANK = 2**31 - 1

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClickLog:
    """A checked log: one row per item shown in a query.

    Parameters
    ----------
    queries : ndarray of shape (n_logged,)
        Sorted ids of the queries that the log contains.
    query_codes : ndarray of shape (n_rows,), dtype int64
        Index of each row's query in ``queries``.
    items : ndarray of shape (n_rows,)
        Ids of the items shown.
    logged_ranks : ndarray of shape (n_rows,), dtype float64
        Whole numbers from 1.
    clicked : ndarray of shape (n_rows,), dtype bool
        Which rows were clicked.
    propensities : ndarray of shape (n_rows,) or None
        Chance that each row was looked at; None if nobody asked for it.
    unit_codes : ndarray of shape (n_logged,), dtype uint32
        Unit of each query for resampling.
    n_units : int
        Number of units, those of unlogged queries included.
    n_queries : int
        The denominator; at least ``n_logged``. Queries that are not in the log count with no click.
    grouped : bool
        Whether units are groups of queries.
    """

    queries: NDArray[Any]
    query_codes: Counts
    items: NDArray[Any]
    logged_ranks: Floats
    clicked: NDArray[np.bool_]
    propensities: Floats | None
    unit_codes: NDArray[np.uint32]
    n_units: int
    n_queries: int
    grouped: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placements:
    """Where a new ranking puts the logged items, and what it shows that the log never did.

    Parameters
    ----------
    better, tied : ndarray of shape (n_rows,), dtype int64
        For each row of the log: candidates of its query that score higher, and as high; 0 tied if not ranked.
    unshown_better, unshown_tied : ndarray of shape (n_unshown,), dtype int64
        The same for candidates that were never shown in their query.
    list_lengths : ndarray of shape (n_ranked_queries,), dtype int64
        Number of candidates of each query.
    """

    better: Counts
    tied: Counts
    unshown_better: Counts
    unshown_tied: Counts
    list_lengths: Counts


def read_log(log: Any, *, n_queries: Any, propensities: bool, groups: str | None) -> ClickLog:
    """Read and check a click log.

    Parameters
    ----------
    log : mapping or frame
        Columns ``query``, ``item``, ``logged_rank``, ``click`` and, if wanted, ``propensity``.
    n_queries : int
        The number of queries served, with or without clicks.
    propensities : bool
        Whether to read propensities.
    groups : str or None
        Column that names the unit of each query.

    Returns
    -------
    ClickLog
        The checked log.

    Raises
    ------
    RankboundError
        A subclass that names column and row.
    """
    if groups is not None and not isinstance(groups, str):
        raise InvalidTypeError(f"groups must be the name of a column of log, got {type(groups).__name__}")
    names = ["query", "item", "logged_rank", "click"]
    names += (["propensity"] if propensities else []) + ([] if groups is None else [groups])
    columns = read_columns(log, names, name="log")
    queries, codes = np.unique(columns["query"], return_inverse=True)
    _check_once(codes, columns["item"], columns["query"], "log", "give each impression a query id of its own")
    total = _as_n_queries(n_queries, len(queries))
    if groups is None:
        units, n_units = np.arange(len(queries), dtype=np.uint32), total
    else:
        units, n_units = _unit_codes(columns[groups], codes, queries, groups, total)
    ranks = as_numbers(columns["logged_rank"], name="log['logged_rank']")
    _check_rows(
        (ranks >= 1) & (ranks <= MAX_RANK) & (ranks == np.floor(ranks)),
        ranks,
        "logged_rank",
        "ranks are integers from 1",
    )
    clicks = as_numbers(columns["click"], name="log['click']")
    _check_rows((clicks == 0) | (clicks == 1), clicks, "click", "a shown item is clicked (1) or not (0)")
    chances = None
    if propensities:
        chances = as_numbers(columns["propensity"], name="log['propensity']")
        advice = "a propensity is above 0 and at most 1; without one a click cannot be weighted"
        _check_rows((chances > 0) & (chances <= 1), chances, "propensity", advice)
    return ClickLog(
        queries=queries,
        query_codes=codes.astype(np.int64),
        items=columns["item"],
        logged_ranks=ranks,
        clicked=clicks == 1,
        propensities=chances,
        unit_codes=units,
        n_units=n_units,
        n_queries=total,
        grouped=groups is not None,
    )


def place(log: ClickLog, scores: Any, *, name: str) -> Placements:
    """Rank the candidates of a new policy and find the logged items among them.

    Parameters
    ----------
    log : ClickLog
        What was shown.
    scores : mapping or frame
        Columns ``query``, ``item``, ``score``: all candidates of the new ranking, higher is better.
    name : str
        The argument, for messages.

    Returns
    -------
    Placements
        Equal scores within a query tie.

    Raises
    ------
    RankboundError
        A subclass that names column and row.
    """
    columns = read_columns(scores, ["query", "item", "score"], name=name)
    for column, logged in (("query", log.queries), ("item", log.items)):
        if columns[column].dtype.kind != logged.dtype.kind:
            raise InvalidTypeError(
                f"{name}[{column!r}] holds {describe_kind(columns[column])}, but log[{column!r}] holds "
                f"{describe_kind(logged)}; convert one to the other"
            )
    values = columns["score"]
    if values.dtype.kind not in "fi":
        raise InvalidTypeError(f"{name}['score'] must hold numbers, got {values.dtype}")
    if not np.isfinite(values).all():
        row = int((~np.isfinite(values)).argmax())
        raise NonFiniteScoreError(
            f"{name}['score'] has {values[row]} at row {row}; leave out items that are not ranked"
        )
    queries = np.unique(np.concatenate([log.queries, columns["query"]]))
    items = np.unique(np.concatenate([log.items, columns["item"]]))
    codes = np.searchsorted(queries, columns["query"])
    _check_once(codes, columns["item"], columns["query"], name, "score each item once")
    logged_queries = np.searchsorted(queries, log.queries)
    lengths = np.bincount(codes, minlength=len(queries))
    if not lengths[logged_queries].all():
        lost = log.queries[int(lengths[logged_queries].argmin())]
        raise UnknownLabelError(f"{name} has no row for query {show(lost)}, which is in the log; score its candidates")
    n_ranked = int(np.count_nonzero(lengths))
    if n_ranked > log.n_queries:
        raise InvalidParameterError(
            f"{name} ranks {n_ranked} queries, but n_queries is {log.n_queries}; count them all"
        )
    better, tied = _placements(codes, values, lengths)
    keys = codes * len(items) + np.searchsorted(items, columns["item"])
    logged_keys = logged_queries[log.query_codes] * len(items) + np.searchsorted(items, log.items)
    order = np.argsort(keys)
    at = order[np.searchsorted(keys, logged_keys, sorter=order).clip(max=len(keys) - 1)]
    ranked = keys[at] == logged_keys
    unshown = np.ones(len(keys), dtype=np.bool_)
    unshown[at[ranked]] = False
    return Placements(
        better=np.where(ranked, better[at], 0),
        tied=np.where(ranked, tied[at], 0),
        unshown_better=better[unshown],
        unshown_tied=tied[unshown],
        list_lengths=lengths[lengths > 0],
    )


def _placements(codes: Counts, scores: NDArray[Any], lengths: Counts) -> tuple[Counts, Counts]:
    """Return for each candidate how many of its query score higher, and how many as high, itself included."""
    # Stable sorts by score, then query: the worst candidate of the first query comes first.
    order = np.lexsort((scores, codes))
    sorted_codes, sorted_scores = codes[order], scores[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (sorted_codes[1:] != sorted_codes[:-1]) | (sorted_scores[1:] != sorted_scores[:-1])
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(order)))
    group = np.cumsum(first) - 1
    ends_of_queries = np.cumsum(lengths)[sorted_codes]
    better, tied = np.empty_like(codes), np.empty_like(codes)
    better[order] = ends_of_queries - (starts + sizes)[group]
    tied[order] = sizes[group]
    return better, tied


def _as_n_queries(n_queries: Any, n_logged: int) -> int:
    total = as_count(n_queries, name="n_queries")
    if total < n_logged:
        raise InvalidParameterError(
            f"n_queries is {total}, but the log contains {n_logged} queries; it is the number of queries served, with "
            "or without clicks"
        )
    return total


def _unit_codes(
    labels: NDArray[Any], codes: Counts, queries: NDArray[Any], groups: str, n_queries: int
) -> tuple[NDArray[np.uint32], int]:
    units, row_units = np.unique(labels, return_inverse=True)
    of_query = np.empty(len(queries), dtype=np.uint32)
    of_query[codes] = row_units
    wrong = of_query[codes] != row_units
    if wrong.any():
        query = queries[codes[int(wrong.argmax())]]
        raise InvalidParameterError(f"log[{groups!r}] names several units for query {show(query)}; a query has one")
    if n_queries > len(queries):
        raise InvalidParameterError(
            f"n_queries is {n_queries}, but the log contains {len(queries)} queries, so that the units of the others "
            "are unknown; log every query, or leave out groups"
        )
    return of_query, len(units)


def _check_once(codes: Counts, items: NDArray[Any], queries: NDArray[Any], name: str, advice: str) -> None:
    order = np.lexsort((items, codes))
    twice = (codes[order[1:]] == codes[order[:-1]]) & (items[order[1:]] == items[order[:-1]])
    if twice.any():
        first, second = sorted(order[int(twice.argmax()) : int(twice.argmax()) + 2].tolist())
        raise DuplicateItemError(
            f"{name} has item {show(items[first])} of query {show(queries[first])} at rows {first} and {second}; "
            f"{advice}"
        )


def _check_rows(accepted: NDArray[np.bool_], values: Floats, column: str, advice: str) -> None:
    if not accepted.all():
        row = int((~accepted).argmax())
        raise InvalidParameterError(f"log[{column!r}] has {values[row]} at row {row}; {advice}")
