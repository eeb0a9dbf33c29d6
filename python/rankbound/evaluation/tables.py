"""Runs and qrels as long tables, whichever library holds them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._tables import check_width, repeated_column
from rankbound._validation import MAX_EXACT_INTEGER
from rankbound.errors import InvalidParameterError, InvalidTypeError, MissingDependencyError
from rankbound.evaluation.ids import Ids, as_ids

# Names that other tools give to the columns.
ALIASES = {
    "query": ("query", "query_id", "qid", "q_id", "user", "user_id"),
    "item": ("item", "item_id", "doc", "doc_id", "docid", "docno"),
    "score": ("score",),
    "rank": ("rank",),
    "relevance": ("relevance", "rel", "grade", "label", "target"),
}
_ARROW_BACKENDS = ("pyarrow", "polars", "pandas")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a run or of qrels: query, item, and score, rank or relevance; and the columns that a table had."""

    queries: Ids
    items: Ids
    values: NDArray[Any]
    columns: tuple[str, ...] = ()


def as_columns(columns: Any) -> Mapping[str, str]:
    """Return which names the columns have, checked; None is empty."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns.values()):
        raise InvalidTypeError(f"columns must map {', '.join(map(repr, ALIASES))} to column names, got {columns!r}")
    for key in columns:
        if key not in ALIASES:
            raise InvalidParameterError(f"columns has {key!r}; it can name {', '.join(map(repr, ALIASES))}")
    return columns


def read_table(data: Any, *, value: str, columns: Mapping[str, str], name: str) -> Table:
    """Read a run or qrels of any form.

    Parameters
    ----------
    data : table, mapping of mappings, str or path-like
        As in :func:`rankbound.evaluate_run`.
    value : {"score", "rank", "relevance"}
        The number to read.
    columns : mapping of str to str
        Names of columns, from :func:`as_columns`.
    name : str
        The argument, for messages.

    Returns
    -------
    Table
        Values are not checked.

    Raises
    ------
    InvalidTypeError
        For what is no table, ids of different kinds, missing ids, and values that are no numbers.
    InvalidParameterError
        If a column is not there, or it is not clear which one is meant.
    FileFormatError
        For a file that cannot be read.
    """
    if isinstance(data, (str, os.PathLike)):
        from rankbound.evaluation.trec import read_trec  # noqa: PLC0415 - makes the tables of this module

        return read_trec(data, value=value, name=name)
    if isinstance(data, Mapping):
        return _from_dicts(data, value, name)
    frame = _frame(data, name)
    chosen = {field: _choose(frame.columns, field, columns, name) for field in ("query", "item", value)}
    places = {field: f"{name}[{column!r}]" for field, column in chosen.items()}
    for field, place in places.items():
        check_width(frame[chosen[field]], place)
    return Table(
        _ids(frame[chosen["query"]], places["query"]),
        _ids(frame[chosen["item"]], places["item"]),
        _numbers(frame[chosen[value]].to_numpy(), value, places[value], lambda row: f"at row {row}"),
        tuple(frame.columns),
    )


def _from_dicts(data: Mapping[Any, Any], value: str, name: str) -> Table:
    if value == "rank":
        raise InvalidParameterError(f"{name} is a mapping, which has no rank column; use tie_break='expected'")
    for query, of_query in data.items():
        if not isinstance(of_query, Mapping):
            raise InvalidTypeError(
                f"{name} must map each query to a mapping of items to numbers, got {type(of_query).__name__} for "
                f"{query!r}; pass a table of columns as a pandas, polars or Arrow table"
            )
    rows = [(query, item, number) for query, of_query in data.items() for item, number in of_query.items()]
    if value == "relevance" and rows:
        # A query without items has no relevant one; any item that is judged not relevant says the same.
        rows += [(query, rows[0][1], 0) for query, of_query in data.items() if not of_query]
    queries, items, numbers = zip(*rows, strict=True) if rows else ((), (), ())
    query_ids, item_ids = as_ids(queries, name=f"{name} (queries)"), as_ids(items, name=f"{name} (items)")

    def where(row: int) -> str:
        return f"for item {item_ids.show(row)} of query {query_ids.show(row)}"

    array = _vector(numbers)
    if array.dtype.kind in "fiu":
        # What they were does not show in the array: beside a float they became floats.
        for row, number in enumerate(numbers):
            if type(number) is int and abs(number) > MAX_EXACT_INTEGER:
                raise InvalidTypeError(
                    f"{name} has {number} {where(row)}: integers beyond 2^53 merge as floats; rescale them"
                )
            if type(number) is bool and value != "relevance":
                raise InvalidTypeError(f"{name} has {number} {where(row)}: a {value} is a number; convert it")
    return Table(query_ids, item_ids, _numbers(array, value, name, where))


def _vector(numbers: tuple[Any, ...]) -> NDArray[Any]:
    """Return what should be numbers as they are, where numpy would make texts of them, or a matrix."""
    try:
        array = np.array(numbers)
    except ValueError:
        array = np.empty((0, 0))
    plain = array.ndim == 1 and array.dtype.kind in "fiub"
    return array if plain else np.fromiter(numbers, dtype=object, count=len(numbers))


def _frame(data: Any, name: str) -> Any:
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - needed for tables alone
    from narwhals.exceptions import DuplicateError  # noqa: PLC0415 - needed for tables alone

    try:
        frame = nw.from_native(data)
    except DuplicateError as error:
        raise repeated_column(data, name) from error
    except TypeError as error:
        if nw.dependencies.is_into_series(data) or not hasattr(data, "__arrow_c_stream__"):
            raise InvalidTypeError(
                f"{name} must be a pandas, polars or Arrow table, a mapping of mappings, or the path of a TREC file, "
                f"got {type(data).__name__}"
            ) from error
        backend: Any = next((backend for backend in _ARROW_BACKENDS if find_spec(backend)), None)
        if backend is None:
            raise MissingDependencyError(
                f"{name} is an Arrow table, which needs pyarrow: pip install pyarrow"
            ) from None
        try:
            return nw.from_arrow(data, backend=backend)
        except Exception as unreadable:
            # Each library has errors of its own.
            raise InvalidTypeError(
                f"{name} cannot be read as an Arrow table of columns ({type(unreadable).__name__}: {unreadable})"
            ) from unreadable
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _choose(found: list[str], field: str, columns: Mapping[str, str], name: str) -> str:
    if columns.get(field) in found:
        return columns[field]
    if field in columns and field not in ("query", "item"):
        raise InvalidParameterError(
            f"{name} has no column {columns[field]!r}, which columns= names as the {field}; it has "
            f"{', '.join(map(repr, found))}"
        )
    candidates = [alias for alias in ALIASES[field] if alias in found]
    if len(candidates) == 1:
        return candidates[0]
    listed = ", ".join(map(repr, found))
    if candidates:
        raise InvalidParameterError(
            f"{name} has {len(candidates)} columns that could be the {field}, {', '.join(map(repr, candidates))}: "
            f"leave all but one out (or pass columns={{{field!r}: ...}} in Python)"
        )
    hint = "; or pass tie_break='rank_column'" if field == "score" and "rank" in found else ""
    raise InvalidParameterError(
        f"{name} has no column for the {field} among {listed}: name it one of {', '.join(map(repr, ALIASES[field]))} "
        f"(or pass columns={{{field!r}: ...}} in Python){hint}"
    )


def _ids(series: Any, place: str) -> Ids:
    objects = _objects(series)
    texts = None if objects is None else _core.join_texts(objects)
    if texts is not None:
        return Ids(texts)
    if series.null_count():
        raise _no_id(place, int(series.is_null().to_numpy().argmax()))
    if series.dtype.is_integer():
        return Ids(_integers(series.to_numpy(), place))
    found = None
    if objects is None:
        found = _from_arrow(series, place) if find_spec("pyarrow") else _from_polars(series)
    return as_ids(series.to_list(), name=place) if found is None else found


def _no_id(place: str, row: int) -> InvalidTypeError:
    return InvalidTypeError(f"{place} has no id at row {row}; give every row one")


def _objects(series: Any) -> NDArray[Any] | None:
    """Return the Python objects that a column of pandas consists of, if it does."""
    if not series.implementation.is_pandas():
        return None
    native = series.to_native()
    dtype = native.cat.categories.dtype if native.dtype.name == "category" else native.dtype
    if dtype.kind != "O" or getattr(dtype, "storage", "python") != "python":
        return None
    return np.ascontiguousarray(native.to_numpy())


def _from_arrow(series: Any, place: str) -> Ids | None:
    """Return texts, or categories that are texts or integers, from the buffers of Arrow; None for anything else."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - needed for tables alone
    import pyarrow as pa  # noqa: PLC0415 - an extra
    from pyarrow import compute  # noqa: PLC0415 - an extra

    if series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    if series.implementation.is_polars() and series.dtype == nw.String:
        from polars import CompatLevel  # noqa: PLC0415 - the column is of polars

        # As they are: the default is a copy.
        column = series.to_native().to_arrow(compat_level=CompatLevel.newest())
    else:
        # Dictionaries that differ by chunk cannot always be joined.
        column = series.to_native() if series.implementation.is_pyarrow() else series.to_arrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
        if column.null_count:
            # The dictionary has it, not the rows.
            raise _no_id(place, compute.index(column.is_null(), True).as_py())
    if pa.types.is_integer(column.type):
        return Ids(_integers(column.to_numpy(), place))
    are_views = pa.types.is_string_view(column.type)
    if not (are_views or pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    column = column if are_views else column.cast(pa.large_string())
    if isinstance(column, pa.ChunkedArray):
        # To combine one chunk is to copy it.
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    _, *buffers = map(_bytes, column.buffers())
    if are_views:
        return Ids((buffers[0][16 * column.offset :][: 16 * len(column)], buffers[1:]))
    return Ids((buffers[1], buffers[0].view(np.int64)[column.offset :][: len(column) + 1]))


def _bytes(buffer: Any) -> NDArray[np.uint8]:
    return np.frombuffer(buffer or b"", dtype=np.uint8)


def _from_polars(series: Any) -> Ids | None:
    """Return texts, or categories, of polars joined into one; None for anything else."""
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - needed for tables alone

    if not series.implementation.is_polars() or series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    column = series.cast(nw.String).to_native()
    starts = np.concatenate([[0], np.cumsum(column.str.len_bytes().to_numpy(), dtype=np.int64)])
    # No text of polars is longer.
    if starts[-1] >= 2**32:
        return None
    return Ids((np.frombuffer(column.str.join().item().encode(), dtype=np.uint8), starts))


def _integers(array: NDArray[Any], place: str) -> NDArray[Any]:
    if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
        raise InvalidTypeError(f"{place} has {array.max()}, beyond 2^63; convert the ids to strings")
    narrow = array.dtype.itemsize <= 4 and array.dtype != np.uint32
    return np.ascontiguousarray(array, dtype=np.int32 if narrow else np.int64)


def _reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) < 2**63
    return isinstance(value, (float, np.integer, np.floating))


