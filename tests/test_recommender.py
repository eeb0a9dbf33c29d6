"""Models evaluated batch by batch, metrics of one's own, and evaluators as streams."""

import logging
import threading
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rankbound import RankedLists, RankingEvaluator, evaluate_ranked_predictions, evaluate_recommender
from rankbound.errors import (
    InvalidKError,
    InvalidParameterError,
    InvalidTypeError,
    ReliabilityWarning,
    ShapeError,
)
from rankbound.metrics import NDCG, RankingMetric, Recall

N_ROWS, N_ITEMS, N_FEATURES = 23, 12, 5
RNG = np.random.default_rng(5)
SOURCE = RNG.integers(0, 3, (N_ROWS, N_FEATURES))
TARGETS = RNG.choice([0, 0, 0, 1, 2], (N_ROWS, N_ITEMS))
TARGETS[[3, 22]] = 0
WEIGHTS = RNG.integers(0, 4, (N_FEATURES, N_ITEMS))
METRICS = ["recall@1,5", NDCG(3, gain="exp2")]


class Linear:
    """Scores items by the features of a row, many alike, and answers with all that tie with the last."""

    def __init__(self):
        self.calls = []

    def predict_on_batch(self, source, *, k):
        rows = np.asarray(source.toarray() if sparse.issparse(source) else source)
        self.calls.append((len(rows), k))
        scores = rows @ WEIGHTS
        order = np.argsort(-scores, axis=1, kind="stable")
        return RankedLists(order, scores=np.take_along_axis(scores, order, axis=1), n_items=N_ITEMS)


def evaluate(model=None, **options):
    given = {"source": SOURCE, "targets": TARGETS, "metrics": METRICS} | options
    return evaluate_recommender(model or Linear(), **given)


def facts(result):
    values = {key: column.tolist() for key, column in (result.per_user or {}).items()}
    numbers = (result.metrics, result.ties, result.slices, result.n_rows, result.required_k)
    return repr((numbers, values, None if result.sample_ids is None else result.sample_ids.tolist(), result.debug_rows))


@pytest.mark.parametrize("batch_size", [1, 2, 7, 22, 23, 1000])
def test_batch_sizes_do_not_matter(batch_size):
    model = Linear()
    slices = {"half": np.arange(N_ROWS) < 11, "genre": ("items", np.arange(N_ITEMS) % 2)}
    options = {"sample_ids": [f"u{row // 2}" for row in range(N_ROWS)], "slices": slices, "debug": True}
    result = evaluate(model, batch_size=batch_size, **options)
    whole = evaluate_ranked_predictions(Linear().predict_on_batch(SOURCE, k=5), TARGETS, metrics=METRICS, **options)
    assert facts(result) == facts(whole)
    assert result.target_fingerprint == whole.target_fingerprint
    assert result.protocol == whole.protocol
    sizes, depths = zip(*model.calls, strict=True)
    assert set(depths) == {5}
    assert max(sizes) <= batch_size
    assert sum(sizes) == N_ROWS
    assert len(sizes) == -(-N_ROWS // batch_size)


SOURCES = {
    "csr": sparse.csr_array(SOURCE),
    "csr matrix": sparse.csr_matrix(SOURCE),
    "lists": SOURCE.tolist(),
    "frame": pd.DataFrame(SOURCE),
    "frame without columns": pd.DataFrame(SOURCE, columns=[f"f{at}" for at in range(N_FEATURES)], index=SOURCE[:, 0]),
}


@pytest.mark.parametrize("source", SOURCES)
def test_anything_with_rows_is_a_source(source):
    assert facts(evaluate(source=SOURCES[source], batch_size=4)) == facts(evaluate())


def test_aggregates_alone():
    result = evaluate(collect_per_user=False, batch_size=4)
    assert result.per_user is None
    assert repr(result.metrics) == repr(evaluate().metrics)


class Lines:
    """A logger that keeps what it is told, and fails when it is told so."""

    def __init__(self, fails_at=None):
        self.lines, self.fails_at = [], fails_at

    def info(self, line):
        if len(self.lines) == self.fails_at:
            raise OSError("disk full")
        self.lines.append(line)


def test_a_logger_hears_start_end_and_every_n_batches(capsys):
    logger = Lines()
    result = evaluate(logger=logger, batch_size=5, log_every_n_steps=2, show_progress=True)
    starts = ["started: 23 rows in 5 batches of 5", "batch 2 of 5, ", "batch 4 of 5, ", "finished: 23 rows in "]
    assert len(logger.lines) == len(starts)
    for line, start in zip(logger.lines, starts, strict=True):
        assert line.startswith(f"evaluate recommender@5 {start}")
    # It wins over the bar.
    assert capsys.readouterr() == ("", "")
    assert facts(result) == facts(evaluate())
    quiet = Lines()
    evaluate(logger=quiet, batch_size=5, log_every_n_steps=0)
    assert len(quiet.lines) == 2


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_a_failing_logger_is_not_called_again(fails_at):
    logger = Lines(fails_at)
    with pytest.warns(UserWarning, match="logger failed and is not used again: OSError: disk full") as caught:
        result = evaluate(logger=logger, batch_size=5, log_every_n_steps=1)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert len(logger.lines) == fails_at
    assert facts(result) == facts(evaluate())


def test_loggers_of_the_standard_library(caplog):
    with caplog.at_level(logging.INFO):
        evaluate(logger=logging.getLogger("evaluation"))
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "evaluate recommender@5 started",
        "evaluate recommender@5 finished",
    ]


