"""Data frames are read by position: labels that differ are refused, not overlooked."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankbound import evaluate_scores
from rankbound.errors import ReliabilityWarning, ShapeError

SCORES = np.array([[0.9, 0.5, 0.1], [0.2, 0.4, 0.3]])
TARGETS = np.array([[0, 1, 0], [0, 0, 1]])
LABELS = {"columns": ["a", "b", np.nan], "index": ["u", "v"]}


def evaluate(scores, targets, **options):
    return evaluate_scores(scores, targets, metrics="mrr", **options)["mrr"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS | {"columns": ["a", np.nan, "b"]}, "scores has 'b' at position 1 of its columns, but targets has nan"),
        (LABELS | {"index": ["v", "u"]}, "scores has 'u' at position 0 of its index, but targets has 'v'"),
        (LABELS | {"index": [1, 2]}, "scores has 'u' at position 0 of its index, but targets has 1: data frames are"),
    ],
)
def test_labels_that_differ_are_refused(labels, message):
    with pytest.raises(ShapeError, match=message):
        evaluate(pd.DataFrame(SCORES, **LABELS), pd.DataFrame(TARGETS, **labels))


@pytest.mark.parametrize("option", ["exclude", "mask"])
def test_of_exclusions_too(option):
    marks = pd.DataFrame(np.zeros((2, 3), bool), index=LABELS["index"], columns=list("abd"))
    with pytest.raises(ShapeError, match=f"at position 2 of its columns, but {option} has 'd'"):
        evaluate(pd.DataFrame(SCORES, **LABELS), TARGETS, **{option: marks})


def test_columns_of_polars():
    with pytest.raises(ShapeError, match="scores has 'b' at position 1 of its columns, but targets has 'c'"):
        evaluate(pl.DataFrame(SCORES, schema=list("abc")), pl.DataFrame(TARGETS, schema=list("acb")))
    with pytest.raises(ShapeError, match="scores has 'a' at position 0 of its columns, but targets has 'x'"):
        evaluate(pd.DataFrame(SCORES, columns=list("abc")), pl.DataFrame(TARGETS, schema=list("xbc")))


def test_the_same_labels_and_none_are_taken():
    expected = evaluate(SCORES, TARGETS)
    frames = pd.DataFrame(SCORES, **LABELS), pd.DataFrame(TARGETS, **LABELS)
    numbered = pd.DataFrame(SCORES, columns=[1, 2, np.nan]), pd.DataFrame(TARGETS, columns=[1, 2, np.nan])
    for scores, targets in [
        frames,
        numbered,
        (frames[0], TARGETS),
        (SCORES.tolist(), frames[1]),
        (SCORES, TARGETS.tolist()),
        # Numbered for want of labels.
        (frames[0], pd.DataFrame(TARGETS)),
        (pl.DataFrame(SCORES), frames[1]),
    ]:
        assert evaluate(scores, targets) == expected


def test_other_shapes_are_refused_as_such():
    with pytest.raises(ShapeError, match=r"targets has shape \(2, 2\), but scores has \(2, 3\)"):
        evaluate(pd.DataFrame(SCORES), pd.DataFrame(TARGETS[:, :2]))


def test_nothing_relevant_is_warned_of():
    with pytest.warns(ReliabilityWarning, match="no list of 2 has a relevant item: .* every mean is NaN"):
        assert np.isnan(evaluate(SCORES, np.zeros((2, 3))))
