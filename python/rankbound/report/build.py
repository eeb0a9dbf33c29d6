"""From a score matrix to a ranking report."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rankbound import _core
from rankbound._digest import digest
from rankbound._options import resolve_num_threads
from rankbound._progress import told
from rankbound._tail import tail_classes
from rankbound._validation import as_score_matrix, check_exact_integers
from rankbound.baselines import as_class_vector
from rankbound.catalogue.metrics import IntraListDiversity
from rankbound.comparability import ComparabilityState
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError
from rankbound.evaluation.result import EvaluationResult
from rankbound.report.catalogue import Shown, as_class_groups, discount
from rankbound.report.config import RankingConfig
from rankbound.report.families import Grader, Placements, metric_key
from rankbound.report.floors import baseline_floors
from rankbound.report.lists import GradedLists, graded_lists
from rankbound.report.model import SCHEMA_VERSION
from rankbound.report.protocol import GIVEN_SECTIONS, list_warnings, protocol_block
from rankbound.report.report import RankingReport
from rankbound.report.transforms import block_alphas, block_transform, class_frequencies
from rankbound.uncertainty import FEW_UNITS, bootstrap_units


def build_ranking_report(
    proba: Any,
    y_true: Any,
    *,
    classes: Any = None,
    y_train: Any = None,
    popularity: Any = None,
    groups: Any = None,
    list_ids: Any = None,
    exclude: Any = None,
    state: ComparabilityState | None = None,
    segments: Any = None,
    train_segments: Any = None,
    class_values: Any = None,
    class_groups: Any = None,
    features: Any = None,
    config: RankingConfig | None = None,
    protocol: Mapping[str, Mapping[str, Any]] | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
    **options: Any,
) -> RankingReport:
    """Measure how well scores rank the true class of each row, exactly, beside baselines and chance.

    Equal scores are ties: every number is its expectation over the orders that ties allow, so no value depends on the
    order of columns, on threads or on batches. Each row is read once.

    Parameters
    ----------
    proba : array_like of shape (n_rows, n_classes)
        Scores, higher is better: float16, float32, float64 or integers. Rows that are contiguous are not copied;
        memory-mapped arrays are streamed. Every score must be finite. Objectives with a popularity discount need
        scores of at least 0, shrinkage needs scores from 0 to 1.
    y_true : array_like of shape (n_rows,)
        Column index of the truth of each row, or its label when ``classes`` is given. Index -1, or a label that is no
        class, is an unseen truth; None, NaN and NA mean that the row has no truth, and it is left out and counted.
    classes : array_like of shape (n_classes,) or None, default None
        Ids of the columns, distinct.
    y_train : array_like of shape (n_train,) or None, default None
        Training labels, in the form of ``y_true``: they give base rates, the tail and the baseline ``global_pop``.
    popularity : array_like of shape (n_classes,) or None, default None
        Training popularity per class instead of ``y_train``, for the baseline and the tail.
    groups : array_like of shape (n_rows,) or None, default None
        Unit of each row for the bootstrap, such as its user; None makes each row a unit.
    list_ids : array_like of shape (n_rows,) or None, default None
        Served list of each row, if several truths of one list are graded: they share its tie-break, and it counts for
        the catalogue once. Its rows must have equal scores.
    exclude : scipy sparse matrix or boolean array of shape (n_rows, n_classes), or None, default None
        Items that are no candidates in a row, such as those already seen. A truth that is excluded is a miss.
    state : ComparabilityState or None, default None
        What was learned about the classes on other data. Without one, base rates come from ``y_train``, else from the
        graded labels, with a warning.
    segments, train_segments : array_like of shape (n_rows,) and (n_train,), or None, default None
        Segment of each row and of each training label: give the baseline ``segment_pop``.
    class_values : array_like of shape (n_classes,) or None, default None
        Price or margin per class: adds the family ``value``, the expected value captured in the top k as a sum and as
        a share of what the truths are worth.
    class_groups : array_like of shape (n_classes,) or None, default None
        Label of each class, such as its provider: adds ``group_exposure[label]``, the group's share of the expected
        exposure, to the family ``catalogue``.
    features : array_like or scipy sparse matrix of shape (n_classes, n_features), or None, default None
        What the classes are like, no vector all zero: adds ``intra_list_diversity``, the expected mean cosine distance
        between two classes of the top k, to the family ``catalogue``, at the cost of another pass over the scores per
        ranking. ``novelty``, ``average_recommendation_popularity`` and ``tail_share`` are there with ``y_train``,
        ``popularity`` or a ``state`` of other data, ``serendipity`` with the first two, and always
        ``expected_exposure_loss``, ``expected_exposure_disparity`` and ``expected_exposure_relevance``.
    config : RankingConfig or None, default None
        All further options; None takes the defaults.
    protocol : mapping of str to mapping, or None, default None
        What the maker of the lists knows about them, such as :mod:`rankbound.protocols`: sections of the protocol block
        with entries that complete or replace the report's own. Of plain values, as in JSON.
    progress : bool or callable or None, default None
        True shows a tqdm bar; a callable is told ``(rows_done, n_rows)``.
    **options
        Fields of :class:`RankingConfig` that override ``config``, such as ``k=20``.

    Returns
    -------
    RankingReport
        See ``rankbound schema``. Undefined numbers, such as a mean over no rows, are NaN.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming argument, place and value.

    Examples
    --------
    >>> from rankbound import build_ranking_report
    >>> report = build_ranking_report([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], [0, 1], k=2, y_train=[0, 0, 1, 2])
    >>> report["objectives"]["accuracy"]["micro"]["hit@1"]
    0.25
    >>> report["chance"]["micro"]["hit@1"]
    0.3333333333333333
    """
    settings = _settings(config, options)
    if y_train is not None and popularity is not None:
        raise InvalidParameterError(
            "y_train and popularity were both given, and each defines the baseline; leave one of them out"
        )
    matrix = as_score_matrix(proba)
    n_classes = matrix.shape[1]
    lists = graded_lists(
        matrix,
        y_true,
        classes=classes,
        unseen=settings.unseen,
        groups=groups,
        list_ids=list_ids,
        exclude=exclude,
    )
    values_of_classes = None if class_values is None else as_class_vector(class_values, n_classes, name="class_values")
    diversity = None if features is None else IntraListDiversity(settings.k, features=features)
    if diversity is not None and diversity.n_items != n_classes:
        raise ShapeError(
            f"features has {diversity.n_items} vectors, but there are {n_classes} classes; give one per class"
        )
    groups_of_classes = None if class_groups is None else as_class_groups(class_groups, n_classes)
    given = _given_protocol(protocol)
    warnings = list_warnings(given)
    floors = baseline_floors(
        matrix,
        lists,
        warnings=warnings,
        classes=classes,
        y_train=y_train,
        popularity=popularity,
        segments=segments,
        train_segments=train_segments,
    )
    alphas = block_alphas(settings)
    frequencies = class_frequencies(
        matrix,
        lists,
        warnings=warnings,
        settings=settings,
        alphas=alphas,
        state=state,
        classes=classes,
        y_train=y_train,
        floor=floors.get("global_pop"),
    )
    transforms = {
        name: block_transform(name, alpha, settings, n_classes, frequencies.state) for name, alpha in alphas.items()
    }
    if any(transforms.values()):
        check_exact_integers(matrix)
    with told(progress, total=len(lists.rows), unit="row") as tell:
        scan = _core.scan_scores(
            matrix,
            lists.rows,
            lists.truths,
            [transform or _core.Transform.identity() for transform in transforms.values()],
            list(floors.values()),
            k=settings.k,
            exclude=lists.exclude,
            mask_neg_inf=settings.mask_neg_inf,
            exposed=lists.exposed,
            num_threads=resolve_num_threads(settings.num_threads),
            progress=tell,
        )
    grader = Grader(
        lists=lists,
        n_classes=n_classes,
        k=settings.k,
        tail=tail_classes(frequencies.tail_counts, settings.tail_mass),
        class_values=values_of_classes,
    )
    placements = dict(zip([*transforms, *floors], map(_placements, scan.blocks), strict=True))
    primary = settings.primary_objective
    placements["chance"] = _chance(scan, placements[primary], lists, settings.k, n_classes)
    values, families = grader.grade(placements, num_threads=resolve_num_threads(settings.num_threads))
    shown = Shown(
        matrix=matrix,
        lists=lists,
        k=settings.k,
        mask_neg_inf=settings.mask_neg_inf,
        n_candidates=scan.n_candidates,
        num_threads=resolve_num_threads(settings.num_threads),
    )
    # Popularity among the graded labels themselves would say nothing about what was known before.
    in_sample = "evaluation" in (frequencies.tail_source, frequencies.fitted_on if state is not None else None)
    counts = None if in_sample else frequencies.tail_counts
    catalogue = shown.families(
        placements,
        values,
        counts=counts,
        tail=grader.tail,
        class_groups=groups_of_classes,
        diversity=diversity,
        transforms=transforms,
        floors=floors,
    )
    families = {name: {**families[name], "catalogue": found} for name, found in catalogue.items()}
    uncertainty = bootstrap_units(
        values[primary],
        {name: values[name] for name in floors},
        units=lists.units,
        n_units=lists.n_units,
        unit=lists.unit,
        n_resamples=settings.n_resamples,
        confidence_level=settings.confidence_level,
        seed=settings.seed,
        num_threads=resolve_num_threads(settings.num_threads),
    )
    score = metric_key((settings.primary_metric, settings.k))
    warnings += _population_warnings(lists, scan.n_masked_truth, uncertainty, score)
    n_tied_at_cut = scan.blocks[list(transforms).index(primary)].n_tied_at_cut
    block = protocol_block(
        config=settings,
        lists=lists,
        matrix=matrix,
        classes=classes,
        n_masked_truth=scan.n_masked_truth,
        n_candidates=scan.n_candidates,
        supports=grader.supports,
        tail={
            "mass": settings.tail_mass,
            "source": frequencies.tail_source,
            "n_classes": int(grader.tail.sum()),
            "hash": digest(grader.tail),
        },
        transform={
            "objectives": alphas,
            "shrinkage_strength": settings.shrinkage_strength,
            "percentile": list(settings.percentile_objectives),
            "state_fitted_on": frequencies.fitted_on,
            "state_hash": frequencies.state.fingerprint if frequencies.state is not None else None,
            "n_floored": frequencies.state.n_floored if frequencies.state is not None else None,
        },
        baselines={name: digest(*floor) for name, floor in floors.items()},
        catalogue=shown.protocol(
            counts=counts, class_groups=groups_of_classes, diversity=diversity, class_values=values_of_classes
        ),
        uncertainty=uncertainty,
        given=given,
    )
    per_unit = EvaluationResult(
        metrics=families[primary]["micro"],
        n_rows=len(lists.rows),
        n_scored_rows=len(lists.rows),
        n_units=lists.n_units,
        required_k=settings.k,
        per_user=values[primary],
        sample_ids=lists.unit_ids,
        target_fingerprint=block["population"]["rows_hash"],
        protocol=block,
    )
    return RankingReport(
        {
            "schema_version": SCHEMA_VERSION,
            "rankbound_version": _core.__version__,
            "k": settings.k,
            "primary_metric": settings.primary_metric,
            "primary_objective": primary,
            "n_rows": len(lists.rows),
            "n_classes": n_classes,
            "n_units": lists.n_units,
            "n_unseen_truth": block["population"]["n_unseen_truth"],
            "n_no_truth": block["population"]["n_no_truth"],
            "objectives": {name: families[name] for name in transforms},
            "objective_alpha": alphas,
            "ties": grader.ties(placements[primary], n_tied_at_cut),
            "baselines": {name: families[name] for name in floors},
            "chance": families["chance"],
            "uncertainty": uncertainty,
            "primary_score": {"metric": score, "value": families[primary]["micro"][score]},
            "warnings": warnings,
            "protocol": block,
        },
        per_unit=per_unit,
    )


def _settings(config: RankingConfig | None, options: Mapping[str, Any]) -> RankingConfig:
    if config is not None and not isinstance(config, RankingConfig):
        raise InvalidTypeError(f"config must be a RankingConfig, got {type(config).__name__}; see RankingConfig.load")
    return (config or RankingConfig()).replace(**options)


def _given_protocol(protocol: Any) -> dict[str, dict[str, Any]]:
    sections = {} if protocol is None else protocol
    if not isinstance(sections, Mapping) or not all(isinstance(entries, Mapping) for entries in sections.values()):
        raise InvalidTypeError("protocol must be a mapping of sections such as 'truth' to mappings")
    for section in sections:
        if section not in GIVEN_SECTIONS:
            raise InvalidParameterError(
                f"protocol has the section {section!r}; what is known about lists is in {', '.join(GIVEN_SECTIONS)}"
            )
    return {section: dict(entries) for section, entries in sections.items()}


def _placements(block: _core.ScanBlock) -> Placements:
    return Placements(
        better=block.better, tied=block.tied, exposure=block.exposure, seen=block.seen, disparity=block.disparity
    )


def _chance(scan: _core.Scan, any_ranking: Placements, lists: GradedLists, k: int, n_classes: int) -> Placements:
    """Return how a ranker without preference places the truths: all candidates tie."""
    tied = np.where(any_ranking.tied > 0, scan.n_candidates, 0).astype(np.uint32)
    served = scan.n_candidates if lists.exposed is None else scan.n_candidates[lists.exposed]
    shown = discount(np.zeros_like(served), served, k=k, n_classes=n_classes)
    return Placements(
        better=np.zeros_like(tied),
        tied=tied,
        exposure=scan.uniform_exposure,
        seen=scan.uniform_seen,
        disparity=_core.exact_mean(served * shown**2),
    )


def _population_warnings(
    lists: GradedLists, n_masked_truth: int, uncertainty: Mapping[str, Any] | None, metric: str
) -> list[str]:
    warnings = []
    if lists.n_unseen_truth == len(lists.rows):
        warnings.append("every truth is unseen: check that classes and y_true name the same things")
    if n_masked_truth:
        warnings.append(f"{n_masked_truth} truths are excluded from their own row and count as misses")
    if uncertainty is not None:
        in_tail = uncertainty["n_resamples"] * (1 - uncertainty["confidence_level"]) / 2
        if in_tail < 1:
            warnings.append(
                f"{uncertainty['n_resamples']} resamples are too few for these limits: fewer than one is expected "
                "beyond each; raise n_resamples"
            )
    for name, of_baseline in (uncertainty or {"baselines": {}})["baselines"].items():
        n_nonzero = of_baseline["difference"][metric]["n_nonzero"]
        if n_nonzero < FEW_UNITS:
            warnings.append(
                f"only {n_nonzero} units tell the model and {name} apart in {metric}: take the interval with care"
            )
    return warnings
