"""Which classes are the tail."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def tail_classes(counts: NDArray[Any], tail_mass: float) -> NDArray[np.bool_]:
    """Mark the largest set of least popular classes with at most ``tail_mass`` of all counts.

    Classes of equal count go in or stay out together, so that no order of the columns matters; classes without a
    count are always in.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Training counts, or popularity of any scale, at least 0.
    tail_mass : float
        Share of the sum of the counts, from 0 to 1.

    Returns
    -------
    ndarray of bool of shape (n_classes,)
        True for the tail.
    """
    levels, sizes = np.unique(counts, return_counts=True)
    masses = np.cumsum(levels * sizes)
    limit = tail_mass * masses[-1]
    # The slack undoes the rounding of a product such as 0.2 * 15.
    limit = np.floor(limit + 1e-9) if np.all(levels == np.floor(levels)) else limit * (1 + 1e-12)
    inside = levels[masses <= limit]
    return np.asarray(counts <= inside[-1]) if len(inside) else np.zeros(len(counts), dtype=np.bool_)
