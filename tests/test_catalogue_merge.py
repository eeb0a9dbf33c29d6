"""However the lists are split, ordered or stored, catalogue metrics have the same bits."""

import numpy as np
import pytest

from rankbound import RankedLists, RankingEvaluator, catalogue, errors, evaluate_ranked_predictions

RNG = np.random.default_rng(4)
N_ROWS, N_ITEMS = 60, 40
SCORES = RNG.integers(0, 6, (N_ROWS, N_ITEMS)).astype(np.float32)
TARGETS = (RNG.random((N_ROWS, N_ITEMS)) < 0.1).astype(float)
TARGETS[3] = 0
COUNTS = RNG.integers(0, 50, N_ITEMS)
FEATURES = RNG.random((N_ITEMS, 5))


def metrics():
    return [
        "catalog_coverage@7",
        "recommendation_entropy@7",
        "recommendation_gini@7",
        "macro_recall@5",
        "expected_exposure@7",
        catalogue.Novelty(7, counts=COUNTS),
        catalogue.AverageRecommendationPopularity(7, counts=COUNTS, scale="share"),
        catalogue.TailShare(7, counts=COUNTS),
        catalogue.TailHit(7, counts=COUNTS),
        catalogue.Serendipity(7, popularity=COUNTS),
        catalogue.IntraListDiversity(7, features=FEATURES),
        catalogue.GroupExposure(7, groups=COUNTS % 3, weights="geometric", patience=0.8),
    ]


def compute(*parts, num_threads=1):
    """Return the metrics of evaluators of some rows each, merged."""
    whole = catalogue.CatalogueEvaluator(metrics())
    for rows in parts:
        part = catalogue.CatalogueEvaluator(metrics())
        if len(rows):
            part.update(SCORES[rows], TARGETS[rows], num_threads=num_threads)
        whole.merge(part)
    return whole.compute()


def test_any_split_has_the_bits_of_one_pass():
    rows = np.arange(N_ROWS)
    whole = compute(rows)
    assert not np.isnan(list(whole.values())).any()
    assert compute(rows[::-1], num_threads=3) == whole
    shuffled = RNG.permutation(rows)
    assert compute(shuffled[:1], shuffled[1:9], shuffled[9:9], shuffled[9:]) == whole


def test_the_order_of_the_items_changes_nothing():
    order = RNG.permutation(N_ITEMS)
    counts, scores = COUNTS[order], SCORES[:, order]
    for metric, data in [
        (catalogue.novelty, {"counts": (COUNTS, counts)}),
        (catalogue.intra_list_diversity, {"features": (FEATURES, FEATURES[order])}),
        (catalogue.recommendation_gini, {}),
        (catalogue.catalog_coverage, {}),
    ]:
        given, turned = ({name: arrays[at] for name, arrays in data.items()} for at in (0, 1))
        assert metric(SCORES, 7, **given) == metric(scores, 7, **turned)


def stored(shown):
    return [array.tobytes() for array in shown.sums.store()]


def test_exposures_merge_and_come_back_from_files(tmp_path):
    for weights in ({}, {"weights": "log2"}):
        whole = catalogue.exposure(SCORES, 7, **weights)
        halves = [catalogue.exposure(SCORES[rows], 7, **weights) for rows in (slice(0, 11), slice(11, None))]
        merged = halves[1].merge(halves[0])
        assert stored(merged) == stored(whole)
        assert (merged.n_lists, merged.n_tied_at_cut) == (whole.n_lists, whole.n_tied_at_cut)
        whole.save(tmp_path / "shown.npz")
        loaded = catalogue.Exposure.load(tmp_path / "shown.npz")
        assert stored(loaded) == stored(whole)
        assert (loaded.k, loaded.rank_value, loaded.n_lists) == (7, whole.rank_value, N_ROWS)
        assert loaded.expected.tolist() == whole.expected.tolist()
        assert loaded.merge(whole).n_lists == 2 * N_ROWS


def test_an_evaluator_keeps_the_exposure():
    evaluator = catalogue.CatalogueEvaluator(metrics())
    evaluator.update(SCORES[:9], TARGETS[:9])
    evaluator.update(SCORES[9:], TARGETS[9:])
    assert stored(evaluator.exposure(7)) == stored(catalogue.exposure(SCORES, 7))
    with pytest.raises(errors.InvalidParameterError, match="top 3"):
        evaluator.exposure(3)


def test_batches_of_ranked_lists_have_the_bits_of_one_evaluation():
    lists = RankedLists(np.argsort(-SCORES, axis=1, kind="stable")[:, :9])
    whole = evaluate_ranked_predictions(lists, TARGETS, metrics=["ndcg@5", *metrics()])
    parts = [RankingEvaluator(["ndcg@5", *metrics()]) for _ in range(2)]
    for part, rows in zip(parts, ((0, 20), (20, N_ROWS)), strict=True):
        part.update(lists.rows(*rows), TARGETS[slice(*rows)], sample_ids=range(*rows))
    parts[0].merge(parts[1])
    merged = parts[0].compute()
    assert dict(merged) == dict(whole)
    assert {key: values.tolist() for key, values in merged.per_user.items()} == {
        key: values.tolist() for key, values in whole.per_user.items()
    }


def test_what_does_not_fit_is_not_merged(tmp_path):
    shown = catalogue.exposure(SCORES, 7)
    for other in (catalogue.exposure(SCORES, 6), catalogue.exposure(SCORES, 7, weights="log2")):
        with pytest.raises(errors.InvalidParameterError, match="cannot be merged"):
            shown.merge(other)
    with pytest.raises(errors.ShapeError, match="39"):
        shown.merge(catalogue.exposure(SCORES[:, 1:], 7))
    with pytest.raises(errors.InvalidTypeError, match="Exposure"):
        shown.merge(3)
    evaluator = catalogue.CatalogueEvaluator(catalogue.Novelty(7, counts=COUNTS))
    with pytest.raises(errors.InvalidParameterError, match="novelty@7"):
        evaluator.merge(catalogue.CatalogueEvaluator(catalogue.Novelty(7, counts=COUNTS + 1)))
    with pytest.raises(errors.InvalidTypeError, match="CatalogueEvaluator"):
        evaluator.merge(None)
    ranking = RankingEvaluator(catalogue.Novelty(7, counts=COUNTS))
    with pytest.raises(errors.InvalidParameterError, match="novelty@7"):
        ranking.merge(RankingEvaluator(catalogue.Novelty(7, counts=COUNTS + 1)))
    (tmp_path / "other.npz").write_bytes(b"PK")
    for path, message in (("other.npz", "damaged"), ("missing.npz", "no file"), ("shown.txt", "no saved|no file")):
        with pytest.raises(errors.FileFormatError, match=message):
            catalogue.Exposure.load(tmp_path / path)
    with pytest.raises(errors.FileFormatError, match=r"\.npz"):
        shown.save(tmp_path / "shown.txt")


def test_a_refused_batch_leaves_everything_as_it_was():
    evaluator = catalogue.CatalogueEvaluator("catalog_coverage@2")
    evaluator.update(SCORES)
    before = evaluator.compute()
    with pytest.raises(errors.ShapeError, match="39 items, but over 40"):
        evaluator.update(SCORES[:, 1:])
    with pytest.raises(errors.NonFiniteScoreError):
        evaluator.update(np.full((2, N_ITEMS), np.nan))
    assert evaluator.compute() == before
