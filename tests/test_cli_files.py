"""What the command line must never do to files."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from rankbound.cli import main


@pytest.fixture
def inputs(tmp_path):
    scores, truth = tmp_path / "scores.npy", tmp_path / "truth.npy"
    np.save(scores, np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]]))
    np.save(truth, np.array([0, 1, 2]))
    return [str(scores), str(truth)]


@pytest.mark.parametrize("victim", [0, 1])
def test_an_input_is_not_overwritten(inputs, victim, capsys):
    before = [Path(path).read_bytes() for path in inputs]
    assert main(["report", "--scores", inputs[0], "--truth", inputs[1], "-o", inputs[victim]]) == 2
    assert "give it another name" in capsys.readouterr().err
    assert [Path(path).read_bytes() for path in inputs] == before


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
def test_the_mode_of_an_existing_file_is_kept(inputs, tmp_path):
    output = tmp_path / "ranking.json"
    output.write_text("old")
    output.chmod(0o600)
    assert main(["report", "--scores", inputs[0], "--truth", inputs[1], "-o", str(output)]) == 0
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    assert output.read_text().startswith("{")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
def test_a_device_stays_a_device(inputs, tmp_path):
    link = tmp_path / "null.json"
    link.symlink_to(os.devnull)
    assert main(["report", "--scores", inputs[0], "--truth", inputs[1], "-o", str(link)]) == 0
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_numbered_columns_are_names(tmp_path, capsys):
    scores, truth = tmp_path / "scores.csv", tmp_path / "truth.csv"
    scores.write_text("10,20,30\n0.5,0.3,0.2\n0.1,0.6,0.3\n")
    truth.write_text("truth\n10\n20\n")
    assert main(["report", "--scores", str(scores), "--truth", str(truth)]) == 0
    assert "rows     2 in 2 units" in capsys.readouterr().out
