from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Scores: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

__all__ = ["Transform", "__version__", "available_threads", "dead_classes", "fit_knots", "transform_scores"]

__version__: str

def available_threads() -> int: ...

@final
class Transform:
    @staticmethod
    def identity() -> Transform: ...
    @staticmethod
    def rates(
        counts: NDArray[np.int64],
        n_labelled: int,
        dead: NDArray[np.bool_],
        *,
        popularity_discount: float,
        shrinkage_strength: float,
    ) -> Transform: ...
    @staticmethod
    def percentile(
        values: NDArray[np.float64],
        less: NDArray[np.uint32],
        equal: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        dead: NDArray[np.bool_],
    ) -> Transform: ...

def transform_scores(
    scores: _Scores, transform: Transform, *, mask_neg_inf: bool, num_threads: int
) -> NDArray[np.float64]: ...
def fit_knots(
    reference: _Scores, *, n_knots: int, mask_neg_inf: bool, num_threads: int
) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64], NDArray[np.bool_]]: ...
def dead_classes(reference: _Scores, *, mask_neg_inf: bool, num_threads: int) -> NDArray[np.bool_]: ...
