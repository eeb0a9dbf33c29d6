"""Catalogue metrics batch by batch."""

from collections.abc import Iterable
from typing import Any, TypedDict

import numpy as np

from rankbound._exclusion import as_exclusion
from rankbound._messages import did_you_mean
from rankbound._options import as_choice, as_flag, resolve_num_threads
from rankbound._validation import as_numpy, as_score_matrix
from rankbound.catalogue.accumulator import Accumulator, check_keys
from rankbound.catalogue.exposure import Exposure
from rankbound.catalogue.parse import CATALOGUE_NAMES, parse_catalogue
from rankbound.catalogue.source import EmbeddedItems, ListedItems, ScoredItems, Source
from rankbound.catalogue.spec import CatalogueMetric
from rankbound.errors import EmptyInputError, InvalidKError, InvalidParameterError, InvalidTypeError, ShapeError
from rankbound.evaluation.lists import RankedLists
from rankbound.evaluation.targets import as_targets
from rankbound.evaluation.vectors import Embeddings


class ReadOptions(TypedDict, total=False):
    """How recommendations are read.

    ``exclude`` (scipy sparse matrix or boolean array of shape (n_rows, n_items)) names items that are no candidates in
    a row, not of ranked lists; ``mask_neg_inf`` lets a score of ``-inf`` mean that. ``open_tie`` (``"refuse"`` or
    ``"as_listed"``) says what becomes of a tie at the end of a list that reaches into its top ``k``, ``duplicates``
    (``"refuse"`` or ``"keep_first"``) of an item that is listed twice: both for ranked lists. ``num_threads`` are as
    many as the process may use, unless given; results do not depend on it.
    """

    exclude: Any
    mask_neg_inf: bool
    open_tie: str
    duplicates: str
    num_threads: int | None


class CatalogueEvaluator:
    """Adds up catalogue metrics batch by batch, and merges with others, to the same bits as in one go.

    Parameters
    ----------
    metrics : CatalogueMetric, str, or sequence of them
        Such as ``["catalog_coverage@10", Novelty(10, counts=counts)]``.

    Raises
    ------
    RankboundError
        For anything that is no catalogue metric, and metrics that share a key.

    Examples
    --------
    >>> from rankbound.catalogue import CatalogueEvaluator, Novelty
    >>> evaluator = CatalogueEvaluator(["catalog_coverage@1", Novelty(1, counts=[2, 1, 1])])
    >>> evaluator.update([[0.9, 0.5, 0.1]])
    >>> evaluator.update([[0.5, 0.9, 0.9]])
    >>> evaluator.compute()
    {'catalog_coverage@1': 0.6666666666666666, 'novelty@1': 1.5}
    """

    def __init__(self, metrics: Any) -> None:
        given = [metrics] if isinstance(metrics, (str, CatalogueMetric)) else metrics
        if not isinstance(given, Iterable):
            raise InvalidTypeError(f"metrics must be catalogue metrics such as 'catalog_coverage@10', got {metrics!r}")
        parsed: list[CatalogueMetric] = []
        for one in given:
            metric = parse_catalogue(one) if isinstance(one, str) else one
            if not isinstance(metric, CatalogueMetric):
                hint = f"; {did_you_mean(one.partition('@')[0], CATALOGUE_NAMES)}" if isinstance(one, str) else ""
                raise InvalidTypeError(f"metrics has {one!r}, which is no catalogue metric{hint}")
            parsed.append(metric)
        if not parsed:
            raise InvalidParameterError("metrics is empty; name at least one")
        check_keys(parsed)
        self._sums = Accumulator(parsed)

    def update(self, recommendations: Any, targets: Any = None, **options: Any) -> None:
        """Add a batch; one that is refused leaves the evaluator as it was.

        Parameters
        ----------
        recommendations : RankedLists, Embeddings or array_like of shape (n_rows, n_items)
            Ranked lists, vectors of queries and items, or scores of all items.
        targets : scipy sparse matrix or array_like of shape (n_rows, n_items), or None, default None
            Grades; items with a grade above 0 are relevant. For metrics that need them.
        **options : ReadOptions
            ``exclude``, ``mask_neg_inf``, ``open_tie``, ``duplicates`` and ``num_threads``: see :class:`ReadOptions`.

        Raises
        ------
        RankboundError
            A subclass that says what is wrong, naming argument, place and value.
        """
        source, num_threads = as_source(recommendations, **options)
        for metric in self._sums.metrics:
            check_width(source, metric.k, metric.label)
        relevant = None if targets is None else as_targets(targets)
        if relevant is not None and len(relevant) != len(source):
            raise ShapeError(f"targets has {len(relevant)} rows, but there are {len(source)} lists; give one per list")
        core = None if relevant is None else relevant.core(graded=True)
        found = self._sums.find(source, np.arange(len(source)), core, num_threads=num_threads)
        self._sums.total = self._sums.sum_with(found)

    def merge(self, other: "CatalogueEvaluator") -> None:
        """Add the batches of another evaluator.

        Parameters
        ----------
        other : CatalogueEvaluator
            Of the same metrics; it is left as it is.

        Raises
        ------
        InvalidTypeError
            If it is no such evaluator.
        InvalidParameterError
            If metrics, or the data behind them, differ.
        """
        if not isinstance(other, CatalogueEvaluator):
            raise InvalidTypeError(f"other must be a CatalogueEvaluator, got {type(other).__name__}")
        self._sums.merge(other._sums)  # noqa: SLF001 - of the same class

    def compute(self) -> dict[str, float]:
        """Return every metric over the batches so far.

        Returns
        -------
        dict of str to float
            By key; NaN where nothing defines a value, such as without any batch.
        """
        return self._sums.compute()

    def ties(self) -> dict[str, dict[str, float]]:
        """Return what is known of the spread of each metric over orders of ties.

        Returns
        -------
        dict of str to dict
            Of coverages ``sd_bound``, the most that the standard deviation can be; other metrics are left out.
        """
        return self._sums.ties()

    def protocol(self) -> dict[str, Any]:
        """Return the conventions and data behind each metric, and what it rests on.

        Returns
        -------
        dict of str to dict
            By label: options, digests of arrays, ``n_floored`` of novelty, and of macro recall ``n_classes`` (items
            that are relevant in some list), ``min_support`` and ``median_support`` (lists in which they are).
        """
        return self._sums.protocol()

    def exposure(self, k: int) -> Exposure:
        """Return the exposure behind the metrics of a cut-off.

        Parameters
        ----------
        k : int
            A cut-off of the metrics.

        Returns
        -------
        Exposure
            By the top ``k`` of the lists so far.

        Raises
        ------
        InvalidParameterError
            Before the first batch, and for another cut-off.
        """
        exposures = {} if self._sums.total is None else self._sums.total.exposures
        for exposure in exposures.values():
            if exposure.k == k and exposure.rank_value.weights == "top":
                return exposure
        raise InvalidParameterError(f"there is no exposure by the top {k}; update first, and name a metric at {k}")


