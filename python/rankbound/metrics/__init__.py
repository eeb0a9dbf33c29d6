"""Metrics of ranked lists: values that say what is measured, and the base class for metrics of your own."""

from rankbound.metrics.custom import RankingBatch, RankingMetric
from rankbound.metrics.families import (
    DCG,
    ERR,
    F1,
    MAP,
    MRR,
    NDCG,
    RBP,
    CalibratedRecall,
    HitRate,
    LogRBP,
    Precision,
    Recall,
    RPrecision,
)
from rankbound.metrics.parse import REGISTRY, parse
from rankbound.metrics.spec import MetricSpec

__all__ = [
    "DCG",
    "ERR",
    "F1",
    "MAP",
    "MRR",
    "NDCG",
    "RBP",
    "REGISTRY",
    "CalibratedRecall",
    "HitRate",
    "LogRBP",
    "MetricSpec",
    "Precision",
    "RPrecision",
    "RankingBatch",
    "RankingMetric",
    "Recall",
    "parse",
]
