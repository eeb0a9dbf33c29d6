"""Scores that can be compared across classes: shrinkage, popularity discount and rank percentile.

A model that scores rare and frequent classes on one scale ranks the frequent ones first. The transforms here change
the sort key across classes, not the model: within a class the order of the scores stays. They need a
:class:`ComparabilityState`, fitted once on data that is not graded.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from rankbound import _core
from rankbound._comparability_fit import fit_comparability
from rankbound._comparability_state import ComparabilityState, PercentileKnots, percentile_transform
from rankbound._options import as_choice, as_flag, as_non_negative, resolve_num_threads
from rankbound._validation import as_score_matrix, check_exact_integers, check_finite
from rankbound.errors import InvalidParameterError, StateError

__all__ = [
    "OBJECTIVE_ALPHA",
    "ComparabilityState",
    "PercentileKnots",
    "RankingObjective",
    "apply_eb_shrinkage",
    "apply_popularity_discount",
    "apply_rank_percentile",
    "fit_comparability",
    "transform_for_objective",
]


class RankingObjective(StrEnum):
    """What a ranking is for; each name stands for an exponent of the popularity discount."""

    ACCURACY = "accuracy"
    BALANCED = "balanced"
    COVERAGE = "coverage"


OBJECTIVE_ALPHA: Mapping[RankingObjective, float] = MappingProxyType(
    {RankingObjective.ACCURACY: 0.0, RankingObjective.BALANCED: 0.5, RankingObjective.COVERAGE: 1.0}
)
"""Exponent of the popularity discount of each objective."""


def transform_for_objective(
    proba: Any,
    objective: RankingObjective | str = "accuracy",
    *,
    state: ComparabilityState | None = None,
    popularity_discount: float | None = None,
    shrinkage_strength: float = 0.0,
    percentile: bool = False,
    zero_base_rate: str = "floor",
    classes: Any = None,
    mask_neg_inf: bool = False,
    num_threads: int | None = None,
) -> NDArray[Any]:
    """Rewrite scores so that ranking by them serves an objective.

    Shrinkage comes first, then the popularity discount; the percentile stands alone.

    Parameters
    ----------
    proba : array_like of shape (n_rows, n_classes)
        Scores, higher is better: from 0 to 1 for shrinkage, at least 0 for the discount, any for the percentile.
    objective : {"accuracy", "balanced", "coverage"}, default "accuracy"
        Sets the exponent of the discount to 0, 0.5 or 1.
    state : ComparabilityState or None, default None
        What was learned about the classes. Needed for all but the unchanged scores.
    popularity_discount : float or None, default None
        The exponent itself, at least 0, instead of the objective's.
    shrinkage_strength : float, default 0.0
        As in :func:`apply_eb_shrinkage`; 0 is off.
    percentile : bool, default False
        As :func:`apply_rank_percentile`.
    zero_base_rate : {"floor", "refuse"}, default "floor"
        What a discount makes of a class that was never seen: it counts as seen once, or the state is refused.
    classes : array_like of shape (n_classes,) or None, default None
        Ids of the columns, if the state is to be checked against them.
    mask_neg_inf : bool, default False
        Whether a score of ``-inf`` means that the item is no candidate; it stays ``-inf``.
    num_threads : int or None, default None
        Threads; None takes ``RANKBOUND_NUM_THREADS``, else all cores. Results do not depend on it.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        float64. With exponent 0, no shrinkage and no percentile: the scores themselves, in their own dtype.

    Raises
    ------
    StateError
        Without a state where one is needed, or with a state of other classes, without knots, or without base rates,
        of all classes or, if so asked, of one.
    InvalidParameterError
        For options out of range or that exclude one another.
    ScoreRangeError, NonFiniteScoreError
        For scores on which the transform is not defined, naming row and column.

    Examples
    --------
    >>> from rankbound.comparability import fit_comparability, transform_for_objective
    >>> state = fit_comparability([0] * 30 + [1] + [2] * 20 + [3] * 49, n_classes=4)
    >>> transform_for_objective([[0.4, 0.1, 0.3, 0.0]], "coverage", state=state).round(4)
    array([[ 1.3333, 10.    ,  1.5   ,  0.    ]])
    """
    mask_neg_inf = as_flag(mask_neg_inf, name="mask_neg_inf")
    matrix = as_score_matrix(proba)
    transform = resolve_transform(
        matrix.shape[1],
        objective,
        state=state,
        popularity_discount=popularity_discount,
        shrinkage_strength=shrinkage_strength,
        percentile=as_flag(percentile, name="percentile"),
        zero_base_rate=as_choice(zero_base_rate, ("floor", "refuse"), name="zero_base_rate"),
        classes=classes,
    )
    if transform is None:
        check_finite(matrix, mask_neg_inf=mask_neg_inf)
        return matrix
    check_exact_integers(matrix)
    return _core.transform_scores(
        matrix, transform, mask_neg_inf=mask_neg_inf, num_threads=resolve_num_threads(num_threads)
    )


def objective_alpha(objective: RankingObjective | str, popularity_discount: float | None = None) -> float:
    """Return the exponent of the popularity discount: the explicit one, else the objective's."""
    try:
        alpha = OBJECTIVE_ALPHA[RankingObjective(objective)]
    except ValueError as error:
        names = ", ".join(repr(str(name)) for name in RankingObjective)
        raise InvalidParameterError(f"objective must be one of {names}, got {objective!r}") from error
    return alpha if popularity_discount is None else as_non_negative(popularity_discount, name="popularity_discount")


