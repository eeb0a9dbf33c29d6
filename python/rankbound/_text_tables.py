"""Tables of cells as Markdown and HTML, and columns as data frames."""

import math
from collections.abc import Iterable, Mapping
from html import escape
from importlib.util import find_spec
from typing import Any, cast

from rankbound._options import as_choice
from rankbound.errors import MissingDependencyError

BACKENDS = ("pandas", "polars", "pyarrow")
UNDEFINED = "-"
Table = list[list[str]]


def to_native_frame(columns: Mapping[str, list[Any]], backend: str | None) -> Any:
    """Return columns as a data frame.

    Parameters
    ----------
    columns : mapping of str to list
        Columns of equal length.
    backend : {"pandas", "polars", "pyarrow"} or None
        The library of the table; None takes the first that is installed, in this order.

    Returns
    -------
    DataFrame or Table
        Of that library.

    Raises
    ------
    MissingDependencyError
        If the library is not installed.
    InvalidParameterError
        For another backend.
    """
    if backend is None:
        backend = next((name for name in BACKENDS if find_spec(name)), None)
    elif not find_spec(as_choice(backend, BACKENDS, name="backend")):
        raise MissingDependencyError(f"backend={backend!r} needs {backend}: pip install {backend}")
    if backend is None:
        raise MissingDependencyError("to_frame needs one of pandas, polars, pyarrow: pip install pandas")
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - needed for tables alone

    return nw.from_dict(dict(columns), backend=cast("Any", backend)).to_native()


def number(value: float | None, *, sign: str = "", style: str = ".4f") -> str:
    """Return a number in its style; large ones, such as revenues, without; a dash where it is undefined."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{value:{sign}{style}}" if abs(value) < 1000 else f"{value:{sign},.0f}"


def cell(text: str) -> str:
    """Return a text that does not end its cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def markdown_table(table: Table) -> str:
    """Return a table in Markdown; the first row is the head."""
    head, *rows = [[cell(text) for text in row] for row in table]
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def html_list(items: Iterable[str]) -> str:
    """Return texts as an HTML list, escaped."""
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def html_table(table: Table) -> str:
    """Return a table in HTML, escaped; the first row is the head."""
    head, *rows = table
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