def as_source(
    recommendations: Any,
    *,
    exclude: Any = None,
    mask_neg_inf: bool = False,
    open_tie: str = "refuse",
    duplicates: str = "refuse",
    num_threads: int | None = None,
    **unknown: Any,
) -> tuple[Source, int]:
    """Return recommendations of either form, and the number of threads.

    Parameters
    ----------
    recommendations : RankedLists, Embeddings or array_like of shape (n_rows, n_items)
        Ranked lists, vectors of queries and items, or scores of all items.
    exclude, mask_neg_inf, open_tie, duplicates, num_threads
        See :class:`ReadOptions`.
    **unknown
        Refused.

    Returns
    -------
    source : Source
        The lists.
    num_threads : int
        At least 1.

    Raises
    ------
    RankboundError
        For what can be no recommendations, and options that do not fit them.
    """
    if unknown:
        raise InvalidParameterError(
            f"{next(iter(unknown))!r} is no option; they are exclude, mask_neg_inf, open_tie, duplicates, num_threads"
        )
    threads = resolve_num_threads(num_threads)
    tie = as_choice(open_tie, ("refuse", "as_listed"), name="open_tie")
    twice = as_choice(duplicates, ("refuse", "keep_first"), name="duplicates")
    neg_inf = as_flag(mask_neg_inf, name="mask_neg_inf")
    if isinstance(recommendations, Exposure):
        raise InvalidTypeError(
            "recommendations is an Exposure, which does not tell the lists apart: pass the scores, vectors or ranked "
            "lists"
        )
    if isinstance(recommendations, RankedLists):
        if exclude is not None or neg_inf:
            raise InvalidParameterError("exclude and mask_neg_inf are for scores; leave items out of ranked lists")
        if not len(recommendations):
            raise EmptyInputError("recommendations has no rows: there is nothing to evaluate")
        return ListedItems(recommendations, tie, twice), threads
    if isinstance(recommendations, Embeddings):
        if neg_inf:
            raise InvalidParameterError("mask_neg_inf is for scores; name what is no candidate in exclude")
        shape = (len(recommendations), recommendations.n_items)
        excluded = as_exclusion(exclude, shape, np.arange(shape[0]), scores=None)
        return EmbeddedItems(recommendations, excluded), threads
    if as_numpy(recommendations, name="recommendations").ndim != 2:
        raise ShapeError(
            "recommendations must have two dimensions: scores of all items, one row per list; wrap ranked items in "
            "RankedLists"
        )
    matrix = as_score_matrix(recommendations, name="recommendations")
    excluded = as_exclusion(exclude, matrix.shape, np.arange(len(matrix)), scores="recommendations")
    return ScoredItems(matrix, excluded, neg_inf, name="recommendations"), threads


def check_width(source: Source, k: int, label: str) -> None:
    """Refuse lists that end before a cut-off, unless they hold the whole catalogue.

    Parameters
    ----------
    source : Source
        The lists.
    k : int
        The cut-off.
    label : str
        What looks at it, for messages.

    Raises
    ------
    InvalidKError
        Naming both.
    """
    if isinstance(source, ListedItems) and source.lists.width < k:
        n_items = source.n_items
        if n_items is None or source.lists.width < n_items:
            raise InvalidKError(
                f"{label} looks at {k} places, but recommendations has lists of {source.lists.width}; pass longer "
                "lists or lower the cut-off"
            )
