"""Ids of queries and items, as the numbers that the core takes."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound.errors import InvalidTypeError


@dataclass(frozen=True, slots=True)
class Ids:
    """A column of ids: integers, or places in a list of distinct names."""

    values: NDArray[Any]
    names: list[str] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def show(self, row: int) -> str:
        """Return the id of a row as a user would write it."""
        value = int(self.values[row])
        return repr(value if self.names is None else self.names[value])


@dataclass(frozen=True, slots=True)
class Numbered:
    """The ids of a run and of qrels as numbers that agree; ``names`` are what they stand for, None for themselves."""

    run: NDArray[Any]
    qrels: NDArray[Any]
    names: list[str] | None

    def name(self, number: int) -> Any:
        """Return the id that a number stands for."""
        return int(number) if self.names is None else self.names[number]

    def array(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids that numbers stand for."""
        return numbers if self.names is None else np.array([self.names[number] for number in numbers], dtype=np.str_)


def as_ids(values: Iterable[Any], *, name: str) -> Ids:
    """Return Python objects as ids.

    Parameters
    ----------
    values : iterable
        Integers, or strings.
    name : str
        Where they come from, for messages.

    Returns
    -------
    Ids
        In their order.

    Raises
    ------
    InvalidTypeError
        For ids of different kinds, with an example of each, or of another kind.
    """
    listed = list(values)
    if set(map(type, listed)) == {str}:
        # The common case, in loops of C.
        return _from_names(listed)
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
        return _from_names([str(value) for value in listed])
    try:
        return Ids(np.array(listed, dtype=np.int64))
    except OverflowError as error:
        raise InvalidTypeError(f"{name} has integers beyond 64 bits; convert the ids to strings") from error


def digest_of_ids(ids: NDArray[Any]) -> str:
    """Return a digest of ids, in hexadecimal.

    Parameters
    ----------
    ids : ndarray
        Integers or strings.

    Returns
    -------
    str
        Differs for integers and their text.
    """
    text = "\n".join(ids.tolist()).encode() if ids.dtype.kind == "U" else ids.astype("<i8").tobytes()
    return blake2b(ids.dtype.kind.encode() + text, digest_size=16).hexdigest()


def _from_names(listed: list[str]) -> Ids:
    places = _places(dict.fromkeys(listed))
    return Ids(_look_up(places, listed), list(places))


def _places(names: Iterable[str]) -> dict[str, int]:
    return dict(zip(names, count()))


def _look_up(places: dict[str, int], names: list[str]) -> NDArray[np.int32]:
    return np.fromiter(map(places.__getitem__, names), dtype=np.int32, count=len(names))


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    return "integer" if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else ""


def number_ids(run: Ids, qrels: Ids, *, what: str, in_order: bool = False) -> Numbered:
    """Give the ids of a run and of qrels numbers that agree.

    Integers are their own numbers. The names of the qrels are numbered in their order, so that the numbers do not
    depend on the run; other names of the run follow.

    Parameters
    ----------
    run, qrels : Ids
        The columns.
    what : str
        What they name, for messages.
    in_order : bool, default False
        Whether all names must be numbered in their order.

    Returns
    -------
    Numbered
        The numbers.

    Raises
    ------
    InvalidTypeError
        If one has integers and the other strings, with an example of each.
    """
    if len(run) and len(qrels) and (run.names is None) != (qrels.names is None):
        raise InvalidTypeError(
            f"{what} ids are of different kinds: run has {run.show(0)}, qrels has {qrels.show(0)}; convert one to the "
            "other"
        )
    if run.names is None and qrels.names is None:
        return Numbered(run.values, qrels.values, None)
    names = sorted(qrels.names or [])
    known = set(names)
    names += [name for name in run.names or [] if name not in known]
    if in_order:
        names.sort()
    places = _places(names)

    def numbers(ids: Ids) -> NDArray[np.int32]:
        return _look_up(places, ids.names or [])[ids.values] if len(ids) else np.empty(0, dtype=np.int32)

    return Numbered(numbers(run), numbers(qrels), names)
