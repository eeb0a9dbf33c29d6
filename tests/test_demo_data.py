"""The data and the model behind `rankbound demo`, against the facts of the source and the definition of EASE."""

from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from rankbound.demo import ATTRIBUTION, ease_weights, load_msweb, msweb_case


@pytest.fixture(scope="module")
def data():
    return load_msweb()


@pytest.fixture(scope="module")
def case():
    return msweb_case()


def dense(matrix):
    return np.asarray(matrix.toarray())


def test_packed_data_has_the_documented_counts(data):
    # The numbers of the data's own description. A repeated visit would count twice in nnz and once in the dense sum.
    assert data.train.shape == (32_711, 294)
    assert data.train.nnz == dense(data.train).sum() == 98_654
    assert data.test.shape == (5_000, 294)
    assert data.test.nnz == dense(data.test).sum() == 15_191


def test_packed_data_matches_lines_of_the_source(data):
    column = {int(area): i for i, area in enumerate(data.area_ids)}
    assert (data.titles[column[1287]], data.paths[column[1287]]) == ("International AutoRoute", "/autoroute")
    assert len(set(data.paths)) == 294
    # The first and the last user of both files, copied from them.
    for visits, users, row, user, areas in [
        (data.train, data.train_users, 0, 10001, {1000, 1001, 1002}),
        (data.train, data.train_users, -1, 42711, {1008}),
        (data.test, data.test_users, 0, 10001, {1038, 1026, 1034}),
        (data.test, data.test_users, -1, 15000, {1009, 1000}),
    ]:
        assert users[row] == user
        assert set(data.area_ids[visits[[row]].indices].tolist()) == areas


def test_attribution_travels_with_the_data():
    with files("rankbound").joinpath("data", "msweb.npz").open("rb") as file, np.load(file) as archive:
        assert str(archive["attribution"]) == ATTRIBUTION
    for part in ["Jack S. Breese", "David Heckerman", "Carl Kadie", "10.24432/C5VS3Q", "CC BY 4.0"]:
        assert part in ATTRIBUTION


def test_the_packing_script_writes_the_attribution_of_the_package():
    script = Path(__file__).resolve().parent.parent / "scripts" / "pack_msweb.py"
    assert run_path(str(script))["ATTRIBUTION"] is ATTRIBUTION


def test_one_visit_of_each_user_is_hidden_and_the_others_are_excluded(data, case):
    rows = np.arange(len(case.truth))
    exclude = dense(case.exclude)
    assert not exclude[rows, case.truth].any()
    # Hidden and visible visits together are the user's visits.
    exclude[rows, case.truth] = True
    visits = dense(data.test)
    np.testing.assert_array_equal(exclude, visits[visits.sum(axis=1) >= 2])
    np.testing.assert_array_equal(case.groups, data.test_users[visits.sum(axis=1) >= 2])


def test_hidden_place_is_uniform_among_the_visits_of_a_user(case):
    # Users with three visits: the hidden one is the first, second or third area by id equally often, within four
    # standard deviations of a binomial count.
    three = np.flatnonzero(np.diff(case.exclude.indptr) == 2)
    place = (dense(case.exclude)[three].cumsum(axis=1))[np.arange(len(three)), case.truth[three]]
    expected, spread = len(three) / 3, np.sqrt(len(three) * 2 / 9)
    np.testing.assert_allclose(np.bincount(place, minlength=3), expected, atol=4 * spread)


def test_scores_are_probabilities_on_an_exact_grid(case):
    assert np.isfinite(case.scores).all()
    assert case.scores.min() >= 0
    assert case.scores.max() <= 1
    np.testing.assert_array_equal(case.scores * 2**20 % 1, 0)


def test_scores_are_the_sum_of_the_weights_of_the_visible_visits(data, case):
    known = np.flatnonzero(dense(data.train).sum(axis=0) >= 20)
    X = dense(data.train)[:, known].astype(float)
    weights = ease_weights(X.T @ X, 100.0)
    for row in [0, 1, 2, len(case.truth) - 1]:
        seen = np.flatnonzero(np.isin(known, case.exclude[[row]].indices))
        # Each of at most ten weights is rounded by half of 2^-20.
        np.testing.assert_allclose(case.scores[row, known], weights[seen].sum(axis=0).clip(0, 1), atol=10 * 2**-21)


def test_rare_areas_are_exact_zero_columns(data, case):
    rare = dense(data.train).sum(axis=0) < 20
    assert rare.any()
    assert (case.scores[:, rare] == 0).all()
    assert (case.scores[:, ~rare] > 0).any(axis=0).all()
    assert rare[case.truth].any()  # the case holds hidden areas that only ties can place


def test_classes_are_unique_names(case):
    assert case.classes.dtype.kind == "U"
    assert len(set(case.classes)) == 294
    assert "International AutoRoute" in case.classes
    assert sum(name.startswith("MS Project (/") for name in case.classes) == 2  # the one repeated title


def test_ease_weights_solve_the_constrained_ridge_problem():
    X = np.random.default_rng(3).integers(0, 2, size=(40, 7)).astype(float)
    B = ease_weights(X.T @ X, 5.0)
    np.testing.assert_array_equal(np.diag(B), 0)
    # Half the gradient of |X - XB|^2 + 5 |B|^2; only the diagonal, which the constraint holds, may differ from 0.
    gradient = X.T @ (X @ B - X) + 5.0 * B
    np.fill_diagonal(gradient, 0)
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_case_is_deterministic_and_follows_its_seed(case):
    again = msweb_case()
    for field in fields(case):
        first, second = getattr(case, field.name), getattr(again, field.name)
        np.testing.assert_array_equal(*(dense(a) if field.name == "exclude" else a for a in (first, second)))
    assert (msweb_case(seed=1).truth != case.truth).any()
