"""Ranking metrics with the signatures of ``sklearn.metrics``, exact under ties.

========================================  ============================================================================
function                                  under ties, in scikit-learn and here
========================================  ============================================================================
``dcg_score``, ``ndcg_score``             the expectation in both; with ``ignore_ties=True`` in both the order of
                                          numpy's ``argsort``, reversed
``top_k_accuracy_score``                  the label with the larger index first; here the expectation
``label_ranking_average_precision_score`` every label at the last rank of its tie; here the expectation
``coverage_error``                        the last rank of the tie; here the expectation
``label_ranking_loss``                    a tied pair counts as wrong; here as half wrong, which is the expectation
========================================  ============================================================================

Without ties all values are equal. Rows without a relevant label are worth what scikit-learn gives them: 0 in ``dcg``,
``ndcg``, ``coverage_error`` and ``label_ranking_loss``, 1 in ``label_ranking_average_precision_score``. Stricter than
scikit-learn: gains above 2^40, and weights that are negative, are refused. Looser: ``y_true`` may be sparse everywhere,
and a warning of a meaningless ``k`` is a plain ``UserWarning``.
"""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import as_class_ids, as_vector, label_indices, show, split_missing
from rankbound._options import as_cut_off, as_flag, as_non_negative, resolve_num_threads
from rankbound._validation import as_numpy, as_score_matrix, check_finite
from rankbound.compat._groups import groups_by_list
from rankbound.compat._rows import as_weights, average, evaluate, profiles_of, read
from rankbound.errors import (
    EmptyInputError,
    GradeError,
    InvalidParameterError,
    InvalidTypeError,
    ShapeError,
    UnknownLabelError,
)
from rankbound.evaluation.targets import Targets
from rankbound.metrics import DCG, MAP, NDCG, HitRate, MetricSpec

__all__ = [
    "coverage_error",
    "dcg_score",
    "label_ranking_average_precision_score",
    "label_ranking_loss",
    "ndcg_score",
    "top_k_accuracy_score",
]


def dcg_score(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    log_base: float = 2,
    sample_weight: Any = None,
    ignore_ties: bool = False,
) -> float:
    """Return the mean discounted cumulative gain, as ``sklearn.metrics.dcg_score`` does.

    Parameters
    ----------
    y_true : array_like or sparse matrix of shape (n_samples, n_labels)
        Gain of each label, finite; it may be negative.
    y_score : array_like of shape (n_samples, n_labels)
        Finite scores, higher is better.
    k : int or None, default None
        Cut-off; None takes the whole list.
    log_base : float, default 2
        Base of the logarithm in the discount, above 0.
    sample_weight : array_like of shape (n_samples,) or None, default None
        Weight of each row, at least 0 and not all 0.
    ignore_ties : bool, default False
        Whether to rank by ``argsort`` instead of averaging over the orders of ties.

    Returns
    -------
    float
        Higher is better.

    Raises
    ------
    RankboundError
        For refused input, naming argument and place.

    Examples
    --------
    >>> from rankbound.compat.sklearn import dcg_score
    >>> dcg_score([[10, 0, 0, 1, 5]], [[1, 0, 0, 0, 1]], k=1)
    7.5
    """
    base = as_non_negative(log_base, name="log_base")
    if base == 0:
        raise InvalidParameterError("log_base is 0; it must be above 0")
    spec = DCG(_cut_off(k), gain="linear")
    gains = y_true if hasattr(y_true, "tocsr") else as_numpy(y_true, name="y_true")
    if gains.dtype.kind in "fi" and gains.size and gains.min() < 0:
        # The gain is linear, so that the negative part is subtracted. Small integers have no abs of their least.
        gains = gains.astype(np.float64)
        positive, negative = (gains + abs(gains)) / 2, (abs(gains) - gains) / 2
        values = _values(positive, y_score, spec, ignore_ties=ignore_ties)
        values -= _values(negative, y_score, spec, ignore_ties=ignore_ties)
    else:
        values = _values(gains, y_score, spec, ignore_ties=ignore_ties)
    return average(values, sample_weight) * math.log2(base)


def ndcg_score(
    y_true: Any, y_score: Any, *, k: int | None = None, sample_weight: Any = None, ignore_ties: bool = False
) -> float:
    """Return the mean normalised discounted cumulative gain, as ``sklearn.metrics.ndcg_score`` does.

    The gain is ``y_true`` itself: it is ``ndcg_linear`` in :mod:`rankbound.metrics`.

    Parameters
    ----------
    y_true : array_like or sparse matrix of shape (n_samples, n_labels)
        Gain of each label, finite and at least 0; at least two labels. A row without positive gain is worth 0.
    y_score, k, sample_weight, ignore_ties
        As in :func:`dcg_score`.

    Returns
    -------
    float
        From 0 to 1; higher is better.

    Raises
    ------
    RankboundError
        For refused input, naming argument and place.

    Examples
    --------
    >>> from rankbound.compat.sklearn import ndcg_score
    >>> ndcg_score([[10, 0, 0, 1, 5]], [[1, 0, 0, 0, 1]], k=1)
    0.75
    """
    values = _values(y_true, y_score, NDCG(_cut_off(k), gain="linear"), ignore_ties=ignore_ties, min_labels=2)
    return average(values, sample_weight)


