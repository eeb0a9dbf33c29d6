"""Graded lists as both protocols make them: scored, they become a result or a report."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import show
from rankbound._options import as_positive, resolve_num_threads
from rankbound._progress import told
from rankbound.catalogue.source import Recommended, ScoredItems
from rankbound.errors import InvalidParameterError, InvalidTypeError
from rankbound.evaluation import EvaluationResult
from rankbound.evaluation.collector import Batch, Collector, as_value_dtypes
from rankbound.evaluation.finish import as_metadata, protocol_of
from rankbound.evaluation.plan import Plan, as_plan
from rankbound.evaluation.slices import as_slices
from rankbound.evaluation.targets import Targets, as_targets
from rankbound.report import RankingReport, build_ranking_report

# What the lists say themselves in a report.
_OWN = frozenset(
    {"classes", "y_train", "popularity", "groups", "list_ids", "exclude", "unseen", "mask_neg_inf", "protocol"}
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GradedTable(ABC):
    """Graded lists of a long table: what :class:`RecommendationLists` and :class:`LtrLists` have in common.

    Attributes
    ----------
    entities : ndarray of shape (n_rows,)
        Entity of each graded list: the unit of resampling.
    occasions : ndarray of shape (n_rows,) or None
        Occasion of each graded list, if the table has them.
    list_ids : ndarray of shape (n_rows,), dtype int64
        Number of the list that each graded list is one of, counted by sorted entity and occasion.
    targets : csr_array of shape (n_rows, n_columns), dtype float64
        Labels of the graded truths. Its columns are ``classes``, followed by ``unseen_items``.
    classes : ndarray of shape (n_classes,)
        Ids of the items that can be ranked, sorted.
    unseen_items : ndarray
        Ids of the truths that are in no list of candidates at all, sorted.
    popularity : ndarray of shape (n_classes,), dtype int64
        Rows of the training part with a label above 0, by item.
    train_rows, test_rows : ndarray of int64
        Places of the rows of both parts in the table that was given, rising.
    protocol : dict
        The conventions: ``candidates``, ``truth``, ``split`` and ``population``.
    score : callable or None
        How candidates are scored.
    """

    entities: NDArray[Any]
    occasions: NDArray[Any] | None
    list_ids: NDArray[np.int64]
    targets: Any
    classes: NDArray[Any]
    unseen_items: NDArray[Any]
    popularity: NDArray[np.int64]
    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]
    protocol: dict[str, Any]
    score: Callable[..., Any] | None

    def __len__(self) -> int:
        return len(self.list_ids)

    def __repr__(self) -> str:
        population = self.protocol["population"]
        return (
            f"<{type(self).__name__} {len(self)} graded lists ({self.protocol['truth']['policy']}) of "
            f"{population['n_units']} entities over {len(self.classes)} items>"
        )

    @property
    def y_train(self) -> NDArray[np.int64]:
        """Column of each training row with a label above 0, sorted."""
        return np.repeat(np.arange(len(self.classes)), self.popularity)

    def scored_by(self, score: Callable[..., Any]) -> Self:
        """Return the same lists with another way to score them, such as a model fitted on ``train_rows``.

        Parameters
        ----------
        score : callable
            As the function that made the lists takes it.

        Returns
        -------
        RecommendationLists or LtrLists
            With the same truths and candidates, so that results can be paired.

        Raises
        ------
        InvalidTypeError
            If it cannot be called.
        """
        return replace(self, score=as_score(score))

    def evaluate(
        self,
        metrics: Any = None,
        *,
        slices: Mapping[str, Any] | None = None,
        collect_per_user: bool = True,
        per_user_dtype: str = "float64",
        metadata: Mapping[str, Any] | None = None,
        batch_size: int = 1024,
        num_threads: int | None = None,
        progress: Any = None,
    ) -> EvaluationResult:
        """Score and evaluate the lists batch by batch; no scores are kept.

        Parameters
        ----------
        metrics : metric, str, sequence of them, or None, default None
            As in :func:`rankbound.evaluate_scores`. The catalogue of metrics of :mod:`rankbound.catalogue` are the
            ``classes``, in whose order data about items is given, such as ``Novelty(10, counts=lists.popularity)``.
            They need lists that are graded once each, and those that read relevant items need them in the catalogue.
        slices, collect_per_user, per_user_dtype, metadata, num_threads, progress
            As in :func:`rankbound.evaluate_scores`; groups are over the graded lists or over ``classes``.
        batch_size : int, default 1024
            Graded lists per batch; results do not depend on it.

        Returns
        -------
        EvaluationResult
            With the entities as ``sample_ids``, and the protocol of these lists.

        Raises
        ------
        RankboundError
            For options out of range, and for scores that are not what they must be, naming entity and item.
        """
        plan = as_plan(metrics, width=self._width())
        self._check_catalogue(plan)
        size, threads = as_positive(batch_size, name="batch_size"), resolve_num_threads(num_threads)
        groups = as_slices(slices, n_rows=len(self), n_items=len(self.classes), n_other_items=len(self.unseen_items))
        targets = as_targets(self.targets)
        targets = targets.keeping_items() if groups.items else targets
        targets.check_grades(plan.specs)
        in_catalogue = as_targets(self.targets[:, : len(self.classes)]) if plan.catalogues else None
        # Groups of rows are read from the values.
        returned_dtype, kept_dtype = as_value_dtypes(collect_per_user, per_user_dtype, exact=bool(groups.rows))
        whole = Collector(plan, kept_dtype=kept_dtype, num_threads=threads, item_groups=groups.items)
        dtype: np.dtype[Any] | None = None
        with told(progress, total=len(self), unit="row") as tell:
            for first in range(0, len(self), size):
                last = min(first + size, len(self))
                batch = targets.rows(first, last)
                profiles, found, source = self._profiles(first, last, batch, graded=plan.graded, num_threads=threads)
                dtype = _same_dtype(dtype, found)
                recommended = None if in_catalogue is None else Recommended(source(), in_catalogue.rows(first, last))
                whole.add(Batch(profiles, batch, self.entities[first:last], recommended=recommended))
                if tell is not None:
                    tell(last, len(self))
        of_input = {**self.protocol, "ties": {"dtype": str(dtype)}}
        return whole.result(
            width=self._width(),
            per_user_dtype=returned_dtype,
            protocol={**protocol_of(whole, of_input), "split": dict(self.protocol["split"])},
            metadata=as_metadata(metadata),
            row_groups=groups.rows,
        )

    def report(self, *, batch_size: int = 1024, **options: Any) -> RankingReport:
        """Score the lists and report on them, beside popularity and chance.

        The report reads a matrix with a row for each graded list and a column for each class, which is made in memory.

        Parameters
        ----------
        batch_size : int, default 1024
            Graded lists that are scored at once; results do not depend on it.
        **options
            Options of :func:`rankbound.build_ranking_report` such as ``k=20``, other than those that the lists set:
            classes, training labels, groups, served lists, exclusions and what becomes of unseen truths.

        Returns
        -------
        RankingReport
            With the protocol of these lists.

        Raises
        ------
        InvalidParameterError
            With ``truth="set"``, since a report grades one truth per list, or for an option that the lists set.
        RankboundError
            As :func:`rankbound.build_ranking_report`.
        """
        truth = self.protocol["truth"]
        if truth["policy"] == "set":
            raise InvalidParameterError(
                "truth='set' grades all truths of a list together, but a report grades one per list: use evaluate(), "
                "or make the lists with truth='per_truth'"
            )
        own = sorted(_OWN & set(options))
        if own:
            raise InvalidParameterError(f"{own[0]} is set by the lists themselves; leave it out")
        size = as_positive(batch_size, name="batch_size")
        matrix = self._matrix(0, min(size, len(self)))
        if size < len(self):
            head, matrix = matrix, np.empty((len(self), len(self.classes)), dtype=matrix.dtype)
            matrix[:size] = head
            for first in range(size, len(self), size):
                block = self._matrix(first, min(first + size, len(self)))
                _same_dtype(matrix.dtype, block.dtype)
                matrix[first : first + size] = block
        items = np.concatenate([self.classes, self.unseen_items])
        return build_ranking_report(
            matrix,
            items[self.targets.indices],
            classes=self.classes,
            y_train=self.classes[self.y_train] if self.popularity.any() else None,
            groups=self.entities,
            # Other truths that are left out differ within a list, which is then not served as one.
            list_ids=self.list_ids if self._served_together else None,
            unseen=truth["unseen"],
            protocol=self._report_protocol(),
            **self._report_options(),
            **options,
        )

    @property
    def _served_together(self) -> bool:
        """Whether the graded lists of one number are one list that was served."""
        truth = self.protocol["truth"]
        return bool(truth["policy"] == "per_truth" and truth["other_truths"] == "compete")

    def _check_catalogue(self, plan: Plan) -> None:
        """Refuse catalogue metrics that would count a list for each of its truths, or leave truths out."""
        if not plan.catalogues:
            return
        again = np.flatnonzero(np.diff(self.list_ids) == 0)
        if self._served_together and len(again):
            raise InvalidParameterError(
                f"metrics has {plan.catalogues[0].label}, but truth='per_truth' grades the list of entity "
                f"{show(self.entities[again[0]])} for each of its truths, while its items were shown once: make the "
                "lists with truth='set', or use report(), which counts each list once"
            )
        needy = next((metric for metric in plan.catalogues if metric.needs_targets), None)
        n_unseen = int((self.targets.indices >= len(self.classes)).sum())
        if needy is not None and n_unseen:
            raise InvalidParameterError(
                f"metrics has {needy.label}, which reads relevant items, but {n_unseen} of them, such as item "
                f"{show(self.unseen_items[0])}, are not in the catalogue: make the lists with unseen='drop'"
            )

    def _report_protocol(self) -> dict[str, Any]:
        unnamed = self.protocol["truth"]["unseen"] == "drop" and self.protocol["population"]["n_unseen_truth"]
        # Items of truths that were left out have no part in means over classes.
        return self.protocol | ({"catalogue": {"macro_scope": "modelled"}} if unnamed else {})

    @abstractmethod
    def _width(self) -> int:
        """Return the number of candidates of the longest list."""

    @abstractmethod
    def _profiles(
        self, first: int, last: int, targets: Targets, *, graded: bool, num_threads: int
    ) -> tuple[_core.Profiles, np.dtype[Any], Callable[[], ScoredItems]]:
        """Score some graded lists; return their tie profiles, the type of the scores, and who makes a matrix of them.

        The matrix has a column for each class.
        """

    @abstractmethod
    def _matrix(self, first: int, last: int) -> NDArray[Any]:
        """Return scores of some graded lists, one column per class."""

    @abstractmethod
    def _report_options(self) -> dict[str, Any]:
        """Return what a report must know about candidates."""


def as_score(score: Any) -> Callable[..., Any]:
    """Return a way to score, if it can be called."""
    if not callable(score):
        raise InvalidTypeError(
            f"score must be a function of what is to be scored, got {type(score).__name__}; of a model, pass a "
            "function that calls its predict method"
        )
    return score  # type: ignore[no-any-return]


def needed(score: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return the way to score, or refuse to go on without one."""
    if score is None:
        raise InvalidParameterError("these lists have no scores yet: use lists.scored_by(score), or pass score=")
    return score


def _same_dtype(earlier: np.dtype[Any] | None, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Refuse scores that change their type, since rounding makes ties."""
    if earlier is not None and earlier != dtype:
        raise InvalidTypeError(f"score returned {earlier} for one batch and {dtype} for another; keep to one type")
    return dtype
