"""Columns of tables, whichever library holds them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._labels import as_vector, split_missing
from rankbound.errors import EmptyInputError, InvalidParameterError, InvalidTypeError, ShapeError


def read_columns(table: Any, columns: Sequence[str], *, name: str) -> dict[str, NDArray[Any]]:
    """Return columns of a table as arrays of one length.

    Parameters
    ----------
    table : mapping of str to array_like, or frame
        Arrays by column name, or an eager frame of pandas, polars, pyarrow or another library that narwhals knows.
    columns : sequence of str
        The columns wanted; others are not looked at.
    name : str
        The argument, for messages.

    Returns
    -------
    dict of str to ndarray of shape (n_rows,)
        Without objects, in the order of ``columns``.

    Raises
    ------
    InvalidTypeError
        For what is no table, for mixed types, and for a missing value, naming column and row.
    InvalidParameterError
        If a column is not there.
    ShapeError
        If columns differ in length.
    EmptyInputError
        Without rows.
    """
    frame = None if isinstance(table, Mapping) else _frame(table, name)
    found = list(table) if frame is None else frame.columns
    absent = [column for column in columns if column not in found]
    if absent:
        raise InvalidParameterError(
            f"{name} has no column {', '.join(map(repr, absent))}; its columns are {', '.join(map(repr, found))}"
        )
    arrays = {}
    for column in columns:
        place = f"{name}[{column!r}]"
        given = table[column] if frame is None else _array(frame[column], place)
        values, missing = split_missing(as_vector(given, name=place), name=place)
        if missing.any():
            raise InvalidTypeError(f"{place} has no value at row {int(missing.argmax())}; give every row one")
        arrays[column] = values
    lengths = {column: len(values) for column, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ShapeError(f"{name} has columns of different lengths: {lengths}")
    if not lengths[columns[0]]:
        raise EmptyInputError(f"{name} has no rows")
    return arrays


def as_numbers(values: NDArray[Any], *, name: str) -> NDArray[np.float64]:
    """Return a column as float64.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        From :func:`read_columns`.
    name : str
        The column, for messages.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
        The numbers; not checked for finite values.

    Raises
    ------
    InvalidTypeError
        For what is neither a number nor a boolean.
    """
    if values.dtype.kind not in "fib":
        raise InvalidTypeError(f"{name} must hold numbers, got {values.dtype}")
    return values.astype(np.float64)


def repeated_column(table: Any, name: str) -> InvalidParameterError:
    """Return the error of a frame, of pandas or Arrow, that has a column more than once."""
    columns = Counter(getattr(table, "column_names", None) or table.columns)
    column, count = columns.most_common(1)[0]
    return InvalidParameterError(f"{name} has {count} columns called {column!r}; rename or drop all but one")


def check_width(series: Any, place: str) -> None:
    """Refuse a column of integers for which numpy has no type."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - needed for tables alone

    if series.dtype in (nw.Int128, nw.UInt128):
        raise InvalidTypeError(f"{place} has dtype {series.dtype}; convert it to Int64")


def _frame(table: Any, name: str) -> Any:
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - needed for tables alone
    from narwhals.exceptions import DuplicateError  # noqa: PLC0415 - needed for tables alone

    try:
        return nw.from_native(table, eager_only=True)
    except DuplicateError as error:
        raise repeated_column(table, name) from error
    except TypeError as error:
        raise InvalidTypeError(
            f"{name} must be a mapping of names to arrays or an eager pandas, polars or pyarrow frame, got "
            f"{type(table).__name__}"
        ) from error


def _array(series: Any, place: str) -> NDArray[Any]:
    check_width(series, place)
    # numpy would turn integers beside a gap into floats.
    array: NDArray[Any] = np.array(series.to_list(), dtype=object) if series.is_null().any() else series.to_numpy()
    return array
