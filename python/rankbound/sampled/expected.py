"""What a sampled metric shows on average, given the true ranks."""

import math
from typing import Any

import numpy as np

from rankbound.sampled.rank_law import (
    Floats,
    Ranks,
    as_rank_bounds,
    blocks_of_law,
    check_fits,
    metric_label,
    values_of_ranks,
)
from rankbound.sampled.results import SampleDesign, SampledMetric


def expected_sampled_metric(
    ranks: Any,
    n_items: int,
    n_samples: int,
    metric: str,
    k: int | None = None,
    *,
    replacement: bool | None = None,
    worst_ranks: Any = None,
) -> SampledMetric:
    """Return what a metric over sampled negatives shows on average, exactly and without sampling.

    Parameters
    ----------
    ranks : array_like of shape (n_lists,)
        True rank of the relevant item of each list, from 1 to ``n_items``.
    n_items : int
        Number of candidates of a list, the relevant item included.
    n_samples : int
        Number of negatives that would be drawn uniformly for each list.
    metric : {"hit", "hit_rate", "recall", "mrr", "map", "ndcg", "auc"}
        With one relevant item the first three are the same, and so are ``"mrr"`` and ``"map"``.
    k : int or None, default None
        Cut-off in the sampled list; None for the whole list. Hits need one, ``"auc"`` takes none.
    replacement : bool
        Whether negatives are drawn with replacement. There is no default: refused while it is None.
    worst_ranks : array_like of shape (n_lists,) or None, default None
        With ties ``ranks`` holds the best rank of each relevant item and this its worst, as
        :func:`rankbound.rank_bounds_of_truth` returns them; all ranks between are equally likely.

    Returns
    -------
    SampledMetric
        Named with the design; its ``draw_sd`` says how much a single sampled run varies.

    Raises
    ------
    InvalidParameterError
        If ``n_items``, ``n_samples`` or ``replacement`` is unknown, or an option or rank is out of range.
    RankboundError
        Another subclass for arguments of the wrong type, shape or cut-off.

    References
    ----------
    W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    A recommender that always ranks the relevant item 100th of 10,000 looks perfect among 99 negatives:

    >>> from rankbound.sampled import expected_sampled_metric
    >>> found = expected_sampled_metric([100], 10_000, 99, "recall", 10, replacement=True)
    >>> found.name, round(found.value, 6)
    ('sampled_recall@10[m=99,wr]', 1.0)
    """
    label = metric_label(metric, k)
    design = SampleDesign(n_items=n_items, n_samples=n_samples, replacement=replacement)  # type: ignore[arg-type]
    best, worst = as_rank_bounds(ranks, worst_ranks, design.n_items, among=f"{design.n_items} items")
    worth = values_of_ranks(metric, k, design.n_samples + 1)
    values, variances = _moments(design, worth, best, worst)
    return SampledMetric(
        name=f"sampled_{label}[{design}]",
        design=design,
        value=math.fsum(values) / len(values),
        values=values,
        draw_sd=math.sqrt(math.fsum(variances)) / len(values),
    )


def _moments(design: SampleDesign, worth: Floats, best: Ranks, worst: Ranks) -> tuple[Floats, Floats]:
    """Return mean and variance of each list's value over the draws and, in a tie group, over its ranks."""
    pairs, pair_of_list = np.unique(np.stack([best, worst]), axis=1, return_inverse=True)
    # Only the ranks that some list can have.
    needed = np.zeros(worst.max() + 1, dtype=np.bool_)
    for start, end in pairs.T:
        needed[start : end + 1] = True
    n_needed = int(np.count_nonzero(needed))
    check_fits(design, n_needed, fits="from ranks to worst_ranks too many ranks are open; break some of the ties")
    ranks = np.flatnonzero(needed)
    of_ranks, within = np.empty(len(ranks)), np.empty(len(ranks))
    for rows, law in blocks_of_law(design, ranks):
        # Row by row, since a matrix product may round a row differently beside other rows.
        of_ranks[rows] = (law * worth).sum(axis=1)
        within[rows] = (law * (worth - of_ranks[rows, None]) ** 2).sum(axis=1)
    starts, ends = np.searchsorted(ranks, pairs[0]), np.searchsorted(ranks, pairs[1]) + 1
    spans = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    means = np.array([of_ranks[span].mean() for span in spans])
    variances = np.array([within[span].mean() + of_ranks[span].var() for span in spans])
    return means[pair_of_list.ravel()], variances[pair_of_list.ravel()]
