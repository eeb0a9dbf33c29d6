"""Dense scores against any number of relevant items per row."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._exclusion import Exclusion, as_exclusion, hash_of_lists, marked_too
from rankbound._options import as_choice, as_flag, resolve_num_threads
from rankbound._progress import told
from rankbound._validation import as_numpy, as_score_matrix, check_same_labels, row_blocks
from rankbound.catalogue.source import Recommended, ScoredItems
from rankbound.errors import InvalidTypeError, ShapeError
from rankbound.evaluation.finish import finish
from rankbound.evaluation.plan import as_plan
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.targets import Targets, as_targets


def evaluate_scores(
    scores: Any,
    targets: Any,
    *,
    metrics: Any = None,
    exclude: Any = None,
    mask: Any = None,
    mask_neg_inf: bool = False,
    unseen: str = "miss",
    sample_ids: Any = None,
    slices: Mapping[str, Any] | None = None,
    collect_per_user: bool = True,
    per_user_dtype: str = "float64",
    metadata: Mapping[str, Any] | None = None,
    num_threads: int | None = None,
    progress: Any = None,
) -> EvaluationResult:
    """Evaluate dense scores against the relevant items of each row.

    Equal scores are ties: every value is its exact expectation over the orders they allow. Rows and columns of all
    arguments are matched by position; data frames beside one another must have the same labels in the same order.

    Parameters
    ----------
    scores : array_like of shape (n_rows, n_items)
        Finite scores, higher is better; float16/32/64 or integers. Row-contiguous matrices are not copied.
    targets : scipy sparse matrix or array_like of shape (n_rows, n_items)
        Grades; items with a grade above 0 are relevant. Grades matter to graded metrics alone.
    metrics : metric, str, sequence of them, or None, default None
        Such as ``[NDCG([10, 20]), "recall@10"]``; None takes CalibratedRecall and NDCG over all items. Metrics of
        :mod:`rankbound.catalogue` are over the rows with relevant items, like all others.
    exclude : scipy sparse matrix or boolean array of shape (n_rows, n_items), or None, default None
        Items that are no candidates in a row, such as those its user has seen.
    mask : boolean array of shape (n_rows, n_items) or (n_items,), or None, default None
        True where an item is no candidate, as in numpy's masked arrays: beside ``exclude``, for items that are
        unavailable rather than seen.
    mask_neg_inf : bool, default False
        Whether a score of ``-inf`` means that the item is no candidate.
    unseen : {"miss", "drop"}, default "miss"
        What becomes of relevant items that are no candidates: they stay in every denominator, or are left out.
    sample_ids : array_like of shape (n_rows,) or None, default None
        Ids of the rows; rows that share one are one unit. None numbers them.
    slices : mapping of str to array_like, or None, default None
        Groups to report apart: a boolean mask, or labels, per row or per item. A group of items is evaluated with its
        relevant items alone; all others stay candidates. With as many rows as items rows are meant; ``("rows", ...)``
        and ``("items", ...)`` say it outright.
    collect_per_user : bool, default True
        Whether to keep the values per row.
    per_user_dtype : {"float64", "float32"}, default "float64"
        Type of the values kept.
    metadata : mapping or None, default None
        Attached to the result.
    num_threads : int or None, default None
        Threads; results do not depend on it.
    progress : bool or callable or None, default None
        True shows a bar; a callable is told ``(done, total)``.

    Returns
    -------
    EvaluationResult
        A mapping over the aggregates; rows without relevant items are left out and counted.

    Warns
    -----
    ReliabilityWarning
        If no row has a relevant item, so that every mean is NaN.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming argument, place and value.

    Examples
    --------
    >>> from rankbound import evaluate_scores
    >>> from rankbound.metrics import NDCG, Precision
    >>> result = evaluate_scores([[0.9, 0.7, 0.7, 0.1]], [[0, 1, 0, 1]], metrics=[Precision(2), NDCG(2)])
    >>> result["precision@2"]
    0.25
    """
    matrix = as_score_matrix(scores, name="scores")
    for name, other in (("targets", targets), ("exclude", exclude), ("mask", mask)):
        check_same_labels(scores, other, name="scores", other_name=name)
    relevant = as_targets(targets)
    if (len(relevant), relevant.n_items) != matrix.shape:
        raise ShapeError(
            f"targets has shape {(len(relevant), relevant.n_items)}, but scores has {matrix.shape}; they must be the "
            "same"
        )
    plan = as_plan(metrics, width=matrix.shape[1])
    threads = resolve_num_threads(num_threads)
    unavailable = _as_mask(mask, matrix.shape)
    _warn_of_mask(unavailable, relevant)
    excluded = as_exclusion(exclude, matrix.shape, np.arange(len(matrix)), scores="scores")
    if unavailable is not None:
        excluded = marked_too(excluded, unavailable, matrix.shape)
    neg_inf = as_flag(mask_neg_inf, name="mask_neg_inf")
    drop = as_choice(unseen, ("miss", "drop"), name="unseen") == "drop"
    masked: list[int] = []

    def profile(of: Targets) -> _core.Profiles:
        with told(progress, total=len(of), unit="row") as tell:
            profiles, n_masked = _core.profile_scores(
                matrix,
                of.core(graded=plan.graded),
                name="scores",
                exclude=excluded,
                mask_neg_inf=neg_inf,
                drop_masked=drop,
                num_threads=threads,
                progress=tell,
            )
        masked.append(n_masked)
        return profiles

    def protocol() -> dict[str, Any]:
        mask_hash = _mask_hash(excluded, matrix, mask_neg_inf=neg_inf)
        return {
            "candidates": {
                "kind": "full" if mask_hash is None else "per_row",
                "n_items": relevant.n_items,
                "mask_hash": mask_hash,
            },
            "truth": {"unseen": unseen},
            "ties": {"dtype": matrix.dtype.name},
            "population": {"n_masked_targets": masked[0]},
        }

    return finish(
        profile,
        relevant,
        plan,
        width=matrix.shape[1],
        sample_ids=sample_ids,
        slices=slices,
        collect_per_user=collect_per_user,
        per_user_dtype=per_user_dtype,
        metadata=metadata,
        protocol=protocol,
        num_threads=threads,
        recommended=Recommended(ScoredItems(matrix, excluded, neg_inf, drop_masked=drop), relevant),
    )


def _mask_hash(excluded: Exclusion | None, matrix: NDArray[Any], *, mask_neg_inf: bool) -> str | None:
    """Return a hash of which items are no candidates of which row; None if all are."""
    if not mask_neg_inf:
        return None if excluded is None else excluded.digest(np.arange(len(matrix)))

    def missing() -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
        for first, block in row_blocks(matrix):
            rows = np.arange(first, first + len(block))
            listed = Exclusion() if excluded is None else excluded.of_lists(rows, rows)
            marks = (block == -np.inf).view(np.uint8)
            yield from replace(listed, marked=(*listed.marked, marks)).by_lists(rows - first)

    return hash_of_lists(missing())


def _as_mask(mask: Any, shape: tuple[int, int]) -> NDArray[np.bool_] | None:
    if mask is None:
        return None
    if hasattr(mask, "tocsr"):
        raise InvalidTypeError("mask is a sparse matrix: pass it as exclude, which takes one")
    masked = as_numpy(mask, name="mask")
    if masked.dtype.kind != "b":
        raise InvalidTypeError(f"mask has dtype {masked.dtype}; it must be boolean: True where an item is no candidate")
    if masked.shape not in (shape, shape[1:]):
        raise ShapeError(f"mask has shape {masked.shape}; it must be {shape}, or {shape[1:]} for all rows alike")
    return masked


def _warn_of_mask(mask: NDArray[np.bool_] | None, targets: Targets) -> None:
    if mask is None or not len(targets.items):
        return
    rows = np.repeat(np.arange(len(targets)), targets.counts)
    n_masked = int((mask[targets.items] if mask.ndim == 1 else mask[rows, targets.items]).sum())
    if 2 * n_masked > len(targets.items):
        warnings.warn(
            f"mask takes {n_masked} of {len(targets.items)} relevant items out of the candidates: True must mark what "
            "is no candidate; invert it if it marks what is",
            stacklevel=3,
        )
