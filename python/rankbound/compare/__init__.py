"""Is it really better? Paired comparison of results on the same lists."""

from rankbound.compare.changes import UnitChange, UnitChanges, largest_changes
from rankbound.compare.margins import MarginTest, equivalence, noninferiority
from rankbound.compare.models import compare_models, compare_pair, compare_slices
from rankbound.compare.planning import minimum_detectable_effect, units_needed
from rankbound.compare.report import ComparisonReport, PairwiseComparison
from rankbound.compare.top_overlap import Overlap, overlap

__all__ = [
    "ComparisonReport",
    "MarginTest",
    "Overlap",
    "PairwiseComparison",
    "UnitChange",
    "UnitChanges",
    "compare_models",
    "compare_pair",
    "compare_slices",
    "equivalence",
    "largest_changes",
    "minimum_detectable_effect",
    "noninferiority",
    "overlap",
    "units_needed",
]
