"""What all catalogue metrics share: they are frozen values that say what is measured, and from which data."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import as_choice, as_cut_off, as_level
from rankbound._validation import as_finite_vector
from rankbound.catalogue.exposure import Exposure, RankValue
from rankbound.errors import InvalidParameterError, ShapeError


@dataclass(frozen=True, slots=True, eq=False)
class CatalogueMetric(ABC):
    """A metric of what the top ``k`` of many lists hold: a frozen value.

    Parameters
    ----------
    k : int
        Cut-off, at least 1.
    """

    k: int

    name: ClassVar[str]
    needs_targets: ClassVar[bool] = False
    is_graded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the cut-off and the data."""
        object.__setattr__(self, "k", as_cut_off(self.k))

    @property
    def key(self) -> str:
        """The key of the result, such as ``novelty@10``."""
        return f"{self.name}@{self.k}"

    @property
    def result_keys(self) -> tuple[str, ...]:
        """The keys of all results."""
        return (self.key,)

    @property
    def label(self) -> str:
        """The metric as text."""
        return self.key

    @property
    def required_k(self) -> int:
        """The deepest rank that is looked at."""
        return self.k

    @property
    def rank_value(self) -> RankValue:
        """What each rank gives to the exposure of its item."""
        return RankValue()

    @property
    def n_items(self) -> int | None:
        """Number of items that the data is about; None without data."""
        return None

    @property
    def protocol(self) -> dict[str, Any]:
        """The conventions and the data behind the number: options as they are, arrays as a digest."""
        return self._options()

    def _options(self) -> dict[str, Any]:
        given = [one.name for one in fields(self) if one.name != "k"]
        return {name: _described(getattr(self, name)) for name in given}

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def _described(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        digest = blake2b(str(value.dtype).encode() + np.ascontiguousarray(value).tobytes(), digest_size=16)
        return digest.hexdigest()
    return getattr(value, "__qualname__", value) if callable(value) else value


@dataclass(frozen=True, slots=True, eq=False)
class ExposureMetric(CatalogueMetric):
    """A metric that is read from how often each item is shown by all lists together."""

    @abstractmethod
    def values(self, exposure: Exposure) -> dict[str, float]:
        """Return the value under each key.

        Parameters
        ----------
        exposure : Exposure
            By all lists.

        Returns
        -------
        dict of str to float
            NaN where nothing is shown.
        """

    def ties(self, exposure: Exposure) -> dict[str, float]:
        """Return what is known of the spread over orders of ties.

        Parameters
        ----------
        exposure : Exposure
            By all lists.

        Returns
        -------
        dict of str to float
            Empty, unless a metric knows something.
        """
        del exposure
        return {}


@dataclass(frozen=True, slots=True, eq=False)
class ListMetric(CatalogueMetric):
    """A metric that has a value for each list, of which the mean is reported."""

    @abstractmethod
    def measure(self, n_items: int) -> _core.ListMeasure:
        """Return what the core computes.

        Parameters
        ----------
        n_items : int
            Number of items in the catalogue.

        Returns
        -------
        _core.ListMeasure
            One column per key.
        """


@dataclass(frozen=True, slots=True, eq=False)
class ItemMetric(ListMetric):
    """A metric of lists that is the expected mean of a number per item."""

    @abstractmethod
    def item_values(self, n_items: int) -> NDArray[np.float64]:
        """Return the number of each item.

        Parameters
        ----------
        n_items : int
            Number of items in the catalogue.

        Returns
        -------
        ndarray of shape (n_items,)
            The numbers.
        """

    def measure(self, n_items: int) -> _core.ListMeasure:
        """Return their mean over the top ``k``."""
        return _core.ListMeasure.mean_weight(self.item_values(n_items))


@dataclass(frozen=True, slots=True, eq=False)
class ClassMetric(CatalogueMetric):
    """A metric that is read from how often each item is shown where it is relevant."""

    needs_targets: ClassVar[bool] = True

    @abstractmethod
    def value(self, hits: _core.GroupSums) -> float:
        """Return the value.

        Parameters
        ----------
        hits : _core.GroupSums
            Probabilities of being shown, by item.

        Returns
        -------
        float
            NaN if there is nothing to average.
        """

    def support(self, hits: _core.GroupSums) -> dict[str, float]:
        """Return what the value rests on.

        Parameters
        ----------
        hits : _core.GroupSums
            As above.

        Returns
        -------
        dict of str to float
            Empty, unless a metric has something to say.
        """
        del hits
        return {}


def of_length(values: NDArray[np.float64], n_items: int, name: str) -> NDArray[np.float64]:
    """Refuse data about another number of items."""
    if len(values) != n_items:
        raise ShapeError(f"{name} is about {len(values)} items, but there are {n_items}; give one entry per item")
    return values


def as_item_vector(values: Any, *, name: str) -> NDArray[np.float64]:
    """Return a number of at least 0 per item, as :func:`rankbound._validation.as_finite_vector` checks it."""
    return as_finite_vector(values, name=name, of="item", minimum=0.0)


def as_counts(counts: Any) -> NDArray[np.float64]:
    """Return training counts per item.

    Parameters
    ----------
    counts : array_like of shape (n_items,)
        Whole numbers of at least 0, not all 0.

    Returns
    -------
    ndarray of shape (n_items,), dtype float64
        The counts.

    Raises
    ------
    RankboundError
        As :func:`as_item_vector`, and for shares instead of counts, or no interaction at all.
    """
    numbers = as_item_vector(counts, name="counts")
    broken = numbers != np.floor(numbers)
    if broken.any():
        at = int(broken.argmax())
        raise InvalidParameterError(
            f"counts has {numbers[at]:g} for item {at}; it must hold whole numbers of training interactions: an item "
            "without any is given one, which shares cannot say"
        )
    if not numbers.any():
        raise InvalidParameterError("counts is 0 for every item; count the training interactions of each")
    return numbers


def as_rank_value(weights: Any, patience: Any) -> RankValue:
    """Return what each rank is worth.

    Parameters
    ----------
    weights : {"top", "log2", "geometric"}
        1, ``1 / log2(1 + rank)`` or ``(1 - p) p^(rank - 1)``.
    patience : float or None
        The ``p`` of ``"geometric"``, between 0 and 1; None for the others.

    Returns
    -------
    RankValue
        Both.

    Raises
    ------
    InvalidParameterError
        For other weights, and a patience that is missing or in vain.
    """
    name = as_choice(weights, ("top", "log2", "geometric"), name="weights")
    if (name == "geometric") != (patience is not None):
        raise InvalidParameterError(
            f"weights {name!r} {'need' if patience is None else 'take no'} patience: it belongs to 'geometric', such "
            "as patience=0.8"
        )
    return RankValue(name, 0.0 if patience is None else as_level(patience, name="patience"))
