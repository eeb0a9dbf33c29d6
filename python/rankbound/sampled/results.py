"""Results over sampled negatives, which know their design and refuse what they cannot be compared with."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_flag, as_integer
from rankbound.errors import ComparisonError, InvalidParameterError

# Enough for every catalogue, and exact in the integer arithmetic of the rank law.
MAX_ITEMS = 10**9
MAX_SAMPLES = 10**6
_SAMPLED_NAME = re.compile(
    r"(sampled|corrected|estimated)_[a-z0-9_]+(@\d+)?(?P<design>\[m=\d+(\.\.\d+)?,(wr|wor)[^\]]*\])?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDesign:
    """How the negatives of a list were drawn.

    Parameters
    ----------
    n_items : int
        Number of candidates of the exact ranking, the truth included: from 2 to 10^9.
    n_samples : int
        Number of negatives drawn for each list: from 1 to 10^6.
    replacement : bool
        Whether the same negative could be drawn twice.

    Raises
    ------
    InvalidParameterError
        If any of them is None, that is unknown, or out of range.
    InvalidTypeError
        For values of other types.

    Examples
    --------
    >>> from rankbound.sampled import SampleDesign
    >>> str(SampleDesign(n_items=10_000, n_samples=99, replacement=True))
    'm=99,wr'
    """

    n_items: int
    n_samples: int
    replacement: bool

    def __post_init__(self) -> None:
        unknown = [name for name in ("n_items", "n_samples", "replacement") if getattr(self, name) is None]
        if unknown:
            raise InvalidParameterError(
                f"{' and '.join(unknown)} must be known: a sampled metric means nothing without the number of "
                "candidates, the number of negatives and whether they were drawn with replacement; look it up where "
                "the negatives were drawn, or evaluate the exact ranking"
            )
        for name, least, most in (("n_items", 2, MAX_ITEMS), ("n_samples", 1, MAX_SAMPLES)):
            number = as_integer(getattr(self, name), name=name)
            if not least <= number <= most:
                raise InvalidParameterError(f"{name} must be between {least} and {most}, got {number}")
            object.__setattr__(self, name, number)
        object.__setattr__(self, "replacement", as_flag(self.replacement, name="replacement"))
        if not self.replacement and self.n_samples >= self.n_items:
            raise InvalidParameterError(
                f"n_samples is {self.n_samples}, but only {self.n_items - 1} of {self.n_items} items are negatives; "
                "without replacement there are no more to draw"
            )

    def __str__(self) -> str:
        return f"m={self.n_samples},{'wr' if self.replacement else 'wor'}"

    @property
    def blind_spot(self) -> float:
        """Number of top positions whose ranks leave the same mark on a sampled list: ``(n_items - 1) / n_samples``."""
        return (self.n_items - 1) / self.n_samples


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledResult:
    """A value that stems from sampled negatives; the base of this module's results.

    ``a - b``, ``a < b`` and the other orders work between results of the same name and design and raise
    :class:`rankbound.errors.ComparisonError` otherwise, above all against an exact value. Equality is identity.

    Parameters
    ----------
    name : str
        What was computed, with the design: ``sampled_recall@10[m=100,wr]``.
    design : SampleDesign
        How the negatives were drawn.
    value : float
        The result, a mean over lists; higher is better.
    """

    name: str
    design: SampleDesign
    value: float

    def __sub__(self, other: Any) -> float:
        check_comparable(self, other)
        return float(self.value - other.value)

    def __rsub__(self, other: Any) -> float:
        check_comparable(other, self)
        return float(other.value - self.value)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, float.__lt__)

    def __le__(self, other: Any) -> bool:
        return self._compare(other, float.__le__)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, float.__gt__)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, float.__ge__)

    def _compare(self, other: Any, order: Callable[[float, float], bool]) -> bool:
        check_comparable(self, other)
        return order(self.value, other.value)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledMetric(SampledResult):
    """An expected sampled metric, from :func:`expected_sampled_metric`.

    Parameters
    ----------
    name, design, value
        As in :class:`SampledResult`; ``value`` is the expectation over the draws of negatives.
    values : ndarray of shape (n_lists,)
        Expectation of each list.
    draw_sd : float
        Standard deviation of the mean over the draws of negatives (and the orders of ties), independent between lists:
        how far a single sampled run strays from ``value`` for no other reason.
    """

    values: NDArray[np.float64] = field(repr=False)
    draw_sd: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CorrectedMetric(SampledResult):
    """An estimate of an exact metric from sampled ranks, from :func:`correct_sampled`.

    Parameters
    ----------
    name, design, value
        As in :class:`SampledResult`; the name also carries the method.
    values : ndarray of shape (n_lists,)
        Corrected value of each list.
    standard_error : float
        Of ``value``, from the spread of ``values``: it covers the choice of lists and the draws of negatives, and not
        the bias that the correction leaves. NaN for a single list.
    rank_values : ndarray of shape (n_samples + 1,)
        What each sampled rank is worth. They may lie outside the metric's range; NaN for sampled ranks that the prior
        rules out.
    condition_number : float or None
        Of the system that was solved, its matrix scaled to a unit diagonal; None for method ``"rank"``.
    warnings : tuple of str
        What to keep in mind before reading ``value``.
    """

    values: NDArray[np.float64] = field(repr=False)
    standard_error: float
    rank_values: NDArray[np.float64] = field(repr=False)
    condition_number: float | None
    warnings: tuple[str, ...]


def check_comparable(left: Any, right: Any) -> None:
    """Refuse to compare what sampled negatives make incomparable.

    Parameters
    ----------
    left, right : SampledResult, str or object
        Results of this module, or names of metrics such as the keys of an evaluation. Anything else counts as exact,
        and so does every name that does not start with ``sampled_``, ``corrected_`` or ``estimated_``.

    Raises
    ------
    ComparisonError
        If one is sampled and the other exact, if name or design differ, or if a sampled name lacks its design.

    Examples
    --------
    >>> from rankbound.sampled import check_comparable
    >>> check_comparable("recall@10", "recall@10")
    >>> check_comparable("sampled_recall@10[m=100,wr]", "recall@10")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    ComparisonError: 'sampled_recall@10[m=100,wr]' stems from sampled negatives and 'recall@10' does not
    """
    names = [_sampled_name(side) for side in (left, right)]
    if names == [None, None]:
        return
    if None in names:
        sampled, exact = (names[0], right) if names[1] is None else (names[1], left)
        raise ComparisonError(
            f"{sampled!r} stems from sampled negatives and {_show(exact)} does not: they are different quantities, "
            "whose difference says nothing; evaluate both exactly"
        )
    if names[0] != names[1]:
        raise ComparisonError(f"{names[0]!r} and {names[1]!r} differ in metric, design or method; compute both alike")
    if isinstance(left, SampledResult) and isinstance(right, SampledResult) and left.design != right.design:
        raise ComparisonError(
            f"{names[0]!r} was sampled from {left.design.n_items} items on one side and from {right.design.n_items} on "
            "the other; the same rank means something else there"
        )


def _show(exact: Any) -> str:
    return repr(exact) if isinstance(exact, (str, Real)) else type(exact).__name__


def _sampled_name(side: Any) -> str | None:
    """Return the name of a sampled result, None for an exact one."""
    if isinstance(side, SampledResult):
        return side.name
    if not (isinstance(side, str) and side.startswith(("sampled_", "corrected_", "estimated_"))):
        return None
    found = _SAMPLED_NAME.match(side)
    if found is None or found["design"] is None:
        raise ComparisonError(
            f"{side!r} does not say how its negatives were drawn; name the design, as in 'sampled_recall@10[m=100,wr]'"
        )
    return side
