"""The rules of a gate, as a TOML file holds them."""

import math
import re
import tomllib
from collections.abc import Mapping
from os import PathLike
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from rankbound._files import as_path
from rankbound._messages import about
from rankbound._options import MAX_RESAMPLES, as_mapping, as_text
from rankbound.errors import FileFormatError, InvalidParameterError, InvalidTypeError

OnUndecided = Literal["fail", "pass"]
_Tolerance = Annotated[float, Meta(ge=0)]


class _Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all rules have."""

    def __post_init__(self) -> None:
        """Refuse bounds that nothing can be held against."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name} must be a finite number, got {value}")


class Floor(_Rule, frozen=True, kw_only=True):
    """A metric must reach a value: judged on its interval where there is one.

    Parameters
    ----------
    metric : str
        Key of the metric.
    at_least : float
        The value.
    on_undecided : {"fail", "pass"} or None, default None
        What an interval that holds the value means; None takes the policy's.
    """

    metric: str
    at_least: float
    on_undecided: OnUndecided | None = None


class Regression(_Rule, frozen=True, kw_only=True):
    """A metric must not fall below the incumbent's by more than a tolerance: judged on the paired interval.

    Parameters
    ----------
    metric : str
        Key of the metric.
    max_drop : float or None, default None
        Tolerance in units of the metric, at least 0.
    max_relative_drop : float or None, default None
        Tolerance as a share of the incumbent's value, at least 0; of a metric that is a logarithm, such as
        ``LogRBP.logmean``, a share of what it is the logarithm of. Exactly one of both is given.
    on_undecided : {"fail", "pass"} or None, default None
        What an interval that holds the tolerance means; None takes the policy's.
    """

    metric: str
    max_drop: _Tolerance | None = None
    max_relative_drop: _Tolerance | None = None
    on_undecided: OnUndecided | None = None

    def __post_init__(self) -> None:
        """Ask for exactly one tolerance."""
        _Rule.__post_init__(self)
        if (self.max_drop is None) == (self.max_relative_drop is None):
            raise ValueError("give exactly one of max_drop and max_relative_drop")


class Verdict(_Rule, frozen=True, kw_only=True):
    """The report's verdict on the difference from a baseline must be this one.

    Parameters
    ----------
    metric : str
        Key of the metric.
    against : str, default "global_pop"
        Name of the baseline in the report.
    required : {"model_ahead", "undecided", "baseline_ahead"}, default "model_ahead"
        The verdict.
    """

    metric: str
    against: str = "global_pop"
    required: Literal["model_ahead", "undecided", "baseline_ahead"] = "model_ahead"


class Limit(_Rule, frozen=True, kw_only=True):
    """A value without an interval, such as a catalogue metric, must stay within limits.

    Parameters
    ----------
    metric : str
        Key of the metric.
    at_least, at_most : float or None, default None
        The limits; at least one is given.
    """

    metric: str
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        """Ask for a limit."""
        _Rule.__post_init__(self)
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least or at_most")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least={self.at_least:g} exceeds at_most={self.at_most:g}: nothing can hold both")


