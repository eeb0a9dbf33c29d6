"""Ranked lists: the items each list holds, best first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_count
from rankbound._validation import as_numpy
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """Ranked lists of items, best first.

    Parameters
    ----------
    indices : array_like of shape (n_rows, width)
        Item indices, integers from 0, best item first. numpy arrays, tensors and anything with ``__dlpack__`` or
        ``__array__``.
    scores : array_like of shape (n_rows, width) or None, default None
        Scores of the items, finite and falling within a row. Equal scores are ties, averaged over all orders. Without
        scores the order is the order.
    n_items : int or None, default None
        Number of items in the catalogue; None takes it from the targets.
    lengths : array_like of shape (n_rows,) or None, default None
        Items of each row, if rows are padded at their end; what stands in the padding is not read.

    Raises
    ------
    InvalidTypeError
        If the indices are not integers or the scores not numbers.
    ShapeError
        If shapes differ.
    InvalidParameterError
        For a length out of range.

    Examples
    --------
    >>> from rankbound import RankedLists
    >>> lists = RankedLists([[3, 0], [2, -1]], lengths=[2, 1], n_items=5)
    >>> len(lists), lists.width
    (2, 2)
    """

    indices: NDArray[Any]
    scores: NDArray[Any] | None = None
    n_items: int | None = None
    lengths: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Check the arrays against one another."""
        indices = _indices(self.indices, name="indices")
        put = object.__setattr__
        put(self, "indices", indices)
        put(self, "scores", None if self.scores is None else _scores(self.scores, indices, name="scores", of="indices"))
        put(self, "n_items", None if self.n_items is None else as_count(self.n_items, name="n_items"))
        put(self, "lengths", None if self.lengths is None else _lengths(self.lengths, indices.shape))

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def width(self) -> int:
        """Places per row, padding included."""
        return int(self.indices.shape[1])

    def rows(self, first: int, last: int) -> "RankedLists":
        """Return the lists from ``first`` up to ``last``, exclusive.

        Parameters
        ----------
        first, last : int
            Rows.

        Returns
        -------
        RankedLists
            Views of these.
        """
        cut = slice(first, last)
        return RankedLists(
            self.indices[cut],
            None if self.scores is None else self.scores[cut],
            self.n_items,
            None if self.lengths is None else self.lengths[cut],
        )

    def without_repeats(self) -> "RankedLists":
        """Return the lists without items that are listed again; what follows moves up.

        Returns
        -------
        RankedLists
            With lengths.
        """
        order = np.argsort(self.indices, axis=1, kind="stable")
        ordered = np.take_along_axis(self.indices, order, axis=1)
        again = np.zeros(ordered.shape, dtype=np.bool_)
        np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        if self.lengths is not None:
            # Padding stands behind the items, so that none of them repeats it.
            again |= np.arange(self.width) >= self.lengths[:, None]
        moved = np.argsort(again, axis=1, kind="stable")
        return RankedLists(
            np.take_along_axis(self.indices, moved, axis=1),
            None if self.scores is None else np.take_along_axis(self.scores, moved, axis=1),
            self.n_items,
            self.width - again.sum(axis=1),
        )


def as_ranked_lists(predictions: Any, *, name: str = "predictions") -> RankedLists:
    """Return predictions of any form as ranked lists.

    Parameters
    ----------
    predictions : RankedLists, object with ``cols``, ``vals`` and ``shape``, or array_like of shape (n_rows, width)
        An array holds item indices in their order, without scores.
    name : str, default "predictions"
        The argument, for messages.

    Returns
    -------
    RankedLists
        With ``n_items`` where the form tells it.

    Raises
    ------
    RankboundError
        As :class:`RankedLists`.
    """
    if isinstance(predictions, RankedLists):
        return predictions
    if all(hasattr(predictions, part) for part in ("cols", "vals", "shape")):
        shape = predictions.shape
        if not isinstance(shape, Sequence) or len(shape) != 2:
            raise ShapeError(f"{name}.shape is {shape!r}; it must be (number of lists, number of items)")
        # Checked here under the names that the caller knows.
        cols, vals = f"{name}.cols", f"{name}.vals"
        indices = _indices(predictions.cols, name=cols)
        scores = None if predictions.vals is None else _scores(predictions.vals, indices, name=vals, of=cols)
        lists = RankedLists(indices, scores, as_count(shape[1], name=f"{name}.shape[1]"))
        if as_count(shape[0], name=f"{name}.shape[0]") != len(lists):
            raise ShapeError(f"{name}.shape says {shape[0]} lists, but {name}.cols has {len(lists)} rows")
        return lists
    if hasattr(predictions, "toarray"):
        raise InvalidTypeError(
            f"{name} is a sparse matrix, which has no order: pass RankedLists(indices, scores), or its dense form to "
            "evaluate_scores"
        )
    return RankedLists(_indices(predictions, name=name))


def _indices(indices: Any, *, name: str) -> NDArray[Any]:
    array = as_numpy(indices, name=name)
    if array.ndim != 2:
        raise ShapeError(f"{name} has shape {array.shape}; it must have two dimensions: rows and places")
    if array.dtype.kind not in "iu":
        if array.size:
            raise InvalidTypeError(f"{name} has dtype {array.dtype}; item indices must be integers")
        array = array.astype(np.int64)
    if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
        raise InvalidTypeError(f"{name} has {array.max()}; item indices must be below 2^63")
    return array


def _scores(scores: Any, indices: NDArray[Any], *, name: str, of: str) -> NDArray[Any]:
    array = as_numpy(scores, name=name)
    if array.dtype.kind not in "fiu" or array.dtype.char == "g":
        raise InvalidTypeError(f"{name} has dtype {array.dtype}; scores must be float16/32/64 or integers")
    if array.shape != indices.shape:
        raise ShapeError(
            f"{name} has shape {array.shape}, but {of} has {indices.shape}; give one score per listed item"
        )
    if array.dtype.kind in "iu" and array.size and np.abs(array.astype(np.float64)).max() >= 2.0**53:
        raise InvalidTypeError(f"{name} has integers of 2^53 or more, which float64 merges; rescale them")
    return array


def _lengths(lengths: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    array = as_numpy(lengths, name="lengths")
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidTypeError(f"lengths has dtype {array.dtype}; it must hold integers")
    if array.shape != (shape[0],):
        raise ShapeError(f"lengths has shape {array.shape}, but there are {shape[0]} rows; give one length per row")
    wrong = (array < 0) | (array > shape[1])
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidParameterError(f"lengths has {array[row]} at row {row}; it must be from 0 to {shape[1]}")
    return array.astype(np.int64)
