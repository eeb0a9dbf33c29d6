"""Metrics over sampled negatives: what they show of the exact metric, and what they cannot.

A sampled metric ranks the truth against ``m`` random items instead of the whole catalogue. It is another quantity than
the exact metric and can reverse the order of models (Krichene and Rendle 2020). Exact evaluation is what rankbound is
for; this module explains numbers that others have sampled, converts them as far as that is possible, and refuses to set
them beside exact ones. It draws no negatives.

One relevant item per list, and negatives drawn uniformly; several relevant items or other sampling probabilities are
beyond these formulas.
"""

from rankbound.sampled.corrected import correct_sampled
from rankbound.sampled.expected import expected_sampled_metric
from rankbound.sampled.rank_distribution import RankDistribution, estimate_rank_distribution
from rankbound.sampled.results import (
    CorrectedMetric,
    SampleDesign,
    SampledMetric,
    SampledResult,
    check_comparable,
)

__all__ = [
    "CorrectedMetric",
    "RankDistribution",
    "SampleDesign",
    "SampledMetric",
    "SampledResult",
    "check_comparable",
    "correct_sampled",
    "estimate_rank_distribution",
    "expected_sampled_metric",
]
