"""Evaluation of vectors: equal to that of the scores they make, and exact about ties."""

import numpy as np
import pytest
from scipy import sparse

from rankbound import evaluate_embeddings, evaluate_scores
from rankbound.errors import (
    EmptyInputError,
    InvalidParameterError,
    InvalidTypeError,
    NonFiniteScoreError,
    ScoreRangeError,
    ShapeError,
)

METRICS = ["hit_rate@3", "recall@10", "ndcg_exp2@10", "map@25", "mrr@40"]
SIMILARITIES = ("inner", "cosine", "l2")


def vectors(n, n_dimensions, seed):
    """Small whole numbers: no score is rounded, and many tie."""
    return np.random.default_rng(seed).integers(-3, 4, (n, n_dimensions)).astype(np.float32)


def same_lengths(rows):
    """Four values of 2^k or -2^k a row: its length is 2^(k+1), so that the cosine is exact as well."""
    rng = np.random.default_rng(rows.size)
    units = np.zeros_like(rows)
    for row in units:
        row[rng.choice(len(row), 4, replace=False)] = rng.choice([-1, 1], 4) * 2.0 ** rng.integers(-3, 4)
    return units


def scores_of(queries, items, similarity, bias=0):
    """Return the scores in float64, exact for whole numbers."""
    queries, items = queries.astype(np.float64), items.astype(np.float64)
    if similarity == "l2":
        return bias - ((queries[:, None] - items) ** 2).sum(axis=2)
    if similarity == "cosine":
        queries, items = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, items))
    return queries @ items.T + bias


def grades(n_queries, n_items, seed=5):
    rng = np.random.default_rng(seed)
    return sparse.csr_array(rng.integers(1, 4, (n_queries, n_items)) * (rng.random((n_queries, n_items)) < 0.1))


def same(one, other):
    assert dict(one) == dict(other)
    for key in one.per_user:
        np.testing.assert_array_equal(one.per_user[key], other.per_user[key])
    assert one.ties == other.ties


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("options", [{}, {"unseen": "drop"}])
def test_results_are_those_of_the_scores(similarity, options):
    queries, items = vectors(41, 9, 1), vectors(133, 9, 2)
    if similarity == "cosine":
        queries, items = same_lengths(queries), same_lengths(items)
    bias = np.random.default_rng(3).integers(-2, 3, 133).astype(np.float32)
    targets = grades(41, 133)
    exclude = sparse.random_array((41, 133), density=0.2, rng=np.random.default_rng(4))
    for given in (None, bias):
        expected = evaluate_scores(
            scores_of(queries, items, similarity, 0 if given is None else given),
            targets,
            metrics=METRICS,
            exclude=exclude,
            **options,
        )
        for threads in (1, 3):
            found = evaluate_embeddings(
                queries,
                items,
                targets,
                metrics=METRICS,
                exclude=exclude,
                item_bias=given,
                similarity=similarity,
                num_threads=threads,
                **options,
            )
            same(found, expected)
            assert found.protocol["population"] == expected.protocol["population"]
            assert found.protocol["candidates"] == expected.protocol["candidates"]


