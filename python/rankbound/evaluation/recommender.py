"""A model that recommends, evaluated batch by batch."""

import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from rankbound._options import as_count, as_flag, as_positive
from rankbound._progress import told
from rankbound.errors import InvalidParameterError, InvalidTypeError, RankboundError, ShapeError
from rankbound.evaluation.collector import as_sample_ids
from rankbound.evaluation.finish import as_metadata
from rankbound.evaluation.lists import as_ranked_lists
from rankbound.evaluation.plan import as_plan
from rankbound.evaluation.ranked import ListCollector, ListOptions
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.slices import as_slices
from rankbound.evaluation.targets import as_targets, check_not_empty


class Recommender(Protocol):
    """What is evaluated: anything that ranks items for a batch of rows."""

    def predict_on_batch(self, source: Any, *, k: int) -> Any:
        """Return the best ``k`` items of each row, as :func:`rankbound.evaluate_ranked_predictions` takes them."""


class _Log:
    """Lines for a logger of the caller's; one that fails is not called again."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger

    def __call__(self, line: str) -> None:
        if self._logger is None:
            return
        try:
            self._logger.info(line)
        except Exception as error:  # noqa: BLE001 - whatever a logger raises must not end the evaluation
            self._logger = None
            warnings.warn(f"logger failed and is not used again: {type(error).__name__}: {error}", stacklevel=3)


def evaluate_recommender(
    model: Recommender,
    *,
    source: Any,
    targets: Any,
    metrics: Any,
    sample_ids: Any = None,
    slices: Mapping[str, Any] | None = None,
    open_tie: str = "refuse",
    duplicates: str = "refuse",
    collect_per_user: bool = True,
    per_user_dtype: str = "float64",
    metadata: Mapping[str, Any] | None = None,
    batch_size: int = 1024,
    validate_predictions: bool = True,
    debug: bool = False,
    debug_users: int = 5,
    show_progress: bool = False,
    logger: Any = None,
    log_every_n_steps: int = 1000,
    num_threads: int | None = None,
) -> EvaluationResult:
    """Let a model recommend for every row, batch by batch, and evaluate what it recommends.

    No predictions are kept: memory grows with the values per row alone.

    Parameters
    ----------
    model : object with ``predict_on_batch(source_rows, *, k)``
        Returns ranked lists of at least ``k`` items, ``k`` being the deepest rank that a metric looks at.
    source : scipy sparse matrix, array, or anything with row slicing, of n_rows rows
        What the model recommends from; its columns need not be those of the targets.
    targets : scipy sparse matrix or array_like of shape (n_rows, n_items)
        Grades; items with a grade above 0 are relevant.
    metrics : metric, str, or sequence of them
        Each with a cut-off.
    sample_ids, slices, open_tie, duplicates, collect_per_user, per_user_dtype, metadata, num_threads
        As in :func:`rankbound.evaluate_ranked_predictions`.
    batch_size : int, default 1024
        Rows per batch; results do not depend on it.
    validate_predictions, debug, debug_users
        As in :func:`rankbound.evaluate_ranked_predictions`.
    show_progress : bool, default False
        Whether to show a bar, which needs tqdm.
    logger : object with ``info(str)``, or None, default None
        Gets a line at the start, at the end and every so many batches, instead of a bar. If it fails, it is not called
        again and a warning says so.
    log_every_n_steps : int, default 1000
        Batches between two lines; 0 for none.

    Returns
    -------
    EvaluationResult
        As :func:`rankbound.evaluate_ranked_predictions` of all predictions at once.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming argument, row and item.

    Examples
    --------
    >>> import numpy as np
    >>> from rankbound import evaluate_recommender
    >>> class Popular:
    ...     def predict_on_batch(self, source, *, k):
    ...         return np.tile(np.arange(k), (len(source), 1))
    >>> targets = np.eye(4)
    >>> evaluate_recommender(Popular(), source=np.ones((4, 4)), targets=targets, metrics="recall@2")["recall@2"]
    0.5
    """
    if not callable(getattr(model, "predict_on_batch", None)):
        raise InvalidTypeError(f"model is a {type(model).__name__} without a method predict_on_batch(source, *, k)")
    relevant = as_targets(targets)
    n_rows = _n_rows(source)
    if n_rows != len(relevant):
        raise ShapeError(f"source has {n_rows} rows, but targets has {len(relevant)}; give one row per list")
    check_not_empty(relevant)
    size, every = as_positive(batch_size, name="batch_size"), as_count(log_every_n_steps, name="log_every_n_steps")
    if logger is not None and not callable(getattr(logger, "info", None)):
        raise InvalidTypeError(f"logger is a {type(logger).__name__} without a method info(str)")
    plan = as_plan(metrics, width=None)
    k = plan.required_k
    if k is None:
        raise InvalidParameterError(
            f"metrics has {', '.join(plan.labels)}; a recommender needs cut-offs: how many to ask for"
        )
    groups = as_slices(slices, n_rows=n_rows, n_items=relevant.n_items)
    ids = as_sample_ids(sample_ids, n_rows)
    collector = ListCollector(
        plan,
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
    log = _Log(logger)
    starts = range(0, n_rows, size)
    log(f"evaluate recommender@{k} started: {n_rows} rows in {len(starts)} batches of {size}")
    began = time.monotonic()
    bar = as_flag(show_progress, name="show_progress") and logger is None
    with told(bar, total=len(starts), unit="batch", name="show_progress") as tell:
        for step, first in enumerate(starts, start=1):
            last = min(first + size, n_rows)
            predictions = model.predict_on_batch(_slice(source, first, last), k=k)
            try:
                collector.add(as_ranked_lists(predictions), relevant.rows(first, last), ids[first:last])
            except RankboundError as error:
                raise type(error)(
                    f"in the batch of rows {first} to {last - 1}, counted from its first: {error}"
                ) from error
            if tell is not None:
                tell(step, len(starts))
            if every and step % every == 0:
                log(f"evaluate recommender@{k} batch {step} of {len(starts)}, {time.monotonic() - began:.1f} s")
    log(f"evaluate recommender@{k} finished: {n_rows} rows in {time.monotonic() - began:.1f} s")
    return collector.result(metadata=as_metadata(metadata))


def _n_rows(source: Any) -> int:
    shape = getattr(source, "shape", None)
    if isinstance(shape, Iterable) and not hasattr(source, "columns"):
        rows = next(iter(shape), None)
        if isinstance(rows, (int, np.integer)):
            return int(rows)
    if hasattr(source, "__len__") and hasattr(source, "__getitem__"):
        return len(source)
    raise InvalidTypeError(
        f"source is a {type(source).__name__}, whose rows cannot be counted and sliced; pass a CSR matrix or an array"
    )


def _slice(source: Any, first: int, last: int) -> Any:
    try:
        return source[first:last]
    except (TypeError, RuntimeError) as error:
        # Which of the two depends on the format of a sparse matrix.
        raise InvalidTypeError(
            f"source is a {type(source).__name__}, whose rows cannot be sliced as source[{first}:{last}]; pass a CSR "
            "matrix or an array"
        ) from error
