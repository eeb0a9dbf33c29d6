"""Every option of a report, with its default."""

import json
import tomllib
from collections.abc import Iterable
from os import PathLike
from typing import Any, Literal, get_args

import msgspec

from rankbound._files import as_path
from rankbound._messages import about, did_you_mean, shortened
from rankbound._options import (
    as_choice,
    as_count,
    as_cut_off,
    as_flag,
    as_level,
    as_non_negative,
    as_resamples,
    as_text,
    resolve_num_threads,
)
from rankbound.errors import FileFormatError, InvalidParameterError, InvalidTypeError

Objective = Literal["accuracy", "balanced", "coverage"]
PrimaryMetric = Literal["ndcg", "mrr", "hit"]
Unseen = Literal["miss", "drop"]
ZeroBaseRate = Literal["floor", "refuse"]


class _NamesChecked(msgspec.StructMeta):
    """Refuses unknown options by name, which a Struct's own constructor does with a bare ``TypeError``."""

    def __call__(cls, *args: Any, **options: Any) -> Any:  # noqa: N805 - of a metaclass
        if args:
            raise InvalidTypeError(f"{cls.__name__} takes options by name only, such as k=10, got {shortened(args[0])}")
        _check_names(options, where="options")
        return super().__call__(**options)


class RankingConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=_NamesChecked):
    """Options of :func:`rankbound.build_ranking_report`, frozen.

    Parameters
    ----------
    k : int, default 10
        Cut-off of the metrics, at least 1; more than the number of classes is allowed.
    primary_metric : {"ndcg", "mrr", "hit"}, default "ndcg"
        The metric of ``primary_score``, at ``k``.
    primary_objective : {"accuracy", "balanced", "coverage"}, default "accuracy"
        The operating block: ``popularity_discount`` and ``shrinkage_strength`` apply to it alone, and it is the one
        that is compared with the baselines.
    objectives : sequence of str or None, default None
        Blocks to report. None: all three, or the primary one alone with ``eval_all_objectives=False``.
    eval_all_objectives : bool, default True
        Whether all three objectives are reported when ``objectives`` is not given.
    percentile_objectives : sequence of str, default ()
        Blocks that rank by class percentile instead of a popularity discount; their ``objective_alpha`` is null.
    popularity_discount : float or None, default None
        Exponent of the popularity discount of the operating block; None takes the objective's own.
    shrinkage_strength : float, default 0.0
        Strength of the shrinkage towards base rates in the operating block; 0 is off.
    unseen : {"miss", "drop"}, default "miss"
        What becomes of a row whose truth is no column: a miss that stays in every mean, or left out.
    mask_neg_inf : bool, default False
        Whether a score of ``-inf`` means that the item is no candidate in its row.
    zero_base_rate : {"floor", "refuse"}, default "floor"
        What a popularity discount makes of a class without training labels: it counts as seen once, or is refused.
    tail_mass : float, default 0.2
        The tail is the largest set of least popular classes with at most this share of the training counts; 0 to 1.
    n_resamples : int, default 1000
        Bootstrap resamples; 0 turns the uncertainty off.
    confidence_level : float, default 0.95
        Level of the intervals, between 0 and 1.
    seed : int, default 0
        Seed of the resamples, at least 0.
    num_threads : int or None, default None
        Threads; None takes ``RANKBOUND_NUM_THREADS``, else all cores. Results do not depend on it.

    Raises
    ------
    InvalidParameterError
        For a value out of range or options that contradict one another.
    InvalidTypeError
        For a value of the wrong type.

    Examples
    --------
    >>> from rankbound import RankingConfig
    >>> RankingConfig(k=20).k
    20
    >>> RankingConfig.from_toml("k = 5").to_toml().splitlines()[0]
    'k = 5'
    """

    k: int = 10
    primary_metric: PrimaryMetric = "ndcg"
    primary_objective: Objective = "accuracy"
    objectives: tuple[Objective, ...] | None = None
    eval_all_objectives: bool = True
    percentile_objectives: tuple[Objective, ...] = ()
    popularity_discount: float | None = None
    shrinkage_strength: float = 0.0
    unseen: Unseen = "miss"
    mask_neg_inf: bool = False
    zero_base_rate: ZeroBaseRate = "floor"
    tail_mass: float = 0.2
    n_resamples: int = 1000
    confidence_level: float = 0.95
    seed: int = 0
    num_threads: int | None = None

    def __post_init__(self) -> None:
        """Check and normalise every field: a Struct's own constructor checks no types."""
        force = msgspec.structs.force_setattr
        force(self, "k", as_cut_off(self.k))
        for name, choices in (
            ("primary_metric", get_args(PrimaryMetric)),
            ("primary_objective", get_args(Objective)),
            ("unseen", get_args(Unseen)),
            ("zero_base_rate", get_args(ZeroBaseRate)),
        ):
            force(self, name, as_choice(getattr(self, name), choices, name=name))
        if self.objectives is not None:
            force(self, "objectives", _objectives(self.objectives, "objectives"))
        force(self, "percentile_objectives", _objectives(self.percentile_objectives, "percentile_objectives"))
        for name in ("eval_all_objectives", "mask_neg_inf"):
            force(self, name, as_flag(getattr(self, name), name=name))
        force(self, "n_resamples", as_resamples(self.n_resamples))
        force(self, "seed", as_count(self.seed, name="seed"))
        for name in ("shrinkage_strength", "tail_mass"):
            force(self, name, as_non_negative(getattr(self, name), name=name))
        if self.tail_mass > 1:
            raise InvalidParameterError(f"tail_mass must be from 0 to 1, got {self.tail_mass}")
        force(self, "confidence_level", as_level(self.confidence_level, name="confidence_level"))
        if self.popularity_discount is not None:
            discount = as_non_negative(self.popularity_discount, name="popularity_discount")
            force(self, "popularity_discount", discount)
        if self.num_threads is not None:
            force(self, "num_threads", resolve_num_threads(self.num_threads))
        self._check_blocks()

    def _check_blocks(self) -> None:
        if self.primary_objective not in self.blocks:
            raise InvalidParameterError(
                f"primary_objective {self.primary_objective!r} is not among objectives {self.blocks}; add it"
            )
        absent = [name for name in self.percentile_objectives if name not in self.blocks]
        if absent:
            raise InvalidParameterError(
                f"percentile_objectives names {absent[0]!r}, which is not among the blocks {self.blocks}; add it to "
                "objectives or leave it out"
            )
        if self.primary_objective in self.percentile_objectives:
            for name in ("popularity_discount", "shrinkage_strength"):
                if getattr(self, name):
                    raise InvalidParameterError(
                        f"{name}={getattr(self, name):g} cannot apply to {self.primary_objective!r}, which "
                        "percentile_objectives ranks by percentile; leave one of them out"
                    )

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the blocks to report, in their fixed order."""
        if self.objectives is not None:
            return self.objectives
        return get_args(Objective) if self.eval_all_objectives else (self.primary_objective,)

    def replace(self, **options: Any) -> "RankingConfig":
        """Return a config with some options changed.

        Parameters
        ----------
        **options
            Fields of this class.

        Returns
        -------
        RankingConfig
            The changed config.

        Raises
        ------
        InvalidParameterError
            For a name that is no option, or a value out of range.
        """
        return RankingConfig(**(msgspec.structs.asdict(self) | options))

    @classmethod
    def from_toml(cls, text: str) -> "RankingConfig":
        """Read a config from TOML: option names as keys, all optional.

        Parameters
        ----------
        text : str
            The document.

        Returns
        -------
        RankingConfig
            Defaults where the text is silent.

        Raises
        ------
        InvalidParameterError
            For what is no TOML, no option, or out of range.
        InvalidTypeError
            For a value of the wrong type.
        """
        try:
            options = tomllib.loads(as_text(text, name="text"))
        except tomllib.TOMLDecodeError as error:
            raise InvalidParameterError(f"the configuration is not valid TOML: {error}") from error
        _check_names(options, where="the configuration")
        return cls(**options)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "RankingConfig":
        """Read a config from a TOML file, as :meth:`from_toml` does.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        RankingConfig
            The config.

        Raises
        ------
        FileFormatError
            If the file cannot be read as text.
        InvalidParameterError, InvalidTypeError
            As :meth:`from_toml`.
        """
        file = as_path(path)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FileFormatError(f"cannot read the configuration {str(path)!r}: {error}") from error
        with about(repr(str(path))):
            return cls.from_toml(text)

    def to_toml(self) -> str:
        """Return the config as TOML, with a line for every option; unset ones are comments.

        Returns
        -------
        str
            :meth:`from_toml` reads it back to an equal config.
        """
        # JSON's numbers, strings and lists of strings are TOML's.
        return "".join(
            f"# {name} is not set\n" if value is None else f"{name} = {json.dumps(value)}\n"
            for name, value in msgspec.structs.asdict(self).items()
        )


def _objectives(names: Any, option: str) -> tuple[str, ...]:
    """Return objectives without repetition, in their fixed order."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidTypeError(f"{option} must be a list of objectives, got {names!r}")
    given = [as_choice(name, get_args(Objective), name=option) for name in names]
    if not given and option == "objectives":
        raise InvalidParameterError("objectives is empty: name at least the primary objective")
    return tuple(name for name in get_args(Objective) if name in given)


def _check_names(options: dict[str, Any], *, where: str) -> None:
    known = RankingConfig.__struct_fields__
    for name in options:
        if name not in known:
            raise InvalidParameterError(f"{where}: {name!r} is no option; {did_you_mean(name, known)}")
