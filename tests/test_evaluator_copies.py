"""Evaluators that travel: copies and pickles hold the same bits, in other processes as well."""

import copy
import multiprocessing
import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from rankbound import RankedLists, RankingEvaluator, _core, errors, evaluate_ranked_predictions
from rankbound.catalogue import CatalogueEvaluator, IntraListDiversity, Novelty
from rankbound.metrics import DCG, ERR, MAP, NDCG, RBP, RankingMetric

N_ROWS, N_ITEMS, WIDTH = 60, 30, 12
RNG = np.random.default_rng(4)
TARGETS = sparse.csr_array((RNG.random((N_ROWS, N_ITEMS)) < 0.2) * RNG.integers(1, 4, (N_ROWS, N_ITEMS)))
LISTS = RankedLists(
    np.argsort(RNG.random((N_ROWS, N_ITEMS)), axis=1)[:, :WIDTH],
    -np.sort(RNG.integers(-4, 0, (N_ROWS, WIDTH)).astype(np.float32), axis=1),
)
METRICS = [
    "hit_rate@3", "recall@5,9", NDCG(7, gain="exp2"), DCG(4, gain="linear"), MAP(6), "mrr@4", RBP(8),
    ERR(5, max_grade=3), "LogRBP@2", "LogRBP@11", "catalog_coverage@3", Novelty(4, counts=np.arange(1, N_ITEMS + 1)),
    IntraListDiversity(3, features=np.random.default_rng(1).random((N_ITEMS, 4))),
]  # fmt: skip


def filled(first, last, **options):
    evaluator = RankingEvaluator(METRICS, **{"open_tie": "as_listed"} | options)
    for begin in range(first, last, 7):
        end = min(begin + 7, last)
        evaluator.update(LISTS.rows(begin, end), TARGETS[begin:end])
    return evaluator


def pickled(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol=protocol))  # noqa: S301 - of our own


COPIES = {"deepcopy": copy.deepcopy, "pickle": pickled, "old pickle": partial(pickled, protocol=2)}


def same(one, other):
    """Equal to the last bit, NaN and -inf included."""
    assert one == other
    assert repr(one.ties) == repr(other.ties)
    for key, values in other.per_user.items():
        assert one.per_user[key].tobytes() == values.tobytes()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("options", [{}, {"per_user_dtype": "float32"}, {"debug": True}], ids=str)
def test_copies_merge_to_one_pass(how, options):
    travelled = [COPIES[how](filled(first, last, **options)) for first, last in ((0, 0), (0, 13), (13, 14), (14, 60))]
    merged = travelled[0]
    for part in travelled[1:]:
        merged.merge(part)
    same(COPIES[how](merged).compute(), filled(0, N_ROWS, **options).compute())


@pytest.mark.parametrize("how", COPIES)
def test_bounds_travel(how):
    metrics = [metric for metric in METRICS if metric != "catalog_coverage@3"][:10]
    parts = [RankingEvaluator(metrics, open_tie="bounds") for _ in range(2)]
    parts[0].update(LISTS.rows(0, 20), TARGETS[:20])
    parts[1].update(LISTS.rows(20, N_ROWS), TARGETS[20:])
    merged = COPIES[how](parts[0])
    merged.merge(COPIES[how](parts[1]))
    same(merged.compute(), evaluate_ranked_predictions(LISTS, TARGETS, metrics=metrics, open_tie="bounds"))


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_goes_its_own_way(how):
    evaluator = filled(0, 20)
    before = evaluator.compute()
    other = COPIES[how](evaluator)
    other.update(LISTS.rows(20, N_ROWS), TARGETS[20:])
    same(evaluator.compute(), before)
    same(other.compute(), filled(0, N_ROWS).compute())
    other.reset()
    same(evaluator.compute(), before)


def test_a_result_stays_read_only():
    result = filled(0, N_ROWS).compute()
    for how in COPIES.values():
        travelled = how(result)
        same(travelled, result)
        for array in (travelled.sample_ids, *travelled.per_user.values()):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7


class Hits(RankingMetric):
    required_k, result_keys = 2, ("hits",)

    def reset(self):
        self.hits = []

    def update(self, batch):
        self.hits.append(int(batch.hits[:, :2].sum()))
        return batch.hits[:, :2].sum(axis=1, keepdims=True).astype(float)

    def compute(self):
        return {"hits": float(sum(self.hits))}


def test_metrics_of_your_own_travel():
    evaluator = RankingEvaluator(Hits())
    evaluator.update(LISTS.rows(0, 9), TARGETS[:9])
    other = pickled(evaluator)
    for one in (evaluator, other):
        one.update(LISTS.rows(9, 30), TARGETS[9:30])
    same(other.compute(), evaluator.compute())
    assert other.compute()["hits"] > 0


def test_catalogue_evaluators_travel():
    whole, *parts = [CatalogueEvaluator(METRICS[-3:]) for _ in range(3)]
    whole.update(LISTS, TARGETS, open_tie="as_listed")
    for part, rows in zip(parts, (slice(0, 31), slice(31, None)), strict=True):
        part.update(RankedLists(LISTS.indices[rows], LISTS.scores[rows]), TARGETS[rows], open_tie="as_listed")
    for how in COPIES.values():
        merged = how(parts[0])
        merged.merge(how(parts[1]))
        assert merged.compute() == whole.compute()


def fill_elsewhere(evaluator, first, last):
    evaluator.update(LISTS.rows(first, last), TARGETS[first:last])
    return evaluator


def test_workers_send_evaluators_back():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        parts = pool.starmap(
            fill_elsewhere,
            [(RankingEvaluator(METRICS, open_tie="as_listed"), *bounds) for bounds in ((0, 25), (25, N_ROWS))],
        )
    parts[0].merge(parts[1])
    same(parts[0].compute(), filled(0, N_ROWS).compute())


def test_threads_are_those_of_the_machine_that_evaluates(monkeypatch):
    monkeypatch.setenv("RANKBOUND_NUM_THREADS", "1")
    evaluator = pickled(RankingEvaluator("recall@3", open_tie="as_listed"))
    used = []
    evaluate = _core.evaluate_lists
    monkeypatch.setattr(
        _core, "evaluate_lists", lambda *args, num_threads: used.append(num_threads) or evaluate(*args, num_threads=2)
    )
    monkeypatch.setenv("RANKBOUND_NUM_THREADS", "3")
    evaluator.update(LISTS, TARGETS)
    assert used == [3]


def test_damaged_sums_are_refused():
    words = np.zeros(4, dtype=np.uint64)
    with pytest.raises(errors.ShapeError, match="no stored sums of a metric"):
        _core.ListSums.restore([words])
    with pytest.raises(errors.ShapeError, match="no stored sums of groups"):
        _core.GroupSums.restore(words)
