"""Intervals for means over lists and for their differences from baselines, by resampling units."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import as_vector, split_missing
from rankbound._options import as_count, as_level, as_resamples, resolve_num_threads
from rankbound._validation import MAX_MAGNITUDE, as_numpy
from rankbound.errors import EmptyInputError, InvalidParameterError, InvalidTypeError, ShapeError

__all__ = ["ranking_uncertainty"]

METHOD = "paired percentile cluster bootstrap"
# Below this many units that tell model and baseline apart, an interval is to be taken with care.
FEW_UNITS = 30

Values = Mapping[str, NDArray[np.float64]]


def ranking_uncertainty(
    values: Mapping[str, Any],
    baselines: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    groups: Any = None,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    seed: int = 0,
    num_threads: int | None = None,
) -> dict[str, Any] | None:
    """Bootstrap the means of per-list values and their differences from baselines.

    Units are resampled with replacement and keep their lists together; model, baselines and differences use the same
    draws, so that ``difference = model - baseline`` holds in every resample. The estimate is the mean over lists: the
    ratio of the sum of the values to the number of lists (Davison and Hinkley 1997, section 3.8; Field and Welsh
    2007). The limits are percentiles (Efron and Tibshirani 1993, chapter 13), draw for draw those of
    ``scipy.stats.bootstrap(..., paired=True, method="percentile", rng=np.random.default_rng(seed))``.

    With one list per unit the draws refer to the order of the rows; with ``groups`` they refer to the sorted units,
    and no order matters.

    Parameters
    ----------
    values : mapping of str to array_like of shape (n_lists,)
        The model's values per metric, finite.
    baselines : mapping of str to mapping of str to array_like of shape (n_lists,) or None, default None
        The same metrics of the same lists under each baseline.
    groups : array_like of shape (n_lists,) or None, default None
        Unit of each list; None makes each list a unit.
    n_resamples : int, default 1000
        Number of resamples; 0 gives None.
    confidence_level : float, default 0.95
        Between 0 and 1.
    seed : int, default 0
        Seed of the draws, at least 0.
    num_threads : int or None, default None
        Threads; results do not depend on it.

    Returns
    -------
    dict or None
        ``unit``, ``n_units``, ``n_resamples``, ``confidence_level``, ``seed``, ``method``; under ``model`` and
        ``baselines[name]["metrics"]`` per metric ``estimate``, ``ci_low``, ``ci_high``; under
        ``baselines[name]["difference"]`` also ``verdict`` (``model_ahead`` or ``baseline_ahead`` if the whole interval
        says so, else ``undecided``) and ``n_nonzero``, the number of units that differ. None for fewer than two units.

    Raises
    ------
    EmptyInputError
        Without values.
    ShapeError
        If lengths or metrics differ.
    InvalidParameterError, InvalidTypeError
        For options out of range and values that are not finite numbers.

    Examples
    --------
    >>> from rankbound import ranking_uncertainty
    >>> found = ranking_uncertainty({"hit@1": [1.0, 0.0, 1.0, 1.0]}, n_resamples=1000)
    >>> found["model"]["hit@1"]
    {'estimate': 0.75, 'ci_low': 0.25, 'ci_high': 1.0}
    """
    model = _series(values, "values")
    floors = {name: _series(of_baseline, f"baselines[{name!r}]") for name, of_baseline in (baselines or {}).items()}
    n_lists = len(next(iter(model.values())))
    for name, floor in floors.items():
        if list(floor) != list(model):
            raise ShapeError(f"baselines[{name!r}] has the metrics {list(floor)}, but values has {list(model)}")
    for name, series in {"values": model, **{f"baselines[{name!r}]": floor for name, floor in floors.items()}}.items():
        for metric, of_lists in series.items():
            if len(of_lists) != n_lists:
                raise ShapeError(f"{name} has {len(of_lists)} lists under {metric!r}, but {n_lists} elsewhere")
    units = _units(groups, n_lists)
    return bootstrap_units(
        model,
        floors,
        units=units,
        n_units=int(units.max()) + 1,
        unit="row" if groups is None else "group",
        n_resamples=as_resamples(n_resamples),
        confidence_level=as_level(confidence_level, name="confidence_level"),
        seed=as_count(seed, name="seed"),
        num_threads=resolve_num_threads(num_threads),
    )


def _units(groups: Any, n_lists: int) -> NDArray[np.uint32]:
    """Return the number of each list's unit; units are numbered by their sorted labels."""
    if groups is None:
        return np.arange(n_lists, dtype=np.uint32)
    labels, missing = split_missing(as_vector(groups, name="groups"), name="groups")
    if len(labels) != n_lists:
        raise ShapeError(f"groups has {len(labels)} entries, but there are {n_lists} lists; give one per list")
    if missing.any():
        raise InvalidTypeError(f"groups has no label at position {int(missing.argmax())}; give every list one")
    return np.unique(labels, return_inverse=True)[1].astype(np.uint32)


