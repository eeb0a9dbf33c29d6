"""Whether a candidate may ship: rules over its numbers, judged on intervals, with an exit code."""

from rankbound.gate.policy import GatePolicy
from rankbound.gate.run import GateOutcome, GateResult, run_gate

__all__ = ["GateOutcome", "GatePolicy", "GateResult", "run_gate"]
