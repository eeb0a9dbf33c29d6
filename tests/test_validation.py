"""Arguments: what is accepted as it is, what is converted, what is refused and in which words."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from rankbound import (
    _core,
    build_ranking_report,
    fit_comparability,
    rank_bounds_of_truth,
    rank_of_truth,
    top_k,
    transform_for_objective,
)
from rankbound._files import atomic_write
from rankbound._labels import as_class_ids, label_indices
from rankbound._options import as_flag, as_integer, as_non_negative, resolve_num_threads
from rankbound._validation import as_float_scores, as_score_matrix, check_finite
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    FileFormatError,
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
    UnknownLabelError,
)

SCORES = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])


class BFloat16Tensor:
    """What a torch tensor looks like from outside."""

    dtype = "torch.bfloat16"

    def __init__(self, calls=()):
        self.calls = calls

    def detach(self):
        return BFloat16Tensor((*self.calls, "detach"))

    def cpu(self):
        return BFloat16Tensor((*self.calls, "cpu"))

    def float(self):
        assert self.calls == ("detach", "cpu")
        return SCORES.astype(np.float32)

    def __array__(self, dtype=None, copy=None):
        raise TypeError("numpy has no bfloat16")


class OnlyDlpack:
    def __dlpack__(self, **options):
        return SCORES.__dlpack__(**options)

    def __dlpack_device__(self):
        return SCORES.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8"])
def test_numpy_scores_are_untouched(dtype):
    matrix = np.ones((3, 2), dtype)
    assert as_score_matrix(matrix) is matrix


def test_a_memory_map_stays_on_disk(tmp_path):
    np.save(tmp_path / "scores.npy", SCORES)
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    assert as_score_matrix(mapped) is mapped


@pytest.mark.parametrize(
    "scores",
    [
        SCORES.tolist(),
        pd.DataFrame(SCORES),
        pl.DataFrame(SCORES),
        pa.table({"a": SCORES[:, 0], "b": SCORES[:, 1]}),
        OnlyDlpack(),
        SCORES.astype(">f8"),
        np.asmatrix(SCORES),
    ],
    ids=lambda scores: type(scores).__name__,
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_other_containers(scores):
    matrix = as_score_matrix(scores)
    assert type(matrix) is np.ndarray
    assert matrix.dtype == np.float64
    assert matrix.dtype.isnative
    np.testing.assert_array_equal(matrix, SCORES)


def test_a_bfloat16_tensor_becomes_float32():
    np.testing.assert_array_equal(as_score_matrix(BFloat16Tensor()), SCORES.astype(np.float32))


def test_unaligned_scores_are_copied():
    raw = np.frombuffer(b"x" + SCORES.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(3, 2)
    assert not raw.flags.aligned
    assert as_score_matrix(raw).flags.aligned


@pytest.mark.parametrize(
    ("scores", "error", "words"),
    [
        (SCORES[0], ShapeError, "1 dimension"),
        (SCORES[None], ShapeError, "3 dimension"),
        (SCORES[:0], EmptyInputError, r"\(0, 2\)"),
        (SCORES[:, :0], EmptyInputError, r"\(3, 0\)"),
        (SCORES > 0.2, InvalidTypeError, "decisions"),
        (SCORES.astype(complex), InvalidTypeError, "complex"),
        (SCORES.astype(object), InvalidTypeError, "object"),
        (SCORES.astype(np.longdouble), InvalidTypeError, "longdouble|float128|convert"),
        (SCORES.astype(str), InvalidTypeError, "<U"),
        (scipy.sparse.csr_array(SCORES), InvalidTypeError, "toarray"),
        (np.ma.masked_array(SCORES), InvalidTypeError, "filled"),
        ([[0.1, 0.2], [0.3]], InvalidTypeError, "proba"),
        ({"a": 1}, InvalidTypeError, "dict"),
        (None, InvalidTypeError, "NoneType"),
    ],
)
def test_refused_scores(scores, error, words):
    with pytest.raises(error, match=words):
        as_score_matrix(scores)


def test_scores_become_floats_exactly():
    assert as_float_scores(SCORES) is SCORES
    assert as_float_scores(SCORES.astype("f2")).dtype == np.float32
    edge = np.array([[2**53, -(2**53)]])
    assert as_float_scores(edge).tolist() == edge.tolist()
    for beyond in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(InvalidTypeError, match=f"{beyond} at row 0, column 1"):
            as_float_scores(np.array([[0, beyond]]))
    with pytest.raises(InvalidTypeError, match="row 0, column 0"):
        as_float_scores(np.array([[2**63]], dtype=np.uint64))


def test_finite_scores(monkeypatch):
    monkeypatch.setattr("rankbound._validation._BLOCK_SCORES", 4)
    scores = np.zeros((7, 3), np.float32)
    check_finite(scores)
    check_finite(scores.astype(int))
    scores[5, 2] = -np.inf
    check_finite(scores, mask_neg_inf=True)
    with pytest.raises(NonFiniteScoreError, match="-inf at row 5, column 2"):
        check_finite(scores)
    scores[4, 1] = np.nan
    with pytest.raises(NonFiniteScoreError, match="nan at row 4, column 1"):
        check_finite(scores, mask_neg_inf=True)


def test_number_of_threads(monkeypatch):
    monkeypatch.delenv("RANKBOUND_NUM_THREADS", raising=False)
    assert resolve_num_threads(None) == _core.available_threads()
    assert resolve_num_threads(np.int64(3)) == 3
    monkeypatch.setenv("RANKBOUND_NUM_THREADS", " 5 ")
    assert resolve_num_threads(None) == 5
    assert resolve_num_threads(2) == 2
    for text in ("0", "many", "-1", "2.0"):
        monkeypatch.setenv("RANKBOUND_NUM_THREADS", text)
        with pytest.raises(InvalidParameterError, match="RANKBOUND_NUM_THREADS"):
            resolve_num_threads(None)
    for count in (0, -1, 10**6):
        with pytest.raises(InvalidParameterError, match=f"num_threads .* {count}"):
            resolve_num_threads(count)
    for wrong in (True, 2.0, "2"):
        with pytest.raises(InvalidTypeError, match="num_threads"):
            resolve_num_threads(wrong)


def test_numeric_options():
    assert as_integer(np.uint8(3), name="k") == 3
    assert as_non_negative(np.float32(0.5), name="alpha") == 0.5
    for wrong in (-1e-300, float("nan"), float("inf")):
        with pytest.raises(InvalidParameterError, match="alpha must be finite and at least 0"):
            as_non_negative(wrong, name="alpha")
    for wrong in (True, "1", None, [1.0, 2.0]):
        with pytest.raises(InvalidTypeError, match="alpha must be a number"):
            as_non_negative(wrong, name="alpha")


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0, 2, -1], [0, 2, -1]),
        (np.array([0, 2], dtype=np.uint64), [0, 2]),
        ([0.0, float("nan"), 2.0], [0, -2, 2]),
        ([0, None, np.int8(2), pd.NA], [0, -2, 2, -2]),
        ([None, None], [-2, -2]),
        (pd.Series([1, None, 2], dtype="Int64"), [1, -2, 2]),
        (pl.Series([1, None, 2]), [1, -2, 2]),
        (pa.chunked_array([[1, 2]]), [1, 2]),
        (range(3), [0, 1, 2]),
        ([], []),
    ],
)
def test_column_indices(y, expected):
    indices = label_indices(y, None, 3)
    assert indices.dtype == np.int64
    assert indices.tolist() == expected


@pytest.mark.parametrize(
    ("y", "error", "words"),
    [
        ([0, 3], UnknownLabelError, "y_true has 3 at row 1"),
        ([0, -2], UnknownLabelError, "-2 at row 1"),
        (np.array([2**64 - 1], dtype=np.uint64), InvalidTypeError, "18446744073709551615"),
        ([0.0, 1.5], UnknownLabelError, "1.5 at row 1"),
        ([0.0, float("inf")], UnknownLabelError, "inf at row 1"),
        ([0.0, 1e300], UnknownLabelError, "row 1"),
        ([True, False], InvalidTypeError, "booleans"),
        (np.array([True]), InvalidTypeError, "booleans"),
        (["a"], InvalidTypeError, "strings.*pass classes"),
        ([0, "a"], InvalidTypeError, "'a' .* at position 1"),
        ([None, 1, True], InvalidTypeError, "True .* at position 2"),
        ([0, {}], InvalidTypeError, "dict"),
        ([2**70], InvalidTypeError, "64 bits"),
        ([[0, 1]], ShapeError, "2 dimension"),
        (np.ma.masked_array([0, 1], [True, False]), InvalidTypeError, "masked"),
        (np.array([1j]), InvalidTypeError, "complex"),
    ],
)
def test_refused_column_indices(y, error, words):
    with pytest.raises(error, match=words):
        label_indices(y, None, 3)


@pytest.mark.parametrize(
    ("y", "classes", "expected"),
    [
        (["b", "a", "z", None, float("nan")], ["b", "a", "c"], [0, 1, -1, -2, -2]),
        (np.array(["a", "longer than any class"]), np.array(["b", "a"]), [1, -1]),
        ([30, 10, 99, -5], [30, 20, 10], [0, 2, -1, -1]),
        ([30.0, float("nan")], [10, 30], [1, -2]),
        ([b"x", b"y"], [b"y", b"x"], [1, 0]),
        ([True, False], [False, True], [1, 0]),
        (np.array(["2024-01-01", "NaT"], "M8[D]"), np.array(["2024-01-01"], "M8[ns]"), [0, -2]),
        (pd.Series(["x", None, "y"], dtype="category"), pd.Index(["y", "x"]), [1, -2, 0]),
        (pd.Series(["x", None, "y"], dtype="string"), ["y", "x"], [1, -2, 0]),
        (pl.Series(["x", None, "y"]), pl.Series(["y", "x"]), [1, -2, 0]),
        ([None], ["a"], [-2]),
    ],
)
def test_labels(y, classes, expected):
    assert label_indices(y, classes, None).tolist() == expected


@pytest.mark.parametrize(
    ("y", "classes", "error", "words"),
    [
        (["1"], [1, 2], InvalidTypeError, "y_true holds strings, but classes holds integers"),
        ([1], ["1", "2"], InvalidTypeError, "y_true holds integers, but classes holds strings"),
        ([True], [0, 1], InvalidTypeError, "booleans"),
        ([1.5], [1, 2], UnknownLabelError, "1.5 at row 0"),
        (["a"], ["b", "b"], DuplicateItemError, "'b' at positions 0 and 1"),
        ([1], [1, 2, 3], ShapeError, "3 ids for 2 columns"),
        ([1], [], EmptyInputError, "classes is empty"),
        ([1], [1, None], InvalidTypeError, "no id at position 1"),
        ([1], "ab", InvalidTypeError, "classes"),
    ],
)
def test_refused_labels(y, classes, error, words):
    with pytest.raises(error, match=words):
        label_indices(y, classes, 2)


def test_class_ids_have_no_objects():
    assert as_class_ids(np.array([1, 2], np.uint8)).dtype == np.int64
    assert as_class_ids(pd.Index(["a", "bcd"])).dtype == np.dtype("U3")


def test_a_file_is_complete_or_not_there(tmp_path):
    target = tmp_path / "report.json"
    with atomic_write(target) as handle:
        handle.write(b"first")
    with pytest.raises(ZeroDivisionError), atomic_write(target) as handle:
        handle.write(b"half" * (1 // 0))
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert target.read_bytes() == b"first"
    with pytest.raises(FileFormatError, match=r"no folder .*missing"), atomic_write(tmp_path / "missing" / "a"):
        pass
    with pytest.raises(FileFormatError, match="is a folder"), atomic_write(tmp_path):
        pass


def test_a_symbolic_link_is_followed(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    with atomic_write(link) as handle:
        handle.write(b"content")
    assert link.is_symlink()
    assert (tmp_path / "target").read_bytes() == b"content"


def test_imports_stay_light():
    code = (
        "import sys, rankbound.comparability;"
        "print([m for m in ('scipy.stats', 'pandas', 'polars', 'pyarrow') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


FLAGGED = {
    "fit_comparability": lambda **flag: fit_comparability([0, 1, 1], SCORES, **flag),
    "transform_for_objective": lambda **flag: transform_for_objective(SCORES, **flag),
    "rank_of_truth": lambda **flag: rank_of_truth(SCORES, [0, 1, 1], **flag),
    "rank_bounds_of_truth": lambda **flag: rank_bounds_of_truth(SCORES, [0, 1, 1], **flag),
    "top_k": lambda **flag: top_k(SCORES, 1, **flag),
    "build_ranking_report": lambda **flag: build_ranking_report(SCORES, [0, 1, 1], n_resamples=0, **flag),
}
FLAGS = [(name, "mask_neg_inf") for name in FLAGGED] + [
    ("fit_comparability", "percentile"),
    ("transform_for_objective", "percentile"),
    ("build_ranking_report", "eval_all_objectives"),
]


@pytest.mark.parametrize(("function", "name"), FLAGS)
@pytest.mark.parametrize("value", ["yes", "no", "", 1, 0, None, np.array([True])])
def test_flags_are_booleans(function, name, value):
    with pytest.raises(InvalidTypeError, match=f"{name} must be True or False, got "):
        FLAGGED[function](**{name: value})


@pytest.mark.parametrize(("function", "name"), FLAGS)
def test_numpy_booleans_are_flags(function, name):
    FLAGGED[function](**{name: np.False_})
    assert as_flag(np.True_, name=name) is True


@pytest.mark.parametrize("k", [0, 2.0, "3", 2**31])
def test_a_wrong_cut_off_is_also_a_type_error(k):
    with pytest.raises(InvalidKError) as refused:
        top_k(SCORES, k)
    assert isinstance(refused.value, TypeError)
    assert isinstance(refused.value, ValueError)
