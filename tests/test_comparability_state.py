"""Comparability states: fitting, freezing, files."""

import json
import pickle
import zipfile

import numpy as np
import pytest

from rankbound import _core
from rankbound.comparability import ComparabilityState, apply_rank_percentile, fit_comparability
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    FileFormatError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
    UnknownLabelError,
)


def test_fit_counts_labels():
    state = fit_comparability(["b", "a", None, "b"], classes=["a", "b", "c"])
    assert state.classes.tolist() == ["a", "b", "c"]
    assert (state.n_labelled, state.counts.tolist(), state.n_floored) == (3, [1, 2, 0], 1)
    assert state.base_rates.tolist() == [1 / 3, 2 / 3, 0]
    assert (state.fitted_on, state.n_reference, state.knots, state.dead.any()) == ("labels_only", 0, None, False)
    assert fit_comparability([0], n_classes=1, fitted_on="evaluation").fitted_on == "evaluation"
    assert fit_comparability([0], [[0.5]]).fitted_on == "train"


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        ((["a", "z"],), {"classes": ["a", "b"]}, UnknownLabelError, "y has 'z' at row 1"),
        (([0, -1],), {"n_classes": 2}, UnknownLabelError, "y has -1 at row 1"),
        (([0, 2],), {"n_classes": 2}, UnknownLabelError, "y has 2 at row 1"),
        (([None],), {"n_classes": 2}, EmptyInputError, "no labelled row"),
        (([0],), {}, InvalidParameterError, "pass proba, classes or n_classes"),
        (([0],), {"n_classes": 0}, InvalidParameterError, "n_classes must be at least 1"),
        (([0],), {"n_classes": 2.0}, InvalidTypeError, "n_classes"),
        (([0],), {"n_classes": 2, "percentile": True}, InvalidParameterError, "pass proba"),
        (([0, 1], [[0.5, 0.5]]), {}, ShapeError, "2 labels for 1 rows"),
        (([0], [[0.5, 0.5]]), {"n_classes": 3}, ShapeError, "n_classes is 3"),
        (([0], [[0.5, 0.5]]), {"classes": [0, 1, 2]}, ShapeError, "3 ids for 2 columns"),
        (([0], [[0.5, 0.5]]), {"classes": [1, 1]}, DuplicateItemError, "1 at positions 0 and 1"),
        (([0], [[0.5, np.nan]]), {}, NonFiniteScoreError, "row 0, column 1"),
        (([0], [[0.5, np.inf]]), {"percentile": True}, NonFiniteScoreError, "row 0, column 1"),
        (([0], [[0.5, -np.inf]]), {"percentile": True, "mask_neg_inf": True}, InvalidParameterError, "column 1"),
        (([0], [[0.5, 0.5]]), {"percentile": True, "n_knots": 1}, InvalidParameterError, "n_knots"),
        (([0], [[0.5, 0.5]]), {"fitted_on": "labels_only"}, InvalidParameterError, "labels_only"),
        (([0], [[0.5, 0.5]]), {"fitted_on": "test"}, InvalidParameterError, "fitted_on must be one of"),
    ],
)
def test_refused_fits(args, options, error, words):
    with pytest.raises(error, match=words):
        fit_comparability(*args, **options)


def test_a_state_is_frozen():
    counts = np.array([3, 1])
    state = ComparabilityState(classes=[5, 6], n_labelled=4, counts=counts, dead=[False, False])
    counts[0] = 0
    assert state.counts.tolist() == [3, 1]
    for array in (state.classes, state.counts, state.dead):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        state.n_labelled = 5


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"counts": [3]}, ShapeError),
        ({"counts": [5, 0]}, InvalidParameterError),
        ({"counts": [-1, 0]}, InvalidParameterError),
        ({"dead": [False]}, ShapeError),
        ({"n_knots": 5}, InvalidParameterError),
        ({"classes": ["a", "a"]}, DuplicateItemError),
    ],
)
def test_contradictory_states_are_refused(change, error):
    with pytest.raises(error):
        ComparabilityState(**{"classes": ["a", "b"], "n_labelled": 4, "counts": [3, 1], "dead": [False] * 2, **change})


def test_the_fingerprint_covers_the_contents():
    base = {"classes": ["a", "b"], "n_labelled": 4, "counts": [3, 1], "dead": [False, False]}
    state = ComparabilityState(**base)
    assert len(state.fingerprint) == 32
    wide = ComparabilityState(**{**base, "classes": np.array(["a", "b"], ">U9"), "library_version": "0"})
    assert wide == state
    assert hash(wide) == hash(state)
    assert state != "a state"
    for change in (
        {"classes": ["a", "c"]},
        {"classes": [b"a", b"b"]},
        {"n_labelled": 5},
        {"counts": [2, 1]},
        {"dead": [True, False]},
        {"fitted_on": "evaluation"},
        {"row_fingerprint": "0"},
    ):
        assert ComparabilityState(**{**base, **change}) != state


