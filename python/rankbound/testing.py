"""For tests of your own: a gate as an assertion.

It is imported where it is used, and is no plugin of pytest: that would load and rewrite this library in every run of
pytest, whatever is tested.
"""

from typing import Any

from rankbound.gate import GateResult, run_gate

__all__ = ["assert_gate"]


def assert_gate(report: Any, policy: Any, *, against: Any = None) -> GateResult:
    """Assert that a report meets every rule of a policy.

    Parameters
    ----------
    report : RankingReport, EvaluationResult, str or path-like
        The candidate.
    policy : GatePolicy, mapping, str or path-like
        The rules, or the path of a TOML file.
    against : RankingReport, EvaluationResult, str, path-like, or None, default None
        The incumbent, for rules about regressions.

    Returns
    -------
    GateResult
        With every rule passed.

    Raises
    ------
    AssertionError
        With a line per rule, if one fails or cannot be judged.
    RankboundError
        If the policy is not valid or a file cannot be read.

    Examples
    --------
    >>> from rankbound import evaluate_scores
    >>> from rankbound.testing import assert_gate
    >>> result = evaluate_scores([[0.9, 0.1], [0.2, 0.8]], [[1, 0], [0, 1]], metrics="ndcg@1")
    >>> assert_gate(result, {"floor": [{"metric": "ndcg@1", "at_least": 0.9}]}).passed
    True
    """
    __tracebackhide__ = True
    result = run_gate(report, policy=policy, against=against)
    if not result.passed:
        raise AssertionError(result.to_text())
    return result
