"""The command line around the report: arguments and refusals. The report itself is replaced by a fixed one."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from fixed_report import PAYLOAD, FixedReport, refused, replace_report, save_arguments
from rankbound import __version__
from rankbound.cli import main
from rankbound.comparability import fit_comparability
from rankbound.errors import EmptyInputError
from rankbound.report.config import RankingConfig


@pytest.fixture
def calls(monkeypatch):
    return replace_report(monkeypatch)


@pytest.fixture
def files(tmp_path):
    return save_arguments(tmp_path)


def failing(monkeypatch, error):
    def fail():
        raise error

    replace_report(monkeypatch, fail)


# ---- arguments


def test_version_and_help_exit_with_0(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rankbound {__version__}\n"
    for command in ([], ["demo"], ["report"], ["schema"]):
        assert main([*command, "--help"]) == 0
        assert "usage: rankbound" in capsys.readouterr().out


def test_the_demos_help_names_creators_source_and_licence(capsys):
    main(["demo", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for part in ["Jack S. Breese, David Heckerman and Carl Kadie", "https://doi.org/10.24432/C5VS3Q", "CC BY 4.0"]:
        assert part in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "rankbound: error: the following arguments are required: COMMAND; see rankbound --help"),
        (["rank"], "rankbound: error: argument COMMAND: invalid choice: 'rank'"),
        (["demo", "-k", "ten"], "rankbound demo: error: argument -k/--k: invalid int value: 'ten'"),
        (["demo", "--see", "1"], "rankbound demo: error: unrecognized arguments: --see"),
        (["demo", "-k", "0"], "rankbound: error: k must be at least 1, got 0"),
        (["report", "--scores", "s.npy"], "rankbound report: error: the following arguments are required: --truth"),
        (["report", "--primary-metric", "map"], "argument --primary-metric: invalid choice: 'map'"),
    ],
)
def test_bad_usage_is_one_line(capsys, arguments, message):
    error = refused(capsys, arguments)
    # argparse names another program for arguments that only the main parser finds left over.
    assert message.split(": error: ")[-1] in error


def test_every_option_of_the_config_is_a_flag(calls, files):
    flags = {
        "k": ["20"],
        "primary_metric": ["mrr"],
        "primary_objective": ["balanced"],
        "objectives": ["balanced", "coverage"],
        "eval_all_objectives": None,
        "percentile_objectives": ["coverage"],
        "popularity_discount": ["0.75"],
        "shrinkage_strength": ["0.25"],
        "unseen": ["drop"],
        "mask_neg_inf": [],
        "zero_base_rate": ["refuse"],
        "tail_mass": ["0.3"],
        "n_resamples": ["200"],
        "confidence_level": ["0.9"],
        "seed": ["3"],
        "num_threads": ["2"],
    }
    assert list(flags) == list(RankingConfig.__struct_fields__)
    arguments = list(files)
    for name, values in flags.items():
        flag = name.replace("_", "-")
        arguments += [f"--no-{flag}"] if values is None else [f"--{flag}", *values]
    assert main(arguments) == 0
    assert calls[0][1]["config"] == RankingConfig(
        k=20,
        primary_metric="mrr",
        primary_objective="balanced",
        objectives=("balanced", "coverage"),
        eval_all_objectives=False,
        percentile_objectives=("coverage",),
        popularity_discount=0.75,
        shrinkage_strength=0.25,
        unseen="drop",
        zero_base_rate="refuse",
        mask_neg_inf=True,
        tail_mass=0.3,
        n_resamples=200,
        confidence_level=0.9,
        seed=3,
        num_threads=2,
    )


def test_flags_override_the_config_file_and_leave_the_rest(calls, files, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('k = 5\nseed = 7\nprimary_metric = "hit"\n')
    assert main([*files, "--config", str(config), "-k", "20"]) == 0
    assert main(files) == 0
    assert calls[0][1]["config"] == RankingConfig(k=20, seed=7, primary_metric="hit")
    assert calls[1][1]["config"] == RankingConfig()


def test_the_help_explains_every_option(capsys):
    main(["report", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "--n-resamples N bootstrap resamples; 0 turns the uncertainty off (default: 1000)" in text
    assert "--tail-mass X the tail is the largest set" in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the configuration"),
        ("k = ", "not valid TOML"),
        ("kk = 3", "'kk' is no option; did you mean 'k'?"),
        ("k = 0", "k must be at least 1, got 0"),
        ("seed = 'x'", "seed must be an integer"),
    ],
)
def test_a_bad_config_is_one_line(capsys, calls, files, content, message):
    path = Path(files[-1]).with_name("c.toml")
    if content is not None:
        path.write_text(content)
    assert message in refused(capsys, [*files, "--config", str(path)])
    assert not calls


def test_files_become_the_reports_arguments(calls, files, tmp_path):
    vectors = {
        "classes": np.array(["a", "b", "c"]),
        "truth": np.array(["a", "c"]),
        "train": np.array(["a", "a", "b"]),
        "popularity": np.array([2, 1, 0]),
        "groups": np.array([7, 7]),
        "list-ids": np.array([1, 2]),
        "segments": np.array(["u", "v"]),
        "train-segments": np.array(["u", "v", "u"]),
        "class-values": np.array([1.5, 2, 3]),
    }
    arguments = list(files)
    for name, values in vectors.items():
        np.save(tmp_path / f"{name}.npy", values)
        arguments += [f"--{name}", str(tmp_path / f"{name}.npy")]
    sparse.save_npz(tmp_path / "e.npz", sparse.csr_array(np.eye(2, 3, dtype=bool)))
    state = fit_comparability(vectors["train"], classes=vectors["classes"])
    state.save(tmp_path / "state.npz")
    arguments += ["--exclude", str(tmp_path / "e.npz"), "--state", str(tmp_path / "state.npz")]
    assert main(arguments) == 0
    (scores,), given = calls[0]
    assert isinstance(scores, np.memmap)
    assert given.pop("exclude").nonzero()[1].tolist() == [0, 1]
    assert given.pop("state") == state
    assert given.pop("config") == RankingConfig()
    assert given.pop("progress") is False
    arguments_of = {"truth": "y_true", "train": "y_train"}
    assert given.keys() == {arguments_of.get(name, name.replace("-", "_")) for name in vectors}
    for name, values in vectors.items():
        np.testing.assert_array_equal(given[arguments_of.get(name, name.replace("-", "_"))], values)


def test_names_of_columns_are_the_classes_unless_classes_are_given(calls, tmp_path):
    (tmp_path / "s.csv").write_text("x,y\n0.5,0.25\n")
    (tmp_path / "y.csv").write_text("truth\nx\n")
    (tmp_path / "c.csv").write_text("classes\nx\nz\n")
    arguments = ["report", "--scores", str(tmp_path / "s.csv"), "--truth", str(tmp_path / "y.csv")]
    assert main(arguments) == 0
    assert main([*arguments, "--classes", str(tmp_path / "c.csv")]) == 0
    assert [call[1]["classes"].tolist() for call in calls] == [["x", "y"], ["x", "z"]]


def test_indices_as_truth_of_named_columns_are_refused(capsys, calls, tmp_path):
    (tmp_path / "s.csv").write_text("x,y\n0.5,0.25\n")
    (tmp_path / "y.csv").write_text("0\n")
    error = refused(capsys, ["report", "--scores", str(tmp_path / "s.csv"), "--truth", str(tmp_path / "y.csv")])
    assert "holds integers, but the columns of --scores" in error
    assert "--classes" in error
    assert not calls


# ---- what is refused


def test_scores_of_one_dimension_are_refused_before_anything_else_is_read(capsys, files, tmp_path):
    np.save(tmp_path / "s.npy", np.arange(3.0))
    assert "scores has 1 dimension(s)" in refused(capsys, [*files, "--exclude", "missing.npz"])


@pytest.mark.parametrize("flag", ["--scores", "--truth", "--classes", "--exclude", "--groups", "--state"])
def test_a_file_that_is_not_there_is_one_line(capsys, calls, files, flag):
    error = refused(capsys, [*files, flag, "nowhere.npz"])
    assert error.startswith("rankbound: error: ")
    assert "'nowhere.npz'" in error
    assert not calls


@pytest.mark.parametrize("command", ["report", "demo"])
def test_the_output_folder_is_checked_before_the_work(capsys, calls, files, tmp_path, command):
    arguments = files if command == "report" else ["demo"]
    error = refused(capsys, [*arguments, "-o", str(tmp_path / "no" / "ranking.json")])
    assert "there is no folder" in error
    assert "it is a folder" in refused(capsys, [*arguments, "-o", str(tmp_path)])
    assert not calls


def test_a_read_only_output_folder_is_refused_before_the_work(capsys, calls, files, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "is read-only" in refused(capsys, [*files, "-o", str(tmp_path / "ranking.json")])
    assert not calls


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (EmptyInputError("no row\nhas a truth"), "rankbound: error: no row has a truth\n"),
        (OSError(28, "No space left on device"), "rankbound: error: [Errno 28] No space left on device\n"),
        (MemoryError("8 TiB"), "rankbound: error: not enough memory: 8 TiB\n"),
        (
            ZeroDivisionError("division\nby zero"),
            "rankbound: internal error: ZeroDivisionError: division by zero; set RANKBOUND_TRACEBACK=1 ",
        ),
    ],
)
def test_every_error_is_one_line_and_exit_code_2(capsys, files, monkeypatch, error, message):
    failing(monkeypatch, error)
    folder = Path(files[-1]).parent
    assert refused(capsys, [*files, "-o", str(folder / "ranking.json")]).startswith(message)
    assert sorted(path.name for path in folder.iterdir()) == ["s.npy", "y.npy"]


def test_the_traceback_is_there_for_who_asks(capsys, files, monkeypatch):
    monkeypatch.setenv("RANKBOUND_TRACEBACK", "1")
    failing(monkeypatch, ZeroDivisionError("division by zero"))
    assert main(files) == 2
    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert error.splitlines()[-1].startswith("rankbound: internal error")


def test_interruption_is_quiet(capsys, files, monkeypatch):
    failing(monkeypatch, KeyboardInterrupt())
    assert main(files) == 130
    assert capsys.readouterr() == ("", "")


def test_warnings_are_one_line_each(capsys, monkeypatch, files):
    def warn():
        warnings.warn("scores are copied:\ncolumns are not contiguous", stacklevel=1)
        return FixedReport(PAYLOAD)

    replace_report(monkeypatch, warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(files) == 0
    assert capsys.readouterr().err == "rankbound: warning: scores are copied: columns are not contiguous\n"
