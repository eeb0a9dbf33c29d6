"""Estimates of additive metrics of a new ranking from logged clicks."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import as_choice, as_count, as_level, as_resamples, resolve_num_threads
from rankbound.counterfactual.log import ClickLog, place, read_log
from rankbound.counterfactual.rank_weights import RankWeight, as_clip
from rankbound.counterfactual.weights import ImportanceDiagnostics, diagnose
from rankbound.errors import InvalidParameterError, ReliabilityWarning

PROPENSITY_SOURCES = ("randomisation", "harvesting", "assumption")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualEstimate:
    """A metric of a new ranking, estimated from clicks on the logged one.

    Parameters
    ----------
    name : str
        Estimator, metric and options, such as ``ips_dcg@10`` or ``ips_dcg@10[clip=0.1]``.
    value : float
        The estimate, higher is better: per query for IPS and naive, per relevant item for SNIPS. NaN for SNIPS without
        clicks.
    ci_low, ci_high : float or None
        Percentile limits of the cluster bootstrap; None without resamples or with fewer than two units.
    n_queries : int
        The denominator.
    n_units : int
        Number of units that were resampled.
    n_resamples, confidence_level, seed
        Of the bootstrap.
    propensity_source : str or None
        Where propensities come from; None for the naive estimate, which has none.
    clip : float or None
        The least propensity that weights were computed with.
    diagnostics : ImportanceDiagnostics
        What the weights say about the estimate.
    warnings : tuple of str
        What to keep in mind before reading ``value``.
    """

    name: str
    value: float
    ci_low: float | None
    ci_high: float | None
    n_queries: int
    n_units: int
    n_resamples: int
    confidence_level: float
    seed: int
    propensity_source: str | None
    clip: float | None
    diagnostics: ImportanceDiagnostics
    warnings: tuple[str, ...]


def ips(
    log: Any,
    scores: Any,
    metric: str,
    k: int | None = None,
    *,
    n_queries: int,
    propensity_source: str | None = None,
    clip: float | None = None,
    patience: float = 0.85,
    groups: str | None = None,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    seed: int = 0,
    num_threads: int | None = None,
) -> CounterfactualEstimate:
    """Estimate a metric of a new ranking from clicks, each weighted by its inverse propensity.

    ``sum(E[weight of the new rank] / propensity of the logged rank) / n_queries`` over the clicks; the expectation is
    over the orders that ties of the new scores allow. Unbiased under the position-based model if every relevant item
    had a chance to be looked at. Propensities that are known up to a factor give values up to that factor.

    Parameters
    ----------
    log : mapping of str to array_like of shape (n_rows,), or frame
        One row per item shown: columns ``query`` (id of the impression), ``item``, ``logged_rank`` (from 1), ``click``
        (0 or 1) and ``propensity`` (of the logged rank, above 0 and at most 1). A dict of arrays, or an eager pandas,
        polars or pyarrow frame.
    scores : mapping of str to array_like of shape (n_candidates,), or frame
        The new ranking: columns ``query``, ``item``, ``score``, with all its candidates for every query of the log. It
        can be the same table as ``log``. Higher is better; equal scores tie.
    metric : {"dcg", "hits", "precision", "reciprocal_rank_sum", "rbp"}
        Metrics that add up over relevant items: ``1 / log2(1 + rank)``, 1, ``1 / k``, ``1 / rank`` or
        ``(1 - p) p^(rank - 1)`` for each.
    k : int or None, default None
        Cut-off; None for the whole list, which hits and precision refuse.
    n_queries : int
        Number of queries served, those without clicks included. Queries that are not in the log count as such.
    propensity_source : {"randomisation", "harvesting", "assumption"}
        Where the propensities come from: an experiment, several rankers on the same queries, or an assumption. There is
        no default: refused while it is None.
    clip : float or None, default None
        Least propensity to divide by, above 0 and at most 1. It lowers variance and biases the estimate downwards.
    patience : float, default 0.85
        The ``p`` of ``"rbp"``, between 0 and 1.
    groups : str or None, default None
        Column of ``log`` that names the unit, such as the user, of each query; None makes each query a unit.
    n_resamples : int, default 1000
        Number of resamples; 0 for no interval.
    confidence_level : float, default 0.95
        Between 0 and 1.
    seed : int, default 0
        Seed of the draws, at least 0.
    num_threads : int or None, default None
        Threads; results do not depend on it.

    Returns
    -------
    CounterfactualEstimate
        With interval and diagnostics.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong: propensities 0, above 1, missing or of unstated source, clicks without a
        logged rank, metrics that do not add up, too small a denominator.

    Warns
    -----
    ReliabilityWarning
        If the effective share of clicks is below 0.1, a click carries more than 0.2 of all weight, the new ranking
        shows items that were never shown, or there is no click.

    References
    ----------
    T. Joachims, A. Swaminathan, T. Schnabel, "Unbiased Learning-to-Rank with Biased Feedback", WSDM 2017.

    Examples
    --------
    >>> import warnings
    >>> from rankbound.counterfactual import ips
    >>> log = {
    ...     "query": [1, 1, 2, 2],
    ...     "item": ["a", "b", "a", "c"],
    ...     "logged_rank": [1, 2, 1, 2],
    ...     "click": [0, 1, 1, 0],
    ...     "propensity": [1.0, 0.5, 1.0, 0.5],
    ...     "score": [0.1, 0.7, 0.4, 0.4],
    ... }
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     found = ips(log, log, "precision", 1, n_queries=2, propensity_source="randomisation")
    >>> found.name, found.value
    ('ips_precision@1', 1.25)
    """
    weight = RankWeight(metric, k, patience)
    tau = as_clip(clip)
    source = _as_source(propensity_source)
    resampling = _as_resampling(n_resamples, confidence_level, seed, num_threads)
    checked = read_log(log, n_queries=n_queries, propensities=True, groups=groups)
    return _estimate(checked, scores, weight, "ips", clip=tau, source=source, resampling=resampling)


def snips(
    log: Any,
    scores: Any,
    metric: str,
    k: int | None = None,
    *,
    n_queries: int,
    propensity_source: str | None = None,
    clip: float | None = None,
    patience: float = 0.85,
    groups: str | None = None,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    seed: int = 0,
    num_threads: int | None = None,
) -> CounterfactualEstimate:
    """Estimate a metric of a new ranking per relevant item, with weights that sum to 1.

    ``sum(weight * E[weight of the new rank]) / sum(weight)`` over the clicks: another quantity than :func:`ips`, to
    which it is tied by ``snips * sum_of_weights / n_queries = ips``. A common factor of the propensities cancels. Units
    without clicks are left out of its bootstrap.

    Parameters
    ----------
    log, scores, metric, k, n_queries, propensity_source, clip, patience, groups
        As in :func:`ips`.
    n_resamples, confidence_level, seed, num_threads
        As in :func:`ips`.

    Returns
    -------
    CounterfactualEstimate
        With interval and diagnostics; NaN without clicks.

    Raises
    ------
    RankboundError
        As :func:`ips`.

    Warns
    -----
    ReliabilityWarning
        As :func:`ips`.

    References
    ----------
    A. Swaminathan, T. Joachims, "The Self-Normalized Estimator for Counterfactual Learning", NIPS 2015.

    Examples
    --------
    >>> import warnings
    >>> from rankbound.counterfactual import snips
    >>> log = {"query": [1, 1], "item": ["a", "b"], "logged_rank": [1, 2], "click": [1, 1], "propensity": [1.0, 0.5]}
    >>> new = {"query": [1, 1], "item": ["a", "b"], "score": [0.1, 0.7]}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     found = snips(log, new, "reciprocal_rank_sum", n_queries=1, propensity_source="assumption")
    >>> round(found.value, 6)
    0.833333
    """
    weight = RankWeight(metric, k, patience)
    tau = as_clip(clip)
    source = _as_source(propensity_source)
    resampling = _as_resampling(n_resamples, confidence_level, seed, num_threads)
    checked = read_log(log, n_queries=n_queries, propensities=True, groups=groups)
    return _estimate(checked, scores, weight, "snips", clip=tau, source=source, resampling=resampling)


def naive(
    log: Any,
    scores: Any,
    metric: str,
    k: int | None = None,
    *,
    n_queries: int,
    patience: float = 0.85,
    groups: str | None = None,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    seed: int = 0,
    num_threads: int | None = None,
) -> CounterfactualEstimate:
    """Estimate a metric of a new ranking as if every shown item had been looked at.

    All clicks weigh 1. Biased towards rankings that resemble the logged one; there for comparison with :func:`ips`.

    Parameters
    ----------
    log, scores, metric, k, n_queries, patience, groups
        As in :func:`ips`, but for the column ``propensity``, which is not looked at.
    n_resamples, confidence_level, seed, num_threads
        As in :func:`ips`.

    Returns
    -------
    CounterfactualEstimate
        With interval and diagnostics.

    Raises
    ------
    RankboundError
        As :func:`ips`, but for propensities.

    Warns
    -----
    ReliabilityWarning
        As :func:`ips`.

    Examples
    --------
    >>> import warnings
    >>> from rankbound.counterfactual import naive
    >>> log = {"query": [1, 1], "item": ["a", "b"], "logged_rank": [1, 2], "click": [0, 1], "score": [0.1, 0.7]}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     naive(log, log, "precision", 2, n_queries=1).value
    0.5
    """
    weight = RankWeight(metric, k, patience)
    resampling = _as_resampling(n_resamples, confidence_level, seed, num_threads)
    checked = read_log(log, n_queries=n_queries, propensities=False, groups=groups)
    return _estimate(checked, scores, weight, "naive", clip=None, source=None, resampling=resampling)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resampling:
    n_resamples: int
    confidence_level: float
    seed: int
    num_threads: int


def _estimate(
    log: ClickLog,
    scores: Any,
    weight: RankWeight,
    estimator: str,
    *,
    clip: float | None,
    source: str | None,
    resampling: _Resampling,
) -> CounterfactualEstimate:
    placements = place(log, scores, name="scores")
    clicked = log.clicked
    chances = np.ones(len(clicked)) if log.propensities is None else log.propensities
    weights = 1 / np.maximum(chances, clip or 0.0)[clicked]
    earned = weights * weight.expected(placements.better, placements.tied)[clicked]
    units = log.unit_codes[log.query_codes[clicked]]
    sums, _, _ = _core.group_sums(earned, units, log.n_units)
    counts: Floats | None = None
    total = float(log.n_queries)
    if estimator == "snips":
        mass, _, _ = _core.group_sums(weights, units, log.n_units)
        sums, counts = sums[mass > 0], mass[mass > 0]
        total = _core.exact_sum(weights)
    elif log.grouped:
        counts = np.bincount(log.unit_codes, minlength=log.n_units).astype(np.float64)
    low, high = _interval(sums, counts, resampling)
    diagnostics = diagnose(
        weights,
        placements,
        k=weight.k,
        n_unranked_clicks=int(np.count_nonzero(clicked & (placements.tied == 0))),
        n_clipped=int(np.count_nonzero(chances[clicked] < (clip or 0.0))),
    )
    caveats = diagnostics.warnings()
    for caveat in caveats:
        warnings.warn(caveat, ReliabilityWarning, stacklevel=3)
    return CounterfactualEstimate(
        name=weight.name(estimator, clip),
        value=_core.exact_sum(earned) / total if total else math.nan,
        ci_low=low,
        ci_high=high,
        n_queries=log.n_queries,
        n_units=len(sums),
        n_resamples=resampling.n_resamples,
        confidence_level=resampling.confidence_level,
        seed=resampling.seed,
        propensity_source=source,
        clip=clip,
        diagnostics=diagnostics,
        warnings=caveats,
    )


def _interval(sums: Floats, counts: Floats | None, resampling: _Resampling) -> tuple[float | None, float | None]:
    if len(sums) < 2 or resampling.n_resamples == 0:
        return None, None
    (limits,) = _core.bootstrap_limits(
        np.random.SeedSequence(resampling.seed).generate_state(4, np.uint64).astype(np.uint64),
        [sums],
        counts,
        [],
        n_resamples=resampling.n_resamples,
        confidence_level=resampling.confidence_level,
        num_threads=resampling.num_threads,
        progress=None,
    )
    return limits


def _as_resampling(n_resamples: Any, confidence_level: Any, seed: Any, num_threads: int | None) -> _Resampling:
    return _Resampling(
        n_resamples=as_resamples(n_resamples),
        confidence_level=as_level(confidence_level, name="confidence_level"),
        seed=as_count(seed, name="seed"),
        num_threads=resolve_num_threads(num_threads),
    )


def _as_source(source: Any) -> str:
    if source is None:
        raise InvalidParameterError(
            "propensity_source must say where the propensities come from: 'randomisation', 'harvesting' or "
            "'assumption'; a curve of clicks by rank is none of these, since it mixes in relevance"
        )
    return as_choice(source, PROPENSITY_SOURCES, name="propensity_source")