def top_k_accuracy_score(
    y_true: Any,
    y_score: Any,
    *,
    k: int = 2,
    normalize: bool = True,
    sample_weight: Any = None,
    labels: Any = None,
) -> float:
    """Return how often the label is among the k that score highest, as ``sklearn.metrics.top_k_accuracy_score`` does.

    A label in a tie that reaches over the cut-off counts with the probability that it is within: its share of the
    places that are left. Two labels with one score per row tie where the score is the threshold.

    Parameters
    ----------
    y_true : array_like of shape (n_samples,)
        Labels.
    y_score : array_like of shape (n_samples,) or (n_samples, n_classes)
        Finite scores of the sorted labels. With two labels one score per row, of the second, whose threshold is 0.5 if
        all scores lie from 0 to 1, else 0.
    k : int, default 2
        Cut-off.
    normalize : bool, default True
        Whether to return the share of rows, or their number.
    sample_weight : array_like of shape (n_samples,) or None, default None
        Weight of each row, at least 0 and not all 0.
    labels : array_like of shape (n_classes,) or None, default None
        All labels, sorted; None takes those of ``y_true``.

    Returns
    -------
    float
        Higher is better.

    Raises
    ------
    RankboundError
        For refused input, naming argument and place.

    Examples
    --------
    >>> from rankbound.compat.sklearn import top_k_accuracy_score
    >>> top_k_accuracy_score([0, 2], [[0.4, 0.3, 0.3], [0.4, 0.3, 0.3]], k=2, labels=[0, 1, 2])
    0.75
    """
    cut_off = as_cut_off(k)
    truth, missing = split_missing(as_vector(y_true, name="y_true"), name="y_true")
    if missing.any():
        raise InvalidTypeError(f"y_true has no label at row {int(missing.argmax())}; leave the row out")
    classes = _sorted_labels(truth, labels)
    scores = as_numpy(y_score, name="y_score")
    if len(classes) <= 2 and (scores.ndim == 1 or scores.shape[1:] == (1,)):
        scores = _with_threshold(scores.reshape(len(scores)))
    matrix = as_score_matrix(scores, name="y_score")
    check_finite(matrix, mask_neg_inf=None, name="y_score")
    if matrix.shape[1] != len(classes):
        raise ShapeError(
            f"y_score has {matrix.shape[1]} columns for {len(classes)} labels; give one column per label, and name the "
            "labels that y_true lacks in labels"
        )
    if len(truth) != len(matrix):
        raise ShapeError(f"y_true has {len(truth)} entries, but y_score has {len(matrix)} rows")
    if cut_off >= len(classes):
        warnings.warn(f"k={cut_off} takes all {len(classes)} labels, so that every row is a hit", stacklevel=2)
    columns = label_indices(truth, classes, len(classes), classes_name="labels")
    if (columns < 0).any():
        row = int((columns < 0).argmax())
        raise UnknownLabelError(f"y_true has {show(truth[row])} at row {row}, which is not in labels")
    rows = np.arange(len(truth) + 1)
    targets = Targets(rows, columns.astype(np.uint32), np.ones(len(truth)), len(classes))
    hits = evaluate(profiles_of(targets, matrix), HitRate(cut_off))
    if as_flag(normalize, name="normalize"):
        return average(hits, sample_weight)
    return math.fsum(hits if sample_weight is None else hits * as_weights(sample_weight, len(hits)))


def label_ranking_average_precision_score(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Return the mean average precision of label rankings, as ``sklearn.metrics`` does under the same name.

    scikit-learn ranks tied labels at the last place of their tie, relevant ones among themselves too, which is the
    value of no order: two relevant labels in a tie of three are worth 2/3 there. Here they are worth 29/36, the mean of
    1, 5/6 and 7/12.

    Parameters
    ----------
    y_true : array_like or sparse matrix of shape (n_samples, n_labels)
        1 for relevant labels, else 0. A row without relevant labels is worth 1.
    y_score : array_like of shape (n_samples, n_labels)
        Finite scores, higher is better.
    sample_weight : array_like of shape (n_samples,) or None, default None
        Weight of each row, at least 0 and not all 0.

    Returns
    -------
    float
        Above 0, at most 1; higher is better.

    Raises
    ------
    RankboundError
        For refused input, naming argument and place.

    Examples
    --------
    >>> from rankbound.compat.sklearn import label_ranking_average_precision_score
    >>> label_ranking_average_precision_score([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.5, 0.5]])
    0.4583333333333333
    """
    profiles, _ = _profiles_of_labels(y_true, y_score)
    return average(evaluate(profiles, MAP(denominator="relevant"), empty=1.0), sample_weight)


def coverage_error(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Return how deep a ranking has to be read for all relevant labels, as ``sklearn.metrics.coverage_error`` does.

    Let the last relevant labels be r in a tie of t, behind b others: they are all read after
    ``b + r * (t + 1) / (r + 1)`` labels in the mean, where scikit-learn has ``b + t``.

    Parameters
    ----------
    y_true : array_like or sparse matrix of shape (n_samples, n_labels)
        1 for relevant labels, else 0. A row without relevant labels is worth 0.
    y_score, sample_weight
        As in :func:`label_ranking_average_precision_score`.

    Returns
    -------
    float
        From 0 to the number of labels; lower is better.

    Raises
    ------
    RankboundError
        For refused input, naming argument and place.

    Examples
    --------
    >>> from rankbound.compat.sklearn import coverage_error
    >>> coverage_error([[1, 0, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 0]])
    1.75
    """
    profiles, _ = _profiles_of_labels(y_true, y_score)
    groups = groups_by_list(profiles)
    depths = np.zeros(len(profiles))
    # The groups of a list stand in falling order of scores: the last one stays.
    depths[groups.lists] = groups.better + groups.relevant * (groups.tied + 1) / (groups.relevant + 1)
    return average(depths, sample_weight)


