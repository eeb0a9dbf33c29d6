"""From a score matrix to a ranking report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._comparability_fit import state_of
from rankbound._labels import as_class_ids, label_indices
from rankbound._progress import told
from rankbound._validation import as_score_matrix, check_exact_integers, resolve_num_threads
from rankbound.baselines import GlobalPopularityBaseline, SegmentPopularityBaseline, as_class_vector
from rankbound.comparability import ComparabilityState, objective_alpha, resolve_transform
from rankbound.errors import EmptyInputError, InvalidParameterError, InvalidTypeError
from rankbound.report.config import RankingConfig
from rankbound.report.families import Grader, Placements, metric_key, tail_classes
from rankbound.report.lists import GradedLists, graded_lists, plain_labels
from rankbound.report.model import SCHEMA_VERSION
from rankbound.report.protocol import digest, protocol_block
from rankbound.report.report import RankingReport
from rankbound.uncertainty import FEW_UNITS, bootstrap_units

# Percentile knots per class where the report fits them itself.
N_KNOTS = 101


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frequencies:
    """How often classes occur, and where that was learned."""

    state: ComparabilityState | None
    fitted_on: str | None
    tail_counts: NDArray[Any]
    tail_source: str


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
    config: RankingConfig | None = None,
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
    config : RankingConfig or None, default None
        All further options; None takes the defaults.
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
    values_of_classes = (
        None if class_values is None else as_class_vector(class_values, n_classes, name="class_values")
    )
    warnings: list[str] = []
    floors = _baselines(matrix, lists, warnings, classes, y_train, popularity, segments, train_segments)
    frequencies = _frequencies(matrix, lists, warnings, settings, state, classes, y_train, floors.get("global_pop"))
    alphas = _alphas(settings)
    transforms = {name: _transform(name, settings, n_classes, frequencies.state) for name in settings.blocks}
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
    values = {name: grader.list_values(placed) for name, placed in placements.items()}
    families = {name: grader.families(placed, values[name]) for name, placed in placements.items()}
    primary = settings.primary_objective
    chance = _chance(scan, placements[primary])
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
            "n_unseen_truth": lists.n_unseen_truth,
            "n_no_truth": lists.n_no_truth,
            "objectives": {name: families[name] for name in transforms},
            "objective_alpha": alphas,
            "ties": grader.ties(placements[primary], n_tied_at_cut),
            "baselines": {name: families[name] for name in floors},
            "chance": grader.families(chance, grader.list_values(chance)),
            "uncertainty": uncertainty,
            "primary_score": {"metric": score, "value": families[primary]["micro"][score]},
            "warnings": warnings,
            "protocol": protocol_block(
                config=settings,
                lists=lists,
                matrix=matrix,
                classes=classes,
                n_masked_truth=scan.n_masked_truth,
                n_candidates=scan.n_candidates,
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
                uncertainty=uncertainty,
            ),
        }
    )


def _settings(config: RankingConfig | None, options: Mapping[str, Any]) -> RankingConfig:
    if config is not None and not isinstance(config, RankingConfig):
        raise InvalidTypeError(f"config must be a RankingConfig, got {type(config).__name__}; see RankingConfig.load")
    return (config or RankingConfig()).replace(**options)


Floor = tuple[NDArray[np.float64], NDArray[np.uint32]]


def _baselines(
    matrix: NDArray[Any],
    lists: GradedLists,
    warnings: list[str],
    classes: Any,
    y_train: Any,
    popularity: Any,
    segments: Any,
    train_segments: Any,
) -> dict[str, Floor]:
    """Return the baselines' fixed scores, with the row of them that ranks each list."""
    n_rows, n_classes = matrix.shape
    floors: dict[str, Floor] = {}
    one_row = np.zeros(len(lists.rows), dtype=np.uint32)
    if popularity is not None:
        floors["global_pop"] = (GlobalPopularityBaseline.of(popularity, n_classes).popularity[np.newaxis], one_row)
    elif y_train is not None:
        counted = GlobalPopularityBaseline.fit(y_train, classes=classes, n_classes=n_classes)
        floors["global_pop"] = (counted.popularity[np.newaxis], one_row)
        if counted.n_unknown:
            warnings.append(
                f"y_train: {counted.n_unknown} labels belong to no class and were not counted in popularity and rates"
            )
    if segments is None and train_segments is None:
        return floors
    if segments is None or train_segments is None or y_train is None:
        raise InvalidParameterError(
            "segment popularity needs segments (one per row of proba), train_segments (one per training label) and "
            "y_train; give all three or none"
        )
    baseline = SegmentPopularityBaseline.fit(y_train, train_segments, classes=classes, n_classes=n_classes)
    codes = baseline.codes(plain_labels(segments, n_rows, "segments"))[lists.rows]
    unknown = float(np.mean(codes == len(baseline.segments)))
    if unknown:
        warnings.append(f"segments: {unknown:.1%} of the lists have a segment without training data (global_pop used)")
    floors["segment_pop"] = (baseline.table, codes)
    return floors


