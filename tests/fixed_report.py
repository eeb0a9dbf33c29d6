"""A report that needs no data, to put in the place of `rankbound.build_ranking_report`."""

import json

import numpy as np

import rankbound
from rankbound import __version__
from rankbound._files import atomic_write
from rankbound.cli import main

NAN = float("nan")
MICRO = {"hit@1": 0.25, "hit@5": 0.5, "hit@10": 0.75, "mrr@10": 0.375, "ndcg@10": 0.4375}
MACRO = {
    "macro_recall@10": NAN,
    "tail_hit@10": 0.125,
    "catalog_coverage": 1.0,
    "recommendation_entropy": 4.5,
    "recommendation_gini": 0.875,
}
INTERVAL = {"estimate": 0.4375, "ci_low": 0.4, "ci_high": 0.475}
DIFFERENCE = {"estimate": -0.0625, "ci_low": -0.1, "ci_high": -0.025, "verdict": "baseline_ahead", "n_nonzero": 7}
PAYLOAD = {
    "schema_version": 3,
    "rankbound_version": __version__,
    "k": 10,
    "primary_metric": "ndcg",
    "primary_objective": "accuracy",
    "n_rows": 12_345,
    "n_classes": 294,
    "n_units": 678,
    "n_unseen_truth": 9,
    "n_no_truth": 0,
    "objectives": {name: {"micro": MICRO, "macro": MACRO} for name in ("accuracy", "balanced", "coverage")},
    "objective_alpha": {"accuracy": 0.0, "balanced": 0.5, "coverage": 1.0},
    "ties": {"share_of_rows_tied_at_cut": 0.015, "mean_tie_width": 3.5}
    | {name: {"min": 0.40625, "max": 0.46875, "sd": 0.01} for name in MICRO},
    "baselines": {"global_pop": {"micro": MICRO, "macro": MACRO}},
    "chance": {"micro": MICRO, "macro": MACRO},
    "uncertainty": {
        "unit": "group",
        "n_units": 678,
        "n_resamples": 1000,
        "confidence_level": 0.95,
        "seed": 0,
        "method": "percentile",
        "model": {"ndcg@10": INTERVAL, "mrr@10": INTERVAL},
        "baselines": {"global_pop": {"metrics": {"ndcg@10": INTERVAL}, "difference": {"ndcg@10": DIFFERENCE}}},
    },
    "primary_score": {"metric": "ndcg@10", "value": 0.4375},
    "warnings": ["the class 'caf\u00e9' is rare. " + "A long sentence about it follows here. " * 4],
    "protocol": {
        "truth": {"unseen": "miss"},
        "ties": {"list_id_given": True},
        "population": {"n_eval_groups": 9_876, "n_classes_macro": 280, "min_support": 2, "median_support": 17.5},
    },
}


class FixedReport(dict):
    def to_json(self, path=None):
        text = json.dumps(self) + "\n"
        if path is not None:
            with atomic_write(path) as file:
                file.write(text.encode())
        return text


def replace_report(monkeypatch, build=None):
    """Let the command line get the fixed report, or what `build` returns; return the arguments of each call."""
    calls = []

    def build_ranking_report(*args, **kwargs):
        calls.append((args, kwargs))
        return build() if build else FixedReport(PAYLOAD)

    monkeypatch.setattr(rankbound, "build_ranking_report", build_ranking_report, raising=False)
    return calls


def save_arguments(folder):
    """Write a case of two rows and return the command that reads it."""
    np.save(folder / "s.npy", np.arange(6.0).reshape(2, 3))
    np.save(folder / "y.npy", np.array([0, 2]))
    return ["report", "--scores", str(folder / "s.npy"), "--truth", str(folder / "y.npy")]


def refused(capsys, arguments):
    """Run what must be refused; return its one line."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
    return err
