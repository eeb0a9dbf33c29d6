"""Estimates of exact metrics from sampled ranks."""

import math
import warnings
from typing import Any

import numpy as np

from rankbound._options import as_choice, as_level, as_non_negative
from rankbound._validation import as_numpy
from rankbound.errors import InvalidParameterError, InvalidTypeError, ReliabilityWarning, ShapeError
from rankbound.sampled.correction import bias_variance_values, estimated_ranks, monotone_values
from rankbound.sampled.rank_law import (
    MAX_NUMBERS,
    Floats,
    Ranks,
    as_rank_bounds,
    check_fits,
    metric_label,
    values_of_ranks,
)
from rankbound.sampled.results import CorrectedMetric, SampleDesign

METHODS = ("rank", "least_bias", "cls", "bias_variance")


def correct_sampled(
    ranks: Any,
    n_items: int,
    n_samples: int,
    metric: str,
    k: int | None = None,
    *,
    method: str = "bias_variance",
    gamma: float = 0.1,
    replacement: bool | None = None,
    prior: Any = None,
    worst_ranks: Any = None,
) -> CorrectedMetric:
    """Estimate an exact metric from ranks among sampled negatives.

    No method can be unbiased for a metric of the top ranks unless about as many negatives were drawn as there are
    items: on average a sampled value is a polynomial of degree ``n_samples`` in the true rank, which hits, reciprocal
    rank and NDCG are not. More lists reduce the variance, never this bias, so every result carries a warning.

    Parameters
    ----------
    ranks : array_like of shape (n_lists,)
        Rank of the relevant item among itself and its sampled negatives, from 1 to ``n_samples + 1``.
    n_items : int
        Number of candidates of the exact ranking, the relevant item included.
    n_samples : int
        Number of negatives that were drawn uniformly for each list.
    metric : {"hit", "hit_rate", "recall", "mrr", "map", "ndcg", "auc"}
        The exact metric to estimate.
    k : int or None, default None
        Its cut-off in the exact ranking; None for the whole list. Hits need one, ``"auc"`` takes none.
    method : {"bias_variance", "rank", "least_bias", "cls"}, default "bias_variance"
        ``"rank"`` takes the metric at the rank that has the same share of better items. ``"least_bias"`` minimises the
        squared bias over the prior; ``"cls"`` does so among values that do not increase with the sampled rank;
        ``"bias_variance"`` adds ``gamma`` times the variance.
    gamma : float, default 0.1
        Between 0 (least bias) and 1 (posterior mean); used by ``"bias_variance"`` alone.
    replacement : bool
        Whether negatives were drawn with replacement. There is no default: refused while it is None.
    prior : array_like of shape (n_items,) or None, default None
        Probability of each true rank, summing to 1; None takes all as equally likely. Method ``"rank"`` has none.
    worst_ranks : array_like of shape (n_lists,) or None, default None
        With ties in the sampled lists ``ranks`` holds the best rank and this the worst; all between are equally likely.

    Returns
    -------
    CorrectedMetric
        Named with design and method, with a standard error.

    Raises
    ------
    InvalidParameterError
        If ``n_items``, ``n_samples`` or ``replacement`` is unknown, an option or rank is out of range, the method does
        not fit in memory (up to 2^28 items; 16383 negatives, with ``"cls"`` 4095; ``"rank"`` takes more), or the system
        to solve has a condition number above 1e12, as ``"least_bias"`` has from about 20 negatives on.
    RankboundError
        Another subclass for arguments of the wrong type, shape or cut-off.

    Warns
    -----
    ReliabilityWarning
        Always, naming the blind spot, unless every negative was drawn.

    References
    ----------
    W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020; CACM 65(7), 2022.

    Examples
    --------
    >>> import warnings
    >>> from rankbound.sampled import correct_sampled
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     found = correct_sampled([1, 3, 1, 2], 1000, 100, "recall", 20, replacement=False)
    >>> found.name
    'corrected_recall@20[m=100,wor,bias_variance,gamma=0.1]'
    >>> round(found.value, 3), round(found.standard_error, 3)
    (0.885, 0.193)
    >>> found.warnings[0].split(":")[0], found.design.blind_spot
    ('100 of 1000 items sampled', 9.99)
    """
    label = metric_label(metric, k)
    design = SampleDesign(n_items=n_items, n_samples=n_samples, replacement=replacement)  # type: ignore[arg-type]
    method = as_choice(method, METHODS, name="method")
    longest = design.n_samples + 1
    best, worst = as_rank_bounds(ranks, worst_ranks, longest, among=f"the item and its {longest - 1} negatives")
    traits = [str(design), method]
    if method == "rank":
        if prior is not None:
            raise InvalidParameterError("prior is of no use to method 'rank'; leave it out or take another method")
        rank_values = values_of_ranks(metric, k, design.n_items, ranks=estimated_ranks(design))
        condition = None
    else:
        _check_fits(design, method)
        exact = values_of_ranks(metric, k, design.n_items)
        over_ranks = _as_prior(prior, design.n_items)
        if method == "cls":
            _check_unique(design, method)
            rank_values, condition = monotone_values(design, exact, over_ranks)
        else:
            if method == "least_bias":
                _check_unique(design, method)
            share = _as_gamma(gamma) if method == "bias_variance" else 0.0
            rank_values, condition = bias_variance_values(design, exact, over_ranks, share)
            traits += [f"gamma={share!r}"] if method == "bias_variance" else []
        traits += [] if prior is None else ["prior"]
    values = _mean_between(rank_values, best, worst, "design" if prior is None else "prior")
    caveats = _caveats(design, method, k, label)
    for caveat in caveats:
        warnings.warn(caveat, ReliabilityWarning, stacklevel=2)
    mean = math.fsum(values) / len(values)
    spread = math.fsum((values - mean) ** 2)
    return CorrectedMetric(
        name=f"corrected_{label}[{','.join(traits)}]",
        design=design,
        value=mean,
        values=values,
        standard_error=math.sqrt(spread / (len(values) - 1) / len(values)) if len(values) > 1 else math.nan,
        rank_values=rank_values,
        condition_number=condition,
        warnings=caveats,
    )


