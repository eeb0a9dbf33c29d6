"""The command line from end to end: files in, a real report out."""

import json
import time

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import rankbound
from rankbound.cli import main
from rankbound.demo import msweb_case
from rankbound.report.config import RankingConfig

N_ROWS, N_CLASSES = 60, 12
OPTIONS = ["-k", "5", "--n-resamples", "50", "--seed", "3"]


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    scores = (rng.integers(0, 9, (N_ROWS, N_CLASSES)) / 8).astype(np.float32)  # Ties; exact in every format.
    truth = rng.integers(-1, N_CLASSES, N_ROWS)
    exclude = rng.random(scores.shape) < 0.1
    exclude[np.arange(N_ROWS), truth] = False
    return {
        "scores": scores,
        "truth": truth,
        "train": rng.integers(0, N_CLASSES, 500),
        "groups": rng.integers(0, 20, N_ROWS),
        "classes": np.arange(N_CLASSES),
        "exclude": exclude,
    }


@pytest.fixture(scope="module")
def expected(case):
    return rankbound.build_ranking_report(
        case["scores"],
        case["truth"],
        y_train=case["train"],
        groups=case["groups"],
        classes=case["classes"],
        exclude=case["exclude"],
        config=RankingConfig(k=5, n_resamples=50, seed=3),
    ).to_json()


def save(path, suffix, values):
    values = np.asarray(values)
    if suffix == "npy":
        np.save(path, values)
    elif suffix == "npz":
        np.savez(path, values)
    elif suffix == "parquet":
        pd.DataFrame(values, columns=[str(place) for place in range(values[:1].size)]).to_parquet(path)
    else:
        pd.DataFrame(values).to_csv(path, index=False, header=False)
    return str(path)


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "parquet"])
def test_the_same_report_from_every_format(tmp_path, capsys, case, expected, suffix):
    arguments = ["report", *OPTIONS, "-o", str(tmp_path / "ranking.json")]
    for name in ("scores", "truth", "train", "groups", "classes"):
        arguments += [f"--{name}", save(tmp_path / f"{name}.{suffix}", suffix, case[name])]
    pairs = np.argwhere(case["exclude"])
    if suffix == "npz":
        sparse.save_npz(tmp_path / "exclude.npz", sparse.csr_array(case["exclude"]))
    else:
        save(tmp_path / f"exclude.{suffix}", suffix, pairs)
    arguments += ["--exclude", str(tmp_path / f"exclude.{suffix}")]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "against global_pop, 95% intervals from 50 resamples of" in out
    assert max(map(len, out.splitlines()[:-1])) <= 100
    found, wanted = json.loads((tmp_path / "ranking.json").read_text()), json.loads(expected)
    if suffix == "csv":  # Text has no float32, and the protocol says so.
        del found["protocol"], wanted["protocol"], found["hash"], wanted["hash"]
    assert found == wanted


def test_json_on_standard_output_is_the_file(tmp_path, capsys, case, expected):
    arguments = ["report", *OPTIONS]
    for name in case:
        arguments += [f"--{name}", save(tmp_path / f"{name}.npy", "npy", case[name])]
    assert main([*arguments, "-o", "-"]) == 0
    assert capsys.readouterr().out == expected


def test_bad_data_is_one_line_and_writes_nothing(tmp_path, capsys, case):
    truth = save(tmp_path / "y.npy", "npy", case["truth"])
    scores = case["scores"].copy()
    scores[7, 3] = np.nan
    output = tmp_path / "ranking.json"
    for bad, words in ((scores, ["nan", "7", "3"]), (scores[:5], ["5", str(N_ROWS)])):
        files = ["--scores", save(tmp_path / "s.npy", "npy", bad), "--truth", truth]
        assert main(["report", *files, "-o", str(output)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("rankbound: error: ")
        assert err.count("\n") == 1
        assert all(word in err.lower() for word in words)
        assert not output.exists()


def test_the_schema_accepts_a_report(capsys, expected):
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.validators.validator_for(schema).check_schema(schema)
    jsonschema.validate(json.loads(expected), schema)


def test_the_demo_reports_all_objectives_against_popularity(tmp_path, capsys):
    start = time.perf_counter()
    path = tmp_path / "ranking.json"
    assert main(["demo", "-o", str(path)]) == 0
    assert time.perf_counter() - start < 20
    out, err = capsys.readouterr()
    assert err == ""
    assert "Jack S. Breese" in out
    report = json.loads(path.read_text())
    assert list(report["objectives"]) == ["accuracy", "balanced", "coverage"]
    uncertainty = report["uncertainty"]
    assert uncertainty["unit"] == "group"
    assert report["n_units"] == len(msweb_case().groups)
    for metric, difference in uncertainty["baselines"]["global_pop"]["difference"].items():
        assert metric in out
        assert difference["verdict"].replace("_", " ") in out
    assert uncertainty["baselines"]["global_pop"]["difference"]["ndcg@10"]["verdict"] == "model_ahead"
