"""What a report says of the catalogue, against the functions and metrics of ``rankbound.catalogue``."""

import numpy as np
import pytest

from rankbound import (
    build_ranking_report,
    catalogue,
    errors,
    evaluate_scores,
    fit_comparability,
    transform_for_objective,
)

RNG = np.random.default_rng(8)
SCORES = RNG.integers(1, 5, (30, 7)) / 8
TRUTHS = RNG.integers(0, 7, 30)
Y_TRAIN = RNG.integers(0, 7, 40) % 6
COUNTS = np.bincount(Y_TRAIN, minlength=7)
FEATURES = RNG.random((7, 3))
TARGETS = np.eye(7)[TRUTHS]


def report(scores=SCORES, truths=TRUTHS, **options):
    return build_ranking_report(scores, truths, k=3, n_resamples=0, **options)


def measures(scores, **options):
    return {
        "novelty": catalogue.novelty(scores, 3, counts=COUNTS, **options),
        "average_recommendation_popularity": catalogue.average_recommendation_popularity(
            scores, 3, counts=COUNTS, **options
        ),
        "tail_share": catalogue.tail_share(scores, 3, counts=COUNTS, **options),
        "serendipity": catalogue.serendipity(scores, TARGETS, 3, popularity=COUNTS, **options),
        "intra_list_diversity": catalogue.intra_list_diversity(scores, 3, features=FEATURES, **options),
        **expected_exposure(scores, TARGETS, **options),
    }


def expected_exposure(scores, targets, **options):
    found = evaluate_scores(scores, targets, metrics="expected_exposure@3", **options)
    return {key.removesuffix("@3"): value for key, value in found.metrics.items()}


def test_every_ranking_has_them():
    state = fit_comparability(Y_TRAIN, n_classes=7)
    found = report(y_train=Y_TRAIN, features=FEATURES, state=state)
    expected = {
        "accuracy": measures(SCORES),
        "balanced": measures(transform_for_objective(SCORES, "balanced", state=state)),
        "coverage": measures(transform_for_objective(SCORES, "coverage", state=state)),
        "global_pop": measures(np.tile(COUNTS, (30, 1))),
        "chance": measures(np.zeros((30, 7))),
    }
    families = {**found["objectives"], **found["baselines"], "chance": found["chance"]}
    for name, values in expected.items():
        assert families[name]["catalogue"] == pytest.approx(values, rel=1e-13)
    assert set(families) == set(expected)


def test_what_has_no_data_is_absent():
    families = report(eval_all_objectives=False)["objectives"]["accuracy"]
    exposure = set(expected_exposure(SCORES, TARGETS))
    assert set(families["catalogue"]) == exposure
    shares = report(popularity=COUNTS / COUNTS.sum(), eval_all_objectives=False)["objectives"]["accuracy"]
    of_shares = {"average_recommendation_popularity", "tail_share", "serendipity"}
    assert set(shares["catalogue"]) == exposure | of_shares
    state = fit_comparability(Y_TRAIN, n_classes=7)
    of_state = report(state=state, eval_all_objectives=False)["objectives"]["accuracy"]["catalogue"]
    assert of_state["novelty"] == pytest.approx(catalogue.novelty(SCORES, 3, counts=COUNTS), rel=1e-13)
    assert set(of_state) == exposure | {"novelty", "average_recommendation_popularity", "tail_share"}
    only = report(features=FEATURES, eval_all_objectives=False)
    assert set(only["objectives"]["accuracy"]["catalogue"]) == exposure | {"intra_list_diversity"}


def test_masks_served_lists_and_unseen_truths():
    exclude = RNG.random(SCORES.shape) < 0.3
    exclude[0, 1:] = True
    exclude[:, 0] = False
    masked = np.where(exclude, -np.inf, SCORES)
    options = {"popularity": COUNTS, "features": FEATURES, "eval_all_objectives": False}
    by_exclusion = report(exclude=exclude, **options)
    by_score = report(masked, mask_neg_inf=True, **options)
    expected = measures(SCORES, exclude=exclude)
    # A list of one item: exposure does not tell the mean over lists.
    del expected["novelty"], expected["average_recommendation_popularity"], expected["tail_share"]
    for found in (by_exclusion, by_score):
        assert found["objectives"]["accuracy"]["catalogue"] == pytest.approx(expected, rel=1e-13)
    assert by_exclusion["baselines"] == by_score["baselines"]
    assert by_exclusion["chance"] == by_score["chance"]
    served = report(SCORES[[0, 0, 1]], [0, 2, -1], list_ids=["a", "a", "b"], **options)
    found = served["objectives"]["accuracy"]["catalogue"]["intra_list_diversity"]
    assert found == catalogue.intra_list_diversity(SCORES[:2], 3, features=FEATURES)


