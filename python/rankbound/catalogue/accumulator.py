"""What catalogue metrics add up over batches: exact sums that merge to the same bits in any order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound.catalogue.exposure import Exposure, RankValue
from rankbound.catalogue.source import Request, Source
from rankbound.catalogue.spec import CatalogueMetric, ClassMetric, ExposureMetric, ListMetric
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError

if TYPE_CHECKING:
    from rankbound.evaluation.targets import CoreTargets

Pass = tuple[int, RankValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What a batch adds: exposures and hits per pass over it, values per list, and their sums."""

    n_items: int
    exposures: dict[Pass, Exposure]
    hits: dict[Pass, _core.GroupSums]
    values: dict[str, NDArray[np.float64]]
    means: dict[str, _core.GroupSums]


class Accumulator:
    """Sums of catalogue metrics over lists.

    Parameters
    ----------
    metrics : sequence of CatalogueMetric
        With distinct keys.
    """

    def __init__(self, metrics: Sequence[CatalogueMetric]) -> None:
        self.metrics = tuple(metrics)
        self.passes: dict[Pass, list[CatalogueMetric]] = {}
        for metric in self.metrics:
            self.passes.setdefault(_pass_of(metric), []).append(metric)
        self._measures: dict[tuple[str, int], _core.ListMeasure] = {}
        self.reset()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the measures, which are made again from the metrics."""
        return self.__dict__ | {"_measures": {}}

    def reset(self) -> None:
        """Forget everything that was added."""
        self.total: Addition | None = None

    @property
    def list_keys(self) -> list[str]:
        """Keys of the metrics that have a value per list."""
        return [key for metric in self.metrics if isinstance(metric, ListMetric) for key in metric.result_keys]

    def find(
        self, source: Source, rows: NDArray[np.intp], targets: "CoreTargets | None", *, num_threads: int
    ) -> Addition:
        """Return what some lists add, without adding it.

        Parameters
        ----------
        source : Source
            Lists.
        rows : ndarray of shape (n_rows,)
            Those that count.
        targets : tuple or None
            Relevant items of all lists.
        num_threads : int
            Threads.

        Returns
        -------
        Addition
            With values of the lists that count.

        Raises
        ------
        RankboundError
            For data that does not fit the lists, targets that are missing, and lists that cannot be read.
        """
        n_items = self._n_items(source, targets)
        chosen = rows.astype(np.uint64)
        exposures: dict[Pass, Exposure] = {}
        hits: dict[Pass, _core.GroupSums] = {}
        values: dict[str, NDArray[np.float64]] = {}
        for one, metrics in self.passes.items():
            k, rank_value = one
            listed = [metric for metric in metrics if isinstance(metric, ListMetric)]
            request = Request(
                k=k,
                rows=chosen,
                measures=[self._measure(metric, n_items) for metric in listed],
                targets=targets,
                weights=None if rank_value == RankValue() else rank_value,
                class_hits=any(isinstance(metric, ClassMetric) for metric in metrics),
            )
            columns, sums, hits[one], n_tied = source.scan(request, n_items=n_items, num_threads=num_threads)
            exposures[one] = Exposure(sums=sums, n_lists=len(rows), k=k, rank_value=rank_value, n_tied_at_cut=n_tied)
            keys = [key for metric in listed for key in metric.result_keys]
            values |= dict(zip(keys, columns, strict=True))
        return Addition(
            n_items=n_items,
            exposures=exposures,
            hits=hits,
            values=values,
            means={key: _sums(column) for key, column in values.items()},
        )

    def sum_with(self, addition: Addition) -> Addition:
        """Return the total with what a batch adds, for the caller to keep as :attr:`total`.

        Parameters
        ----------
        addition : Addition
            From :meth:`find`.

        Returns
        -------
        Addition
            The sums, without values per list.

        Raises
        ------
        ShapeError
            If the batches before were over another number of items.
        """
        mine = self.total
        if mine is None:
            return replace(addition, values={})
        if mine.n_items != addition.n_items:
            raise ShapeError(f"lists over {addition.n_items} items, but over {mine.n_items} in the batches before")
        return Addition(
            n_items=mine.n_items,
            exposures={one: mine.exposures[one].merge(addition.exposures[one]) for one in self.passes},
            hits={one: mine.hits[one].merge(addition.hits[one]) for one in self.passes},
            values={},
            means={key: sums.merge(addition.means[key]) for key, sums in mine.means.items()},
        )

    def check_same(self, other: "Accumulator") -> None:
        """Refuse another accumulator of other metrics, or of the same ones over other data.

        Parameters
        ----------
        other : Accumulator
            To be merged.

        Raises
        ------
        InvalidParameterError
            Naming the first metric that differs.
        """
        theirs = {metric.label: metric.protocol for metric in other.metrics}
        mine = {metric.label: metric.protocol for metric in self.metrics}
        for label in [*mine, *theirs]:
            if mine.get(label) != theirs.get(label):
                raise InvalidParameterError(
                    f"{label} is not the same metric of the same data on both sides; such results cannot be merged"
                )

    def merge(self, other: "Accumulator") -> None:
        """Add what another accumulator of the same metrics holds.

        Parameters
        ----------
        other : Accumulator
            It is left as it is.

        Raises
        ------
        InvalidParameterError
            If its metrics, or their data, differ.
        ShapeError
            If the numbers of items differ.
        """
        self.check_same(other)
        if other.total is not None:
            self.total = self.sum_with(other.total)

    def compute(self) -> dict[str, float]:
        """Return every metric over what was added; NaN where nothing defines it.

        Returns
        -------
        dict of str to float
            By key, in the order of the metrics.
        """
        found: dict[str, float] = {}
        total = self.total
        for metric in self.metrics:
            one = _pass_of(metric)
            if total is None:
                found |= dict.fromkeys(metric.result_keys, float("nan"))
            elif isinstance(metric, ExposureMetric):
                found |= metric.values(total.exposures[one])
            elif isinstance(metric, ListMetric):
                found |= {key: float(total.means[key].means()[0][0]) for key in metric.result_keys}
            elif isinstance(metric, ClassMetric):
                found[metric.key] = metric.value(total.hits[one])
        return found

    def protocol(self) -> dict[str, Any]:
        """Return the conventions behind each number, by label."""
        return {metric.label: metric.protocol for metric in self.metrics}

    def _measure(self, metric: ListMetric, n_items: int) -> _core.ListMeasure:
        made = (metric.label, n_items)
        if made not in self._measures:
            self._measures[made] = metric.measure(n_items)
        return self._measures[made]

    def _n_items(self, source: Source, targets: "CoreTargets | None") -> int:
        needy = next((metric for metric in self.metrics if metric.needs_targets), None)
        if needy is not None and targets is None:
            raise InvalidTypeError(f"{needy.label} needs targets: the relevant items of each list")
        n_items = source.n_items if targets is None else targets.n_items
        if source.n_items is not None and source.n_items != n_items:
            raise ShapeError(f"targets has {n_items} items, but the lists are over {source.n_items}")
        for metric in self.metrics:
            if metric.n_items is None:
                continue
            if n_items is None:
                n_items = metric.n_items
            if metric.n_items != n_items:
                raise ShapeError(
                    f"{metric.label} has data about {metric.n_items} items, but the lists are over {n_items}; give "
                    "one entry per item"
                )
        if n_items is None:
            raise InvalidParameterError(
                "the lists do not say how many items the catalogue has: pass RankedLists(..., n_items=...)"
            )
        return n_items


def check_keys(metrics: Iterable[CatalogueMetric]) -> None:
    """Refuse metrics that share a key.

    Parameters
    ----------
    metrics : iterable of CatalogueMetric
        The metrics.

    Raises
    ------
    InvalidParameterError
        Naming the key.
    """
    seen: set[str] = set()
    for key in (key for metric in metrics for key in metric.result_keys):
        if key in seen:
            raise InvalidParameterError(
                f"metrics: {key!r} is the key of two metrics; evaluate them one after the other"
            )
        seen.add(key)


def _pass_of(metric: CatalogueMetric) -> Pass:
    return metric.k, metric.rank_value


def _sums(values: NDArray[np.float64]) -> _core.GroupSums:
    """Return the sum and number of the defined values."""
    defined = values[~np.isnan(values)]
    return _core.GroupSums.of(defined, np.zeros(len(defined), dtype=np.uint32), 1)
