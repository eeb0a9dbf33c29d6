"""What the library refuses, in the words of the command line."""

import numpy as np
import pytest

from rankbound import RankingConfig, build_ranking_report, errors
from rankbound.cli import main
from rankbound.cli.report import _OPTIONS
from rankbound.cli.wording import in_options

SCORES = np.random.default_rng(0).random((6, 4)).astype(np.float32)
TRUTH = [0, 1, 2, 3, 1, 1]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"scores": np.full((6, 4), np.nan)}, [], "--scores has NaN at row 0, column 0"),
        ({"scores": np.full((6, 4), np.nan)}, [], "list it in --exclude (or pass --mask-neg-inf to let"),
        ({"scores": SCORES > 0.5}, [], "--scores has dtype bool; scores must be"),
        ({"scores": -SCORES}, [], "--scores has -0.6369616985321045 at row 0, column 0: the popularity discount needs"),
        ({"truth": TRUTH[:3]}, [], "--truth has 3 entries, but --scores has 6 rows"),
        ({"truth": list("abcabc")}, [], "without --classes it must hold column indices; pass --classes"),
        ({"classes": list("abcd")}, [], "--truth holds integers, but --classes holds strings"),
        ({"classes": list("abc"), "truth": list("abcabc")}, [], "--classes has 3 ids for 4 columns"),
        ({"train": TRUTH, "popularity": [1.0, 2, 3, 4]}, [], "--train and --popularity were both given"),
        ({"popularity": [1.0, -2, 3, 4]}, [], "--popularity has -2.0 for class 1"),
        ({"groups": TRUTH[:3]}, [], "--groups has 3 entries, but --scores has 6 rows"),
        ({"list_ids": TRUTH}, [], "--list-ids puts rows 1 and 4 into one served list, but both"),
        (
            {"segments": TRUTH},
            [],
            "segment popularity needs --segments (one per row of --scores), --train-segments (one per training label)",
        ),
        ({"class_values": [1.0]}, [], "--class-values has shape (1,), but there are 4 classes"),
        ({"exclude": np.ones((6, 4), bool)}, [], "--exclude (or a mask, or -inf) leaves out all 4 columns"),
        ({"truth": [-1] * 6}, ["--unseen", "drop"], "--unseen drop leaves out such rows"),
        ({"truth": [-1] * 6}, [], "use --no-eval-all-objectives"),
        ({}, ["-k", "0"], "-k must be at least 1, got 0"),
        ({}, ["--n-resamples", "-1"], "--n-resamples must be at least 0"),
        ({}, ["--seed", "-1"], "--seed must be at least 0"),
        ({}, ["--percentile-objectives", "accuracy", "--shrinkage-strength", "2"], "--shrinkage-strength 2 cannot"),
    ],
)
def test_errors_name_options(tmp_path, capsys, files, options, message):
    arguments = []
    for name, values in ({"scores": SCORES, "truth": TRUTH} | files).items():
        np.save(tmp_path / f"{name}.npy", np.asarray(values))
        arguments += [f"--{name.replace('_', '-')}", str(tmp_path / f"{name}.npy")]
    assert main(["report", *arguments, *options]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert not any(f"{name} " in said for name in ("proba", "y_true", "y_train"))


def test_warnings_below_the_table_name_options_and_those_in_the_file_do_not(tmp_path, capsys):
    for name, values in {"scores": SCORES, "truth": np.array(TRUTH)}.items():
        np.save(tmp_path / f"{name}.npy", values)
    files = ["--scores", str(tmp_path / "scores.npy"), "--truth", str(tmp_path / "truth.npy")]
    assert main(["report", *files, "-o", str(tmp_path / "report.json")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "there is no baseline: pass --train or --popularity to see" in out
    assert "in-sample; pass --train or a state" in out
    assert "pass y_train= or popularity= to see" in (tmp_path / "report.json").read_text()


def test_words_that_are_no_arguments_stay():
    for text in (
        "there are 4 classes; drop the row",
        "their scores or exclusions differ",
        "cannot read '/home/y_true.csv': no such file",
        "unknown label 'y_train'",
        "the popularity discount needs scores of at least 0",
    ):
        assert in_options(text, _OPTIONS) == text


def test_what_a_file_of_options_says_is_named_as_it_is_there(tmp_path, capsys):
    (tmp_path / "c.toml").write_text("n_resamples = -1\n")
    for name, values in {"scores": SCORES, "truth": np.array(TRUTH)}.items():
        np.save(tmp_path / f"{name}.npy", values)
    files = ["--scores", str(tmp_path / "scores.npy"), "--truth", str(tmp_path / "truth.npy")]
    assert main(["report", *files, "--config", str(tmp_path / "c.toml")]) == 2
    assert "n_resamples must be" in capsys.readouterr().err


def test_in_python_the_arguments_are_named():
    with pytest.raises(errors.ShapeError, match="y_true has 3 entries, but proba has 6 rows"):
        build_ranking_report(SCORES, TRUTH[:3])
    with pytest.raises(errors.InvalidParameterError, match="n_resamples must be"):
        RankingConfig(n_resamples=-1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


RUN, QRELS = "q1 Q0 a 1 3.0 me\nq1 Q0 b 2 2.0 me\n", "q1 0 b 1\n"


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        ((RUN * 2, QRELS), [], "--run has item 'a' of query 'q1' twice"),
        ((RUN, QRELS * 2), [], "--qrels has item 'b' of query 'q1' twice"),
        ((RUN, QRELS), ["--metrics", "catalog_coverage@1"], "--metrics has catalog_coverage@1, but a run does not say"),
        ((RUN, QRELS), ["--metrics", "catalog_coverage@1"], "pass --item-ids, the ids of all items"),
        (
            (RUN, QRELS),
            ["--item-ids", "ab.txt", "--metrics", "catalog_coverage@1"],
            "--item-ids has no 'b', which --run",
        ),
        ((RUN, QRELS), ["--item-ids", "none.txt"], "--item-ids 'none.txt' cannot be read"),
        ((RUN, QRELS), ["--metrics", "novelty@1"], "needs data"),
        ((RUN.replace(" 2 ", " 1 "), QRELS), ["--tie-break", "rank_column"], "or use --tie-break expected"),
    ],
)
def test_evaluate_names_options(folder, capsys, tables, options, message):
    for name, text in zip(("run.txt", "qrels.txt"), tables, strict=True):
        (folder / name).write_text(text)
    (folder / "ab.txt").write_text("a\nc\n")
    assert main(["evaluate", "--run", "run.txt", "--qrels", "qrels.txt", *options]) == 2
    assert message in capsys.readouterr().err


def test_evaluate_reads_the_catalogue(tmp_path, capsys):
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "items.txt").write_text("b\n\na\n c\nd\n")
    files = [f"--{name.split('.')[0]}={tmp_path / name}" for name in ("run.txt", "qrels.txt")]
    options = ["--item-ids", str(tmp_path / "items.txt"), "--metrics", "recall@1,catalog_coverage@1"]
    assert main(["evaluate", *files, *options]) == 0
    assert ["catalog_coverage@1", "0.25"] in [line.split() for line in capsys.readouterr().out.splitlines()]