def test_equal_vectors_tie_where_a_matrix_product_may_not():
    rng = np.random.default_rng(6)
    queries, items = (rng.standard_normal(shape).astype(np.float32) for shape in ((13, 100), (501, 100)))
    copies = rng.choice(501, 40, replace=False)
    items[copies] = items[copies[0]]
    targets = np.zeros((13, 501))
    targets[:, copies[7]] = 1
    for similarity in SIMILARITIES:
        one = evaluate_embeddings(queries, items, targets, metrics="mrr@501", similarity=similarity)
        for query, value in zip(queries, one.per_user["mrr@501"], strict=True):
            # In double precision no two scores but those of the copies are closer than float32 rounds.
            scores = scores_of(query[None], items, similarity)[0]
            gaps = np.abs(np.delete(scores, copies) - scores[copies[0]])
            better = np.count_nonzero(np.delete(scores, copies) > scores[copies[0]])
            assert gaps.min() > 1e-6 * np.abs(scores).max()
            # Wherever the item stands, the forty places of its copies are equally likely.
            assert value == pytest.approx(np.mean(1 / np.arange(better + 1, better + 41)), rel=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_any_layout_and_half_precision(similarity, tmp_path):
    queries, items, targets = vectors(30, 8, 1) + 4, vectors(70, 8, 2) + 4, grades(30, 70)

    def evaluate(queries, items):
        return evaluate_embeddings(queries, items, targets, metrics=METRICS, similarity=similarity)

    expected = evaluate(queries, items)
    np.save(tmp_path / "items.npy", items)
    mapped = np.load(tmp_path / "items.npy", mmap_mode="r")
    same(evaluate(queries, mapped), expected)
    same(evaluate(np.asfortranarray(queries), np.repeat(items, 2, axis=0)[::2]), expected)
    same(evaluate(queries[:, ::-1], items[:, ::-1]), evaluate(queries[:, ::-1].copy(), items[:, ::-1].copy()))
    same(evaluate(queries.astype(np.float16), items), expected)
    same(evaluate(queries, items.astype(np.float16)), expected)
    same(evaluate(queries.astype(">f4"), items), expected)


def test_slices_and_progress():
    queries, items, targets = vectors(300, 4, 1), vectors(50, 4, 2), grades(300, 50)
    told = []
    options = {"metrics": METRICS, "slices": {"half": np.arange(50) < 25}}
    found = evaluate_embeddings(queries, items, targets, progress=lambda *at: told.append(at), **options)
    expected = evaluate_scores(scores_of(queries, items, "inner"), targets, **options)
    assert found.slices == expected.slices
    assert told[-1] == (300, 300)
    assert all(0 <= done <= total == 300 for done, total in told)


def spoiled(rows, row, column, value):
    rows = rows.copy()
    rows[row, column] = value
    return rows


QUERIES, ITEMS, TARGETS = vectors(5, 3, 1) + 4, vectors(9, 3, 2) + 4, np.eye(5, 9)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"queries": QUERIES.astype(np.float64)}, InvalidTypeError, "queries has dtype float64.*astype"),
        ({"items": ITEMS.astype(np.int64)}, InvalidTypeError, "items has dtype int64"),
        ({"queries": QUERIES[0]}, ShapeError, r"queries has 1 dimension\(s\)"),
        ({"items": ITEMS[:0]}, EmptyInputError, r"items has shape \(0, 3\)"),
        ({"items": ITEMS[:, :2]}, ShapeError, "queries has 3 dimensions, but items has 2"),
        ({"targets": TARGETS[:, :8]}, ShapeError, r"targets has shape \(5, 8\), but there are 5 queries and 9 items"),
        ({"exclude": np.zeros((5, 8), bool)}, ShapeError, r"exclude has shape \(5, 8\)"),
        ({"exclude": np.arange(5)[:, None] == np.full(9, 3)}, EmptyInputError, "row 3 has no candidate left"),
        ({"queries": spoiled(QUERIES, 4, 1, np.nan)}, NonFiniteScoreError, "queries has NaN at row 4, dimension 1"),
        ({"items": spoiled(ITEMS, 8, 2, -np.inf)}, NonFiniteScoreError, "items has -inf at row 8, dimension 2"),
        (
            {"items": spoiled(ITEMS, 7, slice(None), 0), "similarity": "cosine"},
            ScoreRangeError,
            "items has only zeros in row 7",
        ),
        ({"item_bias": spoiled(np.zeros((1, 9), np.float32), 0, 6, np.inf)[0]}, NonFiniteScoreError, "for item 6"),
        ({"item_bias": np.zeros(8, np.float32)}, ShapeError, r"item_bias has shape \(8,\)"),
        ({"item_bias": np.zeros(9)}, InvalidTypeError, "item_bias has dtype float64"),
        ({"similarity": "dot"}, InvalidParameterError, "similarity must be one of 'inner', 'cosine', 'l2'"),
        ({"unseen": "skip"}, InvalidParameterError, "unseen must be one of"),
        (
            {"queries": spoiled(QUERIES, 2, 0, 3e38), "items": spoiled(ITEMS, 5, 0, 1e3)},
            NonFiniteScoreError,
            "query 2 scores inf with item",
        ),
    ],
)
def test_bad_input_is_named(changes, error, message):
    arguments = {"queries": QUERIES, "items": ITEMS, "targets": TARGETS, "metrics": "recall@2"} | changes
    with pytest.raises(error, match=message):
        evaluate_embeddings(**arguments)
