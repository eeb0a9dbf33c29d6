"""Bootstrap intervals against scipy's, which give the same limits, and against hand-written kernels."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from figures import Figure, timed
from rankbound import ranking_uncertainty
from report_memory import STATUS, status_mb

TITLE = "Bootstrap, 1000 resamples x 8 metrics; reference: scipy.stats.bootstrap, vectorized, per metric"
SEED = 0
N_METRICS = 8
N_RESAMPLES = 1000
LIMIT_MB = 300
# Of many units scipy gets so few resamples of one metric: it is linear in both, and would take a quarter of an hour.
SAMPLE = 20

Series = dict[str, NDArray[np.float64]]
Limits = tuple[float, float]


def figures(*, quick: bool) -> Iterator[Figure]:
    for n_units, limit in ((600, 1 / 40), (2_000 if quick else 20_000, 1 / 50)):
        yield from _against_scipy(n_units, limit=None if quick else limit)
    n_units = 20_000 if quick else 1_000_000
    values = _series(n_units)
    yield _against_a_share_of_scipy(values, limit=None if quick else 1 / 50)
    if find_spec("numba") is None:
        print("  numba is not installed: its kernels are left out")
    else:
        # Bytes for the counts are what a user would think of who has seen the first kernel miss the cache.
        yield _against_numba(values, np.int32, limit=None if quick else 1.0)
        yield _against_numba(values, np.uint8, limit=None)
    if not STATUS.exists():
        print("  left out: peak memory is read from /proc, which only Linux has")
        return
    command = [sys.executable, __file__, str(n_units)]
    extra, inputs = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    yield Figure(
        name=f"{n_units:,} units, memory beside the values",
        ours=f"{extra:.0f} MB",
        reference=f"{inputs:.0f} MB",
        ratio=extra / inputs,
        limit=LIMIT_MB / inputs,
    )


def _series(n_units: int) -> Series:
    rng = np.random.default_rng(5)
    return {f"metric {index}": rng.random(n_units) for index in range(N_METRICS)}


def _against_scipy(n_units: int, *, limit: float | None) -> Iterator[Figure]:
    values = _series(n_units)

    def scipys() -> dict[str, Limits]:
        return {name: _scipy(series) for name, series in values.items()}

    found, expected = _ours(values), scipys()
    yield timed(f"{n_units:,} units", lambda: _ours(values), scipys, limit=limit, n_pairs=5)
    n_differ = sum(found[name] != expected[name] for name in values)
    yield Figure(
        name="metrics with limits unlike scipy's in any bit",
        ours=str(n_differ),
        reference=str(len(values)),
        ratio=n_differ / len(values),
        limit=0,
    )


def _against_a_share_of_scipy(values: Series, *, limit: float | None) -> Figure:
    series = next(iter(values.values()))
    n_shares = N_RESAMPLES // SAMPLE * len(values)
    figure = timed(
        f"{len(series):,} units, {n_shares} times those scipy gets",
        lambda: _ours(values),
        lambda: _scipy(series, n_resamples=SAMPLE),
        n_pairs=1,
    )
    return replace(figure, ratio=figure.ratio / n_shares, limit=limit)


def _against_numba(values: Series, kind: type, *, limit: float | None) -> Figure:
    kernel, units = _numba_kernel(kind), np.column_stack(list(values.values()))
    few = {name: series[:1000] for name, series in values.items()}
    low, high = np.array(list(_ours(few).values())).T
    expected_low, expected_high = kernel(units[:1000])
    # Other draws, so only nearly the same limits.
    assert np.allclose(high - low, expected_high - expected_low, rtol=0.25)
    name = f"{len(units):,} units, numba, {np.dtype(kind).name} counts"
    return timed(name, lambda: _ours(values), lambda: kernel(units), limit=limit, n_pairs=1)


def _ours(values: Series) -> dict[str, Limits]:
    found = ranking_uncertainty(values, n_resamples=N_RESAMPLES, seed=SEED)
    assert found is not None
    return {name: (interval["ci_low"], interval["ci_high"]) for name, interval in found["model"].items()}


def _scipy(series: NDArray[np.float64], *, n_resamples: int = N_RESAMPLES) -> Limits:
    interval = scipy.stats.bootstrap(
        (series,),
        np.mean,
        n_resamples=n_resamples,
        vectorized=True,
        paired=True,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def _numba_kernel(kind: type) -> Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return what a careful user would write: per resample count the draws of each unit, then weight them, once.

    Resamples run on all threads, each from a place of its own in the sequence of SplitMix64 (Steele, Lea and Flood
    2014).
    """
    import numba  # noqa: PLC0415 - a reference that need not be there

    step, first, second = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    by_27, by_30, by_31, half = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)

    @numba.njit  # type: ignore[untyped-decorator]
    def mixed(state: Any) -> Any:
        state = (state ^ (state >> by_30)) * first
        state = (state ^ (state >> by_27)) * second
        return state ^ (state >> by_31)

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def run(units: Any, means: Any) -> None:
        n_units, n_metrics = units.shape
        for resample in numba.prange(len(means)):
            counts = np.zeros(n_units, dtype=kind)
            state = mixed(np.uint64(resample))
            for _ in range(n_units):
                state += step
                counts[((mixed(state) >> half) * np.uint64(n_units)) >> half] += 1
            sums = np.zeros(n_metrics)
            for unit in range(n_units):
                for metric in range(n_metrics):
                    sums[metric] += counts[unit] * units[unit, metric]
            means[resample] = sums / n_units

    def kernel(units: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        means = np.zeros((N_RESAMPLES, units.shape[1]))
        run(units, means)
        low, high = np.percentile(means, (2.5, 97.5), axis=0)
        return low, high

    return kernel


def _measure(n_units: int) -> None:
    values = _series(n_units)
    _ours(_series(10))  # what is loaded once is no memory of a run
    before = status_mb("VmRSS")
    _ours(values)
    print(status_mb("VmHWM") - before, sum(series.nbytes for series in values.values()) / 1e6)


if __name__ == "__main__":
    _measure(int(sys.argv[1]))
