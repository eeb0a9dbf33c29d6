"""The units that a candidate ranks most differently."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_count
from rankbound.compare.models import named_metrics, read_models
from rankbound.compare.source import Comparable, pair_units


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitChange:
    """One unit under both models.

    Attributes
    ----------
    unit : int or str
        Its id.
    n_samples : int
        Its lists.
    baseline_mean, candidate_mean, difference : float
        Means over its lists, and candidate less baseline.
    """

    unit: Any
    n_samples: int
    baseline_mean: float
    candidate_mean: float
    difference: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitChanges:
    """The units that changed most; equal changes stand in the order of their ids.

    Attributes
    ----------
    metric : str
        Key of the metric.
    improved, regressed : tuple of UnitChange
        The largest gains and losses, largest first.
    n_improved, n_regressed, n_unchanged : int
        How many units there are of each kind.
    """

    metric: str
    improved: tuple[UnitChange, ...]
    regressed: tuple[UnitChange, ...]
    n_improved: int
    n_regressed: int
    n_unchanged: int


def largest_changes(baseline: Comparable, candidate: Comparable, metric: str, *, n: int = 10) -> UnitChanges:
    """Return the units whose mean improved and regressed most.

    Parameters
    ----------
    baseline, candidate : EvaluationResult, RankingReport, str or path-like
        As in :func:`rankbound.compare_models`.
    metric : str
        Key of the metric.
    n : int, default 10
        Units to name in each direction, at least 0.

    Returns
    -------
    UnitChanges
        Fewer than ``n`` units if fewer changed that way.

    Raises
    ------
    ComparisonError, InvalidParameterError, InvalidTypeError
        As :func:`rankbound.compare_models`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from rankbound.compare import largest_changes
    >>> def result(values):
    ...     per_user = {"mrr@10": np.array(values)}
    ...     ids = np.array(["ann", "bob", "cem"])
    ...     return SimpleNamespace(per_user=per_user, sample_ids=ids, target_fingerprint="t", protocol={})
    >>> found = largest_changes(result([0.5, 0.5, 0.25]), result([1.0, 0.25, 0.25]), "mrr@10")
    >>> [change.unit for change in found.improved], [change.unit for change in found.regressed], found.n_unchanged
    (['ann'], ['bob'], 1)
    """
    most = as_count(n, name="n")
    sources = read_models({"baseline": baseline, "candidate": candidate})
    units = pair_units(sources, named_metrics(sources, [metric]))
    before, after = (units.unit_means((name, metric)) for name in ("baseline", "candidate"))
    with np.errstate(invalid="ignore"):
        # Equal infinities do not differ.
        difference = np.where(before == after, 0.0, after - before)

    def largest(gains: NDArray[np.float64]) -> tuple[UnitChange, ...]:
        order = np.argsort(-gains, kind="stable")[: min(most, np.count_nonzero(gains > 0))]
        return tuple(
            UnitChange(
                unit=units.ids[at].item(),
                n_samples=int(units.n_lists[at]),
                baseline_mean=float(before[at]),
                candidate_mean=float(after[at]),
                difference=float(difference[at]),
            )
            for at in order
        )

    return UnitChanges(
        metric=metric,
        improved=largest(difference),
        regressed=largest(-difference),
        n_improved=int(np.count_nonzero(difference > 0)),
        n_regressed=int(np.count_nonzero(difference < 0)),
        n_unchanged=int(np.count_nonzero(difference == 0)),
    )
