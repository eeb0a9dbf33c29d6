"""The tie groups behind tie profiles, for what the core has no metric for."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbound import _core


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Tie groups with relevant items of all lists, list after list, best first."""

    lists: NDArray[np.int64]
    better: NDArray[np.int64]
    tied: NDArray[np.int64]
    relevant: NDArray[np.int64]
    n_lists: int

    def expected_hits(self, k: int | None = None) -> NDArray[np.float64]:
        """Return how many relevant items each list has in its top k, in the mean; None takes all that are listed."""
        slots = self.tied if k is None else np.clip(k - self.better, 0, self.tied)
        hits = np.bincount(self.lists, self.relevant * slots / self.tied, minlength=self.n_lists)
        return hits.astype(np.float64)  # Without any group numpy counts in integers.


def groups_by_list(profiles: _core.Profiles) -> Groups:
    """Return the tie groups of profiles."""
    ends, *counts = profiles.groups()
    better, tied, relevant = (column.astype(np.int64) for column in counts)
    lasts = ends.astype(np.int64)
    sizes: NDArray[np.int64] = np.diff(lasts, prepend=np.int64(0))
    lists = np.repeat(np.arange(len(sizes)), sizes)
    return Groups(lists=lists, better=better, tied=tied, relevant=relevant, n_lists=len(sizes))
