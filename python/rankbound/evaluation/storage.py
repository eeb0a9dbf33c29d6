"""Results as files: one table of values and a JSON header, without pickle."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._digest import digest, hash_of
from rankbound._files import UNREADABLE, as_path, atomic_write, open_npz, why_unreadable
from rankbound.errors import FileFormatError, InvalidTypeError, MissingDependencyError, RankboundError
from rankbound.evaluation.ids import as_tabled
from rankbound.evaluation.result import PLAIN_FIELDS, EvaluationResult

FORMAT = "rankbound-evaluation"
SCHEMA_VERSION = 1
# In Parquet, metadata of the table, and of each column, whose type need not tell the dtype in numpy.
_HEADER = "rankbound"
_DTYPE = "numpy"


def save(result: EvaluationResult, path: str | os.PathLike[str]) -> None:
    """Do what :meth:`EvaluationResult.save` describes."""
    suffix = _suffix(path, "which says how it is written")
    columns = result.columns() if result.has_per_user else {}
    if any(column.dtype.kind == "O" for column in columns.values()):
        raise InvalidTypeError("sample_ids are Python objects; use integers or strings to save the result")
    try:
        document = json.loads(
            json.dumps(
                {"format": FORMAT, "schema": SCHEMA_VERSION, "columns": list(columns) if columns else None}
                | {name: getattr(result, name) for name in PLAIN_FIELDS},
                default=_plain,
            )
        )
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            f"the result cannot be written as JSON ({error}); keep metadata to plain values"
        ) from error
    try:
        content_hash = _hash(document, list(columns.values()))
    except UnicodeEncodeError as error:
        raise InvalidTypeError(
            f"sample_ids has {error.object!r}, half a character, which UTF-8 cannot hold; repair it"
        ) from error
    header = json.dumps(document | {"hash": content_hash})
    if suffix == ".npz":
        # Numbered, because a key may hold what a file name may not.
        arrays: dict[str, Any] = {f"column_{at}": column for at, column in enumerate(columns.values())}
        text = np.frombuffer(header.encode(), dtype=np.uint8)
        with atomic_write(path) as handle:
            np.savez_compressed(handle, header=text, **arrays)
        return
    _, parquet = _pyarrow()
    table = _as_table(columns, header)
    with atomic_write(path) as handle:
        parquet.write_table(table, handle)


def load(path: str | os.PathLike[str]) -> EvaluationResult:
    """Do what :meth:`EvaluationResult.load` describes."""
    read = _read_npz if _suffix(path, "a saved evaluation ends in one of them") == ".npz" else _read_parquet
    name = os.fspath(path)
    try:
        header, columns = read(Path(path))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError("it is of another format")
        schema, names, stored_hash = header["schema"], header["columns"], header.pop("hash")
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no file {name!r}; write it with result.save(path)") from error
    except RankboundError:
        raise
    except UNREADABLE as error:
        raise FileFormatError(
            f"{name!r} is no saved evaluation, or damaged ({why_unreadable(error)}); save it again"
        ) from error
    if schema != SCHEMA_VERSION:
        raise FileFormatError(
            f"{name!r} has schema version {schema}, this rankbound reads {SCHEMA_VERSION}; save it again"
        )
    try:
        fields = {name: header[name] for name in PLAIN_FIELDS}
        debug = fields.pop("debug_rows")
        if len(names or []) != len(columns):
            raise ValueError(f"it names {len(names or [])} columns, but holds {len(columns)}")
        per_user = dict(zip(names or [], columns, strict=True))
        result = EvaluationResult(
            **fields,
            debug_rows=None if debug is None else tuple(debug),
            sample_ids=per_user.pop("sample_id") if names else None,
            per_user=per_user if names else None,
        )
    except (RankboundError, *UNREADABLE) as error:
        raise FileFormatError(f"{name!r} is damaged ({why_unreadable(error)}); save the result again") from error
    if stored_hash != _hash(header, columns):
        raise FileFormatError(f"{name!r} was changed after it was saved; save the result again")
    return result


def _hash(header: dict[str, Any], columns: list[NDArray[Any]]) -> str:
    return hash_of([header, digest(*columns)])


def _suffix(path: str | os.PathLike[str], why: str) -> str:
    suffix = as_path(path).suffix.lower()
    if suffix not in (".npz", ".parquet"):
        raise FileFormatError(f"{os.fspath(path)!r} must end in .npz or .parquet: {why}")
    return suffix


def _read_npz(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    with open_npz(path) as archive:
        if "header" not in archive.files:
            raise ValueError(f"it holds other arrays: {', '.join(archive.files[:5])}")
        header = json.loads(archive["header"].tobytes())
        columns = [f"column_{at}" for at in range(len(archive.files) - 1)]
        odd = sorted(set(archive.files) - {"header", *columns})
        if odd:
            raise ValueError(f"it holds an array {odd[0]!r}, which is none of its own")
        return header, [archive[column] for column in columns]


def _as_table(columns: dict[str, NDArray[Any]], header: str) -> Any:
    """Return a table of Arrow whose metadata say what the types of its columns do not."""
    pyarrow, _ = _pyarrow()
    arrays, fields = [], []
    for name, column in columns.items():
        arrays.append(pyarrow.array(as_tabled(column, otherwise="use .npz") if name == "sample_id" else column))
        # Without the width of texts, which the longest has anyway.
        dtype = column.dtype.kind if column.dtype.kind in "US" else column.dtype.str
        fields.append(pyarrow.field(name, arrays[-1].type, metadata={_DTYPE: dtype}))
    return pyarrow.table(arrays, schema=pyarrow.schema(fields, metadata={_HEADER: header}))


def _read_parquet(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    _, parquet = _pyarrow()
    with path.open("rb") as handle:
        table = parquet.read_table(handle)
    metadata = table.schema.metadata or {}
    if _HEADER.encode() not in metadata:
        raise ValueError(f"it is another table, of the columns {', '.join(table.column_names[:5])}")
    header = json.loads(metadata[_HEADER.encode()])
    columns = [
        column.to_numpy().astype(field.metadata[_DTYPE.encode()].decode())
        for column, field in zip(table.columns, table.schema, strict=True)
    ]
    return header, columns


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow: pip install 'rankbound[parquet]', or use .npz"
        ) from error
    return pa, parquet


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a plain value")
