"""Items that a list must not rank, such as those its user has already seen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._validation import as_numpy
from rankbound.errors import InvalidTypeError, ShapeError

Exclusion = tuple[NDArray[np.int64], NDArray[np.uint32]]
"""Row starts and columns, as in a CSR matrix; the columns of a row rise."""


def as_exclusion(
    exclude: Any, shape: tuple[int, int], rows: NDArray[np.int64], *, scores: str = "proba"
) -> Exclusion | None:
    """Return the excluded columns of each graded list.

    Parameters
    ----------
    exclude : scipy sparse matrix or boolean array of shape (n_rows, n_classes), or None
        Stored true (non-zero) entries are excluded.
    shape : tuple of int
        Shape of the scores.
    rows : ndarray of shape (n_lists,), dtype int64
        Row of the scores of each graded list.
    scores : str, default "proba"
        The argument that holds the scores, for messages.

    Returns
    -------
    Exclusion or None
        None if nothing is excluded.

    Raises
    ------
    InvalidTypeError
        For anything that is neither sparse nor boolean.
    ShapeError
        If its shape is not that of the scores.
    """
    if exclude is None:
        return None
    if not hasattr(exclude, "tocsr"):
        dense = as_numpy(exclude, name="exclude")
        if dense.dtype.kind != "b":
            raise InvalidTypeError(
                f"exclude has dtype {dense.dtype}: pass a boolean matrix, True where an item is left out, or a scipy "
                "sparse matrix"
            )
        _check_shape(dense.shape, shape, scores)
        lists, columns = np.nonzero(dense if len(rows) == shape[0] else dense[rows])
        counts = np.bincount(lists, minlength=len(rows))
    else:
        _check_shape(exclude.shape, shape, scores)
        matrix = _checked(exclude)
        matrix = matrix if len(rows) == shape[0] else matrix[rows]
        columns, counts = matrix.indices, np.diff(matrix.indptr)
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return (starts, columns.astype(np.uint32)) if len(columns) else None


def _checked(exclude: Any) -> Any:
    """Return a sparse matrix as sorted CSR of true entries, after a look at what scipy takes on trust."""
    try:
        if hasattr(exclude, "check_format"):
            exclude.check_format(full_check=True)
        # As booleans, entry by entry: duplicate counts could add up to 0.
        matrix = exclude.tocoo()
        matrix = type(matrix)((matrix.data != 0, (matrix.row, matrix.col)), shape=matrix.shape).tocsr()
        matrix.sum_duplicates()
    except (ValueError, IndexError, TypeError) as error:
        raise ShapeError(
            f"exclude is a damaged sparse matrix: {error}; build it anew, e.g. from its coordinates"
        ) from error
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _check_shape(given: tuple[int, ...], shape: tuple[int, int], scores: str) -> None:
    if tuple(given) != tuple(shape):
        raise ShapeError(f"exclude has shape {tuple(given)}, but {scores} has {tuple(shape)}; they must be the same")
