"""Items that a list must not rank, such as those its user has already seen."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._validation import as_numpy
from rankbound.errors import InvalidTypeError, ShapeError

# Marks looked at in one step where a whole-matrix temporary would cost memory.
_BLOCK_MARKS = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class Exclusion:
    """What is excluded, in two forms at once, neither of which grows beyond what the caller gave.

    ``listed`` holds row starts and columns per graded list, as in a CSR matrix; the columns of a list rise. ``marked``
    holds matrices in the shape of the scores, with a row per row of the scores, not 0 where a column is excluded.
    """

    listed: tuple[NDArray[np.int64], NDArray[np.uint32]] | None = None
    marked: tuple[NDArray[np.uint8], ...] = ()

    def same(self, index: int, other: int, rows: NDArray[np.int64]) -> bool:
        """Return whether the same columns are excluded from two graded lists."""
        return np.array_equal(self._columns(rows, index, index + 1)[1], self._columns(rows, other, other + 1)[1])

    def by_lists(self, rows: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
        """Return how many columns are excluded from each graded list, and which, for some lists at a time.

        Parameters
        ----------
        rows : ndarray of shape (n_lists,), dtype int64
            Row of the scores of each graded list.

        Yields
        ------
        counts, columns : ndarray
            The columns of a list rise, whichever form they were given in.
        """
        if not self.marked:
            yield self._columns(rows, 0, len(rows))
            return
        step = max(1, _BLOCK_MARKS // self.marked[0].shape[1])
        for first in range(0, len(rows), step):
            yield self._columns(rows, first, min(first + step, len(rows)))

    def digest(self, rows: NDArray[np.int64]) -> str | None:
        """Return a hash of what each graded list leaves out, whichever form the exclusion has.

        Parameters
        ----------
        rows : ndarray of shape (n_lists,), dtype int64
            Row of the scores of each graded list.

        Returns
        -------
        str or None
            In hexadecimal; None if nothing is left out.
        """
        return hash_of_lists(self.by_lists(rows))

    def _columns(self, rows: NDArray[np.int64], first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        counts, columns = np.zeros(last - first, dtype=np.int64), np.empty(0, dtype=np.uint32)
        if self.listed is not None:
            starts, all_columns = self.listed
            counts, columns = np.diff(starts[first : last + 1]), all_columns[starts[first] : starts[last]]
        if self.marked:
            block = np.zeros((last - first, self.marked[0].shape[1]), dtype=np.bool_)
            for marks in self.marked:
                block |= marks[rows[first:last]] != 0
            block[np.repeat(np.arange(last - first), counts), columns] = True
            counts = np.count_nonzero(block, axis=1).astype(np.int64)
            row_starts = np.repeat(np.arange(last - first) * block.shape[1], counts)
            columns = (np.flatnonzero(block) - row_starts).astype(np.uint32)
        return counts, columns

    def of_lists(self, lists: NDArray[np.int64], rows: NDArray[np.int64]) -> "Exclusion":
        """Return what is excluded from some graded lists, and from the rows of the matrix that they are of."""
        marked = tuple(marks[rows] for marks in self.marked)
        if self.listed is None:
            return Exclusion(marked=marked)
        starts, columns = self.listed
        counts = np.diff(starts)[lists]
        ends = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(starts[lists] - ends[:-1], counts) + np.arange(ends[-1])
        return Exclusion((ends, columns[at]), marked)


def hash_of_lists(lists: Iterable[tuple[NDArray[np.int64], NDArray[np.uint32]]]) -> str | None:
    """Return a hash of the excluded columns of lists, some at a time; None if there are none."""
    of_counts, of_columns, n_excluded = blake2b(digest_size=16), blake2b(digest_size=16), 0
    for counts, columns in lists:
        of_counts.update(counts.astype("<i8", copy=False).tobytes())
        of_columns.update(columns.astype("<u4", copy=False).tobytes())
        n_excluded += len(columns)
    return blake2b(of_counts.digest() + of_columns.digest(), digest_size=16).hexdigest() if n_excluded else None


def marked_too(exclusion: Exclusion | None, mask: NDArray[np.bool_], shape: tuple[int, int]) -> Exclusion | None:
    """Return what is excluded together with what a mask marks.

    Parameters
    ----------
    exclusion : Exclusion or None
        None if nothing is excluded.
    mask : ndarray of shape (n_rows, n_columns) or (n_columns,), dtype bool
        True where a column is excluded. It is not copied.
    shape : tuple of int
        Shape of the scores.

    Returns
    -------
    Exclusion or None
        None if nothing is excluded.
    """
    if not mask.any():
        return exclusion
    listed, marked = (None, ()) if exclusion is None else (exclusion.listed, exclusion.marked)
    return Exclusion(listed, (*marked, np.broadcast_to(mask.view(np.uint8), shape)))


def as_exclusion(
    exclude: Any, shape: tuple[int, int], rows: NDArray[np.int64], *, scores: str | None = "proba"
) -> Exclusion | None:
    """Return the excluded columns of each graded list.

    Parameters
    ----------
    exclude : scipy sparse matrix or boolean array of shape (n_rows, n_classes), or None
        Stored true (non-zero) entries are excluded. An array is not copied.
    shape : tuple of int
        Shape of the scores.
    rows : ndarray of shape (n_lists,), dtype int64
        Row of the scores of each graded list.
    scores : str or None, default "proba"
        The argument that holds the scores, for messages; None if they come from embeddings.

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
        return marked_too(None, dense, shape)
    _check_shape(exclude.shape, shape, scores)
    matrix = _checked(exclude)
    matrix = matrix if len(rows) == shape[0] else matrix[rows]
    return Exclusion((matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32))) if matrix.nnz else None


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


def _check_shape(given: tuple[int, ...], shape: tuple[int, int], scores: str | None) -> None:
    if tuple(given) != tuple(shape):
        if scores is None:
            raise ShapeError(
                f"exclude has shape {tuple(given)}, but there are {shape[0]} queries and {shape[1]} items; it must be "
                f"{tuple(shape)}"
            )
        raise ShapeError(f"exclude has shape {tuple(given)}, but {scores} has {tuple(shape)}; they must be the same")
