"""Results to compare: what an evaluation of ranked lists, or a report with values per unit, offers."""

import numpy as np

PROTOCOL = {
    "candidates": {"kind": "full", "n_classes": 100},
    "truth": {"policy": "per_truth", "unseen": "miss"},
    "ties": {"rule": "expectation", "equality": "exact"},
    "metrics": {"k": 10, "gain": "binary"},
    "version": "1.0",
}


class Result(dict):
    """Aggregates by key, with values per scored list."""

    def __init__(self, per_user, ids=None, *, fingerprint="targets", protocol=PROTOCOL, aggregates=None):
        self.per_user = None if per_user is None else {key: np.asarray(of, float) for key, of in per_user.items()}
        n_lists = len(next(iter(self.per_user.values()))) if per_user else 3
        self.sample_ids = np.arange(n_lists) if ids is None else np.asarray(ids)
        self.target_fingerprint = fingerprint
        self.protocol = protocol
        if aggregates is None:
            aggregates = {key: of.mean() for key, of in (self.per_user or {}).items()}
        super().__init__(aggregates)


def result(values, ids=None, **options):
    return Result({"m": values}, ids, **options)


class Report(dict):
    """A ranking report, as far as a comparison reads one."""

    def __init__(self, per_unit):
        self.per_unit = per_unit
        super().__init__()


def models(seed=4, n_lists=50):
    """Ids, and values of three models in two metrics, of which the later ones are better in the first."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 30, n_lists)
    base = rng.random(n_lists)
    values = {
        name: {"m": base + 0.1 * rng.random(n_lists) * quality, "h": rng.integers(0, 2, n_lists)}
        for name, quality in [("a", 0), ("b", 1), ("c", 3)]
    }
    return ids, values
