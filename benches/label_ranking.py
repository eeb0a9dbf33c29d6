"""Kendall's tau of many label rankings against a loop over scipy's, which has the same values."""

from collections.abc import Iterator
from math import isclose

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from figures import Figure, timed
from rankbound.label_ranking import kendall_tau_score

TITLE = "Kendall's tau, mean over rankings; reference: a loop over scipy.stats.kendalltau"
# Of the rankings scipy gets every so many: the loop is linear in them, and would take minutes.
SAMPLE = 20


def figures(*, quick: bool) -> Iterator[Figure]:
    for n_rankings, n_labels in [(5_000, 20), (200, 500)] if quick else [(100_000, 20), (2_000, 500)]:
        rng = np.random.default_rng(6)
        rows = np.tile(np.arange(n_labels), (n_rankings, 1))
        y_true, y_pred = rng.permuted(rows, axis=1), rng.permuted(rows, axis=1)
        yield _figure(y_true, y_pred, limit=None if quick else 1 / 30)


def gated() -> Iterator[Figure]:
    """The figures that have limits."""
    return figures(quick=False)


def _figure(y_true: NDArray[np.int64], y_pred: NDArray[np.int64], *, limit: float | None) -> Figure:
    sample = y_true[::SAMPLE], y_pred[::SAMPLE]

    def scipys() -> float:
        return float(np.mean([kendalltau(*row).statistic for row in zip(*sample, strict=True)]))

    assert isclose(kendall_tau_score(*sample), scipys(), rel_tol=1e-9, abs_tol=1e-12)
    n_rankings, n_labels = y_true.shape
    figure = timed(
        f"{n_rankings:,} x {n_labels}, {SAMPLE} times those scipy gets",
        lambda: kendall_tau_score(y_true, y_pred),
        scipys,
        n_pairs=5,
    )
    return Figure(
        name=figure.name, ours=figure.ours, reference=figure.reference, ratio=figure.ratio / SAMPLE, limit=limit
    )
