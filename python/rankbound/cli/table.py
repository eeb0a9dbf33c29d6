"""A report as plain text of at most 100 columns."""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 100
UNDEFINED = "-"


def format_report(report: Mapping[str, Any]) -> str:
    """Return the text of a report: what was measured, all metrics, the comparison with baselines, warnings.

    Parameters
    ----------
    report : Mapping
        A :class:`rankbound.RankingReport`, or its JSON as ``json.load`` returns it. Undefined values (NaN, null) are
        shown as ``-``.

    Returns
    -------
    str
        Lines without a final newline; ASCII, except where a warning quotes a label.
    """
    parts = [_facts(report), _metrics(report), *_comparisons(report)]
    parts += [fill(f"Warning: {warning}", width=WIDTH, subsequent_indent="  ") for warning in report["warnings"]]
    return "\n\n".join(parts)


def _facts(report: Mapping[str, Any]) -> str:
    ties, primary = report["ties"], report["primary_score"]
    tied, width = ties["share_of_rows_tied_at_cut"], ties["mean_tie_width"]
    facts = {
        "rows": f"{report['n_rows']:,} in {report['n_units']:,} units; {report['n_unseen_truth']:,} with an unseen "
        f"truth, {report['n_no_truth']:,} without truth",
        "classes": f"{report['n_classes']:,}, cut at k = {report['k']}",
        "ties": f"{_percent(tied)} of rows tie at the cut; the truth's tie group has {_number(width, decimals=2)} "
        "classes on average",
        "primary": f"{primary['metric']} = {_number(primary['value'])} ({report['primary_objective']})",
    }
    extremes = ties.get(primary["metric"])
    if extremes:
        facts["primary"] += f"; the orders of ties allow {_number(extremes['min'])} to {_number(extremes['max'])}"
    return "\n".join(f"{name:<9}{fact}" for name, fact in facts.items())


def _metrics(report: Mapping[str, Any]) -> str:
    """Return one row per metric; a column per objective, baseline and chance."""
    blocks = dict(report["objectives"]) | dict(report["baselines"]) | {"chance": report["chance"]}
    columns = {name: _flat(block) for name, block in blocks.items() if block}
    names = dict.fromkeys(metric for values in columns.values() for metric in values)
    rows = [["", *columns]]
    rows += [[name, *(_number(values.get(name)) for values in columns.values())] for name in names]
    return align(rows)


def _flat(block: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for part in block.values() if part for name, value in part.items()}


def _comparisons(report: Mapping[str, Any]) -> list[str]:
    """Return one table per baseline, or one without, of the primary block's intervals."""
    uncertainty = report["uncertainty"]
    if not uncertainty:
        return ["No intervals: they were turned off, or there is nothing to resample."]
    level = f"{100 * uncertainty['confidence_level']:g}%"
    about = (
        f"{level} intervals from {uncertainty['n_resamples']:,} resamples of {uncertainty['n_units']:,} "
        f"{uncertainty['unit']}s"
    )
    model = uncertainty["model"]
    objective = report["primary_objective"]
    tables = []
    for name, baseline in uncertainty["baselines"].items():
        rows = [["", objective, name, "difference", "verdict"]]
        for metric, difference in baseline["difference"].items():
            other = baseline["metrics"].get(metric, {})
            verdict = str(difference["verdict"]).replace("_", " ")
            rows.append(
                [
                    metric,
                    _interval(model.get(metric, {})),
                    _number(other.get("estimate")),
                    _interval(difference, sign="+"),
                    verdict,
                ]
            )
        tables.append(f"{objective} against {name}, {about}\n{align(rows)}")
    if not tables:
        rows = [["", objective], *([metric, _interval(value)] for metric, value in model.items())]
        tables.append(f"{objective}, {about}\n{align(rows)}")
    return tables


def align(rows: Sequence[Sequence[str]]) -> str:
    """Return a table: the first column to the left, the others to the right, a rule below the first row.

    Parameters
    ----------
    rows : sequence of sequence of str
        The cells, equally many in each row; the first row is the header.

    Returns
    -------
    str
        The lines.

    Examples
    --------
    >>> from rankbound.cli.table import align
    >>> print(align([["", "model"], ["ndcg@10", "0.5"]]))
             model
    --------------
    ndcg@10    0.5
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _interval(value: Mapping[str, Any], *, sign: str = "") -> str:
    low, high = (_number(value.get(name), sign=sign) for name in ("ci_low", "ci_high"))
    return f"{_number(value.get('estimate'), sign=sign)} [{low}, {high}]"


def _percent(value: float | None) -> str:
    return UNDEFINED if value is None or math.isnan(value) else f"{value:.1%}"


def _number(value: float | None, *, sign: str = "", decimals: int = 4) -> str:
    """Return a number with its decimals; large ones, such as revenues, without."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{value:{sign}.{decimals}f}" if abs(value) < 1000 else f"{value:{sign},.0f}"
