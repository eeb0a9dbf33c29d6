"""What a new ranking would have earned, estimated from the clicks on an old one.

The model is position-based: an item shown at rank ``j`` is clicked with probability ``propensity(j) * relevance``. It
knows no trust bias and no noise clicks; the affine correction for these (Agarwal et al. 2019) is out of scope. A curve
of clicks by rank is no propensity, because it mixes in how relevant the items of each rank are: propensities come from
a randomised experiment, from several rankers that served the same queries, or from an assumption that is stated.
"""

from rankbound.counterfactual.estimate import CounterfactualEstimate, ips, naive, snips
from rankbound.counterfactual.propensity import (
    PowerLaw,
    SwapPropensities,
    estimate_propensities_from_swaps,
    fit_power_law,
)
from rankbound.counterfactual.sensitivity import SensitivitySweep, sensitivity_sweep
from rankbound.counterfactual.weights import ImportanceDiagnostics

__all__ = [
    "CounterfactualEstimate",
    "ImportanceDiagnostics",
    "PowerLaw",
    "SensitivitySweep",
    "SwapPropensities",
    "estimate_propensities_from_swaps",
    "fit_power_law",
    "ips",
    "naive",
    "sensitivity_sweep",
    "snips",
]
