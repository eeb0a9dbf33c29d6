"""``rankbound evaluate`` and ``rankbound compare``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankbound import EvaluationResult, compare_models, evaluate_scores
from rankbound.cli import main

RUN = "q1 Q0 a 1 3.0 me\nq1 Q0 b 2 2.0 me\nq1 Q0 c 3 2.0 me\nq2 Q0 a 1 1.0 me\nq9 Q0 a 1 1.0 me\n"
QRELS = "q1 0 b 1\nq1 0 d 2\nq2 0 a 1\nq3 0 a 1\nq4 0 a 0\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path


def evaluate(files, *options):
    return main(["evaluate", "--run", str(files / "run.txt"), "--qrels", str(files / "qrels.txt"), *options])


def test_evaluate_prints_metrics_and_what_ties_leave_open(files, capsys):
    assert evaluate(files, "--metrics", "recall@1+2,mrr@3") == 0
    out = capsys.readouterr().out
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1:5] if line.strip()}
    # q1 has b in a tie for places 2 and 3 and lacks d; q2 is right; q3 has no list; q4 nothing relevant.
    assert [float(number) for number in lines["recall@2"]] == pytest.approx([5 / 12, 1 / 3, 0.5], abs=1e-6)
    assert [float(number) for number in lines["mrr@3"]] == pytest.approx([17 / 36, 4 / 9, 0.5], abs=1e-6)
    # Counts follow, of those that are not zero; hashes and widths are no counts.
    assert (
        out.splitlines()[-1]
        == "3 of 4 queries have relevant items; missing queries: 2; ignored queries: 1; open ties: 1"
    )


def test_evaluate_writes_aggregates_and_values(files, capsys):
    values = files / "values.npz"
    assert evaluate(files, "--metrics", "recall@2", "-o", "-", "--per-user", str(values)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recall@2"] == pytest.approx(5 / 12)
    assert found["protocol"]["ties"]["rule"] == "expectation"
    assert sorted(EvaluationResult.load(values).sample_ids) == ["q1", "q2", "q3"]
    assert evaluate(files, "--metrics", "recall@2", "-o", str(files / "out.json")) == 0
    assert json.loads((files / "out.json").read_text())["n_rows"] == 4


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_a_pipe_is_opened_once(files):
    os.mkfifo(files / "pipe")
    command = [sys.executable, "-m", "rankbound", "evaluate", "--run", files / "pipe", "--qrels", files / "qrels.txt"]
    with subprocess.Popen([*command, "--metrics", "mrr@3"], stdout=subprocess.PIPE, text=True) as reader:
        (files / "pipe").write_text(RUN)
        try:
            assert "mrr@3" in reader.communicate(timeout=30)[0]
        finally:
            reader.kill()


def test_evaluate_reads_tables(tmp_path, capsys):
    (tmp_path / "run.csv").write_text("query,item,score\n1,7,0.5\n1,8,0.4\n")
    (tmp_path / "qrels.tsv").write_text("query\titem\trelevance\n1\t8\t1\n")
    options = [
        "--run",
        str(tmp_path / "run.csv"),
        "--qrels",
        str(tmp_path / "qrels.tsv"),
        "--metrics",
        "mrr@5",
        "-o",
        "-",
    ]
    assert main(["evaluate", *options]) == 0
    assert json.loads(capsys.readouterr().out)["mrr@5"] == 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--metrics", "ndgc@10"], "ndgc@10"),
        (["--per-user", "values.txt"], ".npz or .parquet"),
        (["-o", "/nowhere/out.json"], "/nowhere"),
    ],
)
def test_evaluate_refuses_bad_options(files, capsys, options, words):
    assert evaluate(files, *options) == 2
    assert words in capsys.readouterr().err


def test_evaluate_names_a_missing_file(files, capsys):
    (files / "run.txt").unlink()
    assert evaluate(files) == 2
    assert "run.txt" in capsys.readouterr().err


@pytest.fixture
def results(tmp_path):
    rng = np.random.default_rng(1)
    truth = np.eye(20)[rng.integers(20, size=200)]
    paths = []
    for name, strength in (("old.npz", 0.2), ("new.parquet", 0.5)):
        result = evaluate_scores(rng.random((200, 20)) + strength * truth, truth, metrics=["ndcg@10", "recall@3"])
        result.save(tmp_path / name)
        paths.append(str(tmp_path / name))
    return paths


def test_compare_prints_a_table_or_json(results, tmp_path, capsys):
    assert main(["compare", *results, "--n-resamples", "500"]) == 0
    table = capsys.readouterr().out
    assert "| new | old | ndcg@10 |" in table
    assert "better" in table
    assert main(["compare", *results, "--metrics", "recall@3", "--n-resamples", "500", "-o", "-"]) == 0
    assert [of["metric"] for of in json.loads(capsys.readouterr().out)["comparisons"]] == ["recall@3"]
    assert main(["compare", *results, "--n-resamples", "500", "-o", str(tmp_path / "found.json")]) == 0
    assert len(json.loads((tmp_path / "found.json").read_text())["comparisons"]) == 2


def test_compare_refuses_what_cannot_be_paired(results, capsys):
    assert main(["compare", results[0]]) == 2
    assert "at least two" in capsys.readouterr().err
    for same in (results[0], f"{Path(results[0]).parent}/./{Path(results[0]).name}"):
        assert main(["compare", results[0], same]) == 2
    assert "twice" in capsys.readouterr().err
    assert main(["compare", *results, "--metrics", "ndcg@11"]) == 2
    assert "ndcg@11" in capsys.readouterr().err
    assert main(["compare", *results, "--n-resamples", "0"]) == 2
    assert "--n-resamples must be at least 1, got 0" in capsys.readouterr().err
    assert main(["compare", *results, "--confidence-level", "95"]) == 2
    assert "--confidence-level must lie between 0 and 1, got 95" in capsys.readouterr().err
    assert main(["compare", *results, "--metrics", ""]) == 2
    assert "old has no metric ''" in capsys.readouterr().err
    assert main(["compare", *results, "-o", results[0]]) == 2
    assert f"-o '{results[0]}' is the file that is read as" in capsys.readouterr().err
    assert main(["compare", "ranking.json", results[1]]) == 2
    assert (
        "'ranking.json' must end in .npz or .parquet: a saved evaluation ends in one of them" in capsys.readouterr().err
    )


def test_compare_takes_the_options_of_the_function(results, capsys):
    options = ["--alternative", "greater", "--interval-method", "bca", "--looks", "2", "--test-method", "t"]
    options += ["--correction", "bonferroni", "--confidence-level", "0.9", "--n-resamples", "300", "--seed", "5"]
    assert main(["compare", *results, *options, "-o", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["comparisons"]
    expected = compare_models(
        dict(zip(("old", "new"), results, strict=True)),
        reference="old",
        alternative="greater",
        interval_method="bca",
        looks=2,
        test_method="t",
        correction="bonferroni",
        confidence_level=0.9,
        n_resamples=300,
        seed=5,
    )
    assert found == json.loads(expected.to_json())["comparisons"]


def test_compare_names_models_by_any_file_name(results, tmp_path, capsys):
    odd = tmp_path / os.fsdecode(b"caf\xe9.npz")
    try:
        odd.write_bytes(Path(results[0]).read_bytes())
    except OSError:
        pytest.skip("the file system takes only text")
    assert main(["compare", results[1], str(odd), "--n-resamples", "50", "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["candidate"] == "caf\\xe9"


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        ("query,item,score\nq,a,1\nq,b,x\n", None, "--run['score'] has 'x' at row 1; it must hold numbers"),
        ("query,item,score\nq,a,1\nq,b\n", None, "run.csv' is no .csv table: CSV parse error: Row #3: Expected 3 col"),
        ("q,item,score\nq,a,1\n", None, "query among 'q', 'item', 'score': name it one of 'query', "),
        ("query,qid,item,score\nq,q,a,1\n", None, "could be the query, 'query', 'qid': leave all but one out"),
        (None, "query,item,relevance\n,a,1\n", "--qrels['query'] has no id at row 0; give every row one"),
        (None, "query,item,relevance\nq,a,one\n", "--qrels['relevance'] has 'one' at row 0; it must hold numbers"),
        ("query,item,score\nq,,1\n", None, "--run['item'] has no id at row 0; give every row one"),
        ("query,item,score\nq,a,\n", None, "--run['score'] has None at row 0; it must hold numbers"),
        ("query,item,score\nq,a,nan\n", None, "--run has NaN or an infinity for item 'a' of query 'q'"),
        ("query,item,score,f,f\nq,a,1,2,3\n", None, "--run has 2 columns called 'f'; rename or drop all but one"),
    ],
)
def test_what_is_wrong_in_a_table_is_placed(tmp_path, capsys, run, qrels, message):
    (tmp_path / "run.csv").write_text(run or "query,item,score\nq,a,1\n")
    (tmp_path / "qrels.csv").write_text(qrels or "query,item,relevance\nq,a,1\n")
    files = ["--run", str(tmp_path / "run.csv"), "--qrels", str(tmp_path / "qrels.csv")]
    assert main(["evaluate", *files]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "columns=" not in said


@pytest.mark.filterwarnings("default:no query of qrels")
def test_a_table_of_a_header_alone_is_an_empty_run(files, capsys):
    (files / "run.csv").write_text("query,item,score\n")
    assert evaluate(files, "--run", str(files / "run.csv"), "--metrics", "mrr@5", "-o", "-") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["mrr@5"] == 0
    assert "every list is empty" in said.err


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none.txt"])
@pytest.mark.parametrize("option", ["--run", "--qrels", "--item-ids"])
def test_files_that_are_missing_are_named_with_their_option(files, capsys, option, name):
    missing = str(files / name)
    assert evaluate(files, option, missing) == 2
    assert (
        capsys.readouterr().err == f"rankbound: error: {option} {missing!r} cannot be read: No such file or directory\n"
    )


def test_a_file_of_no_known_form_is_named_with_its_option(files, capsys):
    (files / "run.txt").write_text("q1 Q0 a 1\n")
    assert evaluate(files) == 2
    said = capsys.readouterr().err
    assert said.startswith("rankbound: error: --run: ")
    assert said.endswith("line 1 has 4 fields, not the 6 of `query Q0 item rank score tag`\n")


def test_a_cut_off_after_a_comma_belongs_to_the_metric_before_it(files, capsys):
    assert evaluate(files, "--metrics", "recall@1,2, mrr@3", "-o", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert [key for key in found if "@" in key] == ["recall@1", "recall@2", "mrr@3"]
    assert evaluate(files, "--metrics", "2,recall@1") == 2
    assert "'2' names no metric" in capsys.readouterr().err


def test_gate_words_its_reasons_in_options(files, capsys):
    assert evaluate(files, "--metrics", "mrr@3", "--per-user", str(files / "a.npz")) == 0
    (files / "policy.toml").write_text('[[regression]]\nmetric = "mrr@3"\nmax_drop = 0.1\n')
    policy = ["--policy", str(files / "policy.toml"), "--markdown", str(files / "gate.md")]
    assert main(["gate", str(files / "a.npz"), *policy]) == 2
    assert "there is no incumbent: pass --against\n" in capsys.readouterr().out
    assert "pass --against" in (files / "gate.md").read_text()
    for arguments, said in [
        (["none.npz"], "CANDIDATE: there is no file 'none.npz'"),
        ([str(files / "a.npz"), "--against", "none.npz"], "--against: there is no file 'none.npz'"),
    ]:
        assert main(["gate", *arguments, *policy]) == 2
        assert capsys.readouterr().err.startswith(f"rankbound: error: {said}")
