"""Graded lists over the candidates of occasions, and why they are never compared with those over a catalogue."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankbound.errors import ReliabilityWarning
from rankbound.protocols import ltr_lists, recommendation_lists

# Two occasions of ann, one of bob, two of cem, of which the second has no truth.
SHOWN = {
    "entity": ["ann"] * 3 + ["ann"] * 2 + ["bob"] * 4 + ["cem"] * 2 + ["cem"] * 2,
    "item": ["a", "b", "c", "a", "d", "a", "b", "c", "d", "b", "c", "b", "d"],
    "occasion": [1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 2, 2],
    "label": [1, 0, 1, 0, 1, 0, 2, 0, 1, 1, 0, 0, 0],
    "estimate": [5, 9, 5, 1, 1, 8, 8, 8, 2, 3, 1, 1, 2],
    # bob's occasion ends late.
    "time": [1, 1, 1, 2, 2, 2, 2, 2, 9, 3, 3, 4, 4],
}
WHOLE = {"occasion": "occasion", "test_share": None}


def test_lists_of_a_small_table():
    lists = ltr_lists(SHOWN, "estimate", **WHOLE)
    assert lists.classes.tolist() == ["a", "b", "c", "d"]
    assert lists.entities.tolist() == ["ann", "ann", "ann", "bob", "bob", "cem"]
    assert lists.occasions.tolist() == [1, 1, 2, 1, 1, 1]
    assert lists.list_ids.tolist() == [0, 0, 1, 2, 2, 3]
    assert lists.targets.toarray().tolist() == [
        [1, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
        [0, 2, 0, 0],
        [0, 0, 0, 1],
        [0, 1, 0, 0],
    ]
    assert lists.candidate_starts.tolist() == [0, 3, 5, 9, 11]
    assert lists.candidate_items.tolist() == [0, 1, 2, 0, 3, 0, 1, 2, 3, 1, 2]
    assert lists.protocol == {
        "candidates": {"source": "occasion", "kind": "per_row", "n_items": 4, "cap": None, "kept": "all"},
        "truth": {"policy": "per_truth", "other_truths": "compete", "unseen": "miss"},
        "split": {"by": "none"},
        "population": {
            "n_rows": 6,
            "n_eval_groups": 4,
            "n_units": 3,
            "n_unseen_truth": 0,
            "n_masked_truth": 0,
            "n_no_truth": 1,
            "n_cold_entities": 3,
            "n_train_rows": 0,
            "n_test_rows": 13,
            "n_capped_lists": 0,
            "n_capped_candidates": 0,
        },
    }


# Ranks: ann's a and c share 2 and 3; d ties with a; bob's b shares 1 to 3, d is fourth; cem's b is first.
@pytest.mark.parametrize(
    ("options", "mrr"),
    [
        ({}, [Fraction(5, 12)] * 2 + [Fraction(3, 4), Fraction(11, 18), Fraction(1, 4), 1]),
        (
            {"other_truths": "exclude"},
            [Fraction(1, 2)] * 2 + [Fraction(3, 4), Fraction(11, 18), Fraction(1, 3), 1],
        ),
    ],
)
def test_truth_policies_by_hand(options, mrr):
    expected = [float(value) for value in mrr]
    for table in (SHOWN, SHOWN | {"estimate": np.array(SHOWN["estimate"], dtype=np.float32)}):
        lists = ltr_lists(table, "estimate", **WHOLE, **options)
        result = lists.evaluate("mrr@10", batch_size=4)
        assert result.per_user["mrr@10"] == pytest.approx(expected, abs=1e-15)
        report = lists.report(primary_metric="mrr", objectives=["accuracy"], n_resamples=0, batch_size=4)
        assert report["primary_score"]["value"] == pytest.approx(sum(expected) / 6, abs=1e-15)


def test_the_first_truth_and_the_set():
    with pytest.warns(ReliabilityWarning, match="biases every metric down"):
        first = ltr_lists(SHOWN, "estimate", **WHOLE, truth="first")
    assert first.classes[first.targets.indices].tolist() == ["a", "d", "b", "b"]
    assert first.protocol["truth"]["first_by"] == "item"
    whole = ltr_lists(SHOWN, "estimate", **WHOLE, truth="set")
    result = whole.evaluate(["precision@2", "ndcg_exp2@1"])
    # ann: b, then a or c; a or d; bob: two of a, b and c; cem: b, c.
    assert result.per_user["precision@2"] == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 2], abs=1e-15)
    assert result.per_user["ndcg_exp2@1"] == pytest.approx([0, 1 / 2, 1 / 3, 1], abs=1e-15)


def test_occasions_are_as_old_as_their_last_row():
    lists = ltr_lists(SHOWN, "estimate", timestamp="time", occasion="occasion", split_at=4)
    assert lists.entities.tolist() == ["bob", "bob"]
    assert lists.test_rows.tolist() == [5, 6, 7, 8, 11, 12]
    assert lists.protocol["split"] == {"by": "time", "unit": "list", "split_at": 4}
    # Ages 1 2 9 3 4: two of five are 9 and 4.
    shares = ltr_lists(SHOWN, "estimate", timestamp="time", occasion="occasion", test_share=0.5)
    assert shares.protocol == lists.protocol
    assert lists.popularity.tolist() == [1, 1, 1, 1]
    one = ltr_lists(SHOWN | {"item": list("abcdefghijklm")}, "estimate", test_share=0.4)
    assert len(set(one.entities)) == 1
    assert one.protocol["split"]["by"] == "entity"


def capped_table():
    """Return training occasions in which c, then d and b are popular, and one test occasion of five candidates."""
    train = [("ann", item, at, 1, 0) for at, items in enumerate(["bc", "cd", "ce"]) for item in items]
    train += [("ann", "b", 3, 1, 0), ("ann", "d", 4, 1, 0), ("ann", "a", 5, 0, 0)]
    test = [("bob", item, 0, label, 9) for item, label in zip("abcde", [1, 0, 0, 1, 1], strict=True)]
    columns = zip(*(train + test), strict=True)
    return dict(zip(["entity", "item", "occasion", "label", "time"], map(list, columns), strict=True))


BY_TIME = {"timestamp": "time", "occasion": "occasion", "split_at": 5}


def by_row(rows):
    return -rows.astype(np.float64)


@pytest.mark.parametrize(
    ("cap", "kept", "mrr"),
    [
        # a is never popular, e once, b and d twice, c three times. The table has a first, then b, c, d, e.
        (1, "c", [0, 0, 0]),
        (2, "bc", [0, 0, 0]),
        (3, "bcd", [0, 1 / 3, 0]),
        (4, "bcde", [0, 1 / 3, 1 / 4]),
        (5, "abcde", [1, 1 / 4, 1 / 5]),
        (None, "abcde", [1, 1 / 4, 1 / 5]),
    ],
)
def test_the_cap_keeps_what_is_popular_in_the_training_part(cap, kept, mrr):
    table = capped_table()
    assert ltr_lists(table, by_row, **BY_TIME).popularity.tolist() == [0, 2, 3, 2, 1]
    lists = ltr_lists(table, by_row, **BY_TIME, max_candidates=cap)
    assert "".join(lists.classes[lists.candidate_items]) == kept
    result = lists.evaluate("mrr@10")
    assert result.per_user["mrr@10"] == pytest.approx(mrr)
    report = lists.report(objectives=["accuracy"], primary_metric="mrr", n_resamples=0)
    assert report["primary_score"]["value"] == pytest.approx(sum(mrr) / 3)
    cut = 5 - len(kept)
    for protocol in (lists.protocol, result.protocol, report["protocol"]):
        assert protocol["candidates"]["kind"] == ("capped" if cut else "per_row")
        assert protocol["candidates"]["cap"] == (cap if cut else None)
        assert ("most popular" in protocol["candidates"]["kept"]) == bool(cut)
        assert protocol["population"]["n_capped_candidates"] == cut
        assert protocol["population"]["n_capped_lists"] == bool(cut)
        assert protocol["population"]["n_masked_truth"] == sum(item not in kept for item in "ade")
    assert any("capped at" in warning for warning in report["warnings"]) == bool(cut)


def test_a_cut_truth_is_a_miss_or_dropped():
    miss, drop = (
        ltr_lists(capped_table(), by_row, **BY_TIME, max_candidates=4, unseen=unseen) for unseen in ("miss", "drop")
    )
    assert (len(miss), len(drop)) == (3, 2)
    assert miss.evaluate("mrr@9")["mrr@9"] == pytest.approx(drop.evaluate("mrr@9")["mrr@9"] * 2 / 3)
    scores = [lists.report(objectives=["accuracy"], n_resamples=0)["primary_score"]["value"] for lists in (miss, drop)]
    assert scores[0] == pytest.approx(scores[1] * 2 / 3)
    whole = ltr_lists(capped_table(), by_row, **BY_TIME, max_candidates=4, truth="set").evaluate("recall@9")
    assert whole["recall@9"] == pytest.approx(2 / 3)
    kept = ltr_lists(capped_table(), by_row, **BY_TIME, max_candidates=4, truth="set", unseen="drop")
    assert kept.evaluate("recall@9")["recall@9"] == 1


def test_capped_and_full_lists_are_told_apart():
    capped, full, uncut = (
        ltr_lists(capped_table(), by_row, **BY_TIME, max_candidates=cap).protocol["candidates"] for cap in (4, None, 5)
    )
    assert capped != full
    assert uncut == full


def random_occasions(seed):
    generator = np.random.default_rng(seed)
    keys = generator.permutation(5 * 3 * 12)[:130]
    return {
        "entity": keys // 36,
        "item": keys % 12,
        "occasion": keys // 12 % 3,
        "label": generator.integers(0, 3, 130) * generator.integers(0, 2, 130),
        "estimate": generator.integers(0, 4, 130).astype(np.float64),
    }


def brute_force(table, other_truths):
    """Return the expected reciprocal rank of each truth, by list and item, over all orders of ties."""
    rows = sorted(zip(*(column.tolist() for column in table.values()), strict=True), key=lambda row: (row[0], row[2]))
    found = []
    for _, candidates in itertools.groupby(rows, key=lambda row: (row[0], row[2])):
        shown = sorted(candidates)
        for _, item, _, label, own in shown:
            if label > 0:
                rivals = [row[4] for row in shown if row[1] != item and (other_truths == "compete" or not row[3])]
                better, tied = sum(score > own for score in rivals), 1 + rivals.count(own)
                found.append(float(sum(Fraction(1, better + place) for place in range(1, tied + 1)) / tied))
    return found


@pytest.mark.parametrize("other_truths", ["compete", "exclude"])
def test_every_truth_against_brute_force(other_truths):
    for seed in range(3):
        table = random_occasions(seed)
        lists = ltr_lists(table, "estimate", **WHOLE, other_truths=other_truths)
        result = lists.evaluate("mrr@20", batch_size=7)
        assert result.per_user["mrr@20"] == pytest.approx(brute_force(table, other_truths), abs=1e-14)
        report = lists.report(k=20, primary_metric="mrr", objectives=["accuracy"], n_resamples=0)
        assert report["primary_score"]["value"] == pytest.approx(result["mrr@20"], abs=1e-14)


def test_the_order_of_the_rows_does_not_matter():
    table = random_occasions(5)
    options = {"occasion": "occasion", "test_share": 0.6, "max_candidates": 6}
    lists = ltr_lists(table, "estimate", **options)
    assert lists.protocol["candidates"]["kind"] == "capped"
    result, report = lists.evaluate(["mrr@5", "ndcg_exp2@5"]), lists.report(n_resamples=50)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(130)
        other = ltr_lists({name: column[order] for name, column in table.items()}, "estimate", **options)
        again = other.evaluate(["mrr@5", "ndcg_exp2@5"], batch_size=3)
        assert again.metrics == result.metrics
        assert again.protocol == result.protocol
        assert again.target_fingerprint == result.target_fingerprint
        assert np.array_equal(again.per_user["mrr@5"], result.per_user["mrr@5"])
        assert other.report(n_resamples=50).to_json() == report.to_json()


def test_a_column_and_a_function_score_alike():
    estimates = np.array(SHOWN["estimate"], dtype=np.float64)
    expected = ltr_lists(SHOWN, "estimate", **WHOLE).evaluate("mrr@5").metrics
    assert ltr_lists(SHOWN, lambda rows: estimates[rows], **WHOLE).evaluate("mrr@5", batch_size=2).metrics == expected
    later = ltr_lists(SHOWN, **WHOLE).scored_by(lambda rows: estimates[rows])
    assert later.evaluate("mrr@5").metrics == expected
    opposite = ltr_lists(SHOWN, "estimate", **WHOLE).scored_by(lambda rows: -estimates[rows])
    assert opposite.evaluate("mrr@5").metrics != expected


def test_any_table_will_do():
    expected = ltr_lists(SHOWN, "estimate", **WHOLE).evaluate("ndcg@3").metrics
    for table in (pd.DataFrame(SHOWN), pl.DataFrame(SHOWN), pa.table(SHOWN)):
        assert ltr_lists(table, "estimate", **WHOLE).evaluate("ndcg@3").metrics == expected


def test_the_two_protocols_are_never_comparable():
    table = {name: SHOWN[name] for name in ("entity", "item", "label", "time", "occasion", "estimate")}
    options = {"timestamp": "time", "occasion": "occasion", "split_at": 4}
    catalogue = recommendation_lists(
        table, lambda entities, items: np.ones((len(entities), len(items))), **options, exclude_seen=False
    )
    occasions = ltr_lists(table, "estimate", **options)
    pairs = [
        (catalogue.evaluate("mrr@5").protocol, occasions.evaluate("mrr@5").protocol),
        tuple(lists.report(n_resamples=0)["protocol"] for lists in (catalogue, occasions)),
    ]
    for first, other in pairs:
        assert first["candidates"]["source"] == "catalogue"
        assert other["candidates"]["source"] == "occasion"
        assert first["candidates"]["kind"] != other["candidates"]["kind"]
        assert first.get("semantic_hash", 0) != other.get("semantic_hash", 1)
    policies = [
        ltr_lists(table, "estimate", **options, truth=truth).protocol["truth"] for truth in ("set", "per_truth")
    ]
    assert policies[0]["policy"] != policies[1]["policy"]
