"""NDCG for LightGBM's training loop, exact under ties.

LightGBM's own ``ndcg@k`` ranks rows of equal score in their order in the data: with the better rows first, a model that
predicts one number for all is perfect. The value here is the expectation over the orders that the scores allow. Without
ties the two are equal, for the gains ``2**label - 1`` of LightGBM's default ``label_gain``; a group without positive
labels is worth 1, and a group weighs as much as the mean weight of its rows. One thing differs with weights: LightGBM
lets a group without positive labels weigh 1 in the sum whatever its weight, so that its mean can be above 1; here it
has its weight.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound.compat._boosting import GroupNDCG, as_sizes, as_weights, check_object
from rankbound.errors import InvalidParameterError

__all__ = ["eval_ndcg", "ranker_eval_ndcg"]


def eval_ndcg(
    k: int | None, *, gain: str = "exp2", no_positives: str = "one"
) -> Callable[[Any, Any], tuple[str, float, bool]]:
    """Return a function for ``feval`` of ``lightgbm.train`` and ``lightgbm.cv``.

    Parameters
    ----------
    k : int or None
        Cut-off; None takes whole groups.
    gain : {"exp2", "linear"}, default "exp2"
        ``2**label - 1``, LightGBM's default, or the label.
    no_positives : {"one", "zero", "skip"}, default "one"
        What a group without positive labels is worth: 1 as to LightGBM, 0, or nothing, being left out as in
        :mod:`rankbound` itself.

    Returns
    -------
    callable
        Takes predictions and a ``lightgbm.Dataset`` with groups; returns the key, such as ``"ndcg_exp2@10"``, the
        value, and that higher is better.

    Raises
    ------
    InvalidKError, InvalidParameterError
        For options out of range. The function itself refuses data sets without groups.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from rankbound.compat.lightgbm import eval_ndcg
    >>> data = SimpleNamespace(
    ...     get_label=lambda: np.array([1.0, 0.0, 0.0]),
    ...     get_group=lambda: np.array([3]),
    ...     get_weight=lambda: None,
    ... )
    >>> name, value, _ = eval_ndcg(1)(np.zeros(3), data)
    >>> name, round(value, 4)
    ('ndcg_exp2@1', 0.3333)
    """
    ndcg = GroupNDCG(k, gain=gain, no_positives=no_positives)

    def evaluate(preds: Any, eval_data: Any) -> tuple[str, float, bool]:
        methods = ("get_label", "get_weight", "get_group")
        check_object(eval_data, methods, name="eval_data", of="lightgbm.Dataset")
        return _evaluate(ndcg, eval_data.get_label(), preds, eval_data.get_weight(), eval_data.get_group())

    return evaluate


def ranker_eval_ndcg(
    k: int | None, *, gain: str = "exp2", no_positives: str = "one"
) -> Callable[[Any, Any, Any, Any], tuple[str, float, bool]]:
    """Return a function for ``eval_metric`` of ``LGBMRanker.fit``, which takes its arguments in another form.

    Parameters
    ----------
    k, gain, no_positives
        As in :func:`eval_ndcg`.

    Returns
    -------
    callable
        Takes labels, predictions, weights of the rows and sizes of the groups.

    Raises
    ------
    InvalidKError, InvalidParameterError
        As :func:`eval_ndcg`.

    Examples
    --------
    >>> from rankbound.compat.lightgbm import ranker_eval_ndcg
    >>> ranker_eval_ndcg(1)([1, 0], [0.5, 0.5], None, [2])
    ('ndcg_exp2@1', 0.5, True)
    """
    ndcg = GroupNDCG(k, gain=gain, no_positives=no_positives)

    def evaluate(y_true: Any, y_pred: Any, weight: Any, group: Any) -> tuple[str, float, bool]:
        return _evaluate(ndcg, y_true, y_pred, weight, group)

    return evaluate


def _evaluate(ndcg: GroupNDCG, labels: Any, scores: Any, weight: Any, group: Any) -> tuple[str, float, bool]:
    sizes = as_sizes([] if group is None else group)
    if not len(sizes):
        raise InvalidParameterError("the data set has no groups: set them, e.g. lightgbm.Dataset(..., group=sizes)")
    weights = None if weight is None else _means(as_weights(weight, int(sizes.sum()), of="row"), sizes)
    return ndcg.name, ndcg.mean(labels, scores, sizes, weights), True


def _means(weights: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return np.bincount(groups, weights, minlength=len(sizes)) / np.maximum(sizes, 1)
