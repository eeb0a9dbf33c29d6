"""The report against what people use today, on scores without ties, where all agree."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from figures import Figure, timed
from inputs import random_scores, random_truths
from rankbound import build_ranking_report

TITLE = "Whole report, one objective; reference: one metric by a peer"


def figures(*, quick: bool) -> Iterator[Figure]:
    n_rows, n_classes = (500, 1_000) if quick else (5_000, 2_000)
    scores, truths = random_scores(n_rows, n_classes), random_truths(n_rows, n_classes)

    def ours() -> object:
        return build_ranking_report(scores, truths, y_train=truths, eval_all_objectives=False, n_resamples=0)

    for name, peer in _peers(scores, truths):
        yield timed(f"{n_rows:,} x {n_classes:,}, {name}", ours, peer, n_pairs=5)


def _peers(scores: NDArray[np.float32], truths: NDArray[np.int64]) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "numpy, rank of the truth", lambda: _numpy_ranks(scores, truths)
    yield "numpy, argpartition for the top 10", lambda: np.argpartition(scores, -10, axis=1)[:, -10:]
    if find_spec("sklearn") is None:
        print("  scikit-learn is not installed: left out")
        return
    from sklearn.metrics import ndcg_score, top_k_accuracy_score  # noqa: PLC0415

    classes = np.arange(scores.shape[1])
    relevance = (truths[:, np.newaxis] == classes).astype(np.float64)
    yield "top_k_accuracy_score", lambda: top_k_accuracy_score(truths, scores, k=10, labels=classes)
    yield "ndcg_score", lambda: ndcg_score(relevance, scores, k=10)


def _numpy_ranks(scores: NDArray[np.float32], truths: NDArray[np.int64]) -> object:
    own = np.take_along_axis(scores, truths[:, np.newaxis], axis=1)
    return np.count_nonzero(scores > own, axis=1) + 1
