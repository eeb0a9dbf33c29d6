"""How many units an experiment needs, before it is run."""

import math
from statistics import NormalDist

from rankbound._options import as_choice, as_count, as_level, as_non_negative, as_number
from rankbound.compare.inference import ALTERNATIVES
from rankbound.errors import InvalidParameterError

# Of standard errors to a difference, whose square is still a number.
MAX_RATIO = 1e100


def minimum_detectable_effect(
    standard_error: float, *, power: float = 0.8, confidence_level: float = 0.95, alternative: str = "two-sided"
) -> float:
    """Return the smallest true difference that a comparison finds significant with the given power.

    For planning the next experiment from the standard error of an earlier one; the power of a test that has been made
    says nothing beyond its p-value.

    Parameters
    ----------
    standard_error : float
        Of the difference, at least 0, such as :attr:`PairwiseComparison.standard_error`.
    power : float, default 0.8
        Probability to find such a difference.
    confidence_level : float, default 0.95
        One less the level of the test.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        Of the test.

    Returns
    -------
    float
        In units of the metric; 0 for a standard error of 0.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        For options out of range.

    Examples
    --------
    >>> from rankbound.compare import minimum_detectable_effect
    >>> round(minimum_detectable_effect(0.01), 4)
    0.028
    """
    error = as_non_negative(standard_error, name="standard_error")
    return _quantiles(power, confidence_level, alternative) * error


def units_needed(
    difference: float,
    *,
    standard_error: float,
    n_units: int,
    power: float = 0.8,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> int:
    """Return the number of units with which a true difference is found significant with the given power.

    Parameters
    ----------
    difference : float
        True difference to find, positive or negative, not 0.
    standard_error : float
        Of the difference in an earlier comparison.
    n_units : int
        Units of that comparison: the squared error falls with their number.
    power, confidence_level, alternative
        As in :func:`minimum_detectable_effect`.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        For options out of range.

    Examples
    --------
    >>> from rankbound.compare import units_needed
    >>> units_needed(0.014, standard_error=0.01, n_units=1000)
    4005
    """
    error = as_non_negative(standard_error, name="standard_error")
    units = as_count(n_units, name="n_units")
    size = abs(as_number(difference, name="difference"))
    if size == 0 or units == 0 or not math.isfinite(size):
        raise InvalidParameterError(f"difference and n_units must be finite and not 0, got {difference!r} and {units}")
    ratio = _quantiles(power, confidence_level, alternative) * error / size
    if ratio > MAX_RATIO:
        raise InvalidParameterError(
            f"difference is {difference!r}, too small beside a standard_error of {standard_error!r}: no count of units "
            "would do"
        )
    return max(1, math.ceil(units * ratio**2))


def _quantiles(power: float, confidence_level: float, alternative: str) -> float:
    """Return how many standard errors a true difference must be from zero."""
    sides = 2 if as_choice(alternative, ALTERNATIVES, name="alternative") == "two-sided" else 1
    level = 1 - (1 - as_level(confidence_level, name="confidence_level")) / sides
    wanted = as_level(power, name="power")
    # With less power than the level of the test there is no such difference.
    if wanted <= 1 - level:
        raise InvalidParameterError(f"power must exceed {1 - level:g}, the test's level on one side, got {wanted:g}")
    return NormalDist().inv_cdf(level) + NormalDist().inv_cdf(wanted)
