"""EvaluationResult: a mapping, values per list, groups, movers, tables and files."""

import json
import math
import subprocess
import sys
import zipfile
from collections.abc import Mapping

import numpy as np
import pyarrow.parquet as pq
import pytest

from rankbound import (
    EvaluationResult,
    RankedLists,
    RankingEvaluator,
    errors,
    evaluate_ranked_predictions,
    evaluate_scores,
)
from rankbound.metrics import ERR, NDCG, LogRBP, Recall

TARGETS = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [0, 2, 1, 0], [0, 0, 0, 1]])
LISTS = RankedLists([[0, 1, 2], [3, 1, 2], [1, 0, 3], [2, 1, 0]], scores=[[3, 2, 1], [3, 2, 1], [2, 2, 1], [3, 2, 1]])
METRICS = [Recall([1, 3]), NDCG(2, gain="exp2"), ERR(3, max_grade=2), LogRBP(3)]
KEYS = ["recall@1", "recall@3", "ndcg_exp2@2", "err@3", "LogRBP@3.logmean"]


def evaluate(**options):
    return evaluate_ranked_predictions(LISTS, TARGETS, **{"metrics": METRICS} | options)


def test_mapping():
    result = evaluate()
    assert isinstance(result, Mapping)
    aggregates = ["recall@1", "recall@3", "ndcg_exp2@2", "err@3", "LogRBP@3.n", "LogRBP@3.logmean"]
    assert list(result) == [*aggregates, "n_scored_rows", "n_units"]
    assert len(result) == 8
    assert result.to_dict() == dict(result) == {key: result[key] for key in result}
    assert result["recall@1"] == pytest.approx((1 + 0.25 + 0) / 3, rel=1e-15)
    assert "recall@2" not in result
    assert result.get("recall@2") is None
    with pytest.raises(KeyError, match=r"'recall@2' is not in this result, which has recall@1, recall@3"):
        result["recall@2"]
    assert repr(result).startswith("<EvaluationResult recall@1=0.4167, recall@3=0.5, ")
    assert repr(result).endswith("; 3 of 4 lists>")
    with pytest.raises(AttributeError):
        result.n_rows = 3


def test_lists_without_relevant_items_are_counted_and_left_out():
    result = evaluate(sample_ids=["a", "b", "c", "a"])
    assert (result.n_rows, result.n_scored_rows, result.n_units) == (4, 3, 2)
    assert result.sample_ids.tolist() == ["a", "c", "a"]
    assert result.per_user["recall@3"].tolist() == [1, 0.5, 0]
    assert result.protocol["population"] == {
        "n_rows": 4, "n_scored_rows": 3, "n_no_truth": 1, "n_open_ties": 0, "width": 3,
    }  # fmt: skip
    assert evaluate().sample_ids.tolist() == [0, 2, 3]


