"""The gate: every kind of rule, decided, undecided and impossible to judge, and what it writes."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from rankbound import EvaluationResult, build_ranking_report, errors
from rankbound.cli import main
from rankbound.gate import GatePolicy, run_gate
from rankbound.testing import assert_gate

N_LISTS = 400


def result(values, *, metric="ndcg@10", value=None, protocol=None, ids=None, fingerprint="same"):
    values = np.asarray(values, dtype=float)
    mean = float(values.mean()) if len(values) else float("nan")
    return EvaluationResult(
        metrics={metric: mean if value is None else value},
        n_rows=len(values),
        n_scored_rows=len(values),
        n_units=len(values),
        required_k=10,
        per_user={metric: values},
        sample_ids=np.arange(len(values)) if ids is None else np.asarray(ids),
        target_fingerprint=fingerprint,
        protocol=protocol or {"candidates": {"kind": "full"}},
    )


def without_values(of):
    return EvaluationResult(
        metrics=of.metrics,
        n_rows=of.n_rows,
        n_scored_rows=of.n_scored_rows,
        n_units=of.n_units,
        required_k=of.required_k,
        target_fingerprint=of.target_fingerprint,
        protocol=of.protocol,
    )


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(3).normal(0, 0.05, N_LISTS)


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(4)
    truths = rng.integers(0, 8, N_LISTS)
    scores = rng.random((N_LISTS, 8))
    scores[np.arange(N_LISTS), truths] += 0.5
    return build_ranking_report(scores, truths, y_train=rng.integers(0, 8, 99), k=3, eval_all_objectives=False)


def only(policy, candidate, against=None):
    gate = run_gate(candidate, policy=policy, against=against)
    (outcome,) = gate.outcomes
    return outcome, gate.exit_code


def floor(at_least, **options):
    return {"floor": [{"metric": "ndcg@10", "at_least": at_least, **options}]}


def drop(**tolerance):
    return {"regression": [{"metric": "ndcg@10", **tolerance}]}


@pytest.mark.parametrize(("at_least", "code"), [(0.4, 0), (0.6, 1), (0.5, 1)])
def test_a_floor_is_judged_on_the_interval_and_undecided_fails(noise, at_least, code):
    outcome, exit_code = only(floor(at_least), result(0.5 + noise - noise.mean()))
    assert exit_code == code
    assert ("undecided" in outcome.reason) == (at_least == 0.5)
    assert "interval [" in outcome.reason


def test_on_undecided_can_let_a_floor_pass(noise):
    values = 0.5 + noise - noise.mean()
    assert only(floor(0.5, on_undecided="pass"), result(values))[1] == 0
    assert only(floor(0.5) | {"on_undecided": {"floor": "pass"}}, result(values))[1] == 0


def test_without_values_per_unit_the_point_value_decides_and_says_so(noise):
    outcome, code = only(floor(0.5), without_values(result(0.5 + noise - noise.mean() + 1e-9)))
    assert code == 0
    assert "point value: no interval" in outcome.reason


@pytest.mark.parametrize(
    ("change", "code", "undecided"), [(0.02, 0, False), (-0.05, 1, False), (-0.01, 0, True), (-0.001, 0, False)]
)
def test_a_regression_is_judged_on_the_paired_interval(noise, change, code, undecided):
    before = 0.5 + 10 * noise
    jitter = np.where(np.arange(N_LISTS) % 2, 0.02, -0.02)
    outcome, exit_code = only(drop(max_drop=0.01), result(before + change + jitter), result(before))
    assert exit_code == code
    assert ("undecided" in outcome.reason) == undecided
    assert "paired interval" in outcome.reason


def test_an_undecided_regression_can_fail():
    jitter = np.where(np.arange(N_LISTS) % 2, 0.02, -0.02)
    policy = {"regression": [{"metric": "ndcg@10", "max_drop": 0.01, "on_undecided": "fail"}]}
    assert only(policy, result(0.49 + jitter), result(np.full(N_LISTS, 0.5)))[1] == 1


def test_few_of_equal_pairs_are_decided():
    rules = GatePolicy.from_dict(drop(max_drop=0.0, on_undecided="fail") | {"n_resamples": 200})
    statuses = {"better": 0, "worse": 0}
    for before, after in np.random.default_rng(9).beta(2, 2, (2000, 2, 60)):
        outcome, _ = only(rules, result(after), result(before))
        if "undecided" not in outcome.reason:
            statuses["better" if outcome.status == "pass" else "worse"] += 1
    # 2.5% of 2000 are 50 on each side. Percentiles of 60 units are a little narrow: 3% are 60, and more than 82 have a
    # chance of 0.2%.
    assert all(20 <= n_decided <= 82 for n_decided in statuses.values()), statuses


def test_a_relative_drop_is_a_share_of_the_incumbent():
    before, after = result(np.full(9, 0.5)), result(np.full(9, 0.46))
    assert only(drop(max_relative_drop=0.1), after, before)[1] == 0
    assert only(drop(max_relative_drop=0.05), after, before)[1] == 1


@pytest.mark.parametrize(
    ("policy", "candidate", "against", "words"),
    [
        (floor(0.1) | {"floor": [{"metric": "no@3", "at_least": 0}]}, result([1.0, 0]), None, "no metric 'no@3'"),
        (floor(0.1), result([]), None, "nothing to judge"),
        (drop(max_drop=0.1), result([1.0, 0]), None, "no incumbent"),
        (drop(max_drop=0.1), result([1.0, 0]), result([1.0, 0], ids=[7, 8]), "sample ids differ"),
        (
            drop(max_drop=0.1),
            result([1.0, 0]),
            result([1.0, 0], protocol={"candidates": {"kind": "sampled"}}),
            "candidates.kind",
        ),
        (
            drop(max_drop=0.1),
            without_values(result([1.0, 0])),
            without_values(result([1.0, 0], fingerprint="other")),
            r"different targets (fingerprints other and same)",
        ),
        (floor(0.4), result([0.5, 0.75], value=0.9), None, "has 0.9, but the mean of its values per list"),
        (floor(0.4), result([0.5, float("nan")], value=0.9), None, "has 0.9, but the mean of its values per list"),
        ({"max_unseen_share": 0.1}, result([1.0]), None, "does not count"),
        ({"verdict": [{"metric": "ndcg@10"}]}, result([1.0]), None, "no verdict"),
    ],
)
def test_what_cannot_be_judged_never_passes(policy, candidate, against, words):
    outcome, code = only(policy, candidate, against)
    assert (code, outcome.status) == (2, "cannot_judge")
    assert words in outcome.reason


def test_a_failure_outweighs_what_cannot_be_judged():
    gate = run_gate(result([0.1, 0.2]), policy=floor(0.9) | {"verdict": [{"metric": "x"}]})
    assert [outcome.status for outcome in gate.outcomes] == ["fail", "cannot_judge"]
    assert gate.exit_code == 1


def test_every_rule_of_a_report(report):
    policy = GatePolicy.from_toml("""
        min_units = 400
        max_unseen_share = 0.0
        [[floor]]
        metric = "hit@3"
        at_least = 0.5
        [[verdict]]
        metric = "ndcg@3"
        [[limit]]
        metric = "catalog_coverage"
        at_least = 0.9
        [[limit]]
        metric = "recommendation_gini"
        at_most = 0.5
    """)
    gate = run_gate(report, policy=policy)
    assert gate.passed, gate.to_text()
    assert len(gate.outcomes) == policy.n_rules == 6
    assert assert_gate(report, policy).passed
    for change in ("min_units = 401", '[[verdict]]\nmetric = "ndcg@3"\nrequired = "undecided"'):
        assert run_gate(report, policy=GatePolicy.from_toml(change)).exit_code == 1
    with pytest.raises(AssertionError, match=r"FAIL +at least 401 units"):
        assert_gate(report, {"min_units": 401})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rules"),
        ("[[floor]]\nmetric = 'a'", "at_least"),
        ("[[floor]]\nmetric = 'a'\nat_least = 'x'", "Expected `float`"),
        ("[[flor]]\nmetric = 'a'", "flor"),
        ("[[regression]]\nmetric = 'a'", "exactly one"),
        ("[[regression]]\nmetric = 'a'\nmax_drop = -1", ">= 0"),
        ("[[limit]]\nmetric = 'a'", "at_least or at_most"),
        ("[[limit]]\nmetric = 'a'\nat_least = 0.9\nat_most = 0.1", "at_least=0.9 exceeds at_most=0.1"),
        ("min_units = 0", ">= 1.*: got 0"),
        ("[[floor]]\nmetric = 'a'\nat_least = nan", "at_least must be a finite number, got nan"),
        ("[[floor]]\nmetric = 'a'\nat_least = true", r"`\$\.floor\[0\]\.at_least`: got True"),
        ("[floor]\nmetric = 'a'\nat_least = 1", "Expected `array`"),
        ("confidence_level = 95\nmin_units = 3", r"`\$\.confidence_level`: got 95"),
        ("on_undecided = {floor = 'maybe'}\nmin_units = 3", "'maybe'"),
    ],
)
def test_a_policy_that_is_not_valid_is_refused(text, words):
    with pytest.raises(errors.InvalidParameterError, match=words):
        GatePolicy.from_toml(text)


def test_a_policy_put_together_in_python_is_checked_too():
    for policy in (GatePolicy(), GatePolicy(floor=({"metric": "ndcg@10"},)), GatePolicy(min_units="many")):
        with pytest.raises(errors.InvalidParameterError, match="policy"):
            run_gate(result([1.0]), policy=policy)
    with pytest.raises(errors.InvalidTypeError, match="policy must be a GatePolicy, a mapping or a path, got list"):
        run_gate(result([1.0]), policy=[])


def test_a_policy_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(errors.FileFormatError, match=r"nowhere\.toml"):
        run_gate(result([1.0]), policy=tmp_path / "nowhere.toml")
    (tmp_path / "bad.toml").write_text("[[")
    with pytest.raises(errors.FileFormatError, match=r"bad\.toml.*no TOML"):
        run_gate(result([1.0]), policy=tmp_path / "bad.toml")


@pytest.fixture
def files(tmp_path, report):
    report.to_json(tmp_path / "new.json")
    report.per_unit.save(tmp_path / "new.units.npz")
    report.to_json(tmp_path / "old.json")
    report.per_unit.save(tmp_path / "old.units.npz")
    (tmp_path / "gate.toml").write_text("[[regression]]\nmetric = 'ndcg@3'\nmax_drop = 0.01\n")
    return tmp_path


def run(files: Path, *options: str) -> int:
    arguments = [str(files / "new.json"), "--against", str(files / "old.json"), "--policy", str(files / "gate.toml")]
    return main(["gate", *arguments, *options])


def test_the_command_finds_the_values_per_unit_beside_the_reports(files, capsys):
    assert run(files) == 0
    assert "paired interval" in capsys.readouterr().out
    (files / "old.units.npz").unlink()
    assert run(files) == 0
    assert "point value: no values per unit on both sides" in capsys.readouterr().out


def test_values_per_unit_of_another_report_are_refused(files, capsys):
    result([0.5, 0.7], metric="ndcg@3").save(files / "new.units.npz")
    assert run(files) == 2
    assert "not those of the report" in capsys.readouterr().err


def test_junit_and_markdown(files, capsys, monkeypatch):
    (files / "gate.toml").write_text(
        "min_units = 9999\n[[floor]]\nmetric = 'a|b<c'\nat_least = 1\n[[limit]]\nmetric = 'hit@3'\nat_least = 0\n"
    )
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(files / "summary.md"))
    assert run(files, "--junit", str(files / "out.xml")) == 1
    suite = ET.parse(files / "out.xml").getroot()[0]  # noqa: S314 - our own file
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    assert [case.find("failure") is not None for case in suite] == [True, False, False]
    summary = (files / "summary.md").read_text()
    assert summary.count("\n|") == 5
    assert r"a\|b&lt;c" in summary
    assert run(files, "--markdown", str(files / "own.md")) == 1
    assert (files / "own.md").read_text() == summary
    assert (files / "summary.md").read_text() == summary
    assert capsys.readouterr().out.count("gate failed: 1 of 3 rules hold, 1 fail, 1 cannot be judged") == 2


def test_nothing_that_is_read_is_overwritten(files, capsys):
    before = {path: path.read_bytes() for path in files.iterdir()}
    for option in ("--junit", "--markdown"):
        for name in ("new.json", "old.json", "gate.toml"):
            assert run(files, option, str(files / name)) == 2
            assert f"{option} '{files / name}' is the file that is read as" in capsys.readouterr().err
    assert run(files, "--junit", str(files / "out"), "--markdown", f"{files}/../{files.name}/out") == 2
    assert "is the file of --junit" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_a_summary_that_cannot_be_written_is_told_before_the_work(files, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(files / "nowhere" / "summary.md"))
    assert run(files, "--junit", str(files / "out.xml")) == 2
    assert "GITHUB_STEP_SUMMARY: cannot write" in capsys.readouterr().err
    assert not (files / "out.xml").exists()
    (files / "summary.md").touch()
    with monkeypatch.context() as patch:
        patch.setenv("GITHUB_STEP_SUMMARY", str(files / "summary.md"))
        patch.setattr("os.access", lambda path, _: not str(path).endswith("summary.md"))
        assert run(files) == 2
        printed = capsys.readouterr()
        assert "summary.md' is read-only" in printed.err
        assert "gate passed" not in printed.out
    # It is not asked for.
    assert run(files, "--markdown", str(files / "own.md")) == 0
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "")
    assert run(files) == 0


def test_a_terminal_without_a_character_shows_its_escape(files):
    (files / "gate.toml").write_text("[[limit]]\nmetric = 'précision'\nat_least = 0\n", encoding="utf-8")
    command = [sys.executable, "-m", "rankbound", "gate", files / "new.json", "--policy", files / "gate.toml"]
    ran = subprocess.run(command, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"")
    assert ran.stdout.startswith(rb"CANNOT_JUDGE pr\xe9cision at least 0")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"hit@3": 0.', '"hit@3": 0.9'),
        ('"catalog_coverage": ', '"catalog_coverage": 0.9, "odd": '),
        ('"ci_low": 0.', '"ci_low": 0.9'),
        ('"verdict": "model_ahead"', '"verdict": "undecided"'),
        ('"n_rows": 400', '"n_rows": 4000'),
        ("}", ""),
        ('"hit@3": ', '"hit@3": NaN, "x": '),
    ],
)
def test_an_edited_report_cannot_be_judged(files, capsys, old, new):
    text = (files / "new.json").read_text()
    assert old in text
    (files / "new.json").write_text(text.replace(old, new, 1))
    assert run(files) == 2
    assert capsys.readouterr().err.startswith("rankbound: error: ")


@pytest.mark.parametrize("name", ["new.json", "old.json", "new.units.npz", "gate.toml"])
@pytest.mark.parametrize("share", [0, 0.5])
def test_a_truncated_file_cannot_be_judged(files, capsys, name, share):
    whole = (files / name).read_bytes()
    (files / name).write_bytes(whole[: int(len(whole) * share)])
    assert run(files) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("unseen", ["miss", "drop"])
def test_the_share_of_unseen_truths_is_of_all_lists_with_a_truth(unseen):
    truths = [0, 1, 2, 7, 7]
    candidate = build_ranking_report(np.eye(5)[:, :3], truths, classes=[0, 1, 2], k=1, unseen=unseen)
    for most, code in [(0.4, 0), (0.39, 1)]:
        outcome, exit_code = only({"max_unseen_share": most}, candidate)
        assert (exit_code, outcome.reason) == (code, "0.4 (2 of 5)")


def test_values_per_unit_are_for_reports(files, capsys):
    saved = str(files / "new.units.npz")
    with pytest.raises(
        errors.InvalidTypeError, match="candidate_units is for a report, but candidate is an evaluation"
    ):
        run_gate(saved, policy={"min_units": 1}, candidate_units=saved)
    with pytest.raises(
        errors.InvalidParameterError, match="against_units is given, but no incumbent: pass against= too"
    ):
        run_gate(files / "new.json", policy={"min_units": 1}, against_units=saved)
    assert main(["gate", saved, "--policy", str(files / "gate.toml"), "--against-units", saved]) == 2
    assert "--against-units is given, but no incumbent: pass --against too" in capsys.readouterr().err
    without_values(result([1.0])).save(files / "old.units.npz")
    with pytest.raises(errors.FileFormatError, match=r"old\.units\.npz' holds no values per unit"):
        run_gate(files / "old.json", policy={"min_units": 1})


def test_catalogue_metrics_are_held_against_their_own_conventions():
    truths = np.arange(N_LISTS) % 8
    scores = np.random.default_rng(5).random((N_LISTS, 8))
    reports = [
        build_ranking_report(scores, truths, y_train=[*range(8), 0], k=3, tail_mass=mass, eval_all_objectives=False)
        for mass in (0.2, 0.5)
    ]
    outcome, code = only({"regression": [{"metric": "recommendation_gini", "max_drop": 0.1}]}, *reports)
    assert code == 2
    assert "catalogue.tail.mass is 0.5 and 0.2" in outcome.reason
    assert only({"regression": [{"metric": "ndcg@3", "max_drop": 0.1}]}, *reports)[1] == 0
    same, code = only({"regression": [{"metric": "recommendation_gini", "max_drop": 0.1}]}, reports[0], reports[0])
    assert code == 0
    assert "point value" in same.reason


def test_bad_usage_is_exit_code_2(files, capsys):
    (files / "new.json").write_text(json.dumps({"schema_version": 3}))
    assert run(files) == 2
    assert "not a ranking report" in capsys.readouterr().err
    assert main(["gate", str(files / "none.json"), "--policy", str(files / "gate.toml")]) == 2
