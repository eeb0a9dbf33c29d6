"""Files that the command line reads: every format, and every way to be wrong."""

import builtins
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rankbound.cli import main
from rankbound.cli.inputs import load_exclude, load_matrix, load_vector
from rankbound.errors import FileFormatError, MissingDependencyError, RankboundError, ShapeError, UnknownLabelError

SCORES = np.array([[0.5, 0.25, 0.125], [0.0, 1.5, -2.0]])


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


# ---- matrices


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_npy_is_memory_mapped_and_read_only(tmp_path, dtype):
    path = tmp_path / "s.npy"
    np.save(path, SCORES.astype(dtype))
    matrix, classes = load_matrix(str(path), "scores")
    assert isinstance(matrix, np.memmap)
    assert not matrix.flags.writeable
    assert matrix.dtype == dtype
    assert classes is None
    np.testing.assert_array_equal(matrix, SCORES.astype(dtype))


def test_npy_without_rows_loads(tmp_path):
    np.save(tmp_path / "s.npy", np.empty((0, 3)))
    assert load_matrix(str(tmp_path / "s.npy"), "scores")[0].shape == (0, 3)


@pytest.mark.parametrize("names", [["scores"], ["anything"], ["other", "scores"]])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_gives_the_array_of_the_options_name_or_the_only_one(tmp_path, names, save):
    path = tmp_path / "s.npz"
    save(path, **{name: SCORES if name == names[-1] else np.zeros(1) for name in names})
    np.testing.assert_array_equal(load_matrix(str(path), "scores")[0], SCORES)


def test_npz_with_several_arrays_of_other_names_lists_them(tmp_path):
    np.savez(tmp_path / "s.npz", a=SCORES, b=SCORES)
    with pytest.raises(FileFormatError, match=r"--scores .*s\.npz' holds 2 arrays \('a', 'b'\).*call.*'scores'"):
        load_matrix(str(tmp_path / "s.npz"), "scores")


@pytest.mark.parametrize("dtypes", [["float32"] * 3, ["float64"] * 3, ["float32", "float64", "int8"], ["int16"] * 3])
def test_parquet_columns_are_classes(tmp_path, dtypes):
    path = tmp_path / "s.parquet"
    frame = pd.DataFrame(np.round(SCORES), columns=["x", "y", "z"])
    frame.astype(dict(zip(frame.columns, dtypes, strict=True))).to_parquet(path)
    matrix, classes = load_matrix(str(path), "scores")
    assert matrix.dtype == np.result_type(*dtypes)
    assert matrix.flags.c_contiguous
    assert classes.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(matrix, np.round(SCORES))


def test_parquet_of_several_row_groups_keeps_the_order(tmp_path):
    path = tmp_path / "s.parquet"
    pd.DataFrame({"0": np.arange(1000.0), "1": -np.arange(1000.0)}).to_parquet(path, row_group_size=64)
    matrix, classes = load_matrix(str(path), "scores")
    np.testing.assert_array_equal(matrix, np.column_stack([np.arange(1000.0), -np.arange(1000.0)]))
    assert classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": ["x"]}), "string in the column 'a'; it must hold numbers"),
        (pd.DataFrame({"a": [True]}), "bool in the column 'a'"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "no value in the column 'a', row 1"),
        (pd.DataFrame({"a": [1.0]}, index=["u"]), "index as the column '__index_level_0__'; write it with index=False"),
    ],
)
def test_parquet_that_is_no_score_matrix_is_refused(tmp_path, frame, message):
    frame.to_parquet(tmp_path / "s.parquet")
    with pytest.raises(FileFormatError, match=message):
        load_matrix(str(tmp_path / "s.parquet"), "scores")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    path = write(tmp_path / "s.parquet", b"PAR1....PAR1")
    monkeypatch.delitem(sys.modules, "rankbound.cli.parquet_input", raising=False)
    monkeypatch.delattr("rankbound.cli.parquet_input", raising=False)
    real = builtins.__import__

    def without_pyarrow(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(MissingDependencyError, match=r"pip install 'rankbound\[parquet\]'"):
        load_matrix(path, "scores")


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("0.5,0.25,0.125\n0,1.5,-2\n", None),
        ("a,b,c\n0.5,0.25,0.125\n0,1.5,-2\n", ["a", "b", "c"]),
        ('\ufeff"a, x","b ""q""",c\r\n0.5,"0.25",0.125\r\n0,1.5,-2.\r\n\r\n', ["a, x", 'b "q"', "c"]),
        ("a,2,3\n0.5,0.25,0.125\n0,1.5,-2\n", ["a", "2", "3"]),
        # A data frame without names writes their positions.
        ("0,1,2\n0.5,0.25,0.125\n0,1.5,-2\n", [0, 1, 2]),
    ],
)
def test_csv_has_names_of_classes_in_its_first_line_or_none(tmp_path, text, classes):
    matrix, found = load_matrix(write(tmp_path / "s.csv", text), "scores")
    np.testing.assert_array_equal(matrix, SCORES)
    assert (found if found is None else found.tolist()) == classes


