"""Judgements and runs as dicts of dicts: what ``pytrec_eval`` and ``ranx`` evaluate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import MAX_CUT_OFF, resolve_num_threads
from rankbound.errors import GradeError, InvalidTypeError, NonFiniteScoreError
from rankbound.evaluation.targets import Targets
from rankbound.metrics import MetricSpec

Nested: TypeAlias = Mapping[str, Mapping[str, float]]


def check_nested(nested: Any, *, name: str) -> None:
    """Refuse what does not map query ids to a mapping of document ids to numbers.

    Parameters
    ----------
    nested : mapping of str to mapping of str to number
        Judgements or a run.
    name : str
        The argument, for messages.

    Raises
    ------
    InvalidTypeError
        Naming the first id, or query, of another type.
    """
    if not isinstance(nested, Mapping):
        raise InvalidTypeError(f"{name} must map query ids to a dict of documents, got {type(nested).__name__}")
    for query, documents in nested.items():
        if not isinstance(query, str):
            raise InvalidTypeError(f"{name} has the query id {query!r}; ids must be strings, in all arguments alike")
        if not isinstance(documents, Mapping):
            raise InvalidTypeError(f"{name}[{query!r}] must map documents to numbers, got {type(documents).__name__}")
        if set(map(type, documents)) - {str}:
            odd = next((document for document in documents if not isinstance(document, str)), None)
            if odd is None:  # Strings of another class, such as numpy's.
                continue
            raise InvalidTypeError(f"{name}[{query!r}] has the document id {odd!r}; ids must be strings")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """The documents that a run lists for some queries, best first, and what is known of their relevance.

    Documents are numbered within each query, those that are judged first. Equal scores are ties, and each tie is
    complete: what is not listed ranks behind everything that is.
    """

    judged: Targets
    items: NDArray[np.int64]
    scores: NDArray[np.float64]
    starts: NDArray[np.uint64]
    n_listed: NDArray[np.uint64]

    def n_relevant(self, min_grade: float) -> NDArray[np.int64]:
        """Return how many documents of each query are judged to be of a grade or above."""
        return self._relevant(min_grade).counts

    def n_listed_below(self, min_grade: float) -> NDArray[np.int64]:
        """Return how many listed documents of each query are judged to be of a grade from 0 to below ``min_grade``."""
        queries = np.repeat(np.arange(len(self.judged)), self.n_listed.astype(np.int64))
        is_judged = self.items < self.judged.counts[queries]
        queries, items = queries[is_judged], self.items[is_judged]
        grades = self.judged.grades[self.judged.starts[queries] + items]
        return np.bincount(queries[(grades >= 0) & (grades < min_grade)], minlength=len(self.judged))

    def profiles(self, min_grade: float, *, graded: bool = False) -> _core.Profiles:
        """Return the tie profiles.

        Parameters
        ----------
        min_grade : float
            Documents of this grade or above are relevant.
        graded : bool, default False
            Whether their grades matter.

        Returns
        -------
        Profiles
            One per query.
        """
        profiles, _ = _core.profile_lists(
            self.items,
            self.scores,
            self.starts,
            self.n_listed,
            self._relevant(min_grade).core(graded=graded),
            name="run",
            open_tie="as_listed",
            cut_off=MAX_CUT_OFF,
            keep_first=False,
            check_scores=False,
            num_threads=resolve_num_threads(None),
        )
        return profiles

    def values(
        self, specs: Sequence[MetricSpec], min_grade: float, *, num_threads: int | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the value of each metric for each query, 0 for queries without relevant documents.

        Parameters
        ----------
        specs : sequence of MetricSpec
            Metrics, each at one cut-off at most.
        min_grade : float
            Documents of this grade or above are relevant.
        num_threads : int or None, default None
            Threads.

        Returns
        -------
        list of ndarray of shape (n_queries,)
            In the order of the metrics.

        Raises
        ------
        GradeError
            For grades that a metric cannot use.
        """
        if not specs:
            return []
        relevant = self._relevant(min_grade)
        relevant.check_grades(specs)
        profiles = self.profiles(min_grade, graded=any(spec.is_graded for spec in specs))
        core = [metric for spec in specs for metric in spec.core_metrics()]
        values, _ = _core.evaluate_lists(profiles, core, num_threads=resolve_num_threads(num_threads))
        empty = relevant.counts == 0
        return [np.where(empty, 0.0, of_metric) for of_metric in values]

    def _relevant(self, min_grade: float) -> Targets:
        keep = self.judged.grades >= min_grade
        before = np.concatenate([[0], np.cumsum(keep)])
        return Targets(
            before[self.judged.starts], self.judged.items[keep], self.judged.grades[keep], self.judged.n_items
        )


