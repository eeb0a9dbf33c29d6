"""The gate as an assertion in the tests of a user."""

import subprocess
import sys

import pytest

from rankbound import errors, evaluate_scores
from rankbound.testing import assert_gate

TESTS = """
from rankbound.testing import assert_gate

def test_holds():
    assert assert_gate("candidate.npz", {"limit": [{"metric": "ndcg@1", "at_least": 0.5}]}).passed

def test_fails():
    assert_gate("candidate.npz", "gate.toml")

def test_cannot_be_judged():
    assert_gate("candidate.npz", {"regression": [{"metric": "ndcg@1", "max_drop": 0.1}]})
"""


@pytest.fixture
def candidate():
    return evaluate_scores([[0.9, 0.1], [0.8, 0.2]], [[1, 0], [0, 1]], metrics="ndcg@1")


def test_pytest_shows_the_rules_and_not_the_library(tmp_path, candidate):
    candidate.save(tmp_path / "candidate.npz")
    (tmp_path / "gate.toml").write_text('[[limit]]\nmetric = "ndcg@1"\nat_least = 0.75\n')
    (tmp_path / "test_model.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "E       AssertionError: FAIL         ndcg@1 at least 0.75: it is 0.5" in ran.stdout
    assert "E       gate failed: 0 of 1 rules hold, 1 fail, 0 cannot be judged" in ran.stdout
    assert "CANNOT_JUDGE ndcg@1 not below the incumbent by more than 0.1: there is no incumbent" in ran.stdout
    # Failures are shown where the user called.
    assert "rankbound/testing.py" not in ran.stdout


def test_an_incumbent_is_passed_on(candidate):
    policy = {"regression": [{"metric": "ndcg@1", "max_drop": 0.0, "on_undecided": "pass"}]}
    assert assert_gate(candidate, policy, against=candidate).exit_code == 0


def test_what_is_no_policy_is_no_failed_assertion(candidate):
    with pytest.raises(errors.InvalidParameterError, match="the policy has no rules"):
        assert_gate(candidate, {})
