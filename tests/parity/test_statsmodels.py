"""statsmodels: corrections for multiplicity, two one-sided tests, and the size of an experiment."""

import math

import numpy as np
import pytest

from rankbound import EvaluationResult
from rankbound.compare import equivalence, minimum_detectable_effect, units_needed
from rankbound.compare.corrections import adjust_p_values

multitest = pytest.importorskip("statsmodels.stats.multitest")
power = pytest.importorskip("statsmodels.stats.power")
weightstats = pytest.importorskip("statsmodels.stats.weightstats")


def result(values):
    return EvaluationResult(
        metrics={"m": float(values.mean())},
        n_rows=len(values),
        n_scored_rows=len(values),
        n_units=len(values),
        required_k=1,
        per_user={"m": values},
        sample_ids=np.arange(len(values)),
    )


@pytest.mark.parametrize(("correction", "method"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")])
@pytest.mark.parametrize("n_hypotheses", [1, 2, 40])
def test_corrections(correction, method, n_hypotheses):
    p_values = np.random.default_rng(n_hypotheses).random(n_hypotheses) ** 3
    # Equal ones among them.
    p_values[n_hypotheses // 2 :] = np.round(p_values[n_hypotheses // 2 :], 1)
    expected = multitest.multipletests(p_values, method=method)[1]
    assert adjust_p_values(p_values, correction) == pytest.approx(expected, rel=1e-13)


def test_two_one_sided_tests():
    a, b = np.random.default_rng(0).random((2, 60))
    found = equivalence(result(a), result(b), "m", margin=0.2, test_method="t", n_resamples=50)
    p_value, (_, p_worse, _), (_, p_better, _) = weightstats.ttost_paired(b, a, -0.2, 0.2)
    assert (found.p_value, found.p_worse, found.p_better) == pytest.approx((p_value, p_worse, p_better), rel=1e-9)


@pytest.mark.parametrize(
    ("alternative", "name"), [("two-sided", "two-sided"), ("greater", "larger"), ("less", "larger")]
)
@pytest.mark.parametrize("wanted", [0.8, 0.95])
def test_planning(alternative, name, wanted):
    n_units, standard_error = 1000, 0.01
    deviation = standard_error * math.sqrt(n_units)
    # One sample of differences: the ratio of a second one is zero.
    options = {"alpha": 0.05, "power": wanted, "ratio": 0, "alternative": name}
    plan = power.NormalIndPower(ddof=0)
    effect = plan.solve_power(nobs1=n_units, **options) * deviation
    assert minimum_detectable_effect(standard_error, power=wanted, alternative=alternative) == pytest.approx(
        effect, rel=1e-4
    )
    count = plan.solve_power(effect_size=0.014 / deviation, **options)
    assert units_needed(
        0.014, standard_error=standard_error, n_units=n_units, power=wanted, alternative=alternative
    ) == pytest.approx(count, abs=1.5)
