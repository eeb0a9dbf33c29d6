"""What a report refuses; the message names the argument, the place and the value."""

import math

import numpy as np
import pytest
from scipy import sparse

from rankbound import build_ranking_report, fit_comparability, ranking_uncertainty
from rankbound.comparability import ComparabilityState
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    FileFormatError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    RankboundError,
    ScoreRangeError,
    ShapeError,
    StateError,
    UnknownLabelError,
)

SCORES = np.array([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.0, 0.0, 1.0]])
TRUTHS = [0, 1, 2]
STATE = fit_comparability([0, 0, 1, 2], n_classes=3)
NAMED = fit_comparability(["a", "b", "c"], classes=["a", "b", "c"])
MASK = np.zeros((3, 3), dtype=bool)


def spoiled(value, row=1, column=2, dtype=float):
    scores = SCORES.astype(dtype)
    scores[row, column] = value
    return scores


def never(*_):
    pytest.fail("the scores were read before the arguments were checked")


@pytest.mark.parametrize("objectives", [["accuracy"], None])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite(value, dtype, objectives):
    with pytest.raises(NonFiniteScoreError, match=r"proba has -?(inf|NaN|nan) at row 1, column 2") as refused:
        build_ranking_report(spoiled(value, dtype=dtype), TRUTHS, objectives=objectives)
    assert str(value).lower() in str(refused.value).lower()
    if value == -math.inf:
        build_ranking_report(spoiled(value, dtype=dtype), TRUTHS, objectives=objectives, mask_neg_inf=True)
    else:
        with pytest.raises(NonFiniteScoreError, match="row 1, column 2"):
            build_ranking_report(spoiled(value, dtype=dtype), TRUTHS, objectives=objectives, mask_neg_inf=True)


def test_the_first_bad_row_is_named_whatever_the_threads():
    scores = np.zeros((20_000, 30), np.float32)
    scores[[19_000, 12_345, 15_000], [3, 4, 5]] = math.nan
    for num_threads in (1, 2, 7):
        with pytest.raises(NonFiniteScoreError, match="row 12345, column 4"):
            build_ranking_report(scores, [0] * 20_000, num_threads=num_threads)


def test_scores_of_rows_without_truth_are_not_read():
    report = build_ranking_report(spoiled(math.nan), [0, None, 2], n_resamples=0)
    assert report["n_rows"] == 2


@pytest.mark.parametrize(
    ("proba", "error", "words"),
    [
        (SCORES > 0, InvalidTypeError, "proba has dtype bool.*booleans are decisions"),
        (SCORES.astype(complex), InvalidTypeError, "proba has dtype complex128"),
        (SCORES.astype(str), InvalidTypeError, "proba has dtype <U"),
        (SCORES.astype(object), InvalidTypeError, "proba has dtype object"),
        (SCORES.astype("M8[s]"), InvalidTypeError, "proba has dtype datetime64"),
        (np.ma.masked_array(SCORES, MASK), InvalidTypeError, "proba is a masked array"),
        (sparse.csr_array(SCORES), InvalidTypeError, r"proba is a sparse matrix: pass proba.toarray\(\)"),
        (None, InvalidTypeError, "proba cannot be read as a numpy array"),
        ("scores", InvalidTypeError, "proba cannot be read as a numpy array"),
        ([[0.5, 0.5], [1.0]], InvalidTypeError, "proba cannot be read as a numpy array"),
        (SCORES[0], ShapeError, r"proba has 1 dimension\(s\), shape \(3,\)"),
        (SCORES[np.newaxis], ShapeError, r"proba has 3 dimension\(s\), shape \(1, 3, 3\)"),
        (np.float64(1), ShapeError, r"proba has 0 dimension\(s\)"),
        (np.empty((0, 3)), EmptyInputError, r"proba has shape \(0, 3\)"),
        (np.empty((3, 0)), EmptyInputError, r"proba has shape \(3, 0\)"),
        ([], ShapeError, r"proba has 1 dimension\(s\), shape \(0,\)"),
    ],
)
def test_scores_that_are_no_matrix(proba, error, words):
    with pytest.raises(error, match=words):
        build_ranking_report(proba, TRUTHS)


