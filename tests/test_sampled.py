"""Sampled metrics: every draw of negatives enumerated, every system solved in fractions."""

import json
import math
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from rankbound.errors import (
    InvalidParameterError,
    ReliabilityWarning,
    ShapeError,
)
from rankbound.ranks import rank_bounds_of_truth
from rankbound.sampled import (
    SampleDesign,
    check_comparable,
    correct_sampled,
    estimate_rank_distribution,
    expected_sampled_metric,
)
from rankbound.sampled.rank_law import blocks_of_law, rank_law

pytestmark = pytest.mark.filterwarnings("ignore::rankbound.errors.ReliabilityWarning")
TOY = json.loads((Path(__file__).parent / "data" / "golden.json").read_text(encoding="utf-8"))["krichene_rendle_toy"]
DESIGNS = [(4, 3, True), (5, 2, True), (5, 2, False), (6, 4, False), (6, 5, False), (3, 4, True), (7, 1, True)]


def enumerated_law(n, m, replacement):
    """Return the law of the sampled rank, a row for each true rank, from all equally likely draws."""
    rows = []
    for rank in range(1, n + 1):
        negatives = [item for item in range(1, n + 1) if item != rank]
        draws = list(product(negatives, repeat=m) if replacement else combinations(negatives, m))
        counts = [0] * (m + 1)
        for draw in draws:
            counts[sum(item < rank for item in draw)] += 1
        rows.append([Fraction(count, len(draws)) for count in counts])
    return rows


def worth(metric, k, length):
    """Return the value of each rank of a list as fractions."""
    values = []
    for rank in range(1, length + 1):
        value = {
            "recall": Fraction(1),
            "mrr": Fraction(1, rank),
            "ndcg": Fraction(1 / math.log2(1 + rank)),
            "auc": Fraction(length - rank, length - 1),
        }[metric]
        values.append(value if k is None or rank <= k else Fraction(0))
    return values