def _numbers(array: NDArray[Any], value: str, place: str, where: Callable[[int], str]) -> NDArray[Any]:
    if not array.size:
        # Whatever a table takes for the type of a column without rows.
        return np.empty(0)
    kind = array.dtype.kind
    if not (kind in "fiu" or (kind == "b" and value == "relevance")) or array.dtype.char == "g":
        listed = array.tolist()
        # A file's column is text because of what cannot be read as a number.
        odd = next(
            (row for fits in (_reads_as_number, _is_number) for row, of in enumerate(listed) if not fits(of)), None
        )
        found = f"holds {array.dtype}" if odd is None else f"has {listed[odd]!r} {where(odd)}"
        raise InvalidTypeError(
            f"{place} {found}; it must hold numbers, each the {value} of an item: integers or floats of at most 64 bits"
        )
    if kind in "iu" and array.dtype.itemsize == 8:
        wrong = (array > MAX_EXACT_INTEGER) | (array < -MAX_EXACT_INTEGER if kind == "i" else False)
        if wrong.any():
            row = int(wrong.argmax())
            raise InvalidTypeError(
                f"{place} has {array[row]} {where(row)}: integers beyond 2^53 merge as floats; rescale them"
            )
    # float32 holds them exactly.
    narrow = array.dtype.itemsize <= (4 if kind == "f" else 2)
    return np.ascontiguousarray(array, dtype=np.float32 if narrow else np.float64)
