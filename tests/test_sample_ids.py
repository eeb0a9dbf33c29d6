"""Sample ids of every dtype in tables and files: as they are, or refused before anything is written."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from rankbound import EvaluationResult, errors, evaluate_scores

DATES = np.array(["1969-07-20T20:17", "2024-02-29T00:00", "2024-12-31T23:59"], dtype="datetime64[m]")
COUNTS = np.array([-1, 0, 7])
LASTING = {
    **{f"datetime64[{unit}]": DATES for unit in ("Y", "M", "W", "D", "h", "m", "15m", "s", "ms", "us", "ns")},
    **{f"timedelta64[{unit}]": COUNTS for unit in ("W", "D", "h", "m", "s", "ms", "us", "ns")},
    **dict.fromkeys(("int8", "float16", "float32", "bool"), COUNTS),
    **dict.fromkeys(("U", "S"), np.array(["b", "", "a"])),
}
REFUSED = {
    **{f"timedelta64[{unit}]": COUNTS for unit in ("Y", "M", "ps")},
    "timedelta64": COUNTS,
    "datetime64[ps]": COUNTS,
    # Beyond what milliseconds, and days of 32 bits, can count.
    "datetime64[s]": np.array([0, 1, 2**62]),
    "datetime64[D]": np.array([0, 1, 2**31]),
    **({} if np.longdouble is np.float64 or np.dtype("g").itemsize == 8 else {"longdouble": COUNTS}),
}


def evaluate(ids, targets=None):
    return evaluate_scores(np.eye(3), np.eye(3) if targets is None else targets, metrics="ndcg@2", sample_ids=ids)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("dtype", LASTING)
def test_files_keep_ids_as_they_are(dtype, suffix, tmp_path):
    result = evaluate(LASTING[dtype].astype(dtype))
    result.save(tmp_path / f"result{suffix}")
    loaded = EvaluationResult.load(tmp_path / f"result{suffix}")
    assert loaded == result
    assert loaded.sample_ids.dtype == result.sample_ids.dtype


@pytest.mark.filterwarnings("ignore:no list of 3 has a relevant item")
@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("dtype", LASTING)
def test_files_keep_the_type_of_no_ids(dtype, suffix, tmp_path):
    result = evaluate(LASTING[dtype].astype(dtype), targets=np.zeros((3, 3)))
    result.save(tmp_path / f"result{suffix}")
    loaded = EvaluationResult.load(tmp_path / f"result{suffix}")
    assert loaded.sample_ids.dtype == result.sample_ids.dtype
    assert loaded.sample_ids.shape == (0,)


@pytest.mark.parametrize("dtype", REFUSED)
def test_ids_that_a_table_would_change_are_refused(dtype, tmp_path):
    result = evaluate(REFUSED[dtype].astype(dtype))
    message = f"sample_ids have dtype {result.sample_ids.dtype}, which no table can hold unchanged; convert them, or "
    with pytest.raises(errors.InvalidTypeError) as refused:
        result.save(tmp_path / "result.parquet")
    assert str(refused.value) == message + "use .npz"
    assert not list(tmp_path.iterdir())
    for backend in ("pandas", "polars", "pyarrow"):
        with pytest.raises(errors.InvalidTypeError) as refused:
            result.to_frame(backend=backend)
        assert str(refused.value) == message + "take them from sample_ids"
    result.save(tmp_path / "result.npz")
    assert EvaluationResult.load(tmp_path / "result.npz") == result


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_half_a_character_is_refused(suffix, tmp_path):
    with pytest.raises(errors.InvalidTypeError, match=r"sample_ids has '\\ud83d', half a character"):
        evaluate(["a", "b", "\ud83d"]).save(tmp_path / f"result{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("unit", ["M", "D", "h", "s"])
def test_dates_are_dates_in_every_table(unit, tmp_path):
    dates = DATES.astype(f"datetime64[{unit}]")
    result = evaluate(dates)
    expected = [pd.Timestamp(date) for date in dates.astype("datetime64[s]")]
    assert result.to_frame()["sample_id"].tolist() == expected
    result.save(tmp_path / "result.parquet")
    tables = (
        result.to_frame(backend="polars"),
        result.to_frame(backend="pyarrow"),
        parquet.read_table(tmp_path / "result.parquet"),
    )
    for table in tables:
        listed = table["sample_id"].to_list() if isinstance(table, pl.DataFrame) else table["sample_id"].to_pylist()
        assert [pd.Timestamp(date) for date in listed] == expected
    assert pa.types.is_date(tables[1]["sample_id"].type) == (unit in "MD")
