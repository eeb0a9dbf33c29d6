"""Ids of queries and items, as the core takes them."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound.errors import InvalidTypeError

_Texts: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64]]
_Views: TypeAlias = tuple[NDArray[np.uint8], list[NDArray[np.uint8]]]

# In the layout of Arrow: bytes of a view, and of the longest text within one.
_VIEW, _SHORT = 16, 12


@dataclass(frozen=True, slots=True)
class Ids:
    """A column of ids: integers; the bytes of all texts and where each one starts; or Arrow's views and buffers."""

    core: NDArray[Any] | _Texts | _Views

    @property
    def are_texts(self) -> bool:
        """Whether they are texts."""
        return isinstance(self.core, tuple)

    def __len__(self) -> int:
        if not isinstance(self.core, tuple):
            return len(self.core)
        text, places = self.core
        return len(text) // _VIEW if isinstance(places, list) else len(places) - 1

    def show(self, row: int) -> str:
        """Return the id of a row as a user would write it."""
        if not isinstance(self.core, tuple):
            return repr(int(self.core[row]))
        text, places = self.core
        if isinstance(places, list):
            text = text[_VIEW * row : _VIEW * (row + 1)]
            length, _, buffer, start = text.view(np.uint32).tolist()
            text, start = (text, _VIEW - _SHORT) if length <= _SHORT else (places[buffer], start)
        else:
            start, length = places[row], places[row + 1] - places[row]
        return repr(text[start : start + length].tobytes().decode())


@dataclass(frozen=True, slots=True)
class OwnIds(Ids):
    """Ids in arrays of their own: integers of 64 bits, or texts behind one another."""

    core: NDArray[np.int64] | _Texts

    def array(self, *, found: str) -> NDArray[Any]:
        """Return the ids as an array of numpy.

        Parameters
        ----------
        found : str
            What a message about an id begins with, such as "qrels has the query".

        Returns
        -------
        ndarray of shape (n_ids,)
            int64, or strings.

        Raises
        ------
        InvalidTypeError
            For a text that ends in NUL, which numpy would drop, so that it might become another id.
        """
        if not isinstance(self.core, tuple):
            return self.core
        text, starts = self.core
        ends = starts[1:][np.diff(starts) > 0]
        if not text[ends - 1].all():
            row = int(np.searchsorted(starts, ends[int(text[ends - 1].argmin())])) - 1
            raise InvalidTypeError(f"{found} {self.show(row)}, which ends in a NUL that numpy would drop; rename it")
        # As numpy keeps them: code points in 32 bits, each text filled up with zeros.
        points = np.frombuffer(text.tobytes().decode().encode("utf-32-le"), dtype="<u4")
        n_before = np.concatenate([[0], np.cumsum((text & 0xC0) != 0x80)])
        lengths = np.diff(n_before[starts])
        width = int(lengths.max(initial=1))
        filled = np.zeros((len(lengths), width), dtype=np.uint32)
        filled[np.arange(width) < lengths[:, np.newaxis]] = points
        return filled.view(f"U{width}").reshape(len(lengths))

    def digest(self) -> str:
        """Return a digest of the ids in their order, in hexadecimal; it differs for integers and their text."""
        if not isinstance(self.core, tuple):
            return blake2b(b"i" + self.core.astype("<i8").tobytes(), digest_size=16).hexdigest()
        text, starts = self.core
        # With a line feed between two texts.
        return blake2b(b"U" + np.insert(text, starts[1:-1], ord("\n")).tobytes(), digest_size=16).hexdigest()


def as_ids(values: Iterable[Any], *, name: str) -> OwnIds:
    """Return Python objects as ids.

    Parameters
    ----------
    values : iterable
        Integers, or strings.
    name : str
        Where they come from, for messages.

    Returns
    -------
    OwnIds
        In their order.

    Raises
    ------
    InvalidTypeError
        For ids of different kinds, with an example of each, or of another kind.
    """
    listed = list(values)
    texts = _core.join_texts(np.fromiter(listed, dtype=object, count=len(listed)))
    if texts is not None:
        return OwnIds(texts)
    examples: dict[str, Any] = {}
    for value in listed:
        examples.setdefault(_kind(value), value)
    if "" in examples:
        raise InvalidTypeError(f"{name} has the id {examples['']!r}: ids must be integers or strings; convert them")
    if len(examples) > 1:
        raise InvalidTypeError(
            f"{name} has ids of both kinds, such as {examples['integer']!r} and {examples['string']!r}; convert one to "
            "the other"
        )
    if "string" in examples:
        broken = next(value for value in listed if any("\ud800" <= character <= "\udfff" for character in value))
        raise InvalidTypeError(f"{name} has the id {broken!r}, half a character, which UTF-8 cannot hold; repair it")
    try:
        return OwnIds(np.array(listed, dtype=np.int64))
    except OverflowError as error:
        raise InvalidTypeError(f"{name} has integers beyond 64 bits; convert the ids to strings") from error


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    return "integer" if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else ""


def as_tabled(ids: NDArray[Any], *, otherwise: str) -> NDArray[Any]:
    """Return sample ids in a dtype that columns of pandas, polars, Arrow and Parquet have.

    Parameters
    ----------
    ids : ndarray of shape (n,)
        Of any plain dtype.
    otherwise : str
        What else to do, for messages.

    Returns
    -------
    ndarray of shape (n,)
        Dates of weeks, months and years as days, other dates and durations in milliseconds unless they are finer; all
        else as it is.

    Raises
    ------
    InvalidTypeError
        For a dtype that no column has, and if an id would change.
    """
    kind, tabled = ids.dtype.kind, ids
    fits = ids.dtype.char != "g"
    if kind in "mM":
        unit, count = np.datetime_data(ids.dtype)
        in_days = kind == "M" and unit in ("Y", "M", "W", "D")
        if count != 1 or unit not in ("ms", "us", "ns"):
            tabled = ids.astype(f"{kind}8[{'D' if in_days else 'ms'}]")
        # Days are counted in 32 bits; durations of months, or of no unit, have no length.
        fits = not (np.abs(tabled.astype(np.int64)) >= 2**31).any() if in_days else unit not in ("Y", "M", "generic")
        fits = fits and np.array_equal(tabled.astype(ids.dtype), ids)
    if not fits:
        raise InvalidTypeError(
            f"sample_ids have dtype {ids.dtype}, which no table can hold unchanged; convert them, or {otherwise}"
        )
    return tabled


def match_kind(run: Ids, qrels: Ids, *, what: str) -> Ids:
    """Return the ids of a run, which must be of the kind of those of qrels.

    Parameters
    ----------
    run, qrels : Ids
        The columns.
    what : str
        What they name, for messages.

    Returns
    -------
    Ids
        Those of the run; none are of either kind.

    Raises
    ------
    InvalidTypeError
        If one has integers and the other texts, with an example of each.
    """
    if run.are_texts == qrels.are_texts:
        return run
    if len(run):
        raise InvalidTypeError(
            f"{what} ids are of different kinds: run has {run.show(0)}, qrels has {qrels.show(0)}; convert one to the "
            "other"
        )
    none = np.empty(0, dtype=np.int64)
    return OwnIds((np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)) if qrels.are_texts else none)
