"""Novelty, serendipity and diversity in a report, against the functions of ``rankbound.catalogue``."""

import numpy as np
import pytest

from rankbound import build_ranking_report, catalogue, errors, fit_comparability, transform_for_objective

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
        "serendipity": catalogue.serendipity(scores, TARGETS, 3, popularity=COUNTS, **options),
        "intra_list_diversity": catalogue.intra_list_diversity(scores, 3, features=FEATURES, **options),
    }


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
    assert "catalogue" not in families
    shares = report(popularity=COUNTS / COUNTS.sum(), eval_all_objectives=False)["objectives"]["accuracy"]
    assert set(shares["catalogue"]) == {"average_recommendation_popularity", "serendipity"}
    state = fit_comparability(Y_TRAIN, n_classes=7)
    of_state = report(state=state, eval_all_objectives=False)["objectives"]["accuracy"]["catalogue"]
    assert of_state["novelty"] == pytest.approx(catalogue.novelty(SCORES, 3, counts=COUNTS), rel=1e-13)
    assert set(of_state) == {"novelty", "average_recommendation_popularity"}
    only = report(features=FEATURES, eval_all_objectives=False)
    assert set(only["objectives"]["accuracy"]["catalogue"]) == {"intra_list_diversity"}


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
    del expected["novelty"], expected["average_recommendation_popularity"]
    for found in (by_exclusion, by_score):
        assert found["objectives"]["accuracy"]["catalogue"] == pytest.approx(expected, rel=1e-13)
    assert by_exclusion["baselines"] == by_score["baselines"]
    assert by_exclusion["chance"] == by_score["chance"]
    served = report(SCORES[[0, 0, 1]], [0, 2, -1], list_ids=["a", "a", "b"], **options)
    found = served["objectives"]["accuracy"]["catalogue"]["intra_list_diversity"]
    assert found == catalogue.intra_list_diversity(SCORES[:2], 3, features=FEATURES)


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
