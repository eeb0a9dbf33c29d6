"""What the top ``k`` of many lists do to a catalogue: exposure, coverage, concentration, novelty, diversity.

Recommendations are scores of all items, :class:`Embeddings` that make them, :class:`rankbound.RankedLists`, or, where
that says enough, a stored :class:`Exposure`. Every number is an exact expectation over the orders that ties allow, and
every sum merges to the same bits however the lists were split.

The metrics are also values, such as ``Novelty(10, counts=counts)``, for ``metrics=`` of every ``evaluate_*`` of
:mod:`rankbound`; a metric whose data is missing is refused by name.

Not offered, because they are not linear in a list and have no short expectation over ties: the entropy of a list's
categories and its calibration. Entropy and Gini here are those of the expected exposure.
"""

from rankbound.catalogue.evaluator import CatalogueEvaluator, ReadOptions
from rankbound.catalogue.exposure import Exposure
from rankbound.catalogue.exposures import (
    GroupShares,
    catalog_coverage,
    exposure,
    group_exposure,
    recommendation_entropy,
    recommendation_gini,
)
from rankbound.catalogue.list_means import (
    average_recommendation_popularity,
    intra_list_diversity,
    novelty,
    tail_share,
)
from rankbound.catalogue.metrics import (
    AverageRecommendationPopularity,
    CatalogCoverage,
    ExpectedExposure,
    GroupExposure,
    IntraListDiversity,
    MacroRecall,
    Novelty,
    RecommendationEntropy,
    RecommendationGini,
    Serendipity,
    TailHit,
    TailShare,
)
from rankbound.catalogue.relevance import ExposureParts, expected_exposure, macro_recall, serendipity, tail_hit
from rankbound.catalogue.spec import CatalogueMetric
from rankbound.evaluation.vectors import Embeddings

__all__ = [
    "AverageRecommendationPopularity",
    "CatalogCoverage",
    "CatalogueEvaluator",
    "CatalogueMetric",
    "Embeddings",
    "ExpectedExposure",
    "Exposure",
    "ExposureParts",
    "GroupExposure",
    "GroupShares",
    "IntraListDiversity",
    "MacroRecall",
    "Novelty",
    "ReadOptions",
    "RecommendationEntropy",
    "RecommendationGini",
    "Serendipity",
    "TailHit",
    "TailShare",
    "average_recommendation_popularity",
    "catalog_coverage",
    "expected_exposure",
    "exposure",
    "group_exposure",
    "intra_list_diversity",
    "macro_recall",
    "novelty",
    "recommendation_entropy",
    "recommendation_gini",
    "serendipity",
    "tail_hit",
    "tail_share",
]
