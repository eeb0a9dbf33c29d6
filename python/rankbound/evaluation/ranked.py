"""Ranked lists against any number of relevant items per row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import as_choice, as_count, as_flag, resolve_num_threads
from rankbound.catalogue.source import ListedItems, Recommended, list_arrays
from rankbound.errors import ShapeError
from rankbound.evaluation.collector import Batch, Collector, as_sample_ids, as_value_dtypes
from rankbound.evaluation.debug import debug_rows_of
from rankbound.evaluation.finish import as_metadata, protocol_of
from rankbound.evaluation.lists import RankedLists, as_ranked_lists
from rankbound.evaluation.plan import Plan, as_plan
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.slices import Slices, as_slices
from rankbound.evaluation.targets import Targets, as_targets, check_not_empty
from rankbound.metrics import RankingBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """How ranked lists are read, checked."""

    open_tie: str = "refuse"
    duplicates: str = "refuse"
    validate_predictions: bool = True
    debug: bool = False
    debug_users: int = 5
    # Resolved where it is used, which may be another machine.
    num_threads: int | None = None

    @classmethod
    def of(
        cls,
        *,
        open_tie: Any,
        duplicates: Any,
        validate_predictions: Any,
        debug: Any,
        debug_users: Any,
        num_threads: Any,
    ) -> "ListOptions":
        """Check the options."""
        resolve_num_threads(num_threads)
        return cls(
            open_tie=as_choice(open_tie, ("refuse", "bounds", "as_listed"), name="open_tie"),
            duplicates=as_choice(duplicates, ("refuse", "keep_first"), name="duplicates"),
            validate_predictions=as_flag(validate_predictions, name="validate_predictions"),
            debug=as_flag(debug, name="debug"),
            debug_users=as_count(debug_users, name="debug_users"),
            num_threads=num_threads,
        )


class ListCollector:
    """Accumulates batches of ranked lists: what evaluators and one-off evaluations share.

    Parameters
    ----------
    plan : Plan
        The metrics.
    options : ListOptions
        How lists are read.
    collect_per_user : bool
        Whether values per list are in the result.
    per_user_dtype : {"float64", "float32"}
        In which type.
    slices : Slices or None, default None
        Groups to report apart.
    goes_on : bool, default False
        Whether batches can follow one that was refused.
    """

    def __init__(
        self,
        plan: Plan,
        options: ListOptions,
        *,
        collect_per_user: bool,
        per_user_dtype: str,
        slices: Slices | None = None,
        goes_on: bool = False,
    ) -> None:
        self.plan = plan
        self.options = options
        self.slices = slices or Slices()
        # Groups of rows are read from the values.
        self.per_user_dtype, kept_dtype = as_value_dtypes(
            collect_per_user, per_user_dtype, exact=bool(self.slices.rows)
        )
        self.whole = Collector(
            plan,
            kept_dtype=kept_dtype,
            num_threads=options.num_threads,
            item_groups=self.slices.items,
            goes_on=goes_on,
        )
        self._forget()

    def _forget(self) -> None:
        self.width = 0
        self.n_items = 0
        self.n_open_ties = 0
        self.has_scores = False
        # None before the first batch of an evaluator.
        self.ids_given: bool | None = None

    def reset(self) -> None:
        """Forget everything that was added."""
        self.whole.reset()
        self._forget()

    def add(self, lists: RankedLists, targets: Targets, sample_ids: NDArray[Any]) -> None:
        """Add a batch, or nothing at all if something in it is refused.

        Parameters
        ----------
        lists : RankedLists
            The lists.
        targets : Targets
            Their relevant items.
        sample_ids : ndarray of shape (n_rows,)
            Their ids.

        Raises
        ------
        RankboundError
            For what is wrong with the lists, naming row, place and item.
        """
        self._check(lists, targets)
        n_before = self.whole.totals.n_rows
        shown = self.options.debug_users - n_before if self.options.debug else 0
        batch, n_open = self._profile(lists, targets.keeping_items() if self.slices.items else targets, sample_ids)
        if shown > 0 or self.plan.customs:
            read = lists.without_repeats() if self.options.duplicates == "keep_first" else lists
            batch.ranking = _ranking(read, targets)
            if shown > 0:
                first = targets.rows(0, min(shown, len(targets)))
                batch.debug_rows = debug_rows_of(read.rows(0, shown), first, n_before, self.plan.required_k)
        if self.plan.catalogues:
            options = self.options
            source = ListedItems(
                lists, options.open_tie, options.duplicates, options.validate_predictions, name="predictions"
            )
            batch.recommended = Recommended(source, targets)
        self.whole.add(batch)
        self.width = max(self.width, lists.width)
        self.n_items = targets.n_items
        self.n_open_ties += n_open
        self.has_scores = self.has_scores or lists.scores is not None

    def _check(self, lists: RankedLists, targets: Targets) -> None:
        if len(lists) != len(targets):
            raise ShapeError(
                f"predictions has {len(lists)} rows, but targets has {len(targets)}; give one list per row"
            )
        if lists.n_items is not None and lists.n_items != targets.n_items:
            raise ShapeError(
                f"predictions are over {lists.n_items} items, but targets has {targets.n_items}; they must be the same"
            )
        if self.n_items and self.n_items != targets.n_items:
            raise ShapeError(f"targets has {targets.n_items} items, but {self.n_items} in the batches before")
        self.plan.check_width(lists.width, targets)
        targets.check_grades(self.plan.specs)

    def _profile(self, lists: RankedLists, targets: Targets, sample_ids: NDArray[Any]) -> tuple[Batch, int]:
        items, scores, starts, lengths = list_arrays(lists)
        options = self.options

        def profiles(of: Targets, open_tie: str) -> tuple[_core.Profiles, int]:
            return _core.profile_lists(
                items,
                scores,
                starts,
                lengths,
                of.core(graded=self.plan.graded),
                name="predictions",
                open_tie=open_tie,
                cut_off=self.plan.required_k or targets.n_items,
                keep_first=options.duplicates == "keep_first",
                check_scores=options.validate_predictions,
                num_threads=resolve_num_threads(options.num_threads),
            )

        if options.open_tie != "bounds":
            found, n_open = profiles(targets, options.open_tie)
            return Batch(found, targets, sample_ids), n_open
        found, n_open = profiles(targets, "worst")
        return Batch(
            found,
            targets,
            sample_ids,
            upper=profiles(targets, "best")[0],
            bounds=lambda of: (profiles(of, "worst")[0], profiles(of, "best")[0]),
        ), n_open

    def merge(self, other: "ListCollector") -> None:
        """Add what another collector of the same metrics and options holds, behind what this one does.

        Rows that were numbered for want of ids are numbered anew.
        """
        n_before, n_batches = self.whole.totals.n_rows, len(self.whole.ids)
        self.whole.merge(other.whole)
        self.whole.debug_rows = [row for row in self.whole.debug_rows if row["user_row"] < self.options.debug_users]
        if other.ids_given is False:
            self.whole.ids[n_batches:] = [numbers + n_before for numbers in self.whole.ids[n_batches:]]
        self.ids_given = self.ids_given if other.ids_given is None else other.ids_given
        self.width = max(self.width, other.width)
        self.n_items = self.n_items or other.n_items
        self.n_open_ties += other.n_open_ties
        self.has_scores = self.has_scores or other.has_scores

    def result(self, *, metadata: Mapping[str, Any]) -> EvaluationResult:
        """Return what was found so far.

        Parameters
        ----------
        metadata : mapping
            Attached to the result.

        Returns
        -------
        EvaluationResult
            More can be added afterwards.
        """
        of_input = {
            "candidates": {"kind": "listed", "n_items": self.n_items},
            "truth": {"unseen": "miss"},
            "ties": {"scores": self.has_scores, "open_tie": self.options.open_tie},
            "population": {"n_open_ties": self.n_open_ties, "width": self.width},
        }
        return self.whole.result(
            width=max(self.width, 1),
            per_user_dtype=self.per_user_dtype,
            protocol=protocol_of(self.whole, of_input),
            metadata=metadata,
            row_groups=self.slices.rows,
            debug=self.options.debug,
        )


def _ranking(lists: RankedLists, targets: Targets) -> Callable[[], RankingBatch]:
    def batch() -> RankingBatch:
        shown, hits, counts = lists.rows(0, len(lists)), hits_of(lists, targets), targets.counts
        for array in (shown.indices, shown.scores, shown.lengths, hits, counts):
            if array is not None:
                # What one metric writes would be the caller's data, and the next metric's.
                array.flags.writeable = False
        return RankingBatch(predictions=shown, hits=hits, target_counts=counts)

    return batch


def hits_of(lists: RankedLists, targets: Targets) -> NDArray[np.bool_]:
    """Return whether the item at each place is relevant; False in padding."""
    n_items = np.int64(targets.n_items)
    rows = np.arange(len(lists), dtype=np.int64)[:, None] * n_items
    relevant = np.repeat(rows[:, 0], targets.counts) + targets.items
    hits = np.isin(rows + lists.indices.astype(np.int64), relevant)
    if lists.lengths is not None:
        hits &= np.arange(lists.width) < lists.lengths[:, None]
    return hits


def evaluate_ranked_predictions(
    predictions: Any,
    targets: Any,
    *,
    metrics: Any = None,
    open_tie: str = "refuse",
    duplicates: str = "refuse",
    sample_ids: Any = None,
    slices: Mapping[str, Any] | None = None,
    collect_per_user: bool = True,
    per_user_dtype: str = "float64",
    metadata: Mapping[str, Any] | None = None,
    validate_predictions: bool = True,
    debug: bool = False,
    debug_users: int = 5,
    num_threads: int | None = None,
) -> EvaluationResult:
    """Evaluate ranked lists against the relevant items of each row.

    Parameters
    ----------
    predictions : RankedLists, object with ``cols``, ``vals`` and ``shape``, or array_like of shape (n_rows, width)
        Items of each row, best first. With scores, equal scores are ties and every value is its exact expectation over
        the orders they allow; without, the order is the order.
    targets : scipy sparse matrix or array_like of shape (n_rows, n_items)
        Grades; items with a grade above 0 are relevant. Grades matter to graded metrics alone. Relevant items that are
        not listed stay in every denominator.
    metrics : metric, str, sequence of them, or None, default None
        Such as ``[NDCG([10, 20]), "recall@10"]``; None takes CalibratedRecall and NDCG at the width of the lists.
    open_tie : {"refuse", "bounds", "as_listed"}, default "refuse"
        What to do about a tie at the end of a list that items beyond it may share, where a value depends on it. It is
        taken for one if at least two listed items share the last score and the list does not hold every item. Refuse
        it; report the least the value can be, whatever the tie holds and in whatever order, with
        ``ties[key]["mean_best"]`` the most; or take the tie as complete.
    duplicates : {"refuse", "keep_first"}, default "refuse"
        What to do about an item that is listed twice: refuse it, or leave it out where it is listed again.
    sample_ids, slices, collect_per_user, per_user_dtype, metadata, num_threads
        As in :func:`rankbound.evaluate_scores`.
    validate_predictions : bool, default True
        False trusts the order of the lists: it is not checked that scores fall. Items, and that scores are finite, are
        checked in any case.
    debug : bool, default False
        Whether to add details of the first lists to the result, under ``"debug"``.
    debug_users : int, default 5
        How many.

    Returns
    -------
    EvaluationResult
        A mapping over the aggregates; rows without relevant items are left out and counted.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming argument, row and item.

    Examples
    --------
    >>> from rankbound import RankedLists, evaluate_ranked_predictions
    >>> lists = RankedLists([[3, 0, 2]], scores=[[0.9, 0.4, 0.1]])
    >>> evaluate_ranked_predictions(lists, [[1, 0, 0, 0, 1]], metrics="recall@2")["recall@2"]
    0.5
    """
    lists, relevant = as_ranked_lists(predictions), as_targets(targets)
    check_not_empty(relevant)
    groups = as_slices(slices, n_rows=len(relevant), n_items=relevant.n_items)
    collector = ListCollector(
        as_plan(metrics, width=lists.width),
        ListOptions.of(
            open_tie=open_tie,
            duplicates=duplicates,
            validate_predictions=validate_predictions,
            debug=debug,
            debug_users=debug_users,
            num_threads=num_threads,
        ),
        collect_per_user=collect_per_user,
        per_user_dtype=per_user_dtype,
        slices=groups,
    )
    collector.add(lists, relevant, as_sample_ids(sample_ids, len(relevant)))
    return collector.result(metadata=as_metadata(metadata))
