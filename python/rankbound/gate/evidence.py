"""What a gate reads of a report or an evaluation: values, intervals, counts, and values per unit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from rankbound._messages import about
from rankbound.compare.source import exponentials, is_logarithmic, read_source
from rankbound.errors import ComparisonError, FileFormatError, InvalidTypeError
from rankbound.evaluation.result import EvaluationResult
from rankbound.gate.policy import GatePolicy
from rankbound.report.report import RankingReport
from rankbound.uncertainty import ranking_uncertainty

Interval = tuple[float, float]
SIDECAR_SUFFIXES = (".units.parquet", ".units.npz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One model's numbers, in one shape.

    ``n_rows`` counts lists with a truth, dropped ones too; ``confidence_level`` is that of ``intervals``.
    """

    values: Mapping[str, float]
    catalogue_metrics: frozenset[str]
    intervals: Mapping[str, Interval]
    confidence_level: float
    verdicts: Mapping[str, Mapping[str, str]]
    n_rows: int
    n_units: int
    n_unseen_truth: int | None
    target_fingerprint: str
    protocol: Mapping[str, Any]
    per_unit: EvaluationResult | None

    def interval(self, metric: str, policy: GatePolicy, *, num_threads: int | None) -> Interval | None:
        """Return the interval of a metric, from the report or from the values per unit; None if there is none.

        Raises
        ------
        ComparisonError
            If the values per unit are not those behind the metric, or an interval is of another level than the
            policy's and there are no values to make one.
        """
        if metric in self.intervals and self.confidence_level == policy.confidence_level:
            return self.intervals[metric]
        if self.per_unit is None or metric not in (self.per_unit.per_user or {}):
            if metric not in self.intervals:
                return None
            raise ComparisonError(other_level(self.confidence_level, policy.confidence_level))
        source = read_source(self.per_unit, "the candidate")
        if reason := source.refusal(metric):
            raise ComparisonError(reason)
        defined = ~np.isnan(source.values[metric])
        values, scale = source.values[metric][defined], 0.0
        if is_logarithmic(metric):
            (values,), scale = exponentials(values)
        found = ranking_uncertainty(
            {metric: values},
            groups=source.ids[defined],
            n_resamples=policy.n_resamples,
            confidence_level=policy.confidence_level,
            seed=policy.seed,
            num_threads=num_threads,
        )
        if found is None:
            return None
        limits = _limits(found["model"][metric])
        if not is_logarithmic(metric):
            return limits
        low, high = (math.log(limit) + scale if limit > 0 else -math.inf for limit in limits)
        return low, high


def read_evidence(source: Any, *, name: str, per_unit: Any = None) -> Evidence:
    """Return the evidence that a report, an evaluation, or the file of one holds.

    Parameters
    ----------
    source : RankingReport, EvaluationResult, str or path-like
        A report (``.json``) or an evaluation (``.npz``, ``.parquet``).
    name : str
        Its role, for messages.
    per_unit : EvaluationResult, str, path-like, or None, default None
        Values per unit of a report; None looks beside a report's file for ``NAME.units.parquet`` or ``.npz``.

    Returns
    -------
    Evidence
        The numbers.

    Raises
    ------
    FileFormatError, ReportError
        If a file cannot be read.
    InvalidTypeError
        For anything else, and for values per unit of what is no report.
    """
    if isinstance(source, (str, PathLike)):
        path = Path(source)
        if path.suffix.lower() in (".npz", ".parquet"):
            with about(name):
                result = EvaluationResult.load(path)
            return read_evidence(result, name=name, per_unit=per_unit)
        with about(name):
            report = RankingReport.from_json(path)
        return _of_report(report, _sidecar(per_unit if per_unit is not None else _beside(path)))
    if isinstance(source, RankingReport):
        return _of_report(source, _sidecar(per_unit) or source.per_unit)
    if isinstance(source, EvaluationResult):
        if per_unit is not None:
            raise InvalidTypeError(
                f"{name}_units is for a report, but {name} is an evaluation, which holds its own values"
            )
        return _of_result(source)
    raise InvalidTypeError(
        f"{name} must be a RankingReport, an EvaluationResult or the path of one, got {type(source).__name__}"
    )


