"""What each sampled rank should be worth, so that the mean comes close to the exact metric.

Krichene and Rendle 2020 (CACM 2022), section 5. ``A[r, j]`` is the probability of the sampled rank ``j + 1`` given the
true rank ``r``, ``D`` the diagonal of the prior over true ranks, ``M`` the exact metric's value of each rank.
"""

import numpy as np

from rankbound.errors import InvalidParameterError
from rankbound.sampled.rank_law import Floats, Ranks, blocks_of_law
from rankbound.sampled.results import SampleDesign

# Beyond it a solution in doubles has no correct digits to speak of.
MAX_CONDITION = 1e12


def estimated_ranks(design: SampleDesign) -> Ranks:
    """Return the true rank that has each sampled rank's share of better items.

    Parameters
    ----------
    design : SampleDesign
        How negatives are drawn.

    Returns
    -------
    ndarray of shape (n_samples + 1,), dtype int64
        From 1 to ``n_items``.
    """
    drawn_above = np.arange(design.n_samples + 1)
    return 1 + (design.n_items - 1) * drawn_above // design.n_samples


def bias_variance_values(design: SampleDesign, exact: Floats, prior: Floats, gamma: float) -> tuple[Floats, float]:
    """Return the values that minimise squared bias plus ``gamma`` times the variance, both averaged over the prior.

    Solves ``((1 - gamma) A'DA + gamma diag(A'D1)) values = A'DM``; ``gamma = 0`` gives the least bias, ``gamma = 1``
    the posterior mean.

    Parameters
    ----------
    design : SampleDesign
        How negatives are drawn.
    exact : ndarray of shape (n_items,)
        Value of each true rank.
    prior : ndarray of shape (n_items,)
        Probability of each true rank.
    gamma : float
        Between 0 and 1.

    Returns
    -------
    values : ndarray of shape (n_samples + 1,)
        Value of each sampled rank; NaN for those that the prior rules out.
    condition_number : float
        Of the matrix, scaled to a unit diagonal.

    Raises
    ------
    InvalidParameterError
        If the condition number exceeds ``MAX_CONDITION``.
    """
    width = design.n_samples + 1
    products, moments, marginal = np.zeros((width, width)), np.zeros(width), np.zeros(width)
    for rows, law in blocks_of_law(design):
        weighted = law * prior[rows, None]
        products += weighted.T @ law
        moments += weighted.T @ exact[rows]
        marginal += weighted.sum(axis=0)
    possible = marginal > 0
    matrix = ((1 - gamma) * products + gamma * np.diag(marginal))[np.ix_(possible, possible)]
    scale = 1 / np.sqrt(np.diag(matrix))
    matrix *= np.outer(scale, scale)
    eigenvalues = np.linalg.eigvalsh(matrix)
    condition = float(eigenvalues[-1] / eigenvalues[0]) if eigenvalues[0] > 0 else np.inf
    _check_condition(condition, design, "method 'bias_variance' with a gamma closer to 1")
    values = np.full(width, np.nan)
    values[possible] = scale * np.linalg.solve(matrix, scale * moments[possible])
    return values, condition


def monotone_values(design: SampleDesign, exact: Floats, prior: Floats) -> tuple[Floats, float]:
    """Return the values of least bias among those that do not increase with the sampled rank (CLS).

    The values are a constant plus steps at least 0 that start at the top; with the constant projected out this is a
    non-negative least-squares problem. It is solved on a QR factor, which keeps the digits that ``A'DA`` would lose.

    Parameters
    ----------
    design : SampleDesign
        How negatives are drawn.
    exact : ndarray of shape (n_items,)
        Value of each true rank.
    prior : ndarray of shape (n_items,)
        Probability of each true rank.

    Returns
    -------
    values : ndarray of shape (n_samples + 1,)
        Value of each sampled rank.
    condition_number : float
        Of the normal equations of the constant and the steps taken, scaled to a unit diagonal.

    Raises
    ------
    InvalidParameterError
        If the condition number exceeds ``MAX_CONDITION``.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - needed here alone

    m = design.n_samples
    triangle = np.zeros((0, m + 2))
    for rows, law in blocks_of_law(design):
        # A step after sampled rank i + 1 adds to all ranks up to it: the columns are distribution functions.
        steps = np.cumsum(law[:, :m], axis=1)
        block = np.column_stack([np.ones(len(law)), steps, exact[rows]]) * np.sqrt(prior[rows, None])
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    columns, target = triangle[:, :-1], triangle[:, -1]
    steps_taken, _ = nnls(columns[1:, 1:], target[1:])
    constant = (target[0] - columns[0, 1:] @ steps_taken) / columns[0, 0]
    used = columns[:, np.concatenate([[True], steps_taken > 0])]
    condition = float(np.linalg.cond(used / np.linalg.norm(used, axis=0)) ** 2)
    _check_condition(condition, design, "method 'bias_variance'")
    # Adding 0 turns -0 into 0.
    return np.append(constant + np.cumsum(steps_taken[::-1])[::-1], constant) + 0.0, condition


def _check_condition(condition: float, design: SampleDesign, instead: str) -> None:
    if not condition <= MAX_CONDITION:
        raise InvalidParameterError(
            f"the correction for {design.n_samples} of {design.n_items} items has condition number {condition:.1e}, "
            f"above {MAX_CONDITION:.0e}: its values would be rounding errors; use {instead}"
        )