def _mean_between(rank_values: Floats, best: Ranks, worst: Ranks, ruling: str) -> Floats:
    pairs, pair_of_list = np.unique(np.stack([best, worst]), axis=1, return_inverse=True)
    means = np.array([rank_values[start - 1 : end].mean() for start, end in pairs.T])
    values: Floats = means[pair_of_list.ravel()]
    if np.isnan(values).any():
        row = int(np.isnan(values).argmax())
        raise InvalidParameterError(
            f"ranks has {best[row]} at list {row}, which the {ruling} rules out: no true rank that it allows can give "
            "it; check n_items and n_samples, or give every rank that may occur a probability above 0"
        )
    return values


def _caveats(design: SampleDesign, method: str, k: int | None, label: str) -> tuple[str, ...]:
    if not design.replacement and design.n_samples == design.n_items - 1:
        return ()
    blind = (
        f"{design.n_samples} of {design.n_items} items sampled: ranks within the first {design.blind_spot:.4g} "
        f"positions leave nearly the same mark on a sampled list, so {label} rests on the prior there; more lists do "
        "not help, evaluate the exact ranking"
    )
    if method == "rank" and k is not None and k < 1 + design.blind_spot:
        return blind, f"method 'rank' makes {label} 1 for the sampled rank 1 and 0 for all others, whatever k"
    return (blind,)


def _check_fits(design: SampleDesign, method: str) -> None:
    check_fits(
        design, design.n_items, fits=f"method {method!r} takes up to {MAX_NUMBERS} items; method 'rank' takes more"
    )
    # The blocks of "cls" are twice as tall as wide, and as many temporaries are made of them.
    scale = 16 if method == "cls" else 1
    most = math.isqrt(MAX_NUMBERS // scale) - 1
    check_fits(
        design,
        scale * (design.n_samples + 1) ** 2,
        fits=f"method {method!r} takes up to {most} negatives; method 'rank' takes more",
    )


def _check_unique(design: SampleDesign, method: str) -> None:
    if design.n_samples >= design.n_items:
        raise InvalidParameterError(
            f"method {method!r} has no unique solution with {design.n_samples} negatives from {design.n_items} items; "
            "use method 'bias_variance', or evaluate the exact ranking"
        )


def _as_gamma(gamma: Any) -> float:
    number = as_non_negative(gamma, name="gamma")
    return number if number in {0.0, 1.0} else as_level(gamma, name="gamma")


def _as_prior(prior: Any, n_items: int) -> Floats:
    if prior is None:
        return np.full(n_items, 1 / n_items)
    array = as_numpy(prior, name="prior")
    if array.dtype.kind not in "fiu":
        raise InvalidTypeError(f"prior must hold numbers, got {array.dtype}")
    if array.shape != (n_items,):
        raise ShapeError(f"prior has shape {array.shape}; give a probability for each of the {n_items} ranks")
    floats: Floats = array.astype(np.float64)
    wrong = ~((floats >= 0) & (floats <= 1))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidParameterError(f"prior has {floats[row]} at rank {row + 1}; probabilities lie between 0 and 1")
    total = math.fsum(floats)
    if abs(total - 1) > 1e-9:
        raise InvalidParameterError(f"prior sums to {total!r}; divide it by its sum, so that it is a distribution")
    return floats / total
