"""Groups of lists or of items for which metrics are reported apart."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._labels import as_vector, split_missing
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError

# Each is a mask over all rows or items.
_MAX_GROUPS = 10_000

Masks = dict[str, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Slices:
    """Masks over the rows and over the items, by name."""

    rows: Masks = field(default_factory=dict)
    items: Masks = field(default_factory=dict)


def as_slices(slices: Any, *, n_rows: int, n_items: int) -> Slices:
    """Return the groups as masks.

    Parameters
    ----------
    slices : mapping of str to array_like, or None
        A boolean mask makes one group; labels make a group each, named ``name=label``. An array as long as there are
        rows groups the lists; one as long as there are items groups the relevant items. Where both numbers are the
        same, rows are meant; ``("rows", array)`` and ``("items", array)`` say it outright.
    n_rows, n_items : int
        How many there are.

    Returns
    -------
    Slices
        The masks.

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
        for group, mask in _groups(str(name), labels, missing).items():
            if group in found.rows or group in found.items:
                raise InvalidParameterError(f"slices names {group!r} twice; rename one")
            target[group] = mask
    return found


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str) and given[0] in ("rows", "items")


def _groups(name: str, labels: NDArray[Any], missing: NDArray[np.bool_]) -> Masks:
    if labels.dtype.kind == "b":
        return {name: labels & ~missing}
    # Rows without a label are in no group.
    groups = np.unique(labels[~missing])
    if not 0 < len(groups) <= _MAX_GROUPS:
        raise InvalidParameterError(
            f"slices[{name!r}] has {len(groups)} labels; there must be 1 to {_MAX_GROUPS}: ids of single rows are "
            "no groups"
        )
    return {f"{name}={label}": (labels == label) & ~missing for label in groups}
