"""Means over lists of what their items are."""

from typing import Any, Unpack

import numpy as np

from rankbound import _core
from rankbound.catalogue import metrics
from rankbound.catalogue.evaluator import CatalogueEvaluator, ReadOptions
from rankbound.catalogue.exposure import Exposure, RankValue
from rankbound.catalogue.exposures import as_exposure, cut_off_of
from rankbound.catalogue.spec import CatalogueMetric, ItemMetric
from rankbound.errors import InvalidParameterError


def novelty(
    recommendations: Any,
    k: int | None = None,
    *,
    counts: Any,
    q: str = "interactions",
    n_users: int | None = None,
    **options: Unpack[ReadOptions],
) -> float:
    """Return the mean self-information of what is shown in the top ``k``, in bits.

    Parameters
    ----------
    recommendations : RankedLists, Embeddings, array_like of shape (n_rows, n_items), or Exposure
        As in :func:`exposure`; an exposure will do if every list has as many items.
    k : int or None, default None
        Cut-off; an exposure brings its own.
    counts : array_like of shape (n_items,)
        Training interactions of each item, or with ``q="users"`` its training users. An item without any is taken to
        have one; :attr:`Novelty.n_floored` counts them.
    q : {"interactions", "users"}, default "interactions"
        Whether a share is of all interactions or of all users.
    n_users : int or None, default None
        Number of training users, for ``q="users"``.
    **options : ReadOptions
        As in :func:`exposure`.

    Returns
    -------
    float
        At least 0, higher is more novel: the mean over lists of the expected mean of ``-log2 q``. Lists without items
        are left out; NaN without any other.

    Raises
    ------
    RankboundError
        As :func:`exposure`; InvalidParameterError for counts that are not whole numbers or all 0.

    References
    ----------
    Vargas and Castells, "Rank and relevance in novelty and diversity metrics for recommender systems", RecSys 2011.

    Examples
    --------
    >>> from rankbound.catalogue import novelty
    >>> novelty([[1, 1, 1, 1]], 2, counts=[4, 2, 1, 1])
    2.25
    """
    k = cut_off_of(recommendations, k)
    return list_mean(recommendations, metrics.Novelty(k, counts=counts, q=q, n_users=n_users), options)


def average_recommendation_popularity(
    recommendations: Any, k: int | None = None, *, counts: Any, scale: str = "counts", **options: Unpack[ReadOptions]
) -> float:
    """Return the mean training popularity of what is shown in the top ``k``.

    Parameters
    ----------
    recommendations, k
        As in :func:`novelty`.
    counts : array_like of shape (n_items,)
        Training interactions of each item.
    scale : {"counts", "share", "percentile"}, default "counts"
        Popularity as counts, as shares of all interactions, or as the share of items that are less popular, those as
        popular counting half.
    **options : ReadOptions
        As in :func:`exposure`.

    Returns
    -------
    float
        In the unit of the scale, higher is more popular; NaN without lists.

    Raises
    ------
    RankboundError
        As :func:`novelty`.

    References
    ----------
    Yin et al., "Challenging the long tail recommendation", PVLDB 5(9), 2012.

    Examples
    --------
    >>> from rankbound.catalogue import average_recommendation_popularity
    >>> average_recommendation_popularity([[3, 2, 2, 1]], 2, counts=[8, 4, 2, 1])
    5.5
    """
    k = cut_off_of(recommendations, k)
    return list_mean(recommendations, metrics.AverageRecommendationPopularity(k, counts=counts, scale=scale), options)


def tail_share(
    recommendations: Any, k: int | None = None, *, counts: Any, tail_mass: float = 0.2, **options: Unpack[ReadOptions]
) -> float:
    """Return the share of the top ``k`` that items of the tail take.

    Parameters
    ----------
    recommendations, k
        As in :func:`novelty`.
    counts : array_like of shape (n_items,)
        Training interactions of each item.
    tail_mass : float, default 0.2
        The tail is the largest set of least popular items with at most this share of all interactions; items of equal
        count go in or stay out together.
    **options : ReadOptions
        As in :func:`exposure`.

    Returns
    -------
    float
        From 0 to 1; NaN without lists.

    Raises
    ------
    RankboundError
        As :func:`novelty`.

    References
    ----------
    Abdollahpouri, Burke and Mobasher, "Managing popularity bias in recommender systems with personalized re-ranking",
    FLAIRS 2019.

    Examples
    --------
    >>> from rankbound.catalogue import tail_share
    >>> tail_share([[1, 2, 2, 2, 0]], 2, counts=[50, 30, 10, 5, 5])
    0.6666666666666666
    """
    k = cut_off_of(recommendations, k)
    return list_mean(recommendations, metrics.TailShare(k, counts=counts, tail_mass=tail_mass), options)


def intra_list_diversity(
    recommendations: Any, k: int, *, features: Any = None, metric: Any = "cosine", **options: Unpack[ReadOptions]
) -> float:
    """Return the mean distance between two items of a list's top ``k``.

    Parameters
    ----------
    recommendations : RankedLists, Embeddings or array_like of shape (n_rows, n_items)
        As in :func:`exposure`.
    k : int
        Cut-off.
    features : array_like or scipy sparse matrix of shape (n_items, n_features), or None, default None
        What the items are like.
    metric : "cosine", callable, or array_like of shape (n_items, n_items), default "cosine"
        ``1 - cos``; a function of two feature vectors, called once for every pair of items; or the distances.
    **options : ReadOptions
        As in :func:`exposure`.

    Returns
    -------
    float
        In the unit of the distance, higher is more diverse: the mean over lists of the expected mean over unordered
        pairs. Lists with fewer than two items are left out; NaN without any other.

    Raises
    ------
    RankboundError
        As :func:`exposure`; InvalidParameterError for features of zeros, which have no direction, and for distances
        that are negative or not symmetric.

    References
    ----------
    Ziegler et al., "Improving recommendation lists through topic diversification", WWW 2005.

    Examples
    --------
    >>> from rankbound.catalogue import intra_list_diversity
    >>> intra_list_diversity([[3, 2, 1]], 3, metric=[[0, 0.2, 0.9], [0.2, 0, 0.4], [0.9, 0.4, 0]])
    0.5
    >>> intra_list_diversity([[3, 2, 2]], 2, features=[[1, 0], [2, 0], [0, 1]])
    0.5
    """
    return list_mean(recommendations, metrics.IntraListDiversity(k, features=features, metric=metric), options)


def list_mean(recommendations: Any, metric: CatalogueMetric, options: ReadOptions, targets: Any = None) -> float:
    """Return a metric of recommendations, or of an exposure if that says enough."""
    if isinstance(recommendations, Exposure) and isinstance(metric, ItemMetric):
        return _mean_of_exposure(as_exposure(recommendations, metric.k, options), metric)
    evaluator = CatalogueEvaluator(metric)
    evaluator.update(recommendations, targets, **options)
    return evaluator.compute()[metric.key]


def _mean_of_exposure(shown: Exposure, metric: ItemMetric) -> float:
    total = _core.exact_sum(shown.expected)
    # Lists that are as long as can be fill n_lists * min(k, n_items) places; one place less would show.
    short = shown.n_lists * min(shown.k, shown.n_items) - total > 0.5
    if shown.rank_value != RankValue() or short:
        raise InvalidParameterError(
            f"{metric.label} cannot be read from an exposure with rank weights, or by lists of different lengths: pass "
            "the scores or ranked lists"
        )
    values = metric.item_values(shown.n_items)
    return _core.exact_sum(shown.expected * values) / total if shown.n_lists else float(np.nan)
