"""Results cannot be changed after they were measured, at any depth; they are copied and written all the same."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from rankbound import EvaluationResult, RankingReport, build_ranking_report, evaluate_scores
from rankbound.errors import InvalidTypeError

SCORES = np.random.default_rng(0).random((6, 4))
TRUTH = [0, 1, 2, 3, 1, 1]
REPORT = build_ranking_report(SCORES, TRUTH, y_train=TRUTH, n_resamples=10)
RESULT = evaluate_scores(
    SCORES, np.eye(4)[TRUTH], metrics="mrr", slices={"half": [True, False] * 3}, metadata={"of": [1, {"a": 2}]}
)
DEBUGGED = replace(RESULT, metadata={"of": ({"a": 1},)}, debug_rows=({"user_row": 0},))


@pytest.mark.parametrize(
    "change",
    [
        lambda: REPORT["objectives"]["accuracy"]["micro"].update({"ndcg@10": 1.0}),
        lambda: REPORT["ties"].__setitem__("mean_tie_width", 1.0),
        lambda: REPORT["warnings"].append("none"),
        REPORT["protocol"]["metrics"].clear,
        lambda: RESULT.metrics.__setitem__("mrr", 1.0),
        lambda: RESULT.per_user.pop("mrr"),
        lambda: RESULT.ties["mrr"].__setitem__("sd", 0.0),
        lambda: RESULT.slices["half"].__delitem__("mrr"),
        lambda: RESULT.protocol["population"].setdefault("n_rows", 7),
        lambda: RESULT.metadata["of"][1].__ior__({"a": 3}),
        RESULT.metadata["of"].sort,
        lambda: DEBUGGED.metadata["of"][0].update(a=2),
        lambda: DEBUGGED.debug_rows[0].update(user_row=1),
    ],
)
def test_nothing_in_a_result_can_be_changed(change):
    before = REPORT.to_json(), repr(RESULT.to_dict()), repr(RESULT.ties), repr(RESULT.slices), repr(RESULT.metadata)
    with pytest.raises(InvalidTypeError, match="what a result holds is read-only: change a copy"):
        change()
    after = REPORT.to_json(), repr(RESULT.to_dict()), repr(RESULT.ties), repr(RESULT.slices), repr(RESULT.metadata)
    assert after == before


def pickled(result):
    return pickle.loads(pickle.dumps(result))  # noqa: S301 - of our own


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("result", [REPORT, RESULT])
def test_copies_are_read_only_too(copied, result):
    other = copied(result)
    assert other == result
    with pytest.raises(InvalidTypeError, match="read-only"):
        (other["ties"] if result is REPORT else other.ties)["mrr"] = {}


def test_what_is_held_is_plain_to_others(tmp_path):
    assert json.loads(json.dumps(RESULT.metadata)) == {"of": [1, {"a": 2}]}
    changed = dict(REPORT["protocol"])
    changed["version"] = "mine"
    assert REPORT["protocol"] != changed
    assert RankingReport(REPORT) == REPORT
    RESULT.save(tmp_path / "result.npz")
    assert EvaluationResult.load(tmp_path / "result.npz") == RESULT


def test_a_result_does_not_change_with_what_it_was_made_of():
    metadata = {"of": [1]}
    result = evaluate_scores(SCORES, np.eye(4)[TRUTH], metrics="mrr", metadata=metadata)
    metadata["of"].append(2)
    assert result.metadata == {"of": [1]}
