"""What holds for every report: each number by enumeration, and what must not change it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import oracle
from rankbound import (
    RankingReport,
    build_ranking_report,
    fit_comparability,
    transform_for_objective,
)

OBJECTIVES = ("accuracy", "balanced", "coverage")
CONTENT = (
    "objectives", "objective_alpha", "ties", "baselines", "chance", "uncertainty", "primary_score", "n_rows", "n_units",
    "n_unseen_truth", "n_no_truth", "warnings",
)  # fmt: skip


def content(report, *names):
    """All numbers of a report, or some of its parts, comparable bit for bit although NaN differs from itself."""
    return repr({name: report[name] for name in names or CONTENT})


def close(found, expected):
    assert oracle.flat(found) == pytest.approx(oracle.flat(expected), rel=1e-12, abs=1e-13, nan_ok=True)


@st.composite
def cases(draw):
    """Small matrices full of ties, with misses, exclusions and served lists of several truths."""
    n_classes = draw(st.integers(1, 4))
    column = st.integers(0, n_classes - 1)
    n_served = draw(st.integers(1, 3))
    rows, truths, excluded, served = [], [], [], []
    for name in range(n_served):
        row = draw(st.lists(st.integers(0, 2), min_size=n_classes, max_size=n_classes))
        mask = draw(st.sets(column, max_size=n_classes - 1))
        of_list = draw(st.sets(st.one_of(st.none(), column), min_size=1, max_size=2))
        for truth in sorted(of_list, key=str):
            rows.append(row)
            truths.append(truth)
            excluded.append(mask)
            served.append(name)
    return {
        "scores": rows,
        "truths": truths,
        "excluded": excluded,
        "served": served,
        "k": draw(st.integers(1, 6)),
        "dtype": draw(st.sampled_from(["f2", "f4", "f8", "i1", "u2", "i8"])),
        "y_train": draw(st.one_of(st.none(), st.lists(column, min_size=1, max_size=6))),
        "share_lists": draw(st.booleans()),
    }


def _enumerated(families):
    """Leave out what tests/test_catalogue.py enumerates."""
    shown = {key: value for key, value in families["catalogue"].items() if key.startswith("expected_exposure_")}
    return {**families, "catalogue": shown}


@settings(max_examples=120, deadline=None)
@given(cases())
def test_every_number_by_enumeration(case):
    scores, truths, k = case["scores"], case["truths"], case["k"]
    n_classes = len(scores[0])
    served = case["served"] if case["share_lists"] else None
    mask = np.zeros((len(scores), n_classes), dtype=bool)
    for row, columns in enumerate(case["excluded"]):
        mask[row, sorted(columns)] = True
    report = build_ranking_report(
        np.array(scores, case["dtype"]),
        [-1 if truth is None else truth for truth in truths],
        k=k,
        exclude=mask,
        list_ids=served,
        y_train=case["y_train"],
        n_resamples=0,
        eval_all_objectives=False,
        num_threads=1,
    )
    counted = truths if case["y_train"] is None else case["y_train"]
    counts = [counted.count(column) for column in range(n_classes)]
    shared = {"excluded": case["excluded"], "served": served, "in_tail": oracle.tail(counts, 0.2)}
    expected = oracle.measure(scores, truths, k, **shared)
    close(report["ties"], expected.pop("ties"))
    close(_enumerated(report["objectives"]["accuracy"]), expected)
    chance = oracle.measure([[0] * n_classes] * len(scores), truths, k, **shared)
    close(_enumerated(report["chance"]), {name: chance[name] for name in chance if name != "ties"})
    if case["y_train"] is not None:
        floor = oracle.measure([counts] * len(scores), truths, k, **shared)
        close(_enumerated(report["baselines"]["global_pop"]), {name: floor[name] for name in floor if name != "ties"})
    is_masked = [
        truth is not None and truth in columns for truth, columns in zip(truths, case["excluded"], strict=True)
    ]
    assert report["protocol"]["population"]["n_masked_truth"] == sum(is_masked)
    assert report["n_unseen_truth"] == truths.count(None)
    for key, spread in report["ties"].items():
        if "@" in key:
            assert spread["min"] <= report["objectives"]["accuracy"]["micro"][key] <= spread["max"]
    assert RankingReport.from_json(report.to_json()) == report


@pytest.fixture(scope="module")
def case():
    """A problem with ties, misses, exclusions, groups and training data: positional and keyword arguments."""
    rng = np.random.default_rng(7)
    n_rows, n_classes = 60, 12
    scores = np.round(rng.random((n_rows, n_classes)) ** 3 * 16) / 16
    truths = rng.integers(-1, n_classes, n_rows)
    options = {
        "y_train": rng.integers(0, n_classes, 200) // 2 * rng.integers(0, 2, 200),
        "groups": rng.integers(0, 40, n_rows),
        "exclude": rng.random((n_rows, n_classes)) < 0.1,
        "class_values": rng.integers(-2, 9, n_classes) / 4,
        "segments": rng.choice(["a", "b", "c"], n_rows),
        "train_segments": rng.choice(["a", "b"], 200),
        "k": 4,
        "n_resamples": 60,
    }
    return scores, truths, options


def test_the_order_of_the_columns_does_not_matter(case):
    scores, truths, options = case
    names = np.array([f"class {column:02}" for column in range(scores.shape[1])])
    labelled = np.where(truths < 0, "unknown", names[truths])
    train = names[options["y_train"]]
    report = build_ranking_report(scores, labelled, classes=names, **options | {"y_train": train})
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(scores.shape[1])
        permuted = options | {
            "y_train": train,
            "exclude": options["exclude"][:, order],
            "class_values": options["class_values"][order],
        }
        other = build_ranking_report(scores[:, order], labelled, classes=names[order], **permuted)
        assert content(other) == content(report)


def test_the_order_of_the_rows_does_not_matter_with_groups(case):
    scores, truths, options = case
    report = build_ranking_report(scores, truths, **options)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(scores))
        permuted = options | {name: options[name][order] for name in ("groups", "exclude", "segments")}
        assert content(build_ranking_report(scores[order], truths[order], **permuted)) == content(report)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unseen", ["miss", "drop"])
def test_rows_that_are_not_graded_do_not_matter(case, unseen, container):
    scores, truths, options = case
    rows = np.random.default_rng(2).permutation(len(scores)) % 3 > 0
    kept = rows & (truths >= 0) if unseen == "drop" else rows
    with_gaps = options | {"exclude": container(options["exclude"])}
    labels = [truth if row else None for truth, row in zip(truths.tolist(), rows.tolist(), strict=True)]
    lists = np.arange(len(scores))[::-1]
    report = build_ranking_report(scores, labels, unseen=unseen, list_ids=lists, **with_gaps)
    chosen = options | {name: options[name][kept] for name in ("groups", "exclude", "segments")}
    other = build_ranking_report(scores[kept], truths[kept], unseen=unseen, list_ids=lists[kept], **chosen)
    names = [name for name in CONTENT if name not in ("n_no_truth", "n_unseen_truth")]
    assert content(report, *names) == content(other, *names)
    assert (report["n_no_truth"], report["n_unseen_truth"]) == ((~rows).sum(), (rows & (truths < 0)).sum())


def test_the_order_of_the_rows_matters_only_to_the_draws_without_groups(case):
    scores, truths, options = case
    options = options | {"groups": None}
    report = build_ranking_report(scores, truths, **options)
    order = np.random.default_rng(1).permutation(len(scores))
    permuted = options | {name: options[name][order] for name in ("exclude", "segments")}
    other = build_ranking_report(scores[order], truths[order], **permuted)
    rest = [name for name in CONTENT if name != "uncertainty"]
    assert content(other, *rest) == content(report, *rest)
    assert other["uncertainty"] != report["uncertainty"]
    for metric, found in other["uncertainty"]["model"].items():
        assert found["estimate"] == report["uncertainty"]["model"][metric]["estimate"]


@pytest.mark.parametrize("num_threads", [2, 3, 16])
def test_threads_do_not_matter(num_threads):
    # Several tasks of the scan and of the bootstrap.
    rng = np.random.default_rng(3)
    scores = (rng.random((9000, 60)) * 8).astype(np.float32).round()
    truths = rng.integers(0, 60, 9000)
    options = {"k": 7, "y_train": truths[::-1], "n_resamples": 30}
    report = build_ranking_report(scores, truths, num_threads=1, **options)
    other = build_ranking_report(scores, truths, num_threads=num_threads, **options)
    assert other.to_json() == report.to_json()


@pytest.mark.parametrize("objectives", [("accuracy",), OBJECTIVES])
@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f8", ">i4"])
def test_dtypes_do_not_matter(case, dtype, objectives):
    scores, truths, options = case
    whole = scores * 16
    report = build_ranking_report(whole, truths, objectives=objectives, **options)
    other = build_ranking_report(whole.astype(dtype), truths, objectives=objectives, **options)
    assert content(other) == content(report)


def test_half_precision_fractions(case):
    scores, truths, options = case
    report = build_ranking_report(scores, truths, shrinkage_strength=9, primary_objective="coverage", **options)
    for dtype in ("f2", "f4"):
        narrow = scores.astype(dtype)
        assert (narrow == scores).all()
        other = build_ranking_report(narrow, truths, shrinkage_strength=9, primary_objective="coverage", **options)
        # The reference scores of the state remember their dtype; nothing else may differ.
        assert content(other) == content(report)


def test_only_the_order_of_the_scores_matters(case):
    scores, truths, options = case
    report = build_ranking_report(scores, truths, eval_all_objectives=False, **options)
    for increasing in (lambda s: 2 * s, lambda s: s - 40, np.expm1, lambda s: -1 / (s + 1), lambda s: s * 1e-308):
        other = build_ranking_report(increasing(scores), truths, eval_all_objectives=False, **options)
        assert content(other) == content(report)


def test_minus_infinity_masks_like_an_exclusion(case):
    scores, truths, options = case
    report = build_ranking_report(scores, truths, primary_objective="balanced", **options)
    masked = np.where(options["exclude"], -np.inf, scores)
    other = build_ranking_report(
        masked, truths, primary_objective="balanced", mask_neg_inf=True, **options | {"exclude": None}
    )
    assert content(other) == content(report)
    for name in ("kind", "n_classes"):
        assert other["protocol"]["candidates"][name] == report["protocol"]["candidates"][name]
    both = build_ranking_report(masked, truths, primary_objective="balanced", mask_neg_inf=True, **options)
    assert content(both) == content(report)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_array, list])
def test_containers_of_exclusions(case, container):
    scores, truths, options = case
    excluded = options["exclude"]
    given_as = excluded.tolist() if container is list else container(excluded)
    report = build_ranking_report(scores, truths, **options)
    assert build_ranking_report(scores, truths, **options | {"exclude": given_as}) == report


def test_stored_zeros_and_repeated_entries_of_exclusions():
    entries = ([True, True, False], ([0, 0, 0], [1, 1, 2]))
    excluded = sparse.coo_array(entries, shape=(1, 3))
    report = build_ranking_report([[3, 2, 1]], [2], exclude=excluded, k=1, n_resamples=0, eval_all_objectives=False)
    assert report["ties"]["mrr@1"]["max"] == 0
    report = build_ranking_report([[3, 2, 1]], [2], exclude=excluded, k=2, n_resamples=0, eval_all_objectives=False)
    assert report["objectives"]["accuracy"]["micro"]["mrr@2"] == 0.5


@pytest.mark.parametrize("n_classes", [1, 3, 7, 11, 19, 20, 64, 100])
@pytest.mark.parametrize("k", [1, 3, 10, 70])
@pytest.mark.parametrize("constant", [0.25, 0.0])
def test_constant_scores_are_chance_bit_for_bit(n_classes, k, constant):
    n_rows = 9
    truths = np.arange(n_rows) % n_classes
    scores = np.full((n_rows, n_classes), constant)
    report = build_ranking_report(scores, truths, k=k, n_resamples=0, eval_all_objectives=False)
    assert content(report, "chance") == repr({"chance": report["objectives"]["accuracy"]})
    assert report["chance"]["micro"][f"hit@{k}"] == min(k, n_classes) / n_classes
    harmonic = sum(Fraction(1, rank) for rank in range(1, min(k, n_classes) + 1)) / n_classes
    assert report["chance"]["micro"][f"mrr@{k}"] == pytest.approx(float(harmonic), rel=1e-15)
    gain = math.fsum(1 / math.log2(1 + rank) for rank in range(1, min(k, n_classes) + 1)) / n_classes
    assert report["chance"]["micro"][f"ndcg@{k}"] == pytest.approx(gain, rel=1e-14)
    assert report["chance"]["macro"]["recommendation_gini"] == 0
    assert report["ties"]["mean_tie_width"] == n_classes
    assert report["ties"]["share_of_rows_tied_at_cut"] == (k < n_classes)


@pytest.mark.parametrize("n_rows", [1, 2, 10, 40])
def test_coverage_of_constant_scores(n_rows):
    report = build_ranking_report(np.zeros((n_rows, 20)), [0] * n_rows, k=10, n_resamples=0, eval_all_objectives=False)
    for block in (report["objectives"]["accuracy"], report["chance"]):
        assert block["macro"]["catalog_coverage"] == 1 - 2.0**-n_rows


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.parametrize(
    ("primary", "changes"),
    [
        ("accuracy", {}),
        ("balanced", {"shrinkage_strength": 5.0}),
        ("coverage", {"popularity_discount": 0.7, "shrinkage_strength": 0.5}),
        ("accuracy", {"popularity_discount": 1.3}),
        ("coverage", {"popularity_discount": 0.0}),
        ("accuracy", {"percentile_objectives": ["balanced", "coverage"], "shrinkage_strength": 30}),
        ("balanced", {"percentile_objectives": ["balanced"]}),
    ],
)
def test_a_block_is_the_report_of_the_transformed_scores(dtype, excluded, primary, changes):
    rng = np.random.default_rng(11)
    n_rows, n_classes = 150, 40
    # Some scores are proportional to the base rates, so that the discount makes ties and near ties.
    labels = rng.zipf(1.5, 400) % n_classes
    rates = np.bincount(labels, minlength=n_classes) / 400
    scores = (rates * rng.integers(1, 4, (n_rows, 1)) / 4 * rng.choice([1.0, 0.5, 0.9], (n_rows, n_classes))).astype(
        dtype
    )
    scores[:, :2] = 0
    reference = rng.random((400, n_classes)).astype(dtype) * (np.arange(n_classes) > 0)
    state = fit_comparability(labels, reference, percentile=True, n_knots=5)
    truths = rng.integers(0, n_classes, n_rows)
    options = {
        "state": state,
        "exclude": rng.random(scores.shape) < 0.2 if excluded else None,
        "class_values": rng.integers(0, 9, n_classes),
        "n_resamples": 20,
        "k": 5,
    }
    report = build_ranking_report(scores, truths, primary_objective=primary, **changes, **options)
    for name in OBJECTIVES:
        by_percentile = name in changes.get("percentile_objectives", ())
        own = {"percentile": by_percentile}
        if by_percentile:
            own["popularity_discount"] = 0.0
        elif name == primary:
            own |= {key: changes[key] for key in ("popularity_discount", "shrinkage_strength") if key in changes}
        transformed = transform_for_objective(scores, name, state=state, **own)
        alone = build_ranking_report(transformed, truths, eval_all_objectives=False, **options)
        assert repr(report["objectives"][name]) == repr(alone["objectives"]["accuracy"])
        if name == primary:
            assert content(alone, "ties", "uncertainty") == content(report, "ties", "uncertainty")
            assert alone["primary_score"] == report["primary_score"]
    alphas = {"accuracy": 0.0, "balanced": 0.5, "coverage": 1.0}
    alphas[primary] = changes.get("popularity_discount", alphas[primary])
    alphas |= dict.fromkeys(changes.get("percentile_objectives", ()))
    assert report["objective_alpha"] == alphas


def test_nothing_is_written_into_the_arguments(case):
    scores, truths, options = case
    arrays = {name: value for name, value in options.items() if isinstance(value, np.ndarray)}
    before = {name: value.copy() for name, value in arrays.items()}
    kept = scores.copy(), truths.copy()
    for array in (scores, truths, *arrays.values()):
        array.setflags(write=False)
    build_ranking_report(scores, truths, **options)
    assert (scores == kept[0]).all()
    assert (truths == kept[1]).all()
    assert all((arrays[name] == before[name]).all() for name in arrays)
