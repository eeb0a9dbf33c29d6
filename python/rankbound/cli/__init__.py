"""The command ``rankbound``: one module per subcommand.

Exit codes: 0 done, 1 a gate failed, 2 bad usage or input, 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

from rankbound import __version__
from rankbound.cli import compare, demo, evaluate, gate, report, schema
from rankbound.errors import RankboundError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

COMMANDS = (demo, report, evaluate, compare, gate, schema)
TRACEBACK_VARIABLE = "RANKBOUND_TRACEBACK"
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str or None, default None
        The arguments after the program's name; None takes those of the process.

    Returns
    -------
    int
        The exit code. What was refused is one line on standard error; with the environment variable
        ``RANKBOUND_TRACEBACK`` set, a traceback comes before it.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = _run(argv)
            # It may have been closed by who started the process.
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            # Nothing more can be written, neither now nor when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        except KeyboardInterrupt:
            return INTERRUPTED
        except (RankboundError, OSError) as error:
            return _refuse(f"error: {error}")
        except MemoryError as error:
            return _refuse(f"error: not enough memory: {error}")
        except Exception as error:  # noqa: BLE001  # the last resort
            return _refuse(
                f"internal error: {type(error).__name__}: {error}; set {TRACEBACK_VARIABLE}=1 for the traceback, and "
                "please report it"
            )
    return code


def _run(argv: Sequence[str] | None) -> int:
    parser = _Parser(
        prog="rankbound",
        description="Exact, tie-aware measurement of rankings.",
        epilog="Exit codes: 0 done, 1 a gate failed, 2 bad usage or input.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"rankbound {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for command in COMMANDS:
        command.add_command(commands)
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:  # --help, --version, and bad usage, which is printed by then
        return int(stop.code or 0)
    code: int = args.run(args)
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {_one_line(message)}; see {self.prog} --help\n")


def _refuse(message: str) -> int:
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exc()
    print(f"rankbound: {_one_line(message)}", file=sys.stderr)
    return BAD_INPUT


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"rankbound: warning: {_one_line(str(message))}", file=sys.stderr)


def _one_line(message: str) -> str:
    return " ".join(message.split())