def test_the_row_fingerprint_tells_the_rows():
    labels, scores = [0, 1, 1], np.full((3, 2), 0.5)
    fingerprint = fit_comparability(labels, n_classes=2).row_fingerprint
    assert fit_comparability(labels, scores).row_fingerprint == fingerprint
    assert fit_comparability([1, 0, 1], n_classes=2).row_fingerprint != fingerprint


@pytest.fixture
def state():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 9, (40, 3)) / 8
    return fit_comparability(rng.choice(["x", "yy", "é"], 40), scores, classes=["x", "yy", "é"], percentile=True)


@pytest.mark.parametrize(
    "classes", [[1, 2, 3], ["x", "yy", "é"], [b"x", b"yy", b"z"], np.array([1, 2, 3], "M8[D]"), [0.5, 1.5, 2.5]]
)
@pytest.mark.parametrize("percentile", [False, True])
def test_a_state_survives_its_file(tmp_path, classes, percentile):
    y = [classes[index] for index in (0, 1, 1, 2)]
    state = fit_comparability(np.array(y), np.eye(4)[:, :3], classes=classes, percentile=percentile)
    path = tmp_path / "state"
    state.save(path)
    assert [item.name for item in tmp_path.iterdir()] == ["state"]
    loaded = ComparabilityState.load(str(path))
    assert loaded == state
    assert loaded.library_version == state.library_version == _core.__version__
    for name in ("classes", "n_labelled", "counts", "dead", "n_knots", "n_reference", "score_dtype", "row_fingerprint"):
        assert np.array_equal(getattr(loaded, name), getattr(state, name))
    with zipfile.ZipFile(path) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())
    if percentile:
        np.testing.assert_array_equal(apply_rank_percentile(np.eye(3), loaded), apply_rank_percentile(np.eye(3), state))


def test_every_truncation_is_refused(tmp_path, state):
    path = tmp_path / "state.npz"
    state.save(path)
    content = path.read_bytes()
    for size in [*range(0, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(FileFormatError, match=r"state\.npz"):
            ComparabilityState.load(path)


def test_no_flipped_byte_passes_unseen(tmp_path, state):
    path = tmp_path / "state.npz"
    state.save(path)
    content = path.read_bytes()
    for position in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[position] ^= 0x55
        path.write_bytes(damaged)
        try:
            assert ComparabilityState.load(path) == state  # A byte that no reader looks at.
        except FileFormatError:
            continue


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


def test_foreign_files_are_refused(tmp_path, state):
    path = tmp_path / "state.npz"
    with pytest.raises(FileFormatError, match="there is no file"):
        ComparabilityState.load(path)
    with pytest.raises(FileFormatError, match="no folder"):
        state.save(tmp_path / "missing" / "state.npz")
    with pytest.raises(FileFormatError):
        ComparabilityState.load(tmp_path)
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(FileFormatError, match="no comparability state"):
        ComparabilityState.load(path)
    np.savez(path, metadata=np.array([Bomb()], dtype=object))
    with pytest.raises(FileFormatError, match="no comparability state"):
        ComparabilityState.load(path)
    np.savez(path, other=np.ones(3))
    with pytest.raises(FileFormatError, match="no comparability state"):
        ComparabilityState.load(path)
    np.save(tmp_path / "other.npy", np.ones(3))
    (tmp_path / "other.json").write_text("{}")
    for name in ("other.npy", "other.json"):
        with pytest.raises(FileFormatError, match="it is no whole npz archive"):
            ComparabilityState.load(tmp_path / name)
    with path.open("wb") as handle:
        np.save(handle, np.ones(3))
    with pytest.raises(FileFormatError, match="no comparability state"):
        ComparabilityState.load(path)


@pytest.mark.parametrize("header", [b"{'descr': (", b"{", b"", b"\xff", b"(" * 500])
def test_malformed_array_headers_are_refused(tmp_path, state, header):
    path = tmp_path / "state.npz"
    state.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for version in (b"\x01\x00", b"\x02\x00"):
        length = len(header).to_bytes(2 * version[0], "little")
        parts["counts.npy"] = b"\x93NUMPY" + version + length + header
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        with pytest.raises(FileFormatError, match=r"state\.npz' is no comparability state, or damaged"):
            ComparabilityState.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "another format"),
        ({"schema": 2}, "schema version 2, this rankbound reads 1"),
        ({"n_labelled": 41}, "changed after it was saved"),
        ({"n_labelled": "many"}, "damaged"),
        ({"surprise": 1}, "damaged"),
        ({"fingerprint": "0" * 32}, "changed after it was saved"),
    ],
)
def test_edited_files_are_refused(tmp_path, state, change, words):
    path = tmp_path / "state.npz"
    state.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    metadata = json.loads(arrays.pop("metadata").tobytes()) | change
    np.savez(path, metadata=np.frombuffer(json.dumps(metadata).encode(), np.uint8), **arrays)
    with pytest.raises(FileFormatError, match=words):
        ComparabilityState.load(path)
