"""Comparisons as users hold them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from html import escape
from os import PathLike
from typing import Any

import msgspec

from rankbound._files import atomic_write
from rankbound._text_tables import Table, cell, html_table, markdown_table, number, to_native_frame

SCHEMA = "rankbound-comparison-1"
WHOLE = "all"
"""The slice of a comparison over all lists."""
CAVEAT = (
    "Intervals and p-values are for the planned number of looks at the data, and conditional on the models as trained."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseComparison:
    """Whether one model beats another in one metric.

    Attributes
    ----------
    metric, baseline, candidate, slice
        What is compared; the slice is ``"all"`` for all lists.
    n_samples, n_undefined : int
        Lists that are compared, and lists without a value under any model, which are left out.
    n_units, n_nonzero : int
        Units, and those that tell the models apart.
    tie_rate : float
        Share of units that do not.
    baseline_mean, candidate_mean : float
        Means over lists; of a metric whose values are logarithms, the logarithms of the exponentials' means.
    difference : float
        Candidate less baseline: of logarithms, the log ratio of the means. NaN if both are minus infinity.
    relative_difference : float
        The difference as a share of the baseline's mean, before the logarithm; NaN if that is 0.
    ci_low, ci_high : float
        Limits of the difference; NaN where the method has none, such as for a single unit.
    standard_error : float
        Bootstrap standard error of the difference; NaN as well.
    p_value : float
        Of the test, by itself.
    p_adjusted : float
        Corrected for planned looks and for all hypotheses of the call.
    significant : bool
        Whether ``p_adjusted`` is at most one less the confidence level.
    direction : {"better", "worse", "inconclusive"}
        What a significant difference says of the candidate.
    alternative, test_method, interval_method, correction
        How it was tested; no correction is ``"none"``.
    exact : bool
        Whether the randomisation test counted all patterns of signs.
    n_hypotheses : int
        Hypotheses of the call.
    confidence_level, n_resamples, seed, looks
        The options.
    n_dropped : int
        Resamples that the interval leaves out: those without variation, by which a studentised one divides, and those
        of which a mean is 0 and has no logarithm. With more than 1% of them there is no interval.
    """

    metric: str
    baseline: str
    candidate: str
    slice: str
    n_samples: int
    n_undefined: int
    n_units: int
    n_nonzero: int
    tie_rate: float
    baseline_mean: float
    candidate_mean: float
    difference: float
    relative_difference: float
    ci_low: float
    ci_high: float
    standard_error: float
    p_value: float
    p_adjusted: float
    significant: bool
    direction: str
    alternative: str
    test_method: str
    exact: bool
    interval_method: str
    correction: str
    n_hypotheses: int
    confidence_level: float
    n_resamples: int
    seed: int
    looks: int
    n_dropped: int


COLUMNS = tuple(of.name for of in fields(PairwiseComparison))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport:
    """The comparisons of one call, which were corrected together.

    Attributes
    ----------
    comparisons : tuple of PairwiseComparison
        By metric, then by pair in the order of the models.
    skipped_metrics : mapping of str to str
        Metrics that were left out, and why.
    """

    comparisons: tuple[PairwiseComparison, ...]
    skipped_metrics: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[PairwiseComparison]:
        return iter(self.comparisons)

    def __len__(self) -> int:
        return len(self.comparisons)

    def __getitem__(self, place: int) -> PairwiseComparison:
        return self.comparisons[place]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with a row per comparison.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None, default None
            The library of the table; None takes the first that is installed, in this order.

        Returns
        -------
        DataFrame or Table
            The attributes of :class:`PairwiseComparison` as columns, in their order.

        Raises
        ------
        MissingDependencyError
            If the library is not installed.
        InvalidParameterError
            For another backend.
        """
        return to_native_frame({name: [getattr(of, name) for of in self] for name in COLUMNS}, backend)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the report as JSON, and write it to a file if a path is given.

        Parameters
        ----------
        path : str or path-like or None, default None
            File to write; it appears complete or not at all.

        Returns
        -------
        str
            Indented JSON with a final newline; undefined numbers are null.

        Raises
        ------
        FileFormatError
            If the folder does not exist or cannot be written to.
        """
        document = {
            "schema": SCHEMA,
            "comparisons": [asdict(of) for of in self],
            "skipped_metrics": dict(self.skipped_metrics),
        }
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
        if path is not None:
            with atomic_write(path) as file:
                file.write(text.encode())
        return text

    def to_markdown(self) -> str:
        """Return the report as a Markdown table with notes.

        Returns
        -------
        str
            For a pull request or a CI job summary.
        """
        notes = "\n".join(f"- {cell(note)}" for note in self._notes())
        return f"{markdown_table(self._table())}\n\n{notes}\n"

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self._notes())
        return f"<div>{html_table(self._table())}<ul>{notes}</ul></div>"

    def _table(self) -> Table:
        with_slices = any(of.slice != WHOLE for of in self)
        head = ["candidate", "baseline", "metric", *(["slice"] if with_slices else [])]
        head += ["difference", "relative", "units", "ties", "p", "p adjusted", "verdict"]
        rows = [
            [
                of.candidate,
                of.baseline,
                of.metric,
                *([of.slice] if with_slices else []),
                f"{number(of.difference, sign='+')} [{number(of.ci_low, sign='+')}, {number(of.ci_high, sign='+')}]",
                number(of.relative_difference, sign="+", style=".1%"),
                f"{of.n_units:,}",
                number(of.tie_rate, style=".1%"),
                number(of.p_value, style=".4g"),
                number(of.p_adjusted, style=".4g"),
                of.direction,
            ]
            for of in self
        ]
        return [head, *rows]

    def _notes(self) -> list[str]:
        skipped = [f"{metric} was left out: {why}" for metric, why in self.skipped_metrics.items()]
        if not self.comparisons:
            return skipped
        of = self.comparisons[0]
        how = (
            f"{100 * of.confidence_level:g}% {of.interval_method} intervals from {of.n_resamples:,} resamples; "
            f"{of.alternative} {of.test_method} tests; correction over {of.n_hypotheses} hypotheses: {of.correction}; "
            f"looks: {of.looks}"
        )
        undefined = {
            of.metric: f"{of.metric} has no value in {of.n_undefined:,} lists, which were left out"
            for of in self
            if of.n_undefined
        }
        without_limits = [
            f"{of.candidate} and {of.baseline} have no interval in {of.metric}: {_why_none(of)}"
            for of in self
            if math.isnan(of.ci_low)
        ]
        return [how, CAVEAT, *undefined.values(), *without_limits, *skipped]


def _why_none(of: PairwiseComparison) -> str:
    """Return why a comparison has no limits."""
    if of.n_units < 2:
        return "there is a single unit"
    nothing = [
        name for name, mean in ((of.candidate, of.candidate_mean), (of.baseline, of.baseline_mean)) if mean == -math.inf
    ]
    if nothing:
        return f"the mean of {' and '.join(nothing)} is 0, whose logarithm is minus infinity"
    if of.n_dropped:
        return f"{of.n_dropped:,} of {of.n_resamples:,} resamples have none of their own"
    return "the units do not vary enough"