def test_a_bar_counts_batches(capsys):
    result = evaluate(show_progress=True, batch_size=5)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "5/5" in shown.err
    assert facts(result) == facts(evaluate())


def test_what_a_model_raises_is_its_own():
    class Broken:
        def predict_on_batch(self, _source, *, k):
            raise ZeroDivisionError(f"of the model for {k}")

    with pytest.raises(ZeroDivisionError, match="of the model"):
        evaluate(Broken())


def test_details_of_the_first_lists():
    lists = [[0, 3, 1], [1, 2, 3], [2, 0, 1], [3, 2, 0]]
    targets = [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 1, 1]]
    result = evaluate_ranked_predictions(lists, targets, metrics="ndcg@3", debug=True, debug_users=3)
    first, third = result["debug"]
    ideal = 1 + 1 / np.log2(3)
    assert first == {
        "user_row": 0, "n_true": 2, "n_hits_topk": 2, "first_hit_rank": 1, "hit_ranks": [1, 3], "dcg": 1.5,
        "idcg": pytest.approx(ideal), "ndcg": pytest.approx(1.5 / ideal),
    }  # fmt: skip
    assert third == {
        "user_row": 2, "n_true": 1, "n_hits_topk": 0, "first_hit_rank": None, "hit_ranks": [], "dcg": 0.0, "idcg": 1.0,
        "ndcg": 0.0,
    }  # fmt: skip
    assert [row["ndcg"] for row in (first, third)] == pytest.approx(result.per_user["ndcg@3"][:2].tolist())
    assert "debug" not in evaluate_ranked_predictions(lists, targets, metrics="ndcg@3")
    evaluator = RankingEvaluator("ndcg@3", debug=True, debug_users=3)
    for row in range(4):
        evaluator.update([lists[row]], [targets[row]])
    assert evaluator.compute()["debug"] == result["debug"]


class FirstHit(RankingMetric):
    """Place of the first hit in the top 3, 4 without one, under two names."""

    result_keys = ("place", "place squared")
    returns = None

    def __init__(self):
        self.places = []

    @property
    def required_k(self):
        return 3

    def reset(self):
        self.places = []

    def update(self, batch):
        hits = batch.hits[:, :3]
        assert (batch.predictions.indices.shape, len(batch.target_counts)) == (batch.hits.shape, len(hits))
        places = np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 4).astype(np.float32)
        self.places += places[batch.target_counts > 0].tolist()
        values = np.stack([places, places**2], axis=1)
        values[batch.target_counts == 0] = np.nan
        return values if self.returns is None else self.returns(values)

    def compute(self):
        places = np.array(self.places)
        return {"place": float(places.mean()), "place squared": float((places**2).mean())}


def places_of(lists):
    hits = np.take_along_axis(TARGETS > 0, lists.indices, axis=1)
    return [
        next((at + 1 for at in range(3) if row[at]), 4) for row, truth in zip(hits, TARGETS, strict=True) if truth.any()
    ]


def test_metrics_of_your_own():
    lists = Linear().predict_on_batch(SOURCE, k=5)
    expected = places_of(lists)
    own = FirstHit()
    result = evaluate(metrics=[own, "recall@5"], batch_size=4, slices={"low": np.arange(N_ROWS) < 10})
    assert list(result) == ["recall@5", "place", "place squared", "n_scored_rows", "n_units"]
    assert result.per_user["place"].tolist() == expected
    assert result["place"] == pytest.approx(np.mean(expected), rel=1e-15)
    assert result["place squared"] == pytest.approx(np.mean(np.square(expected)), rel=1e-15)
    assert set(result.ties) == {"recall@5"}
    assert result.required_k == 5
    assert result.protocol["metrics"]["labels"] == ["recall@5", "FirstHit"]
    low = [place for place, row in zip(expected, result.sample_ids, strict=True) if row < 10]
    assert result.slices["low"]["place"] == pytest.approx(np.mean(low), rel=1e-15)
    # Each evaluation begins anew.
    again = evaluate_ranked_predictions(lists, TARGETS, metrics=[own, "recall@5"])
    assert again["place"] == result["place"]


