"""From tie profiles to the result: what every ``evaluate_*`` ends with."""

from collections.abc import Callable, Mapping
from typing import Any

from rankbound import _core
from rankbound._core import __version__
from rankbound.catalogue.source import Recommended
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
    recommended: Recommended | None = None,
) -> EvaluationResult:
    """Evaluate lists whose tie profiles are made in one go.

    Parameters
    ----------
    profile : callable
        Makes the tie profiles of the lists against targets; called once more per group of items.
    targets : Targets
        Relevant items of each list.
    plan : Plan
        The metrics.
    width : int
        Candidates of the longest list.
    sample_ids, slices, collect_per_user, per_user_dtype, metadata, num_threads
        As in :func:`rankbound.evaluate_scores`, the last one resolved.
    protocol : callable
        Returns what the input adds to the protocol; called after ``profile``.
    upper : callable or None, default None
        Makes profiles with every open tie broken for the list, where ``profile`` breaks them against it.
    recommended : Recommended or None, default None
        What catalogue metrics read.

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

    def collect(of: Targets, metrics: Plan, *, kept_dtype: str | None) -> Collector:
        collector = Collector(metrics, kept_dtype=kept_dtype, num_threads=num_threads)
        above = None if upper is None else upper(of)
        collector.add(Batch(profile(of), of, ids, upper=above, recommended=recommended))
        return collector

    collector = collect(targets, plan, kept_dtype=kept_dtype)
    found = protocol()
    item_slices = {
        name: collect(targets.of_items(mask), plan.of_lists, kept_dtype=None) for name, mask in groups.items.items()
    }
    return collector.result(
        width=width,
        per_user_dtype=dtype,
        protocol=protocol_of(collector, found),
        metadata=as_metadata(metadata),
        row_slices=groups.rows,
        item_slices=item_slices,
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
    population = {
        "n_rows": collector.n_rows,
        "n_scored_rows": collector.n_scored_rows,
        "n_no_truth": collector.n_rows - collector.n_scored_rows,
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
