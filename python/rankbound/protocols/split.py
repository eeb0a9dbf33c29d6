"""Which rows are learned from, and which are graded."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_count, as_non_negative
from rankbound.errors import EmptyInputError, InvalidParameterError, InvalidTypeError
from rankbound.protocols.table import InteractionTable

# Undoes the rounding of a product such as 0.2 * 15.
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Split:
    """Which rows are graded, and how that was decided."""

    is_test: NDArray[np.bool_]
    protocol: dict[str, Any]


def split_rows(table: InteractionTable, *, test_share: Any, split_at: Any, seed: Any, whole_lists: bool) -> Split:
    """Split by time if the table has timestamps, else by entity.

    Parameters
    ----------
    table : InteractionTable
        The rows.
    test_share : float
        Largest share of the rows (with ``whole_lists``, of the lists) or of the entities to grade, above 0, below 1.
    split_at : number, date or None
        The first timestamp that is graded, instead of a share.
    seed : int
        Seed of the choice of entities.
    whole_lists : bool
        Whether all rows of a list stay together: a list is then as old as its last row.

    Returns
    -------
    Split
        Neither part is empty.

    Raises
    ------
    EmptyInputError
        If a part is.
    InvalidParameterError
        For a share out of range, or a time without timestamps.
    """
    share = as_non_negative(test_share, name="test_share")
    if not 0 < share < 1:
        raise InvalidParameterError(f"test_share must lie between 0 and 1, got {test_share!r}")
    number = as_count(seed, name="seed")
    if table.times is None:
        if split_at is not None:
            raise InvalidParameterError(
                f"split_at is {split_at!r}, but the table has no timestamps; name their column with timestamp="
            )
        return _by_entity(table, share, number)
    times = _last_times(table, table.times) if whole_lists else table.times
    first = _first_test_time(times, share) if split_at is None else _as_time(split_at, times)
    late = times >= first
    is_test = late[table.list_codes] if whole_lists else late
    if is_test.all() or not is_test.any():
        empty = "training" if is_test.all() else "test"
        raise EmptyInputError(
            f"the {empty} part is empty: split_at is {split_at!r}, but the "
            f"{'last timestamps of the lists' if whole_lists else 'timestamps'} go from {times.min()} to {times.max()}"
        )
    return Split(is_test, {"by": "time", "unit": "list" if whole_lists else "row", "split_at": _plain(first)})


def _by_entity(table: InteractionTable, share: float, seed: int) -> Split:
    n_entities = len(table.entities)
    n_test = int(share * n_entities + _SLACK)
    if n_test == 0:
        raise EmptyInputError(
            f"the test part is empty: test_share={share:g} of {n_entities} entities is less than one; raise it"
        )
    # Sorted ids are drawn from, so that the choice does not depend on the order of the rows.
    chosen = np.random.default_rng(seed).permutation(n_entities)[:n_test]
    is_test = np.zeros(n_entities, dtype=np.bool_)
    is_test[chosen] = True
    return Split(is_test[table.entity_codes], {"by": "entity", "unit": "entity", "test_share": share, "seed": seed})


def _last_times(table: InteractionTable, times: NDArray[Any]) -> NDArray[Any]:
    """Return the last timestamp of each list."""
    order = np.argsort(table.list_codes, kind="stable")
    starts = np.flatnonzero(np.diff(table.list_codes[order], prepend=-1))
    return np.asarray(np.maximum.reduceat(times[order], starts))


def _first_test_time(times: NDArray[Any], share: float) -> Any:
    """Return where the largest end of the timestamps begins that holds at most a share of them."""
    values, counts = np.unique(times, return_counts=True)
    newer = np.cumsum(counts[::-1])[::-1]
    few_enough = np.flatnonzero(newer <= int(share * len(times) + _SLACK))
    if not len(few_enough):
        raise EmptyInputError(
            f"the test part is empty: {counts[-1]} of {len(times)} have the last timestamp, {values[-1]}, more than "
            f"test_share={share:g}; raise it, or give split_at"
        )
    return values[few_enough[0]]


def _as_time(split_at: Any, times: NDArray[Any]) -> Any:
    """Return ``split_at`` as something that the timestamps compare with."""
    if times.dtype.kind == "M":
        try:
            time = np.datetime64(split_at)
        except (TypeError, ValueError) as error:
            raise InvalidTypeError(f"split_at must be a date, as the timestamps are, got {split_at!r}") from error
        if np.isnat(time):
            raise InvalidParameterError("split_at is not a time; give the first one that is graded")
        return time
    if isinstance(split_at, (bool, np.bool_)) or not isinstance(split_at, (int, float, np.integer, np.floating)):
        raise InvalidTypeError(f"split_at must be a number, as the timestamps are, got {split_at!r}")
    if not np.isfinite(split_at):
        raise InvalidParameterError(f"split_at must be finite, got {split_at!r}")
    return split_at


def _plain(time: Any) -> Any:
    """Return a timestamp as JSON holds it."""
    if isinstance(time, np.datetime64):
        return str(time)
    return time.item() if isinstance(time, np.generic) else time
