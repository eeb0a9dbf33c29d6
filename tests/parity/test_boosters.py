"""NDCG for gradient boosters beside their own, on the same models."""

import numpy as np
import pytest

from rankbound.compat import catboost as for_catboost
from rankbound.compat import lightgbm as for_lightgbm
from rankbound.compat import xgboost as for_xgboost

N_GROUPS, SIZE, ROUNDS = 40, 12, 3
SIZES = np.full(N_GROUPS, SIZE)
IDS = np.repeat(np.arange(N_GROUPS), SIZE)
KS = (1, 3, 10)
EMPTY = np.arange(N_GROUPS) % 6 == 0
WEIGHTS = np.random.default_rng(5).integers(1, 4, N_GROUPS).astype(float)

pytestmark = pytest.mark.filterwarnings("ignore")


def problem(kind):
    """Return features, labels and scores to start from; trees cannot tell rows apart whose features are equal."""
    rng = np.random.default_rng(21)
    labels = rng.integers(0, 4, N_GROUPS * SIZE)
    labels[EMPTY[IDS]] = 0
    signal = labels + rng.normal(0, 1, len(labels))
    if kind == "tied":
        return np.floor(signal[:, None] / 2), labels, None
    return np.column_stack([signal, rng.normal(size=(len(labels), 3))]), labels, rng.random(len(labels))


def check(found, expected, kind, *, shift=0.0):
    assert len(found) == len(expected) == ROUNDS
    if kind == "distinct":
        # Some add in 32 bits.
        assert found == pytest.approx(np.subtract(expected, shift), rel=1e-6)
    else:
        assert (np.abs(np.subtract(found, expected) + shift) > 1e-5).all()


def shift_of_empty_groups(weighted):
    """Return what a mean differs by if groups without positives weigh 1 in its numerator."""
    return (1 - WEIGHTS)[EMPTY].sum() / WEIGHTS.sum() if weighted else 0.0


KINDS = pytest.mark.parametrize("kind", ["distinct", "tied"])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


@KINDS
@WEIGHTED
def test_lightgbm(kind, weighted):
    lightgbm = pytest.importorskip("lightgbm")
    features, labels, start = problem(kind)
    weights = np.repeat(WEIGHTS, SIZE) if weighted else None
    data = lightgbm.Dataset(features, labels, group=SIZES, weight=weights, init_score=start)
    history = {}
    lightgbm.train(
        {"objective": "lambdarank", "metric": "ndcg", "eval_at": KS, "verbose": -1, "num_threads": 1},
        data,
        ROUNDS,
        valid_sets=[data],
        valid_names=["train"],
        feval=[for_lightgbm.eval_ndcg(k) for k in KS],
        callbacks=[lightgbm.record_evaluation(history)],
    )
    for k in KS:
        found, expected = (history["train"][f"{name}@{k}"] for name in ("ndcg_exp2", "ndcg"))
        check(found, expected, kind, shift=shift_of_empty_groups(weighted))


@KINDS
def test_lightgbm_ranker(kind):
    lightgbm = pytest.importorskip("lightgbm")
    features, labels, start = problem(kind)
    ranker = lightgbm.LGBMRanker(n_estimators=ROUNDS, verbose=-1, n_jobs=1)
    ranker.fit(
        features,
        labels,
        group=SIZES,
        init_score=start,
        eval_set=[(features, labels)],
        eval_group=[SIZES],
        eval_init_score=None if start is None else [start],
        eval_at=[3],
        eval_metric=for_lightgbm.ranker_eval_ndcg(3),
    )
    (history,) = ranker.evals_result_.values()
    check(history["ndcg_exp2@3"], history["ndcg@3"], kind)


@KINDS
@WEIGHTED
@pytest.mark.parametrize("variant", ["exp2", "linear", "zero"])
def test_xgboost(kind, variant, weighted):
    xgboost = pytest.importorskip("xgboost")
    features, labels, start = problem(kind)
    data = xgboost.DMatrix(features, labels, base_margin=start)
    data.set_group(SIZES)
    if weighted:
        data.set_weight(WEIGHTS)
    suffix = "-" if variant == "zero" else ""
    options = {"linear": {"gain": "linear"}, "zero": {"no_positives": "zero"}, "exp2": {}}[variant]
    for k in KS:
        history = {}
        xgboost.train(
            {
                "objective": "rank:ndcg",
                "eval_metric": f"ndcg@{k}{suffix}",
                "ndcg_exp_gain": variant != "linear",
                "max_depth": 2,
                "nthread": 1,
            },
            data,
            ROUNDS,
            evals=[(data, "train")],
            custom_metric=for_xgboost.eval_ndcg(k, **options),
            evals_result=history,
            verbose_eval=False,
        )
        found = history["train"][f"ndcg_{'linear' if variant == 'linear' else 'exp2'}@{k}"]
        shift = shift_of_empty_groups(weighted and variant != "zero")
        check(found, history["train"][f"ndcg@{k}{suffix}"], kind, shift=shift)


