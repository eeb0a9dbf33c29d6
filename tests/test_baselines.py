"""What a model must beat."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from rankbound import (
    GlobalPopularityBaseline,
    SegmentPopularityBaseline,
    UniformRandomBaseline,
    build_ranking_report,
)
from rankbound.errors import (
    EmptyInputError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    RankboundError,
    ShapeError,
    UnknownLabelError,
)


def test_counts():
    by_index = GlobalPopularityBaseline.fit([2, 0, 2, -1, None, math.nan], n_classes=4)
    assert by_index.popularity.tolist() == [1, 0, 2, 0]
    assert by_index.n_unknown == 1
    by_label = GlobalPopularityBaseline.fit(pd.Series(["c", "a", "c", "z", None]), classes=["a", "b", "c", "d"])
    assert by_label.popularity.tolist() == [1, 0, 2, 0]
    assert by_label.n_unknown == 1
    assert by_label.scores(2).tolist() == [[1, 0, 2, 0], [1, 0, 2, 0]]
    assert not by_label.scores(2).flags.writeable


def test_given_popularity():
    baseline = GlobalPopularityBaseline.of(np.array([3, 0, 1], np.uint8), 3)
    assert baseline.popularity.tolist() == [3, 0, 1]
    assert baseline.popularity.dtype == np.float64
    assert baseline.n_unknown == 0


@pytest.mark.parametrize(
    ("popularity", "error", "words"),
    [
        ([1, 2], ShapeError, r"popularity has shape \(2,\), but there are 3 classes"),
        ([[1, 2, 3]], ShapeError, r"shape \(1, 3\)"),
        ([1, -2, 3], InvalidParameterError, "popularity has -2 for class 1.*at least 0"),
        ([1, 2, math.nan], InvalidParameterError, "popularity has nan for class 2"),
        ([math.inf, 2, 3], InvalidParameterError, "popularity has inf for class 0"),
        (["a", "b", "c"], InvalidTypeError, "popularity has dtype"),
        ([True, False, True], InvalidTypeError, "popularity has dtype bool"),
    ],
)
def test_refused_popularity(popularity, error, words):
    with pytest.raises(error, match=words):
        GlobalPopularityBaseline.of(popularity, 3)


@pytest.mark.parametrize(
    ("y_train", "options", "error", "words"),
    [
        ([], {"n_classes": 3}, EmptyInputError, "y_train has no label"),
        ([None, -1], {"n_classes": 3}, EmptyInputError, "y_train has no label of any class"),
        ([3], {"n_classes": 3}, UnknownLabelError, "y_train has 3 at row 0"),
        ([0, 0.5], {"n_classes": 3}, UnknownLabelError, "y_train has 0.5 at row 1"),
        (["a"], {"n_classes": 3}, InvalidTypeError, "y_train holds strings"),
        ([[0]], {"n_classes": 3}, ShapeError, "y_train has 2 dimension"),
        ([0], {}, InvalidParameterError, "y_train cannot be read without the classes"),
    ],
)
def test_refused_training_labels(y_train, options, error, words):
    with pytest.raises(error, match=words):
        GlobalPopularityBaseline.fit(y_train, **options)
    with pytest.raises(error, match=words):
        SegmentPopularityBaseline.fit(y_train, ["s"] * len(y_train), **options)


def test_segments():
    baseline = SegmentPopularityBaseline.fit(
        ["x", "y", "y", "z", "?", None], [3, 3, 1, 1, 1, 3], classes=["x", "y", "z"]
    )
    assert baseline.segments.tolist() == [1, 3]
    assert baseline.table.tolist() == [[0, 1, 1], [1, 1, 0], [1, 2, 1]]
    assert baseline.codes([3, 2, 1, 9, 0]).tolist() == [1, 2, 0, 2, 2]
    assert baseline.scores([3, 2]).tolist() == [[1, 1, 0], [1, 2, 1]]


@pytest.mark.parametrize(
    ("train_segments", "segments", "error", "words"),
    [
        (["a"], ["a"], ShapeError, "train_segments has 1 entries, but y_train has 2"),
        (["a", None], ["a"], InvalidTypeError, "train_segments has no label at position 1"),
        (["a", 1], ["a"], InvalidTypeError, "train_segments has 1 .int. at position 1"),
        (["a", "b"], [1], InvalidTypeError, "segments has dtype int64, but train_segments has <U1"),
        (["a", "b"], ["a", None], InvalidTypeError, "segments has no label at position 1"),
    ],
)
def test_refused_segments(train_segments, segments, error, words):
    with pytest.raises(error, match=words):
        SegmentPopularityBaseline.fit([0, 1], train_segments, n_classes=2).codes(segments)


@pytest.mark.parametrize(("n_classes", "k"), [(1, 1), (3, 2), (20, 10), (4, 9), (1000, 700)])
def test_uniform_random(n_classes, k):
    expected = UniformRandomBaseline(n_classes).expected(k)
    ranks = range(1, min(k, n_classes) + 1)
    assert expected == pytest.approx(
        {
            f"hit@{k}": len(ranks) / n_classes,
            f"mrr@{k}": float(sum(Fraction(1, rank) for rank in ranks) / n_classes),
            f"ndcg@{k}": math.fsum(1 / math.log2(1 + rank) for rank in ranks) / n_classes,
        },
        rel=1e-14,
    )
    report = build_ranking_report(np.eye(n_classes)[:1], [0], k=k, n_resamples=0, eval_all_objectives=False)
    assert expected.items() <= report["chance"]["micro"].items()


def test_uniform_random_by_default_at_10():
    assert list(UniformRandomBaseline(20).expected()) == ["hit@10", "mrr@10", "ndcg@10"]


@pytest.mark.parametrize("n_classes", [0, -1, 2.0, True, "3", 2**32, 2**33, 2**70])
def test_refused_numbers_of_classes(n_classes):
    with pytest.raises(RankboundError, match="n_classes must be"):
        UniformRandomBaseline(n_classes)
    with pytest.raises(RankboundError, match="n_classes must be"):
        GlobalPopularityBaseline.fit([0, 1], n_classes=n_classes)
    with pytest.raises(RankboundError, match="n_classes must be"):
        SegmentPopularityBaseline.fit([0, 1], ["s", "s"], n_classes=n_classes)


def test_numbers_of_classes_up_to_32_bits():
    assert UniformRandomBaseline(2**32 - 1).expected(1)["hit@1"] == 1 / (2**32 - 1)
    assert type(UniformRandomBaseline(np.int64(3)).n_classes) is int
    assert GlobalPopularityBaseline.fit([0, 1], n_classes=np.int8(2)).popularity.tolist() == [1, 1]


@pytest.mark.parametrize("k", [0, 2.0, False])
def test_refused_cut_offs(k):
    with pytest.raises(InvalidKError, match="k must be"):
        UniformRandomBaseline(3).expected(k)
