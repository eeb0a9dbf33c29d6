"""A comparison as table, JSON, Markdown and HTML."""

import json

import numpy as np
import pytest

from compared import Result, models, result
from rankbound import compare_models
from rankbound.errors import MissingDependencyError

QUICK = {"n_resamples": 500, "num_threads": 2}
COLUMNS = [
    "metric", "baseline", "candidate", "slice", "n_samples", "n_undefined", "n_units", "n_nonzero", "tie_rate",
    "baseline_mean", "candidate_mean", "difference", "relative_difference", "ci_low", "ci_high", "standard_error",
    "p_value", "p_adjusted", "significant", "direction", "alternative", "test_method", "exact", "interval_method",
    "correction", "n_hypotheses", "confidence_level", "n_resamples", "seed", "looks", "n_dropped",
]  # fmt: skip


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_frames(backend):
    ids, values = models()
    found = compare_models({name: Result(of, ids) for name, of in values.items()}, **QUICK)
    frame = found.to_frame(backend)
    columns = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert columns == COLUMNS
    assert len(frame) == 6
    assert list(map(float, np.asarray(frame["difference"]))) == [row.difference for row in found]


def test_a_missing_library_is_named(monkeypatch):
    found = compare_models({"a": result([1, 0]), "b": result([0, 1])}, **QUICK)
    monkeypatch.setattr("rankbound._text_tables.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match="to_frame needs one of pandas, polars, pyarrow"):
        found.to_frame()


def test_json(tmp_path):
    found = compare_models({"a": result([0, 0]), "b": result([0, 0])}, **QUICK, interval_method="bca")
    text = found.to_json(tmp_path / "comparison.json")
    assert (tmp_path / "comparison.json").read_text() == text
    document = json.loads(text)
    assert document["schema"] == "rankbound-comparison-1"
    assert list(document["comparisons"][0]) == COLUMNS
    assert document["comparisons"][0]["ci_low"] is None
    assert document["comparisons"][0]["p_value"] == 1.0


def test_markup_is_escaped():
    names = {"a|b": result([0.5, 0.25, 0.5]), "<script>": result([0.5, 0.5, 0.5])}
    found = compare_models(names, **QUICK)
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    assert "a\\|b" in found.to_markdown()
    head, _, row, *_ = found.to_markdown().splitlines()
    assert head.count("|") == row.replace("\\|", "").count("|")
    assert "+0.0833 [+0.0000, +0.2500]" in row
    assert "looks: 1" in found.to_markdown()
