"""The drop-in of ranx beside the real package."""

import inspect

import numpy as np
import pytest

from rankbound.compat import ranx as drop_in

ranx = pytest.importorskip("ranx")

# numba warns of its own deprecations.
pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = ["hits", "hit_rate", "precision", "recall", "f1", "mrr", "map", "dcg", "dcg_burges", "ndcg", "ndcg_burges"]
METRICS = [*NAMES, "r-precision", *(f"{name}@{k}" for name in NAMES for k in (1, 5, 30))]
METRICS += [f"{metric}-l2" for metric in METRICS]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(12)
    documents = [f"d{place:02}" for place in range(40)]
    qrels = {
        f"q{query:02}": {
            d: int(rng.integers(0, 1 if query % 9 == 0 else 4)) for d in rng.choice(documents, 8, False).tolist()
        }
        for query in range(40)
    }
    runs = []
    for skill in (0, 1, 3):
        run = {}
        for query, judged in qrels.items():
            listed = rng.choice(documents, rng.integers(1, 30), False).tolist()
            values = [skill * judged.get(document, 0) + 3 * rng.random() for document in listed]
            run[query] = dict(zip(listed, values, strict=True))
        runs.append(run)
    return qrels, runs


@pytest.mark.parametrize("name", ["evaluate", "compare"])
def test_signatures(name):
    ours, theirs = (inspect.signature(getattr(module, name)).parameters.values() for module in (drop_in, ranx))
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]


def test_without_ties(problem):
    qrels, (_, run, _) = problem
    found, expected = (
        module.evaluate(module.Qrels(qrels), module.Run(run), METRICS, return_mean=False) for module in (drop_in, ranx)
    )
    for metric in METRICS:
        assert found[metric] == pytest.approx(expected[metric], rel=1e-12, abs=1e-15), metric
    # The code of ranx multiplies by the grade, against its documentation.
    binary = {query: {document: min(grade, 1) for document, grade in of.items()} for query, of in qrels.items()}
    for metric in ("rbp.95", "rbp.8"):
        found_rbp, expected_rbp = (
            module.evaluate(module.Qrels(binary), module.Run(run), metric, return_mean=False)
            for module in (drop_in, ranx)
        )
        assert found_rbp == pytest.approx(expected_rbp, rel=1e-12)
    found, expected = (
        module.evaluate(module.Qrels(qrels), module.Run(run), ["mrr", "ndcg@5"], return_std=True)
        for module in (drop_in, ranx)
    )
    for metric, both in expected.items():
        assert found[metric] == pytest.approx(both, rel=1e-12)


def test_compare(problem):
    qrels, runs = problem
    reports = [
        module.compare(
            module.Qrels(qrels),
            [module.Run(run, name=f"m{place}") for place, run in enumerate(runs)],
            ["map@10", "mrr", "ndcg@5"],
            max_p=0.05,
        )
        for module in (drop_in, ranx)
    ]
    found, expected = (report.to_dict() for report in reports)
    assert found.keys() == expected.keys()
    for model in found["model_names"]:
        assert found[model]["scores"] == pytest.approx(expected[model]["scores"], rel=1e-12)
        for other in set(found["model_names"]) - {model}:
            p_values = [document[model]["comparisons"][other] for document in (found, expected)]
            assert p_values[0] == pytest.approx(p_values[1], rel=1e-8)
            assert found[model]["win_tie_loss"][other] == expected[model]["win_tie_loss"][other]
    rows = [[line.split() for line in report.to_table().splitlines()[2:]] for report in reports]
    assert rows[0] == rows[1]
