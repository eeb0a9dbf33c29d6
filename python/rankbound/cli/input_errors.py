"""What every loader says about a file it cannot use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankbound.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence


def flag(name: str) -> str:
    """Return an option as a user writes it: ``--train-segments`` of ``train_segments``."""
    return f"--{name.replace('_', '-')}"


def fail(path: str, name: str, why: str, *, line: int = 0, column: int = 0) -> FileFormatError:
    """Return the error of the file that the option ``name`` named; lines and columns count from 1, 0 is none."""
    place = f", line {line}" * bool(line) + f", column {column}" * bool(column)
    return FileFormatError(f"{flag(name)} {path!r}{place} {why}")


def own_names(name: str) -> list[str]:
    """Return what the array or column for an option may be called: as the option, or as the report's argument."""
    arguments = {"truth": "y_true", "train": "y_train"}
    return [name, flag(name)[2:], arguments.get(name, name)]


def choose(path: str, name: str, names: Sequence[str], *, what: str) -> str:
    """Return the one of several names that an option means: its own, else the only one.

    Parameters
    ----------
    path, name : str
        The file, and the option that named it.
    names : sequence of str
        What the file holds.
    what : str
        What the names are names of: "array" or "column".

    Returns
    -------
    str
        One of ``names``.

    Raises
    ------
    FileFormatError
        If there is none, or several and none has the option's name.
    """
    for own in own_names(name):
        if own in names:
            return own
    if len(names) == 1:
        return names[0]
    if not names:
        raise fail(path, name, f"holds no {what}")
    shown = ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)
    raise fail(path, name, f"holds {len(names)} {what}s ({shown}); give one, or call the one meant {name!r}")
