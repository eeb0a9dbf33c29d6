"""Label ranking: how well predicted rankings of a fixed set of labels agree with the true ones.

A ranking is a position vector: entry ``j`` is the position of label ``j``, and labels with equal positions tie. Only
the order of the positions counts, so 1, 2, 3 and 0.5, 7, 9 are the same ranking. Every ranking is complete. Each
function returns the (weighted) mean over the rows; pairs of labels are counted in integers, and the mean is rounded
once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import split_missing
from rankbound._options import as_choice, as_flag, resolve_num_threads
from rankbound._validation import MAX_EXACT_INTEGER, as_numpy
from rankbound.errors import (
    EmptyInputError,
    IncompleteRankingError,
    InvalidParameterError,
    InvalidTypeError,
    MissingDependencyError,
    ShapeError,
)

__all__ = [
    "get_scorer",
    "get_scorer_names",
    "kendall_distance",
    "kendall_tau_expected",
    "kendall_tau_score",
    "tau_x_score",
]


def kendall_tau_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None, num_threads: int | None = None) -> float:
    """Return the mean Kendall tau between true and predicted rankings without ties.

    Of the ``n0 = m(m-1)/2`` pairs of labels, the share ordered in the same way minus the share ordered in opposite
    ways: ``1 - 2 * discordant / n0`` [1]_.

    Parameters
    ----------
    y_true : array_like of shape (n_rankings, n_labels)
        Position of each label, finite, without ties; at least two labels.
    y_pred : array_like of shape (n_rankings, n_labels)
        The predicted positions, likewise.
    sample_weight : array_like of shape (n_rankings,) or None, default None
        Weight of each ranking, at least 0 and not all 0; None weighs all alike.
    num_threads : int or None, default None
        Threads; results do not depend on it.

    Returns
    -------
    float
        From -1 (all reversed) to 1 (all equal); higher is better.

    Raises
    ------
    TiedRankingError
        If a ranking has ties; :func:`tau_x_score` and :func:`kendall_tau_expected` allow them.
    IncompleteRankingError
        If a label has no position, or one that is not finite.
    ShapeError, EmptyInputError
        If the shapes differ, there is a single label, or nothing at all.
    InvalidTypeError, InvalidParameterError
        For positions or weights that are no numbers or out of range.

    References
    ----------
    .. [1] M. G. Kendall (1938). A new measure of rank correlation. Biometrika 30, 81-93.

    Examples
    --------
    >>> from rankbound.label_ranking import kendall_tau_score
    >>> kendall_tau_score([[1, 2, 3], [3, 2, 1]], [[1, 2, 3], [1, 3, 2]])
    0.3333333333333333
    >>> kendall_tau_score([[1, 2, 3], [3, 2, 1]], [[1, 2, 3], [1, 3, 2]], sample_weight=[3, 1])
    0.6666666666666666
    """
    sums = _sum_pairs(y_true, y_pred, sample_weight, num_threads, refuse_ties=True)
    return (sums.pairs - 2 * sums.discordant) / sums.pairs


def kendall_distance(
    y_true: Any,
    y_pred: Any,
    *,
    normalize: bool = True,
    sample_weight: Any = None,
    num_threads: int | None = None,
) -> float:
    """Return the mean Kendall distance between true and predicted rankings without ties.

    The number of pairs of labels that the two rankings order in opposite ways [1]_.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_rankings, n_labels)
        Positions, as in :func:`kendall_tau_score`.
    normalize : bool, default True
        Whether to divide by the number of all pairs, ``n_labels * (n_labels - 1) / 2``.
    sample_weight, num_threads
        As in :func:`kendall_tau_score`.

    Returns
    -------
    float
        From 0 (all equal) to 1, or to the number of pairs if not normalised; lower is better.

    Raises
    ------
    RankboundError
        As :func:`kendall_tau_score`.

    References
    ----------
    .. [1] M. G. Kendall (1938). A new measure of rank correlation. Biometrika 30, 81-93.

    Examples
    --------
    >>> from rankbound.label_ranking import kendall_distance
    >>> kendall_distance([[1, 2, 3], [3, 2, 1]], [[1, 2, 3], [1, 3, 2]])
    0.3333333333333333
    >>> kendall_distance([[1, 2, 3], [3, 2, 1]], [[1, 2, 3], [1, 3, 2]], normalize=False)
    1.0
    """
    share = as_flag(normalize, name="normalize")
    sums = _sum_pairs(y_true, y_pred, sample_weight, num_threads, refuse_ties=True)
    return sums.discordant / (sums.pairs if share else sums.weight)


def tau_x_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None, num_threads: int | None = None) -> float:
    """Return the mean tau_x between true and predicted rankings, which takes a tie as a statement of its own.

    Over the pairs of labels: 1 if both rankings order them alike or both tie them, -1 if they order them in opposite
    ways, 0 if only one ties them [1]_. It is 1 minus the distance of Kemeny and Snell in units of half its maximum, and
    Kendall's tau where nothing ties.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_rankings, n_labels)
        Positions, as in :func:`kendall_tau_score`, with or without ties.
    sample_weight, num_threads
        As in :func:`kendall_tau_score`.

    Returns
    -------
    float
        From -1 to 1 (all equal, ties included); higher is better.

    Raises
    ------
    RankboundError
        As :func:`kendall_tau_score`, but not for ties.

    References
    ----------
    .. [1] E. J. Emond and D. W. Mason (2002). A new rank correlation coefficient with application to the consensus
       ranking problem. Journal of Multi-Criteria Decision Analysis 11, 17-28.

    Examples
    --------
    >>> from rankbound.label_ranking import tau_x_score
    >>> tau_x_score([[1, 1, 2, 3]], [[1, 2, 2, 3]])
    0.6666666666666666
    >>> tau_x_score([[1, 1, 1]], [[1, 1, 1]])
    1.0
    """
    sums = _sum_pairs(y_true, y_pred, sample_weight, num_threads, refuse_ties=False)
    return (sums.pairs - sums.tied_in_one - 2 * sums.discordant) / sums.pairs


def kendall_tau_expected(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, num_threads: int | None = None
) -> float:
    """Return the mean Kendall tau expected if all ties are broken at random.

    A pair of labels that either ranking ties is as often concordant as discordant, so that the expectation is
    ``(concordant - discordant) / n0``, known as tau_a [1]_. It differs from :func:`tau_x_score`: a ranking in which
    everything ties has 0 with itself here, 1 there.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_rankings, n_labels)
        Positions, as in :func:`kendall_tau_score`, with or without ties.
    sample_weight, num_threads
        As in :func:`kendall_tau_score`.

    Returns
    -------
    float
        From -1 to 1, which only rankings without ties reach; higher is better.

    Raises
    ------
    RankboundError
        As :func:`kendall_tau_score`, but not for ties.

    References
    ----------
    .. [1] M. G. Kendall (1945). The treatment of ties in ranking problems. Biometrika 33, 239-251.

    Examples
    --------
    >>> from rankbound.label_ranking import kendall_tau_expected
    >>> kendall_tau_expected([[1, 2, 2, 3]], [[1, 2, 3, 4]])
    0.8333333333333334
    >>> kendall_tau_expected([[1, 1, 1]], [[1, 1, 1]])
    0.0
    """
    sums = _sum_pairs(y_true, y_pred, sample_weight, num_threads, refuse_ties=False)
    return (sums.pairs - sums.tied_in_one - sums.tied_in_both - 2 * sums.discordant) / sums.pairs


# Name, function, and whether more is better: a scorer of a distance negates it.
_SCORERS = {
    "kendall_tau": (kendall_tau_score, True),
    "neg_kendall_distance": (kendall_distance, False),
    "tau_x": (tau_x_score, True),
}


def get_scorer_names() -> list[str]:
    """Return the names that :func:`get_scorer` takes.

    Returns
    -------
    list of str
        Sorted.

    Examples
    --------
    >>> from rankbound.label_ranking import get_scorer_names
    >>> get_scorer_names()
    ['kendall_tau', 'neg_kendall_distance', 'tau_x']
    """
    return sorted(_SCORERS)


def get_scorer(name: str) -> Any:
    """Return a scikit-learn scorer, for ``scoring=`` of ``cross_val_score``, ``GridSearchCV`` and the like.

    The estimator's ``predict`` must return positions of shape (n_rankings, n_labels). Where metadata routing is
    enabled, ``set_score_request(sample_weight=True)`` asks for the weights.

    Parameters
    ----------
    name : str
        One of :func:`get_scorer_names`. Higher is always better: ``neg_kendall_distance`` is the normalised distance
        times -1.

    Returns
    -------
    callable
        What ``sklearn.metrics.make_scorer`` makes of the function.

    Raises
    ------
    InvalidParameterError
        For another name.
    MissingDependencyError
        If scikit-learn is not installed.

    Examples
    --------
    >>> from rankbound.label_ranking import get_scorer
    >>> get_scorer("kendall_tau")
    make_scorer(kendall_tau_score, response_method='predict')
    """
    function, greater_is_better = _SCORERS[as_choice(name, get_scorer_names(), name="name")]
    try:
        from sklearn.metrics import make_scorer  # noqa: PLC0415 - an extra, loaded when it is asked for
    except ImportError as error:
        raise MissingDependencyError("get_scorer needs scikit-learn: pip install 'rankbound[sklearn]'") from error
    return make_scorer(function, greater_is_better=greater_is_better)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PairSums:
    """Weighted sums over rankings, as integers in units of one power of two, which cancels in every ratio."""

    weight: int
    pairs: int
    discordant: int
    tied_in_one: int
    tied_in_both: int


def _sum_pairs(
    y_true: Any, y_pred: Any, sample_weight: Any, num_threads: int | None, *, refuse_ties: bool
) -> _PairSums:
    true, pred = _as_rankings(y_true, "y_true"), _as_rankings(y_pred, "y_pred")
    if true.shape != pred.shape:
        raise ShapeError(
            f"y_true has shape {true.shape}, but y_pred has {pred.shape}; give both one ranking per row, of the same "
            "labels"
        )
    n_rankings, n_labels = true.shape
    sums = _core.sum_pairs(
        true,
        pred,
        _as_weights(sample_weight, n_rankings),
        refuse_ties=refuse_ties,
        num_threads=resolve_num_threads(num_threads),
    )
    unit = min(exponent for exponent, *_ in sums)
    weight, discordant, tied_in_one, tied_in_both = (
        sum(of_exponent[which] << (of_exponent[0] - unit) for of_exponent in sums) for which in range(1, 5)
    )
    return _PairSums(
        weight=weight,
        pairs=weight * (n_labels * (n_labels - 1) // 2),
        discordant=discordant,
        tied_in_one=tied_in_one,
        tied_in_both=tied_in_both,
    )


def _as_rankings(rankings: Any, name: str) -> NDArray[Any]:
    matrix = as_numpy(rankings, name=name)
    if matrix.ndim != 2:
        raise ShapeError(
            f"{name} has {matrix.ndim} dimension(s), shape {matrix.shape}; it must have two, one ranking per row and "
            f"one label per column: for a single ranking pass [{name}]"
        )
    if 0 in matrix.shape:
        raise EmptyInputError(f"{name} has shape {matrix.shape}: there is nothing to compare")
    if matrix.shape[1] == 1:
        raise ShapeError(f"{name} has shape {matrix.shape}: a single label has no order; give at least two columns")
    if matrix.dtype.kind == "O":
        _, missing = split_missing(matrix.ravel(), name=name)
        if missing.any():
            row, column = np.argwhere(missing.reshape(matrix.shape))[0]
            raise IncompleteRankingError(
                f"{name} has {matrix[row, column]} at row {row}, column {column}: rankings must be complete; rank all "
                "labels of the row or leave it out"
            )
    if matrix.dtype.kind not in "fiu" or matrix.dtype.char == "g":
        raise InvalidTypeError(
            f"{name} has dtype {matrix.dtype}; positions must be integers or float16/32/64: convert to one of these"
        )
    return matrix


def _as_weights(sample_weight: Any, n_rankings: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weights = as_numpy(sample_weight, name="sample_weight")
    if weights.shape != (n_rankings,):
        raise ShapeError(
            f"sample_weight has shape {weights.shape}, but there are {n_rankings} rankings; give one weight for each"
        )
    if weights.dtype.kind not in "fiub" or weights.dtype.char == "g":
        raise InvalidTypeError(f"sample_weight has dtype {weights.dtype}; convert it to float64")
    too_large = weights > MAX_EXACT_INTEGER if weights.dtype.kind in "iu" else False
    wrong = ~(np.isfinite(weights) & (weights >= 0)) | too_large
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidParameterError(
            f"sample_weight has {weights[row]} at row {row}; weights must be finite and at least 0, integers at "
            "most 2^53"
        )
    if not weights.any():
        raise InvalidParameterError(
            f"sample_weight is 0 for all {n_rankings} rankings: give at least one a positive weight"
        )
    return np.ascontiguousarray(weights, dtype=np.float64)
