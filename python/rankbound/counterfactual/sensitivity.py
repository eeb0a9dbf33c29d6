"""How far a conclusion from clicks depends on the assumed propensities."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._validation import as_finite_vector
from rankbound.counterfactual.log import place, read_log
from rankbound.counterfactual.rank_weights import RankWeight, as_clip
from rankbound.errors import InvalidParameterError

# Doubles near any exponent of interest are closer than this many halvings of a gap of 1.
_MAX_HALVINGS = 60

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitivitySweep:
    """IPS estimates of a model and a baseline under a range of assumed propensities ``rank ** -eta``.

    Parameters
    ----------
    name : str
        Estimator, metric and options of both.
    etas : ndarray of shape (n_etas,)
        Exponents, ascending; 0 is the naive estimate.
    model, baseline : ndarray of shape (n_etas,)
        The estimates at each exponent.
    gap : ndarray of shape (n_etas,)
        ``model - baseline``.
    crossing : float or None
        The least exponent at which the sign of the gap changes; None if the conclusion is the same at all exponents of
        the sweep.
    n_queries : int
        The denominator.
    """

    name: str
    etas: Floats
    model: Floats = field(repr=False)
    baseline: Floats = field(repr=False)
    gap: Floats
    crossing: float | None
    n_queries: int


def sensitivity_sweep(
    log: Any,
    scores: Any,
    baseline_scores: Any,
    metric: str,
    k: int | None = None,
    *,
    n_queries: int,
    etas: Any = (0.0, 0.5, 1.0, 1.5, 2.0),
    clip: float | None = None,
    patience: float = 0.85,
) -> SensitivitySweep:
    """Compare a new ranking with a baseline under propensities ``logged_rank ** -eta`` for several ``eta``.

    The sign of the gap is checked at the given exponents; between two of them with opposite signs the crossing is
    found by bisection.

    Parameters
    ----------
    log : mapping of str to array_like of shape (n_rows,), or frame
        As in :func:`rankbound.counterfactual.ips`, without propensities.
    scores, baseline_scores : mapping of str to array_like of shape (n_candidates,), or frame
        The new ranking and the one to compare it with, as in :func:`rankbound.counterfactual.ips`.
    metric, k, n_queries, clip, patience
        As in :func:`rankbound.counterfactual.ips`.
    etas : array_like of shape (n_etas,), default (0, 0.5, 1, 1.5, 2)
        Exponents to try, ascending, at least 0.

    Returns
    -------
    SensitivitySweep
        With the gap at each exponent.

    Raises
    ------
    RankboundError
        As :func:`rankbound.counterfactual.ips`.

    Examples
    --------
    The model finds what was clicked at rank 1, the baseline what was clicked less often at rank 2:

    >>> from rankbound.counterfactual import sensitivity_sweep
    >>> log = {
    ...     "query": [1, 1, 2, 2, 3, 3],
    ...     "item": list("ababab"),
    ...     "logged_rank": [1, 2] * 3,
    ...     "click": [1, 0, 1, 0, 0, 1],
    ... }
    >>> model = {"query": log["query"], "item": log["item"], "score": [1, 0] * 3}
    >>> baseline = {"query": log["query"], "item": log["item"], "score": [0, 1] * 3}
    >>> found = sensitivity_sweep(log, model, baseline, "hits", 1, n_queries=3)
    >>> found.gap.round(3).tolist(), found.crossing
    ([0.333, 0.195, 0.0, -0.276, -0.667], 1.0)
    """
    weight = RankWeight(metric, k, patience)
    tau = as_clip(clip)
    exponents = _as_etas(etas)
    checked = read_log(log, n_queries=n_queries, propensities=False, groups=None)
    clicked = checked.clicked
    placed = [
        place(checked, table, name=name) for name, table in (("scores", scores), ("baseline_scores", baseline_scores))
    ]
    model, baseline = (weight.expected(found.better, found.tied)[clicked] for found in placed)
    ranks = checked.logged_ranks[clicked]

    def estimate(earned: Floats, eta: float) -> float:
        weights = 1 / np.maximum(ranks**-eta, tau or 0.0)
        return _core.exact_sum(weights * earned) / checked.n_queries

    def gap(eta: float) -> float:
        return estimate(model - baseline, eta)

    gaps = np.array([gap(eta) for eta in exponents])
    return SensitivitySweep(
        name=weight.name("ips", tau),
        etas=exponents,
        model=np.array([estimate(model, eta) for eta in exponents]),
        baseline=np.array([estimate(baseline, eta) for eta in exponents]),
        gap=gaps,
        crossing=_crossing(gap, exponents, gaps),
        n_queries=checked.n_queries,
    )


def _crossing(gap: Callable[[float], float], etas: Floats, gaps: Floats) -> float | None:
    """Return the least exponent at which the gap changes its sign, or is 0 without being 0 everywhere."""
    signs = np.sign(gaps)
    changes = np.flatnonzero(signs[1:] != signs[:-1])
    if not len(changes):
        return None
    at = int(changes[0])
    if 0 in signs[at : at + 2]:
        return float(etas[at if signs[at] == 0 else at + 1])
    low, high = float(etas[at]), float(etas[at + 1])
    for _ in range(_MAX_HALVINGS):
        middle = (low + high) / 2
        if np.sign(gap(middle)) == signs[at]:
            low = middle
        else:
            high = middle
    return high


def _as_etas(etas: Any) -> Floats:
    exponents = as_finite_vector(etas, name="etas", of="exponent", minimum=0)
    if not (np.diff(exponents) > 0).all():
        raise InvalidParameterError(f"etas must be ascending, got {exponents.tolist()}")
    return exponents
