"""Which rows are graded, against what, and in which units."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._exclusion import Exclusion, as_exclusion
from rankbound._labels import NO_TRUTH, UNSEEN, as_vector, label_indices, split_missing
from rankbound.errors import DuplicateItemError, EmptyInputError, InvalidTypeError, ShapeError


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedLists:
    """The graded lists of a score matrix, one entry each.

    Attributes
    ----------
    rows : ndarray of int64
        Row of the matrix.
    truths : ndarray of int64
        Column of the truth, -1 if it has none.
    units : ndarray of uint32
        Code of the bootstrap unit.
    unit_ids : ndarray
        Its label: the group, else the row.
    served : ndarray of uint32 or None
        Code of the served list, if lists share one.
    exposed : ndarray of bool or None
        Whether the list is the first of its served list, hence counts for the catalogue.
    exclude : Exclusion or None
        Columns left out.
    n_units, unit, n_unseen_truth, n_no_truth
        Counts; ``unit`` is ``"row"`` or ``"group"``.
    unseen_supports : ndarray of shape (n_unseen_classes,) or None
        Lists of each unseen class; None if unseen truths have no labels or are dropped.
    """

    rows: NDArray[np.int64]
    truths: NDArray[np.int64]
    units: NDArray[np.uint32]
    unit_ids: NDArray[Any]
    n_units: int
    unit: str
    served: NDArray[np.uint32] | None
    exposed: NDArray[np.bool_] | None
    exclude: Exclusion | None
    n_unseen_truth: int
    n_no_truth: int
    unseen_supports: NDArray[np.int64] | None


def graded_lists(
    matrix: NDArray[Any],
    y_true: Any,
    *,
    classes: Any,
    unseen: str,
    groups: Any = None,
    list_ids: Any = None,
    exclude: Any = None,
) -> GradedLists:
    """Match rows with truths and units; leave out rows without truth, and unseen truths if they are dropped.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_classes)
        The scores.
    y_true, classes, groups, list_ids, exclude
        As in :func:`rankbound.build_ranking_report`.
    unseen : {"miss", "drop"}
        What becomes of a truth without a column.

    Returns
    -------
    GradedLists
        At least one list.

    Raises
    ------
    EmptyInputError
        If no row is left to grade.
    ShapeError
        If lengths differ, or rows of one served list differ.
    DuplicateItemError
        If rows of one served list have the same truth.
    RankboundError
        As :func:`rankbound._labels.label_indices`.
    """
    n_rows, n_classes = matrix.shape
    truths = label_indices(y_true, classes, n_classes)
    _check_length(truths, n_rows, "y_true")
    is_unseen = truths == UNSEEN
    kept = truths != NO_TRUTH
    n_no_truth = int(n_rows - kept.sum())
    if n_no_truth == n_rows:
        raise EmptyInputError(f"y_true has no truth in any of its {n_rows} rows: there is nothing to grade")
    if unseen == "drop":
        kept &= ~is_unseen
        if not kept.any():
            raise EmptyInputError(
                "every truth in y_true is unseen and unseen='drop' leaves out such rows: there is nothing to grade; "
                "check classes, or use unseen='miss'"
            )
    rows = np.flatnonzero(kept).astype(np.int64)
    units = _codes(groups, n_rows, rows, "groups")
    served = _codes(list_ids, n_rows, rows, "list_ids")
    if served is not None:
        _check_truths_differ(served, truths[rows], rows)
    exclusion = as_exclusion(exclude, (n_rows, n_classes), rows)
    return GradedLists(
        rows=rows,
        truths=truths[rows],
        units=np.arange(len(rows), dtype=np.uint32) if units is None else units,
        unit_ids=rows if groups is None else plain_labels(groups, n_rows, "groups")[rows],
        n_units=len(rows) if units is None else int(units.max()) + 1,
        unit="row" if units is None else "group",
        served=served,
        exposed=None if served is None else _first_of_each(served, matrix, rows, exclusion),
        exclude=exclusion,
        n_unseen_truth=int(is_unseen.sum()),
        n_no_truth=n_no_truth,
        unseen_supports=None if classes is None or unseen == "drop" else _supports(y_true, is_unseen),
    )


def _check_length(labels: NDArray[Any], n_rows: int, name: str) -> None:
    if len(labels) != n_rows:
        raise ShapeError(f"{name} has {len(labels)} entries, but proba has {n_rows} rows; give one per row")


def plain_labels(labels: Any, n_rows: int, name: str) -> NDArray[Any]:
    """Return one label per row as an array without objects, none of them missing.

    Parameters
    ----------
    labels : array_like of shape (n_rows,)
        Labels of one plain kind.
    n_rows : int
        How many there must be.
    name : str
        The argument, for messages.

    Returns
    -------
    ndarray of shape (n_rows,)
        The labels.

    Raises
    ------
    ShapeError
        For another number of labels.
    InvalidTypeError
        For a missing label, naming the row.
    """
    values, missing = split_missing(as_vector(labels, name=name), name=name)
    _check_length(values, n_rows, name)
    if missing.any():
        raise InvalidTypeError(f"{name} has no label at row {int(missing.argmax())}; give every row one")
    return values


def _codes(labels: Any, n_rows: int, rows: NDArray[np.int64], name: str) -> NDArray[np.uint32] | None:
    """Return codes of the kept rows' labels, numbered by the sorted labels whatever the order of the rows."""
    if labels is None:
        return None
    values = plain_labels(labels, n_rows, name)
    return np.unique(values[rows], return_inverse=True)[1].astype(np.uint32)


def _supports(y_true: Any, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    labels = split_missing(as_vector(y_true, name="y_true"), name="y_true")[0]
    return np.unique(labels[chosen], return_counts=True)[1]


def _check_truths_differ(served: NDArray[np.uint32], truths: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Refuse the same truth twice in a served list: its places would no longer be drawn without replacement."""
    order = np.lexsort((truths, served))
    ahead, behind = order[:-1], order[1:]
    twice = np.flatnonzero((served[ahead] == served[behind]) & (truths[ahead] == truths[behind]) & (truths[ahead] >= 0))
    if len(twice):
        first, second = rows[ahead[twice[0]]], rows[behind[twice[0]]]
        raise DuplicateItemError(
            f"list_ids puts rows {first} and {second} into one served list, but both have the truth at column "
            f"{truths[ahead[twice[0]]]}; grade each truth of a list once"
        )


def _first_of_each(
    served: NDArray[np.uint32], matrix: NDArray[Any], rows: NDArray[np.int64], exclude: Exclusion | None
) -> NDArray[np.bool_]:
    """Mark the first list of each served list; the others must repeat its scores and exclusions."""
    first = np.unique(served, return_index=True)[1]
    exposed = np.zeros(len(served), dtype=np.bool_)
    exposed[first] = True
    for index in np.flatnonzero(~exposed):
        original = first[served[index]]
        same = np.array_equal(matrix[rows[index]], matrix[rows[original]])
        if same and exclude is not None:
            same = exclude.same(int(index), int(original), rows)
        if not same:
            raise ShapeError(
                f"list_ids puts rows {rows[original]} and {rows[index]} into one served list, but their scores or "
                "exclusions differ; give such rows ids of their own"
            )
    return exposed
