"""``rankbound report``: measure a score matrix from files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankbound._messages import about
from rankbound._validation import as_score_matrix
from rankbound.cli.input_errors import flag
from rankbound.cli.inputs import SUFFIXES, load_exclude, load_matrix, load_vector
from rankbound.cli.options import CONFIG_OPTIONS, add_config_options, read_config
from rankbound.cli.output import add_output_option, check_output, check_sidecar, deliver
from rankbound.cli.progress import progress_bar
from rankbound.cli.wording import worded
from rankbound.errors import InvalidTypeError

if TYPE_CHECKING:
    import argparse

    from numpy.typing import NDArray

# Option, the report's argument, whether it holds numbers, help.
_VECTORS = (
    (
        "classes",
        "classes",
        False,
        "id of each column; without, a table's column names, else truth holds column indices",
    ),
    ("train", "y_train", False, "training labels: popularity, macro metrics and baselines come from them"),
    ("popularity", "popularity", True, "training popularity of each class, instead of --train"),
    ("groups", "groups", False, "unit of each row, e.g. its user: intervals resample whole units"),
    ("list_ids", "list_ids", False, "served list of each row, where several truths of one list are graded"),
    ("segments", "segments", False, "segment of each row: its popularity becomes a baseline"),
    ("train_segments", "train_segments", False, "segment of each training label"),
    ("class_values", "class_values", True, "value of each class, e.g. its price"),
    ("class_groups", "class_groups", False, "group of each class, e.g. its provider: its share of what is shown"),
)
# For messages of the library, which knows its own arguments.
_OPTIONS = {
    "proba": "--scores",
    "y_true": "--truth",
    "exclude": "--exclude",
    "state": "--state",
    **{argument: flag(name) for name, argument, *_ in _VECTORS},
    **CONFIG_OPTIONS,
}


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "report",
        usage="rankbound report --scores FILE --truth FILE [other files] [-o JSON] [options]",
        help="Measure a score matrix: all objectives, baselines, intervals.",
        description="Measure a score matrix (a row per list, a column per class) against the one true class of each "
        "row: print a table, and write the report.",
        epilog=f"Files may be {', '.join(SUFFIXES)}: the suffix tells. .npy is memory-mapped. Of several arrays or "
        "columns the one with the option's name is read. A .csv of one column has a header only if its first line "
        "is the option's name, such as 'train'.",
        allow_abbrev=False,
    )
    files = parser.add_argument_group("files")
    files.add_argument("--scores", metavar="FILE", required=True, help="score of every class in every row")
    files.add_argument("--truth", metavar="FILE", required=True, help="true label of each row")
    for name, _, _, help_text in _VECTORS:
        files.add_argument(flag(name), metavar="FILE", help=help_text)
    files.add_argument(
        "--exclude",
        metavar="FILE",
        help="classes that are no candidates in a row: a sparse or boolean matrix, or pairs of row and column indices",
    )
    files.add_argument("--state", metavar="NPZ", help="a saved ComparabilityState, for transforms fitted elsewhere")
    add_output_option(files)
    files.add_argument(
        "--per-unit",
        metavar="FILE",
        help="write the values of every list too (.npz, or .parquet): `rankbound gate` and `compare` pair reports by "
        "them",
    )
    add_config_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build the report and deliver it."""
    files = ("scores", "truth", "exclude", "state", "config", *(name for name, *_ in _VECTORS))
    read = [getattr(args, name) for name in files]
    check_output(args.output, read)
    if args.per_unit is not None:
        check_sidecar(args.per_unit, [args.output, *read])
    config = read_config(args)
    scores, inputs = _load(args)

    from rankbound import build_ranking_report  # noqa: PLC0415  # bad usage is told at once

    with worded(_OPTIONS), progress_bar() as progress:
        report = build_ranking_report(scores, **inputs, config=config, progress=progress)
    if args.per_unit is not None and report.per_unit is not None:
        report.per_unit.save(args.per_unit)
    deliver(report, args.output, options=_OPTIONS)
    return 0


def _load(args: argparse.Namespace) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return the scores and the report's other arguments that were given."""
    scores, columns = load_matrix(args.scores, "scores")
    scores = as_score_matrix(scores, name="--scores")
    inputs: dict[str, Any] = {"y_true": load_vector(args.truth, "truth")}
    for name, argument, numeric, _ in _VECTORS:
        path = getattr(args, name)
        if path is not None:
            inputs[argument] = load_vector(path, name, numeric=numeric)
    if args.exclude is not None:
        inputs["exclude"] = load_exclude(args.exclude, scores.shape)
    if args.state is not None:
        from rankbound.comparability import ComparabilityState  # noqa: PLC0415  # rarely needed

        with about("--state"):
            inputs["state"] = ComparabilityState.load(args.state)
    if columns is not None and "classes" not in inputs:
        if columns.dtype.kind == "U" and inputs["y_true"].dtype.kind in "iu":
            raise InvalidTypeError(
                f"--truth {args.truth!r} holds integers, but the columns of --scores {args.scores!r} have the names "
                f"{str(columns[0])!r}, ...: give their names as the truth, or the columns' ids with --classes"
            )
        inputs["classes"] = columns
    return scores, inputs
