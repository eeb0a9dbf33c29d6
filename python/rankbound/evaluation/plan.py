"""Which metrics an evaluation computes, checked once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rankbound.catalogue.parse import CATALOGUE_NAMES, parse_catalogue
from rankbound.catalogue.spec import CatalogueMetric
from rankbound.errors import InvalidKError, InvalidParameterError, InvalidTypeError
from rankbound.evaluation.customs import own_copy
from rankbound.evaluation.targets import Targets
from rankbound.metrics import NDCG, CalibratedRecall, MetricSpec, RankingMetric, RPrecision
from rankbound.metrics.parse import parse_among
from rankbound.metrics.spec import CoreMetric

_RESERVED = ("n_rows", "n_scored_rows", "n_units", "debug", "sample_id")
_KINDS = (MetricSpec, RankingMetric, CatalogueMetric)


@dataclass(frozen=True, slots=True)
class Plan:
    """The metrics of an evaluation."""

    specs: tuple[MetricSpec, ...]
    customs: tuple[RankingMetric, ...]
    catalogues: tuple[CatalogueMetric, ...] = ()

    @property
    def metrics(self) -> "tuple[MetricSpec | RankingMetric | CatalogueMetric, ...]":
        """All of them, built-in metrics first."""
        return (*self.specs, *self.customs, *self.catalogues)

    @property
    def core(self) -> list[CoreMetric]:
        """The built-in metrics, one per cut-off."""
        return [metric for spec in self.specs for metric in spec.core_metrics()]

    @property
    def keys(self) -> list[str]:
        """The result keys, built-in metrics first."""
        others: list[RankingMetric | CatalogueMetric] = [*self.customs, *self.catalogues]
        return [metric.key for metric in self.core] + [key for metric in others for key in metric.result_keys]

    @property
    def graded(self) -> bool:
        """Whether grades matter."""
        return any(spec.is_graded for spec in self.specs) or any(metric.is_graded for metric in self.catalogues)

    @property
    def required_k(self) -> int | None:
        """The deepest rank that is looked at; None for the whole list."""
        depths = [metric.required_k for metric in self.metrics]
        finite = [depth for depth in depths if depth is not None]
        return max(finite) if len(finite) == len(depths) else None

    @property
    def parameters(self) -> dict[str, dict[str, float]]:
        """By result key, what values must agree in beyond the key to be comparable."""
        return {key: spec.parameters for spec in self.specs if spec.parameters for key in spec.result_keys}

    @property
    def labels(self) -> list[str]:
        """The metrics as text."""
        return [_label(metric) for metric in self.metrics]

    def check_width(self, width: int, targets: Targets) -> None:
        """Refuse metrics that look deeper than the lists go, unless the lists hold the whole catalogue.

        Parameters
        ----------
        width : int
            Places per list.
        targets : Targets
            Relevant items of each list.

        Raises
        ------
        InvalidKError
            Naming the first metric, and the row if it looks at as many places as there are relevant items.
        """
        if width >= targets.n_items:
            return
        most = int(targets.counts.argmax()) if len(targets) else None
        for metric in self.metrics:
            depth, where = metric.required_k, ""
            if isinstance(metric, RPrecision) and most is not None:
                depth, where = (
                    int(targets.counts[most]),
                    f" for the {targets.counts[most]} relevant items of row {most}",
                )
            if depth is not None and depth > width:
                raise InvalidKError(
                    f"metrics has {_label(metric)}, which looks at {depth} places{where}, but predictions has lists of "
                    f"{width}; pass longer lists or {'leave it out' if where else 'lower the cut-off'}"
                )


def as_plan(metrics: Any, *, width: int | None) -> Plan:
    """Return the metrics to compute.

    Parameters
    ----------
    metrics : MetricSpec, RankingMetric, CatalogueMetric, str, iterable of them, or None
        None takes CalibratedRecall and NDCG at ``width``.
    width : int or None
        Places per list; None if it is not known beforehand.

    Returns
    -------
    Plan
        The metrics, with distinct keys; of metrics of the caller's, copies.

    Raises
    ------
    InvalidTypeError
        For anything that is no metric.
    InvalidParameterError
        If there is none, or two have the same key.
    """
    if metrics is None:
        if width is None or width < 1:
            raise InvalidParameterError("metrics must be given: the lists have no width to take the cut-off from")
        metrics = [CalibratedRecall(width), NDCG(width)]
    given = [metrics] if isinstance(metrics, (str, *_KINDS)) else metrics
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise InvalidTypeError(f"metrics must be metrics such as NDCG(10), got {metrics!r}")
    parsed = [_parsed(metric) if isinstance(metric, str) else metric for metric in given]
    for metric in parsed:
        if not isinstance(metric, _KINDS):
            hint = f"; write {metric.__name__}(10)" if isinstance(metric, type) else ""
            raise InvalidTypeError(f"metrics has {metric!r}, which is no metric{hint}")
    if not parsed:
        raise InvalidParameterError("metrics is empty; name at least one")
    plan = Plan(
        tuple(metric for metric in parsed if isinstance(metric, MetricSpec)),
        tuple(own_copy(metric) for metric in parsed if isinstance(metric, RankingMetric)),
        tuple(metric for metric in parsed if isinstance(metric, CatalogueMetric)),
    )
    _check_keys(plan)
    return plan


def _parsed(label: str) -> MetricSpec | CatalogueMetric:
    catalogue = parse_catalogue(label)
    return parse_among(label, CATALOGUE_NAMES) if catalogue is None else catalogue


def _label(metric: MetricSpec | RankingMetric | CatalogueMetric) -> str:
    return type(metric).__name__ if isinstance(metric, RankingMetric) else metric.label


def _check_keys(plan: Plan) -> None:
    seen: set[str] = set()
    counts = [metric.count_key for metric in plan.core if metric.count_key]
    for key in counts + plan.keys:
        if key in seen or key in _RESERVED:
            reason = "is the key of two metrics" if key in seen else "is no key that a metric may have"
            raise InvalidParameterError(f"metrics: {key!r} {reason}; evaluate them one after the other, or rename one")
        seen.add(key)
