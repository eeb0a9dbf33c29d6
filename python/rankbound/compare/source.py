"""What can be compared: results with values per list, and what makes two of them a pair."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

import rankbound
from rankbound import _core
from rankbound._labels import as_vector, show, split_missing
from rankbound._messages import about
from rankbound._validation import MAX_MAGNITUDE, as_numpy
from rankbound.compare.protocol import protocol_differences
from rankbound.errors import ComparisonError, EmptyInputError, InvalidTypeError, ShapeError

Key: TypeAlias = tuple[str, str]
"""A model and a metric."""


@runtime_checkable
class PerUserResult(Protocol):
    """A result with one value per scored list, such as an ``EvaluationResult``: a mapping of aggregates as well."""

    @property
    def per_user(self) -> Mapping[str, NDArray[np.float64]] | None:
        """Values of each metric, one per scored list."""

    @property
    def sample_ids(self) -> NDArray[Any] | None:
        """Id of each scored list; lists that share one are a unit."""

    @property
    def target_fingerprint(self) -> str:
        """A hash of what the lists were judged by."""

    @property
    def protocol(self) -> Mapping[str, Any]:
        """The conventions behind the values."""


@runtime_checkable
class PerUnitReport(Protocol):
    """A report that keeps the result behind it, such as a ``RankingReport``."""

    @property
    def per_unit(self) -> PerUserResult | None:
        """The values of its primary objective."""


Comparable: TypeAlias = PerUserResult | PerUnitReport | str | PathLike[str]


def is_logarithmic(metric: str) -> bool:
    """Return whether the values of a metric are logarithms and its aggregate that of their exponentials' mean."""
    return metric.endswith(".logmean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One model's values, one per scored list."""

    name: str
    ids: NDArray[Any]
    values: Mapping[str, NDArray[np.float64]]
    aggregates: Mapping[str, Any]
    fingerprint: str
    protocol: Mapping[str, Any]

    def mean(self, metric: str) -> float:
        """Return the mean over the lists with a value, or its logarithm, as the result itself has it."""
        values = self.values[metric]
        defined = values[~np.isnan(values)]
        return _core.exact_log_mean(defined) if is_logarithmic(metric) else _core.exact_mean(defined)

    def refusal(self, metric: str) -> str | None:
        """Return why the values of a metric say nothing about its aggregate; None if they do."""
        values = self.values[metric]
        wrong = np.abs(values) >= MAX_MAGNITUDE
        if is_logarithmic(metric):
            # The logarithm of zero.
            wrong &= ~np.isneginf(values)
        if wrong.any():
            at = int(wrong.argmax())
            return (
                f"{self.name} has {values[at]} at id {show(self.ids[at])}; values that are compared must be finite and "
                "below 2^40"
            )
        if np.isnan(values).all():
            return f"{self.name} has no list with a value"
        aggregate, mean = self.aggregates.get(metric), self.mean(metric)
        if aggregate is not None and not isinstance(aggregate, (int, float, np.number)):
            return f"{self.name} has {aggregate!r}, which is no number"
        # Values may be kept in single precision.
        if aggregate is None or np.isclose(float(aggregate), mean, rtol=1e-6, atol=1e-9):
            return None
        return (
            f"{self.name} has {aggregate:.6g}, but the mean of its values per list, which are compared, is {mean:.6g}"
        )

    def restrict(self, chosen: NDArray[np.bool_]) -> "Source":
        """Return the lists that are chosen."""
        return replace(
            self,
            ids=self.ids[chosen],
            values={metric: values[chosen] for metric, values in self.values.items()},
            # They are those of all lists.
            aggregates={},
        )


def read_source(result: Any, name: str) -> Source:
    """Return the values of a result.

    Parameters
    ----------
    result : EvaluationResult, RankingReport with ``per_unit``, str or path-like
        A result, a report that keeps one, or the path of a saved ``EvaluationResult``.
    name : str
        The model, for messages.

    Returns
    -------
    Source
        With contiguous float64 values.

    Raises
    ------
    ComparisonError
        If it has no values per list.
    InvalidTypeError, ShapeError, EmptyInputError
        If it is no result, or contradicts itself.
    """
    if isinstance(result, (str, PathLike)):
        with about(name):
            loaded = rankbound.EvaluationResult.load(fspath(result))
        return read_source(loaded, name)
    if isinstance(result, PerUnitReport):
        if result.per_unit is None:
            raise ComparisonError(f"{name} has no values per unit and cannot be paired; pass the result saved with it")
        return read_source(result.per_unit, name)
    if not isinstance(result, PerUserResult):
        raise InvalidTypeError(
            f"{name} is a {type(result).__name__}; compare EvaluationResults with per-user values, RankingReports with "
            "per-unit values, or paths of saved results"
        )
    if result.per_user is None or result.sample_ids is None:
        raise ComparisonError(
            f"{name} has no values per user and cannot be paired; evaluate it so that it collects them"
        )
    ids, missing = split_missing(as_vector(result.sample_ids, name=f"the ids of {name}"), name=f"the ids of {name}")
    if missing.any():
        raise InvalidTypeError(f"{name} has no id at position {int(missing.argmax())}; give every list one")
    if not len(ids):
        raise EmptyInputError(f"{name} has no scored lists: there is nothing to compare")
    values = {
        str(metric): _numbers(of_metric, f"{metric!r} of {name}") for metric, of_metric in result.per_user.items()
    }
    for metric, of_metric in values.items():
        if len(of_metric) != len(ids):
            raise ShapeError(f"{name} has {len(of_metric)} values under {metric!r}, but {len(ids)} ids")
    return Source(
        name=name,
        ids=ids,
        values=values,
        aggregates=result if isinstance(result, Mapping) else {},
        fingerprint=result.target_fingerprint,
        protocol=result.protocol,
    )


def _numbers(values: Any, what: str) -> NDArray[np.float64]:
    array = as_numpy(values, name=what)
    if array.ndim != 1 or array.dtype.kind not in "fiub":
        raise InvalidTypeError(f"{what} must be one number each, got {array.dtype} of {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float64)


def check_paired(first: Source, other: Source) -> None:
    """Refuse to pair results that do not judge the same lists by the same rules.

    Parameters
    ----------
    first, other : Source
        Two models.

    Raises
    ------
    ComparisonError
        Naming the fields of the protocol, the first id, or the targets that differ.
    """
    pair = f"{first.name} and {other.name}"
    differences = protocol_differences(first.protocol, other.protocol)
    if differences:
        raise ComparisonError(f"{pair} follow different protocols and cannot be compared: {'; '.join(differences)}")
    if len(first.ids) != len(other.ids):
        raise ComparisonError(
            f"{pair} cannot be paired: they have {len(first.ids)} and {len(other.ids)} scored lists; evaluate both on "
            "the same ones"
        )
    differs = first.ids != other.ids
    if np.any(differs):
        at = int(np.argmax(differs))
        raise ComparisonError(
            f"{pair} cannot be paired: their sample ids differ first at position {at}, {show(first.ids[at])} and "
            f"{show(other.ids[at])}; evaluate both on the same lists in the same order"
        )
    if first.fingerprint != other.fingerprint:
        raise ComparisonError(
            f"{pair} cannot be compared: they were judged by different targets (fingerprints {first.fingerprint} and "
            f"{other.fingerprint}); evaluate both against the same truth"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedUnits:
    """The values of all models by unit, in the order of the sorted ids.

    Attributes
    ----------
    ids : ndarray of shape (n_units,)
        The units.
    counts : ndarray of float64 of shape (n_units,) or None
        Lists of each unit; None if each has one.
    n_samples : int
        Number of lists.
    n_undefined : int
        Lists without a value under any model, which are left out.
    sums : dict
        Sums of a metric over the lists of each unit, by model and metric; logarithms of sums of exponentials, if its
        values are logarithms.
    means : dict
        Means over lists, or their logarithms, by model and metric.
    """

    ids: NDArray[Any]
    counts: NDArray[np.float64] | None
    n_samples: int
    n_undefined: int
    sums: dict[Key, NDArray[np.float64]]
    means: dict[Key, float]

    @property
    def n_lists(self) -> NDArray[np.float64]:
        """Lists of each unit."""
        return np.ones(len(self.ids)) if self.counts is None else self.counts

    def unit_means(self, key: Key) -> NDArray[np.float64]:
        """Return the mean over the lists of each unit, or its logarithm."""
        return self.sums[key] - np.log(self.n_lists) if is_logarithmic(key[1]) else self.sums[key] / self.n_lists

    def with_shift(self, key: Key, shift: float, *, name: str) -> "PairedUnits":
        """Return the units with a further model, of which each list has the value of a model and a shift."""
        shifted, metric = (name, key[1]), key[1]
        sums = self.sums[key] + (shift if is_logarithmic(metric) else shift * self.n_lists)
        return replace(self, sums=self.sums | {shifted: sums}, means=self.means | {shifted: self.means[key] + shift})


def pair_units(sources: Mapping[str, Source], metrics: Sequence[str]) -> PairedUnits:
    """Add up the values of paired models by unit.

    Parameters
    ----------
    sources : mapping of str to Source
        At least one; :func:`check_paired` has passed them.
    metrics : sequence of str
        Metrics that all have, none with a refusal, and defined for the same lists.

    Returns
    -------
    PairedUnits
        Independent of the order of the lists.
    """
    first = next(iter(sources.values()))
    undefined = np.isnan(first.values[metrics[0]])
    n_undefined = int(undefined.sum())
    if n_undefined:
        sources = {name: source.restrict(~undefined) for name, source in sources.items()}
        first = sources[first.name]
    ids, places, codes = np.unique(first.ids, return_index=True, return_inverse=True)
    columns = {(name, metric): source.values[metric] for name, source in sources.items() for metric in metrics}
    if len(ids) == len(first.ids):
        sums = {key: values[places] for key, values in columns.items()}
        counts = None
    else:
        unit_of = codes.astype(np.uint32)
        sums = {
            key: (_log_sums if is_logarithmic(key[1]) else _sums)(values, unit_of, len(ids))
            for key, values in columns.items()
        }
        counts = np.bincount(unit_of).astype(np.float64)
    return PairedUnits(
        ids=ids,
        counts=counts,
        n_samples=len(first.ids),
        n_undefined=n_undefined,
        sums=sums,
        means={(name, metric): source.mean(metric) for name, source in sources.items() for metric in metrics},
    )


def exponentials(*logarithms: NDArray[np.float64]) -> tuple[list[NDArray[np.float64]], float]:
    """Return the exponentials of arrays in units of the largest, which they cannot all underflow in, and its logarithm.

    If all logarithms are minus infinity, the unit is 1.
    """
    largest = max(float(of.max()) for of in logarithms)
    unit = 0.0 if largest == -math.inf else largest
    return [np.exp(of - unit) for of in logarithms], unit


def _sums(values: NDArray[np.float64], unit_of: NDArray[np.uint32], n_units: int) -> NDArray[np.float64]:
    return _core.group_sums(values, unit_of, n_units)[0]


def _log_sums(values: NDArray[np.float64], unit_of: NDArray[np.uint32], n_units: int) -> NDArray[np.float64]:
    # Each unit has a scale of its own: what underflows beside another is not nothing.
    largest = np.full(n_units, -np.inf)
    np.maximum.at(largest, unit_of, values)
    largest[np.isneginf(largest)] = 0.0
    sums = _sums(np.exp(values - largest[unit_of]), unit_of, n_units)
    with np.errstate(divide="ignore"):
        return largest + np.log(sums)
