"""The law of a sampled rank given the true rank, and what a rank is worth.

With ``m`` negatives out of ``n - 1``, of which ``r - 1`` beat the truth, the number ``j`` of drawn negatives that beat
it is Binomial(m, (r - 1) / (n - 1)) with replacement and Hypergeometric(n - 1, r - 1, m) without (Krichene and Rendle
2020). The sampled rank is ``j + 1``.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._labels import as_vector, describe_kind, split_missing
from rankbound._options import as_choice, as_cut_off
from rankbound.errors import EmptyInputError, InvalidKError, InvalidParameterError, InvalidTypeError, ShapeError
from rankbound.sampled.results import SampleDesign

# With one relevant item, recall is the hit rate and average precision the reciprocal rank.
_AT_LEAST_ONE = ("hit", "hit_rate", "recall")
METRICS = (*_AT_LEAST_ONE, "mrr", "map", "ndcg", "auc")
# Entries of the law held at once: they and their temporaries stay in a cache.
_BLOCK = 1 << 16
# Numbers in the largest array that is ever made: 2 GiB.
MAX_NUMBERS = 2**28

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]


def metric_label(metric: Any, k: Any) -> str:
    """Check a metric and its cut-off and return their name.

    Parameters
    ----------
    metric : str
        One of ``METRICS``.
    k : int or None
        Cut-off; None for the whole list.

    Returns
    -------
    str
        Such as ``recall@10`` or ``auc``.

    Raises
    ------
    InvalidParameterError
        For other metrics.
    InvalidKError
        If a hit comes without cut-off, AUC with one, or the cut-off is out of range.
    """
    name = as_choice(metric, METRICS, name="metric")
    if k is None:
        if name in _AT_LEAST_ONE:
            raise InvalidKError(f"metric {name!r} needs a cut-off: pass k")
        return name
    if name == "auc":
        raise InvalidKError("metric 'auc' takes the whole list: leave out k")
    return f"{name}@{as_cut_off(k)}"


def check_fits(design: SampleDesign, n_numbers: int, *, fits: str) -> None:
    """Refuse a design whose arrays would not fit in memory, before they are made.

    Parameters
    ----------
    design : SampleDesign
        How negatives are drawn.
    n_numbers : int
        Numbers in the largest array.
    fits : str
        What would fit, for the message.

    Raises
    ------
    InvalidParameterError
        If they are more than ``MAX_NUMBERS``.
    """
    if n_numbers > MAX_NUMBERS:
        raise InvalidParameterError(
            f"n_items={design.n_items} and n_samples={design.n_samples} need an array of {n_numbers} numbers, above "
            f"the {MAX_NUMBERS} that are held in memory: {fits}"
        )


def values_of_ranks(metric: str, k: int | None, n_ranks: int, *, ranks: Ranks | None = None) -> Floats:
    """Return what ranks are worth in a list.

    Parameters
    ----------
    metric, k
        Accepted by :func:`metric_label`.
    n_ranks : int
        Length of the list, at least 2.
    ranks : ndarray of int64, or None, default None
        Ranks from 1 to ``n_ranks``; None takes all.

    Returns
    -------
    ndarray of shape (n_ranks,), or that of ``ranks``
        Values between 0 and 1; 0 beyond ``k``.
    """
    places = np.arange(1.0, n_ranks + 1) if ranks is None else ranks.astype(np.float64)
    if metric == "auc":
        return (n_ranks - places) / (n_ranks - 1)
    if metric in _AT_LEAST_ONE:
        values = np.ones(len(places))
    elif metric == "ndcg":
        values = 1 / np.log2(1 + places)
    else:
        values = 1 / places
    if k is not None:
        values[places > k] = 0
    return values


def rank_law(design: SampleDesign, ranks: Ranks) -> Floats:
    """Return the law of the sampled rank for each true rank.

    The terms are built from the mode outwards by the ratio of neighbours and divided by their sum, which keeps all
    digits where differences of log-gamma values lose them.

    Parameters
    ----------
    design : SampleDesign
        How negatives are drawn.
    ranks : ndarray of shape (n_ranks,), dtype int64
        True ranks from 1 to ``design.n_items``.

    Returns
    -------
    ndarray of shape (n_ranks, n_samples + 1)
        Probabilities of the sampled ranks 1, 2, ..., m + 1; each row sums to 1.
    """
    n, m = design.n_items, design.n_samples
    # Integers below 2^53 in doubles, hence exact.
    better, worse = (ranks - 1.0)[:, None], (float(n) - ranks)[:, None]
    j = np.arange(m, dtype=np.float64)
    # P(j + 1) / P(j) = rise / fall
    if design.replacement:
        mode = np.minimum((m + 1) * better // (n - 1), m)
        rise, fall = better * (m - j), worse * (j + 1)
    else:
        mode = (m + 1) * (better + 1) // (n + 1)
        rise, fall = np.maximum(better - j, 0) * (m - j), np.maximum(worse - m + j + 1, 0) * (j + 1)
    above = j >= mode
    ones = np.ones_like(rise)
    up = np.cumprod(np.divide(rise, fall, out=ones.copy(), where=above), axis=1)
    down = np.cumprod(np.divide(fall, rise, out=ones, where=~above)[:, ::-1], axis=1)[:, ::-1]
    law = np.ones((len(ranks), m + 1))
    law[:, 1:] *= up
    law[:, :-1] *= down
    law /= law.sum(axis=1, keepdims=True)
    return law


def blocks_of_law(design: SampleDesign, ranks: Ranks | None = None) -> Iterator[tuple[slice, Floats]]:
    """Yield the law in blocks of true ranks, so that memory does not grow with the catalogue.

    Parameters
    ----------
    design : SampleDesign
        How negatives are drawn.
    ranks : ndarray of shape (n_ranks,), dtype int64, or None, default None
        True ranks; None takes all.

    Yields
    ------
    rows : slice
        Which of the ranks the block holds.
    law : ndarray of shape (n_rows, n_samples + 1)
        Their law.
    """
    n_ranks = design.n_items if ranks is None else len(ranks)
    # Over all ranks, whose blocks a QR update wants to be taller than wide.
    least = 2 * design.n_samples if ranks is None else 1
    step = max(_BLOCK // (design.n_samples + 1), least)
    for start in range(0, n_ranks, step):
        rows = slice(start, min(start + step, n_ranks))
        yield rows, rank_law(design, np.arange(rows.start + 1, rows.stop + 1) if ranks is None else ranks[rows])


def as_rank_bounds(ranks: Any, worst_ranks: Any, longest: int | Ranks, *, among: str) -> tuple[Ranks, Ranks]:
    """Check ranks and return the best and the worst rank of each list.

    Parameters
    ----------
    ranks : array_like of shape (n_lists,)
        Integers from 1 to ``longest``.
    worst_ranks : array_like of shape (n_lists,) or None
        The worst rank that ties allow; None if there are none.
    longest : int or ndarray of shape (n_lists,)
        The last rank there is.
    among : str
        What is ranked, for messages.

    Returns
    -------
    best, worst : ndarray of shape (n_lists,), dtype int64
        With ``1 <= best <= worst <= longest``.

    Raises
    ------
    EmptyInputError
        Without lists.
    ShapeError
        If lengths differ.
    InvalidTypeError, InvalidParameterError
        For ranks that are no integers or out of range.
    """
    best = _as_ranks(ranks, longest, "ranks", among)
    if worst_ranks is None:
        return best, best
    worst = _as_ranks(worst_ranks, longest, "worst_ranks", among)
    if len(worst) != len(best):
        raise ShapeError(f"worst_ranks has {len(worst)} entries, but ranks has {len(best)}; give one per list")
    if (worst < best).any():
        row = int((worst < best).argmax())
        raise InvalidParameterError(
            f"worst_ranks has {worst[row]} at list {row}, above its best rank {best[row]}; pass both as "
            "rank_bounds_of_truth returns them"
        )
    return best, worst


def _as_ranks(ranks: Any, longest: int | Ranks, name: str, among: str) -> Ranks:
    numbers, missing = split_missing(as_vector(ranks, name=name), name=name)
    if not len(numbers):
        raise EmptyInputError(f"{name} is empty: there is nothing to measure")
    if numbers.dtype.kind not in "if":
        raise InvalidTypeError(f"{name} must hold integers, got {describe_kind(numbers)}")
    floats = np.where(missing, np.nan, numbers)
    if isinstance(longest, np.ndarray) and longest.ndim and len(longest) != len(floats):
        raise ShapeError(f"n_samples has {len(longest)} entries, but {name} has {len(floats)}; give one per list")
    last = np.broadcast_to(longest, floats.shape)
    wrong = ~((floats >= 1) & (floats <= last) & (floats == np.floor(floats)))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidParameterError(
            f"{name} has {floats[row]:g} at list {row}; ranks among {among} are integers from 1 to {last[row]}: leave "
            "out lists whose truth is no candidate, and count them as misses"
        )
    return floats.astype(np.int64)
