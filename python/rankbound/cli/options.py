"""A flag for every option of :class:`rankbound.RankingConfig`, derived from the class itself."""

from __future__ import annotations

import argparse
import re
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from msgspec.structs import fields

from rankbound.cli.input_errors import flag
from rankbound.cli.wording import worded
from rankbound.report.config import RankingConfig

CONFIG_OPTIONS = {
    field.name: f"-{field.name}" if len(field.name) == 1 else flag(field.name) for field in fields(RankingConfig)
}


def add_config_options(parser: argparse.ArgumentParser) -> None:
    """Declare ``--config`` and a flag per option; a flag that is not given leaves no trace.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of a subcommand.
    """
    group = parser.add_argument_group("options of the measurement", "Flags override the file of --config.")
    group.add_argument("--config", metavar="TOML", help="file with the options below as keys, all optional")
    about = _descriptions()
    for field in fields(RankingConfig):
        group.add_argument(
            *dict.fromkeys([CONFIG_OPTIONS[field.name], flag(field.name)]),
            dest=field.name,
            default=argparse.SUPPRESS,
            help=about.get(field.name, "") + _default(field.default),
            **_arguments(field.type),
        )


def read_config(args: argparse.Namespace) -> RankingConfig:
    """Return the options: the flags given, over the file, over the defaults.

    Parameters
    ----------
    args : argparse.Namespace
        Of a parser that :func:`add_config_options` completed.

    Returns
    -------
    RankingConfig
        Checked.

    Raises
    ------
    RankboundError
        For a file that cannot be read, or a value out of range.
    """
    given = {name: value for name, value in vars(args).items() if name in RankingConfig.__struct_fields__}
    config = RankingConfig() if args.config is None else RankingConfig.load(args.config)
    with worded(CONFIG_OPTIONS):
        return config.replace(**given)


def split_labels(text: str) -> list[str]:
    """Return the labels, or keys, of a list that is separated by commas; ``ndcg@3,5`` is ``ndcg@3`` and ``ndcg@5``.

    Parameters
    ----------
    text : str
        The value of ``--metrics``.

    Returns
    -------
    list of str
        Not checked.

    Examples
    --------
    >>> from rankbound.cli.options import split_labels
    >>> split_labels("ndcg@3,5, mrr@10")
    ['ndcg@3', 'ndcg@5', 'mrr@10']
    """
    labels: list[str] = []
    for part in map(str.strip, text.split(",")):
        name, at, _ = labels[-1].partition("@") if labels else ("", "", "")
        belongs = at and part.isdigit() and "[" not in labels[-1]
        labels.append(f"{name}@{part}" if belongs else part)
    return labels


def _arguments(kind: Any) -> dict[str, Any]:
    """Return what argparse must know about an option of a type."""
    if get_origin(kind) is UnionType:
        kind = next(choice for choice in get_args(kind) if choice is not NoneType)
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if get_origin(kind) is tuple:
        return _arguments(get_args(kind)[0]) | {"nargs": "+"}
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    return {"type": kind, "metavar": "N" if kind is int else "X"}


def _default(value: Any) -> str:
    return "" if value is None or value == () else f" (default: {value})"


def _descriptions() -> dict[str, str]:
    """Return what the class's docstring says about each parameter."""
    text = cleandoc(RankingConfig.__doc__ or "")
    found = re.findall(r"^(\w+) : .*\n((?: {4}.*\n)+)", text, flags=re.MULTILINE)
    texts = {name: " ".join(about.split()).replace("``", "").replace("%", "%%").rstrip(".") for name, about in found}
    return {name: about[0].lower() + about[1:] for name, about in texts.items()}
