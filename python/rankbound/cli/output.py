"""Where a report goes: a table on standard output, a file, or JSON on standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rankbound._files import check_target
from rankbound.cli.wording import in_options
from rankbound.errors import FileFormatError
from rankbound.report.render import to_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from rankbound import RankingReport

STANDARD_OUTPUT = "-"


def add_output_option(parser: argparse._ActionsContainer) -> None:
    """Declare ``-o``.

    Parameters
    ----------
    parser : argparse.ArgumentParser or a group of one
        The parser of a subcommand.
    """
    parser.add_argument(
        "-o", "--output", metavar="JSON", help="write the report to this file; - prints it instead of the table"
    )


def check_output(output: str | None, inputs: Iterable[str | None] = (), *, option: str = "-o") -> None:
    """Refuse a file that cannot be written, or that is read, before the work.

    Parameters
    ----------
    output : str or None
        The value of the option.
    inputs : iterable of str or None, default ()
        The files that are read.
    option : str, default "-o"
        The option, for messages.

    Raises
    ------
    FileFormatError
        If its folder does not exist or is read-only, it is a folder itself, or one of the inputs.
    """
    if output is None or output == STANDARD_OUTPUT:
        return
    target = check_target(output)
    for path in inputs:
        if path is not None and target.is_file() and Path(path).exists() and target.samefile(path):
            raise FileFormatError(f"{option} {output!r} is the file that is read as {path!r}: give it another name")


def check_sidecar(path: str, others: Iterable[str | None], *, option: str = "--per-unit") -> None:
    """Refuse a file for values per list that has no known suffix or cannot be written, before the work.

    Parameters
    ----------
    path : str
        The value of the option.
    others : iterable of str or None
        The other files of the command.
    option : str, default "--per-unit"
        The option, for messages.

    Raises
    ------
    FileFormatError
        If so, or if it is one of the others.
    """
    if Path(path).suffix.lower() not in (".npz", ".parquet"):
        raise FileFormatError(f"{option} {path!r} must end in .npz or .parquet, which says how it is written")
    target = check_target(path)
    for other in others:
        if other not in (None, STANDARD_OUTPUT) and Path(other).resolve() == target:
            raise FileFormatError(f"{option} {path!r} is another file of this command: give it another name")


def deliver(
    report: RankingReport, output: str | None, *, hint: str = "", options: Mapping[str, str] | None = None
) -> None:
    """Write the report's file, if any, and print its table, or its JSON.

    Parameters
    ----------
    report : RankingReport
        The report.
    output : str or None
        The value of ``-o``.
    hint : str, default ""
        Printed after the table where no file was written.
    options : mapping of str to str or None, default None
        The option of each argument, for the warnings below the table.

    Raises
    ------
    FileFormatError
        If the file cannot be written; nothing is printed then.
    """
    if output == STANDARD_OUTPUT:
        show(report.to_json())
        return
    if output is not None:
        report.to_json(output)
    warnings = [in_options(warning, options) if options else warning for warning in report["warnings"]]
    show(to_text({**report, "warnings": warnings}))
    if output is not None:
        show(f"\nwritten: {output}")
    elif hint:
        show(f"\n{hint}")


def show(text: str) -> None:
    """Print a text: what the terminal's encoding has, and the rest escaped.

    Parameters
    ----------
    text : str
        Lines, of which the last needs no end.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.removesuffix("\n").encode(encoding, "backslashreplace").decode(encoding))
