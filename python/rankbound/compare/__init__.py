"""Is it really better? Paired comparison of results on the same lists."""

from rankbound.compare.models import compare_models, compare_pair, compare_slices
from rankbound.compare.report import ComparisonReport, PairwiseComparison
from rankbound.compare.source import UnitSums

__all__ = [
    "ComparisonReport",
    "PairwiseComparison",
    "UnitSums",
    "compare_models",
    "compare_pair",
    "compare_slices",
]
