"""Which lists tell two results apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_positive, as_text
from rankbound.compare.protocol import protocol_differences
from rankbound.errors import InvalidParameterError
from rankbound.evaluation.result import EvaluationResult, Mover, Movers


def find_movers(result: EvaluationResult, other: EvaluationResult, metric: str, *, n: int) -> Movers:
    """Do what :meth:`EvaluationResult.movers` describes."""
    count, metric = as_positive(n, name="n"), as_text(metric, name="metric")
    values, others = (_values(of, metric, name) for of, name in ((result, "this result"), (other, "other")))
    ids: Any = result.sample_ids
    if len(values) != len(others) or not np.array_equal(ids, np.asarray(other.sample_ids)):
        raise InvalidParameterError(
            f"the results are over different lists ({len(values)} and {len(others)} scored ones, or other sample ids); "
            "evaluate both on the same targets, in the same order"
        )
    if result.target_fingerprint != other.target_fingerprint:
        raise InvalidParameterError("the results are over different targets; evaluate both on the same ones")
    differing = protocol_differences(result.protocol, other.protocol)
    if differing:
        raise InvalidParameterError(f"the results follow different protocols: {'; '.join(differing)}")
    with np.errstate(invalid="ignore"):
        # Equal infinities do not differ.
        differences = np.where(values == others, 0.0, values - others)
    order = np.argsort(-np.abs(differences), kind="stable")

    def first(rows: NDArray[np.intp]) -> tuple[Mover, ...]:
        return tuple(
            Mover(
                sample_id=ids[row].item() if hasattr(ids[row], "item") else ids[row],
                value=float(values[row]),
                other=float(others[row]),
                difference=float(differences[row]),
            )
            for row in rows[:count]
        )

    return Movers(gained=first(order[differences[order] > 0]), lost=first(order[differences[order] < 0]))


def _values(result: EvaluationResult, metric: str, name: str) -> NDArray[np.float64]:
    if not isinstance(result, EvaluationResult) or result.per_user is None:
        raise InvalidParameterError(f"{name} has no values per list; evaluate with collect_per_user=True")
    if metric not in result.per_user:
        raise InvalidParameterError(f"{name} has no metric {metric!r}; it has {', '.join(result.per_user)}")
    return np.asarray(result.per_user[metric], dtype=np.float64)
