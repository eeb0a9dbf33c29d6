"""Intervals and p-values of gaps between paired models."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import as_choice, as_count, as_integer, as_level, as_resamples, resolve_num_threads
from rankbound._progress import told
from rankbound.compare.source import Key, PairedUnits, exponentials, is_logarithmic
from rankbound.errors import ComparisonError, InvalidParameterError

ALTERNATIVES = ("two-sided", "greater", "less")
TEST_METHODS = ("randomization", "t", "bootstrap")
INTERVAL_METHODS = ("percentile", "bca", "studentized")


def error_rate(confidence_level: float) -> float:
    """Return one less a level as decimals have it: in floats, ``1 - 0.9`` is less than 0.1."""
    return float(1 - Decimal(str(confidence_level)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How gaps are tested; see :func:`rankbound.compare_models`."""

    alternative: str
    test_method: str
    interval_method: str
    confidence_level: float
    n_resamples: int
    seed: int
    looks: int
    show_progress: bool | Callable[[int, int], object]
    num_threads: int

    @property
    def interval_level(self) -> float:
        """The level of each interval, with Bonferroni's correction for the planned looks."""
        return self.confidence_level if self.looks == 1 else 1 - (1 - self.confidence_level) / self.looks

    @property
    def seed_words(self) -> NDArray[np.uint64]:
        """What numpy makes of the seed."""
        return np.random.SeedSequence(self.seed).generate_state(4, np.uint64).astype(np.uint64)


