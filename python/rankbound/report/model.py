"""The types of a report, from which its JSON Schema is made."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

SCHEMA_VERSION = 3
Number = float | None
"""A number; null where it is undefined, such as a mean over nothing."""
Count = Annotated[int, Meta(ge=0)]
Metrics = dict[str, Number]


class Families(Struct, frozen=True, forbid_unknown_fields=True):
    """Metrics of one ranking of all lists: means over lists, catalogue and per-class metrics, and captured value.

    ``catalogue`` holds expected exposure, and novelty, popularity, share of the tail, serendipity, diversity and group
    exposure as far as their data was given.
    """

    micro: Metrics
    macro: Metrics
    catalogue: Metrics | UnsetType = UNSET
    value: Metrics | UnsetType = UNSET


class TieSpread(Struct, frozen=True, forbid_unknown_fields=True):
    """Least and greatest mean over all orders of equal scores, and the standard deviation over random ones."""

    min: Number
    max: Number
    sd: Number


class Interval(Struct, frozen=True, forbid_unknown_fields=True):
    """An estimate with its confidence limits."""

    estimate: Number
    ci_low: Number
    ci_high: Number


class Difference(Interval, frozen=True, forbid_unknown_fields=True):
    """Model less baseline; ahead if the whole interval says so. ``n_nonzero`` units tell them apart."""

    verdict: Literal["model_ahead", "baseline_ahead", "undecided"]
    n_nonzero: Count


class BaselineUncertainty(Struct, frozen=True, forbid_unknown_fields=True):
    """Intervals of one baseline and of the model's difference from it."""

    metrics: dict[str, Interval]
    difference: dict[str, Difference]


class Uncertainty(Struct, frozen=True, forbid_unknown_fields=True):
    """Intervals of the operating block, all from the same resamples of units."""

    unit: Literal["row", "group"]
    n_units: Count
    n_resamples: Count
    confidence_level: Annotated[float, Meta(gt=0, lt=1)]
    seed: Count
    method: str
    model: dict[str, Interval]
    baselines: dict[str, BaselineUncertainty]


class PrimaryScore(Struct, frozen=True, forbid_unknown_fields=True):
    """The primary metric of the operating block."""

    metric: str
    value: Number


class Report(Struct, frozen=True, forbid_unknown_fields=True):
    """A rankbound ranking report."""

    schema_version: Literal[3]
    rankbound_version: str
    k: Annotated[int, Meta(ge=1, description="Cut-off of the metrics.")]
    primary_metric: Literal["ndcg", "mrr", "hit"]
    primary_objective: str
    n_rows: Annotated[int, Meta(ge=1, description="Graded lists.")]
    n_classes: Annotated[int, Meta(ge=1)]
    n_units: Annotated[int, Meta(ge=1, description="Bootstrap units.")]
    n_unseen_truth: Annotated[int, Meta(ge=0, description="Rows whose truth is no column.")]
    n_no_truth: Annotated[int, Meta(ge=0, description="Rows without truth, left out.")]
    objectives: dict[str, Families]
    objective_alpha: Annotated[
        dict[str, Number], Meta(description="Exponent of the popularity discount; null where percentiles rank.")
    ]
    ties: Annotated[
        dict[str, TieSpread | Number],
        Meta(
            description="Of the operating block: share_of_rows_tied_at_cut (rows whose top k depends on the order of "
            "equal scores), mean_tie_width (mean size of the truth's tie group, 1 without ties), and the spread of "
            "each micro metric."
        ),
    ]
    baselines: Annotated[dict[str, Families], Meta(description="Always ranked by the unchanged baseline scores.")]
    chance: Annotated[Families, Meta(description="Exact expectation of a uniformly random ranker.")]
    uncertainty: Uncertainty | None
    primary_score: PrimaryScore
    warnings: list[str]
    protocol: Annotated[
        dict[str, Any], Meta(description="The conventions behind the numbers, so that reports can be compared.")
    ]
    hash: Annotated[
        str | UnsetType, Meta(description="Of all the rest, as the file was written: an edited one is refused.")
    ] = UNSET
