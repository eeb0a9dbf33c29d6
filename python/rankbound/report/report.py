"""A report as users hold it: a mapping over the payload, with its file format."""

import math
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

import msgspec

from rankbound._digest import hash_of
from rankbound._files import as_path, atomic_write
from rankbound._messages import about, shortened
from rankbound._options import as_mapping
from rankbound._read_only import read_only
from rankbound.errors import FileFormatError, InvalidTypeError, ReportError
from rankbound.evaluation.result import EvaluationResult
from rankbound.report import render
from rankbound.report.model import SCHEMA_VERSION, Report
from rankbound.report.protocol import is_unchanged

# Where a null stands for an undefined number, NaN in Python.
_NUMERIC = ("objectives", "ties", "baselines", "chance", "uncertainty", "primary_score")
# Entries of `ties` beside the spread of each micro metric.
_TIE_NUMBERS = ("share_of_rows_tied_at_cut", "mean_tie_width")


class RankingReport(Mapping[str, Any]):
    """The result of :func:`rankbound.build_ranking_report`: a read-only mapping over the payload.

    Its keys are those of ``ranking.json``, but for the ``hash`` that gives away an edited file; see ``rankbound
    schema``. Undefined numbers are NaN here and null there. The dicts and lists that it holds are read-only too.

    Parameters
    ----------
    payload : mapping
        The content, by the schema; None is taken for NaN where a number may be undefined.
    per_unit : EvaluationResult or None, default None
        The values of every list behind the operating block, which ``ranking.json`` does not hold.

    Raises
    ------
    ReportError
        If it is not such a payload, or contradicts itself.
    """

    def __init__(self, payload: Mapping[str, Any], *, per_unit: EvaluationResult | None = None) -> None:
        given = as_mapping(payload, name="payload")
        if not (per_unit is None or isinstance(per_unit, EvaluationResult)):
            raise InvalidTypeError(f"per_unit must be an EvaluationResult, got {shortened(per_unit)}")
        try:
            msgspec.convert(given, Report)
        except msgspec.ValidationError as error:
            raise ReportError(f"this is not a ranking report: {error}") from error
        self._payload = {
            key: _undefined_to_nan(value) if key in _NUMERIC and value is not None else value
            for key, value in given.items()
            if key != "hash"
        }
        self._payload = read_only(self._payload)
        _check_consistency(self._payload)
        if "hash" in given and given["hash"] != self._hash():
            raise ReportError("this report was changed after it was written; make the report again")
        self._per_unit = per_unit

    def _hash(self) -> str:
        # Of what a reader gets back: NaN is null there.
        return hash_of(msgspec.json.decode(msgspec.json.encode(self._payload)))

    @property
    def per_unit(self) -> EvaluationResult | None:
        """Values of every list behind the operating block, with the unit of each; None for a report that was read.

        ``report.per_unit.save("ranking.units.npz")`` keeps them, so that reports can be compared in pairs later.
        """
        return self._per_unit

    def __getitem__(self, key: str) -> Any:
        try:
            return self._payload[key]
        except KeyError:
            raise KeyError(f"{key!r} is not in this report, which has {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._payload)

    def __len__(self) -> int:
        return len(self._payload)

    def __eq__(self, other: object) -> bool:
        # As JSON, because NaN differs from itself.
        return isinstance(other, RankingReport) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        score = self["primary_score"]
        return (
            f"<RankingReport {score['metric']}={score['value']:.4g} ({self['primary_objective']}), "
            f"{self['n_rows']} lists over {self['n_classes']} classes>"
        )

    def _repr_html_(self) -> str:
        return render.to_html(self)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the report as JSON, and write it to a file if a path is given.

        Parameters
        ----------
        path : str or path-like or None, default None
            File to write; it appears complete or not at all.

        Returns
        -------
        str
            Indented JSON with a final newline.

        Raises
        ------
        FileFormatError
            If the folder does not exist or cannot be written to.
        InvalidTypeError
            If ``path`` is no name of a file.
        """
        document = {**self._payload, "hash": self._hash()}
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
        if path is not None:
            with atomic_write(path) as file:
                file.write(text.encode())
        return text

    @classmethod
    def from_json(cls, source: str | bytes | PathLike[str]) -> "RankingReport":
        """Read a report.

        Parameters
        ----------
        source : str, bytes or path-like
            Path of a file, or the JSON itself: bytes, or a string that begins with a brace.

        Returns
        -------
        RankingReport
            Equal to the one that was written.

        Raises
        ------
        FileFormatError
            If the file cannot be read.
        ReportError
            If it is no JSON, no report, of another schema version, contradicts itself, or was edited.
        InvalidTypeError
            If ``source`` is neither a document nor the name of a file.
        """
        text, name = _read(source)
        try:
            document = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ReportError(f"{name} is not JSON: {error}") from error
        except RecursionError as error:
            raise ReportError(f"{name} is not a ranking report: it is nested too deeply") from error
        if not isinstance(document, dict) or "schema_version" not in document:
            raise ReportError(f"{name} is not a ranking report: it has no schema_version")
        if document["schema_version"] != SCHEMA_VERSION:
            raise ReportError(
                f"{name} has schema_version {document['schema_version']!r}, but this version reads {SCHEMA_VERSION}; "
                "make the report again"
            )
        with about(name):
            return cls({"hash": "", **document})

    def to_frame(self, backend: str | None = None) -> Any:
        """Return all metrics as a long table.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None, default None
            The library of the table; None takes the first that is installed, in this order.

        Returns
        -------
        DataFrame or Table
            Columns ``ranking`` (objective, baseline or ``chance``), ``family``, ``metric``, ``value``, ``ci_low``,
            ``ci_high``; limits are NaN where there are none.

        Raises
        ------
        MissingDependencyError
            If the library is not installed.
        InvalidParameterError
            For another backend.
        """
        return render.to_frame(self, backend)

    def to_markdown(self) -> str:
        """Return the report as Markdown tables.

        Returns
        -------
        str
            For a README, a pull request or a CI job summary.
        """
        return render.to_markdown(self)


def _read(source: str | bytes | PathLike[str]) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        return source, "the document"
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source.encode(), "the document"
    path = as_path(source, name="source")
    try:
        return path.read_bytes(), repr(str(source))
    except OSError as error:
        raise FileFormatError(f"cannot read {str(source)!r}: {error.strerror or error}") from error


def _check_consistency(payload: Mapping[str, Any]) -> None:
    """Refuse what the types allow but no report says, such as an edited score."""
    objective, score = payload["primary_objective"], payload["primary_score"]
    block = payload["objectives"].get(objective)
    if block is None or objective not in payload["objective_alpha"]:
        raise ReportError(f"this report has no block for its primary_objective {objective!r}")
    if score["metric"] not in block["micro"] or not _same(block["micro"][score["metric"]], score["value"]):
        raise ReportError(f"this report has a primary_score that its block {objective!r} does not hold")
    if score["metric"] != (expected := f"{payload['primary_metric']}@{payload['k']}"):
        raise ReportError(f"this report has a primary_score of {score['metric']!r}, but its options say {expected!r}")
    rankings = {f"objectives/{name}": families for name, families in payload["objectives"].items()}
    rankings |= {f"baselines/{name}": families for name, families in payload["baselines"].items()}
    for name, families in (rankings | {"chance": payload["chance"]}).items():
        for family in ("micro", "macro"):
            _check_names(f"{name}/{family}", families[family], block[family])
    ties = payload["ties"]
    _check_names("ties", ties, [*_TIE_NUMBERS, *block["micro"]])
    for name, entry in ties.items():
        if isinstance(entry, Mapping) == (name in _TIE_NUMBERS):
            wanted = "a number" if name in _TIE_NUMBERS else "a spread of min, max and sd"
            raise ReportError(f"this report has {entry!r} at ties/{name}, which must be {wanted}")
    if not is_unchanged(payload["protocol"]):
        raise ReportError("this report has a protocol that was changed after it was written; make the report again")
    if payload["n_units"] > payload["n_rows"]:
        raise ReportError(f"this report has {payload['n_units']} n_units, more than its {payload['n_rows']} n_rows")


def _check_names(place: str, found: Iterable[str], expected: Iterable[str]) -> None:
    odd = sorted(set(found) ^ set(expected))
    if odd:
        which = "has" if odd[0] in found else "lacks"
        raise ReportError(f"this report {which} {odd[0]!r} at {place}, unlike its primary block")


def _same(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def _undefined_to_nan(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _undefined_to_nan(value) for key, value in node.items()}
    return math.nan if node is None else node
