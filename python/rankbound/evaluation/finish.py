"""From tie profiles to the result: what every ``evaluate_*`` ends with."""

from collections.abc import Callable, Mapping
from typing import Any

from rankbound import _core
from rankbound._core import __version__
from rankbound.catalogue.source import Source
from rankbound.errors import InvalidTypeError
from rankbound.evaluation.collector import Batch, Collector, as_sample_ids, as_value_dtypes
from rankbound.evaluation.plan import Plan
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.slices import as_slices
from rankbound.evaluation.targets import Targets, check_not_empty

PROTOCOL = "rankbound-protocol-1"


def finish(
    profile: Callable[[Targets], _core.Profiles],
    targets: Targets,
    plan: Plan,
    *,
    width: int,
    sample_ids: Any,
    slices: Any,
    collect_per_user: bool,
    per_user_dtype: str,
    metadata: Mapping[str, Any] | None,
    protocol: Callable[[], Mapping[str, Any]],
    num_threads: int,
    upper: Callable[[Targets], _core.Profiles] | None = None,
    source: Source | None = None,
) -> EvaluationResult:
    """Evaluate lists whose tie profiles are made in one go.

    Parameters
    ----------
    profile : callable
        Makes the tie profiles of the lists against targets.
    targets : Targets
        Relevant items of each list.
    plan : Plan
        The metrics.
    width : int
        Candidates of the longest list.
    sample_ids, slices, collect_per_user, per_user_dtype, metadata, num_threads
        As in :func:`rankbound.evaluate_scores`, the last one resolved.
    source : Source or None, default None
        The recommendations, for catalogue metrics.
    protocol : callable
        Returns what the input adds to the protocol; called after ``profile``.
    upper : callable or None, default None
        Makes profiles with every open tie broken for the list, where ``profile`` breaks them against it. Both are then
        called once more per group of items.

    Returns
    -------
    EvaluationResult
        The result.

    Raises
    ------
    RankboundError
        For refused options, and whatever ``profile`` raises.
    """
    check_not_empty(targets)
    targets.check_grades(plan.specs)
    ids = as_sample_ids(sample_ids, len(targets))
    groups = as_slices(slices, n_rows=len(targets), n_items=targets.n_items)
    # Groups of rows are read from the values.
    dtype, kept_dtype = as_value_dtypes(collect_per_user, per_user_dtype, exact=bool(groups.rows))

    targets = targets.keeping_items() if groups.items else targets
    collector = Collector(plan, kept_dtype=kept_dtype, num_threads=num_threads, item_groups=groups.items)
    batch = Batch(profile(targets), targets, ids, source=source)
    if upper is not None:
        batch.upper, batch.bounds = upper(targets), lambda of: (profile(of), upper(of))
    collector.add(batch)
    return collector.result(
        width=width,
        per_user_dtype=dtype,
        protocol=protocol_of(collector, protocol()),
        metadata=as_metadata(metadata),
        row_groups=groups.rows,
    )


def as_metadata(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return metadata as a mapping; None is empty."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidTypeError(f"metadata must be a mapping, got {type(metadata).__name__}")
    return metadata


def protocol_of(collector: Collector, of_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conventions behind a result.

    Parameters
    ----------
    collector : Collector
        What was accumulated.
    of_input : mapping
        ``candidates``, ``truth``, ``ties`` and ``population`` as far as the input knows them.

    Returns
    -------
    dict
        The protocol block.
    """
    totals = collector.totals
    population = {
        "n_rows": totals.n_rows,
        "n_scored_rows": totals.n_scored_rows,
        "n_no_truth": totals.n_rows - totals.n_scored_rows,
    }
    catalogue = {"catalogue": collector.catalogue.protocol()} if collector.plan.catalogues else {}
    return {
        "schema": PROTOCOL,
        "candidates": dict(of_input["candidates"]),
        "truth": {
            "policy": "set",
            "relevance": "graded" if collector.plan.graded else "binary",
            **of_input["truth"],
        },
        "ties": {"rule": "expectation", "equality": "exact", **of_input["ties"]},
        "metrics": {"labels": collector.plan.labels, "parameters": collector.plan.parameters},
        **catalogue,
        "population": {**population, **of_input.get("population", {})},
        "version": __version__,
    }
