"""Runs against relevance judgements: every way to break ties, and what is refused."""

import gzip
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbound import RankedLists, errors, evaluate_ranked_predictions, evaluate_run
from rankbound.evaluation.tables import read_table
from rankbound.metrics import ERR, NDCG, RankingMetric
from run_examples import METRICS, QRELS, RUN, same


def test_values_by_hand():
    result = evaluate_run(RUN, QRELS, metrics=METRICS)
    assert result.sample_ids.tolist() == ["q1", "q2", "q3"]
    assert result.per_user["recall@1"].tolist() == [0.0, 0.0, 0.0]
    # q2: item a ties with b for the places 2 and 3.
    assert result.per_user["mrr"].tolist() == pytest.approx([1 / 2, (1 / 2 + 1 / 3) / 2, 0], abs=1e-15)
    assert result.per_user["map_relevant"].tolist() == pytest.approx([1 / 4, 5 / 12, 0], abs=1e-15)
    ideal = 2 + 1 / np.log2(3)
    assert result.per_user["ndcg_linear@3"][0] == pytest.approx(2 / np.log2(3) / ideal, abs=1e-15)
    assert (result.n_rows, result.n_scored_rows) == (4, 3)
    population = result.protocol["population"]
    assert (population["n_missing_queries"], population["n_ignored_queries"], population["n_no_truth"]) == (2, 1, 1)
    assert population["n_open_ties"] == 1


