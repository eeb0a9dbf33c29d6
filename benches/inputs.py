"""Made-up scores, truths and exclusions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

N_TRAIN = 100_000


def random_scores(n_rows: int, n_classes: int, *, dtype: type = np.float32) -> NDArray[Any]:
    """Return uniform scores, made in place: no more memory is touched than the matrix takes."""
    scores: NDArray[Any] = np.empty((n_rows, n_classes), dtype=dtype)
    np.random.default_rng(0).random(out=scores, dtype=dtype)
    return scores


def random_vectors(n_vectors: int, *, seed: int, n_dimensions: int = 128) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n_vectors, n_dimensions), dtype=np.float32)


def random_truths(n_rows: int, n_classes: int) -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, n_classes, n_rows)


def skewed_labels(n_classes: int) -> NDArray[np.int64]:
    """Return training labels: few classes are common, most are rare, as in recommenders."""
    return (n_classes * np.random.default_rng(2).random(N_TRAIN) ** 3).astype(np.int64)


def random_exclusion(n_rows: int, n_classes: int, per_row: int) -> csr_array:
    columns = np.random.default_rng(3).integers(0, n_classes, n_rows * per_row)
    seen = np.ones(len(columns), dtype=np.bool_)
    return csr_array((seen, columns, np.arange(0, len(columns) + 1, per_row)), shape=(n_rows, n_classes))
