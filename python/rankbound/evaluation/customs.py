"""Metrics of the caller's: what they return, checked."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_cut_off
from rankbound._validation import MAX_MAGNITUDE
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError
from rankbound.metrics import RankingBatch, RankingMetric


def own_copy(metric: RankingMetric) -> RankingMetric:
    """Return a copy of a metric for one evaluation, so that another one cannot reset it.

    Parameters
    ----------
    metric : RankingMetric
        As the caller made it. It is left as it is.

    Returns
    -------
    RankingMetric
        With what every metric must say about itself.

    Raises
    ------
    InvalidTypeError
        If it cannot be copied, or its keys are not text.
    InvalidKError
        For a depth that is no cut-off.
    """
    name, keys = type(metric).__name__, metric.result_keys
    as_cut_off(metric.required_k, name=f"{name}.required_k")
    if not isinstance(keys, (tuple, list)) or not keys or not all(isinstance(key, str) for key in keys):
        raise InvalidTypeError(f"{name}.result_keys is {keys!r}; it must be a tuple of at least one string")
    try:
        return deepcopy(metric)
    except Exception as error:
        raise InvalidTypeError(
            f"metrics has {name}, which cannot be copied ({type(error).__name__}: {error}); keep in it what can be, as "
            "every evaluation has its own copy"
        ) from error


def update_customs(
    customs: Sequence[RankingMetric], ranking: RankingBatch, scored: NDArray[np.bool_], *, goes_on: bool
) -> dict[str, NDArray[Any]]:
    """Let metrics accumulate a batch.

    Parameters
    ----------
    customs : sequence of RankingMetric
        The metrics.
    ranking : RankingBatch
        The batch.
    scored : ndarray of shape (n_rows,), dtype bool
        Which lists have relevant items.
    goes_on : bool
        Whether the metrics are needed after a refusal; if one refuses, all are then as they were before.

    Returns
    -------
    dict of str to ndarray of shape (n_rows,)
        Values by key.

    Raises
    ------
    RankboundError
        For values that are not what they must be, or whatever a metric raises.
    """
    before = [deepcopy(custom.__dict__) for custom in customs] if goes_on else []
    values: dict[str, NDArray[Any]] = {}
    try:
        for custom in customs:
            values |= _checked(custom, custom.update(ranking), scored)
    except BaseException:
        for custom, state in zip(customs, before, strict=False):
            custom.__dict__.clear()
            custom.__dict__.update(state)
        raise
    return values


def compute_customs(customs: Sequence[RankingMetric]) -> dict[str, float]:
    """Return the aggregates of metrics.

    Parameters
    ----------
    customs : sequence of RankingMetric
        The metrics.

    Returns
    -------
    dict of str to float
        By key.

    Raises
    ------
    InvalidTypeError
        If a metric computes no mapping to numbers.
    InvalidParameterError
        If it leaves out a key.
    """
    found: dict[str, float] = {}
    for custom in customs:
        name, computed = type(custom).__name__, custom.compute()
        if not isinstance(computed, Mapping):
            raise InvalidTypeError(f"{name}.compute returned {computed!r}; it must return a mapping")
        for key in custom.result_keys:
            if key not in computed:
                raise InvalidParameterError(f"{name}.compute returned no {key!r}; it must return every result key")
            if not isinstance(computed[key], (int, float, np.number)):
                raise InvalidTypeError(f"{name}.compute returned {computed[key]!r} for {key!r}; it must return numbers")
            found[key] = float(computed[key])
    return found


def _checked(custom: Any, values: Any, scored: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return the columns of what a metric of the caller's returned, if it is what it must be."""
    name, keys = type(custom).__name__, tuple(custom.result_keys)
    array = np.asarray(values)
    expected = (len(scored), len(keys))
    if array.shape != expected:
        raise ShapeError(
            f"{name}.update returned shape {array.shape}; it must return {expected}: one row per list, one column per "
            "key"
        )
    if array.dtype.kind != "f":
        raise InvalidTypeError(f"{name}.update returned dtype {array.dtype}; it must return floating-point numbers")
    wrong = ~(np.abs(array) < MAX_MAGNITUDE) & scored[:, None]
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidParameterError(
            f"{name}.update returned {array[row, column]} for {keys[column]!r} at row {row}, which has relevant items; "
            "values must be finite and below 2^40 there"
        )
    # Copies, because the metric may use its array again.
    return {key: array[:, at].copy() for at, key in enumerate(keys)}
