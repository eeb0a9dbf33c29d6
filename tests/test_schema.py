"""The report's file format, its schema, and its tables."""

import copy
import importlib.util
import json
import math

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankbound import RankingReport, build_ranking_report
from rankbound.errors import FileFormatError, InvalidParameterError, MissingDependencyError, ReportError
from rankbound.report.schema import json_schema, schema_text, shipped_schema

RNG = np.random.default_rng(0)
SCORES, TRUTHS = RNG.random((12, 5)), RNG.integers(0, 5, 12)
TRAIN = {"y_train": [0, 0, 1, 2], "n_resamples": 30, "k": 2}
REPORTS = {
    "plain": build_ranking_report(SCORES, TRUTHS, **TRAIN),
    "all": build_ranking_report(
        SCORES,
        TRUTHS,
        groups=TRUTHS,
        segments=["s"] * 12,
        train_segments=["s"] * 4,
        class_values=range(5),
        percentile_objectives=["coverage"],
        **TRAIN,
    ),
    "undefined": build_ranking_report(SCORES, ["x"] * 12, classes=list("abcde"), eval_all_objectives=False),
    "single": build_ranking_report([[1.0]], [0]),
}


@pytest.fixture(params=REPORTS)
def report(request):
    return REPORTS[request.param]


def test_the_shipped_schema_is_that_of_the_types():
    assert shipped_schema() == schema_text()
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert json.loads(shipped_schema()) == json_schema()


def test_reports_follow_the_schema(report):
    jsonschema.validate(json.loads(report.to_json()), json.loads(shipped_schema()))


def test_round_trip(report, tmp_path):
    path = tmp_path / "ranking.json"
    text = report.to_json(path)
    assert text.endswith("}\n")
    for source in (text, " \n" + text, text.encode(), path, str(path)):
        read = RankingReport.from_json(source)
        assert read == report
        assert read.to_json() == text
        assert list(read) == list(report)
        assert repr(dict(read)) == repr(dict(report))


def test_a_report_is_a_mapping(report):
    assert len(report) == len(list(report)) == 19
    assert report["primary_score"]["metric"] in repr(report)
    assert report != dict(report)
    with pytest.raises(TypeError, match="unhashable"):
        hash(report)
    with pytest.raises(TypeError):
        report["k"] = 3
    with pytest.raises(KeyError):
        report["nothing"]


def test_no_file_is_half_written(tmp_path, monkeypatch):
    path = tmp_path / "ranking.json"
    path.write_text("before", encoding="utf-8")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        REPORTS["plain"].to_json(path)
    assert path.read_text(encoding="utf-8") == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["ranking.json"]


def test_unwritable_places(tmp_path):
    with pytest.raises(FileFormatError, match=r"there is no folder .*missing"):
        REPORTS["plain"].to_json(tmp_path / "missing" / "ranking.json")
    with pytest.raises(FileFormatError, match="it is a folder"):
        REPORTS["plain"].to_json(tmp_path)


