"""Ranked lists as input: forms, padding, repeated items, and ties that are open at the end."""

from fractions import Fraction
from itertools import chain, combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import oracle
from rankbound import RankedLists, RankingEvaluator, errors, evaluate_ranked_predictions, evaluate_scores
from rankbound.metrics import MRR, NDCG, Precision, RankingMetric, Recall, parse

TARGETS = np.array([[1, 0, 0, 0, 1], [0, 2, 0, 0, 0]])
LISTS = np.array([[0, 1, 2], [3, 1, 4]])


class Candidates:
    """Rows of a recommender's answer, as other libraries hand them over."""

    def __init__(self, cols, vals, shape):
        self.cols, self.vals, self.shape = cols, vals, shape


class Tensor:
    """An array that is known by DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


FORMS = {
    "lists": LISTS.tolist(),
    "int32": LISTS.astype("i4"),
    "int8": LISTS.astype("i1"),
    "uint64": LISTS.astype("u8"),
    "big endian": LISTS.astype(">i8"),
    "columns first": np.asfortranarray(LISTS),
    "frame": pd.DataFrame(LISTS),
    "dlpack": Tensor(LISTS),
    "ranked lists": RankedLists(LISTS, n_items=5),
    "every second": np.repeat(LISTS, 2, axis=0)[::2],
}
TARGET_FORMS = {
    "dense": TARGETS,
    "lists": TARGETS.tolist(),
    "csr": sparse.csr_array(TARGETS),
    "csc matrix": sparse.csc_matrix(TARGETS),
    "coo": sparse.coo_array(TARGETS),
    "frame": pd.DataFrame(TARGETS),
    "float32": TARGETS.astype("f4"),
    "stored zeros": sparse.csr_array((np.array([0, 1, 1, 2, 0]), [1, 0, 4, 1, 2], [0, 3, 5]), shape=(2, 5)),
    "stored twice": sparse.coo_array(([1, 1, 1, 1], ([0, 0, 1, 1], [4, 0, 1, 1])), shape=(2, 5)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target_form", TARGET_FORMS)
def test_forms(form, target_form):
    result = evaluate_ranked_predictions(FORMS[form], TARGET_FORMS[target_form], metrics=["recall@1,3", "ndcg_exp2@3"])
    assert result.per_user["recall@1"].tolist() == [0.5, 0]
    assert result.per_user["recall@3"].tolist() == [0.5, 1]
    assert result.per_user["ndcg_exp2@3"][1] == pytest.approx(1 / np.log2(3), rel=1e-15)
    plain = evaluate_ranked_predictions(LISTS, TARGETS, metrics="recall@3")
    assert result.target_fingerprint == plain.target_fingerprint


def test_columns_and_values():
    values = np.array([[3.0, 1, 1], [2, 1, 0]], dtype="f4")
    predictions = Candidates(np.array([[1, 0, 2], [3, 1, 4]]), values, (2, 5))
    result = evaluate_ranked_predictions(predictions, TARGETS, metrics="precision@2", open_tie="as_listed")
    assert result.per_user["precision@2"].tolist() == [0.25, 0.5]
    assert result.protocol["ties"]["scores"] is True
    with pytest.raises(errors.ShapeError, match="over 6 items, but targets has 5"):
        evaluate_ranked_predictions(Candidates(LISTS, None, (2, 6)), TARGETS, metrics="recall@1")


def test_booleans_are_grades_of_one_and_nothing_is_written_to():
    targets = sparse.csr_array(TARGETS > 0)
    targets.indices[:2] = [4, 0]
    targets.has_sorted_indices = False
    kept = targets.copy()
    for array in (targets.indices, targets.data, targets.indptr):
        array.setflags(write=False)
    assert evaluate_ranked_predictions(LISTS, targets, metrics="dcg_exp2@3").per_user["dcg_exp2@3"][0] == 1
    assert targets.indices.tolist() == kept.indices.tolist()


def test_default_metrics_are_as_wide_as_the_lists():
    result = evaluate_ranked_predictions(LISTS, TARGETS)
    assert list(result) == ["calibrated_recall@3", "ndcg@3", "n_scored_rows", "n_units"]
    assert result.required_k == 3
    assert list(evaluate_scores(np.eye(5)[:2], TARGETS))[:2] == ["calibrated_recall@5", "ndcg@5"]


def test_padding_is_not_read():
    lists = RankedLists([[0, 4, 4], [-1, 99, -1]], lengths=[2, 0], scores=[[2, 1, np.nan], [1, 5, 5]])
    result = evaluate_ranked_predictions(lists, TARGETS, metrics=[Precision(3), Recall(3)])
    assert result.per_user["precision@3"].tolist() == [2 / 3, 0]
    assert result.per_user["recall@3"].tolist() == [1, 0]
    assert result.n_scored_rows == 2


def test_lists_shorter_than_the_cut_off_are_fine_where_they_hold_everything():
    result = evaluate_ranked_predictions([[1, 0]], [[1, 0]], metrics=["recall@5", "precision@5"])
    assert (result["recall@5"], result["precision@5"]) == (1, 0.2)


def test_lists_need_not_be_in_order_if_nobody_looks():
    lists = RankedLists([[0, 1, 2]], scores=[[1, 3, 2]])
    with pytest.raises(errors.InvalidParameterError, match="must not rise"):
        evaluate_ranked_predictions(lists, TARGETS[:1], metrics="recall@1")
    result = evaluate_ranked_predictions(lists, TARGETS[:1], metrics="recall@1", validate_predictions=False)
    assert result["recall@1"] == 0.5
    with pytest.raises(errors.UnknownLabelError):
        evaluate_ranked_predictions([[9]], TARGETS[:1], metrics="recall@1", validate_predictions=False)
    lists = RankedLists([[0, 1]], scores=[[1.0, np.nan]])
    with pytest.raises(errors.NonFiniteScoreError, match="list 0 has the score NaN at position 1"):
        evaluate_ranked_predictions(lists, TARGETS[:1], metrics="recall@1", validate_predictions=False)


class Hits(RankingMetric):
    """Hits in the top 2, as the lists stand."""

    required_k, result_keys = 2, ("hits",)
    batches = []  # noqa: RUF012 - of the class, because evaluations copy the metric

    def reset(self):
        self.batches.clear()

    def update(self, batch):
        self.batches.append(batch)
        return batch.hits[:, :2].sum(axis=1, keepdims=True).astype(float)

    def compute(self):
        return {"hits": 0.0}


@pytest.mark.parametrize("scores", [None, [[5, 4, 4, 3, 2], [9, 9, 8, 7, 7]]])
@pytest.mark.parametrize("lengths", [None, [5, 4]])
def test_repeated_items_count_where_they_stand_first(scores, lengths):
    repeated = RankedLists([[0, 0, 2, 0, 4], [3, 1, 3, 1, 3]], scores=scores, lengths=lengths)
    options = {"metrics": ["recall@2,3", "ndcg@3", Hits()], "debug": True, "open_tie": "as_listed"}
    with pytest.raises(errors.DuplicateItemError, match="list 0 names item 0 at positions 0 and 1"):
        evaluate_ranked_predictions(repeated, TARGETS, **options)
    result = evaluate_ranked_predictions(repeated, TARGETS, duplicates="keep_first", **options)
    read = Hits.batches[0]
    assert read.predictions.lengths.tolist() == [3, 2]
    assert read.predictions.indices[0, :3].tolist() == [0, 2, 4]
    once = RankedLists(
        [[0, 2, 4], [3, 1, 0]], scores=None if scores is None else [[5, 4, 2], [9, 9, 0]], lengths=[3, 2]
    )
    expected = evaluate_ranked_predictions(once, TARGETS, **options)
    assert repr(result.metrics) == repr(expected.metrics)
    assert result.debug_rows == expected.debug_rows
    assert result.per_user["hits"].tolist() == [1, 1]
    evaluator = RankingEvaluator(options["metrics"], duplicates="keep_first", open_tie="as_listed", debug=True)
    evaluator.update(repeated, TARGETS)
    assert repr(evaluator.compute().metrics) == repr(result.metrics)


@st.composite
def open_lists(draw):
    """A list that ends within a tie, over a catalogue that it does not exhaust."""
    n_items = draw(st.integers(3, 6))
    length = draw(st.integers(2, min(4, n_items - 1)))
    n_tied = draw(st.integers(2, length))
    above = sorted(draw(st.lists(st.integers(2, 3), min_size=length - n_tied, max_size=length - n_tied)), reverse=True)
    grades = draw(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=n_items, max_size=n_items))
    order = draw(st.permutations(range(n_items)))
    cutoffs = st.one_of(st.none(), st.integers(1, length))
    return order[:length], [*above, *[1] * n_tied], grades, draw(cutoffs)


def completions(items, scores, n_items):
    """Yield, for every choice and order of what the open tie holds, all lists that the other ties allow."""
    closed = [item for item, score in zip(items, scores, strict=True) if score > 1]
    tied = [item for item, score in zip(items, scores, strict=True) if score == 1]
    unlisted = [item for item in range(n_items) if item not in items]
    prefixes = [[closed[at] for at in order] for order in oracle.orders([score for score in scores if score > 1])]
    joining = chain.from_iterable(combinations(unlisted, size) for size in range(len(unlisted) + 1))
    # Only what the list has room for matters.
    shown = {order[: len(tied)] for others in joining for order in permutations([*tied, *others])}
    for order in sorted(shown):
        yield [[*prefix, *order] for prefix in prefixes]


@settings(max_examples=40, deadline=None)
@given(open_lists())
def test_bounds_hold_every_completion_of_the_catalogue(problem):
    items, scores, grades, k = problem
    relevant = [grade for grade in grades if grade > 0]
    lists = RankedLists([items], scores=[scores])
    definitions = oracle.list_metrics(k)
    if len(relevant) > len(items):
        definitions.pop("r_precision", None)  # It would look beyond the end of the list.
    metrics = [parse(f"{key}[max_grade=3]" if key.startswith("err") else key) for key in definitions]
    bounds = evaluate_ranked_predictions(lists, [grades], metrics=metrics, open_tie="bounds")
    assert bounds.n_scored_rows == bool(relevant)
    every = list(completions(items, scores, len(grades)))
    varies = False
    for key, metric in definitions.items():
        if not relevant:
            continue
        values = [[metric([grades[item] for item in order], relevant) for order in orders] for orders in every]
        expected = min(map(oracle.mean, values))
        varies |= expected != max(map(oracle.mean, values))
        flat = list(chain.from_iterable(values))
        found = [bounds[key], bounds.ties[key]["mean_worst"], bounds.ties[key]["mean_best"]]
        assert found == pytest.approx([float(expected), float(min(flat)), float(max(flat))], rel=1e-13, abs=1e-15), key
    if varies:
        assert bounds.protocol["population"]["n_open_ties"] == 1
        with pytest.raises(errors.OpenTieError, match="list 0 ends within a tie"):
            evaluate_ranked_predictions(lists, [grades], metrics=metrics)
    if not bounds.protocol["population"]["n_open_ties"]:
        refused = evaluate_ranked_predictions(lists, [grades], metrics=metrics)
        assert repr(refused.metrics) == repr(bounds.metrics)


def test_a_tie_is_open_only_where_a_value_depends_on_it():
    lists = RankedLists([[0, 1, 2]], scores=[[3, 1, 1]])
    # All relevant items stand above it, or the cut-off does.
    assert evaluate_ranked_predictions(lists, [[1, 0, 0, 0]], metrics="ndcg@3")["ndcg@3"] == 1
    assert evaluate_ranked_predictions(lists, [[1, 0, 1, 0]], metrics="ndcg@1")["ndcg@1"] == 1
    # Nothing is beyond the end.
    assert evaluate_ranked_predictions(lists, [[1, 0, 1]], metrics="recall@2")["recall@2"] == 0.75
    with pytest.raises(errors.OpenTieError, match="open_tie='bounds'"):
        evaluate_ranked_predictions(lists, [[1, 0, 1, 0]], metrics="recall@2")
    listed = evaluate_ranked_predictions(lists, [[1, 0, 1, 0]], metrics="recall@2", open_tie="as_listed")
    assert listed["recall@2"] == 0.75
    assert listed.protocol["population"]["n_open_ties"] == 1


def test_bounds_of_a_stream():
    lists = RankedLists([[0, 1, 2], [3, 1, 4], [2, 1, 0]], scores=[[3, 1, 1], [3, 2, 1], [1, 1, 1]])
    targets = [[1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    whole = evaluate_ranked_predictions(lists, targets, metrics=[MRR(3), Recall(2), NDCG(3)], open_tie="bounds")
    first, second = (RankingEvaluator([MRR(3), Recall(2), NDCG(3)], open_tie="bounds") for _ in range(2))
    first.update(lists.rows(0, 1), targets[:1])
    second.update(lists.rows(1, 3), targets[1:])
    first.merge(second)
    with pytest.raises(errors.InvalidParameterError, match="other is the evaluator itself"):
        first.merge(first)
    assert repr(first.compute().metrics) == repr(whole.metrics)
    assert repr(first.compute().ties) == repr(whole.ties)
    assert whole["recall@2"] == pytest.approx(float(Fraction(1, 3) * (Fraction(1, 2) + 1 + 0)), rel=1e-15)
    assert whole.ties["recall@2"]["mean_best"] == 1
    assert whole.ties["recall@2"]["sd"] is None
    assert first.compute().protocol["population"]["n_open_ties"] == 2


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1"])
def test_scores_of_any_type(dtype):
    lists = RankedLists([[0, 1, 2, 3]], scores=np.array([[3, 1, 1, 0]], dtype))
    assert evaluate_ranked_predictions(lists, [[0, 1, 0, 0]], metrics=MRR())["mrr"] == pytest.approx(5 / 12, rel=1e-15)


def test_rows_that_share_nothing_but_the_order():
    # Every list of two of three items, in every combination with targets.
    problems = list(product(permutations(range(3), 2), product([0, 1], repeat=3)))
    result = evaluate_ranked_predictions(
        [items for items, _ in problems], np.array([grades for _, grades in problems]), metrics=["recall@1,2", "map@2"]
    )
    definitions = {key: metric for k in (1, 2) for key, metric in oracle.list_metrics(k).items()}
    scored = [(items, grades) for items, grades in problems if any(grades)]
    assert result.sample_ids.tolist() == [row for row, (_, grades) in enumerate(problems) if any(grades)]
    for key, values in result.per_user.items():
        expected = [
            float(definitions[key]([grades[item] for item in items], [1] * sum(grades))) for items, grades in scored
        ]
        assert values.tolist() == pytest.approx(expected, rel=1e-15)


def test_r_precision_looks_no_deeper_than_lists_that_hold_everything_or_enough():
    """Rows have two relevant items, of which one is listed, and one, which is listed too low."""
    assert evaluate_ranked_predictions(LISTS[:, :2], TARGETS, metrics="r_precision")["r_precision"] == 0.25
    assert evaluate_ranked_predictions([[0, 1]], [[1, 1]], metrics="r_precision")["r_precision"] == 1
    evaluator = RankingEvaluator("r_precision")
    with pytest.raises(errors.InvalidKError, match="2 relevant items of row 0, but predictions has lists of 1"):
        evaluator.update(LISTS[:, :1], TARGETS)
    # A padded row that ends early misses what it does not list.
    padded = RankedLists(LISTS[:, :2], lengths=[1, 2])
    assert evaluate_ranked_predictions(padded, TARGETS, metrics="r_precision").per_user["r_precision"][0] == 0.5
