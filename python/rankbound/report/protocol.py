"""The conventions behind a report's numbers, machine readable."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._digest import digest, hash_of
from rankbound._labels import as_class_ids
from rankbound.report.config import RankingConfig
from rankbound.report.lists import GradedLists

PROTOCOL = "rankbound-protocol-1"
# Of which the maker of the lists may know more than the report.
GIVEN_SECTIONS = ("candidates", "truth", "catalogue", "split", "population")


def protocol_block(
    *,
    config: RankingConfig,
    lists: GradedLists,
    matrix: NDArray[Any],
    classes: Any,
    n_masked_truth: int,
    n_candidates: NDArray[np.uint32],
    supports: NDArray[np.int64],
    tail: dict[str, Any],
    transform: dict[str, Any],
    baselines: dict[str, Any],
    catalogue: dict[str, Any],
    uncertainty: dict[str, Any] | None,
    given: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the protocol block of a report, with a hash over what makes numbers comparable and one over all of it.

    Entries that the maker of the lists has given stand above the report's own.

    Reports of equal ``semantic_hash`` may stand side by side; with equal ``rows_hash`` they can be paired.
    """
    n_rows, n_classes = matrix.shape
    capped = lists.exclude is not None or bool((n_candidates < n_classes).any())
    block: dict[str, Any] = {
        "schema": PROTOCOL,
        "candidates": {
            "kind": "per_row" if capped else "full",
            "n_classes": n_classes,
            "classes_hash": digest(np.arange(n_classes) if classes is None else as_class_ids(classes, n_classes)),
            "mask_hash": None if lists.exclude is None else lists.exclude.digest(lists.rows),
            "counts_hash": digest(n_candidates) if capped else None,
            "mask_neg_inf": config.mask_neg_inf,
        },
        "truth": {
            "policy": "per_truth",
            "other_truths": "compete",
            "unseen": config.unseen,
            "relevance": "binary",
            "gain": "binary",
        },
        "ties": {
            "rule": "expectation",
            "equality": "exact",
            "dtype": matrix.dtype.name,
            "list_id_given": lists.served is not None,
        },
        "metrics": {"k": config.k, "fixed": [1, 5], "discount": "1/log2(1+rank)", "primary": config.primary_metric},
        "catalogue": {
            "size": n_classes,
            "K": config.k,
            "exposure_unit": "row" if lists.served is None else "list_id",
            "expected_exposure": {"weights": "log2"},
            "tail": tail,
            "macro_scope": "modelled" if lists.n_unseen_truth and lists.unseen_supports is None else "all",
            **catalogue,
        },
        "transform": transform,
        "population": {
            "n_rows": len(lists.rows),
            "n_rows_given": n_rows,
            "n_eval_groups": len(lists.rows) if lists.exposed is None else int(lists.exposed.sum()),
            "n_units": lists.n_units,
            "n_classes_macro": len(supports),
            "min_support": int(supports.min()) if len(supports) else None,
            "median_support": float(np.median(supports)) if len(supports) else None,
            "n_unseen_truth": lists.n_unseen_truth,
            "n_masked_truth": n_masked_truth,
            "n_no_truth": lists.n_no_truth,
            "rows_hash": digest(
                *(of for of in (lists.rows, lists.truths, lists.units, lists.served) if of is not None)
            ),
            "weights": None,
            "unit_kind": lists.unit,
        },
        "baseline": baselines,
        "uncertainty": None
        if uncertainty is None
        else {
            "method": uncertainty["method"],
            "estimand": "ratio of sums",
            "n_resamples": config.n_resamples,
            "confidence_level": config.confidence_level,
            "seed": config.seed,
            "rng": "numpy PCG64",
            "quantile_rule": "linear between order statistics (type 7)",
            "kernel": "pairwise sums",
        },
    }
    block |= {section: {**block.get(section, {}), **entries} for section, entries in given.items()}
    semantic = {name: block[name] for name in ("candidates", "truth", "ties", "metrics", "catalogue")}
    semantic["state_fitted_on"] = transform["state_fitted_on"]
    return {**block, "semantic_hash": hash_of(semantic), "hash": hash_of(block)}


def is_unchanged(protocol: Mapping[str, Any]) -> bool:
    """Return whether a protocol block is as it was hashed."""
    block = {name: part for name, part in protocol.items() if name not in ("semantic_hash", "hash")}
    return bool(protocol.get("hash") == hash_of(block))


def list_warnings(given: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what a reader must know about how the maker of the lists chose truths and candidates."""
    warnings = []
    if given.get("truth", {}).get("policy") == "first":
        warnings.append(
            "only the first truth of each list is graded: every metric is biased down, most for units with many truths"
        )
    if given.get("candidates", {}).get("kind") == "capped":
        warnings.append(
            f"lists are capped at {given['candidates'].get('cap')} candidates: not comparable with uncapped lists"
        )
    return warnings
