"""A run and its judgements, and what makes two results the same."""

import numpy as np

RUN = {"q2": {"a": 0.5, "b": 0.5, "c": 0.9}, "q1": {"b": 0.3, "d": 0.7}, "unjudged": {"a": 1.0}}
QRELS = {"q1": {"b": 2, "z": 1}, "q2": {"a": 1, "c": 0}, "q3": {"a": 1}, "q4": {"a": 0}}
METRICS = ["recall@1", "mrr", "map_relevant", "ndcg_linear@3"]


def same(result, expected):
    assert result.to_dict() == expected.to_dict()
    assert result.target_fingerprint == expected.target_fingerprint
    assert result.protocol == expected.protocol
    np.testing.assert_array_equal(result.sample_ids, expected.sample_ids)
    for key, values in expected.per_user.items():
        np.testing.assert_array_equal(result.per_user[key], values)