def _beside(path: Path) -> Path | None:
    found = (path.with_name(path.stem + suffix) for suffix in SIDECAR_SUFFIXES)
    return next((candidate for candidate in found if candidate.is_file()), None)


def _sidecar(per_unit: Any) -> EvaluationResult | None:
    if per_unit is None or isinstance(per_unit, EvaluationResult):
        return per_unit
    result = EvaluationResult.load(per_unit)
    if not result.has_per_user:
        raise FileFormatError(f"{fspath(per_unit)!r} holds no values per unit; write it with --per-unit")
    return result


def _of_result(result: EvaluationResult) -> Evidence:
    # A metric has keys of its own name, such as expected_exposure_loss@10 of expected_exposure@10.
    of_catalogue = tuple(label.split("@")[0] for label in result.protocol.get("catalogue", ()))
    return Evidence(
        values=result.metrics,
        catalogue_metrics=frozenset(key for key in result.metrics if key.startswith(of_catalogue)),
        intervals={},
        confidence_level=math.nan,
        verdicts={},
        n_rows=result.n_scored_rows,
        n_units=result.n_units,
        n_unseen_truth=None,
        target_fingerprint=result.target_fingerprint,
        protocol=result.protocol,
        per_unit=result if result.has_per_user else None,
    )


def _of_report(report: RankingReport, per_unit: EvaluationResult | None) -> Evidence:
    uncertainty = report["uncertainty"] or {"model": {}, "baselines": {}, "confidence_level": math.nan}
    families = report["objectives"][report["primary_objective"]]
    truth = report["protocol"]["truth"]
    return Evidence(
        values={key: value for family in families.values() for key, value in family.items()},
        catalogue_metrics=frozenset(key for name in ("macro", "catalogue", "value") for key in families.get(name, ())),
        intervals={metric: _limits(of) for metric, of in uncertainty["model"].items()},
        confidence_level=uncertainty["confidence_level"],
        verdicts={
            baseline: {metric: of["verdict"] for metric, of in found["difference"].items()}
            for baseline, found in uncertainty["baselines"].items()
        },
        n_rows=report["n_rows"] + (report["n_unseen_truth"] if truth.get("unseen") == "drop" else 0),
        n_units=report["n_units"],
        n_unseen_truth=report["n_unseen_truth"],
        target_fingerprint=report["protocol"]["population"]["rows_hash"],
        protocol=report["protocol"],
        per_unit=per_unit if per_unit is not None and _belongs(per_unit, report) else None,
    )


def _belongs(per_unit: EvaluationResult, report: RankingReport) -> bool:
    """Return whether values per unit are those behind a report; others are refused, not ignored."""
    if _of_values(per_unit.protocol) != _of_values(report["protocol"]):
        raise FileFormatError(
            "the values per unit are not those of the report: they were written with other lists, units or options; "
            "write both in one run"
        )
    micro = report["objectives"][report["primary_objective"]]["micro"]
    differing = [
        key
        for key, value in micro.items()
        if not math.isclose(float(per_unit.metrics.get(key, math.nan)), float(value), rel_tol=1e-12, abs_tol=1e-15)
    ]
    if differing:
        raise FileFormatError(
            f"the values per unit are not those of the report: {differing[0]} is {per_unit.metrics.get(differing[0])} "
            f"there and {micro[differing[0]]} in the report; write both in one run"
        )
    return True


def other_level(found: float, wanted: float) -> str:
    """Return why a report's intervals and verdicts decide nothing."""
    return (
        f"the report's intervals are of level {found:g}, but the policy asks for {wanted:g}: make the report with "
        f"confidence_level={wanted:g}; floors can also be judged by values per unit"
    )


def _of_values(protocol: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the values per unit depend on: not how intervals are made of them."""
    return {name: part for name, part in protocol.items() if name not in ("uncertainty", "semantic_hash", "hash")}


def _limits(of: Mapping[str, Any]) -> Interval:
    return float(of["ci_low"]), float(of["ci_high"])
