"""Class ids and labels: from what users hold to column indices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._validation import as_numpy
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    InvalidParameterError,
    InvalidTypeError,
    ShapeError,
    UnknownLabelError,
)

UNSEEN = -1
NO_TRUTH = -2
_KINDS = {"i": "integers", "U": "strings", "S": "bytes", "f": "floats", "b": "booleans", "M": "dates", "m": "durations"}


def as_class_ids(classes: Any, n_classes: int | None = None, *, name: str = "classes") -> NDArray[Any]:
    """Return the ids of the columns as a one-dimensional array without objects.

    Parameters
    ----------
    classes : array_like of shape (n_classes,)
        Distinct ids of one kind: integers, strings, bytes, dates, ...
    n_classes : int or None, default None
        The number of columns there must be, if known.
    name : str, default "classes"
        The argument, for messages.

    Returns
    -------
    ndarray of shape (n_classes,)
        Integers become int64.

    Raises
    ------
    InvalidTypeError
        For mixed or missing ids.
    ShapeError
        For more than one dimension, or another number of ids than columns.
    EmptyInputError
        Without any id.
    DuplicateItemError
        Naming the id that occurs twice.
    """
    ids, missing = split_missing(as_vector(classes, name=name), name=name)
    if missing.any():
        raise InvalidTypeError(f"{name} has no id at position {int(missing.argmax())}; name every column")
    if len(ids) == 0:
        raise EmptyInputError(f"{name} is empty: there is nothing to rank")
    if n_classes is not None and len(ids) != n_classes:
        raise ShapeError(f"{name} has {len(ids)} ids for {n_classes} columns; give one id per column, in their order")
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if len(twice):
        first, second = order[twice[0]], order[twice[0] + 1]
        raise DuplicateItemError(
            f"{name} has {show(ids[first])} at positions {first} and {second}; name each class once"
        )
    return ids


def label_indices(
    y: Any, classes: Any, n_classes: int | None, *, name: str = "y_true", classes_name: str = "classes"
) -> NDArray[np.int64]:
    """Return the column index of each label.

    Parameters
    ----------
    y : array_like of shape (n_rows,)
        With ``classes``, labels of the same kind. Without, column indices: integers, or floats with integer values;
        -1 means a label that has no column. None, NaN, NaT and ``pandas.NA`` mean that a row has no truth.
    classes : array_like of shape (n_classes,) or None
        Ids of the columns.
    n_classes : int or None
        Number of columns; needed without ``classes``.
    name, classes_name : str
        The arguments, for messages.

    Returns
    -------
    ndarray of shape (n_rows,), dtype int64
        Column indices; -1 for labels without a column, -2 for rows without truth.

    Raises
    ------
    UnknownLabelError
        For an index outside -1..n_classes-1 or a fractional one, naming the row and the value.
    InvalidTypeError
        For booleans, objects of mixed kinds, and labels of another kind than the classes.
    ShapeError, EmptyInputError, DuplicateItemError
        As in :func:`as_class_ids`.
    """
    values, missing = split_missing(as_vector(y, name=name), name=name)
    if classes is None:
        if n_classes is None:
            raise InvalidParameterError(f"{name} cannot be read without the classes: pass classes= or n_classes=")
        indices = _as_indices(values, missing, n_classes, name)
    else:
        indices = _find(values, missing, as_class_ids(classes, n_classes, name=classes_name), name, classes_name)
    indices[missing] = NO_TRUTH
    return indices


def show(item: Any) -> str:
    """Return an item of a label array as a user would write it."""
    return str(item) if isinstance(item, (np.datetime64, np.timedelta64)) else repr(item.item())


def describe_kind(array: NDArray[Any]) -> str:
    """Return the kind of an array's items in words."""
    return _KINDS.get(array.dtype.kind, str(array.dtype))


def as_vector(y: Any, *, name: str) -> NDArray[Any]:
    # Through objects, because numpy would turn ["a", nan] into strings.
    array = np.array(y, dtype=object) if isinstance(y, (list, tuple, range)) else as_numpy(y, name=name)
    if array.ndim != 1:
        raise ShapeError(f"{name} has {array.ndim} dimension(s), shape {array.shape}; it must have one")
    return array


