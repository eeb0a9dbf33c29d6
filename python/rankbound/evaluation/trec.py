"""Run and qrels files in the formats of TREC."""

import codecs
import gzip
import os
import zlib
from pathlib import Path

from rankbound import _core
from rankbound.errors import FileFormatError
from rankbound.evaluation.ids import Ids
from rankbound.evaluation.tables import Table

_GZIP = b"\x1f\x8b"


def read_trec(path: str | os.PathLike[str], *, value: str, name: str) -> Table:
    """Read a file of lines ``query Q0 item rank score tag`` (run) or ``query iteration item relevance`` (qrels).

    Parameters
    ----------
    path : str or path-like
        The file, plain or compressed by gzip.
    value : {"score", "rank", "relevance"}
        Which number to read; the last makes it qrels.
    name : str
        The argument, for messages.

    Returns
    -------
    Table
        The ids are strings.

    Raises
    ------
    FileFormatError
        If there is no such file or it is damaged, and for a malformed line, naming the file and the line.
    """
    try:
        text = Path(path).read_bytes()
        text = gzip.decompress(text) if text.startswith(_GZIP) else text
        text = text.removeprefix(codecs.BOM_UTF8)
        queries, items, values = _core.read_trec(text, value=value)
    except FileFormatError as error:
        kind = "qrels" if value == "relevance" else "run"
        raise FileFormatError(
            f"{name}: {os.fspath(path)!r} is no TREC {kind} file: {error} (tables of other formats can be passed as "
            "pandas, polars or Arrow tables in Python)"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise FileFormatError(f"{name}: cannot read {os.fspath(path)!r}: {why}") from error
    return Table(Ids(queries), Ids(items), values)
