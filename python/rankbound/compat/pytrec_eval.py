"""``RelevanceEvaluator`` of pytrec_eval, exact under ties.

trec_eval ranks documents of equal score by their ids, from the last to the first, so that naming documents anew changes
its values. Here every value is the expectation over the orders that the scores allow; without ties the values are
equal. Two more things differ: trec_eval rounds scores to 32 bits, which makes ties that are not ties here; and where it
ignores a parameter (``map.5``), this refuses it.

As there, a query is evaluated if both the judgements and the run have it, a query without relevant documents is worth
0, documents are relevant from ``relevance_level`` on, except to ``ndcg`` and ``ndcg_cut``, whose gain is every grade
above 0, and measures are named in the same ways: ``"P_5"``, ``"P.5"``, ``"P.5,10"``, or ``"P"`` for all its usual
cut-offs. Measures that rest on one order of the list, or are no means over queries (``bpref``, ``infAP``,
``iprec_at_recall``, ``gm_map`` and others), are refused.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_flag, as_integer, as_items
from rankbound.compat._groups import groups_by_list
from rankbound.compat._runs import JudgedRun, Nested, check_nested, judge
from rankbound.errors import InvalidParameterError, InvalidTypeError
from rankbound.metrics import MAP, MRR, NDCG, HitRate, MetricSpec, Precision, Recall, RPrecision

__all__ = ["RelevanceEvaluator", "supported_measures"]

_DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_PLAIN: dict[str, MetricSpec] = {
    "map": MAP(denominator="relevant"),
    "ndcg": NDCG(gain="linear"),
    "recip_rank": MRR(),
    "Rprec": RPrecision(),
}
_AT_CUT_OFFS: dict[str, tuple[Callable[[int], MetricSpec], tuple[int, ...]]] = {
    "map_cut": (lambda k: MAP(k, denominator="relevant"), _DEPTHS),
    "ndcg_cut": (lambda k: NDCG(k, gain="linear"), _DEPTHS),
    "P": (Precision, _DEPTHS),
    "recall": (Recall, _DEPTHS),
    "success": (HitRate, (1, 5, 10)),
}
_COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
_SETS = ("set_P", "set_relative_P", "set_recall", "set_map", "set_F")

supported_measures = frozenset((*_PLAIN, *_AT_CUT_OFFS, *_COUNTS, *_SETS))
"""Measures that can be asked for."""

_NAMED = re.compile(
    rf"(?P<measure>{'|'.join(sorted(supported_measures, key=len, reverse=True))})"
    r"(?:[._](?P<parameters>\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)*))?"
)


class RelevanceEvaluator:
    """Evaluate runs against relevance judgements, as the class of this name in pytrec_eval does.

    Parameters
    ----------
    query_relevance : mapping of str to mapping of str to int
        Grade of each judged document by query. Queries without documents are left out.
    measures : iterable of str
        Such as ``{"map", "ndcg_cut.10,20", "P_5"}``; all that can be: :data:`supported_measures`.
    relevance_level : int, default 1
        The least grade of a relevant document.
    judged_docs_only_flag : bool, default False
        Whether documents that are not judged, or to a grade below 0, are left out of the lists.

    Raises
    ------
    InvalidParameterError
        For a measure that cannot be computed exactly under ties, or is not known.
    InvalidTypeError, GradeError
        For judgements that are no dict of dicts, ids that are no strings, grades that are no finite numbers.

    Examples
    --------
    >>> from rankbound.compat.pytrec_eval import RelevanceEvaluator
    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 1, "d2": 0}}, {"recip_rank", "P_1"})
    >>> evaluator.evaluate({"q1": {"d1": 0.5, "d2": 0.5, "d3": 0.1}})
    {'q1': {'P_1': 0.5, 'recip_rank': 0.75}}
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,  # noqa: FBT001, FBT002 - the signature of pytrec_eval
    ) -> None:
        check_nested(query_relevance, name="query_relevance")
        self._qrels: Nested = {query: dict(grades) for query, grades in query_relevance.items() if grades}
        if isinstance(measures, str):
            raise InvalidTypeError(f"measures must be an iterable of names, got {measures!r}; use {{{measures!r}}}")
        self._measures = _parse(measures)
        self._level = as_integer(relevance_level, name="relevance_level")
        self._judged_only = as_flag(judged_docs_only_flag, name="judged_docs_only_flag")

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Return the value of every measure for every query.

        Parameters
        ----------
        scores : mapping of str to mapping of str to float
            Score of each listed document by query; finite, higher is better.

        Returns
        -------
        dict of str to dict of str to float
            Values by query, in the order of ``scores``, and measure, sorted by name; queries without judgements are
            left out.

        Raises
        ------
        InvalidTypeError, NonFiniteScoreError
            For a run that is no dict of dicts, ids that are no strings, scores that are no finite numbers.
        GradeError
            For grades that a measure cannot use.
        """
        check_nested(scores, name="scores")
        queries = [query for query in scores if query in self._qrels]
        if not queries:
            return {}
        values = self._evaluate(judge(self._qrels, scores, queries, judged_only=self._judged_only))
        columns = {measure: values[measure].tolist() for measure in sorted(values)}
        return {
            query: {measure: column[place] for measure, column in columns.items()}
            for place, query in enumerate(queries)
        }

    def _evaluate(self, judged: JudgedRun) -> dict[str, NDArray[np.float64]]:
        specs = _specs(self._measures)
        values: dict[str, NDArray[np.float64]] = {}
        for graded in (False, True):
            chosen = {measure: spec for measure, spec in specs.items() if spec.is_graded == graded}
            # Every positive grade is a gain, whatever the level.
            level = np.nextafter(0, 1) if graded else self._level
            values |= dict(zip(chosen, judged.values(list(chosen.values()), level), strict=True))
        of_sets = [measure for measure in self._measures if measure in (*_COUNTS, *_SETS)]
        if of_sets:
            beta = self._measures.get("set_F") or {1.0}
            found = _set_values(judged, self._level, weight=next(iter(beta)))
            values |= {measure: found[measure] for measure in of_sets}
        return values


def _parse(measures: Iterable[str]) -> dict[str, set[float]]:
    """Return the parameters that each measure was given."""
    parsed: dict[str, set[float]] = {}
    for name in as_items(measures, name="measures", of="names such as 'map'"):
        found = _NAMED.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            raise InvalidParameterError(
                f"measures has {name!r}; those that can be computed are {', '.join(sorted(supported_measures))}"
            )
        measure = found["measure"]
        given = {float(parameter) for parameter in (found["parameters"] or "").split(",") if parameter}
        if given and measure not in _AT_CUT_OFFS and measure != "set_F":
            raise InvalidParameterError(f"measures has {name!r}, but {measure} takes no parameter; write {measure!r}")
        if measure in _AT_CUT_OFFS and any(cut_off < 1 or cut_off % 1 for cut_off in given):
            raise InvalidParameterError(f"measures has {name!r}; cut-offs must be integers of at least 1")
        parsed.setdefault(measure, set()).update(given)
    if len(parsed.get("set_F", ())) > 1:
        raise InvalidParameterError("measures has set_F with several parameters; give one")
    return parsed


def _specs(measures: Mapping[str, set[float]]) -> dict[str, MetricSpec]:
    specs = {measure: _PLAIN[measure] for measure in measures if measure in _PLAIN}
    for measure, (at, usual) in _AT_CUT_OFFS.items():
        if measure in measures:
            specs |= {f"{measure}_{int(k)}": at(int(k)) for k in measures[measure] or usual}
    return specs


def _set_values(judged: JudgedRun, level: int, *, weight: float) -> dict[str, NDArray[np.float64]]:
    """Return the measures of sets, which no order changes; 0 where a denominator is."""
    profiles = judged.profiles(level)
    retrieved = groups_by_list(profiles).expected_hits()
    n_listed, n_relevant = judged.n_listed.astype(np.float64), judged.n_relevant(level).astype(np.float64)

    def ratio(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0)

    precision, recall = ratio(retrieved, n_listed), ratio(retrieved, n_relevant)
    return {
        "num_q": np.ones(len(retrieved)),
        "num_ret": n_listed,
        "num_rel": n_relevant,
        "num_rel_ret": retrieved,
        "num_nonrel_judged_ret": judged.n_listed_below(level).astype(np.float64),
        "set_P": precision,
        "set_relative_P": ratio(retrieved, np.minimum(n_listed, n_relevant)),
        "set_recall": recall,
        "set_map": precision * recall,
        "set_F": ratio((weight + 1) * precision * recall, recall + weight * precision),
    }
