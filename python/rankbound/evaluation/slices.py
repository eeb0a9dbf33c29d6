"""Groups of lists or of items for which metrics are reported apart."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._labels import as_vector, split_missing
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError

# Each is evaluated by itself.
_MAX_GROUPS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rows, or items, that are reported apart: those with one code. Groups made of the same labels share the codes."""

    codes: NDArray[np.int32]
    code: int = 0

    def has(self, places: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of some rows or items are members."""
        members: NDArray[np.bool_] = self.codes[places] == self.code
        return members


class Members:
    """The members of each group that is made of the same codes, found by sorting once.

    Parameters
    ----------
    codes : ndarray of int32
        The code of each row, -1 for none.
    """

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self._order = np.argsort(codes, kind="stable")
        self._ends = np.cumsum(np.bincount(codes + 1, minlength=1))

    def of(self, code: int) -> NDArray[np.intp]:
        """Return the places of one code, rising."""
        first, last = (self._ends[min(at, len(self._ends) - 1)] for at in (code, code + 1))
        return self._order[first:last]


Groups = dict[str, Group]


@dataclass(frozen=True, slots=True)
class Slices:
    """Groups of rows and groups of items, by name."""

    rows: Groups = field(default_factory=dict)
    items: Groups = field(default_factory=dict)


def as_slices(slices: Any, *, n_rows: int, n_items: int, n_other_items: int = 0) -> Slices:
    """Return the groups.

    Parameters
    ----------
    slices : mapping of str to array_like, or None
        A boolean mask makes one group; labels make a group each, named ``name=label``. An array as long as there are
        rows groups the lists; one as long as there are items groups the relevant items. Where both numbers are the
        same, rows are meant; ``("rows", array)`` and ``("items", array)`` say it outright.
    n_rows, n_items : int
        How many there are.
    n_other_items : int, default 0
        Items behind them that are in no group.

    Returns
    -------
    Slices
        The groups.

    Raises
    ------
    InvalidTypeError
        If it is no mapping, or an array holds neither booleans nor labels.
    ShapeError
        If an array fits neither the rows nor the items.
    InvalidParameterError
        If two groups have the same name.
    """
    found = Slices()
    if slices is None:
        return found
    if not isinstance(slices, Mapping):
        raise InvalidTypeError(f"slices must map names to masks or labels, got {type(slices).__name__}")
    for name, given in slices.items():
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str) and not _is_pair(given):
            raise InvalidParameterError(f"slices[{name!r}] is of {given[0]!r}; write ('rows', ...) or ('items', ...)")
        of, values = given if _is_pair(given) else (None, given)
        labels, missing = split_missing(as_vector(values, name=f"slices[{name!r}]"), name=f"slices[{name!r}]")
        if of is None:
            of = "rows" if len(labels) == n_rows else "items"
        expected = n_rows if of == "rows" else n_items
        if len(labels) != expected:
            raise ShapeError(
                f"slices[{name!r}] has {len(labels)} entries, but there are {n_rows} rows and {n_items} items; give "
                "one per row or one per item"
            )
        target = found.rows if of == "rows" else found.items
        n_others = 0 if of == "rows" else n_other_items
        for group, members in _groups(str(name), labels, missing, n_others=n_others).items():
            if group in found.rows or group in found.items:
                raise InvalidParameterError(f"slices names {group!r} twice; rename one")
            target[group] = members
    return found


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str) and given[0] in ("rows", "items")


def _groups(name: str, labels: NDArray[Any], missing: NDArray[np.bool_], *, n_others: int) -> Groups:
    # What has no label is in no group.
    codes = np.full(len(labels) + n_others, -1, dtype=np.int32)
    if labels.dtype.kind == "b":
        codes[: len(labels)][labels & ~missing] = 0
        return {name: Group(codes)}
    groups, of_labels = np.unique(labels[~missing], return_inverse=True)
    if not 0 < len(groups) <= _MAX_GROUPS:
        raise InvalidParameterError(
            f"slices[{name!r}] has {len(groups)} labels; there must be 1 to {_MAX_GROUPS}: ids of single rows are "
            "no groups"
        )
    codes[: len(labels)][~missing] = of_labels
    return {f"{name}={label}": Group(codes, code) for code, label in enumerate(groups)}