def check_options(
    *,
    alternative: str = "two-sided",
    test_method: str = "randomization",
    interval_method: str = "percentile",
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    looks: int = 1,
    show_progress: bool | Callable[[int, int], object] = False,
    num_threads: int | None = None,
) -> Options:
    """Return checked options.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        For an option out of range or of another type.
    """
    resamples = as_resamples(n_resamples)
    if resamples == 0:
        raise InvalidParameterError("n_resamples must be at least 1, got 0: intervals and tests are made of resamples")
    n_looks = as_integer(looks, name="looks")
    if n_looks < 1:
        raise InvalidParameterError(
            f"looks must be at least 1, got {n_looks}: the number of times the data are looked at"
        )
    return Options(
        alternative=as_choice(alternative, ALTERNATIVES, name="alternative"),
        test_method=as_choice(test_method, TEST_METHODS, name="test_method"),
        interval_method=as_choice(interval_method, INTERVAL_METHODS, name="interval_method"),
        confidence_level=as_level(confidence_level, name="confidence_level"),
        n_resamples=resamples,
        seed=as_count(seed, name="seed"),
        looks=n_looks,
        show_progress=show_progress,
        num_threads=resolve_num_threads(num_threads),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The candidate's mean less the baseline's, or their log ratio, with what supports it; NaN where undefined."""

    baseline_mean: float
    candidate_mean: float
    n_nonzero: int
    ci_low: float
    ci_high: float
    standard_error: float
    n_dropped: int
    p_value: float
    exact: bool

    @property
    def difference(self) -> float:
        """The gap itself."""
        return self.candidate_mean - self.baseline_mean


def infer_gaps(units: PairedUnits, pairs: Sequence[tuple[Key, Key]], options: Options) -> list[Gap]:
    """Estimate and test gaps, all from the same resamples.

    Parameters
    ----------
    units : PairedUnits
        Values of all models by unit.
    pairs : sequence of (candidate, baseline)
        Keys of ``units.sums``.
    options : Options
        How.

    Returns
    -------
    list of Gap
        One for each pair.

    Raises
    ------
    ComparisonError
        If a test is undefined: a single unit, or a t-test of gaps that are all the same.
    """
    n_units = len(units.ids)
    if n_units < 2 and options.test_method != "randomization":
        raise ComparisonError(
            f"test_method={options.test_method!r} needs at least 2 units, but there is {n_units}: its variation shows "
            "only between units"
        )
    intervals = [(math.nan, math.nan, math.nan, math.nan, 0)] * len(pairs)
    if n_units >= 2:
        intervals = _bootstrap(units, pairs, options)
    if options.test_method == "randomization":
        tests = _randomization_test(units, pairs, options)
    elif options.test_method == "t":
        tests = [(_t_test(units, *pair, options.alternative), False) for pair in pairs]
    else:
        tests = [(p_value, False) for *_, p_value, _ in intervals]
    return [
        Gap(
            baseline_mean=units.means[baseline],
            candidate_mean=units.means[candidate],
            n_nonzero=int(np.count_nonzero(units.sums[candidate] != units.sums[baseline])),
            ci_low=low,
            ci_high=high,
            standard_error=standard_error,
            n_dropped=n_dropped,
            p_value=p_value,
            exact=exact,
        )
        for (candidate, baseline), (low, high, standard_error, _, n_dropped), (p_value, exact) in zip(
            pairs, intervals, tests, strict=True
        )
    ]


def _bootstrap(
    units: PairedUnits, pairs: Sequence[tuple[Key, Key]], options: Options
) -> list[tuple[float, float, float, float, int]]:
    """Return limits, standard error, p-value and dropped resamples of each (candidate, baseline)."""
    series: list[NDArray[np.float64]] = []
    log_scales: list[float | None] = []
    for (_, metric), sums in units.sums.items():
        # Each model has a scale of its own, so that its interval does not depend on what else is compared.
        (values,), scale = exponentials(sums) if is_logarithmic(metric) else ([sums], None)
        series.append(values)
        log_scales.append(scale)
    place = {key: at for at, key in enumerate(units.sums)}
    with told(options.show_progress, total=options.n_resamples, unit="resample", name="show_progress") as tell:
        return _core.gap_intervals(
            options.seed_words,
            series,
            units.counts,
            [(place[candidate], place[baseline]) for candidate, baseline in pairs],
            log_scales=log_scales,
            method=options.interval_method,
            confidence_level=options.interval_level,
            alternative=options.alternative,
            n_resamples=options.n_resamples,
            num_threads=options.num_threads,
            progress=tell,
        )


def _on_one_scale(units: PairedUnits, candidate: Key, baseline: Key) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums whose differences have a mean of zero without an effect: of exponentials, not of logarithms."""
    first, second = units.sums[candidate], units.sums[baseline]
    if is_logarithmic(candidate[1]):
        (first, second), _ = exponentials(first, second)
    return first, second


def _randomization_test(
    units: PairedUnits, pairs: Sequence[tuple[Key, Key]], options: Options
) -> list[tuple[float, bool]]:
    """Return the sign-flip p-value of each (candidate, baseline), and whether all patterns of signs were counted."""
    with told(
        options.show_progress, total=len(pairs) * options.n_resamples, unit="sign flip", name="show_progress"
    ) as tell:
        return _core.sign_flip_p_values(
            options.seed_words,
            [sums for pair in pairs for sums in _on_one_scale(units, *pair)],
            [(2 * at, 2 * at + 1) for at in range(len(pairs))],
            alternative=options.alternative,
            n_resamples=options.n_resamples,
            num_threads=options.num_threads,
            progress=tell,
        )


def _t_test(units: PairedUnits, candidate: Key, baseline: Key, alternative: str) -> float:
    """Return the p-value of the gap over its linearised standard error, which is the paired t-test.

    Raises
    ------
    ComparisonError
        If all units have the same gap, other than zero: its error cannot be estimated.
    """
    sums = _on_one_scale(units, candidate, baseline)
    if np.array_equal(*sums):
        return 1.0
    error = _core.linearised_error(*sums, units.counts)
    if error == 0:
        raise ComparisonError(
            f"{candidate[0]} and {baseline[0]} have the same gap in {candidate[1]} in all units, so that the t-test "
            "is undefined; use test_method='randomization'"
        )
    gap = (_core.exact_sum(sums[0]) - _core.exact_sum(sums[1])) / units.n_samples
    return _p_of_t(gap / error, len(units.ids), alternative)


def _p_of_t(statistic: float, n_units: int, alternative: str) -> float:
    """Return the p-value of a t statistic with ``n_units - 1`` degrees of freedom."""
    from scipy.special import stdtr  # noqa: PLC0415 - not needed to import the library

    if alternative == "two-sided":
        return min(1.0, 2 * float(stdtr(n_units - 1, -abs(statistic))))
    return float(stdtr(n_units - 1, -statistic if alternative == "greater" else statistic))