def _frequencies(
    matrix: NDArray[Any],
    lists: GradedLists,
    warnings: list[str],
    settings: RankingConfig,
    state: ComparabilityState | None,
    classes: Any,
    y_train: Any,
    floor: Floor | None,
) -> _Frequencies:
    """Find class frequencies for transforms and tail: the state's, else the training data's, else the graded rows'."""
    n_classes = matrix.shape[1]
    graded = lists.truths[lists.truths >= 0]
    if state is not None:
        if not isinstance(state, ComparabilityState):
            raise InvalidTypeError(f"state must be a ComparabilityState, got {type(state).__name__}")
        state.check_classes(n_classes, classes)
        return _Frequencies(state=state, fitted_on=state.fitted_on, tail_counts=state.counts, tail_source="state")
    if floor is None:
        counts, source = np.bincount(graded, minlength=n_classes), "evaluation"
        warnings.append("tail_hit: the tail was found from the graded labels, in-sample; pass y_train or a state")
    else:
        counts, source = floor[0][0], "popularity" if y_train is None else "y_train"
    by_percentile = any(name in settings.percentile_objectives for name in settings.blocks)
    if not by_percentile and not settings.shrinkage_strength and not any(_alphas(settings).values()):
        return _Frequencies(state=None, fitted_on=None, tail_counts=counts, tail_source=source)
    if y_train is None:
        labels, fitted_on = graded, "evaluation"
        warnings.append("base rates were fitted on the graded labels, in-sample; pass y_train or a state")
        if not len(graded):
            raise EmptyInputError(
                "no truth in y_true is a column, so there are no base rates for the objectives beyond accuracy: check "
                "classes, pass y_train or a state, or use eval_all_objectives=False"
            )
    else:
        labels, fitted_on = label_indices(y_train, classes, n_classes, name="y_train"), "train"
    if by_percentile:
        fitted_on = "evaluation"
        warnings.append("percentiles were fitted on the graded scores, in-sample; pass a state")
    fitted = state_of(
        labels,
        np.arange(n_classes) if classes is None else as_class_ids(classes, n_classes),
        # Shrinkage must know which columns are dead, percentiles need reference scores.
        matrix if by_percentile or settings.shrinkage_strength else None,
        n_knots=N_KNOTS if by_percentile else None,
        fitted_on=fitted_on,
        mask_neg_inf=settings.mask_neg_inf,
        num_threads=settings.num_threads,
    )
    return _Frequencies(state=fitted, fitted_on=fitted_on, tail_counts=counts, tail_source=source)


def _alphas(settings: RankingConfig) -> dict[str, float | None]:
    """Return the exponent of each block's popularity discount; None where percentiles rank."""
    discounts = {settings.primary_objective: settings.popularity_discount}
    return {
        name: None if name in settings.percentile_objectives else objective_alpha(name, discounts.get(name))
        for name in settings.blocks
    }


def _transform(
    name: str, settings: RankingConfig, n_classes: int, state: ComparabilityState | None
) -> _core.Transform | None:
    """Return the transform of a block: the one of :func:`rankbound.transform_for_objective`."""
    is_primary = name == settings.primary_objective
    by_percentile = name in settings.percentile_objectives
    return resolve_transform(
        n_classes,
        name,
        state=state,
        popularity_discount=_alphas(settings)[name] or 0.0,
        shrinkage_strength=settings.shrinkage_strength if is_primary else 0.0,
        percentile=by_percentile,
    )


def _placements(block: _core.ScanBlock) -> Placements:
    return Placements(better=block.better, tied=block.tied, exposure=block.exposure, seen=block.seen)


def _chance(scan: _core.Scan, any_ranking: Placements) -> Placements:
    """Return how a ranker without preference places the truths: all candidates tie."""
    tied = np.where(any_ranking.tied > 0, scan.n_candidates, 0).astype(np.uint32)
    return Placements(
        better=np.zeros_like(tied), tied=tied, exposure=scan.uniform_exposure, seen=scan.uniform_seen
    )


def _population_warnings(
    lists: GradedLists, n_masked_truth: int, uncertainty: Mapping[str, Any] | None, metric: str
) -> list[str]:
    warnings = []
    if lists.n_unseen_truth == len(lists.rows):
        warnings.append("every truth is unseen: check that classes and y_true name the same things")
    if n_masked_truth:
        warnings.append(f"{n_masked_truth} truths are excluded from their own row and count as misses")
    for name, of_baseline in (uncertainty or {"baselines": {}})["baselines"].items():
        n_nonzero = of_baseline["difference"][metric]["n_nonzero"]
        if n_nonzero < FEW_UNITS:
            warnings.append(
                f"only {n_nonzero} units tell the model and {name} apart in {metric}: take the interval with care"
            )
    return warnings
