"""Groups of items: the values against their relevant items alone, from one reading of the input."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from rankbound import (
    RankedLists,
    _core,
    evaluate_embeddings,
    evaluate_ranked_predictions,
    evaluate_recommender,
    evaluate_run,
    evaluate_scores,
)
from rankbound.errors import ReliabilityWarning
from rankbound.evaluation import collector as collector_module
from rankbound.evaluation.plan import as_plan
from rankbound.evaluation.ranked import ListCollector, ListOptions
from rankbound.evaluation.slices import as_slices
from rankbound.evaluation.targets import as_targets
from rankbound.metrics import ERR, NDCG, RankingMetric
from rankbound.protocols import recommendation_lists

N_ROWS, N_ITEMS = 37, 30
METRICS = ["recall@4", "map@6", "mrr@8", NDCG(5, gain="exp2"), ERR(7, max_grade=3), "LogRBP@9", "r_precision"]
RNG = np.random.default_rng(8)
# Whole numbers, so that many tie, also across groups.
QUERIES = RNG.integers(-2, 3, (N_ROWS, 4)).astype(np.float32)
ITEMS = RNG.integers(-2, 3, (N_ITEMS, 4)).astype(np.float32)
SCORES = QUERIES @ ITEMS.T
TARGETS = RNG.integers(1, 4, (N_ROWS, N_ITEMS)) * (RNG.random((N_ROWS, N_ITEMS)) < 0.2)
TARGETS[5] = 0
EXCLUDE = RNG.random((N_ROWS, N_ITEMS)) < 0.15
GENRES = RNG.choice(np.array(["a", "b", "c", None], dtype=object), N_ITEMS)
HALF = np.arange(N_ITEMS) % 2 == 0
ORDER = np.argsort(-SCORES, axis=1, kind="stable")
LISTS = RankedLists(ORDER[:, :20], np.take_along_axis(SCORES, ORDER, axis=1)[:, :20])
RUN = {
    f"q{row}": {f"d{item}": float(score) for item, score in zip(items, scores, strict=True)}
    for row, (items, scores) in enumerate(zip(LISTS.indices, LISTS.scores, strict=True))
}


class Model:
    def predict_on_batch(self, source, *, k):
        return RankedLists(LISTS.indices[source.ravel(), :k], LISTS.scores[source.ravel(), :k])


def scores(targets, **options):
    return evaluate_scores(SCORES, targets, exclude=EXCLUDE, **options)


def scores_without_unseen(targets, **options):
    return evaluate_scores(SCORES, targets, mask=EXCLUDE, unseen="drop", **options)


def embeddings(targets, **options):
    return evaluate_embeddings(QUERIES, ITEMS, targets, exclude=sparse.csr_array(EXCLUDE), **options)


def lists(targets, **options):
    return evaluate_ranked_predictions(LISTS, targets, open_tie="as_listed", **options)


def bounds(targets, **options):
    return evaluate_ranked_predictions(LISTS, targets, open_tie="bounds", **options)


def recommender(targets, **options):
    cut = [metric for metric in options.pop("metrics") if metric != "r_precision"]
    return evaluate_recommender(
        Model(), source=np.arange(N_ROWS)[:, None], targets=targets, metrics=cut, open_tie="bounds", batch_size=7,
        **options,
    )  # fmt: skip


def run(targets, *, slices=None, open_tie="as_listed", **options):
    """Judged but not relevant items keep every item and query known."""
    qrels = {f"q{row}": {f"d{item}": grade for item, grade in enumerate(of)} for row, of in enumerate(targets.tolist())}
    of_ids = None
    if slices is not None:
        # The items of a run's slices are the relevant ones.
        named = {
            name: dict(zip([f"d{item}" for item in range(N_ITEMS)], of, strict=True)) for name, of in slices.items()
        }
        of_ids = {name: ("items", of) for name, of in named.items()}
    return evaluate_run(RUN, qrels, slices=of_ids, open_tie=open_tie, **options)


def run_bounds(targets, **options):
    return run(targets, open_tie="bounds", **options)


FORMS = [scores, scores_without_unseen, embeddings, lists, bounds, recommender, run, run_bounds]


@pytest.mark.filterwarnings("ignore:mask takes")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_group_of_items_is_evaluated_with_its_relevant_items_alone(form):
    whole = form(TARGETS, metrics=METRICS, slices={"genre": GENRES, "half": HALF})
    groups = {"half": HALF} | {f"genre={genre}": genre == GENRES for genre in "abc"}
    assert set(whole.slices) == set(groups)
    assert dict(whole) == dict(form(TARGETS, metrics=METRICS))
    for name, mask in groups.items():
        alone = form(TARGETS * mask, metrics=METRICS)
        # Some lists have relevant items in other groups alone.
        assert 0 < alone.n_scored_rows < whole.n_scored_rows
        counts = {"n_rows": N_ROWS, "n_scored_rows": alone.n_scored_rows}
        assert whole.slices[name] == counts | alone.metrics


@pytest.mark.parametrize(
    ("form", "function"),
    [(scores, "profile_scores"), (embeddings, "profile_embeddings"), (lists, "profile_lists"), (run, "profile_runs")],
)
def test_the_input_is_read_once_however_many_groups_there_are(form, function, monkeypatch):
    calls = []
    read = getattr(_core, function)
    monkeypatch.setattr(_core, function, lambda *args, **options: calls.append(1) or read(*args, **options))
    assert len(form(TARGETS, metrics=METRICS, slices={"genre": GENRES, "half": HALF}).slices) == 4
    assert len(calls) == 1


def test_groups_of_a_table():
    visits = {
        "entity": RNG.integers(0, 9, 150),
        "item": np.array([f"i{item}" for item in RNG.integers(0, 12, 150)]),
        "day": np.arange(150),
    }
    table = recommendation_lists(visits, label=None, timestamp="day", split_at=100, truth="set", duplicates="merge")
    found = table.scored_by(lambda entities, items: np.outer(entities, np.arange(len(items))) % 3)
    genres = np.arange(len(table.classes)) % 2
    slices = found.evaluate(["recall@3", "mrr"], slices={"genre": ("items", genres)}, batch_size=2).slices
    whole = found.evaluate(["recall@3", "mrr"])
    assert found.evaluate(["recall@3", "mrr"], slices={"all": ("items", genres >= 0)}).slices["all"] == {
        "n_rows": whole.n_rows, "n_scored_rows": whole.n_scored_rows, **whole.metrics,
    }  # fmt: skip
    assert [slices[f"genre={genre}"]["n_rows"] for genre in (0, 1)] == [whole.n_rows] * 2
    assert slices["genre=0"]["recall@3"] != slices["genre=1"]["recall@3"]


def test_labels_of_many_rows_are_one_array():
    """A mask for each label would take 500 MB."""
    tracemalloc.start()
    try:
        groups = as_slices({"of": np.arange(100_000) % 5000}, n_rows=100_000, n_items=1).rows
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
    assert len(groups) == 5000
    np.testing.assert_array_equal(np.flatnonzero(groups["of=7"].codes == groups["of=7"].code)[:2], [7, 5007])


def test_nothing_is_half_accumulated_if_a_group_cannot_be_added(monkeypatch):
    """What a group adds is found before anything is kept."""
    groups = as_slices({"genre": GENRES}, n_rows=N_ROWS, n_items=N_ITEMS)
    collector = ListCollector(
        as_plan("recall@4", width=None), ListOptions(), collect_per_user=True, per_user_dtype="float64", slices=groups
    )
    targets, ids = as_targets(TARGETS), np.arange(N_ROWS)
    lists = RankedLists(LISTS.indices)
    collector.add(lists, targets, ids)
    before = collector.result(metadata={})
    made = collector_module.Totals.of

    def failing(*args, **options):
        failing.calls += 1
        if failing.calls == 3:
            raise MemoryError
        return made(*args, **options)

    failing.calls = 0
    with monkeypatch.context() as patch:
        patch.setattr(collector_module.Totals, "of", failing)
        with pytest.raises(MemoryError):
            collector.add(lists, targets, ids)
    assert collector.result(metadata={}) == before
    collector.add(lists, targets, ids)
    assert collector.result(metadata={}).slices["genre=a"]["n_rows"] == 2 * N_ROWS


def test_a_group_without_relevant_items():
    found = scores(TARGETS, metrics=METRICS, slices={"none": np.zeros(N_ITEMS, dtype=bool)}).slices["none"]
    assert (found["n_rows"], found["n_scored_rows"], found["LogRBP@9.n"]) == (N_ROWS, 0, 0)
    assert math.isnan(found["recall@4"])


def test_metrics_of_your_own_have_no_groups_of_items():
    class Own(RankingMetric):
        required_k, result_keys = 1, ("own",)

        def reset(self): ...
        def update(self, batch): ...
        def compute(self): ...

    with pytest.raises(ValueError, match=r"Own, a metric of your own, .* group of items 'half'"):
        lists(TARGETS, metrics=[Own()], slices={"half": HALF})


def test_labels_of_ids_that_there_are_not_are_counted():
    slices = {"old": {"q1": True, "q7": True, "q8": False}, "kind": ("items", {"a": "x", "zz": "y"})}
    of_qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    with pytest.warns(ReliabilityWarning) as warned:
        result = evaluate_run({"q1": {"a": 1.0}}, of_qrels, metrics="mrr", slices=slices)
    assert [str(warning.message) for warning in warned] == [
        "slices['old'] labels 2 of 3 ids that are no query of qrels, such as 'q7': they are in no group"
    ]
    assert result.protocol["population"]["n_unknown_slice_ids"] == 3
    assert result.slices["old"]["n_rows"] == 1
    plain = evaluate_run({"q1": {"a": 1.0}}, of_qrels, metrics="mrr", slices={"old": [True, False]})
    assert "n_unknown_slice_ids" not in plain.protocol["population"]
