"""Runs against relevance judgements: long tables of queries and items, in any order of their rows."""

import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import MAX_CUT_OFF, as_choice, resolve_num_threads
from rankbound.catalogue.source import Recommended
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    GradeError,
    InvalidParameterError,
    NonFiniteScoreError,
    OpenTieError,
    RankboundError,
    ReliabilityWarning,
)
from rankbound.evaluation.finish import finish
from rankbound.evaluation.ids import OwnIds, match_kind
from rankbound.evaluation.plan import as_plan
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.run_items import Catalogue, RunItems
from rankbound.evaluation.tables import Table, as_columns, read_table
from rankbound.evaluation.targets import Targets

_RULES = {"expected": "expectation", "trec_eval": "trec_eval", "rank_column": "rank_column"}

_REFUSALS: dict[str, type[RankboundError]] = {
    "twice": DuplicateItemError,
    "grade": GradeError,
    "nan": NonFiniteScoreError,
    "same_rank": InvalidParameterError,
    "open_tie": OpenTieError,
}
_REASONS = {
    "twice": "{pair} twice: an item can be ranked, and judged, once; drop one row",
    "grade": "the grade {value:g} for {pair}: grades must be finite and at least 0; 0 means not relevant",
    "nan": "NaN or an infinity for {pair}: give it a finite number, or drop the row",
    "same_rank": "the rank {value:g} for {pair}, and for another item of it: ranks must differ within a query; or use "
    "tie_break='expected'",
    "open_tie": "{pair} in a tie of {value:g} items at the end of the list, which items that are not listed may share, "
    "so its value is unknown. Pass longer lists, or open_tie='bounds' for what is certain, or open_tie='as_listed' to "
    "take the tie as complete",
}


@dataclass(frozen=True, slots=True)
class _Judged(Targets):
    """Relevant items of the judged queries, and the ids of both."""

    query_ids: NDArray[Any]
    item_ids: NDArray[Any]

    def _refuse(self, wrong: NDArray[np.bool_], hint: str, error: type[GradeError]) -> None:
        if wrong.any():
            at = int(wrong.argmax())
            query = self.query_ids[int(np.searchsorted(self.starts, at, side="right")) - 1].item()
            item = self.item_ids[self.items[at]].item()
            raise error(f"qrels has the grade {self.grades[at]:g} for item {item!r} of query {query!r}, which {hint}")


# Ids of the judged queries and of their relevant items, then the targets: starts, items, grades.
_Grouped = tuple[Any, Any, NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]


class _Profiler:
    """Makes the tie profiles of a run."""

    def __init__(
        self, run: Table, qrels: Table, grouped: "Future[_Grouped]", *, tie_break: str, num_threads: int
    ) -> None:
        queries = match_kind(run.queries, qrels.queries, what="query")
        items = match_kind(run.items, qrels.items, what="item")
        self.run = Table(queries, items, run.values)
        self.tie_break = {"expected": "expected", "trec_eval": "largest_id", "rank_column": "rank"}[tie_break]
        self.num_threads = num_threads
        with _worded("qrels", qrels):
            query_ids, item_ids, starts, relevant, grades = grouped.result()
        self.query_ids, self.item_ids = OwnIds(query_ids), OwnIds(item_ids)
        names = self.query_ids.array(found="qrels has the query"), self.item_ids.array(found="qrels has the item")
        self.judged = _Judged(starts, relevant, grades, len(self.item_ids), *names)

    def profile(
        self, targets: Targets, *, graded: bool, open_tie: str, cut_off: int
    ) -> tuple[_core.Profiles, tuple[int, int, int, int]]:
        """Return the profiles, and the judged queries without rows, those not judged, open ties, and most rows."""
        with _worded("run", self.run):
            return _core.profile_runs(
                self.run.queries.core,
                self.run.items.core,
                self.run.values,
                targets.core(graded=graded),
                self.query_ids.core,
                self.item_ids.core,
                tie_break=self.tie_break,
                open_tie=open_tie,
                cut_off=cut_off,
                num_threads=self.num_threads,
            )

    def recommended(self, catalogue: Catalogue, *, open_tie: str) -> Recommended:
        """Return what the lists of the judged queries show of a catalogue."""
        lists = _core.places_of(self.run.queries.core, self.query_ids.core, num_threads=self.num_threads)
        kept = np.flatnonzero(lists >= 0)
        items = catalogue.places(self.run.items, kept, argument="run")
        values = self.run.values[kept].astype(np.float64)
        best_first: tuple[NDArray[Any], ...] = (-values,)
        if self.tie_break == "rank":
            best_first = (values,)
        elif self.tie_break == "largest_id":
            # Scores in single precision, then ids as text.
            best_first = (-catalogue.text_ranks()[items], -values.astype(np.float32))
        source = RunItems.of(
            lists[kept],
            items,
            best_first,
            scores=values if self.tie_break == "expected" else None,
            n_items=len(catalogue),
            query_ids=self.judged.query_ids,
            open_tie=open_tie,
        )
        return Recommended(source, catalogue.targets(self.item_ids, self.judged))


