"""All hypotheses of one call, tested and corrected together."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from rankbound._options import as_choice
from rankbound.compare.corrections import CORRECTIONS, adjust_p_values
from rankbound.compare.inference import Gap, Options, error_rate, infer_gaps
from rankbound.compare.report import PairwiseComparison
from rankbound.compare.source import PairedUnits, Source, is_logarithmic, pair_units


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hypothesis:
    metric: str
    baseline: str
    candidate: str
    slice: str


def compare_family(
    groups: Mapping[str, Mapping[str, Source]],
    metrics: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    options: Options,
    *,
    correction: str | None,
) -> tuple[PairwiseComparison, ...]:
    """Compare every pair in every metric and group of lists.

    Parameters
    ----------
    groups : mapping of str to mapping of str to Source
        Models by name, for each slice of the lists.
    metrics : sequence of str
        Metrics that all have.
    pairs : sequence of (baseline, candidate)
        Names of models.
    options : Options
        How.
    correction : str or None
        For all of them.

    Returns
    -------
    tuple of PairwiseComparison
        By group, metric and pair.
    """
    if correction is not None:
        as_choice(correction, CORRECTIONS, name="correction")
    rows: list[tuple[_Hypothesis, PairedUnits, Gap]] = []
    for label, sources in groups.items():
        for defined_alike in _by_lists(sources, metrics):
            units = pair_units(sources, defined_alike)
            hypotheses = [
                _Hypothesis(metric=metric, baseline=baseline, candidate=candidate, slice=label)
                for metric in defined_alike
                for baseline, candidate in pairs
            ]
            keys = [((of.candidate, of.metric), (of.baseline, of.metric)) for of in hypotheses]
            rows += [
                (hypothesis, units, gap)
                for hypothesis, gap in zip(hypotheses, infer_gaps(units, keys, options), strict=True)
            ]
    for_looks = np.minimum(1.0, options.looks * np.array([gap.p_value for *_, gap in rows]))
    adjusted = adjust_p_values(for_looks, correction)
    return tuple(
        _comparison(*row, float(p_adjusted), options, correction=correction or "none", n_hypotheses=len(rows))
        for row, p_adjusted in zip(rows, adjusted, strict=True)
    )


def _by_lists(sources: Mapping[str, Source], metrics: Sequence[str]) -> Iterator[list[str]]:
    """Yield runs of metrics that are defined for the same lists, and can share their resamples."""
    values = next(iter(sources.values())).values
    for _, together in groupby(metrics, key=lambda metric: np.isnan(values[metric]).tobytes()):
        yield list(together)


def _comparison(
    hypothesis: _Hypothesis,
    units: PairedUnits,
    gap: Gap,
    p_adjusted: float,
    options: Options,
    *,
    correction: str,
    n_hypotheses: int,
) -> PairwiseComparison:
    significant = p_adjusted <= error_rate(options.confidence_level)
    direction = "better" if gap.difference > 0 else "worse"
    return PairwiseComparison(
        metric=hypothesis.metric,
        baseline=hypothesis.baseline,
        candidate=hypothesis.candidate,
        slice=hypothesis.slice,
        n_samples=units.n_samples,
        n_undefined=units.n_undefined,
        n_units=len(units.ids),
        n_nonzero=gap.n_nonzero,
        tie_rate=1 - gap.n_nonzero / len(units.ids),
        baseline_mean=gap.baseline_mean,
        candidate_mean=gap.candidate_mean,
        difference=gap.difference,
        relative_difference=_relative(gap, logarithmic=is_logarithmic(hypothesis.metric)),
        ci_low=gap.ci_low,
        ci_high=gap.ci_high,
        standard_error=gap.standard_error,
        p_value=gap.p_value,
        p_adjusted=p_adjusted,
        significant=significant,
        direction=direction if significant else "inconclusive",
        alternative=options.alternative,
        test_method=options.test_method,
        exact=gap.exact,
        interval_method=options.interval_method,
        correction=correction,
        n_hypotheses=n_hypotheses,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
        looks=options.looks,
        n_dropped=gap.n_dropped,
    )


def _relative(gap: Gap, *, logarithmic: bool) -> float:
    """Return a gap as a share of the baseline's mean, of which a log ratio is made."""
    if logarithmic:
        with np.errstate(over="ignore"):
            return float(np.expm1(gap.difference))
    return gap.difference / gap.baseline_mean if gap.baseline_mean else math.nan
