"""Coverage, novelty and diversity of a top 10 against plain numpy, which takes ties as they come."""

from collections.abc import Iterator
from math import isclose

import numpy as np
from numpy.typing import NDArray

from figures import Figure, timed
from rankbound.catalogue import CatalogueEvaluator, IntraListDiversity, Novelty

TITLE = "Coverage, novelty and diversity of the top 10; reference: the same by numpy"
K = 10
N_FEATURES = 32


def figures(*, quick: bool) -> Iterator[Figure]:
    n_rows, n_items = (2_000, 1_000) if quick else (20_000, 5_000)
    rng = np.random.default_rng(7)
    # Without ties, which numpy would break by column.
    scores = rng.permuted(np.tile(np.arange(n_items, dtype=np.float32), (n_rows, 1)), axis=1)
    counts, features = rng.integers(1, 1_000, n_items), rng.standard_normal((n_items, N_FEATURES))
    metrics = [f"catalog_coverage@{K}", Novelty(K, counts=counts), IntraListDiversity(K, features=features)]
    information = -np.log2(counts / counts.sum())
    units = features / np.linalg.norm(features, axis=1, keepdims=True)

    def ours() -> list[float]:
        evaluator = CatalogueEvaluator(metrics)
        evaluator.update(scores)
        return list(evaluator.compute().values())

    def numpys() -> list[float]:
        return _by_numpy(scores, information, units)

    assert all(isclose(a, b, rel_tol=1e-9) for a, b in zip(ours(), numpys(), strict=True))
    yield timed(f"{n_rows:,} x {n_items:,}, {N_FEATURES} features", ours, numpys, n_pairs=3 if quick else 5)


def _by_numpy(scores: NDArray[np.float32], information: NDArray[np.float64], units: NDArray[np.float64]) -> list[float]:
    top = np.argpartition(scores, -K, axis=1)[:, -K:]
    vectors = units[top]
    similarity = (np.square(vectors.sum(axis=1)).sum(axis=1) - K) / (K * (K - 1))
    return [
        len(np.unique(top)) / scores.shape[1],
        float(information[top].mean()),
        float((1 - similarity).mean()),
    ]
