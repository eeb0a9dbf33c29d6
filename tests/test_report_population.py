"""What a report says of the lists behind it."""

import numpy as np
import pytest

from rankbound import build_ranking_report


def test_unseen_truths_dropped_or_missed_convert_into_each_other():
    rng = np.random.default_rng(8)
    scores, truths = rng.random((40, 6)), rng.integers(-1, 6, 40)
    reports = {unseen: build_ranking_report(scores, truths, k=2, unseen=unseen) for unseen in ("miss", "drop")}
    values = {unseen: f"{report['primary_score']['value']:.4f}" for unseen, report in reports.items()}
    assert f"unseen: ndcg@2 = {values['drop']} if these truths were dropped" in reports["miss"].to_markdown()
    assert f"unseen: ndcg@2 = {values['miss']} if these truths were misses" in reports["drop"].to_markdown()
    assert "unseen:" not in build_ranking_report(scores, np.abs(truths), k=2).to_markdown()


@pytest.mark.parametrize(("unseen", "n_classes", "least", "median"), [("miss", 4, 1, 1.5), ("drop", 3, 1, 2.0)])
def test_supports_of_the_macro_average(unseen, n_classes, least, median):
    labels = ["a", "b", "b", "c", "c", "c", "new"]
    report = build_ranking_report(np.eye(3)[[0, 1, 1, 2, 2, 2, 0]], labels, classes=["a", "b", "c"], unseen=unseen)
    population = report["protocol"]["population"]
    assert [population[key] for key in ("n_classes_macro", "min_support", "median_support")] == [
        n_classes,
        least,
        median,
    ]
    assert f"; {n_classes} with a truth, in at least {least} rows, median {median:g}" in report.to_markdown()
