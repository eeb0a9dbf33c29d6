"""Transforms across classes against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankbound import build_ranking_report
from rankbound.comparability import (
    OBJECTIVE_ALPHA,
    ComparabilityState,
    RankingObjective,
    apply_eb_shrinkage,
    apply_popularity_discount,
    apply_rank_percentile,
    fit_comparability,
    transform_for_objective,
)
from rankbound.errors import (
    InvalidParameterError,
    NonFiniteScoreError,
    ScoreRangeError,
    StateError,
)

ORDER = {0.0: [0, 2, 1], 0.5: [1, 0, 2], 1.0: [1, 2, 0]}


def counted(*counts, n_labelled=None, dead=None):
    return ComparabilityState(
        classes=range(len(counts)),
        n_labelled=sum(counts) if n_labelled is None else n_labelled,
        counts=counts,
        dead=[False] * len(counts) if dead is None else dead,
    )


def mid_rank(reference, query):
    less = sum(value < query for value in reference)
    equal = sum(value == query for value in reference)
    return Fraction(2 * less + equal, 2 * len(reference))


def test_objectives():
    assert OBJECTIVE_ALPHA == {"accuracy": 0.0, "balanced": 0.5, "coverage": 1.0}
    assert list(RankingObjective) == ["accuracy", "balanced", "coverage"]
    with pytest.raises(TypeError):
        OBJECTIVE_ALPHA["accuracy"] = 1.0


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1"])
@pytest.mark.parametrize("state", [None, counted(3, 1)])
def test_nothing_asked_returns_the_scores_themselves(dtype, state):
    scores = np.array([[0, 1], [2, 3]], dtype)
    assert transform_for_objective(scores, state=state) is scores
    assert transform_for_objective(scores, "coverage", popularity_discount=0, state=state) is scores


def test_nothing_asked_keeps_every_bit():
    scores = np.array([[-0.0, 5e-324, -1.5e308]])
    assert transform_for_objective(scores).tobytes() == np.array([[-0.0, 5e-324, -1.5e308]]).tobytes()


@pytest.mark.parametrize(
    ("score", "count", "n_labelled", "strength", "expected"),
    [
        (0.4, 10, 1000, 50, Fraction(3, 40)),
        (0.4, 300, 1000, 15, Fraction(83, 210)),
        (0.9, 0, 7, 50, Fraction(0)),
    ],
)
def test_shrinkage_examples(score, count, n_labelled, strength, expected):
    state = counted(count, n_labelled=n_labelled)
    value = apply_eb_shrinkage([[score]], state, shrinkage_strength=strength)
    assert value.dtype == np.float64
    assert value[0, 0] == pytest.approx(float(expected), rel=1e-15, abs=0)


def test_shrinkage_without_strength_returns_the_scores_themselves():
    scores = np.array([[0.5, 7.0]])
    assert apply_eb_shrinkage(scores, counted(0, 1), shrinkage_strength=0) is scores


@pytest.mark.parametrize("objective", list(RankingObjective))
def test_discount_example(objective):
    scores = np.array([[0.4, 0.1, 0.3]])
    alpha = OBJECTIVE_ALPHA[objective]
    state = counted(30, 1, 20, n_labelled=100)
    values = transform_for_objective(scores, objective, state=state)
    expected = {
        0.0: [0.4, 0.1, 0.3],
        0.5: [0.4 / np.sqrt(0.3), 0.1 / np.sqrt(0.01), 0.3 / np.sqrt(0.2)],
        1.0: [0.4 / 0.3, 10.0, 0.3 / 0.2],
    }[alpha]
    assert values.tolist() == [expected]
    assert np.argsort(-values[0]).tolist() == ORDER[alpha]
    explicit = apply_popularity_discount(scores, state, popularity_discount=alpha)
    np.testing.assert_array_equal(explicit, values)


def test_a_score_at_its_base_rate_is_one():
    state = counted(3, 1, 2, 7, 11, 49)
    assert transform_for_objective([state.base_rates], "coverage", state=state).tolist() == [[1.0] * 6]
    both = transform_for_objective([state.base_rates], "coverage", state=state, shrinkage_strength=50)
    assert both.tolist() == [[1.0] * 6]


def test_shrinkage_comes_before_the_discount():
    state = counted(10, 990)
    both = transform_for_objective([[0.4, 0.6]], "coverage", state=state, shrinkage_strength=50)
    steps = apply_popularity_discount(apply_eb_shrinkage([[0.4, 0.6]], state), state, popularity_discount=1)
    assert both.tolist() == steps.tolist()
    assert both[0, 0] == pytest.approx(7.5)


def test_a_class_never_seen_counts_as_seen_once():
    state = counted(0, 1, 9)
    assert state.n_floored == 1
    assert transform_for_objective([[0.2, 0.2, 0.0]], "coverage", state=state).tolist() == [[0.2 / 0.1, 0.2 / 0.1, 0]]


@pytest.mark.parametrize(
    ("n_knots", "expected"),
    [
        (101, ["0", "3/10", "3/5", "7/10", "4/5", "9/10", "1"]),
        (3, ["0", "3/10", "3/5", "7/10", "4/5", "9/10", "1"]),
        (2, ["0", "3/10", "16/25", "17/25", "18/25", "9/10", "1"]),
    ],
)
def test_percentile_examples(n_knots, expected):
    reference = np.array([[0, 0, 0, 0.2, 0.5]]).T
    state = fit_comparability([0] * 5, reference, percentile=True, n_knots=n_knots)
    queries = np.array([[-1, 0, 0.1, 0.2, 0.3, 0.5, 1]]).T
    values = apply_rank_percentile(queries, state)[:, 0]
    np.testing.assert_allclose(values, [float(Fraction(text)) for text in expected], rtol=1e-15, atol=0)


def test_dead_classes_stay_zero():
    reference = np.array([[0.0, 0.5], [-0.0, 0.5]])
    state = fit_comparability([0, 1], reference, percentile=True)
    assert state.dead.tolist() == fit_comparability([0, 1], reference).dead.tolist() == [True, False]
    assert apply_rank_percentile([[0.0, 0.5], [0.9, 0.9]], state).tolist() == [[0, 0.5], [0, 1]]
    assert apply_eb_shrinkage([[0.0, 0.5], [0.9, 0.5]], state)[:, 0].tolist() == [0, 0]


def test_masked_items_stay_masked():
    mask = -np.inf
    state = fit_comparability([0, 1], [[mask, 0.5], [0.25, 0.5]], percentile=True, mask_neg_inf=True)
    row = np.array([[mask, 0.5]], np.float32)
    for options in ({"percentile": True}, {"objective": "coverage"}, {"shrinkage_strength": 1.0}, {}):
        assert transform_for_objective(row, state=state, mask_neg_inf=True, **options)[0, 0] == mask
        with pytest.raises(NonFiniteScoreError, match="row 0, column 0"):
            transform_for_objective(row, state=state, **options)
    with pytest.raises(NonFiniteScoreError, match="row 0, column 0"):
        fit_comparability([0, 1], [[mask, 0.5], [0.25, 0.5]])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u2"])
def test_float64_whatever_the_input(dtype):
    scores = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1]], dtype)
    state = fit_comparability([0, 0, 1], scores, percentile=True)
    exact = scores.astype(np.float64)
    for options in ({"percentile": True}, {"objective": "balanced", "shrinkage_strength": 3}):
        values = transform_for_objective(scores, state=state, **options)
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, transform_for_objective(exact, state=state, **options))


def test_threads_and_layout_do_not_matter():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 50, (500, 333)).astype(np.float32) / 64
    layouts = (scores, np.asfortranarray(scores), np.repeat(scores, 2, axis=1)[:, ::2], scores[::-1][::-1])
    y = rng.integers(0, 333, 500)
    states = [
        fit_comparability(y, layout, percentile=True, n_knots=7, num_threads=threads)
        for layout in layouts
        for threads in (1, 4)
    ]
    assert len({state.fingerprint for state in states}) == 1
    for options in ({"percentile": True}, {"objective": "balanced", "shrinkage_strength": 3}):
        values = {
            transform_for_objective(layout, state=states[0], num_threads=threads, **options).tobytes()
            for layout in layouts
            for threads in (1, 4)
        }
        assert len(values) == 1


@given(
    reference=st.lists(st.integers(0, 11), min_size=1, max_size=40),
    queries=st.lists(st.integers(-1, 24), min_size=1, max_size=20),
)
def test_percentile_is_the_mid_rank_ecdf_when_every_value_is_a_knot(reference, queries):
    state = fit_comparability([0] * len(reference), np.array([reference]).T / 11, percentile=True, n_knots=12)
    values = apply_rank_percentile(np.array([queries]).T / 22, state)[:, 0]
    exact = [mid_rank([2 * value for value in reference], query) for query in queries]
    if not any(reference):
        exact = [Fraction(0)] * len(queries)
    assert values.tolist() == [float(value) for value in exact]


@given(
    reference=st.lists(st.integers(-60, 60), min_size=1, max_size=80),
    atom=st.integers(0, 60),
    n_knots=st.integers(2, 9),
)
def test_percentile_with_few_knots_has_a_bounded_error(reference, atom, n_knots):
    reference = [*reference, *[0] * atom, 61]
    state = fit_comparability([0] * len(reference), np.array([reference]).T / 61, percentile=True, n_knots=n_knots)
    queries = range(-125, 126)
    values = apply_rank_percentile(np.array([queries]).T / 122, state)[:, 0]
    assert (np.diff(values) >= 0).all()
    bound = Fraction(1, n_knots - 1) + Fraction(1, len(reference)) + Fraction(1, 10**12)
    for query, value in zip(queries, values.tolist(), strict=True):
        assert abs(Fraction(value) - mid_rank([2 * item for item in reference], query)) <= bound


@given(
    score=st.fractions(0, 1, max_denominator=64),
    count=st.integers(0, 30),
    others=st.integers(1, 30),
    strength=st.integers(1, 100),
)
def test_shrinkage_is_the_posterior_mean(score, count, others, strength):
    state = counted(count, n_labelled=count + others)
    rate = Fraction(count, count + others)
    exact = (count * score + strength * rate) / (count + strength)
    value = apply_eb_shrinkage([[float(score)]], state, shrinkage_strength=strength)[0, 0]
    assert value == pytest.approx(float(exact), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "coverage"}, "popularity_discount=1 needs a state"),
        ({"popularity_discount": 0.25}, "popularity_discount=0.25 needs a state"),
        ({"shrinkage_strength": 50}, "shrinkage_strength=50 needs a state"),
        ({"percentile": True}, "percentile=True needs a state"),
        (
            {"objective": "balanced", "shrinkage_strength": 2},
            "popularity_discount=0.5 and shrinkage_strength=2 needs a state",
        ),
    ],
)
def test_a_transform_needs_a_state(options, words):
    with pytest.raises(StateError, match=words):
        transform_for_objective([[0.5, 0.5]], **options)


@pytest.mark.parametrize("apply", [apply_eb_shrinkage, apply_rank_percentile])
def test_the_parts_need_a_state(apply):
    with pytest.raises(StateError, match=f"{apply.__name__} needs a state"):
        apply([[0.5]], None)
    with pytest.raises(StateError, match="ComparabilityState, got dict"):
        apply([[0.5]], {})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"percentile": True, "shrinkage_strength": 1}, InvalidParameterError, "excludes shrinkage_strength"),
        ({"percentile": True, "objective": "coverage"}, InvalidParameterError, "excludes a popularity discount"),
        ({"percentile": True, "popularity_discount": 0.1}, InvalidParameterError, r"here 0\.1"),
        ({"percentile": True}, StateError, "no percentile knots"),
        ({"shrinkage_strength": -1}, InvalidParameterError, "shrinkage_strength .* -1"),
        ({"shrinkage_strength": float("nan")}, InvalidParameterError, "shrinkage_strength .* nan"),
        ({"popularity_discount": -0.5}, InvalidParameterError, r"popularity_discount .* -0\.5"),
        ({"popularity_discount": float("inf")}, InvalidParameterError, "popularity_discount .* inf"),
        ({"popularity_discount": 1e4}, InvalidParameterError, "too large"),
        ({"objective": "profit"}, InvalidParameterError, "'accuracy', 'balanced', 'coverage', got 'profit'"),
        ({"classes": [1, 0]}, StateError, "class 0 at position 0, classes has 1; put the columns in the order"),
        ({"classes": [0, 2]}, StateError, "class 1 at position 1, classes has 2; fit a state"),
        ({"classes": ["0", "1"]}, StateError, "class 0 at position 0, classes has '0'"),
        ({"num_threads": 0, "objective": "coverage"}, InvalidParameterError, "num_threads"),
    ],
)
def test_refused_options(options, error, words):
    with pytest.raises(error, match=words):
        transform_for_objective([[0.5, 0.5]], state=counted(3, 1), **options)


def test_a_state_of_other_classes_is_refused():
    with pytest.raises(StateError, match="state has 3 classes, proba has 2 columns"):
        transform_for_objective([[0.5, 0.5]], state=counted(3, 1, 1))


def test_no_base_rate_at_all():
    state = counted(0, 0, n_labelled=5)
    with pytest.raises(StateError, match="every class of the state has count 0"):
        transform_for_objective([[0.5, 0.5]], "coverage", state=state)


@pytest.mark.parametrize(
    ("value", "options", "error"),
    [
        (np.nan, {"objective": "coverage"}, NonFiniteScoreError),
        (np.inf, {"shrinkage_strength": 1}, NonFiniteScoreError),
        (np.nan, {"percentile": True}, NonFiniteScoreError),
        (np.nan, {}, NonFiniteScoreError),
        (-0.5, {"objective": "coverage"}, ScoreRangeError),
        (1.5, {"shrinkage_strength": 1}, ScoreRangeError),
        (-0.5, {"shrinkage_strength": 1}, ScoreRangeError),
        (1e308, {"popularity_discount": 3}, ScoreRangeError),
    ],
)
def test_refused_scores_name_their_place(value, options, error):
    scores = np.full((300, 2), 0.5)
    state = fit_comparability([0] * 299 + [1], scores, percentile=True)
    scores[290, 1] = scores[299, 0] = value
    for threads in (1, 3):
        with pytest.raises(error, match="row 290, column 1"):
            transform_for_objective(scores, state=state, num_threads=threads, **options)


def test_a_class_that_was_never_seen_can_be_refused():
    state = fit_comparability(["a", "c", "a"], classes=["a", "b", "c"])
    seen = fit_comparability(["a", "c", "b"], classes=["a", "b", "c"])
    for discount in (transform_for_objective, apply_popularity_discount):
        refused = {"popularity_discount": 0.5, "zero_base_rate": "refuse"}
        with pytest.raises(StateError, match="the base rate is 0 for 1 classes, first for b"):
            discount(np.ones((1, 3)), state=state, **refused)
        np.testing.assert_array_equal(
            discount(np.ones((1, 3)), state=seen, **refused),
            discount(np.ones((1, 3)), state=seen, popularity_discount=0.5),
        )
        with pytest.raises(InvalidParameterError, match="zero_base_rate must be one of 'floor', 'refuse'"):
            discount(np.ones((1, 3)), state=seen, popularity_discount=0.5, zero_base_rate="ignore")
    with pytest.raises(StateError, match="the base rate is 0 for 1 classes, first for 1"):
        build_ranking_report(np.eye(3), [0, 1, 2], y_train=[0, 2], zero_base_rate="refuse")
    # Without a discount there is nothing to refuse.
    build_ranking_report(np.eye(3), [0, 1, 2], y_train=[0, 2], zero_base_rate="refuse", eval_all_objectives=False)