def test_a_served_list_is_one_need():
    """Four truths of two lists, one of them unseen: a column that is never a candidate has it elsewhere."""
    rows, served = [0, 0, 1, 1], ["b", "b", "a", "a"]
    exclude = np.zeros((2, 8), dtype=bool)
    exclude[0, [1, 3, 4]] = True
    found = report(SCORES[rows], [0, 2, -1, 5], list_ids=served, exclude=exclude[rows, :7], popularity=COUNTS)
    targets = np.zeros((2, 8))
    targets[[0, 0, 1, 1], [0, 2, 5, 7]] = 1
    exclude[:, 7] = True
    for scores, family in (
        (SCORES[:2], found["objectives"]["accuracy"]),
        (np.tile(COUNTS, (2, 1)), found["baselines"]["global_pop"]),
        (np.zeros((2, 7)), found["chance"]),
    ):
        expected = expected_exposure(np.pad(scores, ((0, 0), (0, 1))), targets, exclude=exclude)
        assert {key: family["catalogue"][key] for key in expected} == pytest.approx(expected, rel=1e-13)


def test_an_ideal_ranking_has_no_loss():
    """Truth first, all else tied: 1 and (1 / log2 3 + 1 / 2) / 6 each, squared and added up."""
    found = report(TARGETS, eval_all_objectives=False)["objectives"]["accuracy"]["catalogue"]
    square = 1 + (1 / np.log2(3) + 0.5) ** 2 / 6
    expected = {"loss": 0, "disparity": square, "relevance": square}
    assert found == pytest.approx({f"expected_exposure_{part}": value for part, value in expected.items()}, abs=1e-15)
    assert found["expected_exposure_loss"] >= 0


def test_the_tail_has_the_mass_of_the_report():
    options = {"popularity": COUNTS, "eval_all_objectives": False}
    found = report(tail_mass=0.6, **options)["objectives"]["accuracy"]["catalogue"]["tail_share"]
    assert found == pytest.approx(catalogue.tail_share(SCORES, 3, counts=COUNTS, tail_mass=0.6), rel=1e-13)
    assert found > report(**options)["objectives"]["accuracy"]["catalogue"]["tail_share"]


def test_groups_of_classes_share_the_exposure():
    groups = np.array(list("abcabca"))
    found = report(popularity=COUNTS, class_groups=groups)
    for name, scores in (("accuracy", SCORES), ("global_pop", np.tile(COUNTS, (30, 1))), ("chance", np.zeros((30, 7)))):
        families = {**found["objectives"], **found["baselines"], "chance": found["chance"]}[name]["catalogue"]
        shares = catalogue.group_exposure(scores, groups, 3)
        expected = {f"group_exposure[{label}]": share for label, share in zip("abc", shares.share, strict=True)}
        assert {key: value for key, value in families.items() if key.startswith("group")} == expected
    assert found["chance"]["catalogue"]["group_exposure[a]"] == pytest.approx(3 / 7, rel=1e-15)


def test_features_and_groups_must_fit_the_classes():
    with pytest.raises(errors.ShapeError, match="6 vectors, but there are 7 classes"):
        report(features=FEATURES[:6])
    with pytest.raises(errors.ShapeError, match="class_groups has 6 labels, but there are 7 classes"):
        report(class_groups=list("abcabc"))
    with pytest.raises(errors.InvalidTypeError, match="class_groups has no label for class 1"):
        report(class_groups=["a", None, "b", "c", "a", "b", "c"])


def test_the_family_is_kept_in_the_file():
    found = report(y_train=Y_TRAIN, features=FEATURES)
    read = type(found).from_json(found.to_json())
    assert read["objectives"]["balanced"]["catalogue"] == found["objectives"]["balanced"]["catalogue"]
