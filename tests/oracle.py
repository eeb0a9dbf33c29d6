"""Rankings by enumeration: slow, plain, in exact fractions, and without a line of the library.

Every order of the candidates that the scores allow is listed; all are equally likely.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import chain, permutations, product

NAN = float("nan")


def orders(scores, excluded=()):
    """Return all orders of the candidates, best first."""
    levels = {}
    for column, score in enumerate(scores):
        if column not in excluded:
            levels.setdefault(float(score), []).append(column)
    groups = [list(permutations(levels[level])) for level in sorted(levels, reverse=True)]
    return [tuple(chain.from_iterable(parts)) for parts in product(*groups)]


def mean(values):
    values = list(values)
    return sum(values, Fraction(0)) / len(values) if values else NAN


def variance(values):
    return mean(value**2 for value in values) - mean(values) ** 2


WEIGHTS = {
    "hit": lambda _: Fraction(1),
    "mrr": lambda rank: Fraction(1, rank),
    "ndcg": lambda rank: Fraction(1 / math.log2(1 + rank)),
}


def metrics(k):
    """Return the micro metrics of a report with their weights and cut-offs."""
    names = [("hit", 1), ("hit", 5), ("hit", k), ("mrr", k), ("ndcg", k)]
    return {f"{name}@{cut}": (WEIGHTS[name], cut) for name, cut in names}


def gain(order, truth, weight, cut):
    """Return what an order earns: 0 for a truth that is no candidate (None) or beyond the cut-off."""
    rank = order.index(truth) + 1 if truth in order else math.inf
    return weight(rank) if rank <= cut else Fraction(0)


def list_values(scores, truths, weight, cut, excluded=None):
    """Return the expected value of each list."""
    masks = excluded or [()] * len(scores)
    return [
        mean(gain(order, truth, weight, cut) for order in orders(row, mask))
        for row, truth, mask in zip(scores, truths, masks, strict=True)
    ]


def tail(counts, mass):
    """Return the classes of the tail: whole levels of equal count, rarest first, while they fit."""
    counts = [Fraction(count) for count in counts]
    inside = set()
    for level in sorted(set(counts)):
        block = {column for column, count in enumerate(counts) if count == level}
        if sum(counts[column] for column in inside | block) > math.floor(Fraction(str(mass)) * sum(counts)):
            break
        inside |= block
    return inside


def gini(exposure):
    """Return the mean absolute difference over twice the mean."""
    gaps = sum(abs(a - b) for a in exposure for b in exposure)
    return gaps / (2 * len(exposure) * sum(exposure)) if sum(exposure) else NAN


def entropy(exposure):
    shares = [float(value / sum(exposure)) for value in exposure if value]
    return -math.fsum(share * math.log(share) for share in shares)


def measure(scores, truths, k, *, excluded=None, served=None, n_unseen_classes=0, in_tail=()):
    """Return ``micro``, ``macro`` and ``ties`` of a ranker as a report names them, as floats.

    ``served`` names the list of each row: rows of one list share their order.
    """
    n_lists, n_classes = len(scores), len(scores[0])
    masks = excluded or [()] * n_lists
    names = served or list(range(n_lists))
    rows_of = {name: [row for row in range(n_lists) if names[row] == name] for name in dict.fromkeys(names)}
    orders_of = {name: orders(scores[rows[0]], masks[rows[0]]) for name, rows in rows_of.items()}
    micro, ties = {}, {}
    for key, (weight, cut) in metrics(k).items():
        sums = [
            [sum(gain(order, truths[row], weight, cut) for row in rows_of[name]) for order in orders_of[name]]
            for name in rows_of
        ]
        micro[key] = sum(map(mean, sums)) / n_lists
        ties[key] = {
            "min": float(sum(map(min, sums)) / n_lists),
            "max": float(sum(map(max, sums)) / n_lists),
            "sd": math.sqrt(sum(map(variance, sums))) / n_lists,
        }
    tops = [[set(order[:k]) for order in orders_of[name]] for name in rows_of]
    inclusion = [[mean(Fraction(column in top) for top in of_list) for of_list in tops] for column in range(n_classes)]
    exposure = [sum(of_class) for of_class in inclusion]
    hits = list_values(scores, truths, WEIGHTS["hit"], k, masks)
    support = Counter(truth for truth in truths if truth is not None)
    recalls = [mean(hit for hit, truth in zip(hits, truths, strict=True) if truth == column) for column in support]
    widths = [
        len([other for other, score in enumerate(row) if score == row[truth] and other not in mask])
        for row, truth, mask in zip(scores, truths, masks, strict=True)
        if truth is not None and truth not in mask
    ]
    macro = {
        f"macro_recall@{k}": mean(recalls + [Fraction(0)] * n_unseen_classes),
        f"tail_hit@{k}": mean(hit for hit, truth in zip(hits, truths, strict=True) if truth in in_tail),
        "catalog_coverage": mean(1 - math.prod(1 - share for share in of_class) for of_class in inclusion),
        "recommendation_entropy": entropy(exposure),
        "recommendation_gini": gini(exposure),
    }
    ties |= {
        "share_of_rows_tied_at_cut": float(
            mean(Fraction(any(top != of_list[0] for top in of_list)) for of_list in tops)
        ),
        "mean_tie_width": float(mean(map(Fraction, widths))),
    }
    return {
        "micro": {key: float(value) for key, value in micro.items()},
        "macro": {key: float(value) for key, value in macro.items()},
        "ties": ties,
    }


def flat(node, prefix=""):
    """Return a nested mapping as one level, for ``pytest.approx``."""
    if not isinstance(node, dict):
        return {prefix: node}
    return {key: leaf for name, child in node.items() for key, leaf in flat(child, f"{prefix}/{name}").items()}
