"""Faults that were found by trying things: each input failed before its fix."""

import numpy as np
import pytest
from scipy import sparse

import rankbound
from rankbound import (
    EvaluationResult,
    RankedLists,
    RankingEvaluator,
    compare_pair,
    errors,
    evaluate_ranked_predictions,
    evaluate_run,
    evaluate_scores,
)
from rankbound.evaluation import collector
from rankbound.metrics import DCG, ERR, NDCG, RBP, RankingMetric, parse


class Constant(RankingMetric):
    """Returns what it is told to, in an array that it uses again."""

    required_k = 1
    result_keys = ("constant",)

    def __init__(self, computed=0.5):
        self.computed, self.buffer, self.n_batches = computed, np.zeros((2, 1)), 0

    def reset(self):
        self.n_batches = 0

    def update(self, batch):
        self.n_batches += 1
        self.buffer[: len(batch.hits)] = self.n_batches
        return self.buffer[: len(batch.hits)]

    def compute(self):
        return self.computed if self.computed is None else {"constant": self.computed}


LISTS, TARGETS = RankedLists([[0, 1], [1, 2]]), np.eye(3)[[0, 2]]


@pytest.mark.parametrize("grade", [1e-20, 1e-15, 1e-12, 1e-3])
def test_small_grades_keep_their_digits(grade):
    """The gain of a small grade g is g ln 2, to first order: 2^g - 1 as a difference has no digits of it."""
    gain = grade * np.log(2) * (1 + grade * np.log(2) / 2)
    metrics = [NDCG(2, gain="exp2"), DCG(2, gain="exp2"), ERR(2, max_grade=1)]
    found = evaluate_scores([[0.0, 1.0]], [[grade, 0.0]], metrics=metrics).per_user
    assert found["ndcg_exp2@2"][0] == pytest.approx(1 / np.log2(3), rel=1e-9)
    assert found["dcg_exp2@2"][0] == pytest.approx(gain / np.log2(3), rel=1e-6)
    assert found["err@2"][0] == pytest.approx(gain / 2 / 2, rel=1e-6, abs=1e-16)


def test_entries_are_checked_before_they_are_added_up():
    twice = sparse.coo_array(([1.0, -1.0], ([0, 0], [1, 1])), shape=(1, 2))
    with pytest.raises(errors.GradeError, match="grade -1 at row 0, item 1"):
        evaluate_scores([[0.0, 1.0]], twice, metrics="recall@1")
    large = sparse.coo_array((np.array([128, 128], dtype=np.uint8), ([0, 0], [1, 1])), shape=(1, 2))
    assert evaluate_scores([[0.0, 1.0]], large, metrics="recall@1")["recall@1"] == 1


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "float64", "uint8", "int64"])
def test_targets_of_every_type(dtype):
    for targets in (np.array([[0, 1]], dtype=dtype), np.array([[0, 1]], dtype=dtype, order="F")):
        assert evaluate_scores([[0.0, 1.0]], targets, metrics="recall@1")["recall@1"] == 1


