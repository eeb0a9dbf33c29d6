"""What holds for every registered metric: what must not change a value, bit for bit, and where it must lie."""

import math
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rankbound import RankedLists, RankingEvaluator, evaluate_ranked_predictions, evaluate_scores, metrics
from rankbound.metrics import REGISTRY, MetricSpec, parse

CUTOFFS = (1, 3, 9, 30)
WITHOUT_SD = ("map", "map_relevant", "err", "LogRBP")


def make(name, cutoffs=None, **options):
    return REGISTRY[name](cutoffs, **options | ({"max_grade": 3} if name == "err" else {}))


def specs():
    """Every registered metric at several cut-offs, and over the whole list where that is defined."""
    for name in REGISTRY:
        if name != "r_precision":
            yield make(name, CUTOFFS)
        if not {"hit_rate", "precision", "recall", "calibrated_recall", "f1"} & {name}:
            yield make(name)


ALL = list(specs())
every_metric = pytest.mark.parametrize("spec", ALL, ids=str)


class Problem:
    """Lists full of ties, with fractional grades, excluded items, and rows that share ids or have no relevant item."""

    def __init__(self, n_rows=24, n_items=9, seed=0):
        rng = np.random.default_rng(seed)
        self.scores = rng.integers(-3, 4, (n_rows, n_items)) / 4
        self.grades = rng.choice([0, 0, 0, 0.1, 0.2, 0.3, 0.7, 1.0], (n_rows, n_items))
        self.grades[::5] = 0
        self.exclude = rng.random((n_rows, n_items)) < 0.2
        self.exclude[:, 0] = False
        self.ids = rng.integers(0, n_rows, n_rows)

    def take(self, rows=slice(None), columns=slice(None)):
        taken = object.__new__(Problem)
        for name, value in vars(self).items():
            setattr(taken, name, value[rows][:, columns] if value.ndim == 2 else value[rows])
        return taken

    def lists(self):
        order = np.argsort(-self.scores, axis=1, kind="stable")
        return RankedLists(order, scores=np.take_along_axis(self.scores, order, axis=1))

    def evaluate(self, given=None, **options):
        options = {"metrics": ALL, "exclude": self.exclude, "sample_ids": self.ids} | options
        return evaluate_scores(self.scores if given is None else given, sparse.csr_array(self.grades), **options)


PROBLEM = Problem()


def content(result):
    """All numbers of a result, comparable bit for bit although NaN differs from itself."""
    counts = result.n_rows, result.n_scored_rows, result.n_units
    values = {key: column.tobytes() for key, column in (result.per_user | {"id": result.sample_ids}).items()}
    return repr((result.metrics, result.ties, counts)), values


def test_every_metric_is_registered():
    classes = {
        thing
        for thing in vars(metrics).values()
        if isinstance(thing, type) and issubclass(thing, MetricSpec) and thing is not MetricSpec
    }
    assert {type(spec) for spec in ALL} == classes
    assert len({key for spec in ALL for key in spec.result_keys}) == sum(len(spec.result_keys) for spec in ALL)


@every_metric
def test_labels_and_keys_parse_back(spec):
    again = parse(spec.label)
    assert again == spec
    assert hash(again) == hash(spec)
    assert str(again) == str(spec) == spec.label
    assert parse(f" {spec.label.upper()} ") == spec
    assert eval(repr(spec), vars(metrics)) == spec  # noqa: S307 - a repr of ours
    assert deepcopy(spec) == spec
    for key in spec.result_keys:
        options = "[max_grade=3]" if key.startswith("err") else ""
        assert parse(key + options).result_keys == (key,)


def test_options_are_part_of_labels():
    assert parse("rbp@20,10[patience=0.5]") == metrics.RBP([10, 20], patience=0.5)
    assert parse("LogRBP[patience=0.5].logmean").label == "LogRBP[patience=0.5]"
    assert metrics.RBP(10) != metrics.RBP(10, patience=0.5)
    assert metrics.NDCG([20, 10, 20]).label == "ndcg@10,20"
    with pytest.warns(DeprecationWarning, match="write n"):
        assert metrics.LogRBP(k=5) == metrics.LogRBP(5)


