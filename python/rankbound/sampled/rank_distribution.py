"""Estimates of how true ranks are distributed, from sampled ranks."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._labels import as_vector, describe_kind, split_missing
from rankbound._options import as_choice, as_count, as_non_negative
from rankbound.errors import InvalidParameterError, InvalidTypeError
from rankbound.sampled.entropy import most_even_fit
from rankbound.sampled.rank_law import (
    MAX_NUMBERS,
    Floats,
    Ranks,
    as_rank_bounds,
    blocks_of_law,
    check_fits,
    metric_label,
    values_of_ranks,
)
from rankbound.sampled.results import SampleDesign, SampledResult

METHODS = ("mle", "mes")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankDistribution:
    """Estimated probabilities of the true ranks, from :func:`estimate_rank_distribution`.

    Parameters
    ----------
    design : SampleDesign
        How negatives were drawn; where their number varies, the one with the fewest.
    design_label : str
        The design as results name it; ``m=50..200,wr`` where the number of negatives varies.
    method : str
        How it was estimated, with its options.
    probabilities : ndarray of shape (n_items,)
        Probability of each true rank, summing to 1. It can be the ``prior`` of :func:`correct_sampled`.
    """

    design: SampleDesign
    design_label: str
    method: str
    probabilities: NDArray[np.float64] = field(repr=False)

    def metric(self, metric: str, k: int | None = None) -> SampledResult:
        """Return the mean of a metric under the estimated ranks: ``sum(probabilities * metric(rank))``.

        It has no standard error of its own: resample the lists and estimate again.

        Parameters
        ----------
        metric, k
            As in :func:`correct_sampled`.

        Returns
        -------
        SampledResult
            Named with design and method, such as ``estimated_recall@10[m=100,wr,mle,n_iterations=50]``.

        Raises
        ------
        InvalidParameterError, InvalidKError
            For another metric or cut-off.
        """
        label = metric_label(metric, k)
        worth = values_of_ranks(metric, k, self.design.n_items)
        return SampledResult(
            name=f"estimated_{label}[{self.design_label},{self.method}]",
            design=self.design,
            value=math.fsum(self.probabilities * worth),
        )


def estimate_rank_distribution(
    ranks: Any,
    n_items: int,
    n_samples: Any,
    *,
    method: str = "mes",
    replacement: bool | None = None,
    n_iterations: int = 50,
    eta: float = 0.01,
    worst_ranks: Any = None,
) -> RankDistribution:
    """Estimate how true ranks are distributed from ranks among sampled negatives.

    Only the first ``n_samples`` moments of that distribution leave a mark on sampled ranks; what the estimate says
    about ranks within the first ``(n_items - 1) / n_samples`` positions is the method's choice.

    Parameters
    ----------
    ranks : array_like of shape (n_lists,)
        Rank of the relevant item among itself and its sampled negatives, from 1 to ``n_samples + 1``.
    n_items : int
        Number of candidates of the exact ranking, the relevant item included.
    n_samples : int or array_like of shape (n_lists,)
        Number of negatives that were drawn uniformly; for ``"mle"`` it may differ between lists.
    method : {"mes", "mle"}, default "mes"
        ``"mle"`` maximises the likelihood by expectation maximisation from equal probabilities. ``"mes"`` minimises
        ``sum(counts * (expected share - observed share)^2) - eta * entropy`` over the sampled ranks.
    replacement : bool
        Whether negatives were drawn with replacement. There is no default: refused while it is None.
    n_iterations : int, default 50
        Iterations of ``"mle"``. Few keep the estimate smooth; 0 leaves equal probabilities.
    eta : float, default 0.01
        Weight of the entropy in ``"mes"``, above 0; more makes the estimate more even.
    worst_ranks : array_like of shape (n_lists,) or None, default None
        With ties in the sampled lists ``ranks`` holds the best rank and this the worst; each list then counts in equal
        parts for all ranks between.

    Returns
    -------
    RankDistribution
        Memory grows as ``n_items * n_samples``, which may be up to about 2^28.

    Raises
    ------
    InvalidParameterError
        If ``n_items``, ``n_samples`` or ``replacement`` is unknown, or an option or rank is out of range.
    RankboundError
        Another subclass for arguments of the wrong type or shape.

    References
    ----------
    D. Li, R. Jin, J. Gao, Z. Liu, "On Sampling Top-K Recommendation Evaluation", KDD 2020.
    R. Jin, D. Li, B. Mudrak, J. Gao, Z. Liu, "On Estimating Recommendation Evaluation Metrics under Sampling",
    AAAI 2021.
    D. Li et al., "Towards Reliable Item Sampling for Recommendation Evaluation", AAAI 2023.

    Examples
    --------
    >>> from rankbound.sampled import estimate_rank_distribution
    >>> found = estimate_rank_distribution([1, 1, 2, 3], 5, 4, method="mle", replacement=False)
    >>> found.probabilities
    array([0.5 , 0.25, 0.25, 0.  , 0.  ])
    >>> recall = found.metric("recall", 2)
    >>> recall.name, recall.value
    ('estimated_recall@2[m=4,wor,mle,n_iterations=50]', 0.75)
    """
    method = as_choice(method, METHODS, name="method")
    sizes = _as_sizes(n_samples, n_items, replacement)
    designs = [
        SampleDesign(n_items=n_items, n_samples=size, replacement=replacement)  # type: ignore[arg-type]
        for size in np.unique(sizes).tolist()
    ]
    if method == "mes" and len(designs) > 1:
        raise InvalidParameterError("method 'mes' needs the same n_samples for all lists; use method 'mle'")
    best, worst = as_rank_bounds(ranks, worst_ranks, sizes + 1, among="an item and its negatives")
    lists_of = [np.broadcast_to(sizes == design.n_samples, best.shape) for design in designs]
    shares = [
        _histogram(best[lists], worst[lists], design.n_samples + 1) / len(best)
        for lists, design in zip(lists_of, designs, strict=True)
    ]
    width = sum(design.n_samples + 1 for design in designs)
    check_fits(
        designs[-1],
        width * designs[-1].n_items,
        fits=f"n_items may be up to {MAX_NUMBERS // width} with so many negatives; correct_sampled takes more",
    )
    laws = [_law(design) for design in designs]
    if method == "mle":
        iterations = as_count(n_iterations, name="n_iterations")
        probabilities = _most_likely(laws, shares, iterations)
        options = f"n_iterations={iterations}"
    else:
        weight = as_non_negative(eta, name="eta")
        if weight == 0:
            raise InvalidParameterError("eta must be above 0: without entropy the estimate is not unique")
        probabilities = most_even_fit(laws[0], shares[0], len(best) * shares[0], weight)
        options = f"eta={weight!r}"
    fewest, most = designs[0], designs[-1]
    size = f"{fewest.n_samples}" if fewest == most else f"{fewest.n_samples}..{most.n_samples}"
    return RankDistribution(
        design=fewest,
        design_label=f"m={size},{'wr' if fewest.replacement else 'wor'}",
        method=f"{method},{options}",
        probabilities=probabilities,
    )


def _as_sizes(n_samples: Any, n_items: Any, replacement: Any) -> Ranks:
    """Return the number of negatives: of all lists, or of each."""
    if not hasattr(n_samples, "__len__"):
        design = SampleDesign(n_items=n_items, n_samples=n_samples, replacement=replacement)
        return np.array(design.n_samples)
    sizes, missing = split_missing(as_vector(n_samples, name="n_samples"), name="n_samples")
    if sizes.dtype.kind != "i":
        raise InvalidTypeError(f"n_samples must hold integers, got {describe_kind(sizes)}")
    if missing.any():
        raise InvalidTypeError(f"n_samples has no number at list {int(missing.argmax())}; give every list one")
    return sizes


def _law(design: SampleDesign) -> Floats:
    law = np.empty((design.n_items, design.n_samples + 1))
    for rows, block in blocks_of_law(design):
        law[rows] = block
    return law


def _histogram(best: Ranks, worst: Ranks, n_ranks: int) -> Floats:
    """Return how many lists have each sampled rank; a tied one counts in equal parts for its ranks."""
    counts = np.bincount(best[best == worst] - 1, minlength=n_ranks).astype(np.float64)
    tied = best < worst
    pairs, times = np.unique(np.stack([best[tied], worst[tied]]), axis=1, return_counts=True)
    for (first, last), n_lists in zip(pairs.T, times, strict=True):
        counts[first - 1 : last] += n_lists / (last - first + 1)
    return counts


def _most_likely(laws: list[Floats], shares: list[Floats], n_iterations: int) -> Floats:
    """Maximise the likelihood by EM: each list spreads over true ranks by their posterior probability."""
    probabilities = np.full(len(laws[0]), 1 / len(laws[0]))
    for _ in range(n_iterations):
        factors = np.zeros_like(probabilities)
        for law, share in zip(laws, shares, strict=True):
            seen = share > 0
            factors += law[:, seen] @ (share[seen] / (probabilities @ law[:, seen]))
        probabilities = probabilities * factors
        probabilities /= probabilities.sum()
    return probabilities