def test_csv_with_integers_throughout_has_no_header(tmp_path):
    matrix, classes = load_matrix(write(tmp_path / "s.csv", "0,1,2\n5,6,7\n"), "scores")
    assert matrix.tolist() == [[0, 1, 2], [5, 6, 7]]
    assert classes is None


def test_csv_keeps_every_bit_of_a_float(tmp_path):
    values = np.random.default_rng(0).standard_normal((50, 4)) * 10.0 ** np.arange(-200, 200, 100)
    pd.DataFrame(values).to_csv(tmp_path / "s.csv", index=False)
    np.testing.assert_array_equal(load_matrix(str(tmp_path / "s.csv"), "scores")[0], values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n1,x\n", r"line 3, column 2 is 'x', not a number"),
        ("a,b\n1,\n", r"line 2, column 2 is '', not a number"),
        ("a,b\n1,2\n1_0,2\n", r"line 3, column 1 is '1_0', not a number"),
        ("1,2\n3\n", r"line 2 has 1 cells, the first line has 2"),
        ("1,2\n\n3,4\n", r"line 2 is blank"),
        (",a,b\n0,1,2\n", r"line 1, column 1 is a name that is missing; write the table without its index"),
        ('a,b\n1,"2\n', r"line 2 is truncated or damaged"),
        ("\n\n", "is empty"),
        (b"a,b\n\xff,1\n", "is not text in UTF-8"),
    ],
)
def test_csv_that_is_no_matrix_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=rf"--scores '.*s\.csv'.* {message}"):
        load_matrix(write(tmp_path / "s.csv", text), "scores")


# ---- vectors


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "csv"])
@pytest.mark.parametrize("values", [[3, -1, 0], ["a", "b c", 'a,\n"d"']])
def test_labels_are_the_same_from_every_format(tmp_path, suffix, values):
    path = tmp_path / f"y.{suffix}"
    frame = pd.DataFrame({"truth": values})
    {
        "npy": lambda: np.save(path, np.array(values)),
        "npz": lambda: np.savez(path, np.array(values)),
        "parquet": lambda: frame.to_parquet(path),
        "csv": lambda: frame.to_csv(path, index=False),
    }[suffix]()
    loaded = load_vector(str(path), "truth")
    assert loaded.tolist() == values
    assert loaded.dtype.kind == np.array(values).dtype.kind


@pytest.mark.parametrize("suffix", ["npz", "parquet", "csv"])
@pytest.mark.parametrize("name", ["train", "y_train"])
def test_the_column_with_the_options_name_is_taken(tmp_path, suffix, name):
    path = tmp_path / f"y.{suffix}"
    frame = pd.DataFrame({"other": [7, 8], name: [1, 2]})
    {
        "npz": lambda: np.savez(path, **{key: frame[key].to_numpy() for key in frame}),
        "parquet": lambda: frame.to_parquet(path),
        "csv": lambda: frame.to_csv(path, index=False),
    }[suffix]()
    assert load_vector(str(path), "train").tolist() == [1, 2]
    with pytest.raises(FileFormatError, match=r"--list-ids .* holds 2 .*\('other', 'y?_?train'\)"):
        load_vector(str(path), "list_ids")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3\n5\n", [3, 5]),
        ("truth\n3\n5\n", [3, 5]),
        ("Truth\nx\ny\n", ["x", "y"]),
        ("y_true\nx\n", ["x"]),
        ("truth\nlabel\nx\n", ["label", "x"]),
        ("train\nx\n", ["train", "x"]),
        ("x\ny\n", ["x", "y"]),
        ("007\n10\n", ["007", "10"]),  # As integers they would lose their zeros.
        ("9223372036854775808\n", ["9223372036854775808"]),
        ('3\n""\n5\n', [3, None, 5]),
        ('x\n""\n', ["x", None]),
        ("1.5\nx\n", ["1.5", "x"]),
        ("truth\n", []),
    ],
)
def test_csv_labels(tmp_path, text, values):
    assert load_vector(write(tmp_path / "y.csv", text), "truth").tolist() == values


