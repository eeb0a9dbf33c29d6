"""``rankbound gate``: judge whether a candidate may ship."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rankbound._files import atomic_write, check_target
from rankbound.cli.input_errors import flag
from rankbound.cli.output import check_output, show
from rankbound.cli.wording import in_options, worded
from rankbound.errors import FileFormatError

if TYPE_CHECKING:
    import argparse

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
# For messages of the library, which knows its own arguments.
_OPTIONS = {"candidate": "CANDIDATE", **{name: flag(name) for name in ("against", "candidate_units", "against_units")}}


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "gate",
        usage="rankbound gate CANDIDATE [--against INCUMBENT] --policy TOML [options]",
        help="Judge a report or an evaluation by a policy; the exit code says whether it may ship.",
        description="Judge a report (.json) or an evaluation (.npz, .parquet) by the rules of a policy, a line each.",
        epilog="Exit codes: 0 every rule holds, 1 a rule fails, 2 something cannot be judged. Values per unit are "
        f"looked for beside a report, as NAME.units.parquet or NAME.units.npz. With {SUMMARY_VARIABLE} set and no "
        "--markdown, the table is appended to the job's summary.",
        allow_abbrev=False,
    )
    parser.add_argument("candidate", metavar="CANDIDATE", help="what may ship")
    parser.add_argument("--against", metavar="INCUMBENT", help="what it would replace")
    parser.add_argument("--policy", metavar="TOML", required=True, help="the rules")
    parser.add_argument("--candidate-units", metavar="FILE", help="values per unit of the candidate")
    parser.add_argument("--against-units", metavar="FILE", help="values per unit of the incumbent")
    parser.add_argument("--junit", metavar="XML", help="write JUnit XML")
    parser.add_argument("--markdown", metavar="MD", help="write a Markdown table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge, print and return the exit code."""
    read = [args.candidate, args.against, args.policy, args.candidate_units, args.against_units]
    check_output(args.junit, read, option="--junit")
    check_output(args.markdown, read, option="--markdown")
    if (
        args.junit is not None
        and args.markdown is not None
        and Path(args.junit).resolve() == Path(args.markdown).resolve()
    ):
        raise FileFormatError(f"--markdown {args.markdown!r} is the file of --junit: give it another name")
    summary = os.environ.get(SUMMARY_VARIABLE) if args.markdown is None else None
    if summary:
        try:
            check_target(summary)
        except FileFormatError as error:
            raise FileFormatError(f"{SUMMARY_VARIABLE}: {error}, or unset the variable") from error
        if Path(summary).exists() and not os.access(summary, os.W_OK):
            raise FileFormatError(f"{SUMMARY_VARIABLE}: {summary!r} is read-only: allow writing, or unset the variable")
    from rankbound.gate import run_gate  # noqa: PLC0415  # bad usage is told at once

    with worded(_OPTIONS):
        result = run_gate(
            args.candidate,
            policy=args.policy,
            against=args.against,
            candidate_units=args.candidate_units,
            against_units=args.against_units,
        )
    show(in_options(result.to_text(), _OPTIONS))
    for target, text in ((args.junit, result.to_junit()), (args.markdown, result.to_markdown())):
        if target is not None:
            with atomic_write(target) as file:
                file.write(in_options(text, _OPTIONS).encode())
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(in_options(result.to_markdown(), _OPTIONS))
    return result.exit_code
