"""Evaluation of lists with any number of relevant items: four inputs, one tie profile, one result."""

from rankbound.evaluation.embeddings import evaluate_embeddings
from rankbound.evaluation.evaluator import RankingEvaluator
from rankbound.evaluation.lists import RankedLists
from rankbound.evaluation.ranked import evaluate_ranked_predictions
from rankbound.evaluation.recommender import evaluate_recommender
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.run import evaluate_run
from rankbound.evaluation.scores import evaluate_scores

__all__ = [
    "EvaluationResult",
    "RankedLists",
    "RankingEvaluator",
    "evaluate_embeddings",
    "evaluate_ranked_predictions",
    "evaluate_recommender",
    "evaluate_run",
    "evaluate_scores",
]
