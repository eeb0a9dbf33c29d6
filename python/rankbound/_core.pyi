from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from rankbound._exclusion import Exclusion

_Scores: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
_AnyScores: TypeAlias = NDArray[np.floating[Any]] | NDArray[np.integer[Any]]

__all__ = [
    "ExposureSums",
    "GroupSums",
    "ListMeasure",
    "ListSums",
    "Profiles",
    "RefusedPair",
    "Scan",
    "ScanBlock",
    "Transform",
    "__version__",
    "available_threads",
    "bootstrap_limits",
    "catalogue_embeddings",
    "catalogue_lists",
    "catalogue_scores",
    "dead_classes",
    "evaluate_lists",
    "exact_log_mean",
    "exact_mean",
    "exact_sum",
    "exposure_entropy",
    "exposure_gini",
    "fingerprint",
    "fit_knots",
    "gap_intervals",
    "group_qrels",
    "group_sums",
    "join_texts",
    "linearised_error",
    "list_values",
    "overlap_lists",
    "places_of",
    "profile_embeddings",
    "profile_lists",
    "profile_runs",
    "profile_scores",
    "read_trec",
    "scan_scores",
    "sign_flip_p_values",
    "sum_pairs",
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
    scores: _AnyScores, transform: Transform, *, mask_neg_inf: bool, num_threads: int
) -> NDArray[np.float64]: ...
def fit_knots(
    reference: _AnyScores, *, n_knots: int, mask_neg_inf: bool, num_threads: int
) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64], NDArray[np.bool_]]: ...
def dead_classes(reference: _AnyScores, *, mask_neg_inf: bool, num_threads: int) -> NDArray[np.bool_]: ...

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
    @property
    def disparity(self) -> float: ...

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
    exclude: Exclusion | None,
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
def exact_log_mean(logarithms: _Floats) -> float: ...
def sum_pairs(
    y_true: _AnyScores,
    y_pred: _AnyScores,
    weights: _Floats | None,
    *,
    refuse_ties: bool,
    num_threads: int,
) -> list[tuple[int, int, int, int, int]]: ...
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
    log_scales: Sequence[float | None],
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
    exclude: Exclusion | None,
    mask_neg_inf: bool,
    num_threads: int,
) -> tuple[_Codes, _Codes]: ...

_Vectors: TypeAlias = NDArray[np.float32] | NDArray[np.float16]

class _Targets(Protocol):
    @property
    def starts(self) -> NDArray[np.int64]: ...
    @property
    def items(self) -> _Codes: ...
    @property
    def grades(self) -> _Floats | None: ...
    @property
    def n_items(self) -> int: ...
    @property
    def keeps_items(self) -> bool: ...

class _ListMetric(Protocol):
    @property
    def family(self) -> str: ...
    @property
    def k(self) -> int | None: ...
    @property
    def gain(self) -> str: ...
    @property
    def discount(self) -> str: ...
    @property
    def parameter(self) -> float: ...

@final
class Profiles:
    def __len__(self) -> int: ...
    def n_relevant(self) -> _Codes: ...
    def of_group(self, codes: NDArray[np.int32], code: int) -> Profiles: ...
    def groups(self) -> tuple[NDArray[np.uint64], _Codes, _Codes, _Codes]: ...

@final
class ListSums:
    def merge(self, other: ListSums) -> ListSums: ...
    def store(self) -> list[NDArray[np.uint64]]: ...
    @staticmethod
    def restore(stored: Sequence[NDArray[np.uint64]]) -> ListSums: ...
    def __reduce__(self) -> tuple[Any, tuple[list[NDArray[np.uint64]]]]: ...
    def means(self) -> list[tuple[int, float, float, float, float | None, float]]: ...

def profile_scores(
    scores: _AnyScores,
    targets: _Targets,
    *,
    name: str,
    exclude: Exclusion | None,
    mask_neg_inf: bool,
    drop_masked: bool,
    num_threads: int,
    progress: Callable[[int, int], object] | None,
) -> tuple[Profiles, int]: ...
def profile_embeddings(
    queries: _Vectors,
    items: _Vectors,
    targets: _Targets,
    *,
    item_bias: NDArray[np.float32] | None,
    exclude: Exclusion | None,
    similarity: str,
    drop_masked: bool,
    num_threads: int,
    progress: Callable[[int, int], object] | None,
) -> tuple[Profiles, int]: ...
def profile_lists(
    items: NDArray[np.int32] | NDArray[np.int64],
    scores: _Scores | None,
    starts: NDArray[np.uint64],
    lengths: NDArray[np.uint64],
    targets: _Targets,
    *,
    name: str,
    open_tie: str,
    cut_off: int,
    keep_first: bool,
    check_scores: bool,
    num_threads: int,
) -> tuple[Profiles, int]: ...
def fingerprint(targets: _Targets, *, num_threads: int) -> tuple[list[int], list[int]]: ...
def evaluate_lists(
    profiles: Profiles, metrics: Sequence[_ListMetric], *, num_threads: int
) -> tuple[list[_Floats], ListSums]: ...

