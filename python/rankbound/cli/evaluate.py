"""``rankbound evaluate``: measure a run against relevance judgements."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankbound._files import atomic_write
from rankbound.cli.input_errors import fail, flag
from rankbound.cli.options import split_labels
from rankbound.cli.output import STANDARD_OUTPUT, check_output, check_sidecar, show
from rankbound.cli.wording import worded
from rankbound.errors import MissingDependencyError

if TYPE_CHECKING:
    import argparse

    from rankbound import EvaluationResult

# For messages of the library, which knows its own arguments.
_OPTIONS = {name: flag(name) for name in ("run", "qrels", "metrics", "tie_break", "item_ids")}
DEFAULT_METRICS = "ndcg@10,map@100,mrr@10,recall@100,precision@10"


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "evaluate",
        usage="rankbound evaluate --run FILE --qrels FILE [options]",
        help="Measure a run, what was retrieved for each query, against relevance judgements.",
        description="Measure a run against relevance judgements: print the metrics with what ties leave open.",
        epilog="Files are TREC files, plain or .gz, or tables: .parquet, .csv, .tsv.",
        allow_abbrev=False,
    )
    parser.add_argument("--run", metavar="FILE", required=True, dest="run_file", help="query, item and score or rank")
    parser.add_argument("--qrels", metavar="FILE", required=True, help="query, item and grade of relevance")
    parser.add_argument(
        "--metrics",
        metavar="LABELS",
        default=DEFAULT_METRICS,
        help=f"comma-separated, several cut-offs with +, e.g. ndcg_exp2@10+20,recall@5; default: {DEFAULT_METRICS}",
    )
    parser.add_argument(
        "--item-ids",
        metavar="FILE",
        help="ids of all items in the catalogue, one a line, for metrics of what is shown, e.g. catalog_coverage@10",
    )
    parser.add_argument(
        "--tie-break",
        choices=("expected", "trec_eval", "rank_column"),
        default="expected",
        help="what to do about equal scores; default: the exact expectation over their orders",
    )
    parser.add_argument(
        "-o", "--output", metavar="JSON", help="write the aggregates; - prints them instead of the table"
    )
    parser.add_argument(
        "--per-user", metavar="FILE", help="write the values of every query too (.npz, or .parquet), for `compare`"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Evaluate and deliver."""
    read = (args.run_file, args.qrels, args.item_ids)
    check_output(args.output, read)
    if args.per_user is not None:
        check_sidecar(args.per_user, [args.output, *read], option="--per-user")
    from rankbound import evaluate_run  # noqa: PLC0415  # bad usage is told at once

    tables = _table(args.run_file, "run"), _table(args.qrels, "qrels")
    item_ids = None if args.item_ids is None else _lines_of(args.item_ids)
    with worded(_OPTIONS):
        result = evaluate_run(
            *tables,
            metrics=[label.replace("+", ",") for label in split_labels(args.metrics)],
            tie_break=args.tie_break,
            item_ids=item_ids,
        )
    if args.per_user is not None:
        result.save(args.per_user)
    text = _json(result)
    if args.output == STANDARD_OUTPUT:
        show(text)
        return 0
    if args.output is not None:
        with atomic_write(args.output) as file:
            file.write(text.encode() + b"\n")
    show(_lines(result))
    return 0


def _table(path: str, name: str) -> Any:
    """Return a table as pyarrow holds it; the path itself for TREC files."""
    try:
        # A pipe can be opened once only.
        if not Path(path).is_fifo():
            with Path(path).open("rb"):
                pass
    except OSError as error:
        raise fail(path, name, f"cannot be read: {error.strerror or error}") from error
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".csv", ".tsv"):
        return path
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingDependencyError(
            f"{flag(name)} {path!r} needs pyarrow: pip install 'rankbound[parquet]'"
        ) from error
    try:
        return parquet.read_table(path) if suffix == ".parquet" else _read_csv(path, suffix)
    except (OSError, ArrowException) as error:
        raise fail(path, name, f"is no {suffix} table: {error}") from error


def _read_csv(path: str, suffix: str, *, use_threads: bool = True) -> Any:
    from pyarrow import ArrowInvalid, csv, string  # noqa: PLC0415  # an extra

    from rankbound.evaluation.tables import ALIASES  # noqa: PLC0415  # bad usage is told at once

    # Ids are text, whatever they look like: 01 is not 1. An empty cell is a missing one.
    ids = dict.fromkeys([*ALIASES["query"], *ALIASES["item"]], string())
    try:
        return csv.read_csv(
            path,
            read_options=csv.ReadOptions(use_threads=use_threads),
            parse_options=csv.ParseOptions(delimiter="," if suffix == ".csv" else "\t"),
            convert_options=csv.ConvertOptions(
                column_types=ids, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
            ),
        )
    except ArrowInvalid:
        if not use_threads:
            raise
        # Only a single thread knows the row.
        return _read_csv(path, suffix, use_threads=False)


def _lines_of(path: str) -> list[str]:
    """Return the lines of a text file that are not empty."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise fail(path, "item_ids", f"cannot be read: {why}") from error
    return [line.strip() for line in lines if line.strip()]


def _json(result: EvaluationResult) -> str:
    """Return aggregates, ties and protocol, with null for what is undefined."""
    payload = {**result.to_dict(), "n_rows": result.n_rows, "ties": result.ties, "protocol": result.protocol}
    return json.dumps(_defined(payload), indent=2)


def _defined(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {key: _defined(entry) for key, entry in value.items()}
    return value


def _lines(result: EvaluationResult) -> str:
    width = max(map(len, result.metrics))
    lines = [f"{'':<{width}}  {'value':>10}  {'worst tie':>10}  {'best tie':>10}"]
    for key, value in result.metrics.items():
        tie = result.ties.get(key, {})
        cells = [value, tie.get("mean_worst"), tie.get("mean_best")]
        lines.append(f"{key:<{width}}  " + "  ".join(" " * 10 if of is None else f"{of:>10.6g}" for of in cells))
    scored = f"{result.n_scored_rows} of {result.n_rows} queries have relevant items"
    counts = {
        name: count
        for name, count in result.protocol["population"].items()
        if name.startswith("n_") and name not in ("n_rows", "n_scored_rows", "n_no_truth") and count
    }
    others = "".join(f"; {name.removeprefix('n_').replace('_', ' ')}: {count}" for name, count in counts.items())
    return "\n".join([*lines, "", scored + others])