def evaluate_run(
    run: Any,
    qrels: Any,
    *,
    metrics: Any = None,
    tie_break: str = "expected",
    open_tie: str = "as_listed",
    columns: Mapping[str, str] | None = None,
    item_ids: Any = None,
    slices: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    collect_per_user: bool = True,
    per_user_dtype: str = "float64",
    num_threads: int | None = None,
) -> EvaluationResult:
    """Evaluate a run, what was retrieved for each query, against relevance judgements.

    Both are long tables: pandas, polars or pyarrow frames (lazy ones are collected), anything else with the Arrow
    PyCapsule interface, mappings ``{query: {item: number}}``, or paths of TREC files, plain or compressed by gzip. The
    order of the rows does not matter. Ids are integers or strings, the same kind in both. Fastest are integers, then
    strings that polars or Arrow keep (those of pandas too, where pyarrow is installed), then Python strings; and rows
    that stand together by query.

    Every query of the qrels counts: without a row in the run it is an empty list, worth 0. Queries of the run that the
    qrels do not have are left out. A list may be shorter than a cut-off; the places it lacks hold nothing relevant.

    Parameters
    ----------
    run : table, mapping of mappings, str or path-like
        Columns for the query (``query``, ``query_id``, ``qid``, ``q_id``, ``user`` or ``user_id``), the item (``item``,
        ``item_id``, ``doc``, ``doc_id``, ``docid`` or ``docno``) and the ``score``, of which larger is better, or with
        ``tie_break="rank_column"`` the ``rank``. Lines of a file: ``query Q0 item rank score tag``.
    qrels : table, mapping of mappings, str or path-like
        The same, with the grade of relevance (``relevance``, ``rel``, ``grade``, ``label`` or ``target``): above 0 is
        relevant, 0 judged and not relevant. Lines of a file: ``query iteration item relevance``.
    metrics : metric, str, sequence of them, or None, default None
        Such as ``[NDCG([10, 20]), "recall@10"]``; None takes CalibratedRecall and NDCG at the length of the longest
        list. Metrics of :mod:`rankbound.catalogue` need ``item_ids``.
    tie_break : {"expected", "trec_eval", "rank_column"}, default "expected"
        What to do about equal scores. Take the exact expectation over their orders; order them as ``trec_eval`` does:
        scores compared in single precision, then ids as text, the largest first; or leave scores aside and go by the
        rank column, lowest first.
    open_tie : {"as_listed", "bounds", "refuse"}, default "as_listed"
        What to do about a tie at the end of a list that items beyond it may share, where a value depends on it: take it
        as complete; report the least the value can be, with ``ties[key]["mean_best"]`` the most; or refuse it. Any
        tie of at least two items at the end of a list counts as one.
    columns : mapping of str to str or None, default None
        Names of columns that have none of the names above, such as ``{"query": "uid", "score": "logit"}``, in each
        table that has them.
    item_ids : iterable of int or str, or None, default None
        Ids of all items in the catalogue, in the order in which catalogue metrics are given data about items, such as
        ``Novelty(10, counts=counts)``. It names every item that a judged query lists or has for relevant.
    slices : mapping of str to array_like or mapping, or None, default None
        Groups to report apart, masks or labels: ``{"cold": {"q1": True, "q2": False}}`` by query id, ``("items",
        {"d1": "new"})`` by item id, or arrays in the order of the sorted query ids. A pandas Series goes by id as well,
        that of its index, unless the index only counts its rows from 0 up. Ids without a label are in no group; labels
        of ids that there are not are left out and counted.
    metadata, collect_per_user, per_user_dtype, num_threads
        As in :func:`rankbound.evaluate_scores`.

    Returns
    -------
    EvaluationResult
        A mapping over the aggregates. Its rows are the queries of the qrels, sorted; queries without relevant items are
        left out of the means and counted. ``protocol["population"]`` has ``n_missing_queries`` (judged, but without a
        row in the run), ``n_ignored_queries`` (in the run, but not judged), ``n_open_ties`` and, with slices by id,
        ``n_unknown_slice_ids``.

    Warns
    -----
    ReliabilityWarning
        If the run has no row for any query of the qrels, no query has a relevant item, or slices label ids that are no
        queries.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming query and item, or file and line: an item twice for a query, a NaN
        score, a negative or NaN grade, a rank twice for a query, ids of different kinds, a missing column.

    References
    ----------
    ``trec_eval`` 9.0, National Institute of Standards and Technology, for formats and the order of equal scores.

    Examples
    --------
    >>> from rankbound import evaluate_run
    >>> run = {"q1": {"d1": 0.9, "d2": 0.4, "d3": 0.4}, "q2": {"d1": 0.2}}
    >>> qrels = {"q1": {"d2": 1}, "q2": {"d1": 2, "d7": 0}, "q3": {"d5": 1}}
    >>> result = evaluate_run(run, qrels, metrics="recall@2")
    >>> result["recall@2"], result.per_user["recall@2"].tolist()
    (0.5, [0.5, 1.0, 0.0])
    >>> result.protocol["population"]["n_missing_queries"]
    1
    """
    as_choice(tie_break, tuple(_RULES), name="tie_break")
    as_choice(open_tie, ("as_listed", "bounds", "refuse"), name="open_tie")
    if tie_break != "expected" and open_tie != "as_listed":
        raise InvalidParameterError(f"open_tie={open_tie!r} needs ties, but tie_break={tie_break!r} breaks them all")
    plan = None if metrics is None else as_plan(metrics, width=None)
    threads = resolve_num_threads(num_threads)
    catalogue = None if item_ids is None else Catalogue.of(item_ids, num_threads=threads)
    if catalogue is None and plan is not None and plan.catalogues:
        raise InvalidParameterError(
            f"metrics has {plan.catalogues[0].label}, but a run does not say what else there is to show: pass item_ids="
            ", the ids of all items in the catalogue"
        )
    profiler = _read(run, qrels, as_columns(columns), tie_break, threads)
    graded, cut_off = (False, None) if plan is None else (plan.graded, plan.required_k)

    def profile(of: Targets, tie: str) -> tuple[_core.Profiles, tuple[int, int, int, int]]:
        return profiler.profile(of, graded=graded, open_tie=tie, cut_off=cut_off or MAX_CUT_OFF)

    targets = profiler.judged if slices is None else profiler.judged.keeping_items()
    lower = "worst" if open_tie == "bounds" else open_tie
    profiles, (n_missing, n_ignored, n_open, longest) = profile(targets, lower)
    if n_missing == len(targets):
        warnings.warn(
            f"no query of qrels, such as {targets.query_ids[0].item()!r}, has a row in run: every list is empty; "
            "compare the ids of both",
            ReliabilityWarning,
            stacklevel=2,
        )
    aligned, n_unknown = _aligned(slices, targets)
    width = max(longest, 1)
    recommended = None
    if catalogue is not None and plan is not None and plan.catalogues:
        recommended = profiler.recommended(catalogue, open_tie=open_tie)
    of_input = {
        "candidates": {"kind": "listed", "items_hash": profiler.item_ids.digest()},
        "truth": {"unseen": "miss"},
        "ties": {"rule": _RULES[tie_break], "open_tie": open_tie},
        "population": {
            "rows_hash": profiler.query_ids.digest(),
            "width": longest,
            "n_missing_queries": n_missing,
            "n_ignored_queries": n_ignored,
            "n_open_ties": n_open,
            **({} if n_unknown is None else {"n_unknown_slice_ids": n_unknown}),
            **({} if catalogue is None else {"n_items": len(catalogue), "catalogue_hash": catalogue.digest()}),
        },
    }
    return finish(
        lambda of: profiles if of is targets else profile(of, lower)[0],
        targets,
        plan or as_plan(None, width=width),
        upper=(lambda of: profile(of, "best")[0]) if open_tie == "bounds" else None,
        width=width,
        sample_ids=targets.query_ids,
        slices=aligned,
        collect_per_user=collect_per_user,
        per_user_dtype=per_user_dtype,
        metadata=metadata,
        protocol=lambda: of_input,
        num_threads=threads,
        recommended=recommended,
    )