def solve(matrix, right):
    """Solve a linear system in fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for at in range(size):
        pivot = next(row for row in range(at, size) if rows[row][at])
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for row in range(size):
            if row != at:
                rows[row] = [a - rows[row][at] * b for a, b in zip(rows[row], rows[at], strict=True)]
    return [row[-1] for row in rows]


def floats(fractions):
    return np.array([[float(value) for value in row] for row in fractions])


@pytest.mark.parametrize(("n", "m", "replacement"), DESIGNS)
def test_rank_law(n, m, replacement):
    design = SampleDesign(n_items=n, n_samples=m, replacement=replacement)
    law = rank_law(design, np.arange(1, n + 1))
    assert law == pytest.approx(floats(enumerated_law(n, m, replacement)), rel=1e-14, abs=0)


@pytest.mark.parametrize("replacement", [True, False])
def test_rank_law_keeps_its_digits_in_a_large_catalogue(replacement):
    n, m = 1_000_000, 100
    ranks = [1, 2, 10_000, 500_000, 999_999, 1_000_000]
    law = rank_law(SampleDesign(n_items=n, n_samples=m, replacement=replacement), np.array(ranks))
    for rank, row in zip(ranks, law, strict=True):
        above, below = rank - 1, n - rank
        for j in (0, 1, 50, 99, 100):
            ways = math.comb(m, j) * above**j * below ** (m - j), (n - 1) ** m
            if not replacement:
                ways = math.comb(above, j) * math.comb(below, m - j), math.comb(n - 1, m)
            expected = float(Fraction(*ways))
            assert row[j] == pytest.approx(expected, rel=1e-13, abs=1e-300)


def test_blocks_cover_all_ranks():
    design = SampleDesign(n_items=3000, n_samples=99, replacement=True)
    blocks = list(blocks_of_law(design))
    assert len(blocks) > 1
    assert np.array_equal(np.vstack([law for _, law in blocks]), rank_law(design, np.arange(1, 3001)))
    assert [rows.start for rows, _ in blocks] == [0, *(rows.stop for rows, _ in blocks[:-1])]


@pytest.mark.parametrize(("n", "m", "replacement"), DESIGNS)
@pytest.mark.parametrize(
    ("metric", "k"), [("recall", 1), ("recall", 2), ("mrr", None), ("mrr", 2), ("ndcg", 3), ("auc", None)]
)
def test_expected_sampled_metric(n, m, replacement, metric, k):
    law, values = enumerated_law(n, m, replacement), worth(metric, k, m + 1)
    means = [sum(p * v for p, v in zip(row, values, strict=True)) for row in law]
    squares = [sum(p * v * v for p, v in zip(row, values, strict=True)) for row in law]
    found = expected_sampled_metric(range(1, n + 1), n, m, metric, k, replacement=replacement)
    assert found.values == pytest.approx([float(mean) for mean in means], rel=1e-13)
    assert found.value == pytest.approx(float(sum(means) / n), rel=1e-13)
    variance = sum(square - mean**2 for square, mean in zip(squares, means, strict=True))
    assert found.draw_sd == pytest.approx(math.sqrt(variance) / n, rel=1e-12, abs=1e-15)


def test_expected_values_worked_by_hand():
    options = {"n_items": 5, "n_samples": 2, "metric": "mrr"}
    assert expected_sampled_metric([3], **options, replacement=True).value == pytest.approx(7 / 12, rel=1e-15)
    assert expected_sampled_metric([3], **options, replacement=False).value == pytest.approx(5 / 9, rel=1e-15)


@pytest.mark.parametrize("rank", [1, 2, 400, 10_000])
def test_closed_forms(rank):
    from scipy.stats import binom

    n, m, k = 10_000, 99, 10
    p = (rank - 1) / (n - 1)
    hit = expected_sampled_metric([rank], n, m, "hit", k, replacement=True).value
    assert hit == pytest.approx(binom.cdf(k - 1, m, p), rel=1e-11)
    reciprocal = -math.expm1((m + 1) * math.log1p(-p)) / ((m + 1) * p) if 0 < p < 1 else {0: 1, 1: 1 / (m + 1)}[p]
    assert expected_sampled_metric([rank], n, m, "mrr", replacement=True).value == pytest.approx(reciprocal, rel=1e-12)


@pytest.mark.parametrize("m", [1, 3, 7])
@pytest.mark.parametrize("replacement", [True, False])
def test_auc_is_unbiased(m, replacement):
    found = expected_sampled_metric(range(1, 9), 8, m, "auc", replacement=replacement)
    assert found.values == pytest.approx([(8 - rank) / 7 for rank in range(1, 9)], rel=1e-14, abs=1e-15)


def test_tied_truth_averages_the_law():
    best, worst = rank_bounds_of_truth([[0.9, 0.7, 0.7, 0.7, 0.1], [0.1, 0.2, 0.3, 0.4, 0.5]], [2, 4])
    found = expected_sampled_metric(best, 5, 2, "mrr", replacement=True, worst_ranks=worst)
    law, values = enumerated_law(5, 2, True), worth("mrr", None, 3)
    means = [sum(p * v for p, v in zip(row, values, strict=True)) for row in law]
    squares = [sum(p * v * v for p, v in zip(row, values, strict=True)) for row in law]
    mean = sum(means[1:4]) / 3
    assert found.values == pytest.approx([float(mean), 1.0], rel=1e-14)
    assert found.draw_sd == pytest.approx(math.sqrt(sum(squares[1:4]) / 3 - mean**2) / 2, rel=1e-12)


# Standard deviations of Tables 1 and 2 of Krichene and Rendle (2020), which were simulated.
PUBLISHED_SD = {"A": (0.129, 0.097, 0.0), "B": (0.073, 0.054, 0.0), "C": (0.050, 0.039, 0.092)}


@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_recommenders_of_krichene_and_rendle(name):
    case = TOY[name]
    metrics = {"AUC": ("auc", None), "AP": ("map", None), "NDCG": ("ndcg", None), "R10": ("recall", 10)}
    found = {
        label: expected_sampled_metric(case["ranks"], 10_000, 99, *metric, replacement=True)
        for label, metric in metrics.items()
    }
    for label, result in found.items():
        assert result.value == pytest.approx(case["expected_sampled_m99"][label], rel=1e-14)
    assert [found[label].draw_sd for label in ("AP", "NDCG", "R10")] == pytest.approx(PUBLISHED_SD[name], abs=0.004)


def test_sampling_reverses_the_order():
    exact = {name: case["exact"]["AP"] for name, case in TOY.items()}
    sampled = {
        name: expected_sampled_metric(case["ranks"], 10_000, 99, "map", replacement=True).value
        for name, case in TOY.items()
    }
    assert sorted(exact, key=exact.get) == sorted(sampled, key=sampled.get, reverse=True) == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (1, ["53/72", "43/120", "437/1800"]),
        (0, ["677/700", "37/1050", "159/700"]),
        (0.1, ["178657/195300", "1297/9300", "41017/195300"]),
    ],
)
def test_bias_variance_worked_by_hand(gamma, expected):
    found = correct_sampled([1, 2, 2], 5, 2, "mrr", gamma=gamma, replacement=True)
    assert found.rank_values == pytest.approx([float(Fraction(value)) for value in expected], rel=1e-14)
    assert found.value == pytest.approx((found.rank_values[0] + 2 * found.rank_values[1]) / 3, rel=1e-14)
    least_bias = correct_sampled([1], 5, 2, "mrr", method="least_bias", replacement=True)
    assert gamma > 0 or np.array_equal(found.rank_values, least_bias.rank_values)


def test_posterior_mean_of_a_hit():
    found = correct_sampled([1], 5, 2, "hit", 1, gamma=1, replacement=True)
    assert found.rank_values == pytest.approx([8 / 15, 0, 0], abs=1e-15)
    assert found.condition_number == pytest.approx(1)


PRIOR = [Fraction(weight, 21) for weight in (6, 5, 4, 3, 2, 1)]


@pytest.mark.parametrize(("m", "replacement"), [(2, True), (3, False), (5, False)])
@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 4), Fraction(1)])
@pytest.mark.parametrize("prior", [None, PRIOR])
def test_bias_variance_solves_its_equations(m, replacement, gamma, prior):
    law, exact, weights = enumerated_law(6, m, replacement), worth("mrr", 3, 6), prior or [Fraction(1, 6)] * 6
    sampled = range(m + 1)
    matrix = [
        [
            (1 - gamma) * sum(weights[r] * law[r][i] * law[r][j] for r in range(6))
            + (gamma * sum(weights[r] * law[r][i] for r in range(6)) if i == j else 0)
            for j in sampled
        ]
        for i in sampled
    ]
    right = [sum(weights[r] * law[r][i] * exact[r] for r in range(6)) for i in sampled]
    given = None if prior is None else [float(weight) for weight in prior]
    found = correct_sampled([1], 6, m, "mrr", 3, gamma=float(gamma), replacement=replacement, prior=given)
    assert found.rank_values == pytest.approx([float(value) for value in solve(matrix, right)], rel=1e-11, abs=1e-13)
    scale = np.sqrt(np.diag(floats(matrix)))
    assert found.condition_number == pytest.approx(np.linalg.cond(floats(matrix) / np.outer(scale, scale)), rel=1e-9)


def test_as_many_negatives_as_items_are_unbiased():
    found = correct_sampled([1], 4, 3, "hit", 1, method="least_bias", replacement=True)
    assert found.rank_values == pytest.approx([1, -5 / 6, 1 / 3, 0], abs=1e-13)
    found = correct_sampled([1], 3, 2, "mrr", method="least_bias", replacement=True)
    assert found.rank_values == pytest.approx([1, 1 / 3, 1 / 3], abs=1e-14)
    # One negative is enough for AUC, and all of them without replacement are the exact ranking.
    found = correct_sampled([1], 9, 1, "auc", method="least_bias", replacement=True)
    law = floats(enumerated_law(9, 1, True))
    assert law @ found.rank_values == pytest.approx([(9 - rank) / 8 for rank in range(1, 10)], abs=1e-14)
    found = correct_sampled([2, 3], 5, 4, "ndcg", 2, method="cls", replacement=False)
    assert found.rank_values == pytest.approx([1, 1 / math.log2(3), 0, 0, 0], abs=1e-14)
    assert found.warnings == ()


def test_rank_method():
    found = correct_sampled([1, 2, 5], 21, 4, "mrr", method="rank", replacement=True)
    assert found.rank_values == pytest.approx([1, 1 / 6, 1 / 11, 1 / 16, 1 / 21])
    assert found.condition_number is None
    assert found.name == "corrected_mrr[m=4,wr,rank]"
    # Not a multiple: 1 + 10 * 2 / 3 is rounded down.
    assert correct_sampled([3], 11, 3, "hit", 7, method="rank", replacement=True).value == 1
    with pytest.warns(ReliabilityWarning, match="makes ndcg@5 1 for the sampled rank 1 and 0 for all others"):
        found = correct_sampled([1], 21, 4, "ndcg", 5, method="rank", replacement=True)
    assert found.rank_values.tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(("n", "m", "replacement"), [(6, 2, True), (8, 4, True), (8, 4, False), (12, 3, False)])
@pytest.mark.parametrize(("metric", "k"), [("hit", 2), ("mrr", None), ("ndcg", 4)])
def test_constrained_least_squares(n, m, replacement, metric, k):
    found = correct_sampled([1], n, m, metric, k, method="cls", replacement=replacement)
    law = rank_law(SampleDesign(n_items=n, n_samples=m, replacement=replacement), np.arange(1, n + 1))
    exact = np.array([float(value) for value in worth({"hit": "recall"}.get(metric, metric), k, n)])
    # Another algorithm on another formulation: the value of the last rank and the steps down to it.
    steps = law @ np.triu(np.ones((m + 1, m + 1)))
    solution = lsq_linear(steps[:, ::-1], exact, bounds=([-np.inf, *[0] * m], np.inf), method="bvls", tol=1e-14).x
    assert found.rank_values == pytest.approx(np.cumsum(solution)[::-1], abs=1e-9)
    assert (np.diff(found.rank_values) <= 1e-15).all()
    least = correct_sampled([1], n, m, metric, k, method="least_bias", replacement=replacement)
    biases = [np.sum((law @ result.rank_values - exact) ** 2) for result in (least, found)]
    assert biases[0] <= biases[1] * (1 + 1e-9)


def test_standard_error():
    ranks = [1, 1, 2, 3, 1]
    found = correct_sampled(ranks, 50, 4, "ndcg", 10, replacement=True)
    values = found.rank_values[np.array(ranks) - 1]
    assert np.array_equal(found.values, values)
    assert found.standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(5), rel=1e-14)
    assert math.isnan(correct_sampled([1], 50, 4, "ndcg", 10, replacement=True).standard_error)


def test_ties_in_sampled_lists():
    found = correct_sampled([1, 2], 50, 4, "mrr", replacement=True, worst_ranks=[3, 2])
    assert found.values == pytest.approx([found.rank_values[:3].mean(), found.rank_values[1]], rel=1e-15)


def test_condition_number_is_limited():
    found = correct_sampled([1], 1000, 15, "ndcg", 10, method="least_bias", replacement=True)
    assert 1e8 < found.condition_number < 1e12
    with pytest.raises(InvalidParameterError, match=r"25 of 1000 items has condition number .*, above 1e\+12"):
        correct_sampled([1], 1000, 25, "ndcg", 10, method="least_bias", replacement=True)
    assert correct_sampled([1], 1000, 25, "ndcg", 10, replacement=True).condition_number < 50


def test_a_prior_can_rule_out_sampled_ranks():
    prior = [0.5, 0.5, 0, 0, 0, 0]
    found = correct_sampled([1, 2], 6, 3, "mrr", replacement=False, prior=prior)
    assert np.isnan(found.rank_values).tolist() == [False, False, True, True]
    assert found.name == "corrected_mrr[m=3,wor,bias_variance,gamma=0.1,prior]"
    with pytest.raises(InvalidParameterError, match="ranks has 3 at list 1, which the prior rules out"):
        correct_sampled([1, 3], 6, 3, "mrr", replacement=False, prior=prior)


def test_the_warning_names_the_blind_spot():
    with pytest.warns(ReliabilityWarning, match=r"100 of 10001 items sampled: .* first 100 positions .* recall@10"):
        found = correct_sampled([1, 2], 10_001, 100, "recall", 10, replacement=True)
    assert found.design.blind_spot == 100
    assert len(found.warnings) == 1
    with pytest.warns(ReliabilityWarning, match="evaluate the exact ranking"):
        correct_sampled([1, 2], 5, 4, "recall", 1, replacement=True)


# Rank distributions


def em(law, shares, n_iterations):
    pi = [Fraction(1, len(law))] * len(law)
    for _ in range(n_iterations):
        seen = [sum(p * row[j] for p, row in zip(pi, law, strict=True)) for j in range(len(shares))]
        pi = [
            p * sum(share * row[j] / seen[j] for j, share in enumerate(shares) if share)
            for p, row in zip(pi, law, strict=True)
        ]
    return pi


@pytest.mark.parametrize("n_iterations", [0, 1, 4])
def test_most_likely_ranks(n_iterations):
    law = enumerated_law(5, 2, True)
    shares = [Fraction(4, 7), Fraction(2, 7), Fraction(1, 7)]
    options = {"method": "mle", "replacement": True, "n_iterations": n_iterations}
    found = estimate_rank_distribution([1, 1, 2, 3, 1, 2, 1], 5, 2, **options)
    expected = [float(p) for p in em(law, shares, n_iterations)]
    assert found.probabilities == pytest.approx(expected, rel=1e-13)
    recall = found.metric("recall", 2)
    assert recall.value == pytest.approx(sum(expected[:2]), rel=1e-13)
    assert recall.name == f"estimated_recall@2[m=2,wr,mle,n_iterations={n_iterations}]"


def test_lists_may_have_different_numbers_of_negatives():
    ranks, sizes = [1, 2, 1, 3], [1, 1, 2, 2]
    laws = {size: enumerated_law(4, size, False) for size in (1, 2)}
    pi = [Fraction(1, 4)] * 4
    for _ in range(3):
        posteriors = []
        for rank, size in zip(ranks, sizes, strict=True):
            joint = [p * row[rank - 1] for p, row in zip(pi, laws[size], strict=True)]
            posteriors.append([value / sum(joint) for value in joint])
        pi = [sum(column) / 4 for column in zip(*posteriors, strict=True)]
    found = estimate_rank_distribution(ranks, 4, sizes, method="mle", replacement=False, n_iterations=3)
    assert found.probabilities == pytest.approx([float(p) for p in pi], rel=1e-13)
    assert found.metric("mrr").name == "estimated_mrr[m=1..2,wor,mle,n_iterations=3]"
    check_comparable(found.metric("mrr").name, found.metric("mrr").name)
    with pytest.raises(InvalidParameterError, match="'mes' needs the same n_samples"):
        estimate_rank_distribution(ranks, 4, sizes, method="mes", replacement=False)
    with pytest.raises(InvalidParameterError, match=r"ranks has 3 at list 1; ranks among .* from 1 to 2"):
        estimate_rank_distribution([1, 3, 1, 3], 4, sizes, method="mle", replacement=False)
    with pytest.raises(ShapeError, match="n_samples has 3 entries, but ranks has 4"):
        estimate_rank_distribution(np.array([1, 1, 1, 1]), 4, [1, 1, 2], method="mle", replacement=False)


@pytest.mark.parametrize("eta", [0.5, 0.02])
@pytest.mark.parametrize("replacement", [True, False])
def test_most_even_ranks(eta, replacement):
    ranks = [1] * 9 + [2] * 3 + [4] * 2
    n, m = 7, 4
    found = estimate_rank_distribution(ranks, n, m, eta=eta, replacement=replacement).probabilities
    law = floats(enumerated_law(n, m, replacement))
    shares = np.bincount(np.array(ranks) - 1, minlength=m + 1) / len(ranks)

    def objective(p):
        return len(ranks) * shares @ (law.T @ p - shares) ** 2 + eta * np.sum(p * np.log(p))

    assert found.sum() == pytest.approx(1, rel=1e-14)
    best = minimize(
        objective,
        np.full(n, 1 / n),
        bounds=[(1e-12, 1)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert objective(found) <= best.fun + 1e-11
    assert found == pytest.approx(best.x, abs=2e-4)
    # At the optimum the gradient is the same in every direction that keeps the sum.
    gradient = law @ (2 * len(ranks) * shares * (law.T @ found - shares)) + eta * np.log(found)
    assert np.ptp(gradient) < 1e-5


def test_even_ranks_and_priors_work_together():
    found = estimate_rank_distribution([1, 1, 2, 5], 40, 6, replacement=True)
    prior = found.probabilities
    assert correct_sampled([1, 2], 40, 6, "mrr", replacement=True, prior=prior).name.endswith(",prior]")
    assert found.metric("recall", 5).name == "estimated_recall@5[m=6,wr,mes,eta=0.01]"
    # Much entropy leaves nothing but equal probabilities.
    even = estimate_rank_distribution([1, 1, 2, 5], 40, 6, replacement=True, eta=1e9)
    assert even.probabilities == pytest.approx(np.full(40, 1 / 40), rel=1e-6)


def test_tied_lists_count_in_parts():
    tied = estimate_rank_distribution([1, 2], 5, 4, method="mle", replacement=False, worst_ranks=[2, 2])
    assert tied.probabilities == pytest.approx([0.25, 0.75, 0, 0, 0])


def test_a_list_does_not_depend_on_the_others():
    ranks = np.arange(1, 2001)
    together = expected_sampled_metric(ranks, 2000, 99, "ndcg", replacement=False).values
    apart = [expected_sampled_metric([rank], 2000, 99, "ndcg", replacement=False).value for rank in ranks[::97]]
    assert together[::97].tolist() == apart
