"""How far the top of two runs agrees, whatever is relevant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._options import as_cut_off, as_level, resolve_num_threads
from rankbound._validation import as_float_scores, as_numpy, as_score_matrix
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
)

PADDING = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overlap:
    """How far two runs agree.

    Attributes
    ----------
    k : int
        Depth.
    persistence : float
        Weight of each rank relative to the one above, in the rank-biased overlap.
    n_lists, n_undefined : int
        Lists, and those left out of the means: empty in both runs, or with an unknown top k.
    shared : float
        Mean share of the top k that both runs have, from 0 to 1; NaN if no list is defined.
    rank_biased_overlap : float
        Mean of it, from 0 to 1, top-heavy.
    per_list : mapping of str to ndarray of shape (n_lists,)
        ``shared`` and ``rank_biased_overlap`` of each list; NaN where undefined.
    """

    k: int
    persistence: float
    n_lists: int
    n_undefined: int
    shared: float
    rank_biased_overlap: float
    per_list: Mapping[str, NDArray[np.float64]]


def overlap(
    a: Any,
    b: Any,
    k: int = 10,
    *,
    a_scores: Any = None,
    b_scores: Any = None,
    persistence: float = 0.9,
    num_threads: int | None = None,
) -> Overlap:
    """Measure how far the first k items of two runs agree.

    The share of shared items at a depth is an expectation over random orders of equal scores, the two runs' being
    independent. Rank-biased overlap weighs the shares at all depths geometrically; beyond k, the share found there is
    taken to go on (Webber, Moffat and Zobel 2010).

    Parameters
    ----------
    a, b : array_like of int of shape (n_lists, n_ranks)
        Items of each list, best first, at least 0 and distinct; -1 fills the rest of a list that has ended.
    k : int, default 10
        Depth, at most the number of ranks of either run.
    a_scores, b_scores : array_like of shape (n_lists, n_ranks) or None, default None
        Scores of the items: equal ones tie. None makes the order strict. A tie group at the end of a row without
        padding may go on beyond it; if it begins within the top k, that list is undefined: give more than k ranks.
    persistence : float, default 0.9
        Between 0 and 1.
    num_threads : int or None, default None
        Threads; results do not depend on it.

    Returns
    -------
    Overlap
        Means over the defined lists. Ranks that a short list leaves empty share nothing.

    Raises
    ------
    ShapeError, EmptyInputError, InvalidTypeError
        For arrays of other shapes or types.
    InvalidParameterError, DuplicateItemError, NonFiniteScoreError
        For items and scores that are no ranking, naming list and rank.

    References
    ----------
    .. [1] Webber, Moffat, Zobel (2010). A similarity measure for indefinite rankings. TOIS 28(4).
    .. [2] Corsi, Urbano (2024). The treatment of ties in rank-biased overlap. SIGIR.

    Examples
    --------
    >>> from rankbound.compare import overlap
    >>> found = overlap([[3, 1, 2]], [[1, 2, 3]], 3, persistence=0.5)
    >>> found.shared, found.rank_biased_overlap
    (1.0, 0.375)
    >>> overlap([[3, 1, 2]], [[1, 2, 3]], 1, b_scores=[[0.5, 0.5, 0.5]]).n_undefined
    1
    """
    depth = as_cut_off(k)
    items = {name: _items(of, name, depth) for name, of in {"a": a, "b": b}.items()}
    n_lists = len(items["a"])
    if len(items["b"]) != n_lists:
        raise ShapeError(f"a has {n_lists} lists and b has {len(items['b'])}; give both runs the same ones")
    shared, rank_biased = _core.overlap_lists(
        items["a"],
        items["b"],
        a_scores=_scores(a_scores, items["a"], "a_scores"),
        b_scores=_scores(b_scores, items["b"], "b_scores"),
        k=depth,
        persistence=as_level(persistence, name="persistence"),
        num_threads=resolve_num_threads(num_threads),
    )
    defined = ~np.isnan(shared)
    return Overlap(
        k=depth,
        persistence=float(persistence),
        n_lists=n_lists,
        n_undefined=int(n_lists - defined.sum()),
        shared=_core.exact_mean(shared[defined]),
        rank_biased_overlap=_core.exact_mean(rank_biased[defined]),
        per_list={"shared": shared, "rank_biased_overlap": rank_biased},
    )


def _items(lists: Any, name: str, k: int) -> NDArray[np.int64]:
    array = as_numpy(lists, name=name)
    if array.dtype.kind not in "iu":
        raise InvalidTypeError(f"{name} has dtype {array.dtype}; give the indices of the items as integers")
    if array.ndim != 2:
        raise ShapeError(f"{name} has shape {array.shape}; it must have two dimensions: lists and ranks")
    if not len(array):
        raise EmptyInputError(f"{name} has no lists: there is nothing to compare")
    if array.shape[1] < k:
        raise ShapeError(f"{name} has {array.shape[1]} ranks, fewer than k={k}; fill lists that have ended with -1")
    items = np.ascontiguousarray(array, dtype=np.int64)
    wrong = items < (0 if array.dtype.kind == "u" else PADDING)
    # An item after the end of its list.
    wrong[:, 1:] |= (items[:, :-1] == PADDING) & (items[:, 1:] != PADDING)
    if wrong.any():
        at, rank = np.argwhere(wrong)[0]
        raise InvalidParameterError(
            f"{name} has {array[at, rank]} at list {at}, rank {rank + 1}: items are at least 0, and -1 ends a list"
        )
    ordered = np.sort(items, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PADDING)
    if twice.any():
        at, place = np.argwhere(twice)[0]
        raise DuplicateItemError(f"{name} has item {ordered[at, place]} twice in list {at}; rank each item once")
    return items


def _scores(scores: Any, items: NDArray[np.int64], name: str) -> NDArray[np.float64] | None:
    if scores is None:
        return None
    matrix = as_float_scores(as_score_matrix(scores, name=name), name=name)
    if matrix.shape != items.shape:
        raise ShapeError(f"{name} has shape {matrix.shape}, but its items have {items.shape}; give one score per item")
    # What stands beside padding says nothing.
    plain = np.where(items == PADDING, -np.inf, matrix).astype(np.float64)
    wrong = ~np.isfinite(plain) & (items != PADDING)
    if wrong.any():
        at, rank = np.argwhere(wrong)[0]
        raise NonFiniteScoreError(f"{name} has {plain[at, rank]} at list {at}, rank {rank + 1}: scores must be finite")
    rising = plain[:, 1:] > plain[:, :-1]
    if rising.any():
        at, rank = np.argwhere(rising)[0]
        raise InvalidParameterError(
            f"{name} rises from {plain[at, rank]} to {plain[at, rank + 1]} in list {at} after rank {rank + 1}: sort "
            "the items by their scores, best first"
        )
    return plain