def _read(run: Any, qrels: Any, columns: Mapping[str, str], tie_break: str, num_threads: int) -> _Profiler:
    value = "rank" if tie_break == "rank_column" else "score"
    judgements = read_table(qrels, value="relevance", columns=columns, name="qrels")
    if not len(judgements.queries):
        raise EmptyInputError("qrels has no rows: there is nothing to evaluate")
    grouped = _start_grouping(judgements, num_threads)
    retrieved = read_table(run, value=value, columns=columns, name="run")
    # One of the tables may have the name that columns gives, the other a usual one.
    for field in ("query", "item"):
        if columns.get(field, "") not in ("", *retrieved.columns, *judgements.columns):
            raise InvalidParameterError(
                f"columns names {columns[field]!r} as the {field}, but neither run nor qrels has such a column"
            )
    return _Profiler(retrieved, judgements, grouped, tie_break=tie_break, num_threads=num_threads)


def _start_grouping(judgements: Table, num_threads: int) -> "Future[_Grouped]":
    """Group judgements while the caller goes on, if there may be two threads.

    It needs nothing of the interpreter, while reading strings of Python needs it all the time. Nobody waits for the
    thread but who asks for what it found, so that an interrupt is not held up.
    """
    found: Future[_Grouped] = Future()

    def group(num_threads: int) -> None:
        queries, items = judgements.queries.core, judgements.items.core
        try:
            found.set_result(_core.group_qrels(queries, items, judgements.values, num_threads=num_threads))
        except BaseException as error:
            found.set_exception(error)
            if isinstance(error, KeyboardInterrupt):
                raise

    if num_threads == 1:
        group(1)
    else:
        Thread(target=group, args=(num_threads - 1,)).start()
    return found