@settings(max_examples=40, deadline=None)
@given(
    scores=st.lists(st.integers(0, 2), min_size=2, max_size=5),
    relevant=st.sets(st.integers(0, 6), min_size=1),
    k=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_expectation_is_the_mean_over_all_orders(scores, relevant, k, seed):
    orders = [
        order for order in permutations(range(len(scores))) if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    hits = [[item in relevant for item in order[:k]] for order in orders]
    recall = Fraction(sum(map(sum, hits)), len(orders) * len(relevant))
    reciprocal = sum(Fraction(1, hit.index(True) + 1) for hit in hits if any(hit)) / len(orders)
    frame = pl.DataFrame({"user": [7] * len(scores), "item": range(len(scores)), "score": scores})
    qrels = {7: dict.fromkeys(relevant, 1)}
    result = evaluate_run(frame.sample(fraction=1, shuffle=True, seed=seed), qrels, metrics=[f"recall@{k}", f"mrr@{k}"])
    assert result[f"recall@{k}"] == pytest.approx(float(recall), abs=1e-14)
    assert result[f"mrr@{k}"] == pytest.approx(float(reciprocal), abs=1e-14)


def test_ranked_lists_of_the_same_items_give_the_same():
    rng = np.random.default_rng(3)
    n, width, n_items = 40, 12, 60
    indices = np.argsort(rng.random((n, n_items)), axis=1)[:, :width]
    scores = -np.sort(-rng.integers(0, 8, (n, width)), axis=1) / 8
    grades = rng.integers(0, 4, (n, n_items)) * (rng.random((n, n_items)) < 0.1)
    metrics = ["recall@5", "map@12", "ndcg_exp2@10", ERR(10, max_grade=3), "rbp@12", "r_precision"]
    lists = evaluate_ranked_predictions(RankedLists(indices, scores), grades, metrics=metrics, open_tie="as_listed")
    shuffled = rng.permutation(n * width)
    run = pa.table(
        {
            "qid": np.repeat(np.arange(n), width)[shuffled],
            "docno": indices.ravel()[shuffled] * 10**13,
            "score": scores.ravel()[shuffled].astype(np.float32),
        }
    )
    queries, items = np.nonzero(grades >= 0)
    qrels = pd.DataFrame({"qid": queries, "docno": items * 10**13, "rel": grades[queries, items]})
    for num_threads in (1, 3):
        result = evaluate_run(run, qrels.sample(frac=1, random_state=5), metrics=metrics, num_threads=num_threads)
        assert result.to_dict() == lists.to_dict()
        for key, values in lists.per_user.items():
            np.testing.assert_array_equal(result.per_user[key], values)
    by_rank = {"qid": "q", "docno": "i"}
    ranks = run.append_column("rank", pa.array(np.tile(np.arange(1, width + 1), n)[shuffled])).rename_columns(
        {**by_rank, "score": "score", "rank": "rank"}
    )
    given_order = evaluate_run(
        ranks, qrels, metrics=metrics, tie_break="rank_column", columns={"query": "q", "item": "i"}
    )
    assert given_order.to_dict() == evaluate_ranked_predictions(indices, grades, metrics=metrics).to_dict()
    with pytest.raises(
        errors.InvalidParameterError, match="columns names 'uid' as the query, but neither run nor qrels has"
    ):
        evaluate_run(run, qrels, metrics=metrics, columns={"query": "uid"})


@pytest.mark.parametrize(
    ("ids", "order"),
    [(["a", "b", "é", "z"], ["é", "z", "b", "a"]), ([9, 10, 100, -3, 0], [9, 100, 10, 0, -3])],
)
def test_trec_eval_orders_equal_scores_by_falling_id_as_text(ids, order):
    # In single precision all are equal.
    run = {1: {item: 0.5 + place * 1e-12 for place, item in enumerate(ids)}}
    for place, item in enumerate(order):
        result = evaluate_run(run, {1: {item: 1}}, metrics="mrr", tie_break="trec_eval")
        assert result["mrr"] == 1 / (place + 1)
        assert result.ties["mrr"]["share_tied_at_cut"] == 0
        assert evaluate_run(run, {1: {item: 1}}, metrics="mrr")["mrr"] == 1 / (len(ids) - ids.index(item))


def test_open_ties_are_taken_bounded_or_refused():
    run, qrels = {"q": {"a": 0.9, "b": 0.5, "c": 0.5}, "r": {"a": 1.0}}, {"q": {"b": 1, "x": 1}, "r": {"a": 1}}
    assert evaluate_run(run, qrels, metrics="recall@2").per_user["recall@2"].tolist() == [0.25, 1.0]
    bounds = evaluate_run(run, qrels, metrics="recall@2", open_tie="bounds")
    assert bounds.per_user["recall@2"].tolist() == [0.0, 1.0]
    assert (bounds["recall@2"], bounds.ties["recall@2"]["mean_best"]) == (0.5, 0.75)
    with pytest.raises(errors.OpenTieError, match=r"run has item 'b' of query 'q' in a tie of 2 items at the end"):
        evaluate_run(run, qrels, metrics="recall@2", open_tie="refuse")
    assert evaluate_run(run, qrels, metrics="recall@1", open_tie="refuse")["recall@1"] == 0.5


def test_default_metrics_look_at_the_longest_list():
    result = evaluate_run(RUN, QRELS)
    assert list(result.metrics) == ["calibrated_recall@3", "ndcg@3"]
    with pytest.warns(errors.ReliabilityWarning, match="no query of qrels"):
        assert evaluate_run({}, QRELS).to_dict()["ndcg@1"] == 0


def test_slices_go_by_id():
    slices = {"old": {"q1": True, "q2": False}, "kind": ("items", {"a": "x", "b": "y"})}
    result = evaluate_run(RUN, QRELS, metrics="mrr", slices=slices)
    assert result.slices["old"] == {"n_rows": 1, "n_scored_rows": 1, "mrr": 0.5}
    assert result.slices["kind=x"]["n_scored_rows"] == 2
    assert result.slices["kind=y"]["mrr"] == 0.5
    aligned = evaluate_run(RUN, QRELS, metrics="mrr", slices={"old": [True, False, False, False]})
    assert aligned.slices["old"] == result.slices["old"]


@pytest.mark.parametrize("ids", [["q1", "q2", "q3", "q4"], [10, 20, 30, 3]])
def test_a_series_goes_by_its_index_if_that_names_ids(ids):
    of_query = dict(zip(QRELS, ids, strict=True))
    run, qrels = ({of_query[query]: of for query, of in table.items() if query in of_query} for table in (RUN, QRELS))
    by_id = {"old": {ids[2]: True, ids[0]: False, ids[1]: True}, "kind": ("items", {"b": "y", "a": "x"})}
    expected = evaluate_run(run, qrels, metrics="mrr", slices=by_id)
    assert expected.slices["old"]["n_rows"] == 2
    series = {"old": pd.Series(by_id["old"]), "kind": ("items", pd.Series(by_id["kind"][1]))}
    assert evaluate_run(run, qrels, metrics="mrr", slices=series) == expected
    with pytest.raises(errors.InvalidParameterError, match=r"slices\['old'\] labels 'q2' more than once"):
        evaluate_run(RUN, QRELS, metrics="mrr", slices={"old": pd.Series([1, 2, 3, 4], index=["q1", "q2", "q2", "q3"])})
    # One that only counts rows is an array: in the order of the sorted ids.
    mask = np.array([sorted(ids)[place] in (ids[1], ids[2]) for place in range(4)])
    for rows in (mask, pd.Series(mask), pd.Series(mask, index=[0, 1, 2, 3])):
        found = evaluate_run(run, qrels, metrics="mrr", slices={"old": rows}).slices["old"]
        assert found == expected.slices["old"]


def test_results_of_two_runs_pair_up():
    first, second = (evaluate_run(run, QRELS, metrics="mrr") for run in (RUN, {"q3": {"a": 1.0}, "q9": {"y": 1.0}}))
    assert first.target_fingerprint == second.target_fingerprint
    assert first.protocol["population"]["rows_hash"] == second.protocol["population"]["rows_hash"]
    movers = second.movers(first, "mrr")
    assert [mover.sample_id for mover in movers.gained] == ["q3"]
    renamed = evaluate_run(RUN, {"q1": {"b": 2, "zz": 1}, **{q: QRELS[q] for q in ("q2", "q3", "q4")}}, metrics="mrr")
    assert renamed.protocol["candidates"]["items_hash"] != first.protocol["candidates"]["items_hash"]


TREC_RUN = "q1 Q0 d1 1 0.5 tag\nq1\tQ0 d2 2 0.5 tag\r\n\nq2 Q0 d1 5 1e-1 tag\n"
TREC_QRELS = "q1 0 d2 1\nq2 0 d1 0\nq2 0 d3 2"


@pytest.mark.parametrize("compress", [False, True])
def test_trec_files(tmp_path, compress):
    pack = gzip.compress if compress else bytes
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels"
    run.write_bytes(pack(TREC_RUN.encode()))
    qrels.write_bytes(pack(TREC_QRELS.encode()))
    result = evaluate_run(run, str(qrels), metrics="mrr")
    assert result.per_user["mrr"].tolist() == [0.75, 0]
    nested = {"q1": {"d1": 0.5, "d2": 0.5}, "q2": {"d1": 0.1}}
    same(result, evaluate_run(nested, {"q1": {"d2": 1}, "q2": {"d1": 0, "d3": 2}}, metrics="mrr"))
    assert evaluate_run(run, qrels, metrics="mrr", tie_break="rank_column").per_user["mrr"].tolist() == [0.5, 0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"q1 Q0 d1 1 0.5 tag\nq1 Q0 d2 2 0.5\n", "line 2 has 5 fields, not the 6 of"),
        (b"q1 Q0 d1 1 high tag\n", 'line 1 has the score "high", which is no number'),
        (b"\n\nq1 Q0 \xff 1 0.5 tag\n", "line 3 is not UTF-8"),
        (gzip.compress(b"q1 Q0 d1 1 0.5 tag\n")[:-9], "cannot read"),
        (None, "cannot read"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path, text, part):
    path = tmp_path / "run.txt"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(errors.FileFormatError) as refused:
        evaluate_run(path, QRELS, metrics="mrr")
    assert part in str(refused.value)
    assert "run.txt" in str(refused.value)


def table(**columns_):
    return pl.DataFrame(columns_)


@pytest.mark.parametrize(
    ("run", "qrels", "error", "part"),
    [
        (RUN, {1: {"a": 1}}, errors.InvalidTypeError, "query ids are of different kinds: run has 'q2', qrels has 1"),
        ({"q": {1: 0.5}}, QRELS, errors.InvalidTypeError, "item ids are of different kinds: run has 1, qrels has 'b'"),
        (
            {"q": {1: 0.5, "a": 1}},
            QRELS,
            errors.InvalidTypeError,
            "run (items) has ids of both kinds, such as 1 and 'a'",
        ),
        ({"q": {(1,): 0.5}}, QRELS, errors.InvalidTypeError, "run (items) has the id (1,)"),
        ({"q": {2**63: 0.5}}, {"q": {1: 1}}, errors.InvalidTypeError, "beyond 64 bits"),
        ({"q": {"\ud83d": 0.5}}, QRELS, errors.InvalidTypeError, r"run (items) has the id '\ud83d', half a character"),
        ({"q": 0.5}, QRELS, errors.InvalidTypeError, "got float for 'q'"),
        ([("q", "a", 0.5)], QRELS, errors.InvalidTypeError, "got list"),
        (RUN, {}, errors.EmptyInputError, "qrels has no rows"),
        (
            {"q": {"a": float("nan")}},
            QRELS,
            errors.NonFiniteScoreError,
            "run has NaN or an infinity for item 'a' of query 'q'",
        ),
        (RUN, {"q1": {"b": -1}}, errors.GradeError, "qrels has the grade -1 for item 'b' of query 'q1'"),
        (RUN, {"q1": {"b": float("nan")}}, errors.GradeError, "grade nan"),
        ({"q": {"a": "high"}}, QRELS, errors.InvalidTypeError, "must hold numbers, each the score"),
        ({"q": {"a": 2**53 + 2}}, QRELS, errors.InvalidTypeError, "beyond 2^53"),
        (
            table(qid=["q", "r", "q"], docno=["a", "a", "a"], score=[1, 2, 3]),
            QRELS,
            errors.DuplicateItemError,
            "run has item 'a' of query 'q' twice",
        ),
        (
            table(qid=["a long query"] * 2, docno=["an even longer item"] * 2, score=[1, 2]),
            QRELS,
            errors.DuplicateItemError,
            "run has item 'an even longer item' of query 'a long query' twice",
        ),
        (
            RUN,
            table(qid=["q1", "q1"], docno=["b", "b"], label=[1, 0]),
            errors.DuplicateItemError,
            "qrels has item 'b' of query 'q1' twice",
        ),
        (
            table(qid=[1, 1], docno=[5, 5], score=[1, 2]),
            {3: {5: 1}},
            errors.DuplicateItemError,
            "run has item 5 of query 1 twice",
        ),
        (table(qid=["q", None], docno=["a", "b"], score=[1, 2]), QRELS, errors.InvalidTypeError, "no id at row 1"),
        (table(qid=[0.5], docno=["b"], score=[1]), QRELS, errors.InvalidTypeError, "the id 0.5"),
        (
            table(qid=["q"], docno=["b"]),
            QRELS,
            errors.InvalidParameterError,
            "no column for the score among 'qid', 'docno'",
        ),
        (
            table(qid=["q"], user=["q"], item=["b"], score=[1]),
            QRELS,
            errors.InvalidParameterError,
            "2 columns that could be the query",
        ),
        (
            table(qid=["q"], docno=["b"], rank=[1]),
            QRELS,
            errors.InvalidParameterError,
            "or pass tie_break='rank_column'",
        ),
        (table(qid=["q"], docno=["b"], score=["0.5"]), QRELS, errors.InvalidTypeError, "must hold numbers"),
        (
            table(qid=["q"] * 2, docno=["a", "b"], score=[0.5, None]),
            QRELS,
            errors.NonFiniteScoreError,
            "item 'b' of query 'q'",
        ),
    ],
)
def test_what_is_wrong_is_named(run, qrels, error, part):
    with pytest.raises(error) as refused:
        evaluate_run(run, qrels, metrics="mrr")
    assert part in str(refused.value)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"tie_break": "random"}, "tie_break must be one of"),
        ({"open_tie": "worst"}, "open_tie must be one of"),
        ({"tie_break": "trec_eval", "open_tie": "bounds"}, "breaks them all"),
        ({"tie_break": "rank_column"}, "run is a mapping, which has no rank column"),
        ({"columns": {"user": "uid"}}, "columns has 'user'"),
        ({"columns": "uid"}, "columns must map"),
        ({"metrics": "mrr@0"}, "at least 1"),
        (
            {"metrics": ERR(5, max_grade=1)},
            "qrels has the grade 2 for item 'b' of query 'q1', which is above max_grade",
        ),
    ],
)
def test_options_are_checked(options, part):
    with pytest.raises(errors.RankboundError) as refused:
        evaluate_run(RUN, QRELS, **{"metrics": "mrr", **options})
    assert part in str(refused.value)


