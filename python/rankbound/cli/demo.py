"""``rankbound demo``: a real model on real data, measured."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from rankbound.cli.output import STANDARD_OUTPUT, add_output_option, check_output, deliver
from rankbound.cli.progress import progress_bar
from rankbound.demo import ATTRIBUTION
from rankbound.report.config import RankingConfig

if TYPE_CHECKING:
    import argparse

MODEL = (
    "One visited area of each test user is hidden, and EASE (a ridge regression between areas, fitted on the training "
    "users) scores all areas from the user's other visits, which are no candidates themselves. Where does the hidden "
    "area rank? Areas that the model does not know score exactly zero: they tie."
)
HINT = "rankbound demo -o ranking.json writes the whole report; rankbound report measures your own scores."


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the subcommand."""
    parser = commands.add_parser(
        "demo",
        help="Measure a real model on real data that comes with rankbound.",
        description=f"Measure a real model on real data that comes with rankbound. {MODEL}",
        epilog=f"Data: {ATTRIBUTION}",
        allow_abbrev=False,
    )
    default = RankingConfig()
    for flags, value, about in (
        (("-k", "--k"), default.k, "cut-off of the metrics"),
        (("--seed",), default.seed, "seed of the hidden areas and of the resamples"),
    ):
        parser.add_argument(*flags, type=int, metavar="N", default=value, help=f"{about} (default: {value})")
    add_output_option(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build the report of the demo and deliver it."""
    check_output(args.output)
    config = RankingConfig(k=args.k, seed=args.seed)

    from rankbound import build_ranking_report  # noqa: PLC0415  # bad usage is told at once
    from rankbound.demo import msweb_case  # noqa: PLC0415  # as above

    case = msweb_case(seed=args.seed)
    with progress_bar() as progress:
        report = build_ranking_report(
            case.scores,
            case.truth,
            y_train=case.y_train,
            groups=case.groups,
            exclude=case.exclude,
            config=config,
            progress=progress,
        )
    if args.output != STANDARD_OUTPUT:
        print(fill(f"Data: {ATTRIBUTION}", width=100), fill(f"Model: {MODEL}", width=100), "", sep="\n")
    deliver(report, args.output, hint=HINT)
    return 0
