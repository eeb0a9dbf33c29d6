"""From what a scan found to the metric families of a report block."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound.report.lists import GradedLists

Metric = tuple[str, int]
ListValues = dict[str, NDArray[np.float64]]
Families = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements:
    """How one ranker placed the truths and filled the top k.

    Attributes
    ----------
    better, tied : ndarray of uint32
        Candidates above each truth, and those that tie with it (itself included; 0 for a miss).
    exposure, seen : ndarray of float64
        Expected exposure and probability of having been shown, per class.
    disparity : float
        Sum over the classes of the squared expected exposure, discounted by rank: mean over the served lists.
    """

    better: NDArray[np.uint32]
    tied: NDArray[np.uint32]
    exposure: NDArray[np.float64]
    seen: NDArray[np.float64]
    disparity: float


@dataclass(frozen=True, kw_only=True)
class Grader:
    """Computes the families of any ranker over the same lists.

    Attributes
    ----------
    lists : GradedLists
        The graded lists.
    n_classes, k : int
        Number of columns, and the cut-off.
    tail : ndarray of bool of shape (n_classes,)
        Which classes form the tail.
    class_values : ndarray of float64 of shape (n_classes,) or None
        Value of each class.
    """

    lists: GradedLists
    n_classes: int
    k: int
    tail: NDArray[np.bool_]
    class_values: NDArray[np.float64] | None

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which truths are columns."""
        return self.lists.truths >= 0

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The columns of the known truths."""
        return self.lists.truths[self.known].astype(np.uint32)

    @cached_property
    def supports(self) -> NDArray[np.int64]:
        """Lists of each class that is a truth, unseen classes with a name last."""
        of_columns = np.bincount(self.codes)
        unseen = self.lists.unseen_supports
        return np.concatenate([of_columns[of_columns > 0], [] if unseen is None else unseen]).astype(np.int64)

    @cached_property
    def in_tail(self) -> NDArray[np.bool_]:
        """Which known truths are tail classes."""
        return self.tail[self.codes]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The micro metrics with their cut-offs: hit at 1, 5 and k, then those that follow k."""
        hits = [("hit", cut) for cut in (1, 5, self.k)]
        return tuple(dict.fromkeys([*hits, ("mrr", self.k), ("ndcg", self.k)]))

    def grade(
        self, rankings: Mapping[str, Placements], *, num_threads: int
    ) -> tuple[dict[str, ListValues], dict[str, Families]]:
        """Return the list values and the metric families of every ranking.

        Parameters
        ----------
        rankings : mapping of str to Placements
            How each ranker placed the truths.
        num_threads : int
            Rankings that are graded at the same time.

        Returns
        -------
        values, families : dict
            By the names of ``rankings``.
        """
        with ThreadPoolExecutor(num_threads) as pool:
            values = dict(zip(rankings, pool.map(self._list_values, rankings.values()), strict=True))
            families = pool.map(self._families, rankings.values(), values.values())
            return values, dict(zip(rankings, families, strict=True))

    def _list_values(self, placements: Placements) -> ListValues:
        values = _core.list_values(placements.better, placements.tied, self.metrics, n_classes=self.n_classes)
        return dict(zip(map(metric_key, self.metrics), values, strict=True))

    def _families(self, placements: Placements, values: ListValues) -> Families:
        hits = values[metric_key(("hit", self.k))]
        families = {
            "micro": {key: _core.exact_mean(of_lists) for key, of_lists in values.items()},
            "macro": self._macro(hits, placements),
        }
        if self.class_values is not None:
            families["value"] = self._value(hits, self.class_values)
        return families

    def ties(self, placements: Placements, n_tied_at_cut: int) -> dict[str, Any]:
        """Return what the order of equal scores leaves open."""
        lists = self.lists
        n_exposed = len(lists.rows) if lists.exposed is None else int(lists.exposed.sum())
        widths = placements.tied[placements.tied > 0].astype(np.float64)
        spreads = _core.tie_spread(
            placements.better, placements.tied, self.metrics, n_classes=self.n_classes, served=lists.served
        )
        return {
            "share_of_rows_tied_at_cut": n_tied_at_cut / n_exposed,
            "mean_tie_width": _core.exact_mean(widths),
        } | {
            metric_key(metric): {"min": low, "max": high, "sd": sd}
            for metric, (low, high, sd) in zip(self.metrics, spreads, strict=True)
        }

    def _macro(self, hits: NDArray[np.float64], placements: Placements) -> dict[str, float]:
        of_known = hits[self.known]
        _, means, counts = _core.group_sums(of_known, self.codes, self.n_classes)
        # An unseen class with a name is a class with support, of which nothing can be recalled.
        recalls = np.concatenate([means[counts > 0], np.zeros(len(self.supports) - np.count_nonzero(counts))])
        return {
            f"macro_recall@{self.k}": _core.exact_mean(recalls),
            f"tail_hit@{self.k}": _core.exact_mean(of_known[self.in_tail]),
            "catalog_coverage": _core.exact_mean(placements.seen),
            "recommendation_entropy": _core.exposure_entropy(placements.exposure),
            "recommendation_gini": _core.exposure_gini(placements.exposure),
        }

    def _value(self, hits: NDArray[np.float64], class_values: NDArray[np.float64]) -> dict[str, float]:
        of_truths = class_values[self.codes]
        captured = _core.exact_sum(hits[self.known] * of_truths)
        attainable = _core.exact_sum(np.maximum(of_truths, 0.0))
        share = captured / attainable if attainable > 0 else float("nan")
        return {f"value@{self.k}": captured, f"value_share@{self.k}": share}


def metric_key(metric: Metric) -> str:
    """Return the key of a metric in a report, such as ``ndcg@10``."""
    name, k = metric
    return f"{name}@{k}"
