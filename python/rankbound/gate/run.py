"""Rules against evidence: what passes, what fails, and what cannot be judged."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from rankbound.compare import compare_pair
from rankbound.compare.protocol import protocol_differences
from rankbound.compare.source import is_logarithmic
from rankbound.errors import InvalidParameterError, RankboundError
from rankbound.evaluation.result import EvaluationResult
from rankbound.gate.evidence import Evidence, Interval, other_level, read_evidence
from rankbound.gate.policy import Floor, GatePolicy, Limit, OnUndecided, Regression, Verdict, as_policy

Status = Literal["pass", "fail", "cannot_judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """What became of one rule.

    Attributes
    ----------
    rule : str
        The rule in words.
    status : {"pass", "fail", "cannot_judge"}
        Whether it holds.
    reason : str
        The numbers that say so.
    """

    rule: str
    status: Status
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What became of every rule of a policy."""

    outcomes: tuple[GateOutcome, ...]

    @property
    def passed(self) -> bool:
        """Whether every rule holds."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """0 if every rule holds, 1 if one fails, else 2: one cannot be judged."""
        statuses = {outcome.status for outcome in self.outcomes}
        return 1 if "fail" in statuses else 2 if "cannot_judge" in statuses or not statuses else 0

    def to_text(self) -> str:
        """Return a line per rule, and one that sums up."""
        lines = [f"{outcome.status.upper():<12} {outcome.rule}: {outcome.reason}" for outcome in self.outcomes]
        return "\n".join([*lines, self.summary()]) + "\n"

    def summary(self) -> str:
        """Return the verdict in one line."""
        counts = {
            status: sum(outcome.status == status for outcome in self.outcomes)
            for status in ("pass", "fail", "cannot_judge")
        }
        verdict = {0: "passed", 1: "failed", 2: "cannot be judged"}[self.exit_code]
        return (
            f"gate {verdict}: {counts['pass']} of {len(self.outcomes)} rules hold, {counts['fail']} fail, "
            f"{counts['cannot_judge']} cannot be judged"
        )

    def to_markdown(self) -> str:
        """Return a table that suits the summary of a CI job."""
        from rankbound.gate.output import to_markdown  # noqa: PLC0415 - reads this module

        return to_markdown(self)

    def to_junit(self) -> str:
        """Return JUnit XML with a test case per rule."""
        from rankbound.gate.output import to_junit  # noqa: PLC0415 - reads this module

        return to_junit(self)


def run_gate(
    candidate: Any,
    *,
    policy: Any,
    against: Any = None,
    candidate_units: Any = None,
    against_units: Any = None,
    num_threads: int | None = None,
) -> GateResult:
    """Judge a candidate by a policy.

    Parameters
    ----------
    candidate : RankingReport, EvaluationResult, str or path-like
        What may ship: a report (``.json``) or an evaluation (``.npz``, ``.parquet``).
    policy : GatePolicy, mapping, str or path-like
        The rules, or the path of a TOML file.
    against : RankingReport, EvaluationResult, str, path-like, or None, default None
        The incumbent, for rules about regressions.
    candidate_units, against_units : EvaluationResult, str, path-like, or None, default None
        Values per unit of a report, for paired intervals; None looks beside a report's file for ``NAME.units.parquet``
        or ``NAME.units.npz``.
    num_threads : int or None, default None
        Threads; results do not depend on it.

    Returns
    -------
    GateResult
        An outcome per rule and an exit code. What cannot be judged never passes.

    Raises
    ------
    RankboundError
        If the policy is not valid or a file cannot be read.

    Examples
    --------
    >>> from rankbound import evaluate_scores
    >>> from rankbound.gate import run_gate
    >>> result = evaluate_scores([[0.9, 0.1], [0.2, 0.8]], [[1, 0], [0, 1]], metrics="ndcg@1")
    >>> gate = run_gate(result, policy={"floor": [{"metric": "ndcg@1", "at_least": 0.9}]})
    >>> gate.passed, gate.exit_code
    (True, 0)
    """
    rules = as_policy(policy)
    found = read_evidence(candidate, name="candidate", per_unit=candidate_units)
    if against is None and against_units is not None:
        raise InvalidParameterError("against_units is given, but no incumbent: pass against= too")
    incumbent = None if against is None else read_evidence(against, name="against", per_unit=against_units)
    judge = _Judge(rules, found, incumbent, num_threads)
    return GateResult(outcomes=tuple(judge.outcomes()))


@dataclass(frozen=True, slots=True)
class _Judge:
    policy: GatePolicy
    candidate: Evidence
    incumbent: Evidence | None
    num_threads: int | None

    def outcomes(self) -> Iterator[GateOutcome]:
        if self.policy.min_units is not None:
            yield self._units(self.policy.min_units)
        if self.policy.max_unseen_share is not None:
            yield self._unseen(self.policy.max_unseen_share)
        yield from map(self._floor, self.policy.floor)
        yield from map(self._regression, self.policy.regression)
        yield from map(self._verdict, self.policy.verdict)
        yield from map(self._limit, self.policy.limit)

    def _units(self, least: int) -> GateOutcome:
        rule, count = f"at least {least} units", self.candidate.n_units
        if not count:
            return _unjudged(rule, "the candidate is an empty evaluation: no list was scored")
        return _decided(rule, holds=count >= least, reason=f"there are {count}")

    def _unseen(self, most: float) -> GateOutcome:
        rule = f"at most {most:.4g} of the lists with an unseen truth"
        if self.candidate.n_unseen_truth is None or not self.candidate.n_rows:
            return _unjudged(rule, "the candidate does not count unseen truths, or has no lists")
        share = self.candidate.n_unseen_truth / self.candidate.n_rows
        return _decided(
            rule,
            holds=share <= most,
            reason=f"{share:.4g} ({self.candidate.n_unseen_truth} of {self.candidate.n_rows})",
        )

    def _floor(self, rule: Floor) -> GateOutcome:
        words = f"{rule.metric} at least {rule.at_least:.6g}"
        value = _value(self.candidate, rule.metric)
        if isinstance(value, str):
            return _unjudged(words, value)
        try:
            interval = self.candidate.interval(rule.metric, self.policy, num_threads=self.num_threads)
        except RankboundError as error:
            return _unjudged(words, str(error))
        undecided = rule.on_undecided or self.policy.on_undecided.floor
        return _on_interval(
            words,
            f"{value:.6g}",
            value,
            bound=rule.at_least,
            interval=interval,
            level=self.policy.confidence_level,
            on_undecided=undecided,
        )

    def _regression(self, rule: Regression) -> GateOutcome:
        tolerance = (
            f"{rule.max_drop:.6g}" if rule.max_drop is not None else f"{rule.max_relative_drop:.6g} of the incumbent's"
        )
        words = f"{rule.metric} not below the incumbent by more than {tolerance}"
        values = self._values_of_both(rule.metric)
        if isinstance(values, str):
            return _unjudged(words, values)
        value, before = values
        difference, interval = value - before, None
        try:
            both = self._pair_of(rule.metric)
            if both is not None:
                pair = compare_pair(
                    *both,
                    rule.metric,
                    # The interval decides; this test comes from the same resamples.
                    test_method="bootstrap",
                    confidence_level=self.policy.confidence_level,
                    n_resamples=self.policy.n_resamples,
                    seed=self.policy.seed,
                    num_threads=self.num_threads,
                )
                interval = pair.ci_low, pair.ci_high
        except RankboundError as error:
            return _unjudged(words, str(error))
        numbers = f"{value:.6g} after {before:.6g}, difference {difference:+.6g}"
        undecided = rule.on_undecided or self.policy.on_undecided.regression
        return _on_interval(
            words,
            numbers,
            difference,
            bound=-_drop(rule, before),
            interval=interval,
            level=self.policy.confidence_level,
            on_undecided=undecided,
            paired=True,
        )

    def _values_of_both(self, metric: str) -> tuple[float, float] | str:
        """Return the values of candidate and incumbent, or why they cannot be held against each other."""
        if self.incumbent is None:
            return "there is no incumbent: pass against="
        value, before = _value(self.candidate, metric), _value(self.incumbent, metric)
        if isinstance(value, str):
            return value
        if isinstance(before, str):
            return f"incumbent: {before}"
        catalogue = metric if metric in self.candidate.catalogue_metrics else None
        differing = protocol_differences(self.incumbent.protocol, self.candidate.protocol, catalogue=catalogue)
        if differing:
            return f"incumbent and candidate follow different protocols: {'; '.join(differing)}"
        theirs, ours = self.incumbent.target_fingerprint, self.candidate.target_fingerprint
        if theirs != ours:
            return f"incumbent and candidate were judged by different targets (fingerprints {theirs} and {ours})"
        return (value, before) if math.isfinite(value - before) else f"{value:.6g} after {before:.6g} is no difference"

    def _pair_of(self, metric: str) -> tuple[EvaluationResult, EvaluationResult] | None:
        """Return the values per unit of incumbent and candidate, if both have this metric."""
        before, now = self.incumbent.per_unit if self.incumbent else None, self.candidate.per_unit
        if before is None or now is None or any(metric not in (one.per_user or {}) for one in (before, now)):
            return None
        return before, now

    def _verdict(self, rule: Verdict) -> GateOutcome:
        words = f"verdict on {rule.metric} against {rule.against} is {rule.required}"
        verdicts = self.candidate.verdicts.get(rule.against)
        if verdicts is None or rule.metric not in verdicts:
            known = ", ".join(self.candidate.verdicts) or "none"
            return _unjudged(
                words, f"the candidate has no verdict on {rule.metric!r} against {rule.against!r} (baselines: {known})"
            )
        if self.candidate.confidence_level != self.policy.confidence_level:
            return _unjudged(words, other_level(self.candidate.confidence_level, self.policy.confidence_level))
        return _decided(words, holds=verdicts[rule.metric] == rule.required, reason=f"it is {verdicts[rule.metric]}")

    def _limit(self, rule: Limit) -> GateOutcome:
        limits = [
            f"{word} {limit:.6g}"
            for word, limit in (("at least", rule.at_least), ("at most", rule.at_most))
            if limit is not None
        ]
        words = f"{rule.metric} {' and '.join(limits)}"
        value = _value(self.candidate, rule.metric)
        if isinstance(value, str):
            return _unjudged(words, value)
        low = -math.inf if rule.at_least is None else rule.at_least
        high = math.inf if rule.at_most is None else rule.at_most
        return _decided(words, holds=low <= value <= high, reason=f"it is {value:.6g}")


def _drop(rule: Regression, before: float) -> float:
    """Return the tolerance in units of the metric."""
    if rule.max_drop is not None:
        return rule.max_drop
    share = rule.max_relative_drop or 0.0
    if is_logarithmic(rule.metric):
        return -math.log1p(-share) if share < 1 else math.inf
    return share * abs(before)


def _value(evidence: Evidence, metric: str) -> float | str:
    """Return the value of a metric, or why there is none to judge."""
    if metric not in evidence.values:
        return f"there is no metric {metric!r}; there are {', '.join(evidence.values)}"
    value = float(evidence.values[metric])
    return f"{metric} is {value}: there is nothing to judge" if math.isnan(value) else value


def _on_interval(
    rule: str,
    numbers: str,
    value: float,
    *,
    bound: float,
    interval: Interval | None,
    level: float,
    on_undecided: OnUndecided,
    paired: bool = False,
) -> GateOutcome:
    """Compare an interval, or for want of one the value, with the bound that it must reach."""
    if interval is None:
        missing = "no values per unit on both sides" if paired else "no interval"
        return _decided(rule, holds=value >= bound, reason=f"{numbers} (point value: {missing})")
    low, high = interval
    if math.isnan(low) or math.isnan(high):
        return _unjudged(rule, f"{numbers}, but its interval is undefined")
    shown = f"{numbers}, {'paired ' if paired else ''}interval [{low:.6g}, {high:.6g}] at level {level:g}"
    if low >= bound or high < bound:
        return _decided(rule, holds=low >= bound, reason=shown)
    return _decided(
        rule, holds=on_undecided == "pass", reason=f"{shown} is undecided about {bound:.6g}: {on_undecided} by policy"
    )


def _decided(rule: str, *, holds: bool, reason: str) -> GateOutcome:
    return GateOutcome(rule=rule, status="pass" if holds else "fail", reason=reason)


def _unjudged(rule: str, reason: str) -> GateOutcome:
    return GateOutcome(rule=rule, status="cannot_judge", reason=reason)
