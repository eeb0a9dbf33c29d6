"""Bootstrap intervals against scipy's, which give the same limits."""

from collections.abc import Iterator

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from figures import Figure, timed
from rankbound import ranking_uncertainty

TITLE = "Bootstrap, 1000 resamples x 8 metrics; reference: scipy.stats.bootstrap, vectorized, per metric"
SEED = 0


def figures(*, quick: bool) -> Iterator[Figure]:
    n_units = 2_000 if quick else 20_000
    limit = None if quick else 1 / 50
    rng = np.random.default_rng(5)
    values = {f"metric {index}": rng.random(n_units) for index in range(8)}

    def ours() -> dict[str, tuple[float, float]]:
        return _ours(values)

    def scipys() -> dict[str, tuple[float, float]]:
        return {name: _scipy(series) for name, series in values.items()}

    found, expected = ours(), scipys()
    yield timed(f"{n_units:,} units", ours, scipys, limit=limit, n_pairs=5)
    n_differ = sum(found[name] != expected[name] for name in values)
    yield Figure(
        name="metrics with limits unlike scipy's in any bit",
        ours=str(n_differ),
        reference=str(len(values)),
        ratio=n_differ / len(values),
        limit=0,
    )


def _ours(values: dict[str, NDArray[np.float64]]) -> dict[str, tuple[float, float]]:
    found = ranking_uncertainty(values, n_resamples=1000, seed=SEED)
    assert found is not None
    return {name: (interval["ci_low"], interval["ci_high"]) for name, interval in found["model"].items()}


def _scipy(series: NDArray[np.float64]) -> tuple[float, float]:
    interval = scipy.stats.bootstrap(
        (series,),
        np.mean,
        n_resamples=1000,
        vectorized=True,
        paired=True,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(interval.low), float(interval.high)
