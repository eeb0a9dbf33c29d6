"""What the rankings of a report show beyond hits: exposure; novelty, serendipity and diversity, if data is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._digest import digest
from rankbound._labels import as_vector, split_missing
from rankbound.catalogue.exposure import shares_of
from rankbound.catalogue.metrics import IntraListDiversity, Novelty
from rankbound.catalogue.source import Request, ScoredItems
from rankbound.errors import InvalidTypeError, ShapeError
from rankbound.report.families import Placements, metric_key
from rankbound.report.floors import Floor
from rankbound.report.lists import GradedLists

# Scores rewritten at once for the diversity of a transformed ranking.
_BLOCK_SCORES = 1 << 22
Rows = NDArray[np.int64]


def discount(better: NDArray[np.uint32], tied: NDArray[np.uint32], *, k: int, n_classes: int) -> NDArray[np.float64]:
    """Return the mean of ``1 / log2(1 + rank)`` over the ranks of tie groups, 0 beyond ``k`` and for empty groups.

    Parameters
    ----------
    better, tied : ndarray of shape (n,), dtype uint32
        Candidates above each group, and those in it.
    k : int
        Cut-off.
    n_classes : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n,)
        What each member of a group is shown for.
    """
    return _core.list_values(better, tied, [("ndcg", k)], n_classes=n_classes)[0]


def as_class_groups(class_groups: Any, n_classes: int) -> NDArray[Any]:
    """Return a label per class, none missing.

    Parameters
    ----------
    class_groups : array_like of shape (n_classes,)
        Labels of one plain kind.
    n_classes : int
        How many there must be.

    Returns
    -------
    ndarray of shape (n_classes,)
        The labels.

    Raises
    ------
    InvalidTypeError
        For a missing label, naming the class, and labels of several kinds.
    ShapeError
        For another number of labels.
    """
    labels, missing = split_missing(as_vector(class_groups, name="class_groups"), name="class_groups")
    if len(labels) != n_classes:
        raise ShapeError(
            f"class_groups has {len(labels)} labels, but there are {n_classes} classes; give one per class"
        )
    if missing.any():
        raise InvalidTypeError(f"class_groups has no label for class {int(missing.argmax())}; give every class one")
    return labels


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

    def families(
        self,
        rankings: Mapping[str, Placements],
        values: Mapping[str, Mapping[str, NDArray[np.float64]]],
        *,
        counts: NDArray[Any] | None,
        tail: NDArray[np.bool_],
        class_groups: NDArray[Any] | None,
        diversity: IntraListDiversity | None,
        transforms: Mapping[str, _core.Transform | None],
        floors: Mapping[str, Floor],
    ) -> dict[str, dict[str, float]]:
        """Return the family ``catalogue`` of each ranking, as far as its data was given.

        Parameters
        ----------
        rankings : mapping of str to Placements
            The rankings.
        values : mapping of str to mapping
            Values per list of each ranking.
        counts : ndarray of shape (n_classes,) or None
            Training popularity.
        tail : ndarray of bool of shape (n_classes,)
            Which classes form the tail of it.
        class_groups : ndarray of shape (n_classes,) or None
            Group of each class.
        diversity : IntraListDiversity or None
            With the features of the classes.
        transforms : mapping of str to Transform or None
            The model's rankings.
        floors : mapping of str to Floor
            The baselines.

        Returns
        -------
        dict of str to dict
            What needs no data, and what has it.
        """
        found: dict[str, dict[str, float]] = {name: {} for name in rankings}
        if counts is not None:
            found = self.popularity(counts, tail, rankings)
        if "global_pop" in floors:
            hits = {name: of_lists[metric_key(("hit", self.k))] for name, of_lists in values.items()}
            for name, value in self.serendipity(hits, hits["global_pop"]).items():
                found[name]["serendipity"] = value
        ndcg = {name: of_lists[metric_key(("ndcg", self.k))] for name, of_lists in values.items()}
        for name, parts in self.expected_exposure(rankings, ndcg).items():
            found[name] |= parts
        if class_groups is not None:
            for name, shares in self.groups(class_groups, rankings).items():
                found[name] |= shares
        if diversity is not None:
            for name, value in self.diversity(diversity, transforms, floors).items():
                found[name]["intra_list_diversity"] = value
        return found

    def protocol(
        self,
        *,
        counts: NDArray[Any] | None,
        class_groups: NDArray[Any] | None,
        diversity: IntraListDiversity | None,
        class_values: NDArray[Any] | None,
    ) -> dict[str, Any]:
        """Return digests of the data behind numbers, as far as it was given: of other data, numbers are others.

        Parameters
        ----------
        counts, class_groups, diversity
            As in :meth:`families`.
        class_values : ndarray of shape (n_classes,) or None
            Value of each class.

        Returns
        -------
        dict
            By the name that the keys of the numbers begin with.
        """
        given: dict[str, Any] = {}
        if counts is not None:
            of_counts = {"counts": digest(counts)}
            given |= dict.fromkeys(("novelty", "average_recommendation_popularity", "tail_share"), of_counts)
        if class_groups is not None:
            names, codes = np.unique(class_groups, return_inverse=True)
            given["group_exposure"] = {"class_groups": digest(names.astype(np.str_), codes)}
        if diversity is not None:
            given["intra_list_diversity"] = diversity.protocol
        if class_values is not None:
            given["value"] = {"class_values": digest(class_values)}
        return given

    def popularity(
        self, counts: NDArray[Any], tail: NDArray[np.bool_], rankings: Mapping[str, Placements]
    ) -> dict[str, dict[str, float]]:
        """Return novelty and popularity of what each ranking shows, and the share that the tail takes.

        Parameters
        ----------
        counts : ndarray of shape (n_classes,)
            Training popularity.
        tail : ndarray of bool of shape (n_classes,)
            The least popular classes.
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
        of_classes = {
            "average_recommendation_popularity": counts.astype(np.float64),
            "tail_share": tail.astype(np.float64),
        }
        if (counts == np.floor(counts)).all() and counts.any():
            of_classes = {"novelty": Novelty(self.k, counts=counts).item_values(len(counts)), **of_classes}
        found = {}
        for name, placements in rankings.items():
            total = _core.exact_sum(placements.exposure)
            found[name] = {
                metric: _core.exact_sum(placements.exposure * values) / total for metric, values in of_classes.items()
            }
        return found

    def expected_exposure(
        self, rankings: Mapping[str, Placements], ndcg: Mapping[str, NDArray[np.float64]]
    ) -> dict[str, dict[str, float]]:
        """Compare the exposure by each ranking with one that treats the truths of a served list alike, and the rest.

        Parameters
        ----------
        rankings : mapping of str to Placements
            The rankings.
        ndcg : mapping of str to ndarray of shape (n_lists,)
            Of each ranking: the exposure of each truth, since the ideal DCG of one is 1.

        Returns
        -------
        dict of str to dict
            Loss, disparity and relevance (Diaz et al. 2020), means over the served lists.
        """
        n_lists, exposed = len(self.n_candidates), self.lists.exposed
        served = np.arange(n_lists) if self.lists.served is None else self.lists.served
        first = np.arange(n_lists) if exposed is None else np.flatnonzero(exposed)
        n_candidates = np.zeros_like(self.n_candidates, shape=len(first))
        n_candidates[served[first]] = self.n_candidates[first]
        # Truths that are no candidates are shown by nobody; which are is the same for all rankings.
        is_candidate = next(iter(rankings.values())).tied > 0
        n_truths = np.bincount(served[is_candidate], minlength=len(first)).astype(np.uint32)
        n_others = n_candidates - n_truths
        none = np.zeros_like(n_truths)
        due, due_others, equal = (
            discount(*group, k=self.k, n_classes=self.matrix.shape[1])
            for group in ((none, n_truths), (n_truths, n_others), (none, n_candidates))
        )
        of_target = _core.exact_mean(n_truths * due**2 + n_others * due_others**2)
        of_all, more_for_truths = n_candidates * equal * due_others, due - due_others
        found = {}
        for name, ranking in rankings.items():
            shown = np.bincount(served, weights=ndcg[name], minlength=len(first))
            relevance = _core.exact_mean(of_all + shown * more_for_truths)
            found[name] = {
                # A square, of which rounding may leave less than 0.
                "expected_exposure_loss": max(0.0, ranking.disparity - 2 * relevance + of_target),
                "expected_exposure_disparity": ranking.disparity,
                "expected_exposure_relevance": relevance,
            }
        return found

    def groups(self, labels: NDArray[Any], rankings: Mapping[str, Placements]) -> dict[str, dict[str, float]]:
        """Return the share of the exposure that each group of classes gets by each ranking.

        Parameters
        ----------
        labels : ndarray of shape (n_classes,)
            Group of each class.
        rankings : mapping of str to Placements
            The rankings.

        Returns
        -------
        dict of str to dict
            A key per group.
        """
        names, codes = np.unique(labels, return_inverse=True)

        def shares(exposure: NDArray[np.float64]) -> dict[str, float]:
            sums, _, _ = _core.group_sums(exposure, codes.astype(np.uint32), len(names))
            keys = [f"group_exposure[{name}]" for name in names]
            return dict(zip(keys, shares_of(sums).tolist(), strict=True))

        return {name: shares(placements.exposure) for name, placements in rankings.items()}

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
