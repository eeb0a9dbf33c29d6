"""Arrays from files: ``.npy`` (memory-mapped), ``.npz``, ``.parquet`` and ``.csv``; nothing is ever unpickled.

Each loader takes the name of the option that named the file: for messages, and to choose among several arrays or
columns.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankbound._files import UNREADABLE, open_npz
from rankbound.cli import csv_input
from rankbound.cli.input_errors import choose, fail, flag
from rankbound.errors import MissingDependencyError, RankboundError, ShapeError, UnknownLabelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

SUFFIXES = (".npy", ".npz", ".parquet", ".csv")
_MAGIC = {".npy": b"\x93NUMPY", ".npz": b"PK", ".parquet": b"PAR1"}


def load_matrix(path: str, name: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Load a matrix with a column per class.

    Parameters
    ----------
    path : str
        The file; its suffix tells the format. Columns of a table are the classes.
    name : str
        The option, for messages and to choose among the arrays of an ``.npz`` file.

    Returns
    -------
    matrix : ndarray of shape (n_rows, n_classes)
        Memory-mapped and read-only from ``.npy``.
    classes : ndarray of shape (n_classes,) or None
        Names of a table's columns: integers if all are, else strings.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, or of another format than its suffix says.
    MissingDependencyError
        For ``.parquet`` without pyarrow.
    """
    suffix = _check_file(path, name)
    if suffix == ".csv":
        return csv_input.read_matrix(path, name)
    if suffix == ".parquet":
        table: tuple[NDArray[Any], NDArray[Any]] = _parquet(path, name, "read_matrix")
        return table
    return _load_array(path, name, suffix), None


def load_vector(path: str, name: str, *, numeric: bool = False) -> NDArray[Any]:
    """Load one value per row or class.

    Parameters
    ----------
    path : str
        The file. Of a table with several columns, the one with the option's name is taken.
    name : str
        The option.
    numeric : bool, default False
        Whether the values are numbers, not labels: this matters to ``.csv`` only.

    Returns
    -------
    ndarray of shape (n_values,)
        Labels of a ``.csv`` are integers if all are, else strings; objects where some are missing (None).

    Raises
    ------
    FileFormatError, MissingDependencyError
        As :func:`load_matrix`.
    """
    suffix = _check_file(path, name)
    if suffix == ".csv":
        return csv_input.read_vector(path, name, numeric=numeric)
    if suffix == ".parquet":
        vector: NDArray[Any] = _parquet(path, name, "read_vector")
        return vector
    return _load_array(path, name, suffix)


def load_exclude(path: str, shape: tuple[int, int], name: str = "exclude") -> csr_array:
    """Load which classes are no candidates in which rows.

    Parameters
    ----------
    path : str
        A sparse matrix saved by ``scipy.sparse.save_npz``, a boolean matrix (``.npy``, ``.npz``), or pairs of row and
        column indices: an integer array or a table of two columns.
    shape : tuple of int
        Shape of the scores.
    name : str, default "exclude"
        The option.

    Returns
    -------
    csr_array of bool, shape (n_rows, n_classes)
        True where the class is no candidate.

    Raises
    ------
    FileFormatError, MissingDependencyError
        As :func:`load_matrix`.
    ShapeError
        If a matrix has another shape than the scores, or pairs do not have two columns.
    UnknownLabelError
        Naming the pair whose row or column is not among the scores.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  # only this loader needs scipy

    suffix = _check_file(path, name)
    if suffix in {".csv", ".parquet"}:
        pairs = load_matrix(path, name)[0]
        if not (pairs == np.floor(pairs)).all():
            raise fail(path, name, "holds fractions; it must hold row and column indices")
        return _from_pairs(path, name, pairs.astype(np.int64), shape)
    matrix = _load_sparse(path, name) if suffix == ".npz" else None
    if matrix is None:
        matrix = _load_array(path, name, suffix)
        if matrix.dtype.kind in "iu":
            return _from_pairs(path, name, matrix, shape)
        if matrix.dtype.kind != "b":
            raise fail(path, name, f"has dtype {matrix.dtype}; it must be a boolean matrix, or pairs of row and column")
    if matrix.shape != shape:
        raise ShapeError(f"{flag(name)} {path!r} has shape {matrix.shape}, the scores have {shape}")
    excluded = csr_array(matrix).astype(np.bool_)
    excluded.eliminate_zeros()
    return excluded


def _from_pairs(path: str, name: str, pairs: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    from scipy.sparse import csr_array  # noqa: PLC0415  # as above

    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ShapeError(f"{flag(name)} {path!r} has shape {pairs.shape}; pairs of row and column need two columns")
    wrong = (pairs < 0) | (pairs >= np.array(shape))
    if wrong.any():
        place, axis = (int(index) for index in np.argwhere(wrong)[0])
        kind, length = ("row", "column")[axis], shape[axis]
        raise UnknownLabelError(
            f"{flag(name)} {path!r} has {kind} {pairs[place, axis]} in pair {place}; the {length} {kind}s of the "
            "scores count from 0"
        )
    pairs = np.unique(pairs, axis=0)
    return csr_array((np.ones(len(pairs), dtype=np.bool_), (pairs[:, 0], pairs[:, 1])), shape=shape)


def _check_file(path: str, name: str) -> str:
    """Return the suffix, once the file's first bytes agree with it."""
    suffix = Path(path).suffix.lower()
    try:
        with Path(path).open("rb") as handle:
            start = handle.read(6)
    except OSError as error:
        raise fail(path, name, f"cannot be read: {error.strerror or error}") from error
    if suffix not in SUFFIXES:
        raise fail(path, name, f"has an unknown suffix; known are {', '.join(SUFFIXES)}")
    if not start:
        raise fail(path, name, "is empty")
    magic = _MAGIC.get(suffix, b"")
    if not start.startswith(magic):
        raise fail(path, name, f"is not a {suffix} file: it starts with {start!r}, not with {magic!r}")
    return suffix


@contextmanager
def _reading(path: str, name: str) -> Iterator[None]:
    try:
        yield
    except RankboundError:
        raise
    except UNREADABLE as error:
        message = str(error)
        if "allow_pickle" in message or "Python objects" in message:
            raise fail(
                path, name, "holds Python objects, which only pickle could read: save a plain dtype, .astype(str) say"
            ) from error
        raise fail(path, name, f"is truncated or damaged: {message}") from error


def _load_array(path: str, name: str, suffix: str) -> NDArray[Any]:
    with _reading(path, name):
        if suffix == ".npy":
            return np.lib.format.open_memmap(path, mode="r")
        with open_npz(path) as archive:
            array: NDArray[Any] = archive[choose(path, name, archive.files, what="array")]
    return array


def _load_sparse(path: str, name: str) -> Any:
    """Return the sparse matrix of an ``.npz`` file, or None if it holds plain arrays."""
    from scipy import sparse  # noqa: PLC0415  # as above

    with _reading(path, name):
        with open_npz(path) as archive:
            if "format" not in archive.files:
                return None
        with Path(path).open("rb") as handle:
            matrix = sparse.load_npz(handle)  # It never unpickles.
        if matrix.format in {"csr", "csc", "bsr"}:
            matrix.check_format(full_check=True)
    return matrix


def _parquet(path: str, name: str, reader: str) -> Any:
    try:
        from rankbound.cli import parquet_input  # noqa: PLC0415  # pyarrow is an extra
    except ImportError as error:
        raise MissingDependencyError(
            f"{flag(name)} {path!r} needs pyarrow: pip install 'rankbound[parquet]'"
        ) from error
    with _reading(path, name):
        return getattr(parquet_input, reader)(path, name)