def test_a_rank_is_taken_once():
    run = table(query=[1, 1, 1], item=[7, 8, 9], rank=[1, 3, 3])
    with pytest.raises(errors.InvalidParameterError, match="run has the rank 3 for item 9 of query 1, and for another"):
        evaluate_run(run, {1: {7: 1}}, metrics="mrr", tie_break="rank_column")


def test_queries_without_items_and_values_per_user():
    result = evaluate_run(RUN, {"q1": {"b": 1}, "q2": {}}, metrics="mrr", per_user_dtype="float32")
    assert (result.n_rows, result.n_scored_rows) == (2, 1)
    assert result.per_user["mrr"].dtype == np.float32
    assert evaluate_run(RUN, QRELS, metrics=NDCG(2), collect_per_user=False).per_user is None
    assert evaluate_run(RUN, QRELS, metrics="mrr", metadata={"model": "a"}).metadata == {"model": "a"}


def test_metrics_of_your_own_need_ranked_lists():
    class Own(RankingMetric):
        required_k = 1
        result_keys = ("own",)

        def reset(self):
            """Keep nothing."""

        def update(self, batch):
            return np.zeros((len(batch.target_counts), 1))

        def compute(self):
            return {"own": 0.0}

    with pytest.raises(errors.InvalidTypeError, match="evaluate_ranked_predictions"):
        evaluate_run(RUN, QRELS, metrics=Own())


