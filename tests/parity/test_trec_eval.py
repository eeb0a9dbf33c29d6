"""The measures that trec_eval shares, through pytrec_eval and ir-measures."""

import numpy as np
import pytest
import pytrec_eval
from ir_measures import AP, RR, P, R, Rprec, Success, calc_aggregate, nDCG

from rankbound import evaluate_run

# Ours, and trec_eval's.
MEASURES = {
    "precision@5": "P_5",
    "precision@20": "P_20",
    "recall@5": "recall_5",
    "recall@20": "recall_20",
    "hit_rate@5": "success_5",
    "map_relevant": "map",
    "map_relevant@5": "map_cut_5",
    "mrr": "recip_rank",
    "r_precision": "Rprec",
    "ndcg_linear": "ndcg",
    "ndcg_linear@5": "ndcg_cut_5",
    "ndcg_linear@20": "ndcg_cut_20",
}


def tables(*, n_scores, seed=0):
    """A run with few or many distinct scores, and graded qrels; some relevant items are not retrieved."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in range(60):
        items = rng.choice(300, rng.integers(1, 40), replace=False)
        judged = rng.choice(300, 60, replace=False)
        scores = (
            rng.permutation(10_000)[: len(items)] / 7 if n_scores is None else rng.integers(0, n_scores, len(items)) / 7
        )
        run[f"q{query}"] = {str(item): float(score) for item, score in zip(items, scores, strict=True)}
        qrels[f"q{query}"] = {str(item): int(grade) for item, grade in zip(judged, rng.integers(0, 4, 60), strict=True)}
    return run, qrels


def integers(nested):
    return {int(query[1:]): {int(item): value for item, value in of.items()} for query, of in nested.items()}


def check(result, expected, name):
    for ours, theirs in MEASURES.items():
        values = [expected[name(query)][theirs] for query in result.sample_ids]
        np.testing.assert_allclose(result.per_user[ours], values, rtol=0, atol=1e-12, err_msg=ours)


@pytest.mark.parametrize("n_scores", [None, 3])
@pytest.mark.parametrize("ids", ["names", "numbers"])
def test_trec_eval(n_scores, ids):
    run, qrels = tables(n_scores=n_scores)
    expected = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures).evaluate(run)
    convert = integers if ids == "numbers" else dict
    name = (lambda query: f"q{query}") if ids == "numbers" else str
    # Without ties every rule must agree.
    for tie_break in ("expected", "trec_eval") if n_scores is None else ("trec_eval",):
        result = evaluate_run(convert(run), convert(qrels), metrics=list(MEASURES), tie_break=tie_break)
        assert result.n_scored_rows == len(run)
        check(result, expected, name)


def test_scores_that_single_precision_merges():
    run, qrels = tables(n_scores=None, seed=4)
    close = {query: {item: 1 + score * 1e-12 for item, score in of.items()} for query, of in run.items()}
    expected = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures).evaluate(close)
    check(evaluate_run(close, qrels, metrics=list(MEASURES), tie_break="trec_eval"), expected, str)


@pytest.mark.parametrize("n_scores", [None, 3])
def test_ir_measures(n_scores):
    run, qrels = tables(n_scores=n_scores, seed=1)
    pairs = {
        "precision@5": P @ 5,
        "recall@5": R @ 5,
        "hit_rate@5": Success @ 5,
        "map_relevant": AP,
        "map_relevant@3": AP @ 3,
        "mrr": RR,
        "r_precision": Rprec,
        "ndcg_linear@10": nDCG @ 10,
    }
    if n_scores is None:
        # By the script of MS MARCO, which breaks ties in an order of its own.
        pairs["mrr@3"] = RR @ 3
    result = evaluate_run(run, qrels, metrics=list(pairs), tie_break="trec_eval")
    found = calc_aggregate(list(pairs.values()), qrels, run)
    for ours, theirs in pairs.items():
        assert result[ours] == pytest.approx(found[theirs], abs=1e-12), ours
