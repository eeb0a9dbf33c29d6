"""How likely each rank is to be looked at: from an experiment that swaps ranks, and as a power of the rank."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_flag
from rankbound._tables import as_numbers, read_columns
from rankbound.errors import DuplicateItemError, InvalidParameterError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SwapPropensities:
    """Propensities relative to rank 1, from :func:`estimate_propensities_from_swaps`.

    Parameters
    ----------
    ranks : ndarray of shape (n_ranks,), dtype int64
        The ranks that were swapped with rank 1, ascending.
    propensities : ndarray of shape (n_ranks,)
        Propensity of each divided by that of rank 1. Noise can take it above 1, which no estimator accepts.
    log_variances : ndarray of shape (n_ranks,)
        Variance of the logarithm of each.
    smoothed : ndarray of shape (n_ranks,), dtype bool
        Whether half a click was added because one of the two ranks had none.
    """

    ranks: Counts
    propensities: Floats
    log_variances: Floats
    smoothed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLaw:
    """Propensity as a power of the rank, ``rank ** -exponent``, from :func:`fit_power_law`.

    Parameters
    ----------
    exponent : float
        0 if all ranks are looked at alike; about 1 on many result pages.
    standard_error : float
        Of the exponent.
    chi_square : float
        Weighted squared residuals of the log propensities; about ``degrees_of_freedom`` if a power law fits.
    degrees_of_freedom : int
        Number of ranks measured less 1.
    largest_rank : int
        The largest rank that was measured.
    """

    exponent: float
    standard_error: float
    chi_square: float
    degrees_of_freedom: int
    largest_rank: int

    def propensities(self, ranks: Any, *, extrapolate: bool = False) -> Floats:
        """Return the propensity of each rank, for the column ``propensity`` of a log.

        Parameters
        ----------
        ranks : array_like of shape (n_rows,)
            Logged ranks, from 1.
        extrapolate : bool, default False
            Whether ranks beyond the largest one measured are allowed.

        Returns
        -------
        ndarray of shape (n_rows,)
            Above 0; at most 1 if the exponent is not negative.

        Raises
        ------
        InvalidParameterError
            For ranks that are no whole numbers from 1, or beyond those measured.
        """
        columns = read_columns({"ranks": ranks}, ["ranks"], name="the argument")
        numbers = as_numbers(columns["ranks"], name="ranks")
        _check((numbers >= 1) & (numbers == np.floor(numbers)), numbers, "ranks", "ranks count from 1")
        if not as_flag(extrapolate, name="extrapolate"):
            advice = f"the power law was measured up to rank {self.largest_rank}; pass extrapolate=True to go beyond"
            _check(numbers <= self.largest_rank, numbers, "ranks", advice)
        return numbers**-self.exponent


def estimate_propensities_from_swaps(
    ranks: Any, clicks_at_first: Any, clicks_at_rank: Any, n_impressions: Any, *, add_half: bool = False
) -> SwapPropensities:
    """Estimate propensities from impressions in which rank 1 and rank k were swapped with probability 1/2.

    The coin must not depend on the items. Both items are then equally often at both ranks, so that the ratio of clicks
    at rank k to clicks at rank 1, over swapped and unswapped impressions together, is the ratio of the propensities.
    Its logarithm has variance ``(1 - q_k) / (n q_k) + (1 - q_1) / (n q_1)`` with click rates ``q`` (delta method).

    Parameters
    ----------
    ranks : array_like of shape (n_ranks,)
        The ranks swapped with rank 1: distinct integers from 2.
    clicks_at_first : array_like of shape (n_ranks,)
        Clicks at rank 1 in the impressions of each experiment.
    clicks_at_rank : array_like of shape (n_ranks,)
        Clicks at the other rank in the same impressions.
    n_impressions : array_like of shape (n_ranks,)
        Number of impressions of each experiment.
    add_half : bool, default False
        Whether to add half a click to both ranks, and one impression, where one of the ranks has no click; refused
        otherwise.

    Returns
    -------
    SwapPropensities
        By ascending rank.

    Raises
    ------
    InvalidParameterError
        For a rank without clicks, and for counts that contradict one another.
    RankboundError
        Another subclass for arguments of the wrong type or shape.

    References
    ----------
    T. Joachims, A. Swaminathan, T. Schnabel, "Unbiased Learning-to-Rank with Biased Feedback", WSDM 2017.

    Examples
    --------
    >>> from rankbound.counterfactual import estimate_propensities_from_swaps
    >>> found = estimate_propensities_from_swaps([2, 3], [100, 90], [50, 30], [1000, 1000])
    >>> found.propensities.round(3)
    array([0.5  , 0.333])
    """
    given = {
        "ranks": ranks,
        "clicks_at_first": clicks_at_first,
        "clicks_at_rank": clicks_at_rank,
        "n_impressions": n_impressions,
    }
    columns = {
        name: as_numbers(values, name=name)
        for name, values in read_columns(given, list(given), name="the experiment").items()
    }
    for name, numbers in columns.items():
        least = {"ranks": 2, "n_impressions": 1}.get(name, 0)
        accepted = (numbers >= least) & (numbers == np.floor(numbers)) & (numbers < 2**53)
        _check(accepted, numbers, name, f"it must be a whole number from {least}")
    first, other, n = columns["clicks_at_first"], columns["clicks_at_rank"], columns["n_impressions"]
    for name, clicks in (("clicks_at_first", first), ("clicks_at_rank", other)):
        _check(clicks <= n, clicks, name, "there are fewer impressions, each of which counts one click at a rank")
    order = _ascending(columns["ranks"])
    smoothed = (first == 0) | (other == 0)
    if not as_flag(add_half, name="add_half"):
        _check(
            ~smoothed,
            columns["ranks"],
            "ranks",
            "without clicks at both ranks there is no ratio; collect more, leave it out or pass add_half=True",
        )
    first, other, n = first + 0.5 * smoothed, other + 0.5 * smoothed, n + smoothed
    variances = (1 - other / n) / other + (1 - first / n) / first
    return SwapPropensities(
        ranks=columns["ranks"].astype(np.int64)[order],
        propensities=(other / first)[order],
        log_variances=variances[order],
        smoothed=smoothed[order],
    )


def fit_power_law(ranks: Any, propensities: Any, log_variances: Any) -> PowerLaw:
    """Fit ``propensity = rank ** -exponent`` to propensities relative to rank 1.

    Weighted least squares of the log propensities on the log ranks, through the origin, where rank 1 lies.

    Parameters
    ----------
    ranks : array_like of shape (n_ranks,)
        Distinct integers from 2.
    propensities : array_like of shape (n_ranks,)
        Relative to rank 1, above 0.
    log_variances : array_like of shape (n_ranks,)
        Variance of the logarithm of each, above 0.

    Returns
    -------
    PowerLaw
        With the standard error of its exponent.

    Raises
    ------
    RankboundError
        A subclass that names the argument and the value.

    Examples
    --------
    >>> from rankbound.counterfactual import estimate_propensities_from_swaps, fit_power_law
    >>> found = estimate_propensities_from_swaps([2, 4], [100, 100], [50, 25], [1000, 1000])
    >>> law = fit_power_law(found.ranks, found.propensities, found.log_variances)
    >>> round(law.exponent, 6), law.propensities([1, 2, 4]).round(6).tolist()
    (1.0, [1.0, 0.5, 0.25])
    """
    given = {"ranks": ranks, "propensities": propensities, "log_variances": log_variances}
    columns = {
        name: as_numbers(values, name=name)
        for name, values in read_columns(given, list(given), name="the measurement").items()
    }
    numbers = columns["ranks"]
    _check((numbers >= 2) & (numbers == np.floor(numbers)), numbers, "ranks", "it must be a whole number from 2")
    _ascending(numbers)
    for name in ("propensities", "log_variances"):
        _check((columns[name] > 0) & np.isfinite(columns[name]), columns[name], name, "it must be finite and above 0")
    x, y, weight = np.log(numbers), np.log(columns["propensities"]), 1 / columns["log_variances"]
    information = math.fsum(weight * x**2)
    exponent = -math.fsum(weight * x * y) / information
    return PowerLaw(
        exponent=exponent,
        standard_error=1 / math.sqrt(information),
        chi_square=math.fsum(weight * (y + exponent * x) ** 2),
        degrees_of_freedom=len(x) - 1,
        largest_rank=int(numbers.max()),
    )


def _ascending(ranks: Floats) -> Counts:
    order = np.argsort(ranks, kind="stable")
    twice = ranks[order[1:]] == ranks[order[:-1]]
    if twice.any():
        raise DuplicateItemError(f"ranks has {ranks[order[int(twice.argmax())]]:.0f} twice; add its counts up")
    return order


def _check(accepted: NDArray[np.bool_], values: Floats, name: str, advice: str) -> None:
    if not accepted.all():
        at = int((~accepted).argmax())
        raise InvalidParameterError(f"{name} has {values[at]:g} at position {at}; {advice}")
