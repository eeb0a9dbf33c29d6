"""``rankbound schema``: the JSON schema of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    about = "Print the JSON schema of a report."
    commands.add_parser("schema", help=about, description=about, allow_abbrev=False).set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the schema."""
    from rankbound.report.schema import shipped_schema  # noqa: PLC0415  # other commands do without

    print(shipped_schema(), end="")
    return 0