@every_metric
def test_many_cutoffs_are_each_alone(spec):
    together = PROBLEM.evaluate()
    for cutoff, key in zip(spec.cutoffs or [None], spec.result_keys, strict=True):
        alone = PROBLEM.evaluate(metrics=make(spec.name, cutoff))
        assert list(alone.per_user) == [key]
        own = (key, key.replace(".logmean", ".n")) if key.endswith(".logmean") else (key,)
        assert {name: repr(together[name]) for name in own} == {name: repr(alone[name]) for name in own}
        assert together.per_user[key].tobytes() == alone.per_user[key].tobytes()
        assert repr(together.ties[key]) == repr(alone.ties[key])


@every_metric
def test_columns_do_not_matter(spec):
    expected = content(PROBLEM.evaluate(metrics=spec))
    for seed in range(4):
        columns = np.random.default_rng(seed).permutation(PROBLEM.scores.shape[1])
        assert content(PROBLEM.take(columns=columns).evaluate(metrics=spec)) == expected


@every_metric
def test_only_the_order_of_the_scores_matters(spec):
    expected = content(PROBLEM.evaluate(metrics=spec))
    for increasing in (lambda s: 2 * s, lambda s: s - 40, np.expm1, lambda s: -1 / (s + 2), lambda s: s * 1e-308):
        assert content(PROBLEM.evaluate(increasing(PROBLEM.scores), metrics=spec)) == expected


@every_metric
def test_rows_do_not_matter(spec):
    result = PROBLEM.evaluate(metrics=spec)
    order = np.random.default_rng(1).permutation(len(PROBLEM.scores))
    other = PROBLEM.take(order).evaluate(metrics=spec)
    assert repr(other.metrics) == repr(result.metrics)
    assert repr(other.ties) == repr(result.ties)
    place = np.cumsum(PROBLEM.grades.any(axis=1)) - 1
    scored = [place[row] for row in order if PROBLEM.grades[row].any()]
    for key in spec.result_keys:
        assert other.per_user[key].tobytes() == result.per_user[key][scored].tobytes()


@every_metric
def test_repeated_rows_keep_the_means(spec):
    result = PROBLEM.evaluate(metrics=spec)
    # A power of two, so that the division rounds alike.
    twice = PROBLEM.take(np.repeat(np.arange(len(PROBLEM.scores)), 4)).evaluate(metrics=spec)
    assert twice.n_units == result.n_units
    for key in spec.result_keys:
        assert repr(twice[key]) == repr(result[key])
        assert twice.per_user[key].tobytes() == np.repeat(result.per_user[key], 4).tobytes()
        for name in ("mean_best", "mean_worst", "share_tied_at_cut"):
            assert repr(twice.ties[key][name]) == repr(result.ties[key][name])
        if result.ties[key]["sd"] is not None:
            assert twice.ties[key]["sd"] == pytest.approx(result.ties[key]["sd"] / 2, rel=1e-15)


@every_metric
def test_expectation_lies_between_worst_and_best(spec):
    for row in range(len(PROBLEM.scores)):
        result = PROBLEM.take([row]).evaluate(metrics=spec)
        for key in spec.result_keys:
            worst, best = (result.ties[key][name] for name in ("mean_worst", "mean_best"))
            if result.n_scored_rows:
                assert worst <= result[key] <= best
                low, high = (-math.inf, 0) if spec.name == "LogRBP" else (0, math.inf if "dcg" in spec.name else 1)
                assert low <= worst
                assert best <= high or spec.family == "dcg"
            else:
                assert math.isnan(worst)
                assert math.isnan(best)
                assert math.isnan(result[key])


@every_metric
def test_without_ties_nothing_is_open(spec):
    scores = np.random.default_rng(3).permuted(np.tile(np.arange(9), (24, 1)), axis=1)
    result = PROBLEM.evaluate(scores, metrics=spec)
    for key in spec.result_keys:
        ties = result.ties[key]
        assert ties["mean_best"] == ties["mean_worst"] == result[key]
        assert ties["share_tied_at_cut"] == 0
        assert ties["sd"] == (None if spec.name == "LogRBP" else 0)


@every_metric
def test_known_spread(spec):
    for key, ties in PROBLEM.evaluate(metrics=spec).ties.items():
        assert (ties["sd"] is None) == (spec.name in WITHOUT_SD), key