@pytest.mark.parametrize(
    ("truths", "options", "error", "words"),
    [
        ([0, 1], {}, ShapeError, "y_true has 2 entries, but proba has 3 rows"),
        ([0, 1, 2, 0], {}, ShapeError, "y_true has 4 entries, but proba has 3 rows"),
        ([[0], [1], [2]], {}, ShapeError, r"y_true has 2 dimension\(s\)"),
        ([0, 3, 2], {}, UnknownLabelError, "y_true has 3 at row 1: column indices go from 0 to 2"),
        ([0, 1, -2], {}, UnknownLabelError, "y_true has -2 at row 2"),
        ([0, 1, 1.5], {}, UnknownLabelError, "y_true has 1.5 at row 2"),
        ([True, False, True], {}, InvalidTypeError, "y_true holds booleans"),
        (["a", "b", "c"], {}, InvalidTypeError, "y_true holds strings.*pass classes="),
        (["a", 1, "c"], {"classes": ["a", "b", "c"]}, InvalidTypeError, "y_true has 1 .int. at position 1"),
        ([0, 1, 2], {"classes": ["a", "b", "c"]}, InvalidTypeError, "y_true holds integers, but classes holds strings"),
        ([None, None, math.nan], {}, EmptyInputError, "y_true has no truth in any of its 3 rows"),
        ([-1, None, -1], {"unseen": "drop"}, EmptyInputError, "every truth in y_true is unseen and unseen='drop'"),
        ([-1, None, -1], {}, EmptyInputError, "no truth in y_true is a column"),
        (["a", "b", "c"], {"classes": ["a", "b"]}, ShapeError, "classes has 2 ids for 3 columns"),
        (["a", "b", "c"], {"classes": ["a", "b", "a"]}, DuplicateItemError, "classes has 'a' at positions 0 and 2"),
        (["a", "b", "c"], {"classes": ["a", "b", None]}, InvalidTypeError, "classes has no id at position 2"),
    ],
)
def test_truths_and_classes(truths, options, error, words):
    with pytest.raises(error, match=words):
        build_ranking_report(SCORES, truths, **options)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"y_train": [0], "popularity": [1, 2, 3]}, InvalidParameterError, "y_train and popularity were both given"),
        ({"y_train": [0, 3]}, UnknownLabelError, "y_train has 3 at row 1"),
        ({"y_train": []}, EmptyInputError, "y_train has no label"),
        ({"y_train": [-1, None]}, EmptyInputError, "y_train has no label of any class"),
        ({"y_train": [[0, 1]]}, ShapeError, r"y_train has 2 dimension\(s\)"),
        ({"popularity": [1, 2]}, ShapeError, r"popularity has shape \(2,\), but there are 3 classes"),
        ({"popularity": [1, -2, 3]}, InvalidParameterError, "popularity has -2 for class 1"),
        ({"popularity": [1, 2, math.nan]}, InvalidParameterError, "popularity has nan for class 2"),
        ({"groups": [1, 2]}, ShapeError, "groups has 2 entries, but proba has 3 rows"),
        ({"groups": ["u", None, "v"]}, InvalidTypeError, "groups has no label at row 1"),
        ({"groups": [1.0, 2.0, math.nan]}, InvalidTypeError, "groups has no label at row 2"),
        ({"groups": [[1], [2], [3]]}, ShapeError, r"groups has 2 dimension\(s\)"),
        ({"groups": [1, "u", 2]}, InvalidTypeError, "groups has 'u' .str. at position 1"),
        ({"list_ids": [1, 2]}, ShapeError, "list_ids has 2 entries, but proba has 3 rows"),
        ({"list_ids": [1, None, 2]}, InvalidTypeError, "list_ids has no label at row 1"),
        ({"list_ids": [7, 8, 7]}, ShapeError, "list_ids puts rows 0 and 2 into one served list, but their scores"),
        ({"segments": ["a"] * 3}, InvalidParameterError, "segment popularity needs segments .*, train_segments"),
        ({"train_segments": ["a"]}, InvalidParameterError, "segment popularity needs segments"),
        ({"segments": ["a"] * 3, "train_segments": ["a"]}, InvalidParameterError, "and y_train; give all three"),
        (
            {"segments": ["a"] * 3, "train_segments": ["a"], "popularity": [1, 2, 3]},
            InvalidParameterError,
            "and y_train; give all three",
        ),
        (
            {"segments": ["a"] * 2, "train_segments": ["a"], "y_train": [0]},
            ShapeError,
            "segments has 2 entries, but proba",
        ),
        (
            {"segments": ["a", None, "a"], "train_segments": ["a"], "y_train": [0]},
            InvalidTypeError,
            "no label at row 1",
        ),
        (
            {"segments": ["a"] * 3, "train_segments": ["a"] * 2, "y_train": [0]},
            ShapeError,
            "train_segments has 2 entries",
        ),
        ({"segments": [1] * 3, "train_segments": ["a"], "y_train": [0]}, InvalidTypeError, "segments has dtype int64"),
        ({"class_values": [1, 2]}, ShapeError, r"class_values has shape \(2,\), but there are 3 classes"),
        ({"class_values": [1, math.nan, 2]}, InvalidParameterError, "class_values has nan for class 1"),
        ({"class_values": [1, 2, math.inf]}, InvalidParameterError, "class_values has inf for class 2"),
        ({"class_values": [2.0**40, 2, 3]}, InvalidParameterError, "class_values has 1099511627776.0 for class 0"),
        ({"class_values": ["a", "b", "c"]}, InvalidTypeError, "class_values has dtype <U1"),
        ({"exclude": MASK[:2]}, ShapeError, r"exclude has shape \(2, 3\), but proba has \(3, 3\)"),
        ({"exclude": MASK[0]}, ShapeError, r"exclude has shape \(3,\), but proba has \(3, 3\)"),
        ({"exclude": sparse.csr_array(MASK[:, :2])}, ShapeError, r"exclude has shape \(3, 2\), but proba has \(3, 3\)"),
        ({"exclude": MASK.astype(int)}, InvalidTypeError, "exclude has dtype int64: pass a boolean matrix"),
        ({"exclude": [[0], [1], [2]]}, InvalidTypeError, "exclude has dtype int64"),
        ({"exclude": ~MASK}, EmptyInputError, "row 0 has no candidate left"),
        ({"state": {"counts": [1, 2, 3]}}, InvalidTypeError, "state must be a ComparabilityState, got dict"),
        ({"state": fit_comparability([0], n_classes=2)}, StateError, "state has 2 classes, proba has 3 columns"),
        ({"state": STATE, "percentile_objectives": ["coverage"]}, StateError, "state has no percentile knots"),
        ({"progress": 3}, InvalidTypeError, "progress must be True, False or callable, got 3"),
        (
            {"config": "ranking.toml"},
            InvalidTypeError,
            "config must be a RankingConfig, got str; see RankingConfig.load",
        ),
        ({"k": 0}, InvalidKError, "k must be at least 1, got 0"),
        ({"k": 2.5}, InvalidKError, "k must be an integer, got 2.5"),
        ({"primary_objective": "fair"}, InvalidParameterError, "primary_objective must be one of .*, got 'fair'"),
        ({"primary_metric": "map"}, InvalidParameterError, "primary_metric must be one of .*, got 'map'"),
        ({"top": 3}, InvalidParameterError, "options: 'top' is no option"),
        ({"popularity_discount": 1e9}, InvalidParameterError, "popularity_discount 1000000000 is too large"),
    ],
)
def test_options(options, error, words):
    with pytest.raises(error, match=words):
        build_ranking_report(SCORES, TRUTHS, **{"progress": never} | options)