def changed(path, value):
    document = json.loads(REPORTS["plain"].to_json())
    node = document
    *parents, last = path.split("/")
    for name in parents:
        node = node[name]
    if value is KeyError:
        del node[last]
    else:
        node[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("k", 0),
        ("k", "2"),
        ("n_rows", -1),
        ("n_classes", 1.5),
        ("ties", KeyError),
        ("chance/micro", KeyError),
        ("surprise", 1),
        ("chance/surprise", {}),
        ("objectives/accuracy/micro/hit@1", "high"),
        ("objectives/accuracy", None),
        ("uncertainty/confidence_level", 1.0),
        ("uncertainty/unit", "user"),
        ("uncertainty/model/hit@1/ci_low", KeyError),
        ("uncertainty/baselines/global_pop/difference/hit@1/verdict", "better"),
        ("uncertainty/baselines/global_pop/difference/hit@1/n_nonzero", -1),
        ("primary_metric", "map"),
        ("warnings", "none"),
        ("protocol", []),
    ],
)
def test_edited_reports_are_refused_by_types_and_schema(path, value):
    document = changed(path, value)
    with pytest.raises(ReportError, match="is not a ranking report: "):
        RankingReport.from_json(json.dumps(document))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json_schema())


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"", "the document is not JSON"),
        (b"{", "the document is not JSON"),
        ("{]", "the document is not JSON"),
        (b'{"a":' * 100_000, "the document is not a ranking report: it is nested too deeply"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "the document is not JSON"),
        (b"[]", "the document is not a ranking report: it has no schema_version"),
        (b"3", "no schema_version"),
        ("{}", "no schema_version"),
        (json.dumps(changed("schema_version", 2)), "has schema_version 2, but this version reads 3"),
        (json.dumps(changed("schema_version", "3")), "has schema_version '3', but this version reads 3"),
        (json.dumps(changed("primary_objective", "fair")), "no block for its primary_objective 'fair'"),
        (json.dumps(changed("objective_alpha/accuracy", KeyError)), "no block for its primary_objective 'accuracy'"),
        (json.dumps(changed("primary_score/value", 0.99)), "a primary_score that its block 'accuracy' does not hold"),
        (json.dumps(changed("primary_score/metric", "ndcg@9")), "a primary_score that its block 'accuracy'"),
        (json.dumps(changed("k", 5)), "a primary_score of 'ndcg@2', but its options say 'ndcg@5'"),
        (json.dumps(changed("primary_metric", "hit")), "a primary_score of 'ndcg@2', but its options say 'hit@2'"),
        (
            json.dumps(changed("objectives/coverage/micro/hit@1", KeyError)),
            "lacks 'hit@1' at objectives/coverage/micro",
        ),
        (json.dumps(changed("objectives/balanced/macro/more", 1)), "has 'more' at objectives/balanced/macro"),
        (json.dumps(changed("baselines/global_pop/micro/mrr@2", KeyError)), "lacks 'mrr@2' at baselines/global_pop/mi"),
        (json.dumps(changed("chance/macro/catalog_coverage", KeyError)), "lacks 'catalog_coverage' at chance/macro"),
        (json.dumps(changed("ties/mean_tie_width", KeyError)), "lacks 'mean_tie_width' at ties"),
        (json.dumps(changed("ties/share_of_rows_tied_at_cut", KeyError)), "lacks 'share_of_rows_tied_at_cut' at ties"),
        (json.dumps(changed("ties/hit@1", KeyError)), "lacks 'hit@1' at ties"),
        (json.dumps(changed("ties/hit@9", 0.5)), "has 'hit@9' at ties"),
        (json.dumps(changed("ties/hit@1", 0.5)), "has 0.5 at ties/hit@1, which must be a spread"),
        (
            json.dumps(changed("ties/mean_tie_width", {"min": 1, "max": 1, "sd": 0})),
            "ties/mean_tie_width, which must be",
        ),
        (json.dumps(changed("n_units", 13)), "13 n_units, more than its 12 n_rows"),
    ],
)
def test_what_is_no_report_is_refused(source, words, tmp_path):
    with pytest.raises(ReportError, match=words):
        RankingReport.from_json(source)
    path = tmp_path / "other.json"
    path.write_bytes(source.encode() if isinstance(source, str) else source)
    with pytest.raises(ReportError, match=r"other\.json"):
        RankingReport.from_json(path)


def test_truncated_reports_are_refused():
    text = REPORTS["single"].to_json().encode().strip()
    for end in range(0, len(text), 7):
        with pytest.raises(ReportError):
            RankingReport.from_json(text[:end])


def test_missing_files(tmp_path):
    with pytest.raises(FileFormatError, match=r"cannot read .*ranking\.json.*No such file"):
        RankingReport.from_json(tmp_path / "ranking.json")
    with pytest.raises(FileFormatError, match="cannot read"):
        RankingReport.from_json(tmp_path)


def test_payloads_are_checked():
    with pytest.raises(ReportError, match="this is not a ranking report"):
        RankingReport({"k": 3})
    payload = copy.deepcopy(dict(REPORTS["plain"]))
    assert RankingReport(payload) == REPORTS["plain"]
    with pytest.raises(ReportError, match="13 n_units, more than its 12 n_rows"):
        RankingReport(payload | {"n_units": 13})


def test_parsed_json_is_a_payload(report):
    text = report.to_json()
    parsed = RankingReport(json.loads(text))
    assert parsed == RankingReport.from_json(text) == report
    assert repr(dict(parsed)) == repr(dict(report))
    assert parsed.to_markdown() == report.to_markdown()
    assert parsed.to_frame("polars").equals(report.to_frame("polars"), null_equal=True)


# Tables


