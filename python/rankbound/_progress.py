"""How far a long run is: a tqdm bar, or a callable of the caller's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rankbound.errors import InvalidTypeError, MissingDependencyError

Progress = Callable[[int, int], object]


@contextmanager
def told(progress: object, *, total: int, unit: str, name: str = "progress") -> Iterator[Progress | None]:
    """Hold what the core calls while it runs, and tell the end afterwards: the core may finish between two calls.

    Parameters
    ----------
    progress : bool or callable or None
        True makes a bar; a callable is returned as it is.
    total : int
        How much there is to do.
    unit : str
        What is counted, for the bar.
    name : str, default "progress"
        The argument, for messages.

    Yields
    ------
    callable or None
        Takes ``(done, total)``.

    Raises
    ------
    MissingDependencyError
        If a bar is wanted and tqdm is not installed.
    InvalidTypeError
        If it is neither a boolean nor callable.
    """
    if progress is None or progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        progress(total, total)
        return
    if progress is not True:
        raise InvalidTypeError(f"{name} must be True, False or callable, got {progress!r}")
    try:
        from tqdm.auto import tqdm  # noqa: PLC0415 - an extra, loaded when it is asked for
    except ImportError as error:
        raise MissingDependencyError(
            f"{name}=True needs tqdm: pip install 'rankbound[progress]', or pass a callable"
        ) from error
    with tqdm(total=total, unit=unit) as bar:
        yield lambda done, _total: bar.update(done - bar.n)
        bar.update(total - bar.n)
