"""Catalogue metrics from their labels."""

from collections.abc import Callable

from rankbound.catalogue.metrics import (
    CatalogCoverage,
    ExpectedExposure,
    MacroRecall,
    RecommendationEntropy,
    RecommendationGini,
)
from rankbound.catalogue.spec import CatalogueMetric
from rankbound.errors import InvalidParameterError

_WITHOUT_DATA: dict[str, Callable[[int], CatalogueMetric]] = {
    "catalog_coverage": CatalogCoverage,
    "recommendation_entropy": RecommendationEntropy,
    "recommendation_gini": RecommendationGini,
    "macro_recall": MacroRecall,
    "expected_exposure": ExpectedExposure,
}
_WITH_DATA: dict[str, str] = {
    "novelty": "Novelty(10, counts=...)",
    "average_recommendation_popularity": "AverageRecommendationPopularity(10, counts=...)",
    "tail_share": "TailShare(10, counts=...)",
    "tail_hit": "TailHit(10, counts=...)",
    "serendipity": "Serendipity(10, popularity=...)",
    "intra_list_diversity": "IntraListDiversity(10, features=...)",
    "group_exposure": "GroupExposure(10, groups=...)",
}


CATALOGUE_NAMES = (*_WITHOUT_DATA, *_WITH_DATA)
"""Every catalogue metric by the name that begins its label."""


def parse_catalogue(label: str) -> CatalogueMetric | None:
    """Return the catalogue metric that a label such as ``"catalog_coverage@10"`` names.

    Parameters
    ----------
    label : str
        A name and a cut-off. Upper and lower case are the same.

    Returns
    -------
    CatalogueMetric or None
        None if the name is of another kind.

    Raises
    ------
    InvalidParameterError
        If the metric needs data, which a label cannot hold, or the cut-off is missing.
    """
    name, _, cut = label.strip().lower().partition("@")
    if name in _WITH_DATA:
        raise InvalidParameterError(f"{label!r} needs data that no label can hold: pass {_WITH_DATA[name]}")
    if name not in _WITHOUT_DATA:
        return None
    if not (cut.isascii() and cut.isdigit()):
        raise InvalidParameterError(f"{label!r} needs one cut-off, such as '{name}@10'")
    return _WITHOUT_DATA[name](int(cut))
