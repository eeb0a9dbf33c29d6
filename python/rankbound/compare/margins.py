"""Whether a candidate is not worse than a baseline, or as good, up to a stated margin."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from rankbound._options import as_flag, as_level, as_non_negative
from rankbound.compare.inference import check_options, error_rate, infer_gaps
from rankbound.compare.models import named_metrics, read_models
from rankbound.compare.source import Comparable, pair_units
from rankbound.errors import InvalidParameterError

BASELINE, CANDIDATE = "baseline", "candidate"
RAISED, LOWERED = "candidate raised by the margin", "candidate lowered by the margin"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginTest:
    """A one-sided test against a margin, or two of them.

    Attributes
    ----------
    kind : {"noninferiority", "equivalence"}
        What was to be shown.
    metric : str
        Key of the metric.
    margin : float
        In units of the metric.
    n_samples, n_units : int
        Lists and units.
    baseline_mean, candidate_mean, difference : float
        Means over lists, and candidate less baseline.
    ci_low, ci_high : float
        Limits of the difference at ``interval_level``; ``ci_low`` above ``-margin`` agrees with non-inferiority, the
        whole interval within the margins with equivalence.
    interval_level : float
        ``2 * confidence_level - 1``: each limit is one-sided at the confidence level.
    p_worse : float
        Of the test against being worse by the margin or more.
    p_better : float
        Of the test against being better by the margin or more; NaN for non-inferiority.
    p_value : float
        The larger of the two.
    established : bool
        Whether ``p_value`` is at most one less the confidence level.
    test_method, confidence_level, n_resamples, seed
        The options.
    """

    kind: str
    metric: str
    margin: float
    n_samples: int
    n_units: int
    baseline_mean: float
    candidate_mean: float
    difference: float
    ci_low: float
    ci_high: float
    interval_level: float
    p_worse: float
    p_better: float
    p_value: float
    established: bool
    test_method: str
    confidence_level: float
    n_resamples: int
    seed: int


def noninferiority(
    baseline: Comparable,
    candidate: Comparable,
    metric: str,
    *,
    margin: float,
    relative: bool = False,
    test_method: str = "randomization",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    show_progress: bool | Callable[[int, int], object] = False,
    num_threads: int | None = None,
) -> MarginTest:
    """Test whether a candidate is worse than a baseline by less than a margin.

    That a difference is not significant does not show that there is none; this does, for a margin stated before the
    data are seen. The margin is given to each list of the candidate, which must then be significantly better.

    Parameters
    ----------
    baseline, candidate : EvaluationResult, RankingReport, str or path-like
        As in :func:`rankbound.compare_models`.
    metric : str
        Key of the metric.
    margin : float
        Loss that would be accepted, above 0.
    relative : bool, default False
        Whether the margin is a share of the baseline's mean.
    test_method : {"randomization", "t", "bootstrap"}, default "randomization"
        As in :func:`rankbound.compare_models`; ``randomization`` takes the units' differences to be distributed
        symmetrically about the margin.
    confidence_level : float, default 0.95
        One less the level of the test, above 0.5.
    n_resamples, seed, show_progress, num_threads
        As in :func:`rankbound.compare_models`.

    Returns
    -------
    MarginTest
        See there.

    Raises
    ------
    InvalidParameterError
        For a margin that is not above 0, and other options out of range.
    ComparisonError
        If results cannot be paired, or the test is undefined.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from rankbound.compare import noninferiority
    >>> def result(values):
    ...     per_user = {"ndcg@10": np.array(values)}
    ...     return SimpleNamespace(per_user=per_user, sample_ids=np.arange(6), target_fingerprint="t", protocol={})
    >>> old, new = result([0.5, 0.4, 0.3, 0.6, 0.2, 0.1]), result([0.5, 0.4, 0.2, 0.6, 0.3, 0.1])
    >>> found = noninferiority(old, new, "ndcg@10", margin=0.15)
    >>> found.p_value, found.established
    (0.015625, True)
    """
    return _test_margin(
        "noninferiority",
        baseline,
        candidate,
        metric,
        margin=margin,
        relative=relative,
        test_method=test_method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        show_progress=show_progress,
        num_threads=num_threads,
    )


def equivalence(
    baseline: Comparable,
    candidate: Comparable,
    metric: str,
    *,
    margin: float,
    relative: bool = False,
    test_method: str = "randomization",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    show_progress: bool | Callable[[int, int], object] = False,
    num_threads: int | None = None,
) -> MarginTest:
    """Test whether two models differ by less than a margin, by two one-sided tests (Schuirmann 1987).

    Both must be significant at the level of one, so their p-values need no correction.

    Parameters
    ----------
    baseline, candidate, metric, margin, relative, test_method, confidence_level, n_resamples, seed
        As in :func:`noninferiority`; the margin is for either direction.
    show_progress, num_threads
        As in :func:`rankbound.compare_models`.

    Returns
    -------
    MarginTest
        See there.

    Raises
    ------
    InvalidParameterError, ComparisonError
        As :func:`noninferiority`.

    References
    ----------
    .. [1] Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach for assessing
       the equivalence of average bioavailability. J. Pharmacokinetics and Biopharmaceutics 15(6).
    """
    return _test_margin(
        "equivalence",
        baseline,
        candidate,
        metric,
        margin=margin,
        relative=relative,
        test_method=test_method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        show_progress=show_progress,
        num_threads=num_threads,
    )


def _test_margin(
    kind: str,
    baseline: Comparable,
    candidate: Comparable,
    metric: str,
    *,
    margin: float,
    relative: bool,
    test_method: str,
    confidence_level: float,
    n_resamples: int,
    seed: int,
    show_progress: bool | Callable[[int, int], object],
    num_threads: int | None,
) -> MarginTest:
    size = as_non_negative(margin, name="margin")
    if size == 0:
        raise InvalidParameterError("margin must be above 0; for a margin of 0 use compare_pair(alternative='greater')")
    level = as_level(confidence_level, name="confidence_level")
    if level <= 0.5:
        raise InvalidParameterError(f"confidence_level must exceed 0.5, got {level:g}: the interval has twice its tail")
    options = check_options(
        alternative="greater",
        test_method=test_method,
        confidence_level=2 * level - 1,
        n_resamples=n_resamples,
        seed=seed,
        show_progress=show_progress,
        num_threads=num_threads,
    )
    sources = read_models({BASELINE: baseline, CANDIDATE: candidate})
    units = pair_units(sources, named_metrics(sources, [metric]))
    mean = units.means[BASELINE, metric]
    if as_flag(relative, name="relative"):
        if mean <= 0:
            raise InvalidParameterError(f"relative=True needs a baseline whose mean is above 0, got {mean:g}")
        size *= mean
    key = (CANDIDATE, metric)
    with_shifts = units.with_shift(key, size, name=RAISED).with_shift(key, -size, name=LOWERED)
    first = (BASELINE, metric)
    pairs = [((RAISED, metric), first), (first, (LOWERED, metric))]
    worse, *better = infer_gaps(with_shifts, pairs if kind == "equivalence" else pairs[:1], options)
    p_better = better[0].p_value if better else math.nan
    p_value = max([worse.p_value, *(of.p_value for of in better)])
    return MarginTest(
        kind=kind,
        metric=metric,
        margin=size,
        n_samples=units.n_samples,
        n_units=len(units.ids),
        baseline_mean=mean,
        candidate_mean=units.means[key],
        difference=units.means[key] - mean,
        ci_low=worse.ci_low - size,
        ci_high=worse.ci_high - size,
        interval_level=options.confidence_level,
        p_worse=worse.p_value,
        p_better=p_better,
        p_value=p_value,
        established=p_value <= error_rate(level),
        test_method=options.test_method,
        confidence_level=level,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
