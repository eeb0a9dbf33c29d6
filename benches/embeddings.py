"""Evaluation of embeddings against the matrix product that makes the scores, by numpy's BLAS."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from figures import Figure, timed
from inputs import random_exclusion, random_vectors
from rankbound import evaluate_embeddings
from report_memory import STATUS, status_mb

TITLE = "Embeddings, 10 relevant items and 50 exclusions per query; reference: numpy's product of the same matrices"
LIMIT_MB = 200
METRICS = ["recall@20", "ndcg@20"]
# Queries per product: its result stays small, and BLAS is as fast as on all of them.
ROWS_PER_PRODUCT = 500


def figures(*, quick: bool) -> Iterator[Figure]:
    n_queries, n_items, limit = (1_000, 20_000, None) if quick else (20_000, 100_000, 1.15)
    queries, items = random_vectors(n_queries, seed=6), random_vectors(n_items, seed=7)
    name = f"{n_queries:,} x {n_items:,}, {queries.shape[1]} dimensions"
    options = _lists(n_queries, n_items)
    for similarity, bound, n_pairs in (("inner", limit, 5), ("cosine", None, 3), ("l2", None, 3)):
        yield timed(
            f"{name}, {similarity}",
            lambda similarity=similarity: evaluate_embeddings(  # type: ignore[misc]
                queries, items, **options, metrics=METRICS, similarity=similarity
            ),
            _product(queries, items),
            limit=bound,
            n_pairs=n_pairs,
        )
    if not STATUS.exists():
        print("  left out: peak memory is read from /proc, which only Linux has")
        return
    command = [sys.executable, __file__, str(n_queries), str(n_items)]
    extra, inputs = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    yield Figure(
        name=f"{name}, memory beside the inputs",
        ours=f"{extra:.0f} MB",
        reference=f"{inputs:.0f} MB",
        ratio=extra / inputs,
        limit=LIMIT_MB / inputs,
    )


def _lists(n_queries: int, n_items: int) -> dict[str, csr_array]:
    relevant = np.random.default_rng(8).integers(0, n_items, n_queries * 10)
    starts = np.arange(0, len(relevant) + 1, 10)
    targets = csr_array((np.ones(len(relevant)), relevant, starts), shape=(n_queries, n_items))
    return {"targets": targets, "exclude": random_exclusion(n_queries, n_items, 50)}


def _product(queries: NDArray[np.float32], items: NDArray[np.float32]) -> Callable[[], object]:
    """Make all scores, block by block into the same memory, and nothing else."""
    scores = np.empty((ROWS_PER_PRODUCT, len(items)), dtype=np.float32)
    starts = range(0, len(queries), ROWS_PER_PRODUCT)
    return lambda: [np.matmul(queries[start : start + ROWS_PER_PRODUCT], items.T, out=scores) for start in starts]


def _measure(n_queries: int, n_items: int) -> None:
    queries, items = random_vectors(n_queries, seed=6), random_vectors(n_items, seed=7)
    inputs: dict[str, Any] = _lists(n_queries, n_items)
    few = _lists(6, n_items)
    evaluate_embeddings(queries[:6], items, **few, metrics=METRICS)  # what is loaded once is no memory of a run
    before = status_mb("VmRSS")
    evaluate_embeddings(queries, items, **inputs, metrics=METRICS)
    print(status_mb("VmHWM") - before, (queries.nbytes + items.nbytes) / 1e6)


if __name__ == "__main__":
    _measure(int(sys.argv[1]), int(sys.argv[2]))
