"""Arrays from ``.csv`` files."""

from __future__ import annotations

import csv
import re
from array import array
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankbound.cli.input_errors import choose, fail, own_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# A label like 007 is no integer: it would lose its zeros.
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
# First cells that may well name a column, or be a label of it: only the user knows.
_UNCLEAR = frozenset({"class", "classes", "group", "id", "item", "label", "labels", "target", "user", "user_id", "y"})


def read_matrix(path: str, name: str) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """Read numbers, and the names of their columns if the first line has them.

    Parameters
    ----------
    path, name : str
        The file, and the option that named it.

    Returns
    -------
    matrix : ndarray of shape (n_rows, n_columns)
        The numbers.
    names : ndarray of shape (n_columns,) or None
        The first line, unless it holds numbers. A first line of ``0,1,2,...`` holds names if the next one has a
        fraction: so do data frames write columns that were not named.

    Raises
    ------
    FileFormatError
        Naming the line and the column.
    """
    lines = _read(path, name)
    number, first = next(lines)
    second = next(lines, (0, []))
    names = None
    if _is_header(first, second[1]):
        names = as_labels(first)
        if "" in first:
            why = "is a name that is missing; write the table without its index"
            raise fail(path, name, why, line=number, column=first.index("") + 1)
    cells = array("d")
    for line, row in chain([(number, first)] * (names is None), [second] * bool(second[1]), lines):
        try:
            cells.extend(map(float, row))
            readable = "_" not in "".join(row)  # Python reads 1_0 as ten.
        except ValueError:
            readable = False
        if not readable:
            column = next(place for place, cell in enumerate(row) if not _is_number(cell))
            raise fail(path, name, f"is {row[column]!r}, not a number", line=line, column=column + 1)
    return np.asarray(cells).reshape(-1, len(first)), names


def read_vector(path: str, name: str, *, numeric: bool = False) -> NDArray[Any]:
    """Read one column.

    Parameters
    ----------
    path, name : str
        The file, and the option that named it. Of several columns, the one with the option's name is read.
    numeric : bool, default False
        Whether the column must hold numbers.

    Returns
    -------
    ndarray of shape (n_rows,)
        float64 if ``numeric``, else as :func:`as_labels` returns them. The first line of one column is a header only
        if it is the option's name.

    Raises
    ------
    FileFormatError
        Naming the line and the column. Also for one column whose first line looks like another header: a usual one
        such as ``label``, or the only line that is not a number. Taken for a header, a label would be lost.
    """
    lines = list(_read(path, name))
    first = lines[0][1]
    chosen = first.index(choose(path, name, first, what="column"))
    cells = [row[chosen] for _, row in lines]
    if len(first) > 1 or cells[0].lower() in own_names(name):
        del lines[0], cells[0]
    elif _is_unclear(cells):
        why = (
            f"is {cells[0]!r}: a header or a value? Write {name!r} in its place if it is a header, else on a line of "
            "its own above"
        )
        raise fail(path, name, why, line=lines[0][0])
    if not numeric:
        return as_labels(cells)
    for (line, _), cell in zip(lines, cells, strict=True):
        if not _is_number(cell):
            raise fail(path, name, f"is {cell!r}, not a number", line=line, column=chosen + 1)
    return np.array(cells, dtype=np.float64)


def as_labels(cells: list[str]) -> NDArray[Any]:
    """Return labels as integers if all are, else as strings.

    Parameters
    ----------
    cells : list of str
        The labels; an empty one is missing.

    Returns
    -------
    ndarray of shape (n_cells,)
        int64 or str; objects, with None where a label is missing.

    Examples
    --------
    >>> from rankbound.cli.csv_input import as_labels
    >>> as_labels(["10", "9"])
    array([10,  9])
    >>> as_labels(["010", "9"])
    array(['010', '9'], dtype='<U3')
    """
    integers = all(_INTEGER.fullmatch(cell) and -(2**63) <= int(cell) < 2**63 for cell in cells if cell)
    if "" in cells:
        return np.array([(int(cell) if integers else cell) if cell else None for cell in cells], dtype=object)
    return np.array([int(cell) for cell in cells], dtype=np.int64) if integers else np.array(cells, dtype=np.str_)


def _read(path: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line: at least one line, all equally long."""
    width = blank = 0
    with Path(path).open(encoding="utf-8-sig", newline="") as handle:
        reader = csv.reader(handle, strict=True)
        try:
            for row in reader:
                if not row:
                    blank = blank or reader.line_num
                    continue
                if blank:
                    raise fail(path, name, 'is blank; remove it, or write "" for a missing label', line=blank)
                width = width or len(row)
                if len(row) != width:
                    why = f"has {len(row)} cells, the first line has {width}"
                    raise fail(path, name, why, line=reader.line_num)
                yield reader.line_num, row
        except UnicodeDecodeError as error:
            raise fail(path, name, f"is not text in UTF-8: {error}") from error
        except csv.Error as error:
            raise fail(path, name, f"is truncated or damaged: {error}", line=reader.line_num) from error
    if not width:
        raise fail(path, name, "is empty")


def _is_header(first: list[str], second: list[str]) -> bool:
    if not all(map(_is_number, first)):
        return True
    numbered = first == [str(place) for place in range(len(first))]
    return numbered and not all(map(_INTEGER.fullmatch, second))


def _is_unclear(cells: list[str]) -> bool:
    first, *others = cells
    if not first or _is_number(first):
        return False
    present = [cell for cell in others if cell]
    return first.lower() in _UNCLEAR or (present != [] and all(map(_is_number, present)))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