def test_nothing_to_average_is_nan():
    empty = evaluate_ranked_predictions(LISTS, np.zeros((4, 4)), metrics=METRICS)
    with pytest.warns(errors.ReliabilityWarning, match="no list was added: every mean is NaN"):
        nothing = RankingEvaluator(METRICS).compute()
    for result in (empty, nothing):
        assert all(math.isnan(result[key]) for key in KEYS)
        assert all(math.isnan(of_metric["mean_best"]) for of_metric in result.ties.values())
        assert (result["n_scored_rows"], result["n_units"], result["LogRBP@3.n"]) == (0, 0, 0)
        assert all(values.shape == (0,) for values in result.per_user.values())
    assert empty.n_rows == 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_per_list(dtype):
    result, exact = evaluate(per_user_dtype=dtype), evaluate()
    assert list(result.per_user) == KEYS
    for key, values in result.per_user.items():
        assert values.dtype == dtype
        np.testing.assert_array_equal(values, exact.per_user[key].astype(dtype))
    # The aggregates are of the exact values.
    assert repr(result.metrics) == repr(exact.metrics)
    for array in (result.sample_ids, *result.per_user.values()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_the_ids_of_the_caller_stay_theirs():
    ids = np.array([4, 3, 2, 1])
    result = evaluate(sample_ids=ids)
    ids[:] = 0
    assert result.sample_ids.tolist() == [4, 2, 1]


def test_aggregates_alone():
    result = evaluate(collect_per_user=False, slices={"some": [True, False, True, False]})
    assert result.per_user is None
    assert result.sample_ids is None
    assert not result.has_per_user
    assert repr(result.metrics) == repr(evaluate().metrics)
    assert repr(result.ties) == repr(evaluate().ties)
    assert result.slices["some"]["recall@3"] == 0.75
    for call in (result.to_frame, result.columns):
        with pytest.raises(errors.InvalidParameterError, match="collect_per_user=True"):
            call()


def test_protocol_and_depth():
    result = evaluate(metadata={"model": "m1"})
    assert result.metadata == {"model": "m1"}
    assert result.required_k == 3
    assert evaluate(metrics=["ndcg@2", "mrr"]).required_k == 3
    assert result.protocol["candidates"] == {"kind": "listed", "n_items": 4}
    assert result.protocol["truth"] == {"policy": "set", "relevance": "graded", "unseen": "miss"}
    assert result.protocol["ties"] == {
        "rule": "expectation", "equality": "exact", "scores": True, "open_tie": "refuse",
    }  # fmt: skip
    assert result.protocol["metrics"]["labels"] == ["recall@1,3", "ndcg_exp2@2", "err@3[max_grade=2.0]", "LogRBP@3"]
    assert json.loads(json.dumps(result.protocol)) == result.protocol


def test_fingerprints_tell_targets_apart():
    digests = {
        evaluate_ranked_predictions(LISTS, targets, metrics="recall@1").target_fingerprint
        for targets in (
            TARGETS,
            TARGETS > 0,
            TARGETS[::-1],
            np.pad(TARGETS, ((0, 0), (0, 1))),
            TARGETS * (np.arange(4) != 2),
        )
    }
    assert len(digests) == 5
    assert all(len(digest) == 32 for digest in digests)
    moved = evaluate_ranked_predictions(RankedLists(LISTS.indices[:, ::-1]), TARGETS, metrics="ndcg@3")
    assert moved.target_fingerprint == evaluate().target_fingerprint


def test_groups():
    ages = np.array(["old", "young", "young", None], dtype=object)
    genres = np.array([1, 2, 2, 1])
    slices = {"first": [True, True, False, False], "age": ages, "genre": ("items", genres), "empty": [False] * 4}
    result = evaluate(metrics=["recall@3", "LogRBP"], slices=slices)
    assert set(result.slices) == {"first", "age=old", "age=young", "genre=1", "genre=2", "empty"}
    counts = {name: (group["n_rows"], group["n_scored_rows"]) for name, group in result.slices.items()}
    assert counts == {
        "first": (2, 1), "age=old": (1, 1), "age=young": (2, 1), "empty": (0, 0), "genre=1": (4, 2), "genre=2": (4, 1),
    }  # fmt: skip
    assert [result.slices[name]["recall@3"] for name in ("first", "age=old", "age=young")] == [1, 1, 0.5]
    assert math.isnan(result.slices["empty"]["recall@3"])
    assert [result.slices[name]["recall@3"] for name in ("genre=1", "genre=2")] == [0.5, 0.5]
    assert {name: group["LogRBP.n"] for name, group in result.slices.items()} == {
        name: scored for name, (_, scored) in counts.items()
    }
    # As long as both: rows are meant unless it is said.
    assert evaluate(slices={"g": genres}).slices["g=1"]["n_rows"] == 2
    assert evaluate(slices={"g": ("rows", genres)}).slices["g=1"]["n_rows"] == 2
    with pytest.raises(errors.ShapeError, match="3 entries"):
        evaluate(slices={"g": ("items", [1, 2, 3])})


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("ids", [None, ["a", "b", "c", "ä"]])
def test_tables(backend, ids):
    result = evaluate(sample_ids=ids)
    table = result.to_frame(backend=backend)
    assert type(table).__module__.split(".")[0] == backend
    columns = table.to_pydict() if backend == "pyarrow" else {name: table[name].to_list() for name in table.columns}
    assert list(columns) == ["sample_id", *KEYS]
    assert columns["sample_id"] == result.sample_ids.tolist()
    for key in KEYS:
        assert columns[key] == result.per_user[key].tolist()
    with pytest.raises(errors.InvalidParameterError, match="backend must be one of"):
        result.to_frame(backend="dask")


IDS = {
    "numbers": None,
    "integers": [7, -1, 2**40, 7],
    "strings": ["a", "b", "c", "ä"],
    "bytes": np.array([b"a", b"b", b"c", b"d"]),
    "dates": np.array(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"], dtype="datetime64[us]"),
}


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_files(tmp_path, suffix, ids, dtype):
    path = tmp_path / f"result{suffix}"
    metadata = {"model": "m1", "seed": np.int64(3), "weights": np.array([0.5, 1]), "nested": {"list": [1, None, "x"]}}
    slices = {"first": [True, True, False, False], "genre": ("items", [1, 2, 2, 1])}
    options = {"sample_ids": IDS[ids], "per_user_dtype": dtype, "slices": slices, "debug": True}
    result = evaluate(metadata=metadata, **options)
    result.save(path)
    loaded = EvaluationResult.load(str(path))
    assert dict(loaded) == dict(result)
    for name in ("n_rows", "n_scored_rows", "n_units", "required_k", "target_fingerprint", "debug_rows"):
        assert getattr(loaded, name) == getattr(result, name)
    for name in ("metrics", "ties", "slices", "protocol"):
        assert repr(getattr(loaded, name)) == repr(getattr(result, name))
    assert loaded.metadata == metadata | {"weights": [0.5, 1.0]}
    assert loaded.sample_ids.dtype == result.sample_ids.dtype
    assert loaded.sample_ids.tolist() == result.sample_ids.tolist()
    assert list(loaded.per_user) == list(result.per_user)
    for key, values in result.per_user.items():
        assert loaded.per_user[key].dtype == dtype
        assert loaded.per_user[key].tobytes() == values.tobytes()
        assert not loaded.per_user[key].flags.writeable
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert loaded.movers(result, "recall@3").gained == ()


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_files_of_aggregates_and_of_nothing(tmp_path, suffix):
    path = tmp_path / f"result{suffix}"
    evaluate(collect_per_user=False).save(path)
    assert repr(EvaluationResult.load(path).metrics) == repr(evaluate().metrics)
    assert EvaluationResult.load(path).per_user is None
    empty = evaluate_ranked_predictions(LISTS, np.zeros((4, 4)), metrics=METRICS)
    empty.save(path)
    loaded = EvaluationResult.load(path)
    assert repr(loaded.metrics) == repr(empty.metrics)
    assert loaded.per_user["recall@1"].shape == (0,)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_what_cannot_be_written_leaves_no_file(tmp_path, suffix):
    path = tmp_path / f"result{suffix}"
    path.write_bytes(b"kept")
    with pytest.raises(errors.InvalidTypeError, match="keep metadata to plain values"):
        evaluate(metadata={"model": object()}).save(path)
    assert path.read_bytes() == b"kept"
    for wrong in ("result.json", "result", "folder/result.npz"):
        with pytest.raises(errors.FileFormatError):
            evaluate().save(tmp_path / wrong)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_damaged_files(tmp_path, suffix):
    path = tmp_path / f"result{suffix}"
    with pytest.raises(errors.FileFormatError, match="there is no file"):
        EvaluationResult.load(path)
    evaluate(sample_ids=["a", "b", "c", "d"]).save(path)
    whole = path.read_bytes()
    for size in (0, 1, 4, len(whole) // 4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(errors.FileFormatError):
            EvaluationResult.load(path)
    path.write_bytes(b"\x00" * len(whole))
    with pytest.raises(errors.FileFormatError, match="no saved evaluation, or damaged"):
        EvaluationResult.load(path)
    with pytest.raises(errors.FileFormatError, match=r"must end in \.npz or \.parquet"):
        EvaluationResult.load(tmp_path / "result.json")


def rewrite(path, change):
    """Write a saved result again with another header."""
    if path.suffix == ".npz":
        with np.load(path) as archive:
            arrays = dict(archive)
        header = json.loads(arrays.pop("header").tobytes())
        text = json.dumps(change(header)).encode()
        np.savez(path, header=np.frombuffer(text, dtype=np.uint8), **arrays)
        return
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"rankbound"])
    pq.write_table(table.replace_schema_metadata({"rankbound": json.dumps(change(header))}), path)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header | {"schema": 2}, "has schema version 2, this rankbound reads 1"),
        (lambda header: header | {"format": "other"}, "no saved evaluation"),
        (lambda header: header | {"n_scored_rows": 2}, "damaged"),
        (lambda header: header | {"columns": header["columns"][:-1]}, "damaged"),
        (lambda header: header | {"columns": None}, "damaged"),
        (lambda header: {key: value for key, value in header.items() if key != "ties"}, "damaged"),
        (lambda header: [header], "no saved evaluation"),
        (lambda header: header | {"metrics": header["metrics"] | {"recall@1": 0.99}}, "changed after it was saved"),
        (lambda header: header | {"metrics": [1, 2]}, "changed after it was saved"),
        (lambda header: header | {"columns": header["columns"][::-1]}, "changed after it was saved"),
        (lambda header: header | {"n_units": 99}, "changed after it was saved"),
        (lambda header: header | {"protocol": {}}, "changed after it was saved"),
        (lambda header: {key: value for key, value in header.items() if key != "hash"}, "no saved evaluation"),
    ],
)
def test_headers_that_contradict_the_values(tmp_path, suffix, change, message):
    path = tmp_path / f"result{suffix}"
    evaluate().save(path)
    rewrite(path, change)
    with pytest.raises(errors.FileFormatError, match=message):
        EvaluationResult.load(path)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_values_that_were_edited_are_refused(tmp_path, suffix):
    path = tmp_path / f"result{suffix}"
    evaluate().save(path)
    if suffix == ".npz":
        with np.load(path) as archive:
            arrays = dict(archive)
        arrays["column_1"] = arrays["column_1"].copy()
        arrays["column_1"][2] += 0.125
        np.savez(path, **arrays)
    else:
        table = pq.read_table(path)
        values = table.column(1).to_numpy().copy()
        values[2] += 0.125
        pq.write_table(table.set_column(1, table.field(1), [values]), path)
    with pytest.raises(errors.FileFormatError, match="changed after it was saved; save the result again"):
        EvaluationResult.load(path)