def rows_of(report):
    rankings = {**report["objectives"], **report["baselines"], "chance": report["chance"]}
    return [
        (ranking, family, metric, value)
        for ranking, families in rankings.items()
        for family, metrics in families.items()
        for metric, value in metrics.items()
    ]


def test_frames(report):
    frames = {name: report.to_frame(name) for name in ("pandas", "polars", "pyarrow")}
    assert list(map(type, frames.values())) == [pd.DataFrame, pl.DataFrame, pa.Table]
    assert type(report.to_frame()) is pd.DataFrame
    frame = frames["polars"]
    assert frame.columns == ["ranking", "family", "metric", "value", "ci_low", "ci_high"]
    assert repr([row[:4] for row in frame.rows()]) == repr(rows_of(report))
    assert repr(frames["pyarrow"].to_pydict()) == repr(frame.to_dict(as_series=False))
    assert repr(frames["pandas"].to_dict("list")) == repr(frame.to_dict(as_series=False))
    for ranking, _, metric, _, low, high in frame.rows():
        found = report["uncertainty"] or {"model": {}, "baselines": {}}
        limits = {report["primary_objective"]: found["model"]}
        limits |= {name: of_baseline["metrics"] for name, of_baseline in found["baselines"].items()}
        if metric in limits.get(ranking, {}):
            assert (low, high) == (limits[ranking][metric]["ci_low"], limits[ranking][metric]["ci_high"])
        else:
            assert math.isnan(low)
            assert math.isnan(high)


def test_frames_without_their_library(monkeypatch):
    with pytest.raises(InvalidParameterError, match="backend must be one of 'pandas', 'polars', 'pyarrow', got 'dask'"):
        REPORTS["plain"].to_frame("dask")
    monkeypatch.setattr("rankbound._text_tables.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match="needs polars: pip install polars"):
        REPORTS["plain"].to_frame("polars")
    with pytest.raises(MissingDependencyError, match="needs one of pandas, polars, pyarrow"):
        REPORTS["plain"].to_frame()
    monkeypatch.setattr("rankbound._text_tables.find_spec", lambda name: name == "polars" or None)
    assert importlib.util.find_spec("polars")
    assert type(REPORTS["plain"].to_frame()) is pl.DataFrame


def test_markdown(report):
    text = report.to_markdown()
    assert text.startswith("# Ranking report\n\n")
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    for table in tables:
        assert len({line.count("|") for line in table}) == 1
    metrics = report["objectives"][report["primary_objective"]]
    found = [line.split("|")[1].strip() for line in tables[0]]
    assert set(found) >= {metric for family in metrics.values() for metric in family}
    for warning in report["warnings"]:
        assert f"- {warning}" in text
    assert "nan" not in text


def test_html_is_escaped(report):
    page = report._repr_html_()
    assert page.startswith("<div>")
    assert page.endswith("</div>")
    assert page.count("<table>") == page.count("</table>")
    payload = copy.deepcopy(dict(report)) | {"warnings": ["<script>alert(1)</script> | & more"]}
    page = RankingReport(payload)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert r"\| & more" in RankingReport(payload).to_markdown()


def test_a_protocol_that_was_edited_is_refused(report):
    payload = json.loads(report.to_json())
    payload["protocol"]["truth"]["unseen"] = "drop"
    with pytest.raises(ReportError, match="changed after it was written"):
        RankingReport(payload)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("objectives/accuracy/micro/hit@1", 0.99),
        ("objectives/accuracy/macro/catalog_coverage", 0.99),
        ("uncertainty/model/hit@1/ci_low", 0.99),
        ("uncertainty/baselines/global_pop/difference/hit@1/verdict", "model_ahead"),
        ("n_rows", 13),
        ("n_unseen_truth", 1),
        ("warnings", []),
        ("hash", "0" * 32),
        ("hash", KeyError),
    ],
)
def test_values_that_were_edited_are_refused(path, value):
    document = changed(path, value)
    # What was edited is a report in all else.
    jsonschema.validate(document, json_schema())
    with pytest.raises(ReportError, match="this report was changed after it was written; make the report again"):
        RankingReport.from_json(json.dumps(document))


def test_the_layout_of_a_file_is_no_edit(report):
    text = json.dumps(json.loads(report.to_json()), sort_keys=True).replace(": 1.0,", ": 1,")
    assert json.loads(RankingReport.from_json(text).to_json()) == json.loads(text)
