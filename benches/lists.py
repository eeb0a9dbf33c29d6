"""Ranked lists with per-list values against numpy and a hand-written kernel."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from figures import Figure, timed
from rankbound import RankedLists, evaluate_ranked_predictions
from rankbound.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall

TITLE = "Ranked lists, six metrics at three cut-offs, values per list; reference: the same by hand"
CUT_OFFS = (20, 50, 100)
N_TARGETS = 10
N_ITEMS = 50_000
METRICS = [metric(CUT_OFFS) for metric in (Recall, Precision, HitRate, MRR, MAP, NDCG)]


def figures(*, quick: bool) -> Iterator[Figure]:
    n_lists = 2_000 if quick else 200_000
    lists, targets = random_lists(n_lists)
    predictions, matrix = RankedLists(lists), target_matrix(targets)

    def ours() -> object:
        return evaluate_ranked_predictions(predictions, matrix, metrics=METRICS)

    name = f"{n_lists:,} lists of {lists.shape[1]}, {N_TARGETS} targets"
    yield timed(f"{name}, numpy", ours, lambda: _numpys(lists, targets), n_pairs=3)
    if find_spec("numba") is None:
        print("  numba is not installed: its kernel is left out")
        return
    kernel = _numba_kernel()
    expected = kernel(lists, targets)
    found: Any = ours()
    assert np.allclose(expected[:, 15], found.per_user["ndcg@20"])
    assert np.allclose(expected[:, 14], found.per_user["map@100"])
    yield timed(f"{name}, numba", ours, lambda: kernel(lists, targets), limit=None if quick else 1.0)


def random_lists(n_lists: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return distinct items per list, and targets of which half are listed."""
    rng = np.random.default_rng(0)
    width = CUT_OFFS[-1]
    first, step = rng.integers(0, N_ITEMS, (n_lists, 1)), rng.integers(1, N_ITEMS // (2 * width), (n_lists, 1))
    places = np.arange(width + N_TARGETS // 2)
    items = ((first + step * places) % N_ITEMS).astype(np.int32)
    lists = rng.permuted(items[:, :width], axis=1)
    targets = np.concatenate([rng.permuted(lists, axis=1)[:, : N_TARGETS // 2], items[:, width:]], axis=1)
    return lists, np.sort(targets, axis=1)


def target_matrix(targets: NDArray[np.int32]) -> sparse.csr_matrix:
    """Return the targets as a matrix; the older kind of the two, which one of the peers insists on."""
    starts = np.arange(len(targets) + 1) * N_TARGETS
    return sparse.csr_matrix(
        (np.ones(targets.size, dtype=np.float32), targets.ravel(), starts), shape=(len(targets), N_ITEMS)
    )


def _numpys(lists: NDArray[np.int32], targets: NDArray[np.int32]) -> object:
    """Compute the same values with arrays alone."""
    rows = np.arange(len(lists), dtype=np.int64)[:, np.newaxis] * N_ITEMS
    hits = np.isin(rows + lists, rows + targets)
    counts, ranks = hits.cumsum(axis=1), np.arange(1, lists.shape[1] + 1)
    gains, precisions = hits / np.log2(ranks + 1), np.where(hits, counts / ranks, 0)
    ideal = np.cumsum(1 / np.log2(ranks + 1))[:N_TARGETS][-1]
    first = np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, np.inf)
    return [
        values
        for k in CUT_OFFS
        for values in (
            counts[:, k - 1] / N_TARGETS,
            counts[:, k - 1] / k,
            (counts[:, k - 1] > 0).astype(float),
            np.where(first <= k, 1 / first, 0),
            precisions[:, :k].sum(axis=1) / N_TARGETS,
            gains[:, :k].sum(axis=1) / ideal,
        )
    ]


def _numba_kernel() -> Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.float64]]:
    """Return what a careful user would write: one pass over each list, a binary search per item, on all threads."""
    import numba  # noqa: PLC0415 - a reference that need not be there

    discounts = 1 / np.log2(np.arange(2, CUT_OFFS[-1] + 2))
    ideals = np.concatenate([[0], np.cumsum(discounts)])
    cut_offs = np.array(CUT_OFFS)

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def run(lists: Any, targets: Any, values: Any) -> None:
        n_cut_offs = len(cut_offs)
        for row in numba.prange(len(lists)):
            relevant = targets[row]
            hits, first, at, precisions, gains = 0, 0, 0, 0.0, 0.0
            for place in range(lists.shape[1]):
                item = lists[row, place]
                low, high = 0, len(relevant)
                while low < high:
                    middle = (low + high) >> 1
                    if relevant[middle] < item:
                        low = middle + 1
                    else:
                        high = middle
                if low < len(relevant) and relevant[low] == item:
                    hits += 1
                    precisions += hits / (place + 1)
                    gains += discounts[place]
                    if first == 0:
                        first = place + 1
                if at < n_cut_offs and place + 1 == cut_offs[at]:
                    capped = min(cut_offs[at], len(relevant))
                    values[row, at] = hits / len(relevant)
                    values[row, n_cut_offs + at] = hits / cut_offs[at]
                    values[row, 2 * n_cut_offs + at] = 1.0 if hits > 0 else 0.0
                    values[row, 3 * n_cut_offs + at] = 1.0 / first if first > 0 else 0.0
                    values[row, 4 * n_cut_offs + at] = precisions / capped
                    values[row, 5 * n_cut_offs + at] = gains / ideals[capped]
                    at += 1

    def kernel(lists: NDArray[np.int32], targets: NDArray[np.int32]) -> NDArray[np.float64]:
        values = np.zeros((len(lists), 6 * len(CUT_OFFS)))
        run(lists, targets, values)
        return values

    return kernel
