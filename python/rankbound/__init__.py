"""Exact, tie-aware measurement of rankings."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankbound._core import __version__

if TYPE_CHECKING:
    from rankbound import (
        catalogue,
        compare,
        compat,
        counterfactual,
        gate,
        label_ranking,
        metrics,
        protocols,
        sampled,
    )
    from rankbound.baselines import GlobalPopularityBaseline, SegmentPopularityBaseline, UniformRandomBaseline
    from rankbound.comparability import (
        OBJECTIVE_ALPHA,
        ComparabilityState,
        RankingObjective,
        apply_eb_shrinkage,
        apply_popularity_discount,
        apply_rank_percentile,
        fit_comparability,
        transform_for_objective,
    )
    from rankbound.compare import ComparisonReport, PairwiseComparison, compare_models, compare_pair
    from rankbound.evaluation import (
        EvaluationResult,
        RankedLists,
        RankingEvaluator,
        evaluate_embeddings,
        evaluate_ranked_predictions,
        evaluate_recommender,
        evaluate_run,
        evaluate_scores,
    )
    from rankbound.ranks import rank_bounds_of_truth, rank_of_truth, top_k
    from rankbound.report import RankingConfig, RankingReport, build_ranking_report
    from rankbound.uncertainty import ranking_uncertainty

# Loaded when first used, so that `import rankbound` stays light.
_HOMES = {
    "rankbound.baselines": ("GlobalPopularityBaseline", "SegmentPopularityBaseline", "UniformRandomBaseline"),
    "rankbound.comparability": (
        "OBJECTIVE_ALPHA",
        "ComparabilityState",
        "RankingObjective",
        "apply_eb_shrinkage",
        "apply_popularity_discount",
        "apply_rank_percentile",
        "fit_comparability",
        "transform_for_objective",
    ),
    "rankbound.evaluation": (
        "EvaluationResult",
        "RankedLists",
        "RankingEvaluator",
        "evaluate_embeddings",
        "evaluate_ranked_predictions",
        "evaluate_recommender",
        "evaluate_run",
        "evaluate_scores",
    ),
    "rankbound.compare": ("ComparisonReport", "PairwiseComparison", "compare_models", "compare_pair"),
    "rankbound.ranks": ("rank_bounds_of_truth", "rank_of_truth", "top_k"),
    "rankbound.report": ("RankingConfig", "RankingReport", "build_ranking_report"),
    "rankbound.uncertainty": ("ranking_uncertainty",),
}
_MODULES = (
    "catalogue",
    "compare",
    "compat",
    "counterfactual",
    "gate",
    "label_ranking",
    "metrics",
    "protocols",
    "sampled",
)
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "OBJECTIVE_ALPHA",
    "ComparabilityState",
    "ComparisonReport",
    "EvaluationResult",
    "GlobalPopularityBaseline",
    "PairwiseComparison",
    "RankedLists",
    "RankingConfig",
    "RankingEvaluator",
    "RankingObjective",
    "RankingReport",
    "SegmentPopularityBaseline",
    "UniformRandomBaseline",
    "__version__",
    "apply_eb_shrinkage",
    "apply_popularity_discount",
    "apply_rank_percentile",
    "build_ranking_report",
    "catalogue",
    "compare",
    "compare_models",
    "compare_pair",
    "compat",
    "counterfactual",
    "evaluate_embeddings",
    "evaluate_ranked_predictions",
    "evaluate_recommender",
    "evaluate_run",
    "evaluate_scores",
    "fit_comparability",
    "gate",
    "label_ranking",
    "metrics",
    "protocols",
    "rank_bounds_of_truth",
    "rank_of_truth",
    "ranking_uncertainty",
    "sampled",
    "top_k",
    "transform_for_objective",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
