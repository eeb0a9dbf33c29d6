"""NDCG of CatBoost models by iteration, exact under ties.

CatBoost's own ``NDCG`` ranks rows of equal score from the worst to the best: a model that predicts one number for all
is worth the least it can be. The value here is the expectation over the orders that the scores allow. Without ties the
two are equal, and a group without positive labels is worth 1.

CatBoost does not tell metrics of one's own what the groups are, so this is no object for ``eval_metric``: it stands
beside ``model.eval_metrics`` and is called after training. Nor does a pool hand out its group weights, which are
therefore given again.
"""

from typing import Any

import numpy as np

from rankbound.compat._boosting import GroupNDCG, as_weights, check_object
from rankbound.errors import InvalidParameterError

__all__ = ["eval_ndcg"]


def eval_ndcg(
    model: Any,
    data: Any,
    k: int | None,
    *,
    gain: str = "linear",
    no_positives: str = "one",
    group_weight: Any = None,
    ntree_start: int = 0,
    ntree_end: int = 0,
    eval_period: int = 1,
) -> dict[str, list[float]]:
    """Return the NDCG of a model after each of its trees, as ``model.eval_metrics`` does for ``"NDCG:top=k"``.

    Parameters
    ----------
    model : catboost.CatBoost
        A trained model, such as a ``CatBoostRanker``.
    data : catboost.Pool
        Rows with labels and group ids.
    k : int or None
        Cut-off; None takes whole groups.
    gain : {"linear", "exp2"}, default "linear"
        The label, which is CatBoost's default ``type=Base``, or ``2**label - 1``, its ``type=Exp``.
    no_positives : {"one", "zero", "skip"}, default "one"
        What a group without positive labels is worth: 1 as to CatBoost, 0, or nothing, being left out as in
        :mod:`rankbound` itself.
    group_weight : array_like of shape (n_rows,) or None, default None
        Weight of each row's group, as given to the pool; None weighs all groups alike.
    ntree_start, ntree_end, eval_period : int
        Trees to use, and after how many to evaluate, as in ``model.eval_metrics``.

    Returns
    -------
    dict of str to list of float
        The values by iteration, under the key of the metric, such as ``"ndcg_linear@10"``.

    Raises
    ------
    InvalidKError, InvalidParameterError, ShapeError
        For options out of range, weights that are not as many as rows, and a pool without groups.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from rankbound.compat.catboost import eval_ndcg
    >>> pool = SimpleNamespace(get_label=lambda: [1.0, 0.0], get_group_id_hash=lambda: np.array([7, 7]))
    >>> model = SimpleNamespace(staged_predict=lambda pool, **options: iter([np.zeros(2), np.array([1.0, 0.0])]))
    >>> eval_ndcg(model, pool, 1)
    {'ndcg_linear@1': [0.5, 1.0]}
    """
    ndcg = GroupNDCG(k, gain=gain, no_positives=no_positives)
    check_object(data, ("get_group_id_hash", "get_label"), name="data", of="catboost.Pool")
    groups = np.asarray(data.get_group_id_hash())
    if not len(groups):
        raise InvalidParameterError("data has no groups: set them, e.g. catboost.Pool(..., group_id=ids)")
    firsts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    sizes = np.diff(firsts, append=len(groups))
    weights = None
    if group_weight is not None:
        weights = as_weights(group_weight, len(groups), of="row", name="group_weight")[firsts]
    labels = np.asarray(data.get_label(), dtype=np.float64)
    check_object(model, ("staged_predict",), name="model", of="CatBoost model")
    stages = model.staged_predict(
        data, prediction_type="RawFormulaVal", ntree_start=ntree_start, ntree_end=ntree_end, eval_period=eval_period
    )
    return {ndcg.name: [ndcg.mean(labels, scores, sizes, weights) for scores in stages]}
