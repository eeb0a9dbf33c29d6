"""The report against the floor: a plain read of the same scores."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figures import Figure, timed
from inputs import random_exclusion, random_scores, random_truths, skewed_labels
from rankbound import _core, build_ranking_report

TITLE = "Ranking report on two threads; reference: reading the same scores once, on as many"


def figures(*, quick: bool) -> Iterator[Figure]:
    n_rows, n_classes = (2_000, 5_000) if quick else (20_000, 10_000)
    # At the small size, fixed costs of a call outweigh the reading.
    one, coarse, three = (None, None, None) if quick else (2.0, 3.0, 4.0)
    scores = random_scores(n_rows, n_classes)
    yield _against_floor(f"{n_rows:,} x {n_classes:,} float32", scores, limit=one)
    yield _against_floor("  three objectives", scores, limit=three, eval_all_objectives=True)
    yield _against_floor("  k = 100", scores, k=100)
    yield _against_floor("  50 excluded items per row", scores, exclude=random_exclusion(n_rows, n_classes, 50))
    yield _against_floor("  1000 resamples", scores, n_resamples=1000)
    _make_coarse(scores)
    yield _against_floor("  256 levels, 30 % zero columns", scores, limit=coarse)
    yield _against_floor("  the same, three objectives", scores, eval_all_objectives=True)
    scores[:] = np.rint(random_scores(n_rows, n_classes))
    yield _against_floor("  0 or 1 at random", scores)
    scores.fill(0.5)
    yield _against_floor("  constant", scores)
    del scores
    yield _against_floor("  float64", random_scores(n_rows, n_classes, dtype=np.float64))
    n_rows, n_classes = (20_000 if quick else 200_000), 100
    yield _against_floor(f"{n_rows:,} x {n_classes} float32", random_scores(n_rows, n_classes))


def gated() -> Iterator[Figure]:
    """The figures that have limits."""
    scores = random_scores(20_000, 10_000)
    yield _against_floor("20,000 x 10,000 float32", scores, limit=2.0)
    yield _against_floor("  three objectives", scores, limit=4.0, eval_all_objectives=True)
    _make_coarse(scores)
    yield _against_floor("  256 levels, 30 % zero columns", scores, limit=3.0)


def _against_floor(name: str, scores: NDArray[Any], *, limit: float | None = None, **options: Any) -> Figure:
    n_rows, n_classes = scores.shape
    truths, labels = random_truths(n_rows, n_classes), skewed_labels(n_classes)
    options = {"eval_all_objectives": False, "n_resamples": 0} | options
    # The limits are those of two threads: more share the same memory, while fixed costs stay.
    n_threads = min(_core.available_threads(), 2)
    with ThreadPoolExecutor(n_threads) as pool:
        return timed(
            name,
            lambda: build_ranking_report(scores, truths, y_train=labels, num_threads=n_threads, **options),
            _reader(scores, pool, n_threads),
            limit=limit,
        )


def _reader(scores: NDArray[Any], pool: ThreadPoolExecutor, n_threads: int) -> Callable[[], object]:
    """Sum the scores, a contiguous share per thread: numpy releases the GIL and memory is the limit."""
    shares = np.array_split(scores.reshape(-1), n_threads)
    return lambda: sum(pool.map(np.sum, shares))


def _make_coarse(scores: NDArray[Any]) -> None:
    """Round to 256 levels and let every column in 3 of 10 be zero: ties at the cut in most rows."""
    np.multiply(scores, 256, out=scores)
    np.floor(scores, out=scores)
    scores[:, np.random.default_rng(4).random(scores.shape[1]) < 0.3] = 0
