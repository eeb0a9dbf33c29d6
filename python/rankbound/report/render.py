"""A report for reading, as text, Markdown or HTML of the same cells, and as a data frame."""

import math
from collections.abc import Iterator, Mapping
from html import escape
from textwrap import fill
from typing import Any

from rankbound._text_tables import Table, cell, html_list, html_table, markdown_table, number, to_native_frame

WIDTH = 100
NO_INTERVALS = "No intervals: they were turned off, or there is nothing to resample."


def to_text(report: Mapping[str, Any]) -> str:
    """Return a report as plain text of at most 100 columns, without a final newline.

    ASCII, except where a warning quotes a label. The JSON of a report, as ``json.load`` returns it, does as well.
    """
    facts = "\n".join(f"{name:<9}{fact}" for name, fact in summary(report).items())
    comparisons = [f"{title}\n{align(table)}" for title, table in comparison_tables(report)]
    warnings = [fill(f"Warning: {warning}", width=WIDTH, subsequent_indent="  ") for warning in report["warnings"]]
    return "\n\n".join([facts, align(metric_table(report)), *(comparisons or [NO_INTERVALS]), *warnings])


def to_markdown(report: Mapping[str, Any]) -> str:
    """Return a report as Markdown."""
    facts = "\n".join(f"- {name}: {fact}" for name, fact in summary(report).items())
    parts = ["# Ranking report", facts, markdown_table(metric_table(report))]
    parts += [f"## {cell(title)}\n\n{markdown_table(table)}" for title, table in comparison_tables(report)]
    if report["warnings"]:
        parts.append("## Warnings\n\n" + "\n".join(f"- {cell(warning)}" for warning in report["warnings"]))
    return "\n\n".join(parts) + "\n"


def to_html(report: Mapping[str, Any]) -> str:
    """Return a report as an HTML fragment for notebooks; all text is escaped."""
    facts = html_list(f"{name}: {fact}" for name, fact in summary(report).items())
    comparisons = [f"<p>{escape(title)}</p>{html_table(table)}" for title, table in comparison_tables(report)]
    warnings = f"<p>Warnings</p>{html_list(report['warnings'])}" if report["warnings"] else ""
    parts = [facts, html_table(metric_table(report)), *comparisons, warnings]
    return f"<div><p><strong>Ranking report</strong></p>{''.join(parts)}</div>"


def to_frame(report: Mapping[str, Any], backend: str | None) -> Any:
    """Return all metrics as a long table of the wanted library."""
    rows = list(_long_rows(report))
    names = ("ranking", "family", "metric", "value", "ci_low", "ci_high")
    return to_native_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), backend)


def summary(report: Mapping[str, Any]) -> dict[str, str]:
    """Return what was measured: a line each on rows, classes, ties and the primary score."""
    ties, primary = report["ties"], report["primary_score"]
    truth, population = report["protocol"]["truth"], report["protocol"]["population"]
    unseen = f"{report['n_unseen_truth']:,} with an unseen truth"
    if report["n_unseen_truth"]:
        unseen += f" ({truth['unseen']})"
    units = f"{report['n_units']:,} units"
    if report["protocol"]["ties"]["list_id_given"]:
        units += f" and {population['n_eval_groups']:,} served lists"
    tied, width = number(ties["share_of_rows_tied_at_cut"], style=".1%"), number(ties["mean_tie_width"], style=".2f")
    score = f"{primary['metric']} = {number(primary['value'])} ({report['primary_objective']})"
    extremes = ties.get(primary["metric"])
    if extremes:
        score += f"; the orders of ties allow {number(extremes['min'])} to {number(extremes['max'])}"
    macro = f"{population['n_classes_macro']:,} with a truth"
    if population["n_classes_macro"]:
        macro += f", in at least {population['min_support']:,} rows, median {population['median_support']:,g}"
    return {
        "rows": f"{report['n_rows']:,} in {units}; {unseen}, {report['n_no_truth']:,} without truth",
        "classes": f"{report['n_classes']:,}, cut at k = {report['k']}; {macro}",
        "ties": f"{tied} of rows tie at the cut; the truth's tie group has {width} classes on average",
        "primary": score,
        **({"unseen": _with_the_other_unseen(report)} if report["n_unseen_truth"] else {}),
    }


