"""NDCG of groups of rows, which the evaluation functions of all gradient boosters share."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._messages import shortened
from rankbound._options import as_choice, as_cut_off, resolve_num_threads
from rankbound._validation import as_numpy
from rankbound.errors import GradeError, InvalidParameterError, InvalidTypeError, NonFiniteScoreError, ShapeError
from rankbound.evaluation.targets import Targets
from rankbound.metrics import NDCG

NO_POSITIVES = {"one": 1.0, "zero": 0.0, "skip": math.nan}
"""What a group without positive labels is worth, by the name of the option."""


class GroupNDCG:
    """NDCG of groups of rows, in expectation over ties.

    Parameters
    ----------
    k : int or None
        Cut-off; None takes whole groups.
    gain : {"exp2", "linear"}
        ``2**label - 1``, or the label.
    no_positives : {"one", "zero", "skip"}
        What becomes of a group without positive labels.
    """

    def __init__(self, k: int | None, *, gain: str, no_positives: str) -> None:
        chosen = as_choice(gain, ("exp2", "linear"), name="gain")
        self.spec = NDCG(None if k is None else as_cut_off(k), gain="exp2" if chosen == "exp2" else "linear")
        self._empty = NO_POSITIVES[as_choice(no_positives, tuple(NO_POSITIVES), name="no_positives")]

    @property
    def name(self) -> str:
        """Key of the metric, such as ``ndcg_exp2@10``."""
        return self.spec.result_keys[0]

    def mean(self, labels: Any, scores: Any, sizes: Any, weights: Any) -> float:
        """Return the mean over groups.

        Parameters
        ----------
        labels, scores : array_like of shape (n_rows,)
            Grades of at least 0, and finite predictions.
        sizes : array_like of shape (n_groups,)
            Rows of each group; the groups follow one another.
        weights : array_like of shape (n_groups,) or None
            Weights of the groups.

        Returns
        -------
        float
            From 0 to 1, higher is better; NaN if every group is left out.

        Raises
        ------
        ShapeError, GradeError, NonFiniteScoreError
            For rows that do not add up, and for labels and predictions that cannot be used, naming the first row.
        """
        grades, predicted = _numbers(labels, "labels").astype(np.float64), _numbers(scores, "predictions")
        lengths = as_sizes(sizes)
        if grades.ndim != 1 or predicted.shape != grades.shape or lengths.sum() != len(grades):
            raise ShapeError(
                f"there are {grades.shape} labels, {predicted.shape} predictions and groups of {lengths.sum()} rows; "
                "give one label and one prediction per row of the groups"
            )
        _refuse(~((grades >= 0) & np.isfinite(grades)), grades, "label", "be finite and at least 0", GradeError)
        _refuse(~np.isfinite(predicted), predicted, "prediction", "be finite", NonFiniteScoreError)
        values = self._values(grades, predicted, lengths)
        # The boosters leave out groups without rows.
        counted = (lengths > 0) & ~np.isnan(values)
        if not counted.any():
            return math.nan
        if weights is None:
            return math.fsum(values[counted]) / int(counted.sum())
        of_groups = as_weights(weights, len(lengths), of="group")
        total = math.fsum(of_groups[counted])
        if not total > 0:
            raise InvalidParameterError(f"the weights of the groups add up to {total}; they must be positive")
        return math.fsum(values[counted] * of_groups[counted]) / total

    def _values(
        self, grades: NDArray[np.float64], scores: NDArray[Any], lengths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        groups = np.repeat(np.arange(len(lengths)), lengths)
        starts = np.cumsum(lengths) - lengths
        items = np.arange(len(grades)) - starts[groups]
        order = np.lexsort((-scores.astype(np.float64), groups))
        positive = grades > 0
        n_positive = np.bincount(groups[positive], minlength=len(lengths))
        target_starts = np.concatenate([[0], np.cumsum(n_positive)])
        n_items = int(lengths.max(initial=1))
        targets = Targets(target_starts, items[positive].astype(np.uint32), grades[positive], n_items)
        targets.check_grades([self.spec])
        threads = resolve_num_threads(None)
        profiles, _ = _core.profile_lists(
            items[order],
            scores[order].astype(np.float64),
            starts.astype(np.uint64),
            lengths.astype(np.uint64),
            targets.core(graded=True),
            name="scores",
            open_tie="as_listed",
            cut_off=n_items,
            keep_first=False,
            check_scores=False,
            num_threads=threads,
        )
        (values,), _ = _core.evaluate_lists(profiles, self.spec.core_metrics(), num_threads=threads)
        return np.where(n_positive == 0, self._empty, values)


def check_object(data: Any, methods: Sequence[str], *, name: str, of: str) -> None:
    """Refuse what is no object of a booster.

    Parameters
    ----------
    data : object
        The data set or model.
    methods : sequence of str
        Methods that will be called.
    name : str
        The argument, for messages.
    of : str
        What it must be, for messages.

    Raises
    ------
    InvalidTypeError
        If it lacks one of them.
    """
    if not all(callable(getattr(data, method, None)) for method in methods):
        raise InvalidTypeError(f"{name} must be a {of}, got {shortened(data)}")


def as_sizes(sizes: Any) -> NDArray[np.int64]:
    """Return the number of rows of each group."""
    numbers = _numbers(sizes, "groups")
    if numbers.ndim != 1:
        raise ShapeError(f"groups has shape {numbers.shape}; give the number of rows of each group")
    wrong = ~((numbers >= 0) & (numbers % 1 == 0))
    if wrong.any():
        place = int(wrong.argmax())
        raise ShapeError(f"groups has {numbers[place]} at position {place}; give the number of rows of each group")
    return numbers.astype(np.int64)


def as_weights(weights: Any, n: int, *, of: str, name: str = "weights") -> NDArray[np.float64]:
    """Return one weight per row or group."""
    numbers = _numbers(weights, name)
    if numbers.shape != (n,):
        raise ShapeError(f"{name} has shape {numbers.shape}, but there are {n} {of}s; give one weight per {of}")
    return numbers.astype(np.float64)


def _numbers(values: Any, name: str) -> NDArray[Any]:
    numbers = as_numpy(values, name=name)
    if numbers.dtype.kind not in "fiub":
        raise InvalidTypeError(f"{name} has dtype {numbers.dtype}; it must hold numbers")
    return numbers


def _refuse(wrong: NDArray[np.bool_], values: NDArray[Any], what: str, must: str, error: type[ValueError]) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise error(f"the {what} at row {row} is {values[row]}; it must {must}")
