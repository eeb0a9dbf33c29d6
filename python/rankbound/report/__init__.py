"""The ranking report: from a score matrix to ``ranking.json``."""

from rankbound.report.build import build_ranking_report
from rankbound.report.config import RankingConfig
from rankbound.report.report import RankingReport

__all__ = ["RankingConfig", "RankingReport", "build_ranking_report"]
