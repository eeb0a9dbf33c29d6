"""Labels of metrics that are not ours: what was meant is said, where it can be told."""

import pytest

from rankbound import evaluate_ranked_predictions
from rankbound.errors import InvalidParameterError
from rankbound.metrics import parse


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        *[(label, "hit_rate@3") for label in ("hit@3", "hits_3", "HR@3", "success@3", "HitRate@3", "hit-rate@k=3")],
        *[(label, "precision@5") for label in ("P@5", "P_5", "prec@5", "precison@5", "precision at 5")],
        *[
            (label, "recall@10")
            for label in ("R@10", "recall_10", "recall10", "Recall@top10", "recal@10", "recall@10;")
        ],
        *[(label, "map@10") for label in ("AP@10", "MAP_10", "map10", "average_precision@10")],
        *[(label, "mrr@10") for label in ("RR@10", "MRR-10", "reciprocal_rank@10", "mean_reciprocal_rank_10")],
        *[(label, "ndcg@10") for label in ("ndgc@10", "nDCG_10", "ndcg_cut_10", "ndcg @ 10", "ndcg(10)")],
        ("map_cut_10", "map_relevant@10"),
        ("ndgc_exp2", "ndcg_exp2"),
        ("ndgc_exp2@2", "ndcg_exp2@2"),
        ("F1-score@5", "f1@5"),
        ("f1_10", "f1@10"),
        ("hitrate", "hit_rate@10"),
        ("Rprec", "r_precision"),
        ("rprec@3", "r_precision"),
        ("recip_rank", "mrr"),
        ("logrbp_7", "LogRBP@7"),
    ],
)
def test_a_label_of_another_library_is_answered_by_ours(label, meant):
    with pytest.raises(InvalidParameterError, match="did you mean ") as raised:
        evaluate_ranked_predictions([[0]], [[1]], metrics=label)
    assert f"{label!r} names no metric; did you mean {meant!r}? " in str(raised.value)
    assert parse(meant).label == meant


@pytest.mark.parametrize("label", ["", "@10", "?", "a" * 1000, "-" * 79, "ndcg@10.logmean", None])
def test_what_resembles_no_label_gets_no_hint(label):
    with pytest.raises(InvalidParameterError, match="names no metric; a label"):
        parse(label)