def bootstrap_units(
    model: Values,
    baselines: Mapping[str, Values],
    *,
    units: NDArray[np.uint32],
    n_units: int,
    unit: str,
    n_resamples: int,
    confidence_level: float,
    seed: int,
    num_threads: int,
) -> dict[str, Any] | None:
    """Do what :func:`ranking_uncertainty` describes, with checked arguments and numbered units."""
    if n_units < 2 or n_resamples == 0:
        return None
    metrics = list(model)
    per_list = [values[metric] for values in (model, *baselines.values()) for metric in metrics]
    counts = None
    per_unit = per_list
    if unit != "row":
        grouped = [_core.group_sums(values, units, n_units) for values in per_list]
        per_unit = [sums for sums, _, _ in grouped]
        counts = grouped[0][2].astype(np.float64)
    n_metrics = len(metrics)
    gaps = [(at % n_metrics, at) for at in range(n_metrics, len(per_unit))]
    limits = _core.bootstrap_limits(
        np.random.SeedSequence(seed).generate_state(4, np.uint64).astype(np.uint64),
        per_unit,
        counts,
        gaps,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        num_threads=num_threads,
        progress=None,
    )
    estimates = [_core.exact_mean(values) for values in per_list]
    of_series = [
        {"estimate": estimate, "ci_low": low, "ci_high": high}
        for estimate, (low, high) in zip(estimates, limits[: len(per_unit)], strict=True)
    ]
    of_gaps = [
        {
            "estimate": estimates[own] - estimates[other],
            "ci_low": low,
            "ci_high": high,
            "verdict": _verdict(low, high),
            "n_nonzero": int(np.count_nonzero(per_unit[own] != per_unit[other])),
        }
        for (own, other), (low, high) in zip(gaps, limits[len(per_unit) :], strict=True)
    ]
    by_metric = [
        dict(zip(metrics, of_series[at : at + n_metrics], strict=True)) for at in range(0, len(of_series), n_metrics)
    ]
    differences = [
        dict(zip(metrics, of_gaps[at : at + n_metrics], strict=True)) for at in range(0, len(of_gaps), n_metrics)
    ]
    return {
        "unit": unit,
        "n_units": n_units,
        "n_resamples": n_resamples,
        "confidence_level": confidence_level,
        "seed": seed,
        "method": METHOD,
        "model": by_metric[0],
        "baselines": {
            name: {"metrics": of_baseline, "difference": difference}
            for name, of_baseline, difference in zip(baselines, by_metric[1:], differences, strict=True)
        },
    }


def _verdict(low: float, high: float) -> str:
    if low > 0:
        return "model_ahead"
    return "baseline_ahead" if high < 0 else "undecided"


def _series(values: Mapping[str, Any], name: str) -> dict[str, NDArray[np.float64]]:
    if not isinstance(values, Mapping):
        raise InvalidTypeError(f"{name} must map metric names to values per list, got {type(values).__name__}")
    series = {}
    for metric, of_lists in values.items():
        array = as_numpy(of_lists, name=f"{name}[{metric!r}]")
        if array.dtype.kind not in "fiub" or array.ndim != 1:
            raise InvalidTypeError(
                f"{name}[{metric!r}] must be one number per list, got {array.dtype} of {array.shape}"
            )
        numbers = np.ascontiguousarray(array, dtype=np.float64)
        largest = np.abs(numbers).max(initial=0.0)
        if not largest < MAX_MAGNITUDE:
            at = int((~(np.abs(numbers) < MAX_MAGNITUDE)).argmax())
            raise InvalidParameterError(
                f"{name}[{metric!r}] has {numbers[at]} at list {at}; values must be finite and below 2^40: leave out "
                "lists without a value"
            )
        series[str(metric)] = numbers
    if not series or not len(next(iter(series.values()))):
        raise EmptyInputError(f"{name} is empty: there is nothing to resample")
    return series