def test_mismatching_states():
    build_ranking_report(SCORES, ["a", "b", "c"], classes=["a", "b", "c"], state=NAMED)
    with pytest.raises(StateError, match="class 'a' at position 0, classes has 'b'; put the columns in the order of"):
        build_ranking_report(SCORES, ["a", "b", "c"], classes=["b", "a", "c"], state=NAMED)
    with pytest.raises(StateError, match="class 'c' at position 2, classes has 'd'; fit a state for these classes"):
        build_ranking_report(SCORES, ["a", "b", "b"], classes=["a", "b", "d"], state=NAMED)
    with pytest.raises(StateError, match="class 'a' at position 0, classes has 1"):
        build_ranking_report(SCORES, [1, 2, 3], classes=[1, 2, 3], state=NAMED)
    empty = ComparabilityState(classes=range(3), n_labelled=1, counts=[0] * 3, dead=[False] * 3)
    with pytest.raises(StateError, match="needs base rates, but every class of the state has count 0"):
        build_ranking_report(SCORES, TRUTHS, state=empty)


@pytest.mark.parametrize(
    ("value", "options", "words"),
    [
        (-0.25, {}, "proba has -0.25 at row 1, column 2: the popularity discount needs scores of at least 0"),
        (
            -0.25,
            {"shrinkage_strength": 3, "objectives": ["accuracy"]},
            "row 1, column 2: shrinkage needs scores between",
        ),
        (
            1.5,
            {"shrinkage_strength": 3, "objectives": ["accuracy"]},
            "proba has 1.5 at row 1, column 2: shrinkage needs",
        ),
        (1.5, {"shrinkage_strength": 3, "objectives": ["accuracy", "coverage"]}, "proba has 1.5 at row 1, column 2"),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_scores_out_of_the_range_of_a_transform(value, options, words, dtype):
    with pytest.raises(ScoreRangeError, match=words):
        build_ranking_report(spoiled(value, dtype=dtype), TRUTHS, state=STATE, **options)
    # The discount alone takes any score of at least 0, and unchanged scores may have any sign.
    build_ranking_report(spoiled(abs(value), dtype=dtype), TRUTHS, state=STATE)
    build_ranking_report(spoiled(value, dtype=dtype), TRUTHS, eval_all_objectives=False)


def test_integers_that_a_transform_would_merge():
    scores = np.array([[2**53 + 1, 2**53, 0]])
    report = build_ranking_report(scores, [1], k=1, eval_all_objectives=False)
    assert report["objectives"]["accuracy"]["micro"]["hit@1"] == 0
    with pytest.raises(InvalidTypeError, match="proba has 9007199254740993 at row 0, column 0"):
        build_ranking_report(scores, [1], k=1)


def test_the_same_truth_twice_in_a_served_list():
    scores = [[1, 1]] * 3 + [[0, 1]]
    with pytest.raises(DuplicateItemError, match=r"rows 0 and 2 into one served list.* truth at column 1"):
        build_ranking_report(scores, [1, 0, 1, 1], list_ids=list("aaab"))
    # Misses have no place, and other lists may have the same truth.
    build_ranking_report(scores, [-1, 0, -1, 0], list_ids=list("aaab"))


def test_a_mask_over_a_whole_row():
    with pytest.raises(EmptyInputError, match="row 1 has no candidate left"):
        build_ranking_report([[0.0, 1.0], [-math.inf, -math.inf]], [0, 0], mask_neg_inf=True)
    exclude = np.array([[False, False], [True, False]])
    with pytest.raises(EmptyInputError, match="row 1 has no candidate left"):
        build_ranking_report([[0.0, 1.0], [0.0, -math.inf]], [0, 0], mask_neg_inf=True, exclude=exclude)


def test_rows_of_a_served_list_with_other_exclusions():
    exclude = np.array([[True, False], [False, True]])
    with pytest.raises(ShapeError, match=r"list_ids puts rows 0 and 1 into one served list, .* exclusions differ"):
        build_ranking_report([[1, 2], [1, 2]], [0, 1], list_ids=[4, 4], exclude=exclude)


def test_states_that_are_no_files(tmp_path):
    path = tmp_path / "state.npz"
    with pytest.raises(FileFormatError, match=r"there is no file .*state\.npz"):
        ComparabilityState.load(path)
    with pytest.raises(FileFormatError, match="there is no folder"):
        STATE.save(tmp_path / "missing" / "state.npz")
    STATE.save(path)
    content = path.read_bytes()
    assert ComparabilityState.load(path) == STATE
    for damaged in (content[:100], b"", b"\x93NUMPY" + content[6:], content[1:], b"k = 3\n"):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=r"state\.npz"):
            ComparabilityState.load(path)


def test_every_refusal_is_a_value_error():
    for refused in (
        lambda: build_ranking_report(SCORES, TRUTHS, k="3"),
        lambda: build_ranking_report(SCORES > 0, TRUTHS),
        lambda: ranking_uncertainty({}),
    ):
        with pytest.raises(ValueError) as error:
            refused()
        assert isinstance(error.value, RankboundError)
    with pytest.raises(TypeError):
        build_ranking_report(SCORES, TRUTHS, k="3")


def test_a_wrong_number_of_threads_in_the_environment(monkeypatch):
    monkeypatch.setenv("RANKBOUND_NUM_THREADS", "many")
    with pytest.raises(InvalidParameterError, match="RANKBOUND_NUM_THREADS is 'many'"):
        build_ranking_report(SCORES, TRUTHS)
    monkeypatch.setenv("RANKBOUND_NUM_THREADS", "2")
    assert build_ranking_report(SCORES, TRUTHS) == build_ranking_report(SCORES, TRUTHS, num_threads=1)
