"""A progress bar for people: on a terminal, for long work, if tqdm is there."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Work that takes less shows no bar.
DELAY_SECONDS = 1.0


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None] | Literal[False]]:
    """Open a bar on standard error, which appears only if the work takes longer than a second.

    Yields
    ------
    callable or False
        To be called with what is done and the total; False where there is no terminal or no tqdm.
    """
    if not sys.stderr.isatty():
        yield False
        return
    try:
        from tqdm import tqdm  # noqa: PLC0415  # an extra
    except ImportError:
        yield False
        return
    with tqdm(total=0, delay=DELAY_SECONDS, leave=False, file=sys.stderr) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