def split_missing(array: NDArray[Any], *, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return values without objects (anything where missing), and which are missing."""
    kind = array.dtype.kind
    if kind in "OT":
        return _from_objects(array.astype(object), name)
    if kind == "f":
        return array, np.isnan(array)
    if kind in "mM":
        return array, np.isnat(array)
    if kind == "u":
        if array.dtype.itemsize == 8 and array.size and array.max() > np.iinfo(np.int64).max:
            row = int(array.argmax())
            raise InvalidTypeError(f"{name} has {array[row]} at position {row}, beyond 2^63; use other ids")
        kind = "i"
    if kind not in _KINDS:
        raise InvalidTypeError(f"{name} has dtype {array.dtype}; use integers, strings or another plain dtype")
    values = array.astype(np.int64, copy=False) if kind == "i" else array
    return values, np.zeros(len(array), dtype=np.bool_)


def _from_objects(array: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    missing = np.fromiter((_is_missing(value) for value in array), dtype=np.bool_, count=len(array))
    kinds = [_object_kind(value) for value in array[~missing]]
    found = set(kinds)
    if found == {"i", "f"}:
        found = {"f"}
    if len(found) > 1 or "" in found:
        odd = next(place for place, kind in enumerate(kinds) if kind != kinds[0] or not kind)
        row = int(np.flatnonzero(~missing)[odd])
        raise InvalidTypeError(
            f"{name} has {array[row]!r} ({type(array[row]).__name__}) at position {row}: all must be integers, or all "
            "strings, or of another plain dtype"
        )
    dtype: Any = {"i": np.int64, "f": np.float64, "U": np.str_, "S": np.bytes_, "b": np.bool_}[
        found.pop() if found else "i"
    ]
    try:
        present: NDArray[Any] = array[~missing].astype(dtype)
    except OverflowError as error:
        row = next(int(row) for row in np.flatnonzero(~missing) if not -(2**63) <= array[row] < 2**63)
        raise InvalidTypeError(
            f"{name} has {array[row]} at position {row}, beyond 64 bits; use smaller integers or strings as ids"
        ) from error
    if present.dtype.kind in "US":
        cut = np.fromiter(map(len, array[~missing]), dtype=np.int64) != np.strings.str_len(present)
        if cut.any():
            row = int(np.flatnonzero(~missing)[cut.argmax()])
            raise InvalidTypeError(
                f"{name} has {array[row]!r} at position {row}, which ends in a NUL that numpy would drop; rename it"
            )
    values = np.zeros(len(array), dtype=present.dtype)
    values[~missing] = present
    return values, missing


def _is_missing(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def _object_kind(value: Any) -> str:
    kinds = (
        ((bool, np.bool_), "b"),
        ((int, np.integer), "i"),
        ((float, np.floating), "f"),
        (str, "U"),
        (bytes, "S"),
    )
    return next((kind for types, kind in kinds if isinstance(value, types)), "")


def _integral(values: NDArray[Any], missing: NDArray[np.bool_], name: str) -> NDArray[np.int64]:
    """Return floats with integer values as integers; 0 where missing."""
    filled = np.where(missing, 0, values)
    wrong = ~((np.abs(filled) < 2.0**53) & (filled == np.floor(filled)))
    if wrong.any():
        row = int(wrong.argmax())
        raise UnknownLabelError(
            f"{name} has {filled[row]} at row {row}, which is no integer below 2^53, where floats are exact; pass an "
            "integer dtype (pandas: Int64)"
        )
    return filled.astype(np.int64)


def _as_indices(values: NDArray[Any], missing: NDArray[np.bool_], n_classes: int, name: str) -> NDArray[np.int64]:
    if values.dtype.kind not in "if":
        raise InvalidTypeError(
            f"{name} holds {describe_kind(values)}, but without classes= it must hold column indices; pass classes="
        )
    indices = _integral(values, missing, name) if values.dtype.kind == "f" else values.copy()
    wrong = ((indices < UNSEEN) | (indices >= n_classes)) & ~missing
    if wrong.any():
        row = int(wrong.argmax())
        raise UnknownLabelError(
            f"{name} has {indices[row]} at row {row}: column indices go from 0 to {n_classes - 1}, and -1 means a "
            "label without a column; for labels that are not indices pass classes="
        )
    return indices


def _find(
    values: NDArray[Any], missing: NDArray[np.bool_], ids: NDArray[Any], name: str, classes_name: str
) -> NDArray[np.int64]:
    if missing.all():
        return np.full(len(values), NO_TRUTH, dtype=np.int64)
    if values.dtype.kind == "f" and ids.dtype.kind == "i":
        values = _integral(values, missing, name)
    if values.dtype.kind != ids.dtype.kind:
        raise InvalidTypeError(
            f"{name} holds {describe_kind(values)}, but {classes_name} holds {describe_kind(ids)}; convert one to the "
            "other"
        )
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    position = np.searchsorted(ordered, values).clip(max=len(ids) - 1)
    return np.where(ordered[position] == values, order[position], UNSEEN).astype(np.int64)
