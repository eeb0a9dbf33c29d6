"""A report as tables: Markdown, HTML, data frames."""

import math
from collections.abc import Iterator, Mapping
from html import escape
from importlib.util import find_spec
from typing import Any, cast

from rankbound._validation import as_choice
from rankbound.errors import MissingDependencyError

BACKENDS = ("pandas", "polars", "pyarrow")
Table = list[list[str]]


def to_markdown(report: Mapping[str, Any]) -> str:
    """Return a report as Markdown."""
    parts = [f"# Ranking report\n\n{summary(report)}", _markdown_table(metric_table(report))]
    comparison = comparison_table(report)
    if comparison:
        parts.append(f"## {interval_title(report)}\n\n{_markdown_table(comparison)}")
    if report["warnings"]:
        parts.append("## Warnings\n\n" + "\n".join(f"- {_cell(warning)}" for warning in report["warnings"]))
    return "\n\n".join(parts) + "\n"


def to_html(report: Mapping[str, Any]) -> str:
    """Return a report as an HTML fragment for notebooks; all text is escaped."""
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in report["warnings"])
    comparison = comparison_table(report)
    return (
        f"<div><p><strong>Ranking report.</strong> {escape(summary(report))}</p>{_html_table(metric_table(report))}"
        + (f"<p>{escape(interval_title(report))}</p>{_html_table(comparison)}" if comparison else "")
        + (f"<ul>{warnings}</ul></div>" if warnings else "</div>")
    )


def to_frame(report: Mapping[str, Any], backend: str | None) -> Any:
    """Return all metrics as a long table of the wanted library."""
    if backend is None:
        backend = next((name for name in BACKENDS if find_spec(name)), None)
    elif not find_spec(as_choice(backend, BACKENDS, name="backend")):
        raise MissingDependencyError(f"backend={backend!r} needs {backend}: pip install {backend}")
    if backend is None:
        raise MissingDependencyError("to_frame needs one of pandas, polars, pyarrow: pip install pandas")
    import narwhals.stable.v2 as nw  # noqa: PLC0415 - needed for tables alone

    rows = list(_long_rows(report))
    names = ("ranking", "family", "metric", "value", "ci_low", "ci_high")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return nw.from_dict(columns, backend=cast("Any", backend)).to_native()


def summary(report: Mapping[str, Any]) -> str:
    """Return the size of the evaluation in one sentence."""
    counts = [f"{report['n_rows']:,} lists over {report['n_classes']:,} classes, {report['n_units']:,} units"]
    if report["n_unseen_truth"]:
        counts.append(f"{report['n_unseen_truth']:,} unseen truths ({report['protocol']['truth']['unseen']})")
    if report["n_no_truth"]:
        counts.append(f"{report['n_no_truth']:,} rows without truth left out")
    ties = report["ties"]
    width = "-" if math.isnan(ties["mean_tie_width"]) else f"{ties['mean_tie_width']:.3g}"
    counts.append(f"{ties['share_of_rows_tied_at_cut']:.1%} of rows tied at the cut, mean tie width {width}")
    return "; ".join(counts) + "."


def rankings(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the families of every ranking in a report: objectives, baselines, chance."""
    return {**report["objectives"], **report["baselines"], "chance": report["chance"]}


def metric_table(report: Mapping[str, Any]) -> Table:
    """Return a table with a row per metric and a column per ranking; the first row is the head."""
    blocks = rankings(report)
    first = next(iter(blocks.values()))
    table = [["metric", *(f"{name}*" if name == report["primary_objective"] else name for name in blocks)]]
    for family, metrics in first.items():
        table += [[metric, *(number(block[family][metric]) for block in blocks.values())] for metric in metrics]
    return table


def comparison_table(report: Mapping[str, Any]) -> Table:
    """Return a table of intervals, a row per baseline and metric; empty without uncertainty."""
    uncertainty = report["uncertainty"]
    if uncertainty is None:
        return []
    model = uncertainty["model"]
    if not uncertainty["baselines"]:
        return [["metric", "model"], *([metric, interval(model[metric])] for metric in model)]
    table = [["metric", "model", "baseline", "difference", "verdict"]]
    for name, of_baseline in uncertainty["baselines"].items():
        table += [
            [
                metric,
                interval(model[metric]),
                f"{name} {interval(of_baseline['metrics'][metric])}",
                interval(difference),
                difference["verdict"],
            ]
            for metric, difference in of_baseline["difference"].items()
        ]
    return table


def interval_title(report: Mapping[str, Any]) -> str:
    """Return what the intervals are."""
    found = report["uncertainty"]
    return (
        f"{report['primary_objective']}: {found['confidence_level']:.0%} intervals, {found['n_resamples']:,} resamples "
        f"of {found['n_units']:,} units ({found['unit']})"
    )


def number(value: float) -> str:
    """Return a metric for reading; a dash where it is undefined."""
    return "-" if math.isnan(value) else f"{value:.4f}" if abs(value) < 1e4 else f"{value:.6g}"


def interval(found: Mapping[str, float]) -> str:
    """Return an estimate with its limits."""
    return f"{number(found['estimate'])} [{number(found['ci_low'])}, {number(found['ci_high'])}]"


def _long_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float, float, float]]:
    uncertainty = report["uncertainty"] or {"model": {}, "baselines": {}}
    limits = {report["primary_objective"]: uncertainty["model"]}
    limits |= {name: of_baseline["metrics"] for name, of_baseline in uncertainty["baselines"].items()}
    for ranking, families in rankings(report).items():
        for family, metrics in families.items():
            for metric, value in metrics.items():
                found = limits.get(ranking, {}).get(metric, {})
                yield ranking, family, metric, value, found.get("ci_low", math.nan), found.get("ci_high", math.nan)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _markdown_table(table: Table) -> str:
    head, *rows = [[_cell(text) for text in row] for row in table]
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def _html_table(table: Table) -> str:
    head, *rows = table
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
