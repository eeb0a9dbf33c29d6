"""The reported cases that are not about a single evaluation: tests between models, label ranking, sampling, click logs.

``test_cases.py`` has the others and counts them all; those on catalogues are in ``test_catalogue_cases.py``.
"""

import numpy as np
import pytest

from rankbound import EvaluationResult, compare_pair, errors
from rankbound.compare.corrections import adjust_p_values
from rankbound.counterfactual import snips
from rankbound.label_ranking import kendall_distance, kendall_tau_score, tau_x_score
from rankbound.sampled import expected_sampled_metric
from test_cases import CASES


def result(values, ids=None):
    values = np.array(values, dtype=float)
    return EvaluationResult(
        metrics={"m": float(values.mean())},
        n_rows=len(values),
        n_scored_rows=len(values),
        n_units=len(values),
        required_k=1,
        per_user={"m": values},
        sample_ids=np.arange(len(values)) if ids is None else np.array(ids),
    )


@pytest.mark.parametrize("name", ["sig-01", "sig-03"])
def test_the_sign_flip_test_is_exact(name):
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    assert compare_pair(result(given["a"]), result(given["b"]), "m", n_resamples=100).p_value == expected


def test_a_monte_carlo_p_value_is_never_zero():
    given = CASES["sig-04"]["input"]
    # Thirty gains of the same sign: no pattern of signs among so few resamples is as extreme.
    found = compare_pair(result(np.zeros(30)), result(np.ones(30)), "m", n_resamples=given["n_resamples"])
    assert not found.exact
    assert found.p_value == CASES["sig-04"]["expected"]


def test_results_are_paired_by_id():
    given = CASES["sig-05"]["input"]
    baseline, candidate = given["a"], given["b"]
    assert list(baseline) != list(candidate)
    in_order = [result([values[query] for query in sorted(values)], sorted(values)) for values in (baseline, candidate)]
    assert compare_pair(*in_order, "m", n_resamples=100).p_value == CASES["sig-05"]["expected"]
    as_given = [result(list(values.values()), list(values)) for values in (baseline, candidate)]
    with pytest.raises(errors.ComparisonError, match=r"differ first at position 0.*q1.*q3"):
        compare_pair(*as_given, "m")


@pytest.mark.parametrize("name", ["sig-06", "sig-08"])
def test_holm(name):
    given = CASES[name]["input"]
    assert adjust_p_values(np.array(given["p_values"]), "holm")[given["index"]] == pytest.approx(
        CASES[name]["expected"]
    )


def test_results_over_other_ids_are_refused():
    given = CASES["err-10"]["input"]
    a, b = (result(list(given[side].values()), list(given[side])) for side in ("a", "b"))
    with pytest.raises(errors.ComparisonError, match=r"q1.*q2"):
        compare_pair(a, b, "m")


@pytest.mark.parametrize("name", ["lab-01", "lab-05", "lab-07", "lab-09"])
def test_label_rankings(name):
    case = CASES[name]
    first, second = ([case["input"][side]] for side in ("rank_a", "rank_b"))
    if case["metric"] == "kendall_tau_b":
        # Without ties tau-b is tau.
        found = kendall_tau_score(first, second)
    elif case["metric"] == "kemeny_distance":
        # Emond and Mason (2002): tau_x = 1 - 2 d / (m (m - 1)).
        n_labels = len(first[0])
        found = (1 - tau_x_score(first, second)) * n_labels * (n_labels - 1) / 2
    else:
        found = tau_x_score(first, second)
    assert found == pytest.approx(case["expected"], abs=1e-15)


def test_two_hundred_thousand_labels_do_not_overflow():
    case = CASES["lab-10"]
    labels = np.arange(case["input"]["n"])[np.newaxis]
    assert kendall_distance(labels, labels[:, ::-1], normalize=False) == case["expected"]


@pytest.mark.parametrize("name", ["smp-01", "smp-05"])
def test_expected_sampled_hits(name):
    case = CASES[name]
    given = case["input"]
    found = expected_sampled_metric(
        [given["true_rank"]], given["n_items"], given["n_sampled"], "hit", case["k"], replacement=given["replace"]
    )
    assert found.value == pytest.approx(case["expected"], abs=1e-15)


def test_self_normalised_weights():
    case = CASES["ips-01"]
    propensities, in_top = case["input"]["relevant_propensity"], case["input"]["in_top_k"]
    log = {"query": [0, 0], "item": [0, 1], "logged_rank": [1, 2], "click": [1, 1], "propensity": propensities}
    new = {"query": [0, 0], "item": [0, 1], "score": in_top}
    with pytest.warns(errors.ReliabilityWarning):
        found = snips(log, new, "hits", 1, n_queries=1, propensity_source="assumption", n_resamples=0)
    assert found.value == pytest.approx(case["expected"])
    log["propensity"] = CASES["ips-03"]["input"]["relevant_propensity"]
    with pytest.raises(errors.RankboundError, match="propensity"):
        snips(log, new, "hits", 1, n_queries=1, propensity_source="assumption")
