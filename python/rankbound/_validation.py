"""Arrays, checked once: every message names the argument, the place and the value, and says what to do."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound.errors import (
    EmptyInputError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
)

# Beyond it float64 merges neighbouring integers, which would make ties.
MAX_EXACT_INTEGER = 2**53
# The exact accumulator holds values below it.
MAX_MAGNITUDE = 2.0**40
# Scores looked at in one step where a whole-matrix temporary would cost memory.
_BLOCK_SCORES = 1 << 20


def as_numpy(value: Any, *, name: str) -> NDArray[Any]:
    """Return a numpy array over ``value``, without a copy where that is possible.

    Parameters
    ----------
    value : array_like
        numpy array, (nested) list, DataFrame or Series with ``to_numpy``, or anything with ``__array__`` or
        ``__dlpack__``. Tensors are detached and brought to the host; bfloat16 becomes float32, which holds it exactly.
    name : str
        The argument, for messages.

    Returns
    -------
    ndarray
        In native byte order and aligned. A numpy array that is so already is returned as it is.

    Raises
    ------
    InvalidTypeError
        For masked arrays, sparse matrices and everything that is no array.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidTypeError(f"{name} is a masked array, whose mask would be lost: pass {name}.filled(...) instead")
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise InvalidTypeError(f"{name} is a sparse matrix: pass {name}.toarray(), or ranked lists of its entries")
    try:
        array = _to_numpy(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise InvalidTypeError(
            f"{name} cannot be read as a numpy array ({type(value).__name__}: {error}); pass a numpy array"
        ) from error
    # Its kind is that of raw memory; numpy takes long to spell a name out.
    if array.dtype.kind == "V" and array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.aligned else array.copy()


def _to_numpy(value: Any) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        return np.asarray(value) if isinstance(value, np.matrix) else value
    if hasattr(value, "detach"):
        value = value.detach()
        value = value.cpu() if hasattr(value, "cpu") else value
        value = value.float() if "bfloat16" in str(getattr(value, "dtype", "")) else value
    if hasattr(value, "to_numpy"):
        array = np.asarray(value.to_numpy())
        if array.dtype.kind == "O" and array.ndim == 2:
            # A frame of nullable columns, each of which is numeric: missing values become NaN, to be refused in place.
            try:
                floats = np.asarray(value.to_numpy(dtype=np.float64, na_value=np.nan))
            except (TypeError, ValueError):
                return array
            return array if (np.abs(floats) >= MAX_EXACT_INTEGER).any() else floats
        return array
    if isinstance(value, (list, tuple, range)) or hasattr(value, "__array__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    raise TypeError("no array interface")


def as_score_matrix(proba: Any, *, name: str = "proba") -> NDArray[Any]:
    """Return scores as a two-dimensional numpy array, without a copy where that is possible.

    Parameters
    ----------
    proba : array_like of shape (n_rows, n_classes)
        Scores, as described in :func:`as_numpy`.
    name : str, default "proba"
        The argument, for messages.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        float16, float32, float64 or any integer dtype; not checked for finite values.

    Raises
    ------
    InvalidTypeError
        For other dtypes and for what :func:`as_numpy` refuses.
    ShapeError
        Unless there are two dimensions.
    EmptyInputError
        Without rows or columns.
    """
    matrix = as_numpy(proba, name=name)
    dtype = matrix.dtype
    if dtype.kind not in "fiu" or dtype.char == "g":
        hint = {
            "b": "booleans are decisions, not scores: pass the scores they came from",
            "O": "convert to one numeric type, e.g. with .astype('float64')",
            "c": "complex numbers have no order",
        }.get(dtype.kind, "convert to float64")
        raise InvalidTypeError(f"{name} has dtype {dtype}; scores must be float16/32/64 or integers: {hint}")
    if matrix.ndim != 2:
        raise ShapeError(
            f"{name} has {matrix.ndim} dimension(s), shape {matrix.shape}; it must have two: one row per list, one "
            "column per class"
        )
    if 0 in matrix.shape:
        raise EmptyInputError(f"{name} has shape {matrix.shape}: there is nothing to rank")
    return matrix


def as_float_scores(matrix: NDArray[Any], *, name: str = "proba") -> NDArray[np.float32] | NDArray[np.float64]:
    """Return a score matrix as float32 or float64, exactly.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_classes)
        From :func:`as_score_matrix`.
    name : str, default "proba"
        The argument, for messages.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        The matrix itself if it is float32 or float64.

    Raises
    ------
    InvalidTypeError
        For integers beyond 2^53.
    """
    if matrix.dtype.kind == "f":
        return matrix.astype(np.float32) if matrix.dtype.itemsize == 2 else matrix
    check_exact_integers(matrix, name=name)
    return matrix.astype(np.float64)


def check_exact_integers(matrix: NDArray[Any], *, name: str = "proba") -> None:
    """Refuse integers that float64, in which transforms compute, would merge.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_classes)
        From :func:`as_score_matrix`; floats pass.
    name : str, default "proba"
        The argument, for messages.

    Raises
    ------
    InvalidTypeError
        For integers beyond 2^53, naming the first row and column.
    """
    if matrix.dtype.kind == "f" or matrix.dtype.itemsize < 8:
        return
    for first, block in row_blocks(matrix):
        beyond = (block > MAX_EXACT_INTEGER) | (block < -MAX_EXACT_INTEGER if matrix.dtype.kind == "i" else False)
        if beyond.any():
            row, column = np.argwhere(beyond)[0]
            raise InvalidTypeError(
                f"{name} has {block[row, column]} at row {first + row}, column {column}: integers beyond 2^53 "
                "cannot be transformed exactly; rescale them"
            )


def check_finite(matrix: NDArray[Any], *, mask_neg_inf: bool | None = False, name: str = "proba") -> None:
    """Refuse scores that are not finite.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_classes)
        From :func:`as_score_matrix`.
    mask_neg_inf : bool or None, default False
        Whether ``-inf`` is allowed, as the mark of an item that is no candidate; None where the caller has no such
        option.
    name : str, default "proba"
        The argument, for messages.

    Raises
    ------
    NonFiniteScoreError
        Naming the first row and column.
    """
    if matrix.dtype.kind != "f":
        return
    for first, block in row_blocks(matrix):
        accepted = (block < np.inf) if mask_neg_inf else np.isfinite(block)
        if not accepted.all():
            row, column = np.argwhere(~accepted)[0]
            hint = "" if mask_neg_inf is None else " (with mask_neg_inf=True -inf marks an item that is no candidate)"
            raise NonFiniteScoreError(
                f"{name} has {block[row, column]} at row {first + row}, column {column}: every score must be finite"
                + hint
            )


def as_finite_vector(values: Any, *, name: str, of: str, minimum: float | None = None) -> NDArray[np.float64]:
    """Return finite numbers in float64, below 2^40 in magnitude, so that they can be summed exactly.

    Parameters
    ----------
    values : array_like of shape (n,)
        At least one number.
    name : str
        The argument, for messages.
    of : str
        What each number belongs to, for messages.
    minimum : float or None, default None
        Smallest number allowed.

    Returns
    -------
    ndarray of shape (n,), dtype float64
        The numbers.

    Raises
    ------
    InvalidTypeError
        For a dtype that is not numeric.
    ShapeError
        Unless there is one dimension.
    InvalidParameterError
        For a number out of range, naming what it belongs to.
    """
    array = as_numpy(values, name=name)
    if array.dtype.kind not in "fiu" or array.dtype.char == "g":
        raise InvalidTypeError(f"{name} has dtype {array.dtype}; it must hold a number for each {of}")
    if array.ndim != 1 or not len(array):
        raise ShapeError(f"{name} has shape {array.shape}; it must hold one number per {of}")
    numbers = array.astype(np.float64)
    wrong = ~(np.abs(numbers) < MAX_MAGNITUDE)
    if minimum is not None:
        wrong |= numbers < minimum
    if wrong.any():
        at = int(wrong.argmax())
        limits = "finite, below 2^40" + ("" if minimum is None else f" and at least {minimum:g}")
        raise InvalidParameterError(f"{name} has {array[at]} for {of} {at}; it must be {limits}")
    return numbers


def check_same_labels(frame: Any, other: Any, *, name: str, other_name: str) -> None:
    """Refuse two data frames that label their rows or columns differently, since they are read by position.

    Parameters
    ----------
    frame, other : object
        Only frames, as of pandas or polars, have labels, unless they only count; anything else passes, as do frames of
        other lengths.
    name, other_name : str
        The arguments, for messages.

    Raises
    ------
    ShapeError
        Naming the first label that differs.
    """
    for axis in ("columns", "index"):
        first, second = (_labels(of, axis) for of in (frame, other))
        if len(first) != len(second) or first == second:
            continue
        for place, labels in enumerate(zip(first, second, strict=True)):
            # As text, because NaN differs from itself.
            label, other_label = map(repr, labels)
            if label != other_label:
                raise ShapeError(
                    f"{name} has {label} at position {place} of its {axis}, but {other_name} has {other_label}: data "
                    "frames are read by position; give both the same labels in the same order, or pass them as "
                    ".to_numpy()"
                )


def _labels(frame: Any, axis: str) -> list[Any]:
    given = getattr(frame, axis, None) if hasattr(frame, "to_numpy") else None
    labels = [] if given is None or callable(given) else list(given)
    # What pandas and polars number rows and columns by for want of labels.
    numbers = range(len(labels))
    return [] if labels in (list(numbers), [f"column_{number}" for number in numbers]) else labels


def row_blocks(matrix: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Return blocks of rows, each with its first row, where a whole-matrix temporary would cost memory."""
    step = max(1, _BLOCK_SCORES // matrix.shape[1])
    return ((first, matrix[first : first + step]) for first in range(0, matrix.shape[0], step))
