"""What a model must beat: popularity, popularity within a segment, and chance."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import NO_TRUTH, UNSEEN, as_vector, label_indices, split_missing
from rankbound._options import as_cut_off, as_integer
from rankbound._validation import as_finite_vector
from rankbound.errors import EmptyInputError, InvalidParameterError, InvalidTypeError, ShapeError

__all__ = ["GlobalPopularityBaseline", "SegmentPopularityBaseline", "UniformRandomBaseline"]

# The core counts candidates in 32 bits.
_MAX_CLASSES = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalPopularityBaseline:
    """Ranks every list by how often each class occurs in the training data.

    Attributes
    ----------
    popularity : ndarray of shape (n_classes,), dtype float64
        Training counts, or any other fixed score per class; equal values tie.
    n_unknown : int
        Training labels that belong to none of the classes, hence were not counted.
    """

    popularity: NDArray[np.float64]
    n_unknown: int = 0

    @classmethod
    def fit(cls, y_train: Any, *, classes: Any = None, n_classes: int | None = None) -> "GlobalPopularityBaseline":
        """Count training labels.

        Parameters
        ----------
        y_train : array_like of shape (n_train,)
            Column indices, or labels when ``classes`` is given. Missing labels are not counted.
        classes : array_like of shape (n_classes,) or None, default None
            Ids of the columns.
        n_classes : int or None, default None
            Number of columns; needed without ``classes``.

        Returns
        -------
        GlobalPopularityBaseline
            Counts per class.

        Raises
        ------
        EmptyInputError
            If no label can be counted.
        UnknownLabelError, InvalidTypeError, ShapeError
            For labels that cannot be read as columns, and a number of columns that is no integer.
        InvalidParameterError
            For a number of columns out of range, or an unknown one.

        Examples
        --------
        >>> from rankbound import GlobalPopularityBaseline
        >>> GlobalPopularityBaseline.fit([0, 0, 2], n_classes=3).popularity
        array([2., 0., 1.])
        """
        n_classes = None if n_classes is None else _as_class_count(n_classes)
        indices = label_indices(y_train, classes, n_classes, name="y_train")
        size = len(as_vector(classes, name="classes")) if n_classes is None else n_classes
        counted = indices[indices >= 0]
        if not len(counted):
            raise EmptyInputError("y_train has no label of any class: popularity cannot be counted")
        counts = np.bincount(counted, minlength=size).astype(np.float64)
        return cls(popularity=counts, n_unknown=int((indices == UNSEEN).sum()))

    @classmethod
    def of(cls, popularity: Any, n_classes: int) -> "GlobalPopularityBaseline":
        """Take a popularity that was counted elsewhere.

        Parameters
        ----------
        popularity : array_like of shape (n_classes,)
            Finite, at least 0; only its order and its ties matter for ranking.
        n_classes : int
            How many values there must be.

        Returns
        -------
        GlobalPopularityBaseline
            The popularity in float64.

        Raises
        ------
        InvalidTypeError, ShapeError, InvalidParameterError
            If it is not such a vector.
        """
        return cls(popularity=as_class_vector(popularity, n_classes, name="popularity", minimum=0.0))

    def scores(self, n_rows: int) -> NDArray[np.float64]:
        """Return the baseline's score matrix, as a read-only view.

        Parameters
        ----------
        n_rows : int
            Number of lists.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), dtype float64
            The popularity in every row.
        """
        return np.broadcast_to(self.popularity, (n_rows, len(self.popularity)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPopularityBaseline:
    """Ranks every list by popularity within its segment; unknown segments fall back to global popularity.

    Attributes
    ----------
    segments : ndarray of shape (n_segments,)
        The segments of the training data, sorted.
    table : ndarray of shape (n_segments + 1, n_classes), dtype float64
        Counts per segment; the last row holds those over all segments.
    """

    segments: NDArray[Any]
    table: NDArray[np.float64]

    @classmethod
    def fit(
        cls, y_train: Any, train_segments: Any, *, classes: Any = None, n_classes: int | None = None
    ) -> "SegmentPopularityBaseline":
        """Count training labels within segments.

        Parameters
        ----------
        y_train : array_like of shape (n_train,)
            Column indices, or labels when ``classes`` is given.
        train_segments : array_like of shape (n_train,)
            Segment of each training label, known before the outcome; one plain kind, none missing.
        classes, n_classes
            As in :meth:`GlobalPopularityBaseline.fit`.

        Returns
        -------
        SegmentPopularityBaseline
            Counts per segment and class.

        Raises
        ------
        ShapeError
            If the lengths differ.
        InvalidTypeError, EmptyInputError, UnknownLabelError
            For labels or segments that cannot be read.

        Examples
        --------
        >>> from rankbound import SegmentPopularityBaseline
        >>> baseline = SegmentPopularityBaseline.fit([0, 1, 1], ["de", "de", "fr"], n_classes=2)
        >>> baseline.scores(["fr", "it"])
        array([[0., 1.],
               [1., 2.]])
        """
        n_classes = None if n_classes is None else _as_class_count(n_classes)
        overall = GlobalPopularityBaseline.fit(y_train, classes=classes, n_classes=n_classes).popularity
        indices = label_indices(y_train, classes, n_classes, name="y_train")
        values = _complete(train_segments, "train_segments")
        if len(values) != len(indices):
            raise ShapeError(f"train_segments has {len(values)} entries, but y_train has {len(indices)}")
        segments, codes = np.unique(values, return_inverse=True)
        table = np.zeros((len(segments) + 1, len(overall)))
        counted = indices > max(UNSEEN, NO_TRUTH)
        np.add.at(table, (codes[counted], indices[counted]), 1.0)
        table[-1] = overall
        return cls(segments=segments, table=table)

    def codes(self, segments: Any) -> NDArray[np.uint32]:
        """Return the row of :attr:`table` for each list.

        Parameters
        ----------
        segments : array_like of shape (n_rows,)
            Segment of each list, of the kind of the training segments.

        Returns
        -------
        ndarray of shape (n_rows,), dtype uint32
            ``n_segments`` for a segment without training data.

        Raises
        ------
        InvalidTypeError
            For segments of another kind, or missing ones.
        """
        values = _complete(segments, "segments")
        if values.dtype.kind != self.segments.dtype.kind:
            raise InvalidTypeError(
                f"segments has dtype {values.dtype}, but train_segments has {self.segments.dtype}; convert one"
            )
        place = np.searchsorted(self.segments, values).clip(max=len(self.segments) - 1)
        return np.where(self.segments[place] == values, place, len(self.segments)).astype(np.uint32)

    def scores(self, segments: Any) -> NDArray[np.float64]:
        """Return the baseline's score matrix.

        Parameters
        ----------
        segments : array_like of shape (n_rows,)
            Segment of each list.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), dtype float64
            Popularity within each list's segment.
        """
        return self.table[self.codes(segments)]


@dataclass(frozen=True, slots=True)
class UniformRandomBaseline:
    """A ranker without preference: every order of the candidates is equally likely.

    Nothing is simulated: one tie group of all candidates has exact expectations.

    Attributes
    ----------
    n_classes : int
        Number of candidates, from 1 to 2^32 - 1.
    """

    n_classes: int

    def __post_init__(self) -> None:
        """Check the number of classes, and keep it as ``int``."""
        object.__setattr__(self, "n_classes", _as_class_count(self.n_classes))

    def expected(self, k: int = 10) -> dict[str, float]:
        """Return the expected metrics of a list with one truth.

        Parameters
        ----------
        k : int, default 10
            Cut-off, at least 1.

        Returns
        -------
        dict of str to float
            ``hit@k``, ``mrr@k`` and ``ndcg@k``.

        Raises
        ------
        InvalidKError
            For another cut-off.

        Examples
        --------
        >>> from rankbound import UniformRandomBaseline
        >>> UniformRandomBaseline(20).expected(10)["hit@10"]
        0.5
        """
        cut = as_cut_off(k)
        names = ("hit", "mrr", "ndcg")
        better, tied = np.zeros(1, dtype=np.uint32), np.full(1, self.n_classes, dtype=np.uint32)
        values = _core.list_values(better, tied, [(name, cut) for name in names], n_classes=self.n_classes)
        return {f"{name}@{cut}": float(value[0]) for name, value in zip(names, values, strict=True)}


def as_class_vector(values: Any, n_classes: int, *, name: str, minimum: float | None = None) -> NDArray[np.float64]:
    """Return one finite number per class in float64, below 2^40 in magnitude.

    Parameters
    ----------
    values : array_like of shape (n_classes,)
        The numbers.
    n_classes : int
        How many there must be.
    name : str
        The argument, for messages.
    minimum : float or None, default None
        Smallest number allowed.

    Returns
    -------
    ndarray of shape (n_classes,), dtype float64
        The numbers.

    Raises
    ------
    InvalidTypeError
        For a dtype that is not numeric.
    ShapeError
        For another shape.
    InvalidParameterError
        For a number out of range, naming the class.
    """
    numbers = as_finite_vector(values, name=name, of="class", minimum=minimum)
    if len(numbers) != n_classes:
        raise ShapeError(
            f"{name} has shape {numbers.shape}, but there are {n_classes} classes; give one value per class"
        )
    return numbers


def _as_class_count(value: Any) -> int:
    number = as_integer(value, name="n_classes")
    if not 1 <= number <= _MAX_CLASSES:
        limit = "at least 1" if number < 1 else "below 2^32"
        raise InvalidParameterError(f"n_classes must be {limit}, got {number}")
    return number


def _complete(labels: Any, name: str) -> NDArray[Any]:
    values, missing = split_missing(as_vector(labels, name=name), name=name)
    if missing.any():
        raise InvalidTypeError(f"{name} has no label at position {int(missing.argmax())}; give every entry one")
    return values
