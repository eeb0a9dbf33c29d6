"""Corrections of p-values for the number of hypotheses."""

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_choice

CORRECTIONS = ("holm", "bonferroni", "bh")


def adjust_p_values(p_values: NDArray[np.float64], correction: str | None) -> NDArray[np.float64]:
    """Return p-values that may be held against the level of the whole family.

    Parameters
    ----------
    p_values : ndarray of shape (m,)
        One for each hypothesis of the family.
    correction : {"holm", "bonferroni", "bh"} or None
        ``holm`` (Holm 1979) and ``bonferroni`` bound the probability of any false rejection under any dependence;
        ``bh`` (Benjamini and Hochberg 1995) bounds the expected share of false ones among the rejections, for
        independent or positively dependent tests. None changes nothing.

    Returns
    -------
    ndarray of shape (m,)
        At most 1, in the order of ``p_values``.

    Raises
    ------
    InvalidParameterError
        For another correction.

    Examples
    --------
    >>> import numpy as np
    >>> from rankbound.compare.corrections import adjust_p_values
    >>> adjust_p_values(np.array([0.01, 0.04, 0.03, 0.005]), "holm")
    array([0.03, 0.06, 0.06, 0.02])
    """
    if correction is None:
        return p_values
    as_choice(correction, CORRECTIONS, name="correction")
    n_hypotheses = len(p_values)
    if correction == "bonferroni":
        return np.minimum(1.0, n_hypotheses * p_values)
    order = np.argsort(p_values, kind="stable")
    ranks = np.arange(n_hypotheses)
    adjusted = np.empty(n_hypotheses)
    if correction == "holm":
        adjusted[order] = np.maximum.accumulate((n_hypotheses - ranks) * p_values[order])
    else:
        adjusted[order] = np.minimum.accumulate((n_hypotheses * p_values[order] / (ranks + 1))[::-1])[::-1]
    return np.minimum(1.0, adjusted)
