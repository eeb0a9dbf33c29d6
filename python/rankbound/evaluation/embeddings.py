"""Vectors of queries and items: every item is scored and counted, no score is kept."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankbound import _core
from rankbound._exclusion import as_exclusion
from rankbound._options import as_choice, resolve_num_threads
from rankbound._progress import told
from rankbound.catalogue.source import EmbeddedItems, Recommended
from rankbound.errors import ShapeError
from rankbound.evaluation.finish import finish
from rankbound.evaluation.plan import as_plan
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.targets import Targets, as_targets
from rankbound.evaluation.vectors import Embeddings


def evaluate_embeddings(
    queries: Any,
    items: Any,
    targets: Any,
    *,
    item_bias: Any = None,
    similarity: str = "inner",
    metrics: Any = None,
    exclude: Any = None,
    unseen: str = "miss",
    sample_ids: Any = None,
    slices: Mapping[str, Any] | None = None,
    collect_per_user: bool = True,
    per_user_dtype: str = "float64",
    metadata: Mapping[str, Any] | None = None,
    num_threads: int | None = None,
    progress: Any = None,
) -> EvaluationResult:
    """Evaluate the ranking of all items by their similarity to each query.

    Scores are made in blocks and counted at once: the matrix of all of them, which may exceed memory, never exists.
    Equal scores are ties: every value is its exact expectation over the orders they allow. Items with the same vector
    and bias always tie, which they do not if a matrix product of BLAS makes the scores.

    Parameters
    ----------
    queries : array_like of shape (n_queries, n_dimensions)
        One finite vector per query; float32, or float16, which float32 holds exactly. Memory-mapped arrays are read in
        pieces.
    items : array_like of shape (n_items, n_dimensions)
        One vector per item, likewise.
    targets : scipy sparse matrix or array_like of shape (n_queries, n_items)
        Grades; items with a grade above 0 are relevant. Grades matter to graded metrics alone.
    item_bias : array_like of shape (n_items,) or None, default None
        What each item scores beside its similarity; float32 or float16.
    similarity : {"inner", "cosine", "l2"}, default "inner"
        The inner product; the inner product of the vectors divided by their lengths; or minus the squared Euclidean
        distance. The more the better.
    metrics : metric, str, sequence of them, or None, default None
        Such as ``[NDCG([10, 20]), "recall@10"]``; None takes CalibratedRecall and NDCG over all items. Metrics of
        :mod:`rankbound.catalogue`, which need the scores a second time, are over the queries with relevant items.
    exclude : scipy sparse matrix or boolean array of shape (n_queries, n_items), or None, default None
        Items that are no candidates for a query, such as those its user has seen.
    unseen : {"miss", "drop"}, default "miss"
        What becomes of relevant items that are no candidates: they stay in every denominator, or are left out.
    sample_ids : array_like of shape (n_queries,) or None, default None
        Ids of the queries; queries that share one are one unit. None numbers them.
    slices : mapping of str to array_like, or None, default None
        Groups to report apart: a boolean mask, or labels, per query or per item. A group of items is evaluated with its
        relevant items alone; all others stay candidates.
    collect_per_user : bool, default True
        Whether to keep the values per query.
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
        A mapping over the aggregates; queries without relevant items are left out and counted.

    Raises
    ------
    InvalidTypeError
        For vectors in float64 or integers: rounding them to float32 could make ties, and is left to the caller.
    NonFiniteScoreError
        For a vector, bias or score that is not finite, naming row and dimension, or query and item.
    ScoreRangeError
        For a zero vector under ``similarity="cosine"``.
    RankboundError
        A subclass that says what else is wrong, naming argument, place and value.

    Notes
    -----
    A score is computed in float32, and its every bit is defined: starting from the item's bias, or 0, the products (or
    the negated squares of the rounded differences) are added in the order of the dimensions, each step by a fused
    multiply-add that rounds once. For the cosine, the squares of a vector are added in float64 in the order of the
    dimensions, and each value is divided by the root of the sum in float64 and rounded to float32.

    Examples
    --------
    >>> import numpy as np
    >>> from rankbound import evaluate_embeddings
    >>> items = np.asarray([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    >>> result = evaluate_embeddings(items[:1], items, [[1, 0, 0]], metrics="hit_rate@1")
    >>> result["hit_rate@1"]
    0.5
    """
    vectors = Embeddings(queries, items, item_bias, similarity)
    relevant = as_targets(targets)
    shape = (len(vectors), vectors.n_items)
    if (len(relevant), relevant.n_items) != shape:
        raise ShapeError(
            f"targets has shape {(len(relevant), relevant.n_items)}, but there are {shape[0]} queries and {shape[1]} "
            f"items; it must be {shape}"
        )
    plan = as_plan(metrics, width=shape[1])
    threads = resolve_num_threads(num_threads)
    excluded = as_exclusion(exclude, shape, np.arange(shape[0]), scores=None)
    drop = as_choice(unseen, ("miss", "drop"), name="unseen") == "drop"
    masked: list[int] = []

    def profile(of: Targets) -> _core.Profiles:
        with told(progress, total=len(of), unit="query") as tell:
            profiles, n_masked = _core.profile_embeddings(
                vectors.queries,
                vectors.items,
                of.core(graded=plan.graded),
                item_bias=vectors.item_bias,
                exclude=excluded,
                similarity=vectors.similarity,
                drop_masked=drop,
                num_threads=threads,
                progress=tell,
            )
        masked.append(n_masked)
        return profiles

    def protocol() -> dict[str, Any]:
        return {
            "candidates": {
                "kind": "full" if excluded is None else "per_row",
                "n_items": relevant.n_items,
                "mask_hash": None if excluded is None else excluded.digest(np.arange(shape[0])),
            },
            "truth": {"unseen": unseen},
            "ties": {"dtype": "float32", "similarity": similarity, "item_bias": item_bias is not None},
            "population": {"n_masked_targets": masked[0]},
        }

    return finish(
        profile,
        relevant,
        plan,
        width=shape[1],
        sample_ids=sample_ids,
        slices=slices,
        collect_per_user=collect_per_user,
        per_user_dtype=per_user_dtype,
        metadata=metadata,
        protocol=protocol,
        num_threads=threads,
        recommended=Recommended(EmbeddedItems(vectors, excluded, drop_masked=drop), relevant),
    )
