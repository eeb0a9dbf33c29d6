"""NDCG for XGBoost's training loop, exact under ties.

XGBoost's own ``ndcg@k`` ranks rows of equal score in their order in the data: with the better rows first, a model that
predicts one number for all is perfect. The value here is the expectation over the orders that the scores allow. Without
ties the two are equal: the gain is ``2**label - 1`` (``gain="linear"`` stands for ``ndcg_exp_gain=False``), a group
without positive labels is worth 1 (``no_positives="zero"`` stands for ``"ndcg@10-"``), and groups are weighted by the
weights of the ``DMatrix``, of which there is one per group. One thing differs with weights: XGBoost lets a group
without positive labels weigh 1 in the sum whatever its weight, so that its mean can be above 1; here it has its weight.

``XGBRanker`` refuses functions of one's own, so this is for ``xgboost.train`` and ``xgboost.cv``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankbound.compat._boosting import GroupNDCG, check_object

__all__ = ["eval_ndcg"]


def eval_ndcg(
    k: int | None, *, gain: str = "exp2", no_positives: str = "one"
) -> Callable[[Any, Any], tuple[str, float]]:
    """Return a function for ``custom_metric`` of ``xgboost.train`` and ``xgboost.cv``.

    Parameters
    ----------
    k : int or None
        Cut-off; None takes whole groups.
    gain : {"exp2", "linear"}, default "exp2"
        ``2**label - 1``, XGBoost's default, or the label.
    no_positives : {"one", "zero", "skip"}, default "one"
        What a group without positive labels is worth: 1 as to XGBoost, 0, or nothing, being left out as in
        :mod:`rankbound` itself.

    Returns
    -------
    callable
        Takes predictions and a ``xgboost.DMatrix``, whose rows are one group if it has none; returns the key, such as
        ``"ndcg_exp2@10"``, which early stopping knows to maximise, and the value.

    Raises
    ------
    InvalidKError, InvalidParameterError
        For options out of range.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from rankbound.compat.xgboost import eval_ndcg
    >>> data = SimpleNamespace(
    ...     get_label=lambda: np.array([1.0, 0.0, 0.0, 2.0]),
    ...     get_uint_info=lambda name: np.array([0, 2, 4]),
    ...     get_weight=lambda: np.array([]),
    ... )
    >>> eval_ndcg(1)(np.zeros(4), data)
    ('ndcg_exp2@1', 0.5)
    """
    ndcg = GroupNDCG(k, gain=gain, no_positives=no_positives)

    def evaluate(preds: Any, dtrain: Any) -> tuple[str, float]:
        check_object(dtrain, ("get_label", "get_uint_info", "get_weight"), name="dtrain", of="xgboost.DMatrix")
        labels = dtrain.get_label()
        ends = np.asarray(dtrain.get_uint_info("group_ptr"), dtype=np.int64)
        sizes = np.diff(ends) if len(ends) else np.array([len(labels)])
        weights = np.asarray(dtrain.get_weight(), dtype=np.float64)
        return ndcg.name, ndcg.mean(labels, preds, sizes, weights if len(weights) else None)

    return evaluate