def resolve_transform(
    n_classes: int,
    objective: RankingObjective | str = "accuracy",
    *,
    state: ComparabilityState | None,
    popularity_discount: float | None = None,
    shrinkage_strength: float = 0.0,
    percentile: bool = False,
    zero_base_rate: str = "floor",
    classes: Any = None,
) -> _core.Transform | None:
    """Return the transform that :func:`transform_for_objective` applies, or None for unchanged scores."""
    alpha = objective_alpha(objective, popularity_discount)
    strength = as_non_negative(shrinkage_strength, name="shrinkage_strength")
    if percentile and strength > 0:
        raise InvalidParameterError(
            "percentile=True excludes shrinkage_strength: shrinking keeps the order within a class, hence its "
            "percentiles; choose one"
        )
    if percentile and alpha > 0:
        raise InvalidParameterError(
            f"percentile=True excludes a popularity discount (here {alpha:g}): percentiles are no probabilities; "
            "use objective='accuracy' or popularity_discount=0"
        )
    if state is not None:
        if not isinstance(state, ComparabilityState):
            raise StateError(f"state must be a ComparabilityState, got {type(state).__name__}; see fit_comparability")
        state.check_classes(n_classes, classes)
    needs = {
        f"popularity_discount={alpha:g}": alpha > 0,
        f"shrinkage_strength={strength:g}": strength > 0,
        "percentile=True": percentile,
    }
    if not any(needs.values()):
        return None
    if state is None:
        wanted = " and ".join(name for name, wanted in needs.items() if wanted)
        raise StateError(f"{wanted} needs a state: pass state=fit_comparability(y_train, ...)")
    if percentile:
        return percentile_transform(state)
    if alpha > 0 and not state.counts.any():
        raise StateError(f"popularity_discount={alpha:g} needs base rates, but every class of the state has count 0")
    if alpha > 0 and zero_base_rate == "refuse" and state.n_floored:
        unseen = state.classes[int((state.counts == 0).argmax())]
        raise StateError(
            f"popularity_discount={alpha:g} with zero_base_rate='refuse': the base rate is 0 for {state.n_floored} "
            f"classes, first for {unseen!s}; leave them out, fit on more labels, or use zero_base_rate='floor'"
        )
    return _core.Transform.rates(
        state.counts, state.n_labelled, state.dead, popularity_discount=alpha, shrinkage_strength=strength
    )


def apply_eb_shrinkage(
    proba: Any,
    state: ComparabilityState,
    *,
    shrinkage_strength: float = 50.0,
    classes: Any = None,
    mask_neg_inf: bool = False,
    num_threads: int | None = None,
) -> NDArray[Any]:
    """Draw the scores of classes with few labelled rows towards their base rates.

    A score ``s`` of a class with ``n`` labelled rows and base rate ``pi`` becomes ``pi + Z (s - pi)`` with
    ``Z = n / (n + shrinkage_strength)``: the mean of a Beta prior of that strength around the base rate after ``n``
    observations of mean ``s`` (credibility, Buehlmann 1967; empirical Bayes, Efron and Morris 1975). A class without
    labelled rows becomes its base rate, 0; a dead class stays 0.

    Parameters
    ----------
    proba : array_like of shape (n_rows, n_classes)
        Scores from 0 to 1.
    state : ComparabilityState
        Counts of the classes.
    shrinkage_strength : float, default 50.0
        Labelled rows that the base rate is worth, at least 0; 0 returns the scores themselves.
    classes, mask_neg_inf, num_threads
        As in :func:`transform_for_objective`.

    Returns
    -------
    ndarray of shape (n_rows, n_classes), dtype float64
        Scores from 0 to 1.

    Raises
    ------
    StateError, InvalidParameterError, ScoreRangeError, NonFiniteScoreError
        As in :func:`transform_for_objective`.

    Examples
    --------
    >>> from rankbound.comparability import apply_eb_shrinkage, fit_comparability
    >>> state = fit_comparability([0] * 10 + [1] * 990, n_classes=2)
    >>> apply_eb_shrinkage([[0.4, 0.6]], state).round(4)
    array([[0.075 , 0.6188]])
    """
    return transform_for_objective(
        proba,
        state=_required(state, "apply_eb_shrinkage"),
        shrinkage_strength=shrinkage_strength,
        classes=classes,
        mask_neg_inf=mask_neg_inf,
        num_threads=num_threads,
    )


