"""Runs from data frames, building included, against sorting them and against ranx where it is installed."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from figures import Figure, timed
from rankbound import evaluate_run
from rankbound.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall

TITLE = "Runs from data frames, six metrics at three cut-offs, values per query; reference: the frame's owner or a peer"
CUT_OFFS = (20, 50, 100)
N_TARGETS = 10
N_ITEMS = 50_000


def figures(*, quick: bool) -> Iterator[Figure]:
    if any(find_spec(library) is None for library in ("pandas", "polars", "pyarrow")):
        print("  pandas, polars and pyarrow are not all installed: left out")
        return
    n_queries = 500 if quick else 20_000
    run, qrels = _frames(n_queries)
    metrics = [metric(CUT_OFFS) for metric in (Recall, Precision, HitRate, MRR, MAP, NDCG)]

    def ours(*frames: Any) -> Callable[[], object]:
        return lambda: evaluate_run(*frames, metrics=metrics)

    def sort() -> object:
        return run.sort_values(["query", "score"], ascending=[True, False])

    import polars as pl  # noqa: PLC0415 - a form of input that need not be there

    objects = [
        frame.astype({"query": str, "item": str}).astype({"query": object, "item": object}) for frame in (run, qrels)
    ]
    texts = [frame.astype({"query": "string[pyarrow]", "item": "string[pyarrow]"}) for frame in objects]
    title = f"{len(run):,} rows"
    yield timed(f"{title}, pandas integers; pandas sorts", ours(run, qrels), sort, n_pairs=3)
    polars = [pl.DataFrame({name: frame[name].to_numpy() for name in frame}) for frame in (run, qrels)]
    yield timed(f"{title}, polars integers; pandas sorts", ours(*polars), sort, n_pairs=3)
    strings = [frame.with_columns(pl.col("query", "item").cast(pl.String)) for frame in polars]
    yield timed(f"{title}, polars strings; pandas sorts", ours(*strings), sort, n_pairs=3)
    shuffled = run.sample(frac=1, random_state=0)
    yield timed(f"{title}, pandas, shuffled; pandas sorts", ours(shuffled, qrels), sort, n_pairs=3)
    if find_spec("ranx") is None:
        print("  ranx is not installed: left out")
        return
    import ranx  # noqa: PLC0415 - a peer that need not be there

    measures = [f"{name}@{k}" for name in ("recall", "precision", "hit_rate", "mrr", "map", "ndcg") for k in CUT_OFFS]

    def theirs() -> Any:
        columns = {"q_id_col": "query", "doc_id_col": "item"}
        return ranx.evaluate(
            # It reads no other strings.
            ranx.Qrels.from_df(objects[1], score_col="grade", **columns),
            ranx.Run.from_df(objects[0], score_col="score", **columns),
            measures,
        )

    found: Any = evaluate_run(run, qrels, metrics=metrics)
    assert np.isclose(theirs()["ndcg@20"], found["ndcg@20"])
    limit = None if quick else 1 / 50
    inputs = {"pandas integers": (run, qrels), "pandas strings": texts, "polars strings": strings}
    for name, frames in inputs.items():
        yield timed(f"{title}, {name}; ranx", ours(*frames), theirs, limit=limit, n_pairs=1)
    # Reading so many objects of Python takes half of the time, and that is up to the memory: more pairs.
    yield timed(f"{title}, pandas objects; ranx", ours(*objects), theirs, limit=limit, n_pairs=1 if quick else 5)


def _frames(n_queries: int) -> tuple[Any, Any]:
    """Return a run of distinct scores, and judgements of which half are retrieved."""
    import pandas as pd  # noqa: PLC0415 - a form of input that need not be there

    rng = np.random.default_rng(0)
    width = CUT_OFFS[-1]
    first = rng.integers(0, N_ITEMS, (n_queries, 1))
    step = rng.integers(1, N_ITEMS // (2 * width), (n_queries, 1))
    items = (first + step * np.arange(width + N_TARGETS // 2)) % N_ITEMS
    relevant = np.concatenate([rng.permuted(items[:, :width], axis=1)[:, : N_TARGETS // 2], items[:, width:]], axis=1)
    run = pd.DataFrame(
        {
            "query": np.repeat(np.arange(n_queries), width),
            "item": items[:, :width].ravel(),
            "score": rng.permutation(n_queries * width) / (n_queries * width),
        }
    )
    qrels = pd.DataFrame({"query": np.repeat(np.arange(n_queries), N_TARGETS), "item": relevant.ravel(), "grade": 1})
    return run, qrels
