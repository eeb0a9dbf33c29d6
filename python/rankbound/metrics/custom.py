"""Metrics of your own: subclass :class:`RankingMetric`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rankbound.evaluation.lists import RankedLists


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingBatch:
    """What a metric of your own reads: a batch of ranked lists and where their relevant items stand.

    Its arrays cannot be written to.

    Parameters
    ----------
    predictions : RankedLists
        The lists, best item first.
    hits : ndarray of shape (n_rows, width), dtype bool
        Whether the item at each place is relevant; False beyond the end of a shorter list.
    target_counts : ndarray of shape (n_rows,), dtype int64
        Relevant items of each list, listed or not; 0 for a list that cannot be scored.
    """

    predictions: "RankedLists"
    hits: NDArray[np.bool_]
    target_counts: NDArray[np.int64]


class RankingMetric(ABC):
    """Base of metrics that :class:`rankbound.RankingEvaluator` runs beside the built-in ones.

    A metric of your own sees lists in the order in which they are given, so it is exact only where that order is:
    ties between equal scores are not averaged. For groups of rows the mean of its values is reported; for groups of
    items it cannot be evaluated. Every evaluation works on a copy of its own, made when it begins, so that none resets
    another's; the metric itself is left as it is. A :class:`rankbound.RankingEvaluator` also copies its attributes
    before each batch, so that a refused one leaves no trace: keep them small and copyable.

    Examples
    --------
    >>> import numpy as np
    >>> from rankbound.metrics import RankingMetric
    >>> class FirstHit(RankingMetric):
    ...     required_k, result_keys = 1, ("first_hit",)
    ...
    ...     def reset(self):
    ...         self.total, self.count = 0.0, 0
    ...
    ...     def update(self, batch):
    ...         scored = batch.target_counts > 0
    ...         self.total += batch.hits[scored, 0].sum()
    ...         self.count += scored.sum()
    ...         return batch.hits[:, :1].astype(float)
    ...
    ...     def compute(self):
    ...         return {"first_hit": self.total / self.count if self.count else float("nan")}
    """

    @property
    @abstractmethod
    def required_k(self) -> int:
        """The deepest rank that the metric looks at."""

    @property
    @abstractmethod
    def result_keys(self) -> tuple[str, ...]:
        """Keys of the results, one per column of the values."""

    @abstractmethod
    def reset(self) -> None:
        """Forget everything that was accumulated."""

    @abstractmethod
    def update(self, batch: RankingBatch) -> NDArray[np.floating]:
        """Accumulate a batch and return its values.

        Parameters
        ----------
        batch : RankingBatch
            Lists and hits.

        Returns
        -------
        ndarray of shape (n_rows, n_keys), dtype float
            One row per list, finite wherever there are relevant items; rows without are not read.
        """

    @abstractmethod
    def compute(self) -> Mapping[str, float]:
        """Return the aggregate per key.

        Returns
        -------
        mapping of str to float
            One number per result key.
        """
