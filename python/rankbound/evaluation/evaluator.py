"""Evaluation batch by batch."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from rankbound.errors import InvalidParameterError, InvalidTypeError
from rankbound.evaluation.collector import as_sample_ids
from rankbound.evaluation.finish import as_metadata
from rankbound.evaluation.lists import as_ranked_lists
from rankbound.evaluation.plan import as_plan
from rankbound.evaluation.ranked import ListCollector, ListOptions
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.targets import as_targets


class RankingEvaluator:
    """Evaluates ranked lists batch by batch, and merges with other evaluators, to the same bits as in one go.

    Evaluators can be copied and pickled, with what they hold: fill them in other processes, send them back and merge.

    Parameters
    ----------
    metrics : metric, str, or sequence of them
        Such as ``[NDCG([10, 20]), "recall@10"]``, or metrics of your own, of which the evaluator takes copies.
    open_tie, duplicates, collect_per_user, per_user_dtype, metadata, validate_predictions, debug, debug_users
        As in :func:`rankbound.evaluate_ranked_predictions`.
    num_threads : int or None, default None
        As in :func:`rankbound.evaluate_ranked_predictions`.

    Raises
    ------
    RankboundError
        For metrics that share a key, and options out of range.

    Examples
    --------
    >>> from rankbound import RankedLists, RankingEvaluator
    >>> evaluator = RankingEvaluator("recall@2")
    >>> evaluator.update(RankedLists([[3, 0]]), [[1, 0, 0, 0, 1]])
    >>> evaluator.update(RankedLists([[4, 0]]), [[1, 0, 0, 0, 1]])
    >>> evaluator.compute()["recall@2"]
    0.75
    """

    def __init__(
        self,
        metrics: Any,
        *,
        open_tie: str = "refuse",
        duplicates: str = "refuse",
        collect_per_user: bool = True,
        per_user_dtype: str = "float64",
        metadata: Mapping[str, Any] | None = None,
        validate_predictions: bool = True,
        debug: bool = False,
        debug_users: int = 5,
        num_threads: int | None = None,
    ) -> None:
        options = ListOptions.of(
            open_tie=open_tie,
            duplicates=duplicates,
            validate_predictions=validate_predictions,
            debug=debug,
            debug_users=debug_users,
            num_threads=num_threads,
        )
        self._metadata = dict(as_metadata(metadata))
        self._collector = ListCollector(
            as_plan(metrics, width=None),
            options,
            collect_per_user=collect_per_user,
            per_user_dtype=per_user_dtype,
            goes_on=True,
        )

    @property
    def required_k(self) -> int | None:
        """The deepest rank that a metric looks at; None for the whole list."""
        return self._collector.plan.required_k

    def reset(self) -> None:
        """Forget every batch."""
        self._collector.reset()

    def update(self, predictions: Any, targets: Any, *, sample_ids: Any = None) -> None:
        """Add a batch; one that is refused leaves the evaluator as it was.

        Parameters
        ----------
        predictions : RankedLists, object with ``cols``, ``vals`` and ``shape``, or array_like of shape (n_rows, width)
            Items of each row, best first.
        targets : scipy sparse matrix or array_like of shape (n_rows, n_items)
            Grades; items with a grade above 0 are relevant.
        sample_ids : array_like of shape (n_rows,) or None, default None
            Ids of the rows; None goes on numbering them. They are given for every batch or for none.

        Raises
        ------
        RankboundError
            A subclass that says what is wrong, naming argument, row and item.
        """
        lists, relevant = as_ranked_lists(predictions), as_targets(targets)
        collector, given = self._collector, sample_ids is not None
        ids = as_sample_ids(sample_ids, len(relevant), first=collector.whole.totals.n_rows)
        _check_ids(collector, [ids], given=given)
        collector.add(lists, relevant, ids)
        collector.ids_given = given

    def merge(self, other: "RankingEvaluator") -> None:
        """Add the batches of another evaluator behind those of this one; rows without ids are numbered anew.

        Parameters
        ----------
        other : RankingEvaluator
            Of the same metrics and options; it is left as it is.

        Raises
        ------
        InvalidTypeError
            If it is no evaluator, or has sample ids of another kind.
        InvalidParameterError
            If metrics or options differ, or it is this evaluator.
        """
        if not isinstance(other, RankingEvaluator):
            raise InvalidTypeError(f"other must be a RankingEvaluator, got {type(other).__name__}")
        if other is self:
            raise InvalidParameterError("other is the evaluator itself: every list would count twice")
        mine, theirs = self._collector, other._collector  # noqa: SLF001 - of the same class
        if mine.options.open_tie != theirs.options.open_tie or mine.options.duplicates != theirs.options.duplicates:
            raise InvalidParameterError("evaluators with different open_tie or duplicates cannot be merged")
        if mine.n_items and theirs.n_items and mine.n_items != theirs.n_items:
            raise InvalidParameterError(f"evaluators over {mine.n_items} and {theirs.n_items} items cannot be merged")
        if theirs.ids_given is not None:
            _check_ids(mine, theirs.whole.ids, given=theirs.ids_given)
        mine.merge(theirs)

    def compute(self) -> EvaluationResult:
        """Return the result over every batch so far; more can be added afterwards.

        Returns
        -------
        EvaluationResult
            NaN aggregates without any list that has relevant items.
        """
        return self._collector.result(metadata=self._metadata)


def _check_ids(collector: ListCollector, ids: list[NDArray[Any]], *, given: bool) -> None:
    """Refuse ids that do not go with those of the batches before."""
    if collector.ids_given is None:
        return
    if given != collector.ids_given:
        raise InvalidTypeError("sample_ids were given for some batches and not for others; give all or none")
    if collector.whole.ids[0].dtype.kind != ids[0].dtype.kind:
        raise InvalidTypeError("sample_ids are of another kind than in the batches before; keep to one kind")
