"""The relevant items of each list, checked once, with a digest that does not depend on batches."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankbound._validation import as_numpy
from rankbound.errors import (
    EmptyInputError,
    GainOverflowError,
    GradeError,
    InvalidTypeError,
    RankboundError,
    ShapeError,
)
from rankbound.evaluation.slices import Group
from rankbound.metrics import ERR, RBP, MetricSpec

# Gains must stay below this power of two, so that they can be summed exactly.
_GAIN_BITS = 40


class CoreTargets(NamedTuple):
    """Targets as the core reads them."""

    starts: NDArray[np.int64]
    items: NDArray[np.uint32]
    grades: NDArray[np.float64] | None
    n_items: int
    keeps_items: bool = False


@dataclass(frozen=True, slots=True)
class Targets:
    """Relevant items per list, as in a CSR matrix: rising and distinct within a list, grades above 0.

    Tie profiles against them can be told apart by items if ``keeps_items``.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.uint32]
    grades: NDArray[np.float64]
    n_items: int
    keeps_items: bool = field(default=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Relevant items of each list."""
        return np.diff(self.starts)

    def core(self, *, graded: bool) -> CoreTargets:
        """Return what the core takes."""
        return CoreTargets(self.starts, self.items, self.grades if graded else None, self.n_items, self.keeps_items)

    def keeping_items(self) -> Self:
        """Return the same targets, whose profiles can be told apart by items."""
        return self if self.keeps_items else replace(self, keeps_items=True)

    def rows(self, first: int, last: int) -> "Targets":
        """Return the lists from ``first`` up to ``last``, exclusive."""
        starts = self.starts[first : last + 1]
        within = slice(starts[0], starts[-1])
        return Targets(
            starts - starts[0], self.items[within], self.grades[within], self.n_items, keeps_items=self.keeps_items
        )

    def of_group(self, group: Group) -> "Targets":
        """Return the targets that are among the items of a group."""
        keep = group.has(self.items)
        before = np.concatenate([[0], np.cumsum(keep)])
        return Targets(before[self.starts], self.items[keep], self.grades[keep], self.n_items)

    def check_grades(self, metrics: Sequence[MetricSpec]) -> None:
        """Refuse grades that a metric cannot use.

        Parameters
        ----------
        metrics : sequence of MetricSpec
            The metrics to compute.

        Raises
        ------
        GainOverflowError
            For a gain above 2^40, naming the first row and item.
        GradeError
            For a grade above what the metric allows.
        """
        for metric in metrics:
            if not metric.is_graded or not len(self.grades):
                continue
            if isinstance(metric, ERR):
                hint = f"is above max_grade={metric.max_grade:g}: raise max_grade or cap the grades"
                self._refuse(self.grades > metric.max_grade, hint, GradeError)
            elif isinstance(metric, RBP):
                hint = f"is above 1, the most that {metric.label} takes: rescale the grades to at most 1"
                self._refuse(self.grades > 1, hint, GradeError)
            else:
                exponential = getattr(metric, "gain", "") == "exp2"
                # An exponential gain is one less than the power.
                wrong = self.grades > _GAIN_BITS if exponential else self.grades >= 2.0**_GAIN_BITS
                hint = f"has a gain of 2^{_GAIN_BITS} or more under {metric.label}: rescale the grades"
                self._refuse(wrong, hint + (" or use linear gain" if exponential else ""), GainOverflowError)

    def _refuse(self, wrong: NDArray[np.bool_], hint: str, error: type[GradeError]) -> None:
        if wrong.any():
            at = int(wrong.argmax())
            row = int(np.searchsorted(self.starts, at, side="right")) - 1
            raise error(f"targets has the grade {self.grades[at]:g} at row {row}, item {self.items[at]}, which {hint}")


def check_not_empty(targets: Targets) -> None:
    """Refuse targets without rows."""
    if not len(targets):
        raise EmptyInputError("targets has no rows: there is nothing to evaluate")


def as_targets(targets: Any, *, name: str = "targets") -> Targets:
    """Return relevant items as checked CSR arrays.

    Parameters
    ----------
    targets : scipy sparse matrix or array_like of shape (n_rows, n_items)
        Grades; items with a grade above 0 are relevant. Booleans are grades of 1. Stored zeros are dropped, entries
        stored twice are added, as scipy does.
    name : str, default "targets"
        The argument, for messages.

    Returns
    -------
    Targets
        The relevant items.

    Raises
    ------
    InvalidTypeError
        For anything that is neither a sparse matrix nor a numeric array.
    ShapeError
        For other than two dimensions, or a damaged sparse matrix.
    GradeError
        For a grade that is negative, NaN or infinite, naming row and item.
    """
    from scipy import sparse  # noqa: PLC0415 - slow to load, and mostly loaded by the caller

    if sparse.issparse(targets):
        matrix = targets
    else:
        dense = as_numpy(targets, name=name)
        if dense.dtype.kind not in "biuf" or dense.dtype.char == "g":
            raise InvalidTypeError(
                f"{name} has dtype {dense.dtype}: pass a scipy sparse matrix (or an array) of grades, one row per "
                "list, one column per item"
            )
        if dense.ndim != 2:
            raise ShapeError(f"{name} has shape {dense.shape}; it must have two dimensions: lists and items")
        if dense.dtype.char == "e":
            # scipy knows no half precision, which single precision holds exactly.
            places = dense.nonzero()
            matrix = sparse.coo_array((dense[places].astype(np.float32), places), shape=dense.shape)
        else:
            matrix = sparse.csr_array(dense)
    return _from_sparse(matrix, name)


def _from_sparse(matrix: Any, name: str) -> Targets:
    if matrix.ndim != 2:
        raise ShapeError(f"{name} has shape {matrix.shape}; it must have two dimensions: lists and items")
    if not matrix.shape[1]:
        raise ShapeError(f"{name} has shape {matrix.shape}; it must have a column for each item that can be listed")
    if matrix.dtype.kind not in "biuf" or matrix.dtype.char == "g":
        raise InvalidTypeError(f"{name} holds {matrix.dtype}; grades must be float16/32/64, integers or booleans")
    n_items = int(matrix.shape[1])
    if n_items >= 2**32:
        raise ShapeError(f"{name} has {n_items} items; at most 2^32 - 1 can be told apart")
    try:
        csr = _as_csr(matrix, name)
    except (ValueError, IndexError, TypeError) as error:
        if isinstance(error, RankboundError):
            raise
        raise ShapeError(
            f"{name} is a damaged sparse matrix: {error}; build it anew, e.g. from its coordinates"
        ) from error
    starts, items, grades = csr.indptr.astype(np.int64), csr.indices.astype(np.uint32), csr.data
    kept = grades > 0
    if not kept.all():
        before = np.concatenate([[0], np.cumsum(kept)])
        starts, items, grades = before[starts], items[kept], grades[kept]
    return Targets(starts, items, grades, n_items)


def _as_csr(matrix: Any, name: str) -> Any:
    """Return rows of distinct, rising items with float64 grades, each entry checked before entries are added up."""
    from scipy import sparse  # noqa: PLC0415 - see as_targets

    if matrix.format == "csr":
        matrix.check_format(full_check=True)
        rows = None
    else:
        matrix = matrix.tocoo()
        rows = matrix.row
    grades = matrix.data
    # The least and largest are NaN if any is, and found without an array of flags.
    if grades.size and not (grades.min() >= 0 and grades.max() < np.inf):
        at = int((~((grades >= 0) & (grades < np.inf))).argmax())
        row = rows[at] if rows is not None else int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        item = matrix.col[at] if rows is not None else matrix.indices[at]
        raise GradeError(
            f"{name} has the grade {grades[at]:g} at row {row}, item {item}: grades must be finite and at least 0; 0 "
            "means not relevant"
        )
    grades = grades.astype(np.float64)
    if rows is not None:
        csr = sparse.coo_array((grades, (rows, matrix.col)), shape=matrix.shape).tocsr()
    else:
        csr = sparse.csr_array((grades, matrix.indices, matrix.indptr), shape=matrix.shape)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr
