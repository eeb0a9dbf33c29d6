"""What the rankings of a report show beyond hits: novelty, serendipity and diversity, where their data is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound.catalogue.metrics import IntraListDiversity, Novelty
from rankbound.catalogue.source import Request, ScoredItems
from rankbound.report.families import Placements
from rankbound.report.floors import Floor
from rankbound.report.lists import GradedLists

# Scores rewritten at once for the diversity of a transformed ranking.
_BLOCK_SCORES = 1 << 22
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The scores behind a report, by which its rankings show items.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_classes)
        The scores.
    lists : GradedLists
        Which rows count.
    k : int
        Cut-off.
    mask_neg_inf : bool
        Whether ``-inf`` is no candidate.
    n_candidates : ndarray of shape (n_lists,), dtype uint32
        Candidates of each list.
    num_threads : int
        Threads.
    """

    matrix: NDArray[Any]
    lists: GradedLists
    k: int
    mask_neg_inf: bool
    n_candidates: NDArray[np.uint32]
    num_threads: int

    def popularity(self, counts: NDArray[Any], rankings: Mapping[str, Placements]) -> dict[str, dict[str, float]]:
        """Return novelty and popularity of what each ranking shows.

        Parameters
        ----------
        counts : ndarray of shape (n_classes,)
            Training popularity.
        rankings : mapping of str to Placements
            The rankings.

        Returns
        -------
        dict of str to dict
            Novelty for whole counts alone; nothing if lists differ in length, which exposure does not tell apart.
        """
        shown_by_all = np.minimum(self.n_candidates, self.k) == min(self.k, self.matrix.shape[1])
        if not shown_by_all.all():
            return {name: {} for name in rankings}
        of_classes = {"average_recommendation_popularity": counts.astype(np.float64)}
        if (counts == np.floor(counts)).all() and counts.any():
            of_classes = {"novelty": Novelty(self.k, counts=counts).item_values(len(counts)), **of_classes}
        return {
            name: {
                metric: _core.exact_sum(placements.exposure * values) / _core.exact_sum(placements.exposure)
                for metric, values in of_classes.items()
            }
            for name, placements in rankings.items()
        }

    def serendipity(self, hits: Mapping[str, NDArray[np.float64]], popular: NDArray[np.float64]) -> dict[str, float]:
        """Return the share of places whose class is the truth and would not be shown by popularity.

        Parameters
        ----------
        hits : mapping of str to ndarray of shape (n_lists,)
            Probability of each ranking to show each list's truth.
        popular : ndarray of shape (n_lists,)
            That of the popularity baseline.

        Returns
        -------
        dict of str to float
            Means over the lists.
        """
        places = np.minimum(self.n_candidates, self.k)
        return {name: _core.exact_mean(of_lists * (1 - popular) / places) for name, of_lists in hits.items()}

    def diversity(
        self,
        metric: IntraListDiversity,
        transforms: Mapping[str, _core.Transform | None],
        floors: Mapping[str, Floor],
    ) -> dict[str, float]:
        """Return the intra-list diversity of each ranking, chance included.

        Parameters
        ----------
        metric : IntraListDiversity
            With the features of the classes.
        transforms : mapping of str to Transform or None
            The model's rankings.
        floors : mapping of str to Floor
            The baselines.

        Returns
        -------
        dict of str to float
            Means over the lists that show at least two items.
        """
        measure = metric.measure(self.matrix.shape[1])
        found = {name: self._mean(measure, self._model(transform)) for name, transform in transforms.items()}
        for name, (table, codes) in floors.items():
            found[name] = self._mean(measure, self._fixed(table, codes))
        one_row = np.zeros(len(self.lists.rows), dtype=np.uint32)
        found["chance"] = self._mean(measure, self._fixed(np.zeros((1, self.matrix.shape[1])), one_row))
        return found

    def _model(self, transform: _core.Transform | None) -> Callable[[Rows], NDArray[Any]]:
        def scores(lists: Rows) -> NDArray[Any]:
            rows = self.matrix[self.lists.rows[lists]]
            if transform is None:
                return rows
            return _core.transform_scores(rows, transform, mask_neg_inf=self.mask_neg_inf, num_threads=self.num_threads)

        return scores

    def _fixed(self, table: NDArray[np.float64], codes: NDArray[np.uint32]) -> Callable[[Rows], NDArray[Any]]:
        def scores(lists: Rows) -> NDArray[Any]:
            fixed = table[codes[lists]]
            # What the model may not show, nobody may.
            return (
                np.where(self.matrix[self.lists.rows[lists]] == -np.inf, -np.inf, fixed) if self.mask_neg_inf else fixed
            )

        return scores

    def _mean(self, measure: _core.ListMeasure, scores: Callable[[Rows], NDArray[Any]]) -> float:
        counted = np.arange(len(self.lists.rows))
        if self.lists.exposed is not None:
            counted = counted[self.lists.exposed]
        step = max(1, _BLOCK_SCORES // self.matrix.shape[1])
        values = []
        for first in range(0, len(counted), step):
            lists = counted[first : first + step]
            request = Request(
                k=self.k,
                rows=np.arange(len(lists), dtype=np.uint64),
                measures=[measure],
                targets=None,
                weights=None,
                class_hits=False,
            )
            exclude = self.lists.exclude
            if exclude is not None:
                exclude = exclude.of_lists(lists, self.lists.rows[lists])
            source = ScoredItems(scores(lists), exclude, self.mask_neg_inf)
            columns, *_ = source.scan(request, n_items=source.n_items, num_threads=self.num_threads)
            values.append(columns[0])
        whole = np.concatenate(values)
        return _core.exact_mean(whole[~np.isnan(whole)])
