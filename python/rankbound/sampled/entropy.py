"""The distribution of true ranks that fits the sampled ranks and is otherwise as even as possible."""

import numpy as np

from rankbound.errors import InvalidParameterError
from rankbound.sampled.rank_law import Floats

_MAX_STEPS = 200
# Of the objective, relative to 1: far below what any choice of eta is worth.
_TOLERANCE = 1e-12


def most_even_fit(law: Floats, shares: Floats, weights: Floats, eta: float) -> Floats:
    """Minimise ``sum(weights * (law' p - shares)^2) - eta * entropy(p)`` over distributions ``p`` (Jin et al. 2021).

    Solved through its dual, which has one variable per sampled rank seen, no constraints and a single optimum: with
    ``z`` the scaled residuals, ``p`` is proportional to ``exp(-law sqrt(2 weights) z / eta)``. The dual is maximised by
    Newton's method with step halving.

    Parameters
    ----------
    law : ndarray of shape (n_items, n_samples + 1)
        Probability of each sampled rank given each true rank.
    shares : ndarray of shape (n_samples + 1,)
        Observed share of each sampled rank.
    weights : ndarray of shape (n_samples + 1,)
        Weight of each squared difference, at least 0.
    eta : float
        Weight of the entropy, above 0.

    Returns
    -------
    ndarray of shape (n_items,)
        Probability of each true rank.

    Raises
    ------
    InvalidParameterError
        If ``eta`` is so small that no optimum is found.
    """
    seen = weights > 0
    scale = np.sqrt(2 * weights[seen])
    directions, target = law[:, seen] * scale, shares[seen] * scale

    def dual(z: Floats) -> tuple[float, Floats]:
        exponents = -(directions @ z) / eta
        top = exponents.max()
        unnormalised = np.exp(exponents - top)
        total = unnormalised.sum()
        value = -0.5 * z @ z - target @ z - eta * (top + np.log(total / len(exponents)))
        return float(value), unnormalised / total

    z = np.zeros(len(target))
    value, probabilities = dual(z)
    for _ in range(_MAX_STEPS):
        fitted = probabilities @ directions
        gradient = fitted - target - z
        centred = directions - fitted
        hessian = (centred * probabilities[:, None]).T @ centred / eta + np.eye(len(z))
        step = np.linalg.solve(hessian, gradient)
        promise = float(gradient @ step)
        if promise <= _TOLERANCE:
            # Newton's last step squares what is left, below what values of the dual can show.
            return dual(z + step)[1]
        length = 1.0
        while (found := dual(z + length * step))[0] < value + 0.25 * length * promise:
            length /= 2
        z = z + length * step
        value, probabilities = found
    raise InvalidParameterError(f"no optimum found with eta={eta!r}; take a larger one")