@contextmanager
def _worded(argument: str, table: Table) -> Iterator[None]:
    """Word what the core refuses: it knows rows, not names."""
    try:
        yield
    except _core.RefusedPair as refused:
        problem, row, value = refused.args
        pair = f"item {table.items.show(row)} of query {table.queries.show(row)}"
        raise _REFUSALS[problem](f"{argument} has {_REASONS[problem].format(pair=pair, value=value)}") from None


def _aligned(slices: Any, targets: _Judged) -> tuple[Any, int | None]:
    """Return slices with mappings from ids turned into arrays over the queries or items.

    And how many labels are of ids that there are not; None if nothing is labelled by id.
    """
    if not isinstance(slices, Mapping):
        return slices, None
    found: dict[Any, Any] = {}
    n_unknown = None
    for name, given in slices.items():
        of, labels = given if isinstance(given, tuple) and len(given) == 2 else ("rows", given)
        labels = _by_id(labels, name)
        if isinstance(labels, Mapping):
            ids = (targets.item_ids if of == "items" else targets.query_ids).tolist()
            if labels and not any(key in labels for key in ids):
                raise InvalidParameterError(
                    f"slices[{name!r}] labels {next(iter(labels))!r}, ..., none of which is an id such as {ids[0]!r}; "
                    "use ids of the same kind"
                )
            found[name] = (of, np.array([labels.get(key) for key in ids], dtype=object))
            unknown = set(labels).difference(ids)
            n_unknown = (n_unknown or 0) + len(unknown)
            # Labels of a whole catalogue name items that no query has to do with.
            if unknown and of != "items":
                warnings.warn(
                    f"slices[{name!r}] labels {len(unknown)} of {len(labels)} ids that are no query of qrels, such as "
                    f"{next(key for key in labels if key in unknown)!r}: they are in no group",
                    ReliabilityWarning,
                    stacklevel=3,
                )
        else:
            found[name] = given
    return found, n_unknown


def _by_id(labels: Any, name: Any) -> Any:
    """Return a Series of pandas that has an index of its own as a mapping; anything else as it is."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - needed for slices alone

    if not nw.dependencies.is_pandas_series(labels):
        return labels
    import pandas as pd  # noqa: PLC0415 - who gives a Series has it

    index = labels.index
    if index.equals(pd.RangeIndex(len(index))):
        return labels
    if not index.is_unique:
        twice = index[index.duplicated()].tolist()[0]
        raise InvalidParameterError(f"slices[{name!r}] labels {twice!r} more than once; give each id one label")
    return dict(labels.items())
