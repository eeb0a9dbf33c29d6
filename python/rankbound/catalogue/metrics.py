"""The catalogue metrics, as values for ``metrics=``."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import as_vector, split_missing
from rankbound._options import as_choice, as_integer, as_level
from rankbound._tail import tail_classes
from rankbound.catalogue.exposure import Exposure, RankValue, shares_of
from rankbound.catalogue.features import as_distances, as_features
from rankbound.catalogue.spec import (
    CatalogueMetric,
    ClassMetric,
    ExposureMetric,
    ItemMetric,
    ListMetric,
    as_counts,
    as_item_vector,
    as_rank_value,
    of_length,
)
from rankbound.errors import InvalidParameterError, InvalidTypeError


@dataclass(frozen=True, slots=True, eq=False)
class CatalogCoverage(ExposureMetric):
    """Share of the catalogue that some list shows: see :func:`~rankbound.catalogue.catalog_coverage`."""

    catalog_size: int | None = field(default=None, kw_only=True)

    name: ClassVar[str] = "catalog_coverage"

    def __post_init__(self) -> None:
        """Check the options."""
        CatalogueMetric.__post_init__(self)
        if self.catalog_size is not None:
            self._put("catalog_size", as_integer(self.catalog_size, name="catalog_size"))

    def values(self, exposure: Exposure) -> dict[str, float]:
        """Return the mean of the probabilities of having been seen."""
        size = exposure.size_of(self.catalog_size)
        return {self.key: _core.exact_sum(exposure.seen) / size if exposure.n_lists else np.nan}

    def ties(self, exposure: Exposure) -> dict[str, float]:
        """Return how far the coverage can be from its expectation."""
        return {"sd_bound": exposure.coverage_sd_bound(self.catalog_size)}


@dataclass(frozen=True, slots=True, eq=False)
class RecommendationEntropy(ExposureMetric):
    """Entropy of the exposure: see :func:`~rankbound.catalogue.recommendation_entropy`."""

    name: ClassVar[str] = "recommendation_entropy"

    def values(self, exposure: Exposure) -> dict[str, float]:
        """Return the entropy in nats."""
        return {self.key: _core.exposure_entropy(exposure.expected)}


@dataclass(frozen=True, slots=True, eq=False)
class RecommendationGini(ExposureMetric):
    """Gini coefficient of the exposure: see :func:`~rankbound.catalogue.recommendation_gini`."""

    name: ClassVar[str] = "recommendation_gini"

    def values(self, exposure: Exposure) -> dict[str, float]:
        """Return the coefficient over all items."""
        return {self.key: _core.exposure_gini(exposure.expected)}


@dataclass(frozen=True, slots=True, eq=False)
class GroupExposure(ExposureMetric):
    """Share of the exposure that each group of items gets: see :func:`~rankbound.catalogue.group_exposure`."""

    groups: Any = field(kw_only=True)
    weights: str = field(default="top", kw_only=True)
    patience: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the labels and the options."""
        CatalogueMetric.__post_init__(self)
        labels, missing = split_missing(as_vector(self.groups, name="groups"), name="groups")
        if missing.any():
            raise InvalidTypeError(f"groups has no label for item {int(missing.argmax())}; give every item one")
        self._put("groups", labels)
        as_rank_value(self.weights, self.patience)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, with weights other than those of the top ``k``."""
        return "group_exposure" + ("" if self.weights == "top" else f"_{self.weights}")

    @property
    def n_items(self) -> int:
        """Number of labels."""
        return len(self.groups)

    @property
    def result_keys(self) -> tuple[str, ...]:
        """One key per group."""
        return tuple(f"{self.key}[{label}]" for label in np.unique(self.groups))

    @property
    def rank_value(self) -> RankValue:
        """What each rank gives."""
        return as_rank_value(self.weights, self.patience)

    def values(self, exposure: Exposure) -> dict[str, float]:
        """Return the share of each group."""
        names, codes = np.unique(self.groups, return_inverse=True)
        sums, _, _ = _core.group_sums(exposure.expected, codes.astype(np.uint32), len(names))
        return dict(zip(self.result_keys, shares_of(sums).tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Novelty(ItemMetric):
    """Mean self-information of what is shown, in bits: see :func:`~rankbound.catalogue.novelty`."""

    counts: Any = field(kw_only=True)
    q: str = field(default="interactions", kw_only=True)
    n_users: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the counts and the options."""
        CatalogueMetric.__post_init__(self)
        self._put("counts", as_counts(self.counts))
        as_choice(self.q, ("interactions", "users"), name="q")
        if (self.q == "users") != (self.n_users is not None):
            raise InvalidParameterError("q='users' needs n_users, the number of training users; nothing else takes it")
        if self.n_users is not None and as_integer(self.n_users, name="n_users") < self.counts.max():
            raise InvalidParameterError(
                f"n_users is {self.n_users}, but counts has {self.counts.max():g} for item {self.counts.argmax()}: "
                "under q='users' counts must be the number of users of each item"
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, with what the shares are of."""
        return "novelty" + ("" if self.q == "interactions" else "_users")

    @property
    def n_items(self) -> int:
        """Number of counts."""
        return len(self.counts)

    @property
    def n_floored(self) -> int:
        """Items without a training interaction, whose share is taken as that of one."""
        return int((self.counts == 0).sum())

    @property
    def protocol(self) -> dict[str, Any]:
        """The options, a digest of the counts, and how many were floored."""
        return {**self._options(), "n_floored": self.n_floored}

    def item_values(self, n_items: int) -> NDArray[np.float64]:
        """Return ``-log2 q``."""
        total = _core.exact_sum(self.counts) if self.n_users is None else float(self.n_users)
        # Adding 0 turns -0 into 0.
        information = -np.log2(np.maximum(self.counts, 1.0) / total) + 0.0
        return of_length(information, n_items, "counts")


@dataclass(frozen=True, slots=True, eq=False)
class AverageRecommendationPopularity(ItemMetric):
    """Mean popularity of what is shown: see :func:`~rankbound.catalogue.average_recommendation_popularity`."""

    counts: Any = field(kw_only=True)
    scale: str = field(default="counts", kw_only=True)

    def __post_init__(self) -> None:
        """Check the counts and the scale."""
        CatalogueMetric.__post_init__(self)
        self._put("counts", as_counts(self.counts))
        as_choice(self.scale, ("counts", "share", "percentile"), name="scale")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, with the scale of the popularity."""
        return "average_recommendation_popularity" + ("" if self.scale == "counts" else f"_{self.scale}")

    @property
    def n_items(self) -> int:
        """Number of counts."""
        return len(self.counts)

    def item_values(self, n_items: int) -> NDArray[np.float64]:
        """Return the popularity."""
        popularity = self.counts
        if self.scale == "share":
            popularity = self.counts / _core.exact_sum(self.counts)
        elif self.scale == "percentile":
            ordered = np.sort(self.counts)
            ends = [np.searchsorted(ordered, self.counts, side=side) for side in ("left", "right")]
            popularity = (ends[0] + ends[1]) / (2.0 * len(ordered))
        return of_length(popularity, n_items, "counts")


@dataclass(frozen=True, slots=True, eq=False)
class TailShare(ItemMetric):
    """Share of the places that items of the tail take: see :func:`~rankbound.catalogue.tail_share`."""

    counts: Any = field(kw_only=True)
    tail_mass: float = field(default=0.2, kw_only=True)

    name: ClassVar[str] = "tail_share"

    def __post_init__(self) -> None:
        """Check the counts and the mass."""
        CatalogueMetric.__post_init__(self)
        self._put("counts", as_counts(self.counts))
        self._put("tail_mass", as_level(self.tail_mass, name="tail_mass"))

    @property
    def n_items(self) -> int:
        """Number of counts."""
        return len(self.counts)

    def item_values(self, n_items: int) -> NDArray[np.float64]:
        """Return 1 for the tail."""
        tail = tail_classes(self.counts, self.tail_mass).astype(np.float64)
        return of_length(tail, n_items, "counts")


@dataclass(frozen=True, slots=True, eq=False)
class IntraListDiversity(ListMetric):
    """Mean distance between two items of a list: see :func:`~rankbound.catalogue.intra_list_diversity`."""

    features: Any = field(default=None, kw_only=True)
    metric: Any = field(default="cosine", kw_only=True)

    name: ClassVar[str] = "intra_list_diversity"

    def __post_init__(self) -> None:
        """Check the features, or make the distances."""
        CatalogueMetric.__post_init__(self)
        if isinstance(self.metric, str) or callable(self.metric):
            self._put("features", as_features(self.features))
            if isinstance(self.metric, str):
                as_choice(self.metric, ("cosine",), name="metric")
        elif self.features is not None:
            raise InvalidParameterError("features and a matrix of distances were both given; leave one of them out")
        self._put("metric", as_distances(self.metric, self.features))

    @property
    def n_items(self) -> int:
        """Number of items with features or distances."""
        return len(self.features if isinstance(self.metric, str) else self.metric)

    def measure(self, n_items: int) -> _core.ListMeasure:
        """Return the mean distance of pairs."""
        del n_items
        if isinstance(self.metric, str):
            return _core.ListMeasure.cosine_diversity(self.features)
        return _core.ListMeasure.distance_diversity(self.metric)


@dataclass(frozen=True, slots=True, eq=False)
class Serendipity(ListMetric):
    """Share of relevant items that popularity would not show: see :func:`~rankbound.catalogue.serendipity`."""

    popularity: Any = field(kw_only=True)

    name: ClassVar[str] = "serendipity"
    needs_targets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the popularity."""
        CatalogueMetric.__post_init__(self)
        self._put("popularity", as_item_vector(self.popularity, name="popularity"))

    @property
    def n_items(self) -> int:
        """Number of items with a popularity."""
        return len(self.popularity)

    def measure(self, n_items: int) -> _core.ListMeasure:
        """Return the share of relevant items that are unexpected."""
        del n_items
        return _core.ListMeasure.serendipity(self.popularity, self.k)


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedExposure(ListMetric):
    """Exposure against what the items deserve: see :func:`~rankbound.catalogue.expected_exposure`."""

    weights: str = field(default="log2", kw_only=True)
    patience: float | None = field(default=None, kw_only=True)

    needs_targets: ClassVar[bool] = True
    is_graded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the options."""
        CatalogueMetric.__post_init__(self)
        as_rank_value(self.weights, self.patience)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name, with weights other than the usual discount."""
        return "expected_exposure" + ("" if self.weights == "log2" else f"_{self.weights}")

    @property
    def result_keys(self) -> tuple[str, ...]:
        """Loss, disparity and relevance."""
        return tuple(f"{self.name}_{part}@{self.k}" for part in ("loss", "disparity", "relevance"))

    def measure(self, n_items: int) -> _core.ListMeasure:
        """Return the three parts."""
        return _core.ListMeasure.expected_exposure(as_rank_value(self.weights, self.patience), self.k, n_items)


@dataclass(frozen=True, slots=True, eq=False)
class MacroRecall(ClassMetric):
    """Mean over items of how often they are shown where relevant: see :func:`~rankbound.catalogue.macro_recall`."""

    name: ClassVar[str] = "macro_recall"

    def value(self, hits: _core.GroupSums) -> float:
        """Return the mean over the items with support."""
        means, counts = hits.means()
        return _core.exact_mean(means[counts > 0])

    def support(self, hits: _core.GroupSums) -> dict[str, float]:
        """Return how many items the mean is over, and in how few lists they are relevant."""
        counts = hits.means()[1]
        given = counts[counts > 0]
        least, middle = (int(given.min()), float(np.median(given))) if len(given) else (np.nan, np.nan)
        return {"n_classes": len(given), "min_support": least, "median_support": middle}


@dataclass(frozen=True, slots=True, eq=False)
class TailHit(ClassMetric):
    """How often relevant items of the tail are shown: see :func:`~rankbound.catalogue.tail_hit`."""

    counts: Any = field(kw_only=True)
    tail_mass: float = field(default=0.2, kw_only=True)

    name: ClassVar[str] = "tail_hit"

    def __post_init__(self) -> None:
        """Check the counts and the mass."""
        CatalogueMetric.__post_init__(self)
        self._put("counts", as_counts(self.counts))
        self._put("tail_mass", as_level(self.tail_mass, name="tail_mass"))

    @property
    def n_items(self) -> int:
        """Number of counts."""
        return len(self.counts)

    def value(self, hits: _core.GroupSums) -> float:
        """Return the mean over the tail's relevant items."""
        return hits.mean_of(tail_classes(self.counts, self.tail_mass))
