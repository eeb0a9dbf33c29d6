"""``Qrels``, ``Run``, ``evaluate`` and ``compare`` of ranx, exact under ties.

ranx ranks documents of equal score as its sort happens to leave them. Here every value is the expectation over the
orders that the scores allow; without ties the values are equal. As there, metrics are named like ``"ndcg@10"``,
``"map@100-l2"`` (from grade 2 on) or ``"rbp.95"``, ``map@k`` divides by all relevant documents, values by query are in
the order of the sorted ids, and a query without relevant documents is worth 0.

What differs:

- ``rbp`` counts a relevant document as 1, as ranx documents it, where its code multiplies by the grade.
- A second row for the same query and document is refused by ``from_df``, where ranx takes the last.
- Queries that do not match, ids that are no strings and unknown metrics are a ``ValueError``, not an
  ``AssertionError``. ``bpref``, which rests on one order of the list, is refused.
- ``compare``: ``stat_test="fisher"`` counts all patterns of signs for up to 20 queries that differ, and otherwise never
  gives a p-value of 0, but ``(1 + #) / (n_permutations + 1)`` (Phipson and Smyth 2010). ``"tukey"``, which forgets that
  the queries are the same, is refused. As in ranx, p-values are not corrected for the number of comparisons;
  :attr:`Report.comparison` has intervals, and :func:`rankbound.compare_models` corrections.
- Fusion, tuning, plots, LaTeX, downloads and files are not here; :func:`rankbound.evaluate_run` reads those of TREC.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import as_count, as_flag, as_items, as_level, as_resamples
from rankbound.compare import compare_models
from rankbound.compat._groups import groups_by_list
from rankbound.compat._ranx_data import Qrels, Run
from rankbound.compat._ranx_report import Report, as_test_method
from rankbound.compat._runs import JudgedRun, check_nested, judge
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    InvalidParameterError,
    InvalidTypeError,
)
from rankbound.metrics import DCG, F1, MAP, MRR, NDCG, RBP, HitRate, MetricSpec, Precision, Recall, RPrecision

__all__ = ["Qrels", "Report", "Run", "compare", "evaluate"]

_METRIC = re.compile(r"(?P<name>[a-z][a-z0-9_-]*?)(?:\.(?P<digits>\d+))?(?:@(?P<k>\d+))?(?:-l(?P<level>\d+))?")
_SPECS: dict[str, Callable[[int | None], MetricSpec]] = {
    "mrr": MRR,
    "map": lambda k: MAP(k, denominator="relevant"),
    "dcg": lambda k: DCG(k, gain="linear"),
    "dcg_burges": lambda k: DCG(k, gain="exp2"),
    "ndcg": lambda k: NDCG(k, gain="linear"),
    "ndcg_burges": lambda k: NDCG(k, gain="exp2"),
    "r-precision": lambda _: RPrecision(),
}
# With a cut-off; without, they are those of the set of listed documents.
_CUT: dict[str, Callable[[int], MetricSpec]] = {
    "hit_rate": HitRate,
    "precision": Precision,
    "recall": Recall,
    "f1": F1,
}
_NAMES = ("hits", *_CUT, "rbp.95", *_SPECS)


class _Metric(NamedTuple):
    """A metric by name: one that the core computes, or hits of the top k, divided if there is no k."""

    name: str
    k: int | None
    level: int
    spec: MetricSpec | None


def evaluate(  # noqa: PLR0917 - the signature of ranx
    qrels: Qrels | Mapping[str, Mapping[str, float]],
    run: Run | Mapping[str, Mapping[str, float]],
    metrics: Sequence[str] | str,
    return_mean: bool = True,  # noqa: FBT001, FBT002
    return_std: bool = False,  # noqa: FBT001, FBT002
    threads: int = 0,
    save_results_in_run: bool = True,  # noqa: FBT001, FBT002
    make_comparable: bool = False,  # noqa: FBT001, FBT002
) -> Any:
    """Evaluate a run, as ``ranx.evaluate`` does.

    Parameters
    ----------
    qrels : Qrels or mapping of str to mapping of str to number
        Grade of each judged document by query.
    run : Run or mapping of str to mapping of str to number
        Finite score of each listed document by query, higher is better.
    metrics : str or sequence of str
        ``hits``, ``hit_rate``, ``precision``, ``recall``, ``f1``, ``r-precision``, ``mrr``, ``map``, ``dcg``,
        ``dcg_burges``, ``ndcg``, ``ndcg_burges``, each with or without ``@k``, and ``rbp.95``; with ``-l2`` documents
        are relevant from grade 2 on.
    return_mean : bool, default True
        Whether to return means over queries, or the values by query.
    return_std : bool, default False
        Whether to return the standard deviations over queries, with divisor n, beside the means.
    threads : int, default 0
        Threads; 0 takes all that are available. Results do not depend on it.
    save_results_in_run : bool, default True
        Whether to keep the values in ``run.scores`` and ``run.mean_scores``, if it is a :class:`Run`.
    make_comparable : bool, default False
        Whether a query that the run lacks is an empty list, and a query that is not judged is left out. Otherwise both
        must have the same queries. Unlike in ranx this holds for dicts too, and the run is not changed.

    Returns
    -------
    float, dict of str to float, or ndarray of shape (n_queries,) instead of each float
        For a single metric, or by metric; with ``return_std`` each mean is a dict of ``"mean"`` and ``"std"``. Queries
        are in the order of their sorted ids.

    Raises
    ------
    InvalidParameterError
        For an unknown metric, and for queries that do not match.
    InvalidTypeError, NonFiniteScoreError, GradeError, EmptyInputError
        For judgements or runs that cannot be used, naming query and document.

    Examples
    --------
    >>> from rankbound.compat.ranx import Qrels, Run, evaluate
    >>> qrels = Qrels({"q1": {"d1": 1}, "q2": {"d2": 1}})
    >>> run = Run({"q1": {"d1": 0.9, "d2": 0.4}, "q2": {"d1": 0.5, "d2": 0.5}})
    >>> evaluate(qrels, run, ["mrr", "hit_rate@1"])
    {'mrr': 0.875, 'hit_rate@1': 0.75}
    >>> run.scores["mrr"]
    {'q1': 1.0, 'q2': 0.75}
    """
    names = _as_names(metrics)
    with_mean, with_std = as_flag(return_mean, name="return_mean"), as_flag(return_std, name="return_std")
    save = as_flag(save_results_in_run, name="save_results_in_run")
    threads = as_count(threads, name="threads")
    queries, values = _values(qrels, run, names, threads=threads, comparable=make_comparable)
    means = {name: _core.exact_mean(values[name]) for name in names}
    deviations = {name: float(np.std(values[name])) for name in names}
    if save and isinstance(run, Run):
        for name in names:
            run.mean_scores[name] = means[name]
            run.scores[name] = dict(zip(queries, values[name].tolist(), strict=True))
            if with_std:
                run.std_scores[name] = deviations[name]
    found: dict[str, Any] = values
    if with_mean:
        found = {name: {"mean": means[name], "std": deviations[name]} for name in names} if with_std else means
    return found[names[0]] if len(names) == 1 else found


def compare(  # noqa: PLR0917 - the signature of ranx
    qrels: Qrels | Mapping[str, Mapping[str, float]],
    runs: Iterable[Run],
    metrics: Sequence[str] | str,
    stat_test: str = "student",
    n_permutations: int = 1000,
    max_p: float = 0.01,
    random_seed: int = 42,
    threads: int = 0,
    rounding_digits: int = 3,
    show_percentages: bool = False,  # noqa: FBT001, FBT002
    make_comparable: bool = False,  # noqa: FBT001, FBT002
) -> Report:
    """Evaluate runs and test their differences pair by pair, as ``ranx.compare`` does.

    Parameters
    ----------
    qrels, metrics, threads, make_comparable
        As in :func:`evaluate`.
    runs : iterable of Run
        At least two, whose names differ; a run without a name is ``run_1``, ``run_2``, ... by its place.
    stat_test : {"student", "fisher"}, default "student"
        The paired t-test, or the randomisation test.
    n_permutations : int, default 1000
        Random patterns of signs of the randomisation test, and resamples of the intervals.
    max_p : float, default 0.01
        The largest p-value of a significant difference.
    random_seed : int, default 42
        Seed of both.
    rounding_digits : int, default 3
        Digits to show.
    show_percentages : bool, default False
        Whether to show percentages.

    Returns
    -------
    Report
        Prints as a table.

    Raises
    ------
    RankboundError
        As :func:`evaluate` and :func:`rankbound.compare_models`.

    Examples
    --------
    >>> from rankbound.compat.ranx import Qrels, Run, compare
    >>> qrels = Qrels({f"q{i}": {"d1": 1} for i in range(8)})
    >>> good = Run({f"q{i}": {"d1": 2, "d2": i % 2} for i in range(8)}, name="good")
    >>> poor = Run({f"q{i}": {"d1": 0, "d2": 1 + i % 2} for i in range(8)}, name="poor")
    >>> print(compare(qrels, [good, poor], ["mrr", "hit_rate@1"], stat_test="fisher"))
    #  Model  MRR     Hit Rate@1
    -  -----  ------  ----------
    a  good   1.000ᵇ  1.000ᵇ
    b  poor   0.500   0.000
    """
    names = _as_names(metrics)
    threads = as_count(threads, name="threads")
    largest_p = as_level(max_p, name="max_p")
    permutations = as_resamples(n_permutations, name="n_permutations")
    seed = as_count(random_seed, name="random_seed")
    digits = as_count(rounding_digits, name="rounding_digits")
    results: dict[str, Any] = {}
    for place, run in enumerate(as_items(runs, name="runs", of="Run objects"), 1):
        if not isinstance(run, Run):
            raise InvalidTypeError(f"runs must hold Run objects, got {type(run).__name__} at place {place}")
        model = f"run_{place}" if run.name is None else run.name
        if model in results:
            raise DuplicateItemError(f"runs has the name {model!r} twice; give each run a name of its own")
        queries, values = _values(qrels, run, names, threads=threads, comparable=make_comparable)
        results[model] = SimpleNamespace(
            per_user=values, sample_ids=np.array(queries), target_fingerprint="", protocol={}
        )
    if len(results) < 2:
        raise InvalidParameterError(f"runs has {len(results)} run(s): a comparison needs at least two")
    comparison = compare_models(
        results,
        metrics=names,
        test_method=as_test_method(stat_test),
        correction=None,
        confidence_level=1 - largest_p,
        n_resamples=permutations,
        seed=seed,
        num_threads=threads or None,
    )
    return Report.of(
        {model: result.per_user for model, result in results.items()},
        comparison,
        metrics=names,
        max_p=largest_p,
        rounding_digits=digits,
        show_percentages=as_flag(show_percentages, name="show_percentages"),
        stat_test=stat_test,
    )


def _as_names(metrics: Sequence[str] | str) -> list[str]:
    given = [metrics] if isinstance(metrics, str) else as_items(metrics, name="metrics", of="names such as 'ndcg@10'")
    for metric in given:
        _parse(metric)
    names = list(dict.fromkeys(given))
    if not names:
        raise InvalidParameterError("metrics is empty; name at least one, such as 'ndcg@10'")
    return names


def _parse(label: str) -> _Metric:
    found = _METRIC.fullmatch(label) if isinstance(label, str) else None
    name = found["name"] if found else ""
    if found is None or name not in {"hits", "rbp", *_CUT, *_SPECS} or (name == "rbp") != bool(found["digits"]):
        raise InvalidParameterError(
            f"metrics has {label!r}; metrics look like 'ndcg@10', 'map@100-l2' or 'rbp.95' and are {', '.join(_NAMES)}"
        )
    # As in ranx, 0 takes the whole list.
    k = int(found["k"] or 0) or None
    level = int(found["level"] or 1)
    if level < 1:
        raise InvalidParameterError(f"metrics has {label!r}; the level must be at least 1")
    if name == "rbp":
        if k is not None:
            raise InvalidParameterError(f"metrics has {label!r}; rbp takes no cut-off")
        return _Metric(name, None, level, RBP(patience=float(f"0.{found['digits']}")))
    if name in _SPECS:
        return _Metric(name, k, level, _SPECS[name](k))
    return _Metric(name, k, level, _CUT[name](k) if k is not None and name in _CUT else None)


def _values(
    qrels: Any, run: Any, names: Sequence[str], *, threads: int, comparable: bool
) -> tuple[list[str], dict[str, NDArray[np.float64]]]:
    """Return the sorted queries, and the value of each for every metric."""
    metrics = {name: _parse(name) for name in names}
    grades, scores = _nested(qrels, "qrels"), _nested(run, "run")
    if as_flag(comparable, name="make_comparable"):
        scores = {query: scores.get(query, {}) for query in grades}
    for nested, other, has, lacks in ((grades, scores, "qrels", "run"), (scores, grades, "run", "qrels")):
        absent = next((query for query in nested if query not in other), None)
        if absent is not None:
            raise InvalidParameterError(
                f"{has} has the query {absent!r}, which {lacks} has not; both must have the same ones, or pass "
                "make_comparable=True"
            )
    queries = sorted(grades)
    if not queries:
        raise EmptyInputError("qrels has no queries: there is nothing to evaluate")
    judged = judge(grades, scores, queries)
    values: dict[str, NDArray[np.float64]] = {}
    for level in sorted({metric.level for metric in metrics.values()}):
        of_level = {name: metric for name, metric in metrics.items() if metric.level == level}
        specs = {name: metric.spec for name, metric in of_level.items() if metric.spec is not None}
        found = judged.values(list(specs.values()), level, num_threads=threads or None)
        values |= dict(zip(specs, found, strict=True))
        values |= {name: _of_sets(judged, metric) for name, metric in of_level.items() if metric.spec is None}
    return queries, {name: values[name] for name in names}


def _nested(data: Any, name: str) -> dict[str, dict[str, float]]:
    nested = data.to_dict() if isinstance(data, (Qrels, Run)) else data
    check_nested(nested, name=name)
    return dict(nested)


def _of_sets(judged: JudgedRun, metric: _Metric) -> NDArray[np.float64]:
    hits = groups_by_list(judged.profiles(metric.level)).expected_hits(metric.k)
    n_listed, n_relevant = judged.n_listed.astype(np.float64), judged.n_relevant(metric.level)
    if metric.name in {"hits", "hit_rate"}:
        return hits if metric.name == "hits" else (hits > 0).astype(np.float64)
    denominator = {"precision": n_listed, "recall": n_relevant, "f1": (n_listed + n_relevant) / 2}[metric.name]
    shares: NDArray[np.float64] = np.divide(hits, denominator, out=np.zeros(len(hits)), where=denominator > 0)
    return shares