@pytest.mark.parametrize(
    ("returns", "error", "message"),
    [
        (lambda values: values[:, 0], ShapeError, r"FirstHit.update returned shape \(23,\); it must return \(23, 2\)"),
        (lambda values: values[:-1], ShapeError, r"shape \(22, 2\)"),
        (lambda values: values[:, :1], ShapeError, "one column per key"),
        (lambda _: None, ShapeError, r"shape \(\)"),
        (lambda values: np.nan_to_num(values).astype(int), InvalidTypeError, "returned dtype int64"),
        (lambda values: values.astype(object), InvalidTypeError, "returned dtype object"),
        (lambda values: np.where(np.eye(23, 2, -5), np.nan, values), InvalidParameterError, "nan for 'place' at row 5"),
        (lambda values: values + np.array([0, np.inf]), InvalidParameterError, "inf for 'place squared' at row 0"),
    ],
)  # fmt: skip
def test_what_a_metric_of_your_own_returns_is_checked(returns, error, message, monkeypatch):
    evaluator = RankingEvaluator([FirstHit(), "recall@5"])
    lists = Linear().predict_on_batch(SOURCE, k=5)
    evaluator.update(lists, TARGETS)
    before = facts(evaluator.compute())
    with monkeypatch.context() as patch:
        patch.setattr(FirstHit, "returns", staticmethod(returns))
        with pytest.raises(error, match=message):
            evaluator.update(lists, TARGETS)
    assert facts(evaluator.compute()) == before
    evaluator.update(lists, TARGETS)
    assert evaluator.compute().n_rows == 2 * N_ROWS
    assert evaluator.compute()["place"] == pytest.approx(np.mean(places_of(lists)), rel=1e-15)


def test_evaluations_share_a_metric_of_your_own_without_sharing_its_state():
    lists = Linear().predict_on_batch(SOURCE, k=5)
    own = FirstHit()
    own.places = ["kept"]
    first = RankingEvaluator(own)
    first.update(lists, TARGETS)
    expected = facts(first.compute())
    second = RankingEvaluator(own)
    second.update(lists.rows(0, 3), TARGETS[:3])
    evaluate_ranked_predictions(lists, TARGETS, metrics=own)
    assert facts(first.compute()) == expected
    assert own.places == ["kept"]
    own.lock = threading.Lock()
    with pytest.raises(InvalidTypeError, match=r"metrics has FirstHit, which cannot be copied .*lock"):
        RankingEvaluator(own)


def test_metrics_of_your_own_where_they_cannot_be():
    lists = Linear().predict_on_batch(SOURCE, k=5)
    with pytest.raises(InvalidParameterError, match=r"FirstHit, a metric of your own, .* group of items 'genre=0'"):
        evaluate_ranked_predictions(
            lists, TARGETS, metrics=[FirstHit()], slices={"genre": ("items", np.arange(N_ITEMS) % 2)}
        )
    short = RankedLists(lists.indices[:, :2])
    with pytest.raises(InvalidKError, match=r"metrics has FirstHit, which looks at 3 places, .* lists of 2"):
        evaluate_ranked_predictions(short, TARGETS, metrics=[FirstHit()])


@pytest.mark.parametrize("key", ["recall@5", "n_units", "debug", "sample_id", "LogRBP.n"])
def test_keys_are_taken_once(key):
    own = FirstHit()
    own.result_keys = ("place", key)
    with pytest.raises(InvalidParameterError, match=f"'{key}'"):
        RankingEvaluator([own, Recall(5), "LogRBP"])


def test_results_with_any_key_are_saved(tmp_path):
    own = FirstHit()
    own.result_keys = ("place", "places.n")
    own.compute = lambda: {"place": 1.0, "places.n": 2.0}
    result = evaluate(metrics=[own, "LogRBP@3"])
    result.save(tmp_path / "result.npz")
    assert facts(type(result).load(tmp_path / "result.npz")) == facts(result)
    own.compute = lambda: {"place": 1.0}
    with pytest.raises(InvalidParameterError, match=r"FirstHit.compute returned no 'places.n'"):
        evaluate(metrics=[own])


def test_rows_are_numbered_through_batches_and_merges():
    lists = Linear().predict_on_batch(SOURCE, k=5)
    whole = evaluate_ranked_predictions(lists, TARGETS, metrics=METRICS)

    def piece(*bounds):
        evaluator = RankingEvaluator(METRICS)
        for first, last in pairwise(bounds):
            evaluator.update(lists.rows(first, last), TARGETS[first:last])
        return evaluator

    merged, rest, empty = piece(0, 4, 9), piece(9, 10, 23), piece(5, 5)
    for other in (empty, rest):
        merged.merge(other)
    assert facts(merged.compute()) == facts(whole)
    assert merged.compute().n_units == whole.n_units == 21
    assert rest.compute().sample_ids.tolist() == list(range(13))
    merged.reset()
    with pytest.warns(ReliabilityWarning, match="no list was added"):
        assert merged.compute().n_rows == 0
    merged.update(lists, TARGETS, sample_ids=np.arange(N_ROWS))
    assert facts(merged.compute()) == facts(whole)


def test_evaluators_in_threads():
    lists = Linear().predict_on_batch(SOURCE, k=5)
    evaluators = [RankingEvaluator(METRICS, num_threads=1) for _ in range(4)]
    threads = [threading.Thread(target=evaluator.update, args=(lists, TARGETS)) for evaluator in evaluators]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({facts(evaluator.compute()) for evaluator in evaluators}) == 1