@pytest.mark.parametrize(
    ("text", "first"),
    [("label\nx\n", "label"), ("Item\ny\n", "Item"), ("user_id\n", "user_id"), ("anything\n3\n5\n", "anything")],
)
def test_what_may_be_a_header_or_a_label_is_refused(tmp_path, text, first):
    path = write(tmp_path / "y.csv", text)
    with pytest.raises(FileFormatError, match=rf"--train '.*y\.csv', line 1 is '{first}': a header or a value\? Write"):
        load_vector(path, "train")
    # As the message says: no label is lost.
    assert load_vector(write(tmp_path / "y.csv", "train\n" + text), "train").tolist() == text.split()
    headed = load_vector(write(tmp_path / "y.csv", text.replace(first, "y_train")), "train")
    assert headed.astype(str).tolist() == text.split()[1:]


@pytest.mark.parametrize("first", ["price", "1.5x"])
def test_a_first_line_that_is_no_number_is_not_skipped(tmp_path, first):
    path = write(tmp_path / "v.csv", f"{first}\n1.5\n2\n")
    with pytest.raises(FileFormatError, match=rf"line 1 is '{first}': a header or a value\? Write 'class_values'"):
        load_vector(path, "class_values", numeric=True)


def test_parquet_labels_may_be_missing_or_categories(tmp_path):
    path = tmp_path / "y.parquet"
    pd.DataFrame({"y": pd.array([1, None, 3], dtype="Int64")}).to_parquet(path)
    assert load_vector(str(path), "truth").tolist() == [1, None, 3]
    pd.DataFrame({"y": pd.Categorical(["b", "a", "b"])}).to_parquet(path)
    assert load_vector(str(path), "truth").tolist() == ["b", "a", "b"]
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ms]")
    pd.DataFrame({"y": days}).to_parquet(path)
    np.testing.assert_array_equal(load_vector(str(path), "truth"), days)


def test_numbers_are_floats_and_bad_ones_are_named(tmp_path):
    path = write(tmp_path / "v.csv", "class_values\n1.5\n2\n")
    assert load_vector(path, "class_values", numeric=True).tolist() == [1.5, 2.0]
    path = write(tmp_path / "v.csv", "class-values\n1.5\nx\n")
    with pytest.raises(FileFormatError, match=r"--class-values '.*v\.csv', line 3, column 1 is 'x', not a number"):
        load_vector(path, "class_values", numeric=True)


# ---- exclusions


@pytest.mark.parametrize(
    "form", ["csr.npz", "coo.npz", "csc.npz", "mask.npy", "mask.npz", "pairs.npy", "csv", "parquet"]
)
def test_exclusions_are_the_same_from_every_form(tmp_path, form):
    mask = np.array([[True, False, False], [False, False, False], [True, False, True]])
    pairs = np.argwhere(mask)
    path = tmp_path / form
    frame = pd.DataFrame(pairs, columns=["row", "column"])
    {
        "csr.npz": lambda: sparse.save_npz(path, sparse.csr_array(mask)),
        "coo.npz": lambda: sparse.save_npz(path, sparse.coo_matrix(mask.astype(float))),
        "csc.npz": lambda: sparse.save_npz(path, sparse.csc_array(mask)),
        "mask.npy": lambda: np.save(path, mask),
        "mask.npz": lambda: np.savez(path, mask),
        "pairs.npy": lambda: np.save(path, np.vstack([pairs, pairs[:1]])),
        "csv": lambda: frame.to_csv(tmp_path / "e.csv", index=False),
        "parquet": lambda: frame.to_parquet(tmp_path / "e.parquet"),
    }[form]()
    found = load_exclude(str(path if "." in form else tmp_path / f"e.{form}"), mask.shape)
    assert isinstance(found, sparse.csr_array)
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found.toarray(), mask)


def test_stored_zeros_exclude_nothing(tmp_path):
    stored = sparse.csr_array((np.array([0, 1]), ([0, 0], [1, 2])), shape=(1, 3))
    sparse.save_npz(tmp_path / "e.npz", stored)
    assert load_exclude(str(tmp_path / "e.npz"), (1, 3)).nonzero()[1].tolist() == [2]


