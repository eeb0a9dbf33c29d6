"""Messages of the library in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rankbound.errors import RankboundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# An argument that is an English word as well is meant where something is said of it.
_SAID = r"(?= (?:has|holds|is|are|was|were|must|names|puts|cannot be|\(one per|\(or)\b|\[)"


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Return a message with options in place of arguments.

    Parameters
    ----------
    message : str
        Of the library.
    options : mapping of str to str
        The option of each argument.

    Returns
    -------
    str
        ``argument=value`` becomes ``--option value``, a boolean ``--option`` or ``--no-option``. What can be done ``in
        Python`` alone, in brackets, is left out.

    Examples
    --------
    >>> from rankbound.cli.wording import in_options
    >>> options = {"y_true": "--truth", "classes": "--classes", "mask_neg_inf": "--mask-neg-inf"}
    >>> in_options("y_true has 2 entries for 3 classes; pass classes=, mask_neg_inf=True", options)
    '--truth has 2 entries for 3 classes; pass --classes, --mask-neg-inf'
    """

    def assigned(found: re.Match[str]) -> str:
        option, value = options[found["name"]], found["quoted"] or found["plain"] or ""
        switches = {"True": option, "False": option.replace("--", "--no-", 1), "": option}
        return switches.get(value, f"{option} {value}")

    message = re.sub(r" \([^()]* in Python\)", "", message)
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    message = re.sub(
        rf"(?<![\w'\"/-])(?P<name>{names})=(?:'(?P<quoted>[^']*)'|(?P<plain>[\w.+-]*\w)?)", assigned, message
    )
    # A name in snake case is no English.
    plain = "|".join(name for name in options if "_" not in name and name != "proba")
    coined = "|".join(name for name in options if "_" in name or name == "proba")
    mentioned = rf"(?<![\w'\"/-])(?:(?P<coined>{coined})\b(?![\w-])|(?P<plain>{plain}){_SAID}|`(?P<code>{names})`)"
    message = re.sub(mentioned, lambda found: options[found["coined"] or found["plain"] or found["code"]], message)
    # What the whole message is about.
    return re.sub(rf"^(?:{names})(?=: )", lambda found: options[found[0]], message)


@contextmanager
def worded(options: Mapping[str, str]) -> Iterator[None]:
    """Word what the library refuses in options.

    Parameters
    ----------
    options : mapping of str to str
        As for :func:`in_options`.

    Yields
    ------
    None
        Errors keep their class.
    """
    try:
        yield
    except RankboundError as error:
        raise type(error)(in_options(str(error), options)) from error
