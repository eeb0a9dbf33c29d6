"""``rankbound compare``: whether one evaluation beats another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rankbound.cli.input_errors import flag
from rankbound.cli.options import split_labels
from rankbound.cli.output import STANDARD_OUTPUT, check_output, show
from rankbound.cli.wording import worded
from rankbound.errors import InvalidParameterError

if TYPE_CHECKING:
    import argparse

# For messages of the library, which knows its own arguments.
_OPTIONS = {
    name: flag(name)
    for name in (
        "metrics",
        "correction",
        "test_method",
        "alternative",
        "interval_method",
        "looks",
        "confidence_level",
        "n_resamples",
        "seed",
    )
}


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "compare",
        usage="rankbound compare BASELINE CANDIDATE [MORE ...] [options]",
        help="Compare evaluations in pairs: difference, interval, corrected p-value.",
        description="Compare saved evaluations (.npz, .parquet: written by `evaluate --per-user`, `report --per-unit` "
        "or EvaluationResult.save) list by list.",
        allow_abbrev=False,
    )
    parser.add_argument("results", metavar="RESULT", nargs="+", help="two or more; each later one against the first")
    parser.add_argument("--metrics", metavar="KEYS", help="comma-separated; default: all that they share")
    parser.add_argument(
        "--correction", choices=("holm", "bonferroni", "bh", "none"), default="holm", help="default: holm"
    )
    parser.add_argument(
        "--test-method",
        choices=("randomization", "t", "bootstrap"),
        default="randomization",
        help="default: randomization",
    )
    parser.add_argument(
        "--alternative",
        choices=("two-sided", "greater", "less"),
        default="two-sided",
        help="greater looks only for later ones that are better; default: two-sided",
    )
    parser.add_argument(
        "--interval-method",
        choices=("percentile", "bca", "studentized"),
        default="percentile",
        help="default: percentile",
    )
    parser.add_argument(
        "--looks",
        type=int,
        default=1,
        metavar="N",
        help="how often the data will be looked at before a decision; default: 1",
    )
    parser.add_argument("--confidence-level", type=float, default=0.95, metavar="LEVEL", help="default: 0.95")
    parser.add_argument("--n-resamples", type=int, default=10_000, metavar="N", help="default: 10000")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("-o", "--output", metavar="JSON", help="write the comparison; - prints it instead of the table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare and deliver."""
    check_output(args.output, args.results)
    if len(args.results) < 2:
        raise InvalidParameterError("compare needs at least two results: a baseline and a candidate")
    names = [_text(Path(path).stem.removesuffix(".units")) for path in args.results]
    if len(set(names)) < len(names):
        names = list(map(_text, args.results))
    if len(set(map(os.path.realpath, args.results))) < len(names):
        raise InvalidParameterError("compare got the same file twice: a result cannot differ from itself")
    from rankbound import compare_models  # noqa: PLC0415  # bad usage is told at once

    with worded(_OPTIONS):
        report = compare_models(
            dict(zip(names, args.results, strict=True)),
            metrics=None if args.metrics is None else split_labels(args.metrics),
            reference=names[0],
            correction=None if args.correction == "none" else args.correction,
            test_method=args.test_method,
            alternative=args.alternative,
            interval_method=args.interval_method,
            looks=args.looks,
            confidence_level=args.confidence_level,
            n_resamples=args.n_resamples,
            seed=args.seed,
        )
    if args.output == STANDARD_OUTPUT:
        show(report.to_json())
        return 0
    if args.output is not None:
        report.to_json(args.output)
    show(report.to_markdown())
    return 0


def _text(name: str) -> str:
    """Return a file name without the bytes that are no text, which JSON cannot hold."""
    return os.fsencode(name).decode(errors="backslashreplace")