def label_ranking_loss(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Return the share of pairs that are ordered wrongly, as ``sklearn.metrics.label_ranking_loss`` does.

    A pair is a relevant label and an irrelevant one. A tied pair is half wrong.

    Parameters
    ----------
    y_true : array_like or sparse matrix of shape (n_samples, n_labels)
        1 for relevant labels, else 0. A row without pairs is worth 0.
    y_score, sample_weight
        As in :func:`label_ranking_average_precision_score`.

    Returns
    -------
    float
        From 0 to 1; lower is better.

    Raises
    ------
    RankboundError
        For refused input, naming argument and place.

    Examples
    --------
    >>> from rankbound.compat.sklearn import label_ranking_loss
    >>> label_ranking_loss([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.5, 0.5]])
    0.625
    """
    profiles, n_labels = _profiles_of_labels(y_true, y_score)
    groups = groups_by_list(profiles)
    relevant = profiles.n_relevant().astype(np.int64)
    before = np.cumsum(groups.relevant) - groups.relevant
    # Relevant labels in better groups of the same list.
    better_relevant = before - (np.cumsum(relevant) - relevant)[groups.lists]
    irrelevant_above = groups.better - better_relevant + (groups.tied - groups.relevant) / 2
    wrong = np.bincount(groups.lists, groups.relevant * irrelevant_above, minlength=len(profiles))
    pairs = relevant * (n_labels - relevant)
    return average(np.divide(wrong, pairs, out=np.zeros(len(profiles)), where=pairs > 0), sample_weight)


def _cut_off(k: Any) -> int | None:
    return None if k is None else as_cut_off(k)


def _values(
    y_true: Any, y_score: Any, spec: MetricSpec, *, ignore_ties: bool, min_labels: int = 1
) -> NDArray[np.float64]:
    """Return a graded metric of each row, 0 for rows without positive grades."""
    targets, matrix = read(y_true, y_score)
    if matrix.shape[1] < min_labels:
        raise ShapeError(
            f"y_true has {matrix.shape[1]} label(s): a list of one has no order; give at least {min_labels}"
        )
    targets.check_grades([spec])
    if not as_flag(ignore_ties, name="ignore_ties"):
        return evaluate(profiles_of(targets, matrix), spec)
    n_rows, n_labels = matrix.shape
    profiles, _ = _core.profile_lists(
        np.argsort(matrix)[:, ::-1].ravel(),
        None,
        np.arange(n_rows, dtype=np.uint64) * np.uint64(n_labels),
        np.full(n_rows, n_labels, dtype=np.uint64),
        targets.core(graded=True),
        name="y_score",
        open_tie="as_listed",
        cut_off=n_labels,
        keep_first=False,
        check_scores=False,
        num_threads=resolve_num_threads(None),
    )
    return evaluate(profiles, spec)


def _profiles_of_labels(y_true: Any, y_score: Any) -> tuple[_core.Profiles, int]:
    targets, matrix = read(y_true, y_score)
    if (targets.grades != 1).any():
        at = int((targets.grades != 1).argmax())
        row = int(np.searchsorted(targets.starts, at, side="right")) - 1
        raise GradeError(
            f"y_true has {targets.grades[at]:g} at row {row}, column {targets.items[at]}: mark what is relevant by 1"
        )
    return profiles_of(targets, matrix), targets.n_items


def _sorted_labels(truth: NDArray[Any], labels: Any) -> NDArray[Any]:
    if not len(truth):
        raise EmptyInputError("y_true is empty: there is nothing to evaluate")
    if labels is None:
        return np.unique(truth)
    classes = as_class_ids(labels, name="labels")
    if (classes[1:] < classes[:-1]).any():
        raise InvalidParameterError("labels is not sorted; sort it, and the columns of y_score with it")
    return classes


def _with_threshold(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return two columns, of which the second is larger where a score is above the threshold."""
    if scores.dtype.kind not in "fiu" or not scores.size:
        return scores.reshape(-1, 1)
    threshold = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0
    return np.column_stack([np.full(len(scores), threshold), scores])
