"""Graded lists over a catalogue: splits, truth policies and candidates, against hand-made and brute-force values."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankbound import build_ranking_report
from rankbound.errors import ReliabilityWarning
from rankbound.protocols import recommendation_lists

first_is_biased = pytest.mark.filterwarnings("ignore::rankbound.errors.ReliabilityWarning")

# Training until day 3. Of the truths, y was seen by ann, and w is no item of the training part.
VISITS = {
    "entity": ["ann", "ann", "bob", "cem", "ann", "ann", "ann", "bob", "dan", "cem"],
    "item": ["x", "y", "y", "z", "z", "v", "y", "w", "x", "x"],
    "label": [1, 0, 1, 2, 3, 1, 1, 1, 1, 0],
    "day": [1, 1, 2, 3, 4, 5, 5, 4, 6, 6],
}
VISITS["entity"] += ["bob"]
VISITS["item"] += ["v"]
VISITS["label"] += [2]
VISITS["day"] += [3]
BY_DAY = {"timestamp": "day", "split_at": 4}
# Columns v, x, y, z.
SCORES = {"ann": [0.5, 0.9, 0.9, 0.5], "bob": [0.1, 0.2, 0.3, 0.4], "dan": [0.4, 0.4, 0.4, 0.4]}


def score(entities, items):
    assert items.tolist() == ["v", "x", "y", "z"]
    return np.array([SCORES[entity] for entity in entities.tolist()])


def test_lists_of_a_small_table():
    lists = recommendation_lists(VISITS, score, **BY_DAY)
    assert lists.classes.tolist() == ["v", "x", "y", "z"]
    assert lists.unseen_items.tolist() == ["w"]
    assert lists.entities.tolist() == ["ann", "ann", "ann", "bob", "dan"]
    assert lists.list_ids.tolist() == [0, 0, 0, 1, 2]
    assert lists.targets.toarray().tolist() == [
        [1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 3, 0],
        [0, 0, 0, 0, 1],
        [0, 1, 0, 0, 0],
    ]
    # What was seen is excluded whatever its label; popularity counts labels above 0.
    assert lists.exclude.toarray().astype(int).tolist() == [[0, 1, 1, 0]] * 3 + [[1, 0, 1, 0], [0, 0, 0, 0]]
    assert lists.popularity.tolist() == [1, 1, 1, 1]
    assert lists.y_train.tolist() == [0, 1, 2, 3]
    assert lists.train_rows.tolist() == [0, 1, 2, 3, 10]
    assert lists.test_rows.tolist() == [4, 5, 6, 7, 8, 9]
    assert lists.protocol == {
        "candidates": {"source": "catalogue", "kind": "per_row", "n_items": 4, "cap": None, "seen": "exclude"},
        "truth": {"policy": "per_truth", "other_truths": "compete", "unseen": "miss"},
        "split": {"by": "time", "unit": "row", "split_at": 4},
        "population": {
            "n_rows": 5,
            "n_eval_groups": 3,
            "n_units": 3,
            "n_unseen_truth": 1,
            "n_masked_truth": 1,
            "n_no_truth": 1,
            "n_cold_entities": 1,
            "n_train_rows": 5,
            "n_test_rows": 6,
            "n_merged_rows": 0,
        },
    }
    assert len(lists) == 5
    assert "5 graded lists (per_truth) of 3 entities over 4 items" in repr(lists)


# ann ranks v and z, tied: each is first half of the time. y is masked, bob's w unseen. dan's x ties with three.
@pytest.mark.parametrize(
    ("options", "hit_at_1"),
    [
        ({}, [1 / 2, 0, 1 / 2, 0, 1 / 4]),
        ({"unseen": "drop"}, [1 / 2, 1 / 2, 1 / 4]),
        ({"other_truths": "exclude", "exclude_seen": False, "unseen": "drop"}, [0, 1 / 2, 0, 1 / 4]),
        ({"truth": "first"}, [1 / 2, 0, 1 / 4]),
        ({"truth": "first", "other_truths": "exclude", "unseen": "drop"}, [1, 1 / 4]),
        # x and y outrank v and z once they are candidates.
        ({"exclude_seen": False}, [0, 1 / 2, 0, 0, 1 / 4]),
        ({"exclude_seen": False, "other_truths": "exclude"}, [0, 1 / 2, 0, 0, 1 / 4]),
    ],
)
@first_is_biased
def test_truth_policies_by_hand(options, hit_at_1):
    lists = recommendation_lists(VISITS, score, **BY_DAY, **options)
    result = lists.evaluate("hit_rate@1")
    assert result.per_user["hit_rate@1"] == pytest.approx(hit_at_1, abs=1e-15)
    mean = float(sum(map(Fraction, hit_at_1)) / len(hit_at_1))
    assert result["hit_rate@1"] == pytest.approx(mean, abs=1e-15)
    assert lists.report(k=1, n_resamples=0)["primary_score"]["value"] == pytest.approx(mean, abs=1e-15)


@pytest.mark.parametrize(
    ("unseen", "recall_at_2", "n_relevant"),
    # ann has v, y and z, of which y is masked; bob only w.
    [("miss", [2 / 3, 0, 1 / 2], [3, 1, 1]), ("drop", [1, 1 / 2], [2, 1])],
)
def test_all_truths_as_a_set(unseen, recall_at_2, n_relevant):
    lists = recommendation_lists(VISITS, score, **BY_DAY, truth="set", unseen=unseen)
    assert np.diff(lists.targets.indptr).tolist() == n_relevant
    result = lists.evaluate(["recall@2", "ndcg_linear@1"])
    assert result.per_user["recall@2"] == pytest.approx(recall_at_2, abs=1e-15)
    # ann's v is worth 1 and z 3, and the best first place is worth 3.
    assert result.per_user["ndcg_linear@1"][0] == pytest.approx(2 / 3)
    assert result.protocol["truth"] == {
        "policy": "set",
        "other_truths": None,
        "unseen": unseen,
        "relevance": "graded",
    }
    assert lists.protocol["population"]["n_unseen_truth"] == 1
    assert lists.protocol["population"]["n_masked_truth"] == 1


def test_the_first_truth_is_the_earliest_then_the_lowest_item():
    with pytest.warns(ReliabilityWarning, match="biases every metric down") as caught:
        timed = recommendation_lists(VISITS, **BY_DAY, truth="first")
    assert caught[0].filename == __file__
    # ann met z on day 4, v and y on day 5.
    assert timed.classes[timed.targets.indices[[0, 2]]].tolist() == ["z", "x"]
    assert timed.protocol["truth"]["first_by"] == "timestamp, item"
    assert timed.protocol["truth"]["biased"] == "down"
    table = VISITS | {"day": [1, 1, 2, 3, 5, 5, 5, 5, 6, 6, 3]}
    with pytest.warns(ReliabilityWarning):
        tied = recommendation_lists(table, **BY_DAY, truth="first")
    assert tied.classes[tied.targets.indices[0]] == "v"
    with pytest.warns(ReliabilityWarning):
        report = recommendation_lists(VISITS, score, **BY_DAY, truth="first").report(n_resamples=0)
    assert any("biased down" in warning for warning in report["warnings"])


def test_reports_and_results_count_and_record_alike():
    lists = recommendation_lists(VISITS, score, **BY_DAY)
    report, result = lists.report(k=2, n_resamples=0), lists.evaluate(["mrr@2", "ndcg@2", "hit_rate@2"])
    for protocol in (report["protocol"], result.protocol):
        for section in ("candidates", "truth", "split", "population"):
            assert protocol[section].items() >= lists.protocol[section].items()
    assert report["n_unseen_truth"] == 1
    assert report["n_no_truth"] == 1
    assert report["n_units"] == result["n_units"] == 3
    micro = report["objectives"]["accuracy"]["micro"]
    for mine, other in (("mrr@2", "mrr@2"), ("ndcg@2", "ndcg@2"), ("hit@2", "hit_rate@2")):
        assert micro[mine] == pytest.approx(result[other], abs=1e-15)
    assert report["baselines"]["global_pop"]
    assert result.sample_ids.tolist() == lists.entities.tolist()
    # A dropped truth is still counted, and is not in the means over classes.
    dropped = recommendation_lists(VISITS, score, **BY_DAY, unseen="drop").report(n_resamples=0)
    assert dropped["n_unseen_truth"] == 1
    assert dropped["n_rows"] == 3
    assert dropped["protocol"]["catalogue"]["macro_scope"] == "modelled"
    assert report["protocol"]["catalogue"]["macro_scope"] == "all"


def test_lists_that_compete_are_served_once():
    compete, exclude = (
        recommendation_lists(VISITS, score, **BY_DAY, exclude_seen=False, other_truths=others).report(n_resamples=0)
        for others in ("compete", "exclude")
    )
    assert compete["protocol"]["ties"]["list_id_given"]
    assert not exclude["protocol"]["ties"]["list_id_given"]
    assert compete["protocol"]["semantic_hash"] != exclude["protocol"]["semantic_hash"]


def random_table(seed, n_rows=120):
    generator = np.random.default_rng(seed)
    keys = generator.permutation(6 * 24 * 3)[:n_rows]
    return {
        "entity": keys // 72,
        "item": keys // 3 % 24 * 10,
        "occasion": keys % 3,
        "label": generator.integers(0, 3, n_rows),
        "time": generator.integers(0, 20, n_rows),
    }


def coarse(entities, items):
    """Return scores with many ties, a function of the ids alone."""
    return (entities[:, None] * 7 + items[None, :] // 10 * 5) % 4


def brute_force(table, *, truth, other_truths, unseen, exclude_seen, split_at):
    """Return the mean expected reciprocal rank, over all orders of ties, of each graded list, and what it counts."""
    rows = list(zip(*(table[name].tolist() for name in ("entity", "item", "occasion", "label", "time")), strict=True))
    train = [row for row in rows if row[4] < split_at]
    catalogue = sorted({item for _, item, _, _, _ in train})
    found, n_unseen = {}, 0
    lists = sorted({(entity, occasion) for entity, _, occasion, _, time in rows if time >= split_at})
    for entity, occasion in lists:
        truths = sorted(
            (item, time)
            for of, item, at, label, time in rows
            if (of, at) == (entity, occasion) and time >= split_at and label > 0
        )
        seen = {item for of, item, _, _, _ in train if of == entity} if exclude_seen else set()
        by_time = sorted(truths, key=lambda pair: (pair[1], pair[0]))
        for item, _ in by_time[:1] if truth == "first" else truths:
            candidates = [other for other in catalogue if other not in seen]
            if other_truths == "exclude":
                candidates = [other for other in candidates if other == item or other not in dict(truths)]
            if item not in candidates:
                n_unseen += 1
                if unseen == "miss":
                    found[entity, occasion, item] = Fraction(0)
                continue
            scores = {other: (entity * 7 + other // 10 * 5) % 4 for other in candidates}
            better = sum(value > scores[item] for value in scores.values())
            tied = sum(value == scores[item] for value in scores.values())
            found[entity, occasion, item] = sum(Fraction(1, better + place) for place in range(1, tied + 1)) / tied
    return found, n_unseen


POLICIES = list(itertools.product(["per_truth", "first"], ["compete", "exclude"], ["miss", "drop"], [True, False]))


@pytest.mark.parametrize(("truth", "other_truths", "unseen", "exclude_seen"), POLICIES)
@first_is_biased
def test_every_policy_against_brute_force(truth, other_truths, unseen, exclude_seen):
    for seed in range(3):
        table = random_table(seed)
        rules = {"truth": truth, "other_truths": other_truths, "unseen": unseen, "exclude_seen": exclude_seen}
        expected, n_unseen = brute_force(table, split_at=14, **rules)
        lists = recommendation_lists(table, coarse, timestamp="time", occasion="occasion", split_at=14, **rules)
        result = lists.evaluate("mrr@50", batch_size=5)
        assert result.per_user["mrr@50"] == pytest.approx([float(value) for value in expected.values()], abs=1e-14)
        assert list(zip(lists.entities, lists.occasions, strict=True)) == [key[:2] for key in expected]
        population = lists.protocol["population"]
        assert population["n_unseen_truth"] + population["n_masked_truth"] == n_unseen
        assert population["n_rows"] == len(expected)
        report = lists.report(k=50, primary_metric="mrr", n_resamples=0, objectives=["accuracy"], batch_size=7)
        assert report["primary_score"]["value"] == pytest.approx(result["mrr@50"], abs=1e-14)


@pytest.mark.parametrize("truth", ["per_truth", "first"])
@pytest.mark.parametrize("other_truths", ["compete", "exclude"])
@first_is_biased
def test_misses_convert_to_drops(truth, other_truths):
    table = random_table(3)
    options = {"timestamp": "time", "occasion": "occasion", "truth": truth, "other_truths": other_truths}
    miss, drop = (recommendation_lists(table, coarse, **options, unseen=unseen) for unseen in ("miss", "drop"))
    population = miss.protocol["population"]
    n_unseen = population["n_unseen_truth"] + population["n_masked_truth"]
    assert 0 < n_unseen < population["n_rows"]
    assert drop.protocol["population"]["n_unseen_truth"] == population["n_unseen_truth"]
    assert drop.protocol["population"]["n_masked_truth"] == population["n_masked_truth"]
    share = (len(miss) - n_unseen) / len(miss)
    metrics = ["hit_rate@3", "mrr@3", "ndcg@3"]
    missed, dropped = miss.evaluate(metrics), drop.evaluate(metrics)
    for metric in metrics:
        assert missed[metric] == pytest.approx(dropped[metric] * share, rel=1e-14)
    scores = [lists.report(k=3, n_resamples=0)["primary_score"]["value"] for lists in (miss, drop)]
    assert scores[0] == pytest.approx(scores[1] * share, rel=1e-14)


def shuffled(table, seed=0):
    order = np.random.default_rng(seed).permutation(len(next(iter(table.values()))))
    return {name: np.asarray(column)[order] for name, column in table.items()}


@pytest.mark.parametrize("timestamp", ["time", None])
@pytest.mark.parametrize("truth", ["per_truth", "first", "set"])
@first_is_biased
def test_the_order_of_the_rows_does_not_matter(truth, timestamp):
    table = random_table(4)
    options = {"timestamp": timestamp, "occasion": "occasion", "truth": truth, "test_share": 0.4}
    lists = recommendation_lists(table, coarse, **options)
    result = lists.evaluate(["ndcg_exp2@3", "mrr@3"])
    for seed in range(3):
        other = recommendation_lists(shuffled(table, seed), coarse, **options)
        assert other.protocol == lists.protocol
        again = other.evaluate(["ndcg_exp2@3", "mrr@3"], batch_size=3, num_threads=1)
        assert again.target_fingerprint == result.target_fingerprint
        assert again.metrics == result.metrics
        assert all(np.array_equal(again.per_user[key], result.per_user[key]) for key in result.per_user)
        assert np.array_equal(again.sample_ids, result.sample_ids)
        if truth != "set":
            assert other.report(n_resamples=50).to_json() == lists.report(n_resamples=50).to_json()


def test_any_table_will_do():
    dates = np.datetime64("2024-01-01") + np.array(VISITS["day"])
    table = VISITS | {"day": dates.astype("datetime64[us]")}
    tables = [table, pd.DataFrame(table), pl.DataFrame(table), pa.table(table)]
    lists = [recommendation_lists(of, score, timestamp="day", split_at="2024-01-05") for of in tables]
    assert {str(of.protocol) for of in lists} == {str(lists[0].protocol)}
    assert {of.evaluate("mrr@4")["mrr@4"] for of in lists} == {
        recommendation_lists(VISITS, score, **BY_DAY).evaluate("mrr@4")["mrr@4"]
    }
    assert lists[0].protocol["split"]["split_at"] == "2024-01-05"


def test_a_share_of_the_rows_is_the_newest_that_time_does_not_divide():
    # 11 rows on days 1 1 2 3 3 4 4 5 5 6 6: of half of them, 5, the newest four share no day with others.
    halves = recommendation_lists(VISITS, timestamp="day", test_share=0.5)
    assert halves.protocol["split"] == {"by": "time", "unit": "row", "split_at": 5}
    assert halves.test_rows.tolist() == [5, 6, 8, 9]
    assert recommendation_lists(VISITS, timestamp="day", test_share=6 / 11).protocol["split"]["split_at"] == 4


def test_entities_are_drawn_whole():
    table = random_table(5)
    lists = recommendation_lists(table, occasion="occasion", test_share=0.5, seed=3)
    train, test = table["entity"][lists.train_rows], table["entity"][lists.test_rows]
    assert not set(train) & set(test)
    assert len(set(test)) == 3
    assert lists.protocol["split"] == {"by": "entity", "unit": "entity", "test_share": 0.5, "seed": 3}
    assert lists.protocol["population"]["n_cold_entities"] == lists.protocol["population"]["n_units"] == 3
    # Nothing was seen by entities that are new.
    assert lists.protocol["candidates"]["kind"] == "full"
    others = {tuple(recommendation_lists(table, occasion="occasion", seed=seed).test_rows) for seed in range(8)}
    assert len(others) > 1


def test_merged_rows_keep_the_highest_label_and_the_earliest_time():
    table = {name: column + column[-1:] for name, column in VISITS.items()}
    table["entity"][-1], table["item"][-1], table["label"][-1], table["day"][-1] = "ann", "v", 4, 4
    with pytest.warns(ReliabilityWarning):
        lists = recommendation_lists(table, score, **BY_DAY, truth="first", duplicates="merge")
    assert lists.protocol["population"]["n_merged_rows"] == 1
    # v on day 4, as z, with the lower id.
    assert lists.classes[lists.targets.indices[0]] == "v"
    assert lists.targets.data[0] == 4


def test_a_model_is_fitted_on_the_training_part_and_scores_in_batches():
    lists = recommendation_lists(VISITS, label="label", **BY_DAY)
    called = []

    def fitted(entities, items):
        called.append(entities.tolist())
        return score(entities, items)

    scored = lists.scored_by(fitted)
    result = scored.evaluate("mrr@4", batch_size=2)
    assert called == [["ann"], ["ann", "bob"], ["dan"]]
    assert result.metrics == recommendation_lists(VISITS, score, **BY_DAY).evaluate("mrr@4").metrics
    assert lists.score is None


def test_slices_and_values_per_list():
    lists, told = recommendation_lists(VISITS, score, **BY_DAY), []
    result = lists.evaluate(
        "hit_rate@1",
        progress=lambda *done: told.append(done),
        slices={"cold": lists.entities == "dan", "rare": lists.classes == "v"},
        collect_per_user=False,
        metadata={"model": "m"},
        batch_size=2,
    )
    assert result.per_user is None
    assert result.slices["cold"] == pytest.approx({"n_rows": 1, "n_scored_rows": 1, "hit_rate@1": 0.25})
    assert result.slices["rare"] == pytest.approx({"n_rows": 5, "n_scored_rows": 1, "hit_rate@1": 0.5})
    assert result.metadata == {"model": "m"}
    assert list(dict.fromkeys(told)) == [(2, 5), (4, 5), (5, 5)]


def test_the_demo_model_as_a_table():
    from rankbound.demo import load_msweb, msweb_case

    data, case = load_msweb(), msweb_case()
    users, areas = data.train.nonzero()
    visible_users, visible_areas = case.exclude.nonzero()
    n_users, n_hidden = len(data.train_users), len(case.truth)
    table = {
        "entity": np.concatenate([users, n_users + visible_users, n_users + np.arange(n_hidden)]),
        "item": np.concatenate([areas, visible_areas, case.truth]),
        "time": np.repeat([0, 0, 1], [len(users), len(visible_users), n_hidden]),
    }

    def predict(entities, items):
        return case.scores[np.ix_(entities - n_users, items)]

    lists = recommendation_lists(shuffled(table), predict, label=None, timestamp="time", split_at=1)
    known = lists.classes
    expected = build_ranking_report(
        case.scores[:, known],
        case.truth,
        classes=known,
        y_train=np.concatenate([areas, visible_areas]),
        groups=n_users + np.arange(n_hidden),
        exclude=case.exclude[:, known],
        n_resamples=0,
    )
    report = lists.report(n_resamples=0)
    assert len(known) < len(case.classes)
    for part in ("objectives", "baselines", "chance", "n_rows", "n_unseen_truth"):
        assert report[part] == expected[part]
