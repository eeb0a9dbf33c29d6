"""The long table: who met which item, what that was worth, and when."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._labels import show
from rankbound._tables import as_numbers, read_columns
from rankbound.errors import DuplicateItemError, GradeError, InvalidParameterError, InvalidTypeError

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InteractionTable:
    """A checked table, one entry per row. Codes follow the sorted ids, so that the order of the rows does not matter.

    Parameters
    ----------
    entities, items : ndarray
        Distinct ids, sorted.
    entity_codes, item_codes, list_codes : ndarray of shape (n_rows,), dtype int64
        What each row names.
    list_entities : ndarray of shape (n_lists,), dtype int64
        Entity of each list. There is a list for each entity, or for each pair of an entity and an occasion.
    occasions : ndarray of shape (n_lists,) or None
        Occasion of each list.
    labels : ndarray of shape (n_rows,), dtype float64
        Grades, at least 0.
    times : ndarray of shape (n_rows,) or None
        Numbers or dates.
    scores : ndarray of shape (n_rows,) or None
        Scores, if a column holds them.
    rows : ndarray of shape (n_rows,), dtype int64
        Place of each row in the table that was given.
    """

    entities: NDArray[Any]
    items: NDArray[Any]
    entity_codes: Codes
    item_codes: Codes
    list_codes: Codes
    list_entities: Codes
    occasions: NDArray[Any] | None
    labels: NDArray[np.float64]
    times: NDArray[Any] | None
    scores: NDArray[Any] | None
    rows: Codes

    def __len__(self) -> int:
        return len(self.rows)

    def show_row(self, row: int) -> str:
        """Return which item of which list a row holds, for messages."""
        of_list = self.list_codes[row]
        occasion = "" if self.occasions is None else f", occasion {show(self.occasions[of_list])}"
        entity = show(self.entities[self.entity_codes[row]])
        return f"item {show(self.items[self.item_codes[row]])} of entity {entity}{occasion}"

    def select(self, chosen: NDArray[Any]) -> "InteractionTable":
        """Return the rows at the given places, or under a mask; codes mean the same ids."""
        return replace(
            self,
            entity_codes=self.entity_codes[chosen],
            item_codes=self.item_codes[chosen],
            list_codes=self.list_codes[chosen],
            labels=self.labels[chosen],
            times=None if self.times is None else self.times[chosen],
            scores=None if self.scores is None else self.scores[chosen],
            rows=self.rows[chosen],
        )

    def once_each(self, *, merge: bool) -> "InteractionTable":
        """Return the rows by list and item, each item of a list once.

        Parameters
        ----------
        merge : bool
            Whether rows of the same list and item become one, with their highest label and earliest time.

        Returns
        -------
        InteractionTable
            Sorted by list, then item.

        Raises
        ------
        DuplicateItemError
            If there are such rows and they are not merged, naming two of them.
        """
        table = self.select(np.lexsort((self.rows, self.item_codes, self.list_codes)))
        again = np.zeros(len(table), dtype=np.bool_)
        again[1:] = (np.diff(table.item_codes) == 0) & (np.diff(table.list_codes) == 0)
        if not again.any():
            return table
        if not merge:
            at = int(again.argmax())
            raise DuplicateItemError(
                f"table has {table.show_row(at)} at rows {table.rows[at - 1]} and {table.rows[at]}; a list holds an "
                "item once"
            )
        starts = np.flatnonzero(~again)
        return replace(
            table.select(starts),
            labels=np.maximum.reduceat(table.labels, starts),
            times=None if table.times is None else np.minimum.reduceat(table.times, starts),
        )


def read_interactions(
    table: Any,
    *,
    entity: str,
    item: str,
    label: str | None,
    timestamp: str | None,
    occasion: str | None,
    score: str | None = None,
) -> InteractionTable:
    """Read and check a long table.

    Parameters
    ----------
    table : mapping of str to array_like, or frame
        As :func:`rankbound._tables.read_columns` takes it.
    entity, item : str
        Columns of ids.
    label : str or None
        Column of grades; None grades every row with 1.
    timestamp, occasion, score : str or None
        Further columns.

    Returns
    -------
    InteractionTable
        In the order of the table.

    Raises
    ------
    RankboundError
        A subclass that names column and row.
    """
    named = {
        "entity": entity,
        "item": item,
        "label": label,
        "timestamp": timestamp,
        "occasion": occasion,
        "score": score,
    }
    for option, column in named.items():
        if not (isinstance(column, str) or (column is None and option not in ("entity", "item"))):
            raise InvalidTypeError(f"{option} must be the name of a column of table, got {column!r}")
    wanted = [column for column in named.values() if column is not None]
    if len(set(wanted)) < len(wanted):
        raise InvalidParameterError(f"the columns must differ, got {', '.join(map(repr, wanted))}")
    columns = read_columns(table, wanted, name="table")
    entities, entity_codes = np.unique(columns[entity], return_inverse=True)
    items, item_codes = np.unique(columns[item], return_inverse=True)
    n_rows = len(entity_codes)
    list_codes, list_entities, occasions = entity_codes, np.arange(len(entities)), None
    if occasion is not None:
        names, codes = np.unique(columns[occasion], return_inverse=True)
        pairs, list_codes = np.unique(entity_codes * len(names) + codes, return_inverse=True)
        list_entities, occasions = pairs // len(names), names[pairs % len(names)]
    return InteractionTable(
        entities=entities,
        items=items,
        entity_codes=entity_codes,
        item_codes=item_codes,
        list_codes=list_codes,
        list_entities=list_entities,
        occasions=occasions,
        labels=np.ones(n_rows) if label is None else _labels(columns[label], label),
        times=None if timestamp is None else _times(columns[timestamp], timestamp),
        scores=None if score is None else columns[score],
        rows=np.arange(n_rows),
    )


def _labels(values: NDArray[Any], column: str) -> NDArray[np.float64]:
    labels = as_numbers(values, name=f"table[{column!r}]")
    wrong = ~((labels >= 0) & (labels < np.inf))
    if wrong.any():
        row = int(wrong.argmax())
        raise GradeError(
            f"table[{column!r}] has {labels[row]:g} at row {row}: labels must be finite and at least 0; 0 means not "
            "relevant"
        )
    return labels


def _times(values: NDArray[Any], column: str) -> NDArray[Any]:
    if values.dtype.kind not in "fiM":
        raise InvalidTypeError(
            f"table[{column!r}] must hold numbers or dates, got {values.dtype}; convert text to dates first"
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int((~np.isfinite(values)).argmax())
        raise InvalidParameterError(f"table[{column!r}] has {values[row]} at row {row}; timestamps must be finite")
    return values