@every_metric
def test_dtypes_do_not_matter(spec):
    expected = content(PROBLEM.evaluate(metrics=spec))
    for dtype in ("f2", "f4", "f8", ">f4"):
        assert content(PROBLEM.evaluate(PROBLEM.scores.astype(dtype), metrics=spec)) == expected
    whole = PROBLEM.scores * 4
    for dtype in ("i1", "i2", "i4", "i8"):
        assert content(PROBLEM.evaluate(whole.astype(dtype), metrics=spec)) == expected
    assert content(PROBLEM.evaluate((whole + 9).astype("u2"), metrics=spec)) == expected


@every_metric
def test_ranked_lists_of_all_scores_are_the_scores(spec):
    by_scores = PROBLEM.evaluate(metrics=spec, exclude=None)
    by_lists = evaluate_ranked_predictions(PROBLEM.lists(), PROBLEM.grades, metrics=spec, sample_ids=PROBLEM.ids)
    assert content(by_lists) == content(by_scores)
    assert by_lists.target_fingerprint == by_scores.target_fingerprint


@every_metric
def test_a_group_is_evaluated_as_if_alone(spec):
    rows = np.arange(24) % 3 == 0
    items = np.arange(9) % 2 == 0
    slices = {"third": rows, "age": np.where(rows, "old", "young"), "even": ("items", items)}
    for dtype in ("float64", "float32"):
        result = PROBLEM.evaluate(metrics=spec, slices=slices, per_user_dtype=dtype)
        of_items = evaluate_scores(
            PROBLEM.scores, np.where(items, PROBLEM.grades, 0), metrics=spec, exclude=PROBLEM.exclude
        )
        subsets = {
            "third": PROBLEM.take(rows).evaluate(metrics=spec),
            "age=old": PROBLEM.take(rows).evaluate(metrics=spec),
            "age=young": PROBLEM.take(~rows).evaluate(metrics=spec),
            "even": of_items,
        }
        assert set(result.slices) == set(subsets)
        for name, subset in subsets.items():
            counts = {"n_rows": subset.n_rows, "n_scored_rows": subset.n_scored_rows}
            found, expected = result.slices[name], counts | dict(subset.metrics)
            assert {key: repr(found[key]) for key in found} == {key: repr(expected[key]) for key in expected}


def test_what_is_no_candidate_can_be_said_in_many_ways():
    expected = content(PROBLEM.evaluate())
    seen = np.random.default_rng(7).random(PROBLEM.exclude.shape) < 0.5
    masked = np.where(PROBLEM.exclude, -np.inf, PROBLEM.scores)
    for scores, options in [
        (None, {"exclude": None, "mask": PROBLEM.exclude}),
        (None, {"exclude": PROBLEM.exclude & seen, "mask": PROBLEM.exclude & ~seen}),
        (None, {"exclude": sparse.csr_array(PROBLEM.exclude)}),
        (None, {"mask": np.zeros(9, dtype=bool)}),
        (masked, {"exclude": None, "mask_neg_inf": True}),
        (masked, {"mask_neg_inf": True}),
    ]:
        assert content(PROBLEM.evaluate(scores, **options)) == expected
    columns = np.arange(9) >= 6
    everywhere = PROBLEM.evaluate(exclude=None, mask=columns)
    assert content(everywhere) == content(PROBLEM.evaluate(exclude=np.tile(columns, (24, 1))))


def test_targets_that_are_no_candidates_can_be_left_out():
    dropped = PROBLEM.evaluate(unseen="drop")
    others = PROBLEM.take()
    others.grades = np.where(PROBLEM.exclude, 0, PROBLEM.grades)
    assert content(dropped) == content(others.evaluate())
    n_masked = int(((PROBLEM.grades > 0) & PROBLEM.exclude).sum())
    for result in (dropped, PROBLEM.evaluate()):
        assert result.protocol["population"]["n_masked_targets"] == n_masked > 0
    assert dropped.target_fingerprint == PROBLEM.evaluate().target_fingerprint


