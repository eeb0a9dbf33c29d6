"""Metrics that add up over relevant items: a weight for each rank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import MAX_CUT_OFF, as_cut_off, as_level, as_non_negative
from rankbound.errors import InvalidKError, InvalidParameterError

# Names of the core's tables of rank weights: 1, 1 / rank and 1 / log2(1 + rank) up to the cut-off.
_TABLES = {"hits": "hit", "precision": "hit", "reciprocal_rank_sum": "mrr", "dcg": "ndcg"}
METRICS = (*_TABLES, "rbp")
_NEEDS_CUT_OFF = ("hits", "precision")
_ALL_RELEVANT = "divides by the number of relevant items, which clicks do not tell"
_FIRST_RELEVANT = "looks at the first relevant item alone"
_NOT_ADDITIVE = {
    "hit": f"{_FIRST_RELEVANT}; use 'hits'",
    "hit_rate": f"{_FIRST_RELEVANT}; use 'hits'",
    "success": f"{_FIRST_RELEVANT}; use 'hits'",
    "mrr": f"{_FIRST_RELEVANT}; use 'reciprocal_rank_sum'",
    "rr": f"{_FIRST_RELEVANT}; use 'reciprocal_rank_sum'",
    "err": "stops at relevant items, so that their weights depend on one another; use 'rbp'",
    "map": "weighs each relevant item by the others above it; use 'dcg'",
    "ap": "weighs each relevant item by the others above it; use 'dcg'",
    "ndcg": f"{_ALL_RELEVANT}; use 'dcg'",
    "recall": f"{_ALL_RELEVANT}; use 'hits'",
    "r_precision": f"{_ALL_RELEVANT}; use 'precision'",
    "f1": f"{_ALL_RELEVANT}; use 'precision'",
}

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


class RankWeight:
    """The weight of each rank under an additive metric.

    Parameters
    ----------
    metric : str
        One of ``METRICS``.
    k : int or None
        Cut-off; None for the whole list.
    patience : float
        The ``p`` of ``"rbp"``; others do not look at it.

    Raises
    ------
    InvalidParameterError
        For metrics that do not add up over relevant items, and unknown ones.
    InvalidKError
        If the cut-off is missing or out of range.
    """

    __slots__ = ("k", "metric", "patience")

    def __init__(self, metric: Any, k: Any, patience: Any) -> None:
        if isinstance(metric, str) and metric in _NOT_ADDITIVE:
            raise InvalidParameterError(
                f"metric {metric!r} cannot be estimated from clicks: it {_NOT_ADDITIVE[metric]}"
            )
        if not (isinstance(metric, str) and metric in METRICS):
            raise InvalidParameterError(f"metric must be one of {', '.join(map(repr, METRICS))}, got {metric!r}")
        if k is None and metric in _NEEDS_CUT_OFF:
            raise InvalidKError(f"metric {metric!r} needs a cut-off: pass k")
        self.metric = metric
        self.k = None if k is None else as_cut_off(k)
        self.patience = as_level(patience, name="patience")

    def name(self, estimator: str, clip: float | None) -> str:
        """Return the name of an estimate, which carries all that its value depends on.

        Parameters
        ----------
        estimator : str
            How clicks are weighted.
        clip : float or None
            Least propensity.

        Returns
        -------
        str
            Such as ``ips_rbp@10[p=0.8,clip=0.1]``.
        """
        options = [f"p={self.patience!r}"] if self.metric == "rbp" else []
        options += [] if clip is None else [f"clip={clip!r}"]
        cut = "" if self.k is None else f"@{self.k}"
        return f"{estimator}_{self.metric}{cut}" + (f"[{','.join(options)}]" if options else "")

    def expected(self, better: Counts, tied: Counts) -> Floats:
        """Return the mean weight of the ranks ``better + 1 .. better + tied`` of each item.

        Parameters
        ----------
        better, tied : ndarray of shape (n_items,), dtype int64
            How many candidates score higher than an item, and as high, itself included; 0 tied if the new ranking
            does not contain it.

        Returns
        -------
        ndarray of shape (n_items,)
            0 beyond the cut-off and for items that are not ranked.
        """
        cut = MAX_CUT_OFF if self.k is None else self.k
        if self.metric == "rbp":
            # The sum of (1 - p) p^(rank - 1) over the first s ranks of the group (Moffat and Zobel 2008).
            inside = np.clip(cut - better, 0, tied)
            log_p = np.log(self.patience)
            share = np.exp(better * log_p) * -np.expm1(inside * log_p)
            mean: Floats = np.divide(share, tied, out=np.zeros(len(tied)), where=tied > 0)
            return mean
        longest = int((better + tied).max(initial=0))
        (values,) = _core.list_values(
            better.astype(np.uint32), tied.astype(np.uint32), [(_TABLES[self.metric], cut)], n_classes=longest
        )
        return values / cut if self.metric == "precision" else values


def as_clip(clip: Any) -> float | None:
    """Return the least propensity to divide by, if any.

    Parameters
    ----------
    clip : float or None
        The option.

    Returns
    -------
    float or None
        Above 0 and at most 1.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
        For other types and values.
    """
    if clip is None:
        return None
    number = as_non_negative(clip, name="clip")
    if not 0 < number <= 1:
        raise InvalidParameterError(f"clip must be above 0 and at most 1, got {clip!r}")
    return number