def test_nothing_is_half_accumulated_by_an_interrupt(monkeypatch):
    evaluator = RankingEvaluator(["recall@1", Constant()])
    evaluator.update(LISTS, TARGETS)
    before = evaluator.compute()

    def interrupted(_, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(collector.Fingerprint, "of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            evaluator.update(LISTS, TARGETS)
    assert evaluator.compute() == before


def test_values_are_the_evaluators_own():
    evaluator = RankingEvaluator([Constant()])
    evaluator.update(LISTS, TARGETS)
    evaluator.update(LISTS, TARGETS)
    assert evaluator.compute().per_user["constant"].tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("field", ["hits", "target_counts", "indices", "scores", "lengths"])
def test_a_metric_of_your_own_cannot_change_what_others_read(field):
    class Writer(Constant):
        def update(self, batch):
            getattr(batch if hasattr(batch, field) else batch.predictions, field)[0] = 0
            return super().update(batch)

    indices = np.array([[1, 2], [2, 0]])
    lists = RankedLists(indices, scores=[[2.0, 1.0], [2.0, 1.0]], lengths=[2, 2])
    with pytest.raises(ValueError, match="read-only"):
        evaluate_ranked_predictions(lists, [[0, 1, 0], [1, 0, 0]], metrics=Writer())
    indices[0] = 0


@pytest.mark.parametrize(
    ("name", "value"), [("required_k", 0), ("required_k", "x"), ("result_keys", "x"), ("result_keys", ())]
)
def test_a_metric_that_describes_itself_badly_is_refused(name, value):
    metric = type("Bad", (Constant,), {name: value})()
    with pytest.raises(errors.RankboundError, match=f"Bad.{name}"):
        evaluate_ranked_predictions(LISTS, TARGETS, metrics=metric)


@pytest.mark.parametrize("computed", [None, "x"])
def test_a_metric_that_computes_no_number_is_refused(computed):
    with pytest.raises(errors.InvalidTypeError, match=r"Constant.compute returned"):
        evaluate_ranked_predictions(LISTS, TARGETS, metrics=Constant(computed))


def test_debug_rows_of_merged_evaluators_are_those_of_one():
    parts = [RankingEvaluator("recall@1", debug=True, debug_users=3) for _ in range(3)]
    for part in parts:
        part.update(LISTS, TARGETS)
    parts[0].merge(parts[1])
    parts[0].merge(parts[2])
    assert [row["user_row"] for row in parts[0].compute()["debug"]] == [0, 1, 2]


def test_only_the_mask_is_blamed_for_the_mask(recwarn):
    scores, targets = np.random.default_rng(0).random((2, 3)), np.eye(3)[[0, 1]]
    evaluate_scores(scores, targets, exclude=targets.astype(bool), mask=np.zeros(3, dtype=bool), metrics="recall@1")
    assert not len(recwarn)
    with pytest.warns(UserWarning, match="mask takes 2 of 2"):
        evaluate_scores(scores, targets, mask=np.array([True, True, False]), metrics="recall@1")


def test_a_mask_for_all_rows_is_the_same_as_one_per_row():
    rng = np.random.default_rng(1)
    scores, targets, mask = rng.random((4, 9)), rng.random((4, 9)) < 0.3, np.arange(9) > 6
    for exclude in (None, rng.random((4, 9)) < 0.2):
        results = [
            evaluate_scores(scores, targets, mask=one, exclude=exclude, metrics=["ndcg@3", "mrr@9"])
            for one in (mask, np.tile(mask, (4, 1)))
        ]
        assert results[0] == results[1]


def test_slices_that_name_nothing_are_refused():
    run, qrels = {1: {7: 1.0}}, {1: {7: 1}}
    with pytest.raises(errors.InvalidParameterError, match="none of which is an id such as 1"):
        evaluate_run(run, qrels, metrics="mrr@1", slices={"cold": {"1": True}})
    for slices in ({"cold": ("cols", [True, False])}, {"cold": [None, None]}):
        with pytest.raises(errors.RankboundError, match="cold"):
            evaluate_ranked_predictions(LISTS, TARGETS, metrics="mrr@1", slices=slices)


def test_values_with_other_parameters_are_not_compared():
    rng = np.random.default_rng(0)
    scores, targets = rng.random((9, 5)), np.eye(5)[np.arange(9) % 5]
    for one, other in ((RBP(3, patience=0.5), RBP(3)), (ERR(3, max_grade=1), ERR(3, max_grade=2))):
        results = [evaluate_scores(scores, targets, metrics=metric) for metric in (one, other)]
        key = one.result_keys[0]
        with pytest.raises(errors.ComparisonError, match=r"metrics\.parameters"):
            compare_pair(*results, key)
        with pytest.raises(errors.InvalidParameterError, match=r"metrics\.parameters"):
            results[0].movers(results[1], key)


def test_results_are_equal_when_everything_is(tmp_path):
    scores, targets = [[0.0, 1.0], [1.0, 0.0]], np.eye(2)
    result = evaluate_scores(scores, targets, metrics=["recall@1"], sample_ids=["a", "b"])
    assert result != evaluate_scores(scores, targets, metrics=["recall@1"], sample_ids=["a", "c"])
    assert result != evaluate_scores(scores[::-1], targets[::-1], metrics=["recall@1"], sample_ids=["a", "b"])
    empty = evaluate_scores(scores, np.zeros((2, 2)), metrics=["recall@1"])
    for one in (result, empty):
        one.save(tmp_path / "saved.npz")
        assert EvaluationResult.load(tmp_path / "saved.npz") == one
    with pytest.raises(errors.InvalidTypeError, match="path"):
        EvaluationResult.load(None)


def test_single_precision_values_can_be_compared():
    rng = np.random.default_rng(2)
    targets = np.eye(7)[rng.integers(7, size=50)]
    results = [
        evaluate_scores(rng.random((50, 7)), targets, metrics="ndcg@7", per_user_dtype="float32") for _ in range(2)
    ]
    assert compare_pair(*results, "ndcg@7").n_samples == 50


def test_runs_of_other_lengths_can_be_compared():
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    runs = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 1.0}}, {"q1": {"a": 2.0}, "q2": {"b": 1.0}}
    results = [evaluate_run(run, qrels, metrics="recall@1") for run in runs]
    assert compare_pair(*results, "recall@1").difference == 0


