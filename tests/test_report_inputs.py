"""What a report takes and gives beyond its numbers: containers, options, progress, protocol."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankbound import RankingConfig, build_ranking_report

SCORES = [[0.9, 0.5, 0.5, 0.0], [0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.5, 0.5], [0.0, 1.0, 0.0, 0.0]]


def accuracy(scores, truths, **options):
    """Report the scores as they are, without intervals."""
    return build_ranking_report(scores, truths, **{"n_resamples": 0, "eval_all_objectives": False} | options)


def micro(report):
    return report["objectives"]["accuracy"]["micro"]


def test_layouts_and_containers(tmp_path):
    rng = np.random.default_rng(4)
    scores = np.round(rng.random((50, 8)), 1)
    truths = rng.integers(0, 8, 50)
    options = {"y_train": truths[::-1], "k": 3, "n_resamples": 10}
    report = build_ranking_report(scores, truths, **options)
    path = tmp_path / "scores.npy"
    np.save(path, scores)
    read_only = scores.copy()
    read_only.setflags(write=False)
    wide = np.full((100, 16), np.nan)
    wide[::2, ::2] = scores
    tall = np.full((100, 8), np.nan)
    tall[::2] = scores
    names = [f"c{column}" for column in range(8)]
    layouts = {
        "memory map": np.load(path, mmap_mode="r"),
        "Fortran order": np.asfortranarray(scores),
        "negative row stride": scores[::-1].copy()[::-1],
        "negative column stride": scores[:, ::-1].copy()[:, ::-1],
        "gaps in both directions": wide[::2, ::2],
        "gaps between rows": tall[::2],
        "read-only": read_only,
        "list": scores.tolist(),
        "tuple": tuple(map(tuple, scores.tolist())),
        "pandas": pd.DataFrame(scores, columns=names, index=range(50, 0, -1)),
        "polars": pl.DataFrame(scores, schema=names),
    }
    for layout, same in layouts.items():
        assert build_ranking_report(same, truths, **options) == report, layout
    for same in (truths.tolist(), pd.Series(truths, index=range(50, 0, -1)), pl.Series(truths), truths.astype("i1")):
        assert build_ranking_report(scores, same, **options) == report
    sorted_names = pd.Series(names).astype("category")
    labels = pd.Series(np.array(names)[truths]).astype("category")
    named = build_ranking_report(scores, labels, classes=sorted_names, **options | {"y_train": labels[::-1]})
    assert named["objectives"] == report["objectives"]
    polars_labels = pl.Series(np.array(names)[truths])
    assert build_ranking_report(
        scores, polars_labels, classes=pl.Series(names), groups=pl.Series(["u"] * 49 + ["v"]), y_train=polars_labels
    )["n_units"] == 2  # fmt: skip


def test_repeated_rows_without_memory():
    scores = np.broadcast_to(np.array([1.0, 3.0, 2.0]), (10_000, 3))
    report = accuracy(scores, np.arange(10_000) % 3, k=1)
    assert micro(report)["hit@1"] == pytest.approx(0.3333)


def test_no_classes_beyond_one_column():
    report = build_ranking_report([[1.0], [0.0]], [0, 0], y_train=[0], k=3)
    assert set(micro(report).values()) == {1.0}
    assert report["objectives"]["accuracy"]["macro"]["recommendation_gini"] == 0


def test_config_and_options():
    config = RankingConfig(k=2, seed=5, primary_metric="mrr")
    by_config = build_ranking_report(SCORES, [1, 2, 3, 0], config=config)
    assert by_config == build_ranking_report(SCORES, [1, 2, 3, 0], k=2, seed=5, primary_metric="mrr")
    assert build_ranking_report(SCORES, [1, 2, 3, 0], config=config, k=3)["primary_score"]["metric"] == "mrr@3"
    assert config.k == 2


def test_the_same_bytes_twice(tmp_path):
    texts = {build_ranking_report(SCORES, [1, 2, 3, 0], y_train=[0, 1]).to_json(tmp_path / name) for name in "ab"}
    assert len(texts) == 1
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == texts.pop().encode()


def test_progress_is_told_the_rows_done():
    calls = []
    plain = build_ranking_report(SCORES, [1, 2, None, 0])
    report = build_ranking_report(SCORES, [1, 2, None, 0], progress=lambda done, total: calls.append((done, total)))
    assert report == plain
    assert calls[-1] == (3, 3)
    rng = np.random.default_rng(0)
    scores = np.broadcast_to(rng.random(500), (200_000, 500))
    calls.clear()
    accuracy(scores, rng.integers(0, 500, 200_000), progress=lambda done, total: calls.append((done, total)))
    done, total = zip(*calls, strict=True)
    assert set(total) == {200_000}
    assert list(done) == sorted(done)
    assert done[-1] == 200_000


def test_an_exception_from_progress_propagates():
    class StopItError(Exception):
        pass

    def stop(_done, _total):
        raise StopItError

    with pytest.raises(StopItError):
        build_ranking_report(SCORES, [1, 2, 3, 0], progress=stop)
    with pytest.raises(StopItError):
        accuracy(np.broadcast_to(np.arange(500.0), (200_000, 500)), np.zeros(200_000, int), progress=stop)


def test_a_bar(capsys):
    pytest.importorskip("tqdm")
    report = build_ranking_report(SCORES, [1, 2, 3, 0], progress=True)
    assert "4/4" in capsys.readouterr().err
    assert report == build_ranking_report(SCORES, [1, 2, 3, 0], progress=False)


def test_protocol_hash_tells_the_conventions():
    base = build_ranking_report(SCORES, [1, 2, 3, 0], y_train=[0, 1])["protocol"]
    changes = [
        {"k": 3},
        {"unseen": "drop"},
        {"groups": [0, 0, 1, 1]},
        {"list_ids": [0, 1, 2, 3]},
        {"exclude": np.eye(4, dtype=bool)[::-1]},
        {"classes": [3, 2, 1, 0], "y_train": [3, 2]},
        {"y_train": [0, 2]},
        {"tail_mass": 0.6},
        {"seed": 1},
        {"n_resamples": 999},
        {"shrinkage_strength": 3},
    ]
    hashes = {base["hash"]}
    for change in changes:
        hashes.add(build_ranking_report(SCORES, [1, 2, 3, 0], **{"y_train": [0, 1]} | change)["protocol"]["hash"])
    assert len(hashes) == 1 + len(changes)
    again = build_ranking_report(SCORES, [1, 2, 3, 0], y_train=[0, 1], num_threads=1)["protocol"]
    assert again == base
