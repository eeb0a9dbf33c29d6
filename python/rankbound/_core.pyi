from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Scores: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

__all__ = [
    "Scan",
    "ScanBlock",
    "Transform",
    "__version__",
    "available_threads",
    "bootstrap_limits",
    "dead_classes",
    "exact_mean",
    "exact_sum",
    "exposure_entropy",
    "exposure_gini",
    "fit_knots",
    "gap_intervals",
    "group_sums",
    "linearised_error",
    "list_values",
    "overlap_lists",
    "scan_scores",
    "sign_flip_p_values",
    "tie_spread",
    "top_columns",
    "transform_scores",
]

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

_AnyScores: TypeAlias = NDArray[np.floating[Any]] | NDArray[np.integer[Any]]
_Floats: TypeAlias = NDArray[np.float64]
_Codes: TypeAlias = NDArray[np.uint32]

@final
class ScanBlock:
    @property
    def better(self) -> _Codes: ...
    @property
    def tied(self) -> _Codes: ...
    @property
    def exposure(self) -> _Floats: ...
    @property
    def seen(self) -> _Floats: ...
    @property
    def n_tied_at_cut(self) -> int: ...

@final
class Scan:
    @property
    def blocks(self) -> list[ScanBlock]: ...
    @property
    def n_candidates(self) -> _Codes: ...
    @property
    def uniform_exposure(self) -> _Floats: ...
    @property
    def uniform_seen(self) -> _Floats: ...
    @property
    def n_masked_truth(self) -> int: ...

def scan_scores(
    scores: _AnyScores,
    rows: NDArray[np.int64],
    truths: NDArray[np.int64],
    transforms: Sequence[Transform],
    popularity: Sequence[tuple[_Floats, _Codes]],
    *,
    k: int,
    exclude: tuple[NDArray[np.int64], _Codes] | None,
    mask_neg_inf: bool,
    exposed: NDArray[np.bool_] | None,
    num_threads: int,
    progress: Callable[[int, int], object] | None,
) -> Scan: ...
def list_values(
    better: _Codes, tied: _Codes, metrics: Sequence[tuple[str, int]], *, n_classes: int
) -> list[_Floats]: ...
def tie_spread(
    better: _Codes, tied: _Codes, metrics: Sequence[tuple[str, int]], *, n_classes: int, served: _Codes | None
) -> list[tuple[float, float, float]]: ...
def exact_mean(values: _Floats) -> float: ...
def exact_sum(values: _Floats) -> float: ...
def group_sums(values: _Floats, codes: _Codes, n_groups: int) -> tuple[_Floats, _Floats, NDArray[np.uint64]]: ...
def exposure_entropy(exposure: _Floats) -> float: ...
def exposure_gini(exposure: _Floats) -> float: ...
def bootstrap_limits(
    seed_words: NDArray[np.uint64],
    series: Sequence[_Floats],
    counts: _Floats | None,
    gaps: Sequence[tuple[int, int]],
    *,
    n_resamples: int,
    confidence_level: float,
    num_threads: int,
    progress: Callable[[int, int], object] | None,
) -> list[tuple[float, float]]: ...
def gap_intervals(
    seed_words: NDArray[np.uint64],
    series: Sequence[_Floats],
    counts: _Floats | None,
    gaps: Sequence[tuple[int, int]],
    *,
    method: str,
    confidence_level: float,
    alternative: str,
    n_resamples: int,
    num_threads: int,
    progress: Callable[[int, int], object] | None,
) -> list[tuple[float, float, float, float, int]]: ...
def sign_flip_p_values(
    seed_words: NDArray[np.uint64],
    series: Sequence[_Floats],
    gaps: Sequence[tuple[int, int]],
    *,
    alternative: str,
    n_resamples: int,
    num_threads: int,
    progress: Callable[[int, int], object] | None,
) -> list[tuple[float, bool]]: ...
def linearised_error(candidate: _Floats, baseline: _Floats, counts: _Floats | None) -> float: ...
def overlap_lists(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    *,
    a_scores: _Floats | None,
    b_scores: _Floats | None,
    k: int,
    persistence: float,
    num_threads: int,
) -> tuple[_Floats, _Floats]: ...
def top_columns(
    scores: _AnyScores,
    *,
    k: int,
    exclude: tuple[NDArray[np.int64], _Codes] | None,
    mask_neg_inf: bool,
    num_threads: int,
) -> tuple[_Codes, _Codes]: ...
