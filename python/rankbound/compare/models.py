"""Paired comparison of models on the same lists."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from rankbound._labels import as_vector, show, split_missing
from rankbound._options import as_choice
from rankbound.compare.family import compare_family
from rankbound.compare.inference import check_options
from rankbound.compare.report import WHOLE, ComparisonReport, PairwiseComparison
from rankbound.compare.source import Comparable, Source, check_paired, read_source
from rankbound.errors import ComparisonError, InvalidParameterError, InvalidTypeError, ShapeError


def compare_models(
    results: Mapping[str, Comparable],
    *,
    metrics: Sequence[str] | None = None,
    reference: str | None = None,
    alternative: str = "two-sided",
    test_method: str = "randomization",
    correction: str | None = "holm",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    interval_method: str = "percentile",
    looks: int = 1,
    show_progress: bool | Callable[[int, int], object] = False,
    num_threads: int | None = None,
) -> ComparisonReport:
    """Compare models pair by pair on the lists that all of them ranked.

    Lists that share a sample id, such as those of a user, are a unit. The difference is that of the printed metrics:
    between two ratios of the sum of the values to the number of lists. All intervals come from the same resamples of
    whole units, and turning a pair round turns its difference and interval round exactly. The inference is for the
    models as trained; that another training seed would give others is not part of it.

    Of a metric whose values are logarithms, ``LogRBP``, the difference is that of the printed logarithms of means: the
    log ratio of two means of rank-biased precision. Its interval is of the log ratio, resample by resample;
    ``randomization`` and ``t`` test the differences of the exponentials, whose mean is zero without an effect and which
    keep within the range of numbers in units of the largest. A list without a value under any model is left out and
    counted.

    Parameters
    ----------
    results : mapping of str to EvaluationResult, RankingReport, str or path-like
        Models by name: results with values per user, reports that keep values per unit, or paths of saved results. They
        must be of the same lists in the same order, judged by the same targets and protocol.
    metrics : sequence of str or None, default None
        Keys to compare; None takes all that every model has; those that cannot be compared, such as one whose
        aggregate is no mean over lists, are left out and named in the report.
    reference : str or None, default None
        Baseline of all other models; None compares every pair, the earlier model being the baseline.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        ``greater`` looks only for a candidate that is better than the baseline.
    test_method : {"randomization", "t", "bootstrap"}, default "randomization"
        ``randomization`` turns the sign of each unit's difference, since without an effect the labels of the two models
        could be exchanged (Smucker, Allan and Carterette 2007): all patterns of signs with at most 20 units that
        differ, else ``n_resamples`` random ones, with p = (1 + #) / (B + 1) (Phipson and Smyth 2010). ``t`` divides the
        difference by its linearised standard error: the paired t-test if each unit has one list. ``bootstrap`` shifts
        the resampled differences to zero (Efron and Tibshirani 1993, section 16.4).
    correction : {"holm", "bonferroni", "bh"} or None, default "holm"
        For all hypotheses of the call; ``bh`` bounds the false discovery rate, the others any false positive.
    confidence_level : float, default 0.95
        Of each interval, and one less the level of the tests. Intervals are not corrected for their number.
    n_resamples : int, default 10_000
        Resamples of units, and random patterns of signs.
    seed : int, default 0
        Seed of both, at least 0.
    interval_method : {"percentile", "bca", "studentized"}, default "percentile"
        ``bca`` corrects for bias and skewness (Efron and Tibshirani 1993, section 14.3), ``studentized`` for unequal
        errors (Davison and Hinkley 1997, section 5.2.1); both help with few or very unequal units.
        ``studentized`` has no limits of a log ratio.
    looks : int, default 1
        How often the data will be looked at before a decision. One look only is the rule: stopping at the first
        significant one of 5 looks at nominal 5% is wrong 14% of the time without an effect (Armitage, McPherson and
        Rowe 1969). Intervals and p-values are widened by Bonferroni's correction for this number.
    show_progress : bool or callable, default False
        True shows tqdm bars; a callable is told ``(done, total)``.
    num_threads : int or None, default None
        Threads; results do not depend on it.

    Returns
    -------
    ComparisonReport
        One comparison per metric and pair.

    Raises
    ------
    ComparisonError
        If results cannot be paired, naming the first id or the fields that differ; if the values of a named metric are
        not what its aggregate is the mean of; or a test is undefined.
    InvalidParameterError, InvalidTypeError, ShapeError
        For options out of range, and for models or metrics that do not exist.

    References
    ----------
    .. [1] Smucker, Allan, Carterette (2007). A comparison of statistical significance tests for information retrieval
       evaluation. CIKM.
    .. [2] Phipson, Smyth (2010). Permutation p-values should never be zero. SAGMB 9(1).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from rankbound import compare_models
    >>> def result(values):
    ...     per_user = {"ndcg@10": np.array(values)}
    ...     return SimpleNamespace(
    ...         per_user=per_user, sample_ids=np.arange(len(values)), target_fingerprint="t", protocol={}
    ...     )
    >>> report = compare_models({"old": result([0.1, 0.2, 0.0, 0.5]), "new": result([0.4, 0.3, 0.2, 0.5])})
    >>> report[0].p_value, report[0].direction
    (0.25, 'inconclusive')
    """
    options = check_options(
        alternative=alternative,
        test_method=test_method,
        interval_method=interval_method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        looks=looks,
        show_progress=show_progress,
        num_threads=num_threads,
    )
    sources = read_models(results)
    chosen, skipped = shared_metrics(sources) if metrics is None else (named_metrics(sources, metrics), {})
    pairs = _pairs(list(sources), reference)
    return ComparisonReport(
        comparisons=compare_family({WHOLE: sources}, chosen, pairs, options, correction=correction),
        skipped_metrics=skipped,
    )


def compare_pair(
    baseline: Comparable,
    candidate: Comparable,
    metric: str,
    *,
    alternative: str = "two-sided",
    test_method: str = "randomization",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    interval_method: str = "percentile",
    looks: int = 1,
    show_progress: bool | Callable[[int, int], object] = False,
    num_threads: int | None = None,
) -> PairwiseComparison:
    """Compare a candidate with a baseline in one metric.

    One hypothesis, hence no correction for their number: to look at several metrics or candidates, use
    :func:`rankbound.compare_models`.

    Parameters
    ----------
    baseline, candidate : EvaluationResult, RankingReport, str or path-like
        As in :func:`rankbound.compare_models`.
    metric : str
        Key of the metric.
    alternative, test_method, confidence_level, n_resamples, seed, interval_method, looks, show_progress, num_threads
        As in :func:`rankbound.compare_models`.

    Returns
    -------
    PairwiseComparison
        Positive differences are in the candidate's favour.

    Raises
    ------
    ComparisonError, InvalidParameterError, InvalidTypeError, ShapeError
        As :func:`rankbound.compare_models`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from rankbound import compare_pair
    >>> def result(values, users):
    ...     per_user = {"ndcg@10": np.array(values)}
    ...     return SimpleNamespace(per_user=per_user, sample_ids=np.array(users), target_fingerprint="t", protocol={})
    >>> users = ["ann", "ann", "bob", "cem"]
    >>> found = compare_pair(result([0.0, 0.5, 0.0, 0.5], users), result([1.0, 0.5, 0.5, 0.5], users), "ndcg@10")
    >>> found.difference, found.n_samples, found.n_units, found.n_nonzero
    (0.375, 4, 3, 2)
    """
    report = compare_models(
        {"baseline": baseline, "candidate": candidate},
        metrics=[metric],
        alternative=alternative,
        test_method=test_method,
        correction=None,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        interval_method=interval_method,
        looks=looks,
        show_progress=show_progress,
        num_threads=num_threads,
    )
    return report[0]


def compare_slices(
    baseline: Comparable,
    candidate: Comparable,
    metric: str,
    *,
    slices: Any,
    alternative: str = "two-sided",
    test_method: str = "randomization",
    correction: str | None = "holm",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    interval_method: str = "percentile",
    looks: int = 1,
    show_progress: bool | Callable[[int, int], object] = False,
    num_threads: int | None = None,
) -> ComparisonReport:
    """Compare a candidate with a baseline within each slice of the lists.

    Each slice is compared by itself, over the units that have lists in it; the tests are corrected together.

    Parameters
    ----------
    baseline, candidate : EvaluationResult, RankingReport, str or path-like
        As in :func:`rankbound.compare_models`.
    metric : str
        Key of the metric.
    slices : array_like of shape (n_lists,)
        The slice of each scored list.
    correction : {"holm", "bonferroni", "bh"} or None, default "holm"
        For the slices.
    alternative, test_method, confidence_level, n_resamples, seed, interval_method, looks, show_progress, num_threads
        As in :func:`rankbound.compare_models`.

    Returns
    -------
    ComparisonReport
        One comparison per slice, by their sorted labels.

    Raises
    ------
    ShapeError, InvalidTypeError
        If ``slices`` has another length, or misses a label.
    ComparisonError, InvalidParameterError
        As :func:`rankbound.compare_models`.
    """
    options = check_options(
        alternative=alternative,
        test_method=test_method,
        interval_method=interval_method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        looks=looks,
        show_progress=show_progress,
        num_threads=num_threads,
    )
    sources = read_models({"baseline": baseline, "candidate": candidate})
    chosen = named_metrics(sources, [metric])
    labels, missing = split_missing(as_vector(slices, name="slices"), name="slices")
    n_records = len(sources["baseline"].ids)
    if len(labels) != n_records:
        raise ShapeError(f"slices has {len(labels)} entries, but there are {n_records} scored lists; give one per list")
    if missing.any():
        raise InvalidTypeError(f"slices has no label at position {int(missing.argmax())}; give every list one")
    groups = {
        str(label): {name: source.restrict(labels == label) for name, source in sources.items()}
        for label in np.unique(labels)
    }
    for label, of_slice in groups.items():
        if np.isnan(of_slice["baseline"].values[metric]).all():
            raise ComparisonError(f"slices has {label!r}, no list of which has a value of {metric!r}; leave those out")
    pairs = [("baseline", "candidate")]
    return ComparisonReport(comparisons=compare_family(groups, chosen, pairs, options, correction=correction))


def read_models(results: Mapping[str, Comparable]) -> dict[str, Source]:
    """Return the values of models that can be paired.

    Raises
    ------
    ComparisonError
        If they cannot.
    InvalidTypeError, InvalidParameterError
        For fewer than two, or what is no result.
    """
    if not isinstance(results, Mapping):
        raise InvalidTypeError(f"results must map names to results, got {type(results).__name__}")
    if len(results) < 2:
        raise InvalidParameterError(f"results has {len(results)} model(s): a comparison needs at least two")
    for name in results:
        if not isinstance(name, str):
            raise InvalidTypeError(f"results has the model {name!r}; name models by strings")
    sources = {name: read_source(result, name) for name, result in results.items()}
    first, *others = sources.values()
    for other in others:
        check_paired(first, other)
    return sources


def shared_metrics(sources: Mapping[str, Source]) -> tuple[list[str], dict[str, str]]:
    """Return the metrics that can be compared, and the others with the reason.

    Raises
    ------
    InvalidParameterError
        If there are none.
    """
    everywhere = dict.fromkeys(metric for source in sources.values() for metric in source.values)
    skipped = {}
    for metric in everywhere:
        lacking = [name for name, source in sources.items() if metric not in source.values]
        if lacking:
            skipped[metric] = f"{', '.join(lacking)} does not have it"
        elif reason := _refusal(sources, metric):
            skipped[metric] = reason
    shared = [metric for metric in everywhere if metric not in skipped]
    if not shared:
        raise InvalidParameterError(f"the models have no metric in common that can be compared: {skipped}")
    return shared, skipped


def named_metrics(sources: Mapping[str, Source], metrics: Sequence[str]) -> list[str]:
    """Return the metrics that were asked for.

    Raises
    ------
    InvalidParameterError
        If there are none, or a model lacks one.
    ComparisonError
        If the values of one cannot be compared.
    InvalidTypeError
        For a single string, and what is none.
    """
    if isinstance(metrics, str):
        raise InvalidTypeError(f"metrics must be a list of keys, got {metrics!r}; use [{metrics!r}]")
    given = list(metrics) if isinstance(metrics, Iterable) else [metrics]
    for metric in given:
        if not isinstance(metric, str):
            raise InvalidTypeError(f"a metric must be the key of a result, a string such as 'ndcg@10', got {metric!r}")
    chosen = list(dict.fromkeys(given))
    if not chosen:
        raise InvalidParameterError("metrics is empty: name at least one, or leave it out to compare all")
    for metric in chosen:
        for name, source in sources.items():
            if metric not in source.values:
                raise InvalidParameterError(f"{name} has no metric {metric!r}; it has {', '.join(source.values)}")
        if reason := _refusal(sources, metric):
            raise ComparisonError(f"{metric!r} cannot be compared: {reason}")
    return chosen


def _refusal(sources: Mapping[str, Source], metric: str) -> str | None:
    """Return why a metric that all models have cannot be compared; None if it can."""
    reasons = filter(None, (source.refusal(metric) for source in sources.values()))
    if reason := next(reasons, None):
        return reason
    first, *others = sources.values()
    for other in others:
        differs = np.isnan(first.values[metric]) != np.isnan(other.values[metric])
        if differs.any():
            at = int(differs.argmax())
            lacking, having = (first, other) if np.isnan(first.values[metric][at]) else (other, first)
            return f"{lacking.name} has no value at id {show(first.ids[at])}, where {having.name} has one"
    return None


def _pairs(names: list[str], reference: str | None) -> list[tuple[str, str]]:
    if reference is None:
        return list(combinations(names, 2))
    as_choice(reference, names, name="reference")
    return [(reference, name) for name in names if name != reference]
