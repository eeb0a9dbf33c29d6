"""Graded lists from long tables of interactions, by one of two protocols that are never comparable.

:func:`recommendation_lists` offers the whole catalogue to every entity; :func:`ltr_lists` ranks the candidates that
each occasion had.
"""

from rankbound.protocols.lists import GradedTable
from rankbound.protocols.ltr import LtrLists, ltr_lists
from rankbound.protocols.recommendation import RecommendationLists, recommendation_lists

__all__ = ["GradedTable", "LtrLists", "RecommendationLists", "ltr_lists", "recommendation_lists"]
