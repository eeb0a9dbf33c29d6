"""What makes items different: feature vectors, or distances."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._validation import as_numpy
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError


def as_features(features: Any) -> NDArray[np.float64]:
    """Return feature vectors as a matrix.

    Parameters
    ----------
    features : array_like or scipy sparse matrix of shape (n_items, n_features)
        Finite numbers.

    Returns
    -------
    ndarray of shape (n_items, n_features), dtype float64
        Contiguous.

    Raises
    ------
    InvalidParameterError
        Without features, or with NaN or infinity among them.
    InvalidTypeError, ShapeError
        For other dtypes and dimensions.
    """
    if features is None:
        raise InvalidParameterError(
            "features must be given: one vector per item, or pass a matrix of distances as metric="
        )
    dense = features.toarray() if hasattr(features, "toarray") else features
    return _matrix(dense, "features", "one vector per item")


def as_distances(metric: Any, features: NDArray[np.float64] | None) -> str | NDArray[np.float64]:
    """Return distances between items, unless they are computed from the features.

    Parameters
    ----------
    metric : str, callable or array_like of shape (n_items, n_items)
        The name of a distance, a function of two feature vectors, which is called for every pair of items, or the
        distances.
    features : ndarray of shape (n_items, n_features) or None
        What the function takes.

    Returns
    -------
    str or ndarray of shape (n_items, n_items), dtype float64
        The name itself, or symmetric distances of at least 0.

    Raises
    ------
    ShapeError
        If the matrix is not square.
    InvalidParameterError
        For a distance that is negative or not finite, and a matrix that is not symmetric.
    InvalidTypeError
        If the function returns no number.
    """
    if isinstance(metric, str):
        return metric
    if callable(metric) and features is not None:
        return _checked(_pairwise(metric, features))
    return _checked(_matrix(metric, "metric", "a square matrix of distances, a function or 'cosine'"))


def _pairwise(metric: Callable[..., Any], features: NDArray[np.float64]) -> NDArray[np.float64]:
    n_items = len(features)
    distances = np.zeros((n_items, n_items))
    for item in range(n_items):
        for other in range(item):
            try:
                distances[item, other] = distances[other, item] = metric(features[item], features[other])
            except (TypeError, ValueError) as error:
                raise InvalidTypeError(
                    f"metric gave no distance between the items {item} and {other} ({error}); it must take two vectors "
                    "and return a number"
                ) from error
    return distances


def _matrix(values: Any, name: str, expected: str) -> NDArray[np.float64]:
    array = as_numpy(values, name=name)
    if array.dtype.kind not in "biuf" or array.dtype.char == "g":
        raise InvalidTypeError(f"{name} has dtype {array.dtype}; it must be {expected}")
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(f"{name} has shape {array.shape}; it must be {expected}")
    numbers = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        raise InvalidParameterError(f"{name} has {numbers[row, column]} at ({row}, {column}); it must be finite")
    return numbers


def _checked(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    if distances.shape[0] != distances.shape[1]:
        raise ShapeError(f"metric has shape {distances.shape}; distances must be a square matrix, items by items")
    wrong = ~(distances >= 0) | ~np.isclose(distances, distances.T, rtol=1e-9, atol=1e-12)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidParameterError(
            f"metric has {distances[row, column]} from item {row} to {column} and {distances[column, row]} back; "
            "distances must be at least 0 and the same in both directions"
        )
    return distances
