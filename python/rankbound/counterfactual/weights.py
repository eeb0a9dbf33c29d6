"""How far weighted clicks can be relied on."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import MAX_CUT_OFF
from rankbound.counterfactual.log import Placements

LEAST_ESS_SHARE = 0.1
LARGEST_WEIGHT_SHARE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportanceDiagnostics:
    """What the weights of an estimate say about it.

    Parameters
    ----------
    n_clicks : int
        Number of clicks.
    n_unranked_clicks : int
        Clicks on items that the new ranking does not contain; they earn nothing.
    n_clipped : int
        Clicks whose propensity was raised to the clip.
    sum_of_weights : float
        Sum of the clicks' weights. Divided by the number of queries it estimates the relevant items per query.
    effective_sample_size : float
        ``sum(weights)^2 / sum(weights^2)``: so many clicks of equal weight say as much; 0 without clicks.
    effective_share : float
        The same divided by the number of clicks, at most 1; NaN without clicks.
    largest_weight_share : float
        Share of the heaviest click in the sum of weights; NaN without clicks.
    uncovered_mass : float
        Share of the new ranking's slots, up to the metric's cut-off, that it fills with items never shown in that
        query, in expectation over ties. Clicks say nothing about these.
    """

    n_clicks: int
    n_unranked_clicks: int
    n_clipped: int
    sum_of_weights: float
    effective_sample_size: float
    effective_share: float
    largest_weight_share: float
    uncovered_mass: float

    def warnings(self) -> tuple[str, ...]:
        """Return what is wrong, a sentence each.

        Returns
        -------
        tuple of str
            Empty if nothing is.
        """
        found = []
        if self.n_clicks == 0:
            found.append("there is no click: the estimate knows nothing")
        if self.effective_share < LEAST_ESS_SHARE:
            found.append(
                f"{self.n_clicks} clicks say as much as {self.effective_sample_size:.1f} of equal weight "
                f"({self.effective_share:.1%}): a few weights decide; clip them or collect more clicks"
            )
        if self.largest_weight_share > LARGEST_WEIGHT_SHARE:
            found.append(
                f"a single click carries {self.largest_weight_share:.1%} of all weight: the estimate and its interval "
                "rest on it; clip the weights or collect more clicks"
            )
        if self.uncovered_mass > 0:
            found.append(
                f"{self.uncovered_mass:.1%} of the new ranking's slots show items that were never shown in their "
                "query: no click can tell their worth, and they count as nothing"
            )
        return tuple(found)


def diagnose(
    weights: NDArray[np.float64], placements: Placements, *, k: int | None, n_unranked_clicks: int, n_clipped: int
) -> ImportanceDiagnostics:
    """Return the diagnostics of the weights of the clicks.

    Parameters
    ----------
    weights : ndarray of shape (n_clicks,)
        Weight of each click, above 0.
    placements : Placements
        Of the new ranking.
    k : int or None
        Cut-off of the metric.
    n_unranked_clicks, n_clipped : int
        Counted elsewhere.

    Returns
    -------
    ImportanceDiagnostics
        For the record.
    """
    n_clicks = len(weights)
    total = math.fsum(weights)
    # Relative to the heaviest, so that squares neither overflow nor vanish.
    relative = weights / weights.max() if n_clicks else weights
    effective = math.fsum(relative) ** 2 / math.fsum(relative**2) if n_clicks else 0.0
    cut = MAX_CUT_OFF if k is None else k
    inside = np.clip(cut - placements.unshown_better, 0, placements.unshown_tied) / placements.unshown_tied
    return ImportanceDiagnostics(
        n_clicks=n_clicks,
        n_unranked_clicks=n_unranked_clicks,
        n_clipped=n_clipped,
        sum_of_weights=total,
        effective_sample_size=effective,
        effective_share=effective / n_clicks if n_clicks else math.nan,
        largest_weight_share=float(weights.max()) / total if n_clicks else math.nan,
        uncovered_mass=_core.exact_sum(inside) / int(np.minimum(placements.list_lengths, cut).sum()),
    )
