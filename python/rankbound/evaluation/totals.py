"""What the built-in metrics add up to over lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound.metrics.spec import CoreMetric


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums of each metric over some lists, and how many there are.

    ``upper`` holds the sums with every open tie broken for the list, where ``sums`` hold the least the lists can be
    worth.
    """

    n_rows: int = 0
    n_scored_rows: int = 0
    sums: _core.ListSums | None = None
    upper: _core.ListSums | None = None

    @classmethod
    def of(
        cls,
        profiles: _core.Profiles,
        upper: _core.Profiles | None,
        metrics: Sequence[CoreMetric],
        *,
        num_threads: int,
    ) -> tuple[Self, list[NDArray[np.float64]]]:
        """Evaluate lists: what their values add up to, and the values of each metric, NaN without relevant items."""
        columns, sums = _core.evaluate_lists(profiles, metrics, num_threads=num_threads)
        most = None if upper is None else _core.evaluate_lists(upper, metrics, num_threads=num_threads)[1]
        n_scored_rows = int(np.count_nonzero(profiles.n_relevant()))
        return cls(n_rows=len(profiles), n_scored_rows=n_scored_rows, sums=sums, upper=most), columns

    def plus(self, other: "Totals") -> "Totals":
        """Return the totals over the lists of both, of the same metrics and options."""
        if self.sums is None or other.sums is None:
            return other if self.sums is None else self
        return Totals(
            n_rows=self.n_rows + other.n_rows,
            n_scored_rows=self.n_scored_rows + other.n_scored_rows,
            sums=self.sums.merge(other.sums),
            upper=None if self.upper is None or other.upper is None else self.upper.merge(other.upper),
        )

    def aggregates(self, metrics: Sequence[CoreMetric]) -> tuple[dict[str, float], dict[str, dict[str, float | None]]]:
        """Return the aggregate of every metric, and what ties leave open about it.

        Parameters
        ----------
        metrics : sequence of CoreMetric
            Those that were added up.

        Returns
        -------
        values, ties : dict
            By result key.
        """
        values: dict[str, float] = {}
        ties: dict[str, dict[str, float | None]] = {}
        nothing = (0, np.nan, np.nan, np.nan, None, np.nan)
        means = [nothing] * len(metrics) if self.sums is None else self.sums.means()
        upper = means if self.upper is None else self.upper.means()
        for metric, (count, mean, best, worst, sd, share), (_, _, upper_best, *_) in zip(
            metrics, means, upper, strict=True
        ):
            if metric.count_key:
                values[metric.count_key] = count
            values[metric.key] = mean
            ties[metric.key] = {
                "share_tied_at_cut": share,
                "mean_best": best if self.upper is None else upper_best,
                "mean_worst": worst,
                "sd": sd if self.upper is None else None,
            }
        return values, ties
