"""Rows of scores against rows of truths, and means over rows with weights."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import resolve_num_threads
from rankbound._validation import as_numpy, as_score_matrix, check_finite
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError
from rankbound.evaluation.targets import Targets, as_targets
from rankbound.metrics import MetricSpec


def read(y_true: Any, y_score: Any) -> tuple[Targets, NDArray[Any]]:
    """Return truths and finite scores of one shape."""
    targets, matrix = as_targets(y_true, name="y_true"), as_score_matrix(y_score, name="y_score")
    if (len(targets), targets.n_items) != matrix.shape:
        raise ShapeError(
            f"y_true has shape {(len(targets), targets.n_items)}, but y_score has {matrix.shape}; they must be the same"
        )
    check_finite(matrix, mask_neg_inf=None, name="y_score")
    return targets, matrix


def profiles_of(targets: Targets, matrix: NDArray[Any]) -> _core.Profiles:
    """Return the tie profiles of rows of scores."""
    profiles, _ = _core.profile_scores(
        matrix,
        targets.core(graded=True),
        name="y_score",
        exclude=None,
        mask_neg_inf=False,
        drop_masked=False,
        num_threads=resolve_num_threads(None),
        progress=None,
    )
    return profiles


def evaluate(profiles: _core.Profiles, spec: MetricSpec, *, empty: float = 0.0) -> NDArray[np.float64]:
    """Return a metric of each row, and ``empty`` for rows in which nothing is relevant."""
    (values,), _ = _core.evaluate_lists(profiles, spec.core_metrics(), num_threads=resolve_num_threads(None))
    return np.where(profiles.n_relevant() == 0, empty, values)


def average(values: NDArray[np.float64], sample_weight: Any) -> float:
    """Return the mean over rows, whose sums are rounded once."""
    if sample_weight is None:
        return math.fsum(values) / len(values)
    weights = as_weights(sample_weight, len(values))
    if not weights.any():
        raise InvalidParameterError("sample_weight is 0 for all rows: give at least one a positive weight")
    return math.fsum(values * weights) / math.fsum(weights)


def as_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the weights of rows, finite and at least 0."""
    weights = as_numpy(sample_weight, name="sample_weight")
    if weights.shape != (n_rows,):
        raise ShapeError(f"sample_weight has shape {weights.shape}, but there are {n_rows} rows; give one weight each")
    if weights.dtype.kind not in "fiub":
        raise InvalidTypeError(f"sample_weight has dtype {weights.dtype}; convert it to float64")
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidParameterError(
            f"sample_weight has {weights[row]} at row {row}; weights must be finite and at least 0"
        )
    return weights.astype(np.float64)