def test_no_pairs_exclude_nothing(tmp_path):
    assert load_exclude(write(tmp_path / "e.csv", "row,column\n"), (2, 2)).nnz == 0


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        ([[0, 3]], UnknownLabelError, r"has column 3 in pair 0; the 3 columns of the scores count from 0"),
        ([[0, 1], [-1, 1]], UnknownLabelError, r"has row -1 in pair 1; the 2 rows"),
        ([[0, 1, 2]], ShapeError, r"has shape \(1, 3\); pairs of row and column need two columns"),
        ([[0.0, 1.0]], FileFormatError, r"has dtype float64; it must be a boolean matrix, or pairs"),
        ([[True, False]], ShapeError, r"has shape \(1, 2\), the scores have \(2, 3\)"),
    ],
)
def test_exclusions_that_do_not_fit_the_scores_are_refused(tmp_path, pairs, error, message):
    np.save(tmp_path / "e.npy", np.array(pairs))
    with pytest.raises(error, match=message):
        load_exclude(str(tmp_path / "e.npy"), (2, 3))


def test_fractions_are_no_indices(tmp_path):
    with pytest.raises(FileFormatError, match="holds fractions"):
        load_exclude(write(tmp_path / "e.csv", "row,column\n0.5,1\n"), (2, 3))


@pytest.mark.parametrize(
    ("key", "value"), [("indices", [0, 7]), ("indptr", [0, 9, 2]), ("format", "zip"), ("shape", [1])]
)
def test_damaged_sparse_files_are_refused(tmp_path, key, value):
    path = tmp_path / "e.npz"
    sparse.save_npz(path, sparse.csr_array(np.array([[1, 1, 0], [0, 0, 0]])))
    parts = dict(np.load(path)) | {key: np.array(value)}
    np.savez(path, **parts)
    with pytest.raises(RankboundError, match=r"--exclude"):
        load_exclude(str(path), (2, 3))


# ---- bad files of every format


@pytest.fixture(params=["s.npy", "s.npz", "s.parquet"])
def good(request, tmp_path):
    path = tmp_path / request.param
    {
        "s.npy": lambda: np.save(path, SCORES),
        "s.npz": lambda: np.savez(path, SCORES),
        "s.parquet": lambda: pd.DataFrame(SCORES, columns=list("abc")).to_parquet(path),
    }[request.param]()
    return path


LOADERS = [load_matrix, load_vector, lambda path, name: load_exclude(path, (2, 3), name)]


@pytest.mark.parametrize("loader", LOADERS)
def test_truncated_files_are_refused_at_every_length(good, loader):
    content = good.read_bytes()
    for length in range(1, len(content), max(1, len(content) // 60)):
        good.write_bytes(content[:length])
        with pytest.raises(FileFormatError, match=r"--scores '.*s\.\w+' is (truncated or damaged|not a \.\w+ file)"):
            loader(str(good), "scores")


@pytest.mark.parametrize("loader", LOADERS)
def test_missing_empty_and_foreign_files_are_refused(good, loader):
    content, suffix = good.read_bytes(), good.suffix
    good.write_bytes(b"")
    with pytest.raises(FileFormatError, match=rf"--scores '.*s\{suffix}' is empty"):
        loader(str(good), "scores")
    for other in (b"\x80\x04K\x01.", b"a,b\n1,2\n", b"\x00" * 64):
        good.write_bytes(other)
        with pytest.raises(FileFormatError, match=rf"is not a \{suffix} file: it starts with"):
            loader(str(good), "scores")
    good.unlink()
    with pytest.raises(FileFormatError, match="cannot be read: No such file or directory"):
        loader(str(good), "scores")
    good.mkdir()
    with pytest.raises(FileFormatError, match="cannot be read: Is a directory"):
        loader(str(good), "scores")
    unknown = good.with_suffix(".pkl")
    unknown.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"has an unknown suffix; known are \.npy, \.npz, \.parquet, \.csv"):
        loader(str(unknown), "scores")


@pytest.mark.parametrize("flipped", [3, 9, 20, 40, -40, -9, -3])
def test_flipped_bytes_give_no_other_kind_of_error(good, flipped):
    content = bytearray(good.read_bytes())
    content[flipped] ^= 0xFF
    good.write_bytes(content)
    for loader in LOADERS:
        try:  # noqa: SIM105  # some bytes do not matter
            loader(str(good), "scores")
        except RankboundError:
            pass


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize("loader", LOADERS)
def test_objects_are_never_unpickled(tmp_path, suffix, loader):
    path = tmp_path / f"s.{suffix}"
    (np.save if suffix == "npy" else np.savez)(path, np.array(["a", None], dtype=object))
    with pytest.raises(FileFormatError, match=r"holds Python objects, which only pickle could read"):
        loader(str(path), "scores")


def test_help_says_which_first_line_is_a_header(capsys):
    assert main(["report", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "A .csv of one column has a header only if its first line is the option's name, such as 'train'." in words