def apply_popularity_discount(
    proba: Any,
    state: ComparabilityState,
    *,
    popularity_discount: float,
    zero_base_rate: str = "floor",
    classes: Any = None,
    mask_neg_inf: bool = False,
    num_threads: int | None = None,
) -> NDArray[Any]:
    """Divide scores by a power of the base rates.

    A score ``s`` becomes ``s / max(pi, 1/N)**alpha``: a class never seen among the ``N`` labelled rows counts as seen
    once. For calibrated probabilities the exponent 0 maximises the expected hit rate, 1 the expected macro recall
    (for a single place: logit adjustment, Menon et al. 2021; popularity-stratified recall, Steck 2011).

    Parameters
    ----------
    proba : array_like of shape (n_rows, n_classes)
        Scores of at least 0.
    state : ComparabilityState
        Base rates of the classes.
    popularity_discount : float
        The exponent, at least 0; 0 returns the scores themselves.
    zero_base_rate, classes, mask_neg_inf, num_threads
        As in :func:`transform_for_objective`.

    Returns
    -------
    ndarray of shape (n_rows, n_classes), dtype float64
        Scores of at least 0.

    Raises
    ------
    StateError, InvalidParameterError, ScoreRangeError, NonFiniteScoreError
        As in :func:`transform_for_objective`.

    Examples
    --------
    >>> from rankbound.comparability import apply_popularity_discount, fit_comparability
    >>> state = fit_comparability([0, 0, 0, 1], n_classes=3)
    >>> apply_popularity_discount([[0.75, 0.25, 0.0]], state, popularity_discount=1)
    array([[1., 1., 0.]])
    """
    return transform_for_objective(
        proba,
        state=_required(state, "apply_popularity_discount"),
        popularity_discount=as_non_negative(popularity_discount, name="popularity_discount"),
        zero_base_rate=zero_base_rate,
        classes=classes,
        mask_neg_inf=mask_neg_inf,
        num_threads=num_threads,
    )


def apply_rank_percentile(
    proba: Any,
    state: ComparabilityState,
    *,
    classes: Any = None,
    mask_neg_inf: bool = False,
    num_threads: int | None = None,
) -> NDArray[Any]:
    """Replace scores by their percentiles among the reference scores of their class.

    The percentile of ``s`` is ``(#{r < s} + #{r = s} / 2) / #{r}`` over the reference scores ``r``: exact at the knots
    of the state, linear between them. A dead class stays 0.

    Parameters
    ----------
    proba : array_like of shape (n_rows, n_classes)
        Finite scores of any range, from the model that gave the reference scores.
    state : ComparabilityState
        Fitted with ``percentile=True``.
    classes, mask_neg_inf, num_threads
        As in :func:`transform_for_objective`.

    Returns
    -------
    ndarray of shape (n_rows, n_classes), dtype float64
        Percentiles from 0 to 1, not decreasing in the score.

    Raises
    ------
    StateError, NonFiniteScoreError
        As in :func:`transform_for_objective`.

    Examples
    --------
    >>> from rankbound.comparability import apply_rank_percentile, fit_comparability
    >>> reference = [[0.0, 0.9], [0.2, 0.8], [0.2, 0.1], [0.5, 0.5]]
    >>> state = fit_comparability([1, 1, 1, 0], reference, percentile=True)
    >>> apply_rank_percentile([[0.2, 0.2]], state)
    array([[0.5 , 0.25]])
    """
    return transform_for_objective(
        proba,
        state=_required(state, "apply_rank_percentile"),
        percentile=True,
        classes=classes,
        mask_neg_inf=mask_neg_inf,
        num_threads=num_threads,
    )


def _required(state: ComparabilityState | None, name: str) -> ComparabilityState:
    if state is None:
        raise StateError(f"{name} needs a state: pass one from fit_comparability(y_train, ...)")
    return state
