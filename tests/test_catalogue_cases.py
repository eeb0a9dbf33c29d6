"""Cases behind public bug reports about catalogue metrics, from ``data/reported_cases.json``."""

import json
from pathlib import Path

import pytest

from rankbound import RankedLists, catalogue, errors

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "data" / "reported_cases.json").read_text("utf-8"))
}


def test_every_pair_counts_once():
    case = CASES["cat-05"]
    lists = RankedLists(case["input"]["lists"])
    assert catalogue.intra_list_diversity(lists, case["k"], metric=case["input"]["distance"]) == case["expected"]


def test_novelty_is_in_bits_and_of_interactions():
    case = CASES["cat-07"]
    counts = case["input"]["train_counts"]
    lists = RankedLists([[list(counts).index(item) for item in one] for one in case["input"]["lists"]])
    found = catalogue.novelty(lists, case["k"], counts=list(counts.values()))
    assert found == pytest.approx(case["expected"], rel=1e-15)


def test_items_outside_the_catalogue_are_refused():
    case = CASES["cat-08"]
    known = {item: code for code, item in enumerate(case["input"]["catalogue"])}
    codes = [[known.get(item, len(known)) for item in one] for one in case["input"]["lists"]]
    assert case["expected"] == {"error": "UnknownItem"}
    with pytest.raises(errors.UnknownLabelError, match="list 1 names item 3 at position 1"):
        catalogue.catalog_coverage(RankedLists(codes, n_items=len(known)), case["k"])


def test_coverage_merges_by_union():
    case = CASES["agg-10"]
    evaluators = []
    for batch in case["input"]["batches"]:
        evaluators.append(catalogue.CatalogueEvaluator("catalog_coverage@2"))
        evaluators[-1].update(RankedLists(batch, n_items=case["input"]["catalogue_size"]))
    evaluators[0].merge(evaluators[1])
    assert case["k"] == 2
    assert evaluators[0].compute() == {"catalog_coverage@2": case["expected"]}