def judge(qrels: Nested, run: Nested, queries: Sequence[str], *, judged_only: bool = False) -> JudgedRun:
    """Return the lists of a run with their judgements.

    Parameters
    ----------
    qrels : mapping of str to mapping of str to number
        Grade of each judged document; must hold all queries.
    run : mapping of str to mapping of str to number
        Score of each listed document; must hold all queries.
    queries : sequence of str
        The queries, in their order.
    judged_only : bool, default False
        Whether documents that are not judged, or to a grade below 0, are left out of the lists.

    Returns
    -------
    JudgedRun
        One list per query.

    Raises
    ------
    NonFiniteScoreError, GradeError
        For a score or grade that is no finite number, naming query and document.
    """
    items: list[int] = []
    scores: list[float] = []
    grades: list[float] = []
    n_judged, n_listed = [], []
    for query in queries:
        codes = {document: code for code, document in enumerate(qrels[query])}
        grades.extend(qrels[query].values())
        n_judged.append(len(codes))
        listed = run[query]
        if judged_only:
            grade_of = qrels[query]
            listed = {document: score for document, score in listed.items() if grade_of.get(document, -1) >= 0}
        n_listed.append(len(listed))
        scores.extend(listed.values())
        items.extend(map(codes.get, listed, repeat(-1)))
    lengths, judged = np.array(n_listed, dtype=np.int64), np.array(n_judged, dtype=np.int64)
    first = np.cumsum(lengths) - lengths
    # Documents that are not judged are numbered behind all that are.
    all_items = np.array(items, dtype=np.int64)
    behind = np.arange(len(items)) - np.repeat(first - judged, lengths)
    all_items = np.where(all_items < 0, behind, all_items)
    all_scores = _numbers(scores, "score", run, queries, NonFiniteScoreError)
    order = np.lexsort((-all_scores, np.repeat(np.arange(len(lengths)), lengths)))
    starts = np.concatenate([[0], np.cumsum(judged)])
    codes_of_judged = np.arange(starts[-1]) - np.repeat(starts[:-1], judged)
    n_items = int((judged + lengths).max(initial=0))
    all_grades = _numbers(grades, "grade", qrels, queries, GradeError)
    return JudgedRun(
        judged=Targets(starts, codes_of_judged.astype(np.uint32), all_grades, n_items),
        items=all_items[order],
        scores=all_scores[order],
        starts=first.astype(np.uint64),
        n_listed=lengths.astype(np.uint64),
    )


def _numbers(
    values: list[Any], what: str, nested: Nested, queries: Sequence[str], error: type[ValueError]
) -> NDArray[np.float64]:
    array = np.array(values) if values else np.zeros(0)
    if array.dtype.kind in "fiub" and np.isfinite(array).all():
        return array.astype(np.float64)
    for query in queries:
        for document, value in nested[query].items():
            if not isinstance(value, (int, float, np.number, np.bool_)):
                raise InvalidTypeError(f"query {query!r}, document {document!r} has the {what} {value!r}: not a number")
            if not np.isfinite(value):
                raise error(f"query {query!r}, document {document!r} has the {what} {value}; it must be finite")
    raise InvalidTypeError(f"there are {what}s of mixed types: convert them to floats")
