"""The drop-in of pytrec_eval beside the real package, which breaks ties by document ids."""

import inspect

import numpy as np
import pytest

from rankbound.compat import pytrec_eval as drop_in

pytrec_eval = pytest.importorskip("pytrec_eval")

MEASURES = ["map", "ndcg", "recip_rank", "Rprec", "map_cut", "ndcg_cut.1,3,7", "P", "P_2", "recall.2,5", "success"]
MEASURES += [*sorted(measure for measure in drop_in.supported_measures if measure.startswith(("num_", "set_")))]


def problem(*, tied):
    rng = np.random.default_rng(11)
    documents = [f"d{place:02}" for place in range(40)]
    qrels, run = {}, {}
    for query in range(40):
        n_judged, n_listed = rng.integers(1, 15), rng.integers(1, 35)
        low = 0 if query % 5 == 0 else -1  # pytrec_eval crashes on less
        judged = rng.choice(documents, n_judged, replace=False)
        qrels[f"q{query}"] = {d: int(rng.integers(low, 1 if query % 7 == 0 else 4)) for d in judged}
        listed = rng.choice(documents, n_listed, replace=False).tolist()
        scores = rng.integers(0, 4, n_listed) / 4 if tied else rng.permutation(n_listed) / 8
        run[f"q{query}"] = dict(zip(listed, scores.tolist(), strict=True))
    return qrels, run | {"unjudged": {"d00": 1.0}}


def test_signature():
    ours, theirs = (inspect.signature(module.RelevanceEvaluator) for module in (drop_in, pytrec_eval))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]
    assert drop_in.supported_measures < set(pytrec_eval.supported_measures)


@pytest.mark.parametrize("options", [{}, {"relevance_level": 2}, {"judged_docs_only_flag": True}])
def test_without_ties(options):
    qrels, run = problem(tied=False)
    found, expected = (
        module.RelevanceEvaluator(qrels, MEASURES, **options).evaluate(run) for module in (drop_in, pytrec_eval)
    )
    assert list(found) == list(expected)
    for query in expected:
        assert found[query] == pytest.approx(expected[query], rel=1e-12, abs=1e-15)


def test_parameter_of_f():
    qrels, run = problem(tied=True)
    found, expected = (
        module.RelevanceEvaluator(qrels, {"set_F.0.5"}).evaluate(run) for module in (drop_in, pytrec_eval)
    )
    assert all(found[query] == pytest.approx(expected[query], rel=1e-13) for query in expected)


def test_ties_are_the_mean_over_names():
    # Other names of the same documents are other orders of the ties.
    qrels, run = problem(tied=True)
    measures = ["map", "ndcg_cut_5", "recip_rank", "P_5", "success_1", "Rprec"]
    found = drop_in.RelevanceEvaluator(qrels, measures).evaluate(run)
    rng = np.random.default_rng(3)
    sums = {query: [] for query in found}
    for _ in range(300):
        names = {f"d{place:02}": f"x{other:02}" for place, other in enumerate(rng.permutation(40))}
        renamed = [
            {q: {names[d]: value for d, value in of.items()} for q, of in nested.items()} for nested in (qrels, run)
        ]
        values = pytrec_eval.RelevanceEvaluator(renamed[0], measures).evaluate(renamed[1])
        for query, of_query in values.items():
            sums[query].append([of_query[measure] for measure in measures])
    for query, values in sums.items():
        spread = np.std(values, axis=0) / np.sqrt(len(values))
        difference = np.abs([found[query][measure] for measure in measures] - np.mean(values, axis=0))
        assert (difference <= 5 * spread + 1e-12).all()
