"""The report of a comparison, with the fields that ranx gives it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._files import atomic_write
from rankbound._options import as_choice, as_count
from rankbound.compare import ComparisonReport

_TESTS = {"student": "t", "fisher": "randomization"}
_LABELS = {
    "hits": "Hits",
    "hit_rate": "Hit Rate",
    "precision": "P",
    "recall": "Recall",
    "f1": "F1",
    "r-precision": "R-Prec",
    "mrr": "MRR",
    "map": "MAP",
    "dcg": "DCG",
    "dcg_burges": "DCG Burges",
    "ndcg": "NDCG",
    "ndcg_burges": "NDCG Burges",
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_RAISED = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ۹ʳˢᵗᵘᵛʷˣʸᶻ"


def as_test_method(stat_test: str) -> str:
    """Return our name of a test of ranx."""
    return _TESTS[as_choice(stat_test, tuple(_TESTS), name="stat_test")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Runs side by side, as ``ranx.Report``; it prints as a table.

    Attributes
    ----------
    model_names, metrics : list of str
        Runs and metrics, in the order given.
    results : dict of str to dict of str to float
        Means by run and metric.
    comparisons : dict of frozenset of str to dict of str to dict
        By pair of runs and metric: ``"p_value"`` and ``"significant"``.
    win_tie_loss : dict of (str, str) to dict of str to dict of str to int
        By ordered pair of runs and metric: on how many queries the first is better, equal and worse, under ``"W"``,
        ``"T"`` and ``"L"``.
    max_p : float
        The largest p-value of a significant difference.
    stat_test : {"student", "fisher"}
        The test.
    rounding_digits : int
        Digits to show.
    show_percentages : bool
        Whether percentages are shown.
    comparison : ComparisonReport
        The same comparisons with differences and intervals.
    """

    model_names: list[str]
    metrics: list[str]
    results: dict[str, dict[str, float]]
    comparisons: dict[frozenset[str], dict[str, dict[str, Any]]]
    win_tie_loss: dict[tuple[str, str], dict[str, dict[str, int]]]
    max_p: float
    stat_test: str
    rounding_digits: int
    show_percentages: bool
    comparison: ComparisonReport

    @classmethod
    def of(
        cls, values: Mapping[str, Mapping[str, NDArray[np.float64]]], comparison: ComparisonReport, **options: Any
    ) -> "Report":
        """Return the report of values by run, metric and query, and of their comparison."""
        comparisons: dict[frozenset[str], dict[str, dict[str, Any]]] = {}
        for pair in comparison:
            found = {"p_value": pair.p_value, "significant": pair.p_value <= options["max_p"]}
            comparisons.setdefault(frozenset((pair.baseline, pair.candidate)), {})[pair.metric] = found
        outcomes: dict[tuple[str, str], dict[str, dict[str, int]]] = {
            (first, other): {
                metric: {
                    "W": int((values[first][metric] > values[other][metric]).sum()),
                    "T": int((values[first][metric] == values[other][metric]).sum()),
                    "L": int((values[first][metric] < values[other][metric]).sum()),
                }
                for metric in options["metrics"]
            }
            for first in values
            for other in values
            if first != other
        }
        as_count(options["rounding_digits"], name="rounding_digits")
        means = {
            model: {metric: _core.exact_mean(column) for metric, column in of_model.items()}
            for model, of_model in values.items()
        }
        return cls(
            model_names=list(values),
            results=means,
            comparisons=comparisons,
            win_tie_loss=outcomes,
            comparison=comparison,
            **options,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the form of ``ranx.Report.to_dict``.

        Returns
        -------
        dict
            ``stat_test``, ``metrics`` and ``model_names``; and for each run ``scores``, and ``comparisons`` (p-values)
            and ``win_tie_loss`` with the other runs.
        """
        document: dict[str, Any] = {
            "stat_test": self.stat_test,
            "metrics": self.metrics,
            "model_names": self.model_names,
        }
        for model in self.model_names:
            others = [other for other in self.model_names if other != model]
            document[model] = {
                "scores": self.results[model],
                "comparisons": {
                    other: {
                        metric: found["p_value"]
                        for metric, found in self.comparisons[frozenset((model, other))].items()
                    }
                    for other in others
                },
                "win_tie_loss": {other: self.win_tie_loss[model, other] for other in others},
            }
        return document

    def save(self, path: str | PathLike[str]) -> None:
        """Write :meth:`to_dict` to a file as JSON; it appears complete or not at all.

        Parameters
        ----------
        path : str or path-like
            The file.

        Raises
        ------
        FileFormatError
            If it cannot be written.
        """
        with atomic_write(path) as file:
            file.write(json.dumps(self.to_dict(), indent=4).encode())

    def to_table(self) -> str:
        """Return the report as text: a raised letter names a run that is significantly worse.

        Returns
        -------
        str
            A row per run.
        """
        head = ["#", "Model", *map(self._label, self.metrics)]
        rows = [
            [_letter(_LETTERS, place), model, *(self._cell(model, metric) for metric in self.metrics)]
            for place, model in enumerate(self.model_names)
        ]
        widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
        lines = [head, ["-" * width for width in widths], *rows]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def _cell(self, model: str, metric: str) -> str:
        score = self.results[model][metric]
        digits = max(self.rounding_digits - 2, 0) if self.show_percentages else self.rounding_digits
        worse = [
            _letter(_RAISED, place)
            for place, other in enumerate(self.model_names)
            if other != model
            and self.comparisons[frozenset((model, other))][metric]["significant"]
            and score > self.results[other][metric]
        ]
        return f"{100 * score if self.show_percentages else score:.{digits}f}{''.join(worse)}"

    @staticmethod
    def _label(metric: str) -> str:
        name, at, cut_off = metric.partition("@")
        plain, dash, level = name.partition("-l")
        return _LABELS.get(plain, plain.upper()) + dash + level + at + cut_off

    def __str__(self) -> str:
        return self.to_table()

    def __repr__(self) -> str:
        return self.to_table()


def _letter(alphabet: Sequence[str], place: int) -> str:
    return alphabet[place] if place < len(alphabet) else f"({place + 1})"
