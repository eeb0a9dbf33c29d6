"""The baselines of a report: fixed scores per class, and the row of them that ranks each list."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound.baselines import GlobalPopularityBaseline, SegmentPopularityBaseline
from rankbound.errors import InvalidParameterError
from rankbound.report.lists import GradedLists, plain_labels

Floor = tuple[NDArray[np.float64], NDArray[np.uint32]]


def baseline_floors(
    matrix: NDArray[Any],
    lists: GradedLists,
    *,
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
    else:
        warnings.append("there is no baseline: pass y_train= or popularity= to see whether the model beats it")
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
