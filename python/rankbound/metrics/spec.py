"""What all built-in metrics share: they are frozen values that the core computes."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

from rankbound._options import as_cut_off
from rankbound.errors import InvalidKError


class CoreMetric(NamedTuple):
    """One metric at one cut-off, as the core takes it."""

    key: str
    family: str
    k: int | None
    gain: str = "binary"
    discount: str = "log2"
    parameter: float = 0.0

    @property
    def count_key(self) -> str | None:
        """Key of the number of lists, which is reported beside logarithms; None for other metrics."""
        return f"{self.key.removesuffix('.logmean')}.n" if self.family == "log_rbp" else None


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A built-in metric at one cut-off or several: a frozen, hashable value.

    Parameters
    ----------
    cutoffs : int, sequence of int, or None, default None
        Cut-offs, each at least 1; they are sorted and named once. None takes the whole list, where the metric is
        defined without a cut-off.

    Raises
    ------
    InvalidKError
        For a cut-off that is no integer of at least 1, none at all, or a missing one.
    """

    cutoffs: Any = None

    family: ClassVar[str]
    needs_cut_off: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check and sort the cut-offs."""
        object.__setattr__(self, "cutoffs", self._sorted_cutoffs())

    def _sorted_cutoffs(self) -> tuple[int, ...] | None:
        if self.cutoffs is None:
            if self.needs_cut_off:
                raise InvalidKError(f"{type(self).__name__} needs a cut-off, such as {type(self).__name__}(10)")
            return None
        given = self.cutoffs
        values = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [given]
        if not values:
            raise InvalidKError(f"{type(self).__name__} got no cut-off; give at least one integer")
        return tuple(sorted({as_cut_off(k, name="cutoffs") for k in values}))

    @property
    def name(self) -> str:
        """The metric without its cut-offs, denominators and gains included, such as ``ndcg_exp2``."""
        return self.family

    @property
    def options(self) -> dict[str, float]:
        """Parameters that the name does not say, for the label."""
        return {}

    @property
    def parameters(self) -> dict[str, float]:
        """Every parameter that the name does not say, default or not: what must agree between comparable values."""
        return {}

    @property
    def is_graded(self) -> bool:
        """Whether grades matter, beyond an item being relevant."""
        return False

    @property
    def required_k(self) -> int | None:
        """The deepest rank that is looked at; None for the whole list."""
        return None if self.cutoffs is None else int(self.cutoffs[-1])

    @property
    def result_keys(self) -> tuple[str, ...]:
        """Keys of the results, one per cut-off."""
        return tuple(metric.key for metric in self.core_metrics())

    @property
    def label(self) -> str:
        """The metric as text, which :func:`rankbound.metrics.parse` reads back."""
        cutoffs = "" if self.cutoffs is None else "@" + ",".join(map(str, self.cutoffs))
        options = ",".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.name}{cutoffs}" + (f"[{options}]" if options else "")

    def core_metrics(self) -> tuple[CoreMetric, ...]:
        """Return the metric at each cut-off, as the core takes it.

        Returns
        -------
        tuple of CoreMetric
            In rising order of the cut-offs.
        """
        cutoffs: Iterable[int | None] = (None,) if self.cutoffs is None else self.cutoffs
        return tuple(self._core(self.name if k is None else f"{self.name}@{k}", k) for k in cutoffs)

    def _core(self, key: str, k: int | None) -> CoreMetric:
        return CoreMetric(key, self.family, k)

    def __repr__(self) -> str:
        given = [] if self.cutoffs is None else [str(self.cutoffs[0]) if len(self.cutoffs) == 1 else str(self.cutoffs)]
        others = [field for field in fields(self) if field.name != "cutoffs"]
        given += [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in others
            if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __str__(self) -> str:
        return self.label