class RefusedPair(Exception): ...  # noqa: N818 - becomes one of rankbound.errors once the row has names

_Texts: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64]]
_Views: TypeAlias = tuple[NDArray[np.uint8], list[NDArray[np.uint8]]]
_Ids: TypeAlias = NDArray[np.int32] | NDArray[np.int64] | _Texts | _Views
_OwnIds: TypeAlias = NDArray[np.int64] | _Texts

def join_texts(objects: NDArray[np.object_]) -> _Texts | None: ...
def places_of(ids: _Ids, among: _Ids, *, num_threads: int) -> NDArray[np.int64]: ...
def group_qrels(
    queries: _Ids, items: _Ids, grades: _Scores, *, num_threads: int
) -> tuple[_OwnIds, _OwnIds, NDArray[np.int64], _Codes, _Floats]: ...
def profile_runs(
    queries: _Ids,
    items: _Ids,
    values: _Scores,
    targets: _Targets,
    query_ids: _Ids,
    item_ids: _Ids,
    *,
    tie_break: str,
    open_tie: str,
    cut_off: int,
    num_threads: int,
) -> tuple[Profiles, tuple[int, int, int, int]]: ...
def read_trec(text: bytes, *, value: str) -> tuple[_Texts, _Texts, _Floats]: ...

_RankWeights: TypeAlias = tuple[str, float]

@final
class ListMeasure:
    @staticmethod
    def mean_weight(weights: _Floats) -> ListMeasure: ...
    @staticmethod
    def cosine_diversity(features: _Floats) -> ListMeasure: ...
    @staticmethod
    def distance_diversity(distances: _Floats) -> ListMeasure: ...
    @staticmethod
    def serendipity(popularity: _Floats, k: int) -> ListMeasure: ...
    @staticmethod
    def expected_exposure(weights: _RankWeights, k: int, n_items: int) -> ListMeasure: ...

@final
class ExposureSums:
    def merge(self, other: ExposureSums) -> ExposureSums: ...
    def exposure(self) -> tuple[_Floats, _Floats]: ...
    def store(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
    @staticmethod
    def restore(certain: NDArray[np.uint64], sums: NDArray[np.int64]) -> ExposureSums: ...
    def __reduce__(self) -> tuple[Any, tuple[NDArray[np.uint64], NDArray[np.int64]]]: ...

@final
class GroupSums:
    @staticmethod
    def of(values: _Floats, codes: _Codes, n_groups: int) -> GroupSums: ...
    def merge(self, other: GroupSums) -> GroupSums: ...
    def store(self) -> NDArray[np.uint64]: ...
    @staticmethod
    def restore(stored: NDArray[np.uint64]) -> GroupSums: ...
    def __reduce__(self) -> tuple[Any, tuple[NDArray[np.uint64]]]: ...
    def means(self) -> tuple[_Floats, NDArray[np.uint64]]: ...
    def mean_of(self, marked: NDArray[np.bool_]) -> float: ...

class _CatalogueRequest(Protocol):
    @property
    def k(self) -> int: ...
    @property
    def rows(self) -> NDArray[np.uint64]: ...
    @property
    def measures(self) -> Sequence[ListMeasure]: ...
    @property
    def targets(self) -> _Targets | None: ...
    @property
    def weights(self) -> _RankWeights | None: ...
    @property
    def class_hits(self) -> bool: ...
    @property
    def drop_masked(self) -> bool: ...

_CatalogueFound: TypeAlias = tuple[list[_Floats], ExposureSums, GroupSums, int]

def catalogue_scores(
    scores: _AnyScores,
    request: _CatalogueRequest,
    *,
    name: str,
    exclude: Exclusion | None,
    mask_neg_inf: bool,
    num_threads: int,
) -> _CatalogueFound: ...
def catalogue_embeddings(
    queries: _Vectors,
    items: _Vectors,
    request: _CatalogueRequest,
    *,
    item_bias: NDArray[np.float32] | None,
    exclude: Exclusion | None,
    similarity: str,
    num_threads: int,
) -> _CatalogueFound: ...
def catalogue_lists(
    items: NDArray[np.int32] | NDArray[np.int64],
    scores: _Scores | None,
    starts: NDArray[np.uint64],
    lengths: NDArray[np.uint64],
    request: _CatalogueRequest,
    *,
    name: str,
    n_items: int,
    as_listed: bool,
    keep_first: bool,
    check_scores: bool,
    num_threads: int,
) -> _CatalogueFound: ...
