"""What a careless or hostile caller may hand over must end in one clear refusal, or in a warning."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rankbound import build_ranking_report, fit_comparability, rank_of_truth, ranking_uncertainty
from rankbound.errors import (
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ShapeError,
    UnknownLabelError,
)

SCORES = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.4, 0.4, 0.2]])
TRUTHS = [0, 1, 2, 0]


def test_sums_beyond_the_accumulator_are_refused():
    many = 500
    with pytest.raises(InvalidParameterError, match=r"values holds .* sum below 2\^47"):
        build_ranking_report(np.eye(3)[[0] * many], [0] * many, class_values=[1e12] * 3, n_resamples=0)
    with pytest.raises(InvalidParameterError, match="sum below"):
        ranking_uncertainty({"revenue": np.full(many, 1e12)})


@pytest.mark.parametrize("damage", [(1, 10**6), (-1, 5_000_000), (2, 0), (1, -5)])
def test_damaged_sparse_exclusions_are_refused(damage):
    exclude = sp.csr_matrix(np.eye(4, 3))
    place, value = damage
    exclude.indptr[place] = value
    with pytest.raises(ShapeError, match="exclude is a damaged sparse matrix"):
        build_ranking_report(SCORES, TRUTHS, exclude=exclude, n_resamples=0)


@pytest.mark.parametrize("values", [np.ones(256, "int8"), [1, -1]])
def test_repeated_exclusions_do_not_cancel(values):
    where = np.zeros(len(values), int), np.ones(len(values), int)
    exclude = sp.coo_matrix((values, where), shape=SCORES.shape)
    once = sp.coo_matrix(([True], ([0], [1])), shape=SCORES.shape)
    with_many, with_one = (
        build_ranking_report(SCORES, TRUTHS, exclude=matrix, n_resamples=0)["chance"]["micro"]
        for matrix in (exclude, once)
    )
    assert with_many == with_one
    assert with_one["hit@1"] == (1 / 2 + 3 * (1 / 3)) / 4


def test_float_labels_too_large_to_be_exact_are_refused():
    with pytest.raises(UnknownLabelError, match=r"at row 0, .* below 2\^53"):
        rank_of_truth(SCORES[:2], [2.0**53, np.nan], classes=np.array([2**53, 2**53 + 1, 2**53 + 2]))


def test_a_state_of_the_graded_rows_is_noticed():
    state = fit_comparability(TRUTHS, SCORES)
    report = build_ranking_report(SCORES, TRUTHS, state=state, n_resamples=0)
    assert report["protocol"]["transform"]["state_fitted_on"] == "evaluation"
    assert any("fitted on the graded rows" in warning for warning in report["warnings"])
    other = build_ranking_report(SCORES, TRUTHS[::-1], state=state, n_resamples=0)
    assert other["protocol"]["transform"]["state_fitted_on"] == "train"


def test_shrinkage_with_a_state_that_knows_no_dead_classes_warns():
    state = fit_comparability([0, 1, 2], n_classes=3)
    report = build_ranking_report(SCORES, TRUTHS, state=state, shrinkage_strength=5, n_resamples=0)
    assert any("dead classes are unknown" in warning for warning in report["warnings"])


def test_too_few_resamples_warn():
    few = build_ranking_report(SCORES, TRUTHS, y_train=[2], n_resamples=39)
    enough = build_ranking_report(SCORES, TRUTHS, y_train=[2], n_resamples=40)
    assert [any("too few for these limits" in text for text in of["warnings"]) for of in (few, enough)] == [True, False]


def test_the_hash_of_classes_ignores_how_they_are_stored():
    hashes = {
        build_ranking_report(SCORES, list("abca"), classes=np.array(list("abc"), dtype), n_resamples=0)["protocol"][
            "candidates"
        ]["classes_hash"]
        for dtype in ("<U1", "<U20", object)
    }
    assert len(hashes) == 1


def test_the_protocol_hash_sees_masks():
    masked = SCORES.copy()
    masked[0, 2] = -np.inf
    plain, with_mask = (
        build_ranking_report(scores, TRUTHS, mask_neg_inf=True, n_resamples=0)["protocol"]
        for scores in (SCORES, masked)
    )
    assert plain["semantic_hash"] != with_mask["semantic_hash"]


def test_nullable_frames_are_read_exactly_or_refused():
    frame = pd.DataFrame(SCORES)
    assert build_ranking_report(frame.convert_dtypes(), TRUTHS) == build_ranking_report(SCORES, TRUTHS)
    frame = frame.convert_dtypes()
    frame.iloc[1, 2] = pd.NA
    with pytest.raises(NonFiniteScoreError, match="NaN at row 1, column 2"):
        build_ranking_report(frame, TRUTHS)
    large = pd.DataFrame({"a": [2**53 + 1], "b": [2**53]}, dtype="Int64")
    with pytest.raises(InvalidTypeError, match="proba has dtype object"):
        rank_of_truth(large, [0])
