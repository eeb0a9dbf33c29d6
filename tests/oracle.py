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


def expected_exposure(scores, truths, k, masks, rows_of):
    """Return the distance of exposures from those of an ideal ranker, and what it is made of, over served lists."""

    def exposures(levels, mask):
        ranked = orders(levels, mask)
        return [mean(gain(order, column, WEIGHTS["ndcg"], k) for order in ranked) for column in range(len(levels))]

    parts = []
    for rows in rows_of.values():
        relevant = {truths[row] for row in rows}
        own = exposures(scores[rows[0]], masks[rows[0]])
        ideal = exposures([column in relevant for column in range(len(own))], masks[rows[0]])
        pairs = list(zip(own, ideal, strict=True))
        parts.append((sum((a - b) ** 2 for a, b in pairs), sum(a * a for a in own), sum(a * b for a, b in pairs)))
    names = [f"expected_exposure_{part}" for part in ("loss", "disparity", "relevance")]
    return {name: float(mean(column)) for name, column in zip(names, zip(*parts, strict=True), strict=True)}


def measure(scores, truths, k, *, excluded=None, served=None, n_unseen_classes=0, in_tail=()):
    """Return ``micro``, ``macro``, ``ties`` and expected exposure of a ranker as a report names them, as floats.

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
        "catalogue": expected_exposure(scores, truths, k, masks, rows_of),
        "ties": ties,
    }


def flat(node, prefix=""):
    """Return a nested mapping as one level, for ``pytest.approx``."""
    if not isinstance(node, dict):
        return {prefix: node}
    return {key: leaf for name, child in node.items() for key, leaf in flat(child, f"{prefix}/{name}").items()}


def list_metrics(k, *, patience=Fraction(85, 100), max_grade=3):  # noqa: C901 - one definition after another
    """Return metrics of lists with any number of relevant items by their definitions, at a cut-off or none.

    Each takes the grades in ranked order, 0 where not relevant, and the grades of all relevant items.
    """

    def cut(ranked):
        return ranked if k is None else ranked[:k]

    def hits(ranked):
        return Fraction(sum(grade > 0 for grade in ranked))

    def divided(ranked, number):
        return hits(cut(ranked)) / number

    def f1(ranked, relevant):
        precision, recall = hits(cut(ranked)) / k, hits(cut(ranked)) / len(relevant)
        return 2 * precision * recall / (precision + recall) if recall else Fraction(0)

    def precisions(ranked):
        return sum(hits(ranked[: at + 1]) / (at + 1) for at, grade in enumerate(cut(ranked)) if grade > 0)

    def reciprocal_rank(ranked, _relevant):
        return next((Fraction(1, at + 1) for at, grade in enumerate(cut(ranked)) if grade > 0), Fraction(0))

    def rank_biased(ranked, gain):
        return sum((1 - patience) * patience**at * gain(grade) for at, grade in enumerate(cut(ranked)) if grade > 0)

    def expected_reciprocal_rank(ranked, _relevant):
        value, reached = Fraction(0), Fraction(1)
        for at, grade in enumerate(cut(ranked)):
            stops = (2 ** Fraction(grade) - 1) / Fraction(2) ** max_grade
            value, reached = value + reached * Fraction(stops) / (at + 1), reached * (1 - Fraction(stops))
        return value

    def cumulated(ranked, gain, discount):
        return sum(Fraction(gain(grade)) * discount(at + 1) for at, grade in enumerate(cut(ranked)) if grade > 0)

    every = {
        "mrr": reciprocal_rank,
        "map": lambda ranked, relevant: precisions(ranked) / min(len(relevant), k or len(relevant)),
        "map_relevant": lambda ranked, relevant: precisions(ranked) / len(relevant),
        "rbp": lambda ranked, _: rank_biased(ranked, lambda _: 1),
        "err": expected_reciprocal_rank,
    }
    if k is not None:
        every |= {
            "hit_rate": lambda ranked, _: Fraction(hits(cut(ranked)) > 0),
            "precision": lambda ranked, _: divided(ranked, k),
            "recall": lambda ranked, relevant: divided(ranked, len(relevant)),
            "calibrated_recall": lambda ranked, relevant: divided(ranked, min(k, len(relevant))),
            "f1": f1,
        }
    gains = {"": lambda _: 1, "_exp2": lambda grade: 2**grade - 1, "_linear": lambda grade: grade}
    discounts = {
        "": lambda rank: Fraction(1 / math.log2(1 + rank)),
        "_jk2002": lambda rank: Fraction(1 / max(1.0, math.log2(rank))),
    }
    for (of_gain, gain), (of_discount, discount) in product(gains.items(), discounts.items()):

        def dcg(ranked, _relevant, gain=gain, discount=discount):
            return cumulated(ranked, gain, discount)

        def ndcg(ranked, relevant, gain=gain, discount=discount):
            return cumulated(ranked, gain, discount) / cumulated(sorted(relevant, reverse=True), gain, discount)

        every |= {f"dcg{of_gain}{of_discount}": dcg, f"ndcg{of_gain}{of_discount}": ndcg}
    at = "" if k is None else f"@{k}"
    named = {name + at: metric for name, metric in every.items()}
    return named | {"r_precision": lambda ranked, relevant: hits(ranked[: len(relevant)]) / len(relevant)}


def list_outcomes(metric, scores, grades, excluded=(), *, drop=False):
    """Return what each order of the candidates is worth; nothing without relevant items."""
    relevant = [grade for item, grade in enumerate(grades) if grade > 0 and not (drop and item in excluded)]
    if not relevant:
        return []
    return [metric([grades[item] for item in order], relevant) for order in orders(scores, excluded)]