@pytest.mark.parametrize("num_threads", [1, 2, 9])
def test_more_queries_than_a_worker_takes_at_once(num_threads):
    n = 3000
    queries = np.random.default_rng(0).permutation(n)
    run = pd.DataFrame({"query": queries, "item": queries % 7, "score": 1.0})
    qrels = pd.DataFrame(
        {"query": np.arange(n), "item": np.where(np.arange(n) % 3 == 0, np.arange(n) % 7, 8), "grade": 1}
    )
    result = evaluate_run(run, qrels, metrics="recall@1", num_threads=num_threads)
    assert result.per_user["recall@1"].tolist() == [float(query % 3 == 0) for query in range(n)]


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_thread_that_outlives_the_main_one_evaluates(num_threads):
    code = f"""
import threading, time
def job():
    threading.main_thread().join()
    from rankbound import evaluate_run
    result = evaluate_run({{"q": {{"d": 1.0}}}}, {{"q": {{"d": 1}}}}, metrics="recall@1", num_threads={num_threads})
    print(result["recall@1"])
threading.Thread(target=job).start()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.stdout, ended.stderr) == ("1.0\n", "")


@pytest.mark.parametrize("num_threads", [1, 2])
def test_what_stops_the_reading_of_the_run_is_raised_first(num_threads, monkeypatch):
    def interrupted(*_, value, **_options):
        if value == "score":
            raise KeyboardInterrupt
        return read_table(*_, value=value, **_options)

    monkeypatch.setattr("rankbound.evaluation.run.read_table", interrupted)
    twice = pd.DataFrame({"query": ["q", "q"], "item": ["d", "d"], "grade": [1, 1]})
    with pytest.raises(KeyboardInterrupt):
        evaluate_run(RUN, twice, metrics="recall@1", num_threads=num_threads)
    monkeypatch.undo()
    with pytest.raises(errors.DuplicateItemError, match="qrels has item 'd' of query 'q' twice"):
        evaluate_run(RUN, twice, metrics="recall@1", num_threads=num_threads)


@pytest.mark.parametrize(
    ("scores", "part"),
    [
        ({"a": 2**53, "b": 2**53 + 1, "c": 0.5}, "run has 9007199254740993 for item 'b' of query 'q'"),
        ({"a": 0.5, "b": True}, "run has True for item 'b' of query 'q'"),
        ({"a": 2, "b": True}, "run has True for item 'b' of query 'q'"),
    ],
)
def test_numbers_that_change_beside_others_are_named(scores, part):
    with pytest.raises(errors.InvalidTypeError, match=part):
        evaluate_run({"q": scores}, {"q": {"a": 1}}, metrics="mrr")
    assert evaluate_run({"q": {"a": 2**53, "b": 0.5}}, {"q": {"a": True, "b": 0.5}}, metrics="mrr")["mrr"] == 1
