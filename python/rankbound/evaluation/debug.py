"""Details of single lists, to see by eye why a value is what it is."""

from typing import Any

import numpy as np

from rankbound.evaluation.lists import RankedLists
from rankbound.evaluation.targets import Targets


def debug_rows_of(lists: RankedLists, targets: Targets, first: int, k: int | None) -> list[dict[str, Any]]:
    """Return what each list with relevant items holds, in the order of the list: ties are not averaged here.

    Parameters
    ----------
    lists : RankedLists
        The lists.
    targets : Targets
        Their relevant items.
    first : int
        Row number of the first list.
    k : int or None
        How many places to look at; None for all.

    Returns
    -------
    list of dict
        ``user_row``, ``n_true``, ``n_hits_topk``, ``first_hit_rank``, ``hit_ranks``, ``dcg``, ``idcg`` and ``ndcg`` of
        binary relevance.
    """
    from rankbound.evaluation.ranked import hits_of  # noqa: PLC0415 - reads this module

    found = []
    for row, (hits, n_true) in enumerate(zip(hits_of(lists, targets)[:, :k], targets.counts.tolist(), strict=True)):
        if n_true == 0:
            continue
        ranks = np.flatnonzero(hits) + 1
        depth = n_true if k is None else min(k, n_true)
        dcg = float((1 / np.log2(1 + ranks)).sum())
        ideal = float((1 / np.log2(2 + np.arange(depth))).sum())
        found.append(
            {
                "user_row": first + row,
                "n_true": n_true,
                "n_hits_topk": len(ranks),
                "first_hit_rank": int(ranks[0]) if len(ranks) else None,
                "hit_ranks": ranks.tolist(),
                "dcg": dcg,
                "idcg": ideal,
                "ndcg": dcg / ideal,
            }
        )
    return found
