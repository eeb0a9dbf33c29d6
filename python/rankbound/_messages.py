"""Parts of messages that say what was refused."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from rankbound.errors import RankboundError


@contextmanager
def about(place: str) -> Iterator[None]:
    """Put before what is refused which argument or file it is about.

    Parameters
    ----------
    place : str
        What begins the message.

    Yields
    ------
    None
        Errors keep their class.
    """
    try:
        yield
    except RankboundError as error:
        raise type(error)(f"{place}: {error}") from error


def shortened(value: Any) -> str:
    """Return a value as a message shows it: not at any length."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({type(value).__name__})"


def did_you_mean(value: Any, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the one that it most resembles, else all."""
    names = list(known)
    lower = {name.lower(): name for name in names}
    close = get_close_matches(value.lower(), lower, n=1) if isinstance(value, str) else []
    return f"did you mean {lower[close[0]]!r}?" if close else f"there are {', '.join(names)}"