def test_pickles_are_neither_written_nor_read(tmp_path):
    path = tmp_path / "result.npz"
    evaluate(sample_ids=["a", "b", "c", "d"]).save(path)
    with np.load(path, allow_pickle=False) as archive:
        assert all(archive[name].dtype.kind != "O" for name in archive.files)
    with zipfile.ZipFile(path) as archive:
        header = archive.read("header.npy")
    evil = np.array([print], dtype=object)
    np.savez(path, header=np.frombuffer(header[128:], dtype=np.uint8), column_0=evil)
    with pytest.raises(errors.FileFormatError, match=r"Object arrays cannot be loaded|damaged"):
        EvaluationResult.load(path)


def test_movers():
    before = evaluate(sample_ids=["a", "b", "c", "d"])
    better = RankedLists([[1, 2, 0], [3, 1, 2], [1, 2, 3], [3, 1, 0]], scores=np.tile([3.0, 2.0, 1.0], (4, 1)))
    after = evaluate_ranked_predictions(better, TARGETS, metrics=METRICS, sample_ids=["a", "b", "c", "d"])
    movers = after.movers(before, "recall@1")
    assert [(mover.sample_id, mover.difference) for mover in movers.gained] == [("d", 1.0), ("c", 0.25)]
    assert [(mover.sample_id, mover.value, mover.other) for mover in movers.lost] == [("a", 0.0, 1.0)]
    assert len(after.movers(before, "recall@1", n=1).gained) == 1
    gained = after.movers(before, "LogRBP@3.logmean").gained
    assert (gained[0].sample_id, gained[0].difference) == ("d", math.inf)
    assert before.movers(before, "LogRBP@3.logmean").lost == ()
    for other, metric, message in [
        (before, "recall@2", "this result has no metric 'recall@2'"),
        (evaluate(metrics="recall@2"), "recall@1", "other has no metric 'recall@1'"),
        (evaluate(collect_per_user=False), "recall@1", "other has no values per list"),
        ("before", "recall@1", "other has no values per list"),
        (evaluate(), "recall@1", "over different lists"),
    ]:
        with pytest.raises(errors.InvalidParameterError, match=message):
            after.movers(other, metric)
    other_targets = evaluate_ranked_predictions(
        LISTS, np.where(TARGETS == 1, 2, TARGETS), metrics=METRICS, sample_ids=["a", "b", "c", "d"]
    )
    with pytest.raises(errors.InvalidParameterError, match="over different targets"):
        after.movers(other_targets, "recall@1")
    with pytest.raises(errors.InvalidParameterError, match="n must be at least 1"):
        after.movers(before, "recall@1", n=0)


def test_progress_is_told():
    told = []
    scores = np.zeros((4, 4))
    evaluate_scores(scores, TARGETS, metrics="recall@1", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (4, 4)


def test_tables_are_loaded_when_asked_for():
    code = (
        "import sys; from rankbound import evaluate_scores; evaluate_scores([[1, 2]], [[1, 0]]).columns(); "
        "sys.exit(any(name in sys.modules for name in ('pandas', 'polars', 'pyarrow', 'sklearn', 'scipy.stats')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
