"""Fits a comparability state: counts, dead classes and percentile knots."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._comparability_state import ComparabilityState, FittedOn, PercentileKnots, row_fingerprint
from rankbound._labels import NO_TRUTH, UNSEEN, as_class_ids, label_indices
from rankbound._options import as_flag, as_integer, resolve_num_threads
from rankbound._validation import as_score_matrix, check_exact_integers
from rankbound.errors import EmptyInputError, InvalidParameterError, ShapeError, UnknownLabelError


def fit_comparability(
    y: Any,
    proba: Any = None,
    *,
    classes: Any = None,
    n_classes: int | None = None,
    percentile: bool = False,
    n_knots: int = 101,
    fitted_on: FittedOn = "train",
    mask_neg_inf: bool = False,
    num_threads: int | None = None,
) -> ComparabilityState:
    """Count the classes and, with reference scores, learn which are dead and how their scores are distributed.

    Parameters
    ----------
    y : array_like of shape (n_rows,)
        Labels: ids of ``classes`` if given, else column indices. None and NaN mean an unlabelled row.
    proba : array_like of shape (n_rows, n_classes) or None, default None
        Reference scores of the same rows, finite. Without them no class is known to be dead.
    classes : array_like of shape (n_classes,) or None, default None
        Distinct ids of the columns. None takes 0, 1, 2, ...
    n_classes : int or None, default None
        Number of classes, where neither ``proba`` nor ``classes`` tells.
    percentile : bool, default False
        Whether to keep the knots that :func:`apply_rank_percentile` needs.
    n_knots : int, default 101
        The most knots per class, from 2 to 65536. A class with at most that many distinct reference scores is
        represented exactly; otherwise percentiles are off by at most ``1 / (n_knots - 1) + 1 / n_rows``.
    fitted_on : {"train", "calibration", "evaluation", "labels_only"}, default "train"
        What ``y`` and ``proba`` are. Kept in the state; "train" without ``proba`` becomes "labels_only".
    mask_neg_inf : bool, default False
        Whether a reference score of ``-inf`` means that the class was no candidate, and is left out.
    num_threads : int or None, default None
        Threads; None takes ``RANKBOUND_NUM_THREADS``, else all cores. The state does not depend on it.

    Returns
    -------
    ComparabilityState
        Frozen; save it beside the model.

    Raises
    ------
    UnknownLabelError
        For a label outside the classes, -1 included, naming the row and the value.
    EmptyInputError
        If no row is labelled.
    ShapeError
        If lengths differ.
    NonFiniteScoreError
        For reference scores that are not finite.
    InvalidParameterError
        For ``percentile`` without ``proba``, and options out of range.

    Examples
    --------
    >>> from rankbound.comparability import fit_comparability
    >>> state = fit_comparability(["b", "a", "b", "b"], classes=["a", "b", "c"])
    >>> state.base_rates
    array([0.25, 0.75, 0.  ])
    >>> state.n_floored, state.fitted_on
    (1, 'labels_only')
    """
    percentile = as_flag(percentile, name="percentile")
    mask_neg_inf = as_flag(mask_neg_inf, name="mask_neg_inf")
    matrix = None if proba is None else as_score_matrix(proba)
    if n_classes is not None and (n_classes := as_integer(n_classes, name="n_classes")) < 1:
        raise InvalidParameterError(f"n_classes must be at least 1, got {n_classes}")
    if matrix is not None:
        if n_classes is not None and n_classes != matrix.shape[1]:
            raise ShapeError(f"n_classes is {n_classes}, but proba has {matrix.shape[1]} columns; drop n_classes")
        n_classes = matrix.shape[1]
    elif percentile:
        raise InvalidParameterError("percentile=True needs reference scores: pass proba")
    elif fitted_on == "train":
        fitted_on = "labels_only"
    if matrix is not None and fitted_on == "labels_only":
        raise InvalidParameterError("fitted_on='labels_only' contradicts proba: say what the scores come from")
    if classes is not None:
        ids = as_class_ids(classes, n_classes)
    elif n_classes is not None:
        ids = np.arange(n_classes)
    else:
        raise InvalidParameterError("the number of classes is unknown: pass proba, classes or n_classes")
    indices = _seen_indices(y, classes if classes is None else ids, len(ids))
    if matrix is not None and len(indices) != len(matrix):
        raise ShapeError(f"y has {len(indices)} labels for {len(matrix)} rows of proba; give one label per row")
    return state_of(
        indices,
        ids,
        matrix,
        n_knots=n_knots if percentile else None,
        fitted_on=fitted_on,
        mask_neg_inf=mask_neg_inf,
        num_threads=num_threads,
    )


def state_of(
    indices: NDArray[np.int64],
    ids: NDArray[Any],
    matrix: NDArray[Any] | None,
    *,
    n_knots: int | None,
    fitted_on: FittedOn,
    mask_neg_inf: bool,
    num_threads: int | None,
) -> ComparabilityState:
    """Return the state of checked labels and reference scores, which need not be of the same rows."""
    dead, knots = _reference(matrix, len(ids), n_knots, mask_neg_inf=mask_neg_inf, num_threads=num_threads)
    labelled = indices[indices >= 0]
    return ComparabilityState(
        classes=ids,
        n_labelled=len(labelled),
        counts=np.bincount(labelled, minlength=len(ids)),
        dead=dead,
        knots=knots,
        n_knots=n_knots,
        n_reference=0 if matrix is None else len(matrix),
        score_dtype=None if matrix is None else matrix.dtype.name,
        fitted_on=fitted_on,
        row_fingerprint=row_fingerprint(indices),
    )


def _seen_indices(y: Any, classes: Any, n_classes: int) -> NDArray[np.int64]:
    indices = label_indices(y, classes, n_classes, name="y")
    unseen = np.flatnonzero(indices == UNSEEN)
    if len(unseen):
        row = int(unseen[0])
        value = y.iloc[row] if hasattr(y, "iloc") else y[row]
        raise UnknownLabelError(
            f"y has {value!r} at row {row}, which is none of the {n_classes} classes; drop such rows or add the class"
        )
    if (indices == NO_TRUTH).all():
        raise EmptyInputError("y has no labelled row: there is nothing to count")
    return indices


def _reference(
    matrix: NDArray[Any] | None,
    n_classes: int,
    n_knots: int | None,
    *,
    mask_neg_inf: bool,
    num_threads: int | None,
) -> tuple[NDArray[np.bool_], PercentileKnots | None]:
    """Return dead flags and, with ``n_knots``, knots."""
    if matrix is None:
        return np.zeros(n_classes, dtype=np.bool_), None
    check_exact_integers(matrix)
    threads = resolve_num_threads(num_threads)
    if n_knots is None:
        return _core.dead_classes(matrix, mask_neg_inf=mask_neg_inf, num_threads=threads), None
    n_knots = as_integer(n_knots, name="n_knots")
    if not 2 <= n_knots <= 65536:
        raise InvalidParameterError(f"n_knots must be between 2 and 65536, got {n_knots}")
    values, less, equal, offsets, dead = _core.fit_knots(
        matrix, n_knots=n_knots, mask_neg_inf=mask_neg_inf, num_threads=threads
    )
    return dead, PercentileKnots(values=values, less=less, equal=equal, offsets=offsets)
