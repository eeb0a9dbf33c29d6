"""Whether the relevant items are shown, and how unexpected or deserved that is."""

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from rankbound import _core
from rankbound.catalogue import metrics
from rankbound.catalogue.evaluator import CatalogueEvaluator, ReadOptions
from rankbound.catalogue.exposure import Exposure
from rankbound.catalogue.exposures import as_exposure, exposure, needed
from rankbound.catalogue.list_means import list_mean
from rankbound.catalogue.spec import as_item_vector
from rankbound.errors import InvalidParameterError, ShapeError


def serendipity(
    recommendations: Any, targets: Any, k: int, *, popularity: Any, **options: Unpack[ReadOptions]
) -> float:
    """Return the share of the top ``k`` that is relevant and would not be shown by popularity.

    Parameters
    ----------
    recommendations : RankedLists, Embeddings or array_like of shape (n_rows, n_items)
        As in :func:`exposure`.
    targets : scipy sparse matrix or array_like of shape (n_rows, n_items)
        Grades; items with a grade above 0 are relevant.
    k : int
        Cut-off, of the popular list as well.
    popularity : array_like of shape (n_items,)
        Training counts, or any popularity of at least 0: they order one list for all, over the candidates of each row.
        Its ties are broken on their own.
    **options : ReadOptions
        As in :func:`exposure`.

    Returns
    -------
    float
        From 0 to 1, higher is better: the mean over lists that have relevant items.

    Raises
    ------
    RankboundError
        As :func:`exposure`.

    References
    ----------
    Ge, Delgado-Battenfeld and Jannach, "Beyond accuracy: evaluating recommender systems by coverage and serendipity",
    RecSys 2010.

    Examples
    --------
    >>> from rankbound.catalogue import serendipity
    >>> serendipity([[0, 2, 0, 2]], [[1, 1, 0, 1]], 2, popularity=[5, 3, 3, 1])
    0.75
    """
    return list_mean(recommendations, metrics.Serendipity(k, popularity=popularity), options, targets)


def macro_recall(recommendations: Any, targets: Any, k: int, **options: Unpack[ReadOptions]) -> float:
    """Return the mean over items of how often they are shown where they are relevant.

    Parameters
    ----------
    recommendations, targets, k, **options
        As in :func:`serendipity`.

    Returns
    -------
    float
        From 0 to 1, higher is better: each item that is relevant in some list counts once, however often it is.

    Raises
    ------
    RankboundError
        As :func:`exposure`.

    Examples
    --------
    >>> from rankbound.catalogue import macro_recall
    >>> macro_recall([[2, 1], [2, 1], [1, 2], [2, 1]], [[1, 0], [1, 0], [1, 0], [0, 1]], 1)
    0.3333333333333333
    """
    return list_mean(recommendations, metrics.MacroRecall(k), options, targets)


def tail_hit(
    recommendations: Any,
    targets: Any,
    k: int,
    *,
    counts: Any,
    tail_mass: float = 0.2,
    **options: Unpack[ReadOptions],
) -> float:
    """Return how often relevant items of the tail are shown.

    Parameters
    ----------
    recommendations, targets, k
        As in :func:`serendipity`.
    counts, tail_mass
        As in :func:`tail_share`.
    **options : ReadOptions
        As in :func:`exposure`.

    Returns
    -------
    float
        From 0 to 1, higher is better: the mean over all pairs of a list and a relevant item of the tail; NaN if there
        is none.

    Raises
    ------
    RankboundError
        As :func:`novelty`.

    Examples
    --------
    >>> from rankbound.catalogue import tail_hit
    >>> tail_hit([[0, 0, 3, 1, 1]], [[1, 0, 1, 1, 0]], 2, counts=[50, 30, 10, 5, 5])
    0.75
    """
    return list_mean(recommendations, metrics.TailHit(k, counts=counts, tail_mass=tail_mass), options, targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureParts:
    """Expected exposure against its target, as means over information needs.

    Parameters
    ----------
    loss : float
        EE-L: squared distance of the items' exposures from the target's; 0 is best.
    disparity : float
        EE-D: sum of the squared exposures; the lower, the more evenly they are given. Ties lower it.
    relevance : float
        EE-R: product with the target's exposures; higher gives relevant items more.
    """

    loss: float
    disparity: float
    relevance: float


def expected_exposure(
    recommendations: Any,
    targets: Any,
    k: int | None = None,
    *,
    weights: str = "log2",
    patience: float | None = None,
    **options: Unpack[ReadOptions],
) -> ExposureParts:
    """Compare the exposure that items get with that of a ranker which treats equally relevant items alike.

    The target orders the candidates by grade and shuffles those of equal grade, irrelevant ones included.

    Parameters
    ----------
    recommendations : RankedLists, Embeddings, array_like of shape (n_rows, n_items), or Exposure
        As in :func:`rankbound.catalogue.exposure`: one information need per row, whose ranker breaks ties at random.
        An exposure is that of one need, by as many lists as a random ranker drew for it; it brings its own cut-off and
        weights.
    targets : scipy sparse matrix or array_like of shape (n_rows, n_items), or (n_items,) for an Exposure
        Grades; items with a grade above 0 are relevant.
    k : int or None, default None
        Cut-off: ranks beyond it give no exposure.
    weights : {"log2", "top", "geometric"}, default "log2"
        What each rank gives, as in :func:`rankbound.catalogue.exposure`.
    patience : float or None, default None
        The ``p`` of ``"geometric"``.
    **options : ReadOptions
        As in :func:`rankbound.catalogue.exposure`.

    Returns
    -------
    ExposureParts
        Means over the rows that have relevant items; NaN without any.

    Raises
    ------
    RankboundError
        As :func:`rankbound.catalogue.exposure`; ShapeError if the targets do not fit.

    References
    ----------
    Diaz et al., "Evaluating stochastic rankings with expected exposure", CIKM 2020.

    Examples
    --------
    >>> from rankbound.catalogue import expected_exposure
    >>> expected_exposure([[1, 1, 0]], [[1, 0, 0]], 1, weights="top")
    ExposureParts(loss=0.5, disparity=0.5, relevance=0.5)
    """
    if isinstance(recommendations, Exposure):
        return _of_one_need(as_exposure(recommendations, k, options), targets)
    metric = metrics.ExpectedExposure(needed(k), weights=weights, patience=patience)
    evaluator = CatalogueEvaluator(metric)
    evaluator.update(recommendations, targets, **options)
    loss, disparity, relevance = evaluator.compute().values()
    return ExposureParts(loss=loss, disparity=disparity, relevance=relevance)


def _of_one_need(shown: Exposure, targets: Any) -> ExposureParts:
    grades = as_item_vector(targets, name="targets")
    if len(grades) != shown.n_items:
        raise ShapeError(f"targets has {len(grades)} grades, but there are {shown.n_items} items; give one per item")
    if not shown.n_lists or not grades.any():
        raise InvalidParameterError("targets has no relevant item, or the exposure no list: there is no need to serve")
    name, patience = shown.rank_value
    # The target is the exposure by the grades themselves, ties among them included.
    ideal = exposure(grades[np.newaxis], shown.k, weights=name, patience=patience or None)
    own, deserved = shown.expected / shown.n_lists, ideal.expected
    return ExposureParts(
        loss=_core.exact_sum((own - deserved) ** 2),
        disparity=_core.exact_sum(own**2),
        relevance=_core.exact_sum(own * deserved),
    )