def _with_the_other_unseen(report: Mapping[str, Any]) -> str:
    """Return the primary score as it would be with unseen truths dropped, or counted as misses."""
    n_rows, n_unseen, score = report["n_rows"], report["n_unseen_truth"], report["primary_score"]
    dropped = report["protocol"]["truth"]["unseen"] == "drop"
    n_then = n_rows + n_unseen if dropped else n_rows - n_unseen
    value = number(score["value"] * n_rows / n_then if n_then else None)
    return f"{score['metric']} = {value} if these truths were {'misses' if dropped else 'dropped'}"


def rankings(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the families of every ranking in a report: objectives, baselines, chance."""
    return {**report["objectives"], **report["baselines"], "chance": report["chance"]}


def metric_table(report: Mapping[str, Any]) -> Table:
    """Return a table with a row per metric and a column per ranking; the first row is the head."""
    columns = {
        name: {metric: value for family in families.values() for metric, value in family.items()}
        for name, families in rankings(report).items()
    }
    metrics = dict.fromkeys(metric for values in columns.values() for metric in values)
    rows = [[metric, *(number(values.get(metric)) for values in columns.values())] for metric in metrics]
    return [["", *columns], *rows]


def comparison_tables(report: Mapping[str, Any]) -> list[tuple[str, Table]]:
    """Return title and table of the intervals, for each baseline or for the model alone; none without uncertainty."""
    found, objective = report["uncertainty"], report["primary_objective"]
    if not found:
        return []
    about = (
        f"{100 * found['confidence_level']:g}% intervals from {found['n_resamples']:,} resamples of "
        f"{found['n_units']:,} {found['unit']}s"
    )
    model = found["model"]
    if not found["baselines"]:
        rows = [[metric, interval(of_model)] for metric, of_model in model.items()]
        return [(f"{objective}, {about}", [["", objective], *rows])]
    tables = []
    for name, baseline in found["baselines"].items():
        rows = [
            [
                metric,
                interval(model[metric]),
                number(baseline["metrics"][metric]["estimate"]),
                interval(difference, sign="+"),
                difference["verdict"].replace("_", " "),
            ]
            for metric, difference in baseline["difference"].items()
        ]
        tables.append((f"{objective} against {name}, {about}", [["", objective, name, "difference", "verdict"], *rows]))
    return tables


def interval(found: Mapping[str, float | None], *, sign: str = "") -> str:
    """Return an estimate with its limits."""
    estimate, low, high = (number(found[name], sign=sign) for name in ("estimate", "ci_low", "ci_high"))
    return f"{estimate} [{low}, {high}]"


def align(table: Table) -> str:
    """Return a table as text: the first column to the left, the others to the right, a rule below the head.

    Examples
    --------
    >>> from rankbound.report.render import align
    >>> print(align([["", "model"], ["ndcg@10", "0.5"]]))
             model
    --------------
    ndcg@10    0.5
    """
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    head, *rows = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table]
    return "\n".join([head, "-" * len(head), *rows])


def _long_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float, float, float]]:
    uncertainty = report["uncertainty"] or {"model": {}, "baselines": {}}
    limits = {report["primary_objective"]: uncertainty["model"]}
    limits |= {name: of_baseline["metrics"] for name, of_baseline in uncertainty["baselines"].items()}
    for ranking, families in rankings(report).items():
        for family, metrics in families.items():
            for metric, value in metrics.items():
                found = limits.get(ranking, {}).get(metric, {})
                yield ranking, family, metric, value, found.get("ci_low", math.nan), found.get("ci_high", math.nan)