class Undecided(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an interval that decides nothing means, by kind of rule."""

    floor: OnUndecided = "fail"
    regression: OnUndecided = "pass"


class GatePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules that a candidate must meet.

    Parameters
    ----------
    floor, regression, verdict, limit : sequence of rules
        ``[[floor]]``, ``[[regression]]``, ``[[verdict]]`` and ``[[limit]]`` tables of the TOML file.
    min_units : int or None, default None
        Least number of independent units.
    max_unseen_share : float or None, default None
        Largest share of lists whose truth is no candidate, from 0 to 1.
    on_undecided : Undecided
        What an interval that decides nothing means: ``{floor = "fail", regression = "pass"}`` by default.
    confidence_level : float, default 0.95
        Of all intervals and verdicts. Those of a report that was made at another level decide nothing: a floor is then
        judged by the values per unit, if they are kept.
    n_resamples : int, default 2000
        Resamples behind those.
    seed : int, default 0
        Their seed.

    Examples
    --------
    >>> from rankbound.gate import GatePolicy
    >>> policy = GatePolicy.from_toml('''
    ... min_units = 100
    ... [[floor]]
    ... metric = "ndcg@10"
    ... at_least = 0.3
    ... ''')
    >>> policy.floor[0].at_least
    0.3
    """

    floor: tuple[Floor, ...] = ()
    regression: tuple[Regression, ...] = ()
    verdict: tuple[Verdict, ...] = ()
    limit: tuple[Limit, ...] = ()
    min_units: Annotated[int, Meta(ge=1)] | None = None
    max_unseen_share: Annotated[float, Meta(ge=0, le=1)] | None = None
    on_undecided: Undecided = Undecided()
    confidence_level: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    n_resamples: Annotated[int, Meta(ge=1, le=MAX_RESAMPLES)] = 2000
    seed: Annotated[int, Meta(ge=0)] = 0

    @property
    def n_rules(self) -> int:
        """Number of rules."""
        tables = (self.floor, self.regression, self.verdict, self.limit)
        return sum(map(len, tables)) + (self.min_units is not None) + (self.max_unseen_share is not None)

    @classmethod
    def from_dict(cls, rules: Mapping[str, Any]) -> "GatePolicy":
        """Return the policy that a mapping of the same form as the TOML file holds.

        Parameters
        ----------
        rules : mapping
            The rules.

        Returns
        -------
        GatePolicy
            With at least one rule.

        Raises
        ------
        InvalidParameterError
            For unknown or ill-typed fields, named, and for a policy without rules.
        InvalidTypeError
            If it is no mapping.
        """
        given = as_mapping(rules, name="rules")
        try:
            policy = msgspec.convert(given, cls)
        except msgspec.ValidationError as error:
            raise InvalidParameterError(f"the policy is not valid: {error}{_found(given, str(error))}") from error
        if not policy.n_rules:
            raise InvalidParameterError("the policy has no rules: everything would pass; add at least one")
        return policy

    @classmethod
    def from_toml(cls, text: str) -> "GatePolicy":
        """Return the policy that a TOML text holds; see :meth:`from_dict`."""
        try:
            return cls.from_dict(tomllib.loads(as_text(text, name="text")))
        except tomllib.TOMLDecodeError as error:
            raise FileFormatError(f"the policy is no TOML: {error}") from error

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "GatePolicy":
        """Return the policy of a TOML file; see :meth:`from_dict`.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        GatePolicy
            With at least one rule.

        Raises
        ------
        FileFormatError
            If the file cannot be read or is no TOML.
        InvalidParameterError
            For unknown or ill-typed fields, named.
        InvalidTypeError
            If ``path`` is no name of a file.
        """
        file = as_path(path)
        name = str(path)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FileFormatError(f"cannot read the policy {name!r}: {error}") from error
        with about(repr(name)):
            return cls.from_toml(text)


def _found(rules: Mapping[str, Any], message: str) -> str:
    """Return the value that a message of msgspec is about, if it names the place of one."""
    _, _, path = message.partition("`$.")
    found: Any = rules
    for step in re.findall(r"\w+", path):
        found = found[int(step)] if isinstance(found, (list, tuple)) else found[step]
    return f": got {found!r}" if path and not isinstance(found, (dict, list, tuple)) else ""


def as_policy(policy: Any) -> GatePolicy:
    """Return a policy from a policy, a mapping or the path of a TOML file.

    Raises
    ------
    RankboundError
        For a policy that is not valid; one that was put together in Python has not been checked before.
    """
    if isinstance(policy, GatePolicy):
        return GatePolicy.from_dict(msgspec.to_builtins(policy))
    if isinstance(policy, Mapping):
        return GatePolicy.from_dict(policy)
    if isinstance(policy, (str, PathLike)):
        return GatePolicy.load(policy)
    raise InvalidTypeError(f"policy must be a GatePolicy, a mapping or a path, got {type(policy).__name__}")
