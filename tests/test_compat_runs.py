"""The drop-ins of pytrec_eval and ranx: expectations over orders by enumeration, and refusals."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import oracle
from rankbound.compat import pytrec_eval, ranx
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    GradeError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
)

DOCUMENTS = st.sampled_from("abcdef")


def dcg(grades, exponential):
    gains = [(2**grade - 1 if exponential else grade) for grade in grades]
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def values_of_order(order, grades, n_listed, k, level):
    """Return the measures of one order, as their definitions read."""
    cut = order[:k]
    relevant = {document for document, grade in grades.items() if grade >= level}
    hits = [document in relevant for document in cut]
    n_relevant = len(relevant)
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    precisions = [Fraction(place, rank) for place, rank in enumerate(ranks, 1)]
    depth = n_listed if k is None else k
    gains = {
        name: (
            dcg([grades[document] if hit else 0 for document, hit in zip(cut, hits, strict=True)], exponential),
            dcg(sorted((grades[document] for document in relevant), reverse=True)[:k], exponential),
        )
        for name, exponential in (("", False), ("_burges", True))
    }
    share = {
        "hits": Fraction(sum(hits)),
        "hit_rate": Fraction(any(hits)),
        "precision": Fraction(sum(hits), depth or 1),
        "recall": Fraction(sum(hits), n_relevant or 1),
        "f1": Fraction(2 * sum(hits), (depth + n_relevant) or 1),
        "mrr": Fraction(1, ranks[0]) if ranks else Fraction(0),
        "map": sum(precisions, Fraction(0)) / (n_relevant or 1),
        "r-precision": Fraction(sum(document in relevant for document in order[:n_relevant]), n_relevant or 1),
        "rbp.8": sum(0.2 * 0.8**rank for rank, document in enumerate(order) if document in relevant),
    }
    return (
        {name: float(value) for name, value in share.items()}
        | {f"dcg{name}": value for name, (value, _) in gains.items()}
        | {f"ndcg{name}": value / ideal if ideal else 0.0 for name, (value, ideal) in gains.items()}
    )


def expected_values(run, grades, k, level):
    documents = list(run)
    orders = [[documents[place] for place in order] for order in oracle.orders(run.values())]
    values = [values_of_order(order, grades, len(documents), k, level) for order in orders]
    return {name: math.fsum(of[name] for of in values) / len(values) for name in values[0]}


@settings(max_examples=80, deadline=None)
@given(
    run=st.dictionaries(DOCUMENTS, st.integers(0, 2), max_size=5),
    grades=st.dictionaries(DOCUMENTS, st.integers(-1, 3), min_size=1, max_size=5),
    k=st.integers(1, 6),
    level=st.integers(1, 2),
)
def test_measures_by_enumeration(run, grades, k, level):
    whole, cut = (expected_values(run, grades, of, level) for of in (None, k))
    whole_set = {f"{name}-l{level}": value for name, value in whole.items()}
    at_cut = {f"{name}@{k}-l{level}": value for name, value in cut.items() if name not in {"rbp.8", "r-precision"}}
    found = ranx.evaluate({"q": grades}, {"q": run}, [*whole_set, *at_cut])
    assert found == pytest.approx(whole_set | at_cut, rel=1e-13, abs=1e-15)

    measures = {
        "map": whole["map"],
        "recip_rank": whole["mrr"],
        "Rprec": whole["r-precision"],
        f"map_cut_{k}": cut["map"],
        f"P_{k}": cut["precision"],
        f"recall_{k}": cut["recall"],
        f"success_{k}": cut["hit_rate"],
        "set_recall": whole["recall"],
        "set_P": whole["precision"],
        "set_F": whole["f1"],
        "num_rel_ret": whole["hits"],
        # Grades below the level are gains too.
        "ndcg": expected_values(run, grades, None, 1)["ndcg"],
        f"ndcg_cut_{k}": expected_values(run, grades, k, 1)["ndcg"],
    }
    evaluator = pytrec_eval.RelevanceEvaluator({"q": grades}, measures, relevance_level=level)
    assert evaluator.evaluate({"q": run})["q"] == pytest.approx(measures, rel=1e-13, abs=1e-15)


QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d2": 2}, "q3": {"d1": 0}, "q4": {}}
RUN = {"q2": {"d1": 0.5, "d2": 0.5}, "q1": {"d1": 0.9, "d3": 0.1, "d2": 0.0}, "q9": {"d1": 1.0}, "q3": {"d1": 1.0}}


def test_evaluator_takes_queries_that_both_have():
    found = pytrec_eval.RelevanceEvaluator(QRELS, {"num_q", "num_ret", "num_nonrel_judged_ret", "recip_rank"})
    assert found.evaluate(RUN) == {
        "q2": {"num_nonrel_judged_ret": 0.0, "num_q": 1.0, "num_ret": 2.0, "recip_rank": 0.75},
        "q1": {"num_nonrel_judged_ret": 1.0, "num_q": 1.0, "num_ret": 3.0, "recip_rank": 1.0},
        "q3": {"num_nonrel_judged_ret": 1.0, "num_q": 1.0, "num_ret": 1.0, "recip_rank": 0.0},
    }
    judged = pytrec_eval.RelevanceEvaluator(QRELS, {"num_ret"}, judged_docs_only_flag=True)
    assert judged.evaluate(RUN)["q1"] == {"num_ret": 2.0}
    assert found.evaluate({"other": {"d": 1.0}}) == {}


def test_names_of_measures():
    def names(*measures):
        return list(pytrec_eval.RelevanceEvaluator(QRELS, measures).evaluate(RUN)["q1"])

    assert names("P_5", "P.7,9", "map") == ["P_5", "P_7", "P_9", "map"]
    assert names("success") == ["success_1", "success_10", "success_5"]
    assert names("set_F.0.5") == ["set_F"]
    for wrong in ("bpref", "P_x", "P.0", "P.1.5", "map.3", 5):
        with pytest.raises(InvalidParameterError, match="measures has"):
            names(wrong)
    with pytest.raises(InvalidParameterError, match="several parameters"):
        names("set_F.1,2")
    with pytest.raises(InvalidTypeError, match="iterable of names"):
        pytrec_eval.RelevanceEvaluator(QRELS, "map")


@pytest.mark.parametrize(
    ("qrels", "run", "error", "message"),
    [
        ({"q": {"d": 1}}, {1: {"d": 1.0}}, InvalidTypeError, "query id 1; ids must be strings"),
        ({"q": {1: 1}}, {"q": {"d": 1.0}}, InvalidTypeError, "document id 1; ids must be strings"),
        ({"q": ["d"]}, {"q": {"d": 1.0}}, InvalidTypeError, "must map documents to numbers, got list"),
        ({"q": {"d": 1}}, [], InvalidTypeError, "must map query ids to a dict"),
        ({"q": {"d": 1}}, {"q": {"d": math.nan}}, NonFiniteScoreError, "document 'd' has the score nan"),
        ({"q": {"d": 1}}, {"q": {"d": "1"}}, InvalidTypeError, "has the score '1': not a number"),
        ({"q": {"d": math.inf}}, {"q": {"d": 1.0}}, GradeError, "document 'd' has the grade inf"),
    ],
)
def test_refused_data(qrels, run, error, message):
    with pytest.raises(error, match=message):
        pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    with pytest.raises(error, match=message):
        ranx.evaluate(qrels, run, "map")


def test_ranx_returns():
    qrels, run = {"b": {"d": 1}, "a": {"e": 1}}, ranx.Run({"b": {"d": 1, "e": 2}, "a": {"e": 1}})
    assert ranx.evaluate(qrels, run, "mrr") == 0.75
    assert ranx.evaluate(qrels, run, "mrr", return_mean=False).tolist() == [1.0, 0.5]
    assert ranx.evaluate(qrels, run, ["mrr"], return_std=True) == {"mean": 0.75, "std": 0.25}
    assert (run.mean_scores, run.std_scores, run.scores) == (
        {"mrr": 0.75},
        {"mrr": 0.25},
        {"mrr": {"a": 1.0, "b": 0.5}},
    )
    ranx.evaluate(qrels, run, "hits@0", save_results_in_run=False)
    assert list(run.scores) == ["mrr"]


def test_ranx_queries_must_match():
    qrels = ranx.Qrels({"q1": {"d1": 1}, "q2": {"d2": 1}})
    run = ranx.Run({"q1": {"d1": 1.0}, "q3": {"d1": 1.0}})
    with pytest.raises(InvalidParameterError, match="qrels has the query 'q2', which run has not"):
        ranx.evaluate(qrels, run, "mrr")
    with pytest.raises(InvalidParameterError, match="run has the query 'q3', which qrels has not"):
        ranx.evaluate(qrels, {"q1": {}, "q2": {}, "q3": {}}, "mrr")
    assert ranx.evaluate(qrels, run, "mrr", make_comparable=True) == 0.5
    assert list(run.keys()) == ["q1", "q3"]
    assert run.make_comparable(qrels).to_dict() == {"q1": {"d1": 1.0}, "q2": {}}
    with pytest.raises(EmptyInputError):
        ranx.evaluate({}, {}, "mrr")


@pytest.mark.parametrize("metric", ["bpref", "ndcg@", "rbp", "rbp.95@5", "mrr.5", "map-l0", "NDCG", 3])
def test_ranx_refuses_metrics(metric):
    with pytest.raises(InvalidParameterError, match="metrics has"):
        ranx.evaluate({"q": {"d": 1}}, {"q": {"d": 1}}, [metric])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_documents_from_tables(backend):
    columns = {"q_id": ["q1", "q2", "q1"], "doc_id": ["d1", "d1", "d2"], "score": [1.0, 2.0, 3.0]}
    table = columns if backend is None else _table(columns, backend)
    assert ranx.Run.from_df(table, name="r").to_dict() == {"q1": {"d1": 1.0, "d2": 3.0}, "q2": {"d1": 2.0}}
    columns["doc_id"][2] = "d1"
    with pytest.raises(DuplicateItemError, match="document 'd1' again at row 2"):
        ranx.Qrels.from_df(columns)


def _table(columns, backend):
    import narwhals as nw

    return nw.from_dict(columns, backend=backend).to_native()


def test_documents():
    run = ranx.Run(name="r")
    run.add_score("q2", "d", 1)
    run.add_multi(["q1"], [["d", "e"]], [[0.5, 0.25]])
    assert (len(run), run.size, run.get_query_ids(), run["q1"]) == (2, 2, ["q1", "q2"], {"d": 0.5, "e": 0.25})
    assert repr(run) == "<Run 'r' of 2 queries>"
    copy = ranx.Run.from_dict(run.to_dict())
    copy.add_score("q1", "d", 7)
    assert run["q1"]["d"] == 0.5
    with pytest.raises(ShapeError, match="2 documents, but 1 numbers"):
        run.add("q", ["d", "e"], [1])
    with pytest.raises(DuplicateItemError, match="a document twice"):
        run.add("q", ["d", "d"], [1, 2])
    with pytest.raises(InvalidTypeError, match="ids must be strings"):
        run.add_score(1, "d", 1)


@pytest.fixture
def three_runs():
    rng = np.random.default_rng(1)
    qrels = {f"q{query:02}": {f"d{d}": int(rng.integers(0, 3)) for d in range(6)} for query in range(30)}
    runs = [
        ranx.Run(
            {q: {d: grade * skill + rng.integers(0, 3) for d, grade in judged.items()} for q, judged in qrels.items()},
            name=None if skill else "random",
        )
        for skill in (0, 1, 5)
    ]
    return qrels, runs


def test_compare(three_runs, tmp_path):
    qrels, runs = three_runs
    report = ranx.compare(qrels, runs, ["ndcg@3", "precision@2-l2"])
    assert report.model_names == ["random", "run_2", "run_3"]
    values = [ranx.evaluate(qrels, run, "ndcg@3", return_mean=False) for run in runs]
    found = report.comparisons[frozenset(("random", "run_2"))]["ndcg@3"]
    assert found["p_value"] == pytest.approx(stats.ttest_rel(values[0], values[1]).pvalue, rel=1e-9)
    assert found["significant"] == (found["p_value"] <= 0.01)
    outcome = report.win_tie_loss["run_3", "random"]["ndcg@3"]
    assert outcome == {
        "W": int((values[2] > values[0]).sum()),
        "T": int((values[2] == values[0]).sum()),
        "L": int((values[2] < values[0]).sum()),
    }
    report.save(tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["random"]["comparisons"]["run_2"]["ndcg@3"] == found["p_value"]
    assert document["run_3"]["scores"] == report.results["run_3"]
    head, _, *rows = str(report).splitlines()
    assert head.split() == ["#", "Model", "NDCG@3", "P@2-l2"]
    assert [row.split()[:2] for row in rows] == [["a", "random"], ["b", "run_2"], ["c", "run_3"]]
    # The best run is significantly better than the random one in both.
    assert all("ᵃ" in cell for cell in rows[2].split()[2:])
    assert "ᵇ" not in rows[0]
    percent = ranx.compare(qrels, runs, "ndcg@3", stat_test="fisher", show_percentages=True)
    assert f"{100 * report.results['run_3']['ndcg@3']:.1f}ᵃ" in str(percent)
    assert percent.comparison[0].test_method == "randomization"


def test_compare_refuses(three_runs):
    qrels, runs = three_runs
    with pytest.raises(InvalidParameterError, match=r"runs has 0 run\(s\)"):
        ranx.compare(qrels, [], "mrr")
    with pytest.raises(InvalidParameterError, match="stat_test must be one of 'student', 'fisher', got 'tukey'"):
        ranx.compare(qrels, runs, "mrr", stat_test="tukey")
    with pytest.raises(InvalidTypeError, match="runs must hold Run objects, got dict at place 1"):
        ranx.compare(qrels, [runs[0].to_dict()], "mrr")
    with pytest.raises(DuplicateItemError, match="the name 'random' twice"):
        ranx.compare(qrels, [runs[0], runs[0]], "mrr")


def test_integers_that_floats_merge_are_refused():
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"recip_rank"})
    with pytest.raises(InvalidTypeError, match=r"scores beyond 2\^53"):
        evaluator.evaluate({"q": {"a": 2**60, "b": 2**60 + 1}})
    assert evaluator.evaluate({"q": {"a": 2**53 - 1, "b": 2**53}}) == {"q": {"recip_rank": 0.5}}
