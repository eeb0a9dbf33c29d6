"""What evaluations hold beside their inputs: no copy of a matrix, in no form of it."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from rankbound import (
    RankedLists,
    build_ranking_report,
    evaluate_embeddings,
    evaluate_ranked_predictions,
    evaluate_scores,
    rank_of_truth,
)

N_ROWS, N_ITEMS = 2000, 5000
RNG = np.random.default_rng(3)
TRUTHS = RNG.integers(0, N_ITEMS, N_ROWS)
TARGETS = sparse.csr_array((np.ones(N_ROWS), (np.arange(N_ROWS), TRUTHS)), shape=(N_ROWS, N_ITEMS))
MASK = RNG.random((N_ROWS, N_ITEMS)) < 0.5
MASK[np.arange(N_ROWS), TRUTHS] = False
SCORES = RNG.random((N_ROWS, N_ITEMS), dtype=np.float32)
VECTORS = RNG.random((N_ITEMS, 2), dtype=np.float32)
IN_COLUMNS = np.asfortranarray(MASK)
# Half of the mask, which is the smallest matrix here; half of it is marked.
MOST = MASK.nbytes / 2


def scores(**options):
    evaluate_scores(SCORES, **{"targets": TARGETS, "metrics": "recall@5"} | options)


CASES = {
    "mask": lambda: scores(mask=MASK),
    "mask by column": lambda: scores(mask=np.arange(N_ITEMS) % 3 == 0),
    "mask and exclude": lambda: scores(mask=MASK, exclude=MASK),
    "mask in columns": lambda: scores(mask=IN_COLUMNS),
    "catalogue": lambda: scores(exclude=MASK, metrics="catalog_coverage@5"),
    "embeddings": lambda: evaluate_embeddings(
        VECTORS[:N_ROWS], VECTORS, TARGETS, exclude=MASK, metrics="recall@5", num_threads=1
    ),
    "report": lambda: build_ranking_report(SCORES, TRUTHS, exclude=MASK, n_resamples=9),
    "ranks": lambda: rank_of_truth(SCORES, TRUTHS, exclude=MASK),
}


def peak(call):
    """Return the most that Python and numpy held at once in a second call: the first one imports modules."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("case", CASES)
def test_dense_masks_are_read_where_they_are(case):
    assert peak(CASES[case]) < MOST


def test_scores_of_lists_are_read_in_their_own_precision():
    items = np.tile(np.arange(400, dtype=np.int32), (N_ROWS, 1))
    falling = np.tile(np.arange(400, 0, -1, dtype=np.float32), (N_ROWS, 1))
    lists = RankedLists(items, falling)
    assert peak(lambda: evaluate_ranked_predictions(lists, TARGETS, metrics="recall@5")) < falling.nbytes / 2


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32"])
def test_dense_targets_are_read_where_they_are(dtype):
    dense = TARGETS.toarray().astype(dtype)
    assert peak(lambda: scores(targets=dense)) < dense.nbytes / 4
