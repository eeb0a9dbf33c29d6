"""Ranked lists with per-list values against the evaluators people use, each from inputs that are ready in its own form.

The lists have no ties, more items than targets, and targets in each: there the peers' definitions agree, but for the
average precision of torchmetrics, which divides by the number of relevant items that were listed.
"""

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from figures import Figure, timed
from lists import CUT_OFFS, METRICS, N_ITEMS, random_lists, target_matrix
from rankbound import RankedLists, evaluate_ranked_predictions

TITLE = "Ranked lists, six metrics at three cut-offs, values per list; reference: the same by a peer, inputs ready"

Ids = NDArray[np.int32]
# A job that returns one array of values per metric under our names, and does all its work before it returns.
Job = Callable[[], Any]


class Peer(NamedTuple):
    module: str
    make_job: Callable[[Ids, Ids], Job]
    n_lists: int
    limit: float
    tolerance: float
    unlike: tuple[str, ...] = ()


def figures(*, quick: bool) -> Iterator[Figure]:
    # Torch's idle threads spin; on a machine that does other work that alone makes it several times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for peer in PEERS:
        if find_spec(peer.module) is None:
            print(f"  {peer.module} is not installed: left out")
            continue
        yield from _beside(peer, n_lists=200 if quick else peer.n_lists, limit=None if quick else peer.limit)


def _beside(peer: Peer, *, n_lists: int, limit: float | None) -> Iterator[Figure]:
    lists, targets = random_lists(n_lists)
    predictions, matrix = RankedLists(lists), target_matrix(targets)

    def ours() -> Any:
        return evaluate_ranked_predictions(predictions, matrix, metrics=METRICS)

    theirs = peer.make_job(lists, targets)
    yield timed(f"{n_lists:,} lists, {peer.module}", ours, theirs, limit=limit, n_pairs=3)
    found, expected = ours().per_user, theirs()
    compared = [name for name in found if not name.startswith(peer.unlike)]
    n_differ = sum(
        np.count_nonzero(~(np.abs(np.asarray(expected[name]) - found[name]) <= peer.tolerance)) for name in compared
    )
    n_values = n_lists * len(compared)
    without = f" (no {', '.join(peer.unlike)})" if peer.unlike else ""
    yield Figure(
        name=f"  its values{without} further than {peer.tolerance:.0e} from ours",
        ours=f"{n_differ:,}",
        reference=f"{n_values:,}",
        ratio=n_differ / n_values,
        limit=0,
    )


def _compresso(lists: Ids, targets: Ids) -> Job:
    import torch  # noqa: PLC0415 - the peers need not be there
    from compresso import SRPTensor  # noqa: PLC0415
    from compresso_recsys import evaluation, metrics  # noqa: PLC0415

    scores = torch.arange(lists.shape[1], 0, -1, dtype=torch.float32).repeat(len(lists), 1)
    predictions = SRPTensor(cols=torch.from_numpy(lists).long(), vals=scores, shape=(len(lists), N_ITEMS))
    matrix = target_matrix(targets)
    kinds = (metrics.Recall, metrics.Precision, metrics.HitRate, metrics.MRR, metrics.MAP, metrics.NDCG)

    def run() -> Any:
        return evaluation.evaluate_ranked_predictions(
            predictions=predictions, targets=matrix, metrics=[kind(CUT_OFFS) for kind in kinds]
        ).per_user

    return run


def _ranx(lists: Ids, targets: Ids) -> Job:
    """Compile, which takes a minute at first, and return a job on the arrays of (id, score) it keeps inside."""
    import ranx  # noqa: PLC0415

    def with_scores(ids: Ids, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([ids.astype(np.float64), np.broadcast_to(scores, ids.shape)], axis=2)

    run = with_scores(lists, np.arange(lists.shape[1], 0, -1.0))
    qrels = with_scores(targets, np.ones(targets.shape[1]))
    measures = [name for metric in METRICS for name in metric.result_keys]
    return lambda: ranx.evaluate(qrels, run, measures, return_mean=False)


def _lenskit(lists: Ids, targets: Ids) -> Job:
    from lenskit.data import ItemList, ItemListCollection  # noqa: PLC0415
    from lenskit.metrics import NDCG, Hit, Precision, Recall, RecipRank, RunAnalysis  # noqa: PLC0415
    from lenskit.metrics.ranking import AveragePrecision, LogRankWeight  # noqa: PLC0415

    kinds = {
        "recall": Recall,
        "precision": Precision,
        "hit_rate": Hit,
        "mrr": RecipRank,
        "map": AveragePrecision,
        # Its default discounts ranks 1 and 2 alike.
        "ndcg": lambda k: NDCG(k, weight=LogRankWeight(offset=1)),
    }

    def collect(rows: Ids, *, ordered: bool) -> Any:
        return ItemListCollection.from_dict(
            {user: ItemList(row, ordered=ordered) for user, row in enumerate(rows)}, "user_id"
        )

    run, truth = collect(lists, ordered=True), collect(targets, ordered=False)

    def measure() -> Any:
        analysis = RunAnalysis()
        for name, kind in kinds.items():
            for k in CUT_OFFS:
                analysis.add_metric(kind(k), label=f"{name}@{k}")
        return analysis.measure(run, truth).list_metrics()

    return measure


def _torchmetrics(lists: Ids, targets: Ids) -> Job:
    import torch  # noqa: PLC0415
    from torchmetrics import MetricCollection, retrieval  # noqa: PLC0415

    kinds = {
        "recall": retrieval.RetrievalRecall,
        "precision": retrieval.RetrievalPrecision,
        "hit_rate": retrieval.RetrievalHitRate,
        "mrr": retrieval.RetrievalMRR,
        "map": retrieval.RetrievalMAP,
        "ndcg": retrieval.RetrievalNormalizedDCG,
    }
    # It knows of targets only among the rows: those that are not listed, as many of every list, follow last.
    relevant = (lists[:, :, np.newaxis] == targets[:, np.newaxis]).any(axis=2)
    n_missing = targets.shape[1] - np.count_nonzero(relevant[0])
    relevant = np.pad(relevant, ((0, 0), (0, n_missing)), constant_values=True)
    scores = np.broadcast_to(np.arange(relevant.shape[1], 0, -1, dtype=np.float32), relevant.shape)
    rows = torch.tensor(scores.ravel()), torch.tensor(relevant.ravel())
    indexes = torch.arange(len(lists)).repeat_interleave(relevant.shape[1])

    def run() -> Any:
        collection = MetricCollection(
            {f"{name}@{k}": kind(top_k=k, aggregation=_unchanged) for name, kind in kinds.items() for k in CUT_OFFS}
        )
        collection.update(*rows, indexes=indexes)
        return collection.compute()

    return run


def _unchanged(values: Any, dim: int | None) -> Any:  # noqa: ARG001 - the signature torchmetrics calls
    """Aggregate nothing: values per list are asked for."""
    return values


# What takes minutes gets fewer lists. The tolerances are those of the peers' precision.
PEERS = (
    Peer("compresso_recsys", _compresso, n_lists=200_000, limit=1 / 8, tolerance=1e-6),
    Peer("ranx", _ranx, n_lists=200_000, limit=1 / 15, tolerance=1e-9),
    Peer("lenskit", _lenskit, n_lists=2_000, limit=1 / 300, tolerance=1e-9),
    Peer("torchmetrics", _torchmetrics, n_lists=2_000, limit=1 / 300, tolerance=1e-6, unlike=("map",)),
)
