"""What an evaluation finds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_choice
from rankbound._read_only import read_only
from rankbound.errors import InvalidParameterError, MissingDependencyError, ShapeError
from rankbound.evaluation.ids import as_tabled

# All that is no array.
PLAIN_FIELDS = (
    "metrics",
    "n_rows",
    "n_scored_rows",
    "n_units",
    "required_k",
    "ties",
    "slices",
    "metadata",
    "target_fingerprint",
    "protocol",
    "debug_rows",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A list whose value differs between two results."""

    sample_id: Any
    value: float
    other: float
    difference: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Movers:
    """The lists that gained and lost most, most first."""

    gained: tuple[Mover, ...]
    lost: tuple[Mover, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvaluationResult(Mapping[str, Any]):
    """Aggregates of an evaluation, and the values per list behind them: read-only throughout.

    As a mapping it holds the aggregates, ``n_scored_rows`` and ``n_units``: ``result["ndcg@10"]``, ``dict(result)``.
    An aggregate is the mean over the lists that have relevant items; NaN if there is none.

    Parameters
    ----------
    metrics : mapping of str to float
        The aggregates.
    n_rows : int
        Lists given.
    n_scored_rows : int
        Lists with relevant items; the others are left out of every mean.
    n_units : int
        Distinct sample ids among the scored lists.
    required_k : int
        The deepest rank that a metric looks at.
    per_user : mapping of str to ndarray of shape (n_scored_rows,), or None
        Values of the scored lists, read-only; None if they were not collected.
    sample_ids : ndarray of shape (n_scored_rows,), or None
        Id of each scored list, aligned with the values, read-only.
    ties : mapping of str to mapping
        Per built-in metric ``share_tied_at_cut`` (share of scored lists in which a tie group with relevant items
        crosses the cut-off), ``mean_best`` and ``mean_worst`` (the aggregate if every tie is broken for or against the
        relevant items) and ``sd`` (standard deviation of the aggregate over random tie-breaks; None where no short
        form is known). Per catalogue coverage ``sd_bound``, the most that its standard deviation can be.
    slices : mapping of str to mapping
        Per group ``n_rows``, ``n_scored_rows`` and the aggregates.
    metadata : mapping of str to object
        What the caller attached.
    target_fingerprint : str
        Digest of the targets, the same for every batch size.
    protocol : mapping of str to object
        The conventions behind the numbers.
    debug_rows : tuple of dict, or None
        Details of the first lists, if asked for.
    """

    metrics: Mapping[str, float]
    n_rows: int
    n_scored_rows: int
    n_units: int
    required_k: int
    per_user: Mapping[str, NDArray[Any]] | None = None
    sample_ids: NDArray[Any] | None = None
    ties: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    slices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    target_fingerprint: str = ""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    debug_rows: tuple[dict[str, Any], ...] | None = None

    def __post_init__(self) -> None:
        """Freeze what is held: what a pairing rests on, or a file says, must not change."""
        for name in ("metrics", "per_user", "ties", "slices", "metadata", "protocol", "debug_rows"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        for array in (*(self.per_user or {}).values(), *([] if self.sample_ids is None else [self.sample_ids])):
            if array.shape != (self.n_scored_rows,):
                raise ShapeError(f"there are {self.n_scored_rows} scored rows, but an array of shape {array.shape}")
            array.setflags(write=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, for copies and pickles."""
        return {of.name: getattr(self, of.name) for of in fields(self)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take the fields and freeze them."""
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """Return the mapping as a plain dict.

        Returns
        -------
        dict
            Aggregates, ``n_scored_rows``, ``n_units`` and, if asked for, ``debug``.
        """
        counts = {"n_scored_rows": self.n_scored_rows, "n_units": self.n_units}
        debug = {} if self.debug_rows is None else {"debug": list(self.debug_rows)}
        return {**self.metrics, **counts, **debug}

    def __getitem__(self, key: str) -> Any:
        try:
            return self.to_dict()[key]
        except KeyError:
            raise KeyError(f"{key!r} is not in this result, which has {', '.join(self)}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EvaluationResult):
            return isinstance(other, Mapping) and self.to_dict() == dict(other)
        mine, theirs = ({**(of.per_user or {}), "": of.sample_ids} for of in (self, other))
        return (
            # As text, because NaN differs from itself.
            all(repr(getattr(self, name)) == repr(getattr(other, name)) for name in PLAIN_FIELDS)
            and self.has_per_user == other.has_per_user
            and list(mine) == list(theirs)
            and all(_same(mine[key], theirs[key]) for key in mine)
        )

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={value:.4g}" for key, value in self.metrics.items())
        return f"<EvaluationResult {values}; {self.n_scored_rows} of {self.n_rows} lists>"

    @property
    def has_per_user(self) -> bool:
        """Whether values per list were collected."""
        return self.per_user is not None

    def to_frame(self, *, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return the values per list as a table.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default "pandas"
            The library of the table.

        Returns
        -------
        DataFrame or Table
            A column ``sample_id`` and one per metric. Ids that are dates come as days or in milliseconds or finer,
            durations in milliseconds or finer.

        Raises
        ------
        InvalidParameterError
            For another backend, or if the values were not collected.
        InvalidTypeError
            If ids have a dtype that no table has, such as durations of months.
        MissingDependencyError
            If the library is not installed.
        """
        as_choice(backend, ("pandas", "polars", "pyarrow"), name="backend")
        import narwhals as nw  # noqa: PLC0415 - loaded when a table is asked for

        columns = self.columns()
        columns["sample_id"] = as_tabled(columns["sample_id"], otherwise="take them from sample_ids")
        try:
            return nw.from_dict(columns, backend=backend).to_native()
        except ImportError as error:
            raise MissingDependencyError(f"backend={backend!r} needs {backend}: pip install {backend}") from error

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the sample ids and the values per list.

        Returns
        -------
        dict of str to ndarray
            ``sample_id``, then one array per metric.

        Raises
        ------
        InvalidParameterError
            If they were not collected.
        """
        if self.per_user is None or self.sample_ids is None:
            raise InvalidParameterError("this result has no values per list; evaluate with collect_per_user=True")
        return {"sample_id": self.sample_ids, **self.per_user}

    def movers(self, other: "EvaluationResult", metric: str, *, n: int = 20) -> Movers:
        """Name the lists whose value differs most from another result.

        Parameters
        ----------
        other : EvaluationResult
            The result to compare with, over the same lists in the same order.
        metric : str
            Key of a metric that both have.
        n : int, default 20
            How many lists to name in each direction, at least 1.

        Returns
        -------
        Movers
            Lists that gained and lost against ``other``, most first; lists that differ equally in their order.

        Raises
        ------
        InvalidParameterError
            If a result has no values per list or not this metric, or the lists differ.
        """
        from rankbound.evaluation.movers import find_movers  # noqa: PLC0415 - reads this module

        return find_movers(self, other, metric, n=n)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to a file that :meth:`load` reads, without pickle.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.npz``, or in ``.parquet``, which needs pyarrow. The file appears complete or not at all.

        Raises
        ------
        FileFormatError
            For another suffix, or if the file cannot be written.
        InvalidTypeError
            If ids or metadata have a type that neither JSON nor the format can hold.
        """
        from rankbound.evaluation.storage import save  # noqa: PLC0415 - reads this module

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "EvaluationResult":
        """Read a result that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        EvaluationResult
            Equal to the one that was written, but for metadata that JSON does not know: keys become strings, tuples
            lists.

        Raises
        ------
        FileFormatError
            If there is no such file, or it is damaged or of another kind.
        InvalidTypeError
            If ``path`` is no name of a file.
        """
        from rankbound.evaluation.storage import load  # noqa: PLC0415 - reads this module

        return load(path)


def _same(mine: NDArray[Any] | None, theirs: NDArray[Any] | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return mine.dtype.kind == theirs.dtype.kind and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
