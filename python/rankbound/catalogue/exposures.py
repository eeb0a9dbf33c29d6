"""Exposure of the items by many lists, and what is read from it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import as_cut_off, as_positive
from rankbound.catalogue import metrics
from rankbound.catalogue.accumulator import Accumulator
from rankbound.catalogue.evaluator import ReadOptions, as_source, check_width
from rankbound.catalogue.exposure import Exposure, RankValue, shares_of
from rankbound.catalogue.spec import CatalogueMetric, ExposureMetric, as_item_vector, as_rank_value
from rankbound.errors import InvalidKError, InvalidParameterError, ShapeError
from rankbound.evaluation.lists import RankedLists


@dataclass(frozen=True, slots=True, eq=False)
class _Shown(CatalogueMetric):
    """No number: what makes a pass over the lists keep an exposure."""

    value_of_rank: RankValue
    size: int

    name: ClassVar[str] = "exposure"

    @property
    def rank_value(self) -> RankValue:
        return self.value_of_rank

    @property
    def n_items(self) -> int:
        return self.size


def exposure(
    recommendations: Any,
    k: int,
    *,
    weights: str = "top",
    patience: float | None = None,
    n_items: int | None = None,
    **options: Unpack[ReadOptions],
) -> Exposure:
    """Add up how often each item is shown in the top ``k``, in expectation over ties.

    Parameters
    ----------
    recommendations : RankedLists, Embeddings or array_like of shape (n_rows, n_items)
        Ranked lists; vectors of queries and items, as :class:`Embeddings`; or scores of all items, higher is better. An
        array is always scores: wrap ranked items in :class:`rankbound.RankedLists`.
    k : int
        Cut-off, at least 1.
    weights : {"top", "log2", "geometric"}, default "top"
        What each of the first ``k`` ranks gives: 1, ``1 / log2(1 + rank)``, or ``(1 - p) p^(rank - 1)``.
    patience : float or None, default None
        The ``p`` of ``"geometric"``.
    n_items : int or None, default None
        Number of items in the catalogue, for ranked lists that do not say it.
    **options : ReadOptions
        ``exclude``, ``mask_neg_inf``, ``open_tie``, ``duplicates``, ``num_threads``: see
        :class:`rankbound.catalogue.ReadOptions`.

    Returns
    -------
    Exposure
        ``expected`` and ``seen`` per item; can be stored, and merged with that of other lists. With weights ``"top"``
        ``expected`` adds up to ``k`` per list, if it has as many candidates.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming argument, place and value.

    Examples
    --------
    >>> from rankbound.catalogue import exposure
    >>> shown = exposure([[3, 2, 2, 1], [0, 0, 0, 0]], 2)
    >>> shown.expected
    array([1.5, 1. , 1. , 0.5])
    >>> shown.seen
    array([1.  , 0.75, 0.75, 0.5 ])
    """
    source, num_threads = as_source(recommendations, **options)
    size = source.n_items if n_items is None else as_positive(n_items, name="n_items")
    if size is None:
        raise InvalidParameterError("n_items must be given: ranked lists do not show what they leave out")
    if source.n_items not in (None, size):
        raise ShapeError(f"n_items is {size}, but the lists are over {source.n_items} items")
    wanted = _Shown(k, as_rank_value(weights, patience), size)
    check_width(source, wanted.k, "exposure")
    (found,) = (
        Accumulator([wanted]).find(source, np.arange(len(source)), None, num_threads=num_threads).exposures.values()
    )
    return found


def catalog_coverage(
    recommendations: Any, k: int | None = None, *, catalog_size: int | None = None, **options: Unpack[ReadOptions]
) -> float:
    """Return the expected share of the catalogue that at least one list shows in its top ``k``.

    Parameters
    ----------
    recommendations : RankedLists, Embeddings, array_like of shape (n_rows, n_items), or Exposure
        As in :func:`exposure`, or an exposure itself.
    k : int or None, default None
        Cut-off; an exposure brings its own.
    catalog_size : int or None, default None
        Number of items, if there are more than can be recommended; None takes those of the lists.
    **options : ReadOptions
        As in :func:`exposure`.

    Returns
    -------
    float
        From 0 to 1, higher is broader: the mean over items of ``1 - prod(1 - P)``, every list breaking its ties on its
        own.

    Raises
    ------
    RankboundError
        As :func:`exposure`; InvalidParameterError for a catalogue smaller than the lists'.

    Examples
    --------
    >>> from rankbound.catalogue import catalog_coverage
    >>> catalog_coverage([[3, 2, 2, 1], [0, 0, 0, 0], [1, 5, 1, 1]], 2)
    0.875
    """
    shown = as_exposure(recommendations, k, options)
    return _only(metrics.CatalogCoverage(shown.k, catalog_size=catalog_size), shown)


def recommendation_entropy(recommendations: Any, k: int | None = None, **options: Unpack[ReadOptions]) -> float:
    """Return the entropy of the expected exposure in nats.

    Of the *expected* exposure: at least the expected entropy of what is shown, since entropy is concave.

    Parameters
    ----------
    recommendations, k, **options
        As in :func:`catalog_coverage`.

    Returns
    -------
    float
        From 0, one item takes all, to ``ln n_items``, all are shown alike; NaN if nothing is shown.

    Raises
    ------
    RankboundError
        As :func:`exposure`.

    Examples
    --------
    >>> from rankbound.catalogue import recommendation_entropy
    >>> recommendation_entropy([[1, 0], [0, 1]], 1)
    0.6931471805599453
    """
    shown = as_exposure(recommendations, k, options)
    return _only(metrics.RecommendationEntropy(shown.k), shown)


def recommendation_gini(recommendations: Any, k: int | None = None, **options: Unpack[ReadOptions]) -> float:
    """Return the Gini coefficient of the expected exposure over all items, those never shown included.

    Of the *expected* exposure: at most the expected coefficient of what is shown, since it is convex. A ranker without
    preference has 0.

    Parameters
    ----------
    recommendations, k, **options
        As in :func:`catalog_coverage`.

    Returns
    -------
    float
        From 0, all are shown alike, to ``(n_items - 1) / n_items``; NaN if nothing is shown.

    Raises
    ------
    RankboundError
        As :func:`exposure`.

    Examples
    --------
    >>> from rankbound.catalogue import recommendation_gini
    >>> recommendation_gini([[1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5]], 1)
    0.375
    """
    shown = as_exposure(recommendations, k, options)
    return _only(metrics.RecommendationGini(shown.k), shown)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupShares:
    """What groups of items get, beside what they are or deserve.

    Parameters
    ----------
    groups : ndarray of shape (n_groups,)
        The labels, sorted.
    exposure : ndarray of shape (n_groups,)
        Expected exposure of each group, summed over its items.
    share : ndarray of shape (n_groups,)
        Its share of all exposure; NaN if there is none.
    reference : ndarray of shape (n_groups,)
        Its share of the merit; without merit its share of the items.
    ratio : ndarray of shape (n_groups,)
        ``share / reference``: 1 is in proportion; NaN for a reference of 0.
    """

    groups: NDArray[Any]
    exposure: NDArray[np.float64]
    share: NDArray[np.float64]
    reference: NDArray[np.float64]
    ratio: NDArray[np.float64]


def group_exposure(
    recommendations: Any,
    groups: Any,
    k: int | None = None,
    *,
    merit: Any = None,
    weights: str = "top",
    patience: float | None = None,
    **options: Unpack[ReadOptions],
) -> GroupShares:
    """Compare the exposure of groups of items with their merit or their number.

    Parameters
    ----------
    recommendations : RankedLists, Embeddings, array_like of shape (n_rows, n_items), or Exposure
        As in :func:`exposure`; an exposure brings its own cut-off and weights.
    groups : array_like of shape (n_items,)
        Label of each item, none missing.
    k : int or None, default None
        Cut-off; an exposure brings its own.
    merit : array_like of shape (n_items,) or None, default None
        What each item deserves, at least 0, such as its mean relevance; None takes every item alike.
    weights, patience
        As in :func:`exposure`.
    **options : ReadOptions
        As in :func:`exposure`.

    Returns
    -------
    GroupShares
        One entry per group.

    Raises
    ------
    RankboundError
        As :func:`exposure`; ShapeError unless there is a label, and a merit, per item.

    References
    ----------
    Singh and Joachims, "Fairness of exposure in rankings", KDD 2018.

    Examples
    --------
    >>> from rankbound.catalogue import group_exposure
    >>> group_exposure([[3, 2, 1], [3, 2, 2]], ["a", "b", "b"], 2).ratio
    array([1.5 , 0.75])
    """
    spec = metrics.GroupExposure(
        cut_off_of(recommendations, k),
        groups=groups,
        weights=weights,
        patience=patience,
    )
    if isinstance(recommendations, Exposure):
        shown = as_exposure(recommendations, k, options)
    else:
        silent = isinstance(recommendations, RankedLists) and recommendations.n_items is None
        size = spec.n_items if silent else None
        shown = exposure(recommendations, spec.k, weights=weights, patience=patience, n_items=size, **options)
    if spec.n_items != shown.n_items:
        raise ShapeError(f"groups has {spec.n_items} labels, but there are {shown.n_items} items; give one per item")
    names, codes = np.unique(spec.groups, return_inverse=True)
    deserved = np.ones(shown.n_items) if merit is None else as_item_vector(merit, name="merit")
    if len(deserved) != shown.n_items:
        raise ShapeError(f"merit has {len(deserved)} entries, but there are {shown.n_items} items; give one per item")
    sums, _, _ = _core.group_sums(shown.expected, codes.astype(np.uint32), len(names))
    merits, _, _ = _core.group_sums(deserved, codes.astype(np.uint32), len(names))
    share, reference = shares_of(sums), shares_of(merits)
    ratio = np.divide(share, reference, out=np.full(len(names), np.nan), where=reference > 0)
    return GroupShares(groups=names, exposure=sums, share=share, reference=reference, ratio=ratio)


def cut_off_of(recommendations: Any, k: int | None) -> int:
    """Return the cut-off, which an exposure brings."""
    return recommendations.k if isinstance(recommendations, Exposure) and k is None else needed(k)


def needed(k: int | None) -> int:
    """Return a cut-off that must be given."""
    if k is None:
        raise InvalidKError("k must be given, at least 1; only an Exposure brings its own")
    return k


def as_exposure(recommendations: Any, k: int | None, options: ReadOptions) -> Exposure:
    """Return the exposure by recommendations, or the one that they are."""
    if not isinstance(recommendations, Exposure):
        return exposure(recommendations, needed(k), **options)
    if k is not None and as_cut_off(k) != recommendations.k:
        raise InvalidKError(f"k is {k}, but the exposure is by the top {recommendations.k}; leave k out")
    if options:
        raise InvalidParameterError(f"{', '.join(options)} cannot be applied to an Exposure, which is read already")
    return recommendations


def _only(metric: ExposureMetric, shown: Exposure) -> float:
    (value,) = metric.values(shown).values()
    return value
