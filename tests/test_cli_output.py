"""What the command line prints and writes. The report itself is replaced by a fixed one."""

import json
import subprocess
import sys
import time

import pytest

from fixed_report import MACRO, MICRO, PAYLOAD, FixedReport, refused, replace_report, save_arguments
from rankbound import cli
from rankbound._files import atomic_write
from rankbound.cli import main
from rankbound.report.config import RankingConfig
from rankbound.report.render import WIDTH, align, to_html, to_markdown, to_text


@pytest.fixture
def calls(monkeypatch):
    return replace_report(monkeypatch)


@pytest.fixture
def files(tmp_path):
    return save_arguments(tmp_path)


# ---- output


def test_without_output_only_the_table_is_printed(capsys, calls, files, tmp_path):
    assert main(files) == 0
    out, err = capsys.readouterr()
    assert out == to_text(PAYLOAD) + "\n"
    assert err == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.npy", "y.npy"]
    assert len(calls) == 1


@pytest.mark.usefixtures("calls")
def test_the_file_is_written_beside_the_table(capsys, files, tmp_path):
    path = tmp_path / "ranking.json"
    path.write_text("an older report")
    assert main([*files, "-o", str(path)]) == 0
    assert capsys.readouterr().out == f"{to_text(PAYLOAD)}\n\nwritten: {path}\n"
    assert json.loads(path.read_text())["n_rows"] == 12_345


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("command", ["report", "demo"])
def test_a_dash_prints_json_and_nothing_else(capsys, files, command):
    assert main([*(files if command == "report" else ["demo"]), "-o", "-"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["n_rows"] == 12_345
    assert err == ""


def test_a_report_that_cannot_be_written_prints_nothing(capsys, monkeypatch, files, tmp_path):
    class Unwritable(FixedReport):
        def to_json(self, path):
            with atomic_write(path) as file:
                file.write(b"half")
                raise OSError(28, "No space left on device")

    replace_report(monkeypatch, lambda: Unwritable(PAYLOAD))
    path = tmp_path / "ranking.json"
    path.write_text("an older report")
    assert "No space left" in refused(capsys, [*files, "-o", str(path)])
    assert path.read_text() == "an older report"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["ranking.json", "s.npy", "y.npy"]


def test_the_demo_says_who_made_the_data_and_where_the_report_goes(capsys, calls):
    assert main(["demo", "-k", "5", "--seed", "2"]) == 0
    out = capsys.readouterr().out
    for part in ["Jack S. Breese", "CC BY 4.0", "EASE", "rankbound demo -o ranking.json"]:
        assert part in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= WIDTH
    (scores, truth), given = calls[0]
    assert len(scores) == len(truth) == len(given["groups"]) == given["exclude"].shape[0]
    assert given["config"] == RankingConfig(k=5, seed=2)
    assert given["y_train"] is not None


def test_the_table_says_what_was_measured():
    text = to_text(PAYLOAD)
    assert max(map(len, text.splitlines())) <= WIDTH
    lines = {" ".join(line.split()) for line in text.splitlines()}
    assert lines >= {
        "rows 12,345 in 678 units and 9,876 served lists; 9 with an unseen truth (miss), 0 without truth",
        "classes 294, cut at k = 10; 280 with a truth, in at least 2 rows, median 17.5",
        "ties 1.5% of rows tie at the cut; the truth's tie group has 3.50 classes on average",
        "primary ndcg@10 = 0.4375 (accuracy); the orders of ties allow 0.4062 to 0.4688",
        # 0.4375 * 12345 / 12336
        "unseen ndcg@10 = 0.4378 if these truths were dropped",
        "accuracy balanced coverage global_pop chance",
        "mrr@10 0.3750 0.3750 0.3750 0.3750 0.3750",
        "macro_recall@10 - - - - -",
        "accuracy against global_pop, 95% intervals from 1,000 resamples of 678 groups",
        "accuracy global_pop difference verdict",
        "ndcg@10 0.4375 [0.4000, 0.4750] 0.4375 -0.0625 [-0.1000, -0.0250] baseline ahead",
    }


def test_text_markdown_and_html_have_the_same_cells():
    for cell in [
        "9 with an unseen truth (miss)",
        "accuracy against global_pop, 95% intervals",
        "0.4375 [0.4000, 0.4750]",
        "-0.0625 [-0.1000, -0.0250]",
        "baseline ahead",
    ]:
        for page in (to_text(PAYLOAD), to_markdown(PAYLOAD), to_html(PAYLOAD)):
            assert cell in page


def test_the_table_reads_json_too():
    assert to_text(json.loads(json.dumps(PAYLOAD).replace("NaN", "null"))) == to_text(PAYLOAD)


def test_the_table_does_without_baselines_and_intervals():
    uncertainty = PAYLOAD["uncertainty"] | {"baselines": {}}
    alone = to_text(PAYLOAD | {"baselines": {}, "uncertainty": uncertainty, "warnings": []})
    assert "global_pop" not in alone
    assert alone.endswith("mrr@10   0.4375 [0.4000, 0.4750]")
    assert to_text(PAYLOAD | {"uncertainty": None, "warnings": []}).endswith(
        "No intervals: they were turned off, or there is nothing to resample."
    )


def test_values_have_columns_of_their_own():
    block = {"micro": MICRO, "macro": MACRO, "value": {"value@10": 1234567.891}}
    text = to_text(PAYLOAD | {"objectives": {"accuracy": block}})
    assert "1,234,568" in text
    assert align([["a", "b"], ["c", "dd"]]) == "a   b\n-----\nc  dd"


# ---- as a process


def test_module_and_exit_code_in_a_process(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "rankbound", "report", "--scores", str(tmp_path / "s.npy"), "--truth", "y.npy"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stdout == ""
    assert (
        run.stderr
        == f"rankbound: error: --scores {str(tmp_path / 's.npy')!r} cannot be read: No such file or directory\n"
    )


def test_a_closed_pipe_is_no_error_message():
    code = (
        "import sys, rankbound.cli as c, rankbound.cli.schema as s\n"
        "s.run = lambda _: print('x' * 10_000_000) or 0\n"
        "sys.exit(c.main(['schema']))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


def test_the_command_line_loads_no_table_library():
    code = (
        "import sys, rankbound.cli\n"
        "heavy = {'scipy', 'pandas', 'polars', 'pyarrow', 'narwhals', 'tqdm', 'sklearn'} & set(sys.modules)\n"
        "sys.exit(' '.join(sorted(heavy)) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


# ---- progress


class Terminal:
    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("delay", [0.01, 60.0])
def test_a_terminal_gets_a_bar_for_long_work_only(monkeypatch, delay):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(cli.progress, "DELAY_SECONDS", delay)
    with cli.progress.progress_bar() as show:
        for done in (1, 2, 3):
            time.sleep(0.15)
            show(done, 4)
    assert ("3/4" in terminal.text) == (delay < 1)
    assert ("\r" in terminal.text) == (delay < 1)


def test_no_bar_without_tqdm_or_terminal(monkeypatch):
    with cli.progress.progress_bar() as show:
        assert show is False
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with cli.progress.progress_bar() as show:
        assert show is False


def test_a_closed_output_does_not_hide_the_exit_code(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    assert main(["schema"]) == 0
