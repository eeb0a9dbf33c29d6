"""Arrays from ``.parquet`` files: importing this module needs pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pyarrow import types
from pyarrow.parquet import ParquetFile

from rankbound.cli.csv_input import as_labels
from rankbound.cli.input_errors import choose, fail

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_matrix(path: str, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read numbers and the names of their columns.

    Parameters
    ----------
    path, name : str
        The file, and the option that named it.

    Returns
    -------
    matrix : ndarray of shape (n_rows, n_columns)
        Of the dtype that holds every column's.
    names : ndarray of shape (n_columns,)
        int64 if all names are integers, else str.

    Raises
    ------
    FileFormatError
        For a column that holds no numbers, has missing ones, or is a data frame's index.
    """
    with ParquetFile(path, memory_map=True) as file:
        schema = file.schema_arrow
        for index in (schema.pandas_metadata or {}).get("index_columns", []):
            if isinstance(index, str):
                raise fail(path, name, f"holds a data frame's index as the column {index!r}; write it with index=False")
        for field in schema:
            if not (types.is_floating(field.type) or types.is_integer(field.type)):
                raise fail(path, name, f"has {field.type} in the column {field.name!r}; it must hold numbers")
        if not schema.names:
            raise fail(path, name, "holds no column")
        dtype = np.result_type(*(field.type.to_pandas_dtype() for field in schema))
        matrix = np.empty((file.metadata.num_rows, len(schema)), dtype=dtype)
        start = 0
        for batch in file.iter_batches():
            for place, column in enumerate(batch.columns):
                if column.null_count:
                    row = start + column.is_null().to_pylist().index(True)
                    raise fail(path, name, f"has no value in the column {schema.names[place]!r}, row {row}")
                matrix[start : start + len(batch), place] = column.to_numpy(zero_copy_only=False)
            start += len(batch)
    return matrix, as_labels(schema.names)


def read_vector(path: str, name: str) -> NDArray[Any]:
    """Read one column.

    Parameters
    ----------
    path, name : str
        The file, and the option that named it. Of several columns, the one with the option's name is read.

    Returns
    -------
    ndarray of shape (n_rows,)
        Integers, floats or strings as they are stored; objects, with None, where some are missing.

    Raises
    ------
    FileFormatError
        If it is not clear which column is meant.
    """
    with ParquetFile(path, memory_map=True) as file:
        wanted = choose(path, name, file.schema_arrow.names, what="column")
        column = file.read(columns=[wanted]).column(wanted)
    if types.is_temporal(column.type) and not column.null_count:
        moments: NDArray[Any] = column.to_numpy()
        return moments
    return np.array(column.to_pylist(), dtype=object if column.null_count else None)
