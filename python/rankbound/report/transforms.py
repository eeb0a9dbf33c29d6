"""How the blocks of a report rewrite scores, and the class frequencies that this takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._comparability_fit import state_of
from rankbound._comparability_state import FittedOn, row_fingerprint
from rankbound._labels import as_class_ids, label_indices
from rankbound.comparability import ComparabilityState, objective_alpha, resolve_transform
from rankbound.errors import EmptyInputError, InvalidTypeError
from rankbound.report.config import RankingConfig
from rankbound.report.floors import Floor
from rankbound.report.lists import GradedLists

# Percentile knots per class where the report fits them itself.
N_KNOTS = 101


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies:
    """How often classes occur, and where that was learned."""

    state: ComparabilityState | None
    fitted_on: FittedOn | None
    tail_counts: NDArray[Any]
    tail_source: str


def class_frequencies(
    matrix: NDArray[Any],
    lists: GradedLists,
    *,
    warnings: list[str],
    settings: RankingConfig,
    alphas: Mapping[str, float | None],
    state: ComparabilityState | None,
    classes: Any,
    y_train: Any,
    floor: Floor | None,
) -> Frequencies:
    """Find class frequencies for transforms and tail: the state's, else the training data's, else the graded rows'."""
    n_classes = matrix.shape[1]
    graded = lists.truths[lists.truths >= 0]
    if state is not None:
        if not isinstance(state, ComparabilityState):
            raise InvalidTypeError(f"state must be a ComparabilityState, got {type(state).__name__}")
        state.check_classes(n_classes, classes)
        same_rows = state.row_fingerprint == row_fingerprint(lists.truths)
        learned_on: FittedOn = "evaluation" if same_rows else state.fitted_on
        if learned_on == "evaluation":
            warnings.append("the state was fitted on the graded rows, so the rankings that use it are in-sample")
        if settings.shrinkage_strength and not state.n_reference:
            warnings.append(
                "the state was fitted without scores, so dead classes are unknown and shrinkage may lift all-zero "
                "columns; fit it with proba"
            )
        return Frequencies(state=state, fitted_on=learned_on, tail_counts=state.counts, tail_source="state")
    if floor is None:
        counts, source = np.bincount(graded, minlength=n_classes), "evaluation"
        warnings.append("tail_hit: the tail was found from the graded labels, in-sample; pass y_train or a state")
    else:
        counts, source = floor[0][0], "popularity" if y_train is None else "y_train"
    by_percentile = any(name in settings.percentile_objectives for name in settings.blocks)
    if not by_percentile and not settings.shrinkage_strength and not any(alphas.values()):
        return Frequencies(state=None, fitted_on=None, tail_counts=counts, tail_source=source)
    fitted_on: FittedOn = "evaluation" if y_train is None or by_percentile else "train"
    if y_train is None:
        labels = graded
        warnings.append("base rates were fitted on the graded labels, in-sample; pass y_train or a state")
        if not len(graded):
            raise EmptyInputError(
                "no truth in y_true is a column, so there are no base rates for the objectives beyond accuracy: check "
                "classes, pass y_train or a state, or use eval_all_objectives=False"
            )
    else:
        labels = label_indices(y_train, classes, n_classes, name="y_train")
    if by_percentile:
        warnings.append("percentiles were fitted on the graded scores, in-sample; pass a state")
    fitted = state_of(
        labels,
        np.arange(n_classes) if classes is None else as_class_ids(classes, n_classes),
        # Shrinkage must know which columns are dead, percentiles need reference scores.
        matrix if by_percentile or settings.shrinkage_strength else None,
        n_knots=N_KNOTS if by_percentile else None,
        fitted_on=fitted_on,
        mask_neg_inf=settings.mask_neg_inf,
        num_threads=settings.num_threads,
    )
    return Frequencies(state=fitted, fitted_on=fitted_on, tail_counts=counts, tail_source=source)


def block_alphas(settings: RankingConfig) -> dict[str, float | None]:
    """Return the exponent of each block's popularity discount; None where percentiles rank."""

    def alpha(name: str) -> float | None:
        if name in settings.percentile_objectives:
            return None
        is_primary = name == settings.primary_objective
        return objective_alpha(name, settings.popularity_discount if is_primary else None)

    return {name: alpha(name) for name in settings.blocks}


def block_transform(
    name: str, alpha: float | None, settings: RankingConfig, n_classes: int, state: ComparabilityState | None
) -> _core.Transform | None:
    """Return the transform of a block: the one of :func:`rankbound.transform_for_objective`."""
    is_primary = name == settings.primary_objective
    by_percentile = name in settings.percentile_objectives
    return resolve_transform(
        n_classes,
        name,
        state=state,
        popularity_discount=alpha or 0.0,
        shrinkage_strength=settings.shrinkage_strength if is_primary else 0.0,
        percentile=by_percentile,
        zero_base_rate=settings.zero_base_rate,
    )
