"""Ranks of the truth, and the best items of each row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._exclusion import Exclusion, as_exclusion
from rankbound._labels import NO_TRUTH, as_class_ids, label_indices
from rankbound._options import as_cut_off, as_flag, resolve_num_threads
from rankbound._validation import as_score_matrix
from rankbound.errors import ShapeError

__all__ = ["rank_bounds_of_truth", "rank_of_truth", "top_k"]


def rank_bounds_of_truth(
    proba: Any,
    y_true: Any,
    *,
    classes: Any = None,
    exclude: Any = None,
    mask_neg_inf: bool = False,
    num_threads: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the best and the worst rank that ties allow the truth of each row.

    Parameters
    ----------
    proba : array_like of shape (n_rows, n_classes)
        Finite scores, higher is better.
    y_true : array_like of shape (n_rows,)
        Column index, or label when ``classes`` is given, of each row's truth.
    classes : array_like of shape (n_classes,) or None, default None
        Ids of the columns.
    exclude : scipy sparse matrix or boolean array of shape (n_rows, n_classes), or None, default None
        Items that are no candidates in a row.
    mask_neg_inf : bool, default False
        Whether a score of ``-inf`` means that the item is no candidate.
    num_threads : int or None, default None
        Threads; results do not depend on it.

    Returns
    -------
    best, worst : ndarray of shape (n_rows,), dtype int64
        Ranks from 1: one more than the candidates that score strictly higher, and the number of candidates that score
        at least as high. Equal without ties. -1 for a truth that is no candidate, or a row without truth.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming argument, place and value.

    Examples
    --------
    >>> from rankbound import rank_bounds_of_truth
    >>> rank_bounds_of_truth([[0.9, 0.7, 0.7, 0.7]], [2])
    (array([2]), array([4]))
    """
    better, tied = _placements(proba, y_true, classes, exclude, mask_neg_inf=mask_neg_inf, num_threads=num_threads)
    found = tied > 0
    return np.where(found, better + 1, -1), np.where(found, better + tied, -1)


def rank_of_truth(
    proba: Any,
    y_true: Any,
    *,
    classes: Any = None,
    exclude: Any = None,
    mask_neg_inf: bool = False,
    num_threads: int | None = None,
) -> NDArray[np.float64]:
    """Return the average rank of the truth of each row over the orders that ties allow.

    A diagnostic: a metric at the average rank is not the average of the metric.

    Parameters
    ----------
    proba, y_true, classes, exclude, mask_neg_inf, num_threads
        As in :func:`rank_bounds_of_truth`.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
        Average ranks from 1; inf for a truth that is no candidate, NaN for a row without truth.

    Raises
    ------
    RankboundError
        As :func:`rank_bounds_of_truth`.

    Examples
    --------
    >>> from rankbound import rank_of_truth
    >>> rank_of_truth([[0.9, 0.7, 0.7, 0.7]], [2])
    array([3.])
    """
    better, tied = _placements(proba, y_true, classes, exclude, mask_neg_inf=mask_neg_inf, num_threads=num_threads)
    ranks = np.where(tied > 0, better + (tied + 1) / 2, np.inf)
    ranks[tied < 0] = np.nan
    return ranks


def top_k(
    proba: Any,
    k: int,
    *,
    classes: Any = None,
    exclude: Any = None,
    mask_neg_inf: bool = False,
    num_threads: int | None = None,
) -> list[list[tuple[Any, float]]]:
    """Return the best classes of each row with their scores, best first.

    Equal scores are listed in the order of their columns. That order is arbitrary, so do not compute metrics from the
    picks: :func:`rankbound.build_ranking_report` takes the scores and averages over all orders.

    Parameters
    ----------
    proba : array_like of shape (n_rows, n_classes)
        Finite scores, higher is better.
    k : int
        Number of picks per row, at least 1; rows with fewer candidates have fewer picks.
    classes : array_like of shape (n_classes,) or None, default None
        Names of the columns; None takes their indices.
    exclude, mask_neg_inf, num_threads
        As in :func:`rank_bounds_of_truth`.

    Returns
    -------
    list of list of tuple
        Per row, pairs of class name and score.

    Raises
    ------
    RankboundError
        As :func:`rank_bounds_of_truth`; InvalidKError for another ``k``.

    Examples
    --------
    >>> from rankbound import top_k
    >>> top_k([[0.2, 0.5, 0.3]], 2, classes=["a", "b", "c"])
    [[('b', 0.5), ('c', 0.3)]]
    """
    matrix = as_score_matrix(proba)
    n_rows, n_classes = matrix.shape
    cut = min(as_cut_off(k), n_classes)
    names = np.arange(n_classes) if classes is None else as_class_ids(classes, n_classes)
    columns, counts = _core.top_columns(
        matrix,
        k=cut,
        exclude=_exclusion(exclude, matrix),
        mask_neg_inf=as_flag(mask_neg_inf, name="mask_neg_inf"),
        num_threads=resolve_num_threads(num_threads),
    )
    picks = columns.reshape(n_rows, cut)
    return [
        list(zip(names[best].tolist(), matrix[row, best].tolist(), strict=True))
        for row, best in enumerate(picks[row, :count] for row, count in enumerate(counts))
    ]


def _exclusion(exclude: Any, matrix: NDArray[Any]) -> Exclusion | None:
    return as_exclusion(exclude, matrix.shape, np.arange(len(matrix)))


def _placements(
    proba: Any, y_true: Any, classes: Any, exclude: Any, *, mask_neg_inf: bool, num_threads: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return candidates above and tied with each truth; tied is 0 for a miss, -1 for a row without truth."""
    matrix = as_score_matrix(proba)
    n_rows, n_classes = matrix.shape
    truths = label_indices(y_true, classes, n_classes)
    if len(truths) != n_rows:
        raise ShapeError(f"y_true has {len(truths)} entries, but proba has {n_rows} rows; give one per row")
    scan = _core.scan_scores(
        matrix,
        np.arange(n_rows),
        truths,
        [_core.Transform.identity()],
        [],
        k=1,
        exclude=_exclusion(exclude, matrix),
        mask_neg_inf=as_flag(mask_neg_inf, name="mask_neg_inf"),
        exposed=np.zeros(n_rows, dtype=np.bool_),
        num_threads=resolve_num_threads(num_threads),
        progress=None,
    )
    better, tied = (counts.astype(np.int64) for counts in (scan.blocks[0].better, scan.blocks[0].tied))
    tied[truths == NO_TRUTH] = -1
    return better, tied