def pieces(problem, cuts, **options):
    """Return an evaluator for each piece between cuts of the rows."""
    lists, bounds = problem.lists(), [0, *cuts, len(problem.scores)]
    for first, last in pairwise(bounds):
        evaluator = RankingEvaluator(ALL, **options)
        evaluator.update(lists.rows(first, last), problem.grades[first:last], sample_ids=problem.ids[first:last])
        yield evaluator


def test_batches_and_merges_are_one_pass():
    expected = evaluate_ranked_predictions(PROBLEM.lists(), PROBLEM.grades, metrics=ALL, sample_ids=PROBLEM.ids)
    cuts = [1, 6, 7, 19]
    evaluator = RankingEvaluator(ALL)
    bounds = [0, *cuts, 24]
    for first, last in pairwise(bounds):
        evaluator.update(
            PROBLEM.lists().rows(first, last),
            sparse.csr_array(PROBLEM.grades[first:last]),
            sample_ids=PROBLEM.ids[first:last],
        )
    left, right = list(pieces(PROBLEM, cuts)), list(pieces(PROBLEM, cuts))
    for other in left[1:]:
        left[0].merge(other)
    for at in (3, 2, 1, 0):
        right[at].merge(right[at + 1])
    for result in (evaluator.compute(), left[0].compute(), right[0].compute()):
        assert content(result) == content(expected)
        assert result.target_fingerprint == expected.target_fingerprint
        assert result.protocol == expected.protocol
    # The parts are left as they were.
    assert left[4].compute().n_rows == 5
    empty = RankingEvaluator(ALL)
    empty.merge(left[0])
    left[0].merge(RankingEvaluator(ALL))
    for result in (empty.compute(), left[0].compute()):
        assert content(result) == content(expected)
        assert result.target_fingerprint == expected.target_fingerprint


def test_threads_do_not_matter():
    # Several tasks, of different depth.
    problem = Problem(n_rows=2100, n_items=8, seed=2)
    by_scores = content(problem.evaluate(num_threads=1))
    lists = problem.lists()
    by_lists = content(evaluate_ranked_predictions(lists, problem.grades, metrics=ALL, num_threads=1))
    for num_threads in (2, 16):
        assert content(problem.evaluate(num_threads=num_threads)) == by_scores
        other = evaluate_ranked_predictions(lists, problem.grades, metrics=ALL, num_threads=num_threads)
        assert content(other) == by_lists


def test_values_do_not_depend_on_what_else_is_evaluated():
    # Long groups beside short ones: tables go as deep as the deepest list of a batch.
    scores = np.zeros((3, 300))
    scores[0, :3] = [3, 2, 1]
    scores[1, :100] = 1
    grades = np.zeros((3, 300))
    grades[:, [0, 1, 2, 99, 150, 299]] = [0.3, 1.0, 0.1, 0.7, 0.2, 1.0]
    together = evaluate_scores(scores, grades, metrics=ALL)
    for row in range(3):
        alone = evaluate_scores(scores[[row]], grades[[row]], metrics=ALL)
        for key, values in alone.per_user.items():
            assert values.tobytes() == together.per_user[key][[row]].tobytes()


@st.composite
def drawn(draw):
    n_rows, n_items = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    return Problem(n_rows, n_items, seed=draw(st.integers(0, 10**6))), draw(st.randoms(use_true_random=False))


@settings(max_examples=20, deadline=None)
@given(drawn())
def test_every_invariant_on_drawn_lists(given_problem):
    problem, random = given_problem
    n_rows, n_items = problem.scores.shape
    result = problem.evaluate()
    columns = random.sample(range(n_items), n_items)
    assert content(problem.take(columns=columns).evaluate(np.exp(problem.scores[:, columns]))) == content(result)
    whole = evaluate_ranked_predictions(problem.lists(), problem.grades, metrics=ALL, sample_ids=problem.ids)
    assert content(whole) == content(problem.evaluate(exclude=None))
    cuts = sorted(random.sample(range(n_rows + 1), min(2, n_rows)))
    first, *others = pieces(problem, cuts)
    for other in others:
        first.merge(other)
    assert content(first.compute()) == content(whole)
    assert first.compute().target_fingerprint == whole.target_fingerprint
    for key, ties in result.ties.items():
        if result.n_scored_rows:
            assert ties["mean_worst"] <= result[key] <= ties["mean_best"]