@pytest.mark.parametrize("best_first", [True, False])
def test_a_constant_is_worth_the_same_in_any_order_of_rows(best_first):
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    labels = np.tile([3, 2, 1, 0, 0, 0] if best_first else [0, 0, 0, 1, 2, 3], 20)
    features, sizes = np.zeros((120, 1)), np.full(20, 6)
    history = {}
    data = lightgbm.Dataset(features, labels, group=sizes)
    lightgbm.train(
        {"objective": "lambdarank", "metric": "ndcg", "eval_at": [3], "verbose": -1},
        data,
        1,
        valid_sets=[data],
        valid_names=["lightgbm"],
        feval=for_lightgbm.eval_ndcg(3),
        callbacks=[lightgbm.record_evaluation(history)],
    )
    matrix = xgboost.DMatrix(features, labels)
    matrix.set_group(sizes)
    found = {}
    xgboost.train(
        {"objective": "rank:ndcg", "eval_metric": "ndcg@3"},
        matrix,
        1,
        evals=[(matrix, "xgboost")],
        custom_metric=for_xgboost.eval_ndcg(3),
        evals_result=found,
        verbose_eval=False,
    )
    # The mean gain of a row, (7 + 3 + 1) / 6, at each of three places.
    discounts = 1 / np.log2([2, 3, 4])
    expected = 11 / 6 * discounts.sum() / ([7, 3, 1] @ discounts)
    for values in (history["lightgbm"], found["xgboost"]):
        assert values["ndcg_exp2@3"] == pytest.approx([expected], rel=1e-6)
        assert values["ndcg@3"] == pytest.approx([1.0 if best_first else 0.0])


def test_xgboost_stops_early_at_the_maximum():
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(2)
    data = xgboost.DMatrix(rng.normal(size=(240, 2)), rng.integers(0, 3, 240))
    data.set_group([24] * 10)
    history = {}
    model = xgboost.train(
        {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1},
        data,
        30,
        evals=[(data, "train")],
        custom_metric=for_xgboost.eval_ndcg(5),
        evals_result=history,
        early_stopping_rounds=5,
        verbose_eval=False,
    )
    assert 0 < model.best_iteration == np.argmax(history["train"]["ndcg_exp2@5"])


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """CatBoost's eval_metrics writes to the working directory."""
    monkeypatch.chdir(tmp_path)


@KINDS
@WEIGHTED
@pytest.mark.parametrize(("gain", "own"), [("linear", "Base"), ("exp2", "Exp")])
@pytest.mark.usefixtures("elsewhere")
def test_catboost(kind, weighted, gain, own):
    catboost = pytest.importorskip("catboost")
    features, labels, _ = problem(kind)
    weights = np.repeat(WEIGHTS, SIZE) if weighted else None
    pool = catboost.Pool(features, labels, group_id=IDS, group_weight=weights)
    distinct = kind == "distinct"
    options = {"iterations": 60 if distinct else ROUNDS, "depth": 8 if distinct else 2}
    model = catboost.CatBoost(
        {"loss_function": "YetiRank", "thread_count": 1, "allow_writing_files": False, "verbose": False, **options}
    )
    model.fit(pool)
    first = options["iterations"] - ROUNDS
    # With so many trees no two rows of a group share a score.
    assert not distinct or all(len(set(scores)) == SIZE for scores in model.predict(pool).reshape(N_GROUPS, SIZE))
    for k in KS:
        (found,) = for_catboost.eval_ndcg(model, pool, k, gain=gain, group_weight=weights).values()
        (expected,) = model.eval_metrics(pool, [f"NDCG:top={k};type={own}"]).values()
        assert len(found) == len(expected) == options["iterations"]
        check(found[first:], expected[first:], kind)
        # It takes the worst order of every tie.
        assert distinct or np.greater(found, expected).all()