def test_a_byte_order_mark_is_no_part_of_an_id(tmp_path):
    (tmp_path / "run.txt").write_bytes(b"\xef\xbb\xbfq1 Q0 a 1 1 t\n")
    (tmp_path / "qrels.txt").write_bytes(b"q1 0 a 1\n")
    assert evaluate_run(tmp_path / "run.txt", tmp_path / "qrels.txt", metrics="mrr@1")["mrr@1"] == 1


@pytest.mark.parametrize("score", [np.inf, -np.inf, np.nan])
def test_scores_of_runs_are_finite(score):
    with pytest.raises(errors.NonFiniteScoreError, match=r"'a' of query 'q'"):
        evaluate_run({"q": {"a": score}}, {"q": {"a": 1}}, metrics="mrr@1")


def test_a_column_that_is_not_there_is_not_guessed():
    table = {"query": [1], "item": [2], "score": [1.0]}
    frame = pytest.importorskip("pandas").DataFrame(table)
    with pytest.raises(errors.InvalidParameterError, match="no column 'scroe'"):
        evaluate_run(frame, {1: {2: 1}}, metrics="mrr@1", columns={"score": "scroe"})


@pytest.mark.parametrize("shape", [None, (5,), (3, 5)])
def test_the_shape_of_predictions_is_checked(shape):
    predictions = type("Predictions", (), {"cols": np.array([[0]]), "vals": np.array([[1.0]]), "shape": shape})()
    with pytest.raises(errors.ShapeError, match="shape"):
        evaluate_ranked_predictions(predictions, np.eye(5)[:1], metrics="mrr@1")


def test_options_of_labels():
    with pytest.raises(errors.InvalidParameterError, match="twice"):
        parse("rbp[patience=0.5,patience=0.6]")
    with pytest.raises(errors.InvalidTypeError, match="patience"):
        RBP(patience=np.array([0.5, 0.6]))


def test_every_module_is_reachable():
    assert rankbound.compat.sklearn.ndcg_score([[1, 0]], [[0.5, 0.1]]) == 1


@pytest.mark.parametrize("run", [{"q9": {"a": 1.0}}, {}])
def test_a_run_that_shares_no_query_is_told(run):
    with pytest.warns(errors.ReliabilityWarning, match="no query of qrels, such as 'q1'"):
        assert evaluate_run(run, {"q1": {"a": 1}}, metrics="mrr@1")["mrr@1"] == 0
