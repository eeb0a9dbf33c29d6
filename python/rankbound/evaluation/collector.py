"""What an evaluation accumulates, batch by batch, and the result it makes of it."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import as_vector, split_missing
from rankbound._options import as_choice, as_flag
from rankbound._validation import MAX_MAGNITUDE
from rankbound.catalogue.accumulator import Accumulator, Addition
from rankbound.catalogue.source import Recommended
from rankbound.errors import InvalidParameterError, InvalidTypeError, ShapeError
from rankbound.evaluation.fingerprint import Fingerprint
from rankbound.evaluation.plan import Plan
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.targets import Targets
from rankbound.metrics import RankingBatch


@dataclass(slots=True)
class Batch:
    """One batch to be added: profiles of its lists, and what else is known about them.

    ``upper`` holds the profiles with every open tie broken for the list, where ``profiles`` hold the least they can be
    worth. ``ranking`` makes what metrics of the caller's read, ``recommended`` is what catalogue metrics read; without
    them there can be none.
    """

    profiles: _core.Profiles
    targets: Targets
    sample_ids: NDArray[Any]
    upper: _core.Profiles | None = None
    ranking: Callable[[], RankingBatch] | None = None
    recommended: Recommended | None = None
    debug_rows: list[dict[str, Any]] = field(default_factory=list)


class Collector:
    """Sums and, if wanted, values per list, over any number of batches.

    Parameters
    ----------
    plan : Plan
        The metrics.
    kept_dtype : {"float64", "float32"} or None
        Type in which the values per list are kept; None keeps none.
    num_threads : int
        Threads.
    """

    def __init__(self, plan: Plan, *, kept_dtype: str | None, num_threads: int) -> None:
        self.plan = plan
        self.kept_dtype = kept_dtype
        self.num_threads = num_threads
        self.catalogue = Accumulator(plan.catalogues)
        self.reset()

    def reset(self) -> None:
        """Forget everything that was added."""
        self.n_rows = 0
        self.n_scored_rows = 0
        self.sums: _core.ListSums | None = None
        self.upper: _core.ListSums | None = None
        self.fingerprint = Fingerprint()
        self.catalogue.reset()
        # Some catalogue metrics belong to no list.
        with_values = {metric.key for metric in self.plan.core}.union(self.catalogue.list_keys)
        with_values.update(key for custom in self.plan.customs for key in custom.result_keys)
        self.values: dict[str, list[NDArray[Any]]] = {key: [] for key in self.plan.keys if key in with_values}
        self.ids: list[NDArray[Any]] = []
        self.scored: list[NDArray[np.bool_]] = []
        self.debug_rows: list[dict[str, Any]] = []
        for custom in self.plan.customs:
            custom.reset()

    def add(self, batch: Batch) -> None:
        """Add a batch, or nothing at all if a metric refuses it.

        Parameters
        ----------
        batch : Batch
            Lists that follow those added so far.

        Raises
        ------
        RankboundError
            For values that cannot be summed, or what a metric of the caller's returns.
        """
        core = self.plan.core
        columns, sums = _core.evaluate_lists(batch.profiles, core, num_threads=self.num_threads)
        upper = None
        if batch.upper is not None:
            _, upper = _core.evaluate_lists(batch.upper, core, num_threads=self.num_threads)
        scored = batch.profiles.n_relevant() > 0
        merged = sums if self.sums is None else self.sums.merge(sums)
        merged_upper = upper if self.upper is None or upper is None else self.upper.merge(upper)
        addition = self._catalogue_addition(batch, scored)
        total = None if addition is None else self.catalogue.sum_with(addition)
        fingerprint = self.fingerprint.join(Fingerprint.of(batch.targets))
        ids, n_scored = batch.sample_ids[scored], int(scored.sum())
        kept = self._kept({metric.key: column for metric, column in zip(core, columns, strict=True)}, scored)
        if addition is not None and self.kept_dtype is not None:
            kept |= {key: column.astype(self.kept_dtype, copy=False) for key, column in addition.values.items()}
        # Last, because what they have read can be taken back but once; from here on nothing is refused.
        kept |= self._kept(self._update_customs(batch, scored), scored)
        self.catalogue.total = total
        self.sums, self.upper, self.fingerprint = merged, merged_upper, fingerprint
        self.n_rows += len(scored)
        self.n_scored_rows += n_scored
        self.debug_rows += batch.debug_rows
        self.ids.append(ids)
        self.scored.append(scored)
        for key, column in kept.items():
            self.values[key].append(column)

    def _kept(self, values: Mapping[str, NDArray[Any]], scored: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        """Return the values of scored lists in the type in which they are kept, if they are."""
        if self.kept_dtype is None:
            return {}
        everything = bool(scored.all())
        return {
            key: (column if everything else column[scored]).astype(self.kept_dtype, copy=False)
            for key, column in values.items()
        }

    def _catalogue_addition(self, batch: Batch, scored: NDArray[np.bool_]) -> Addition | None:
        if not self.plan.catalogues:
            return None
        if batch.recommended is None:
            raise InvalidTypeError(
                f"metrics has {self.plan.catalogues[0].label}, which reads which items are shown, and this input does "
                "not say: pass scores, vectors, ranked lists or a run to a function such as evaluate_scores"
            )
        source, targets = batch.recommended
        rows = np.flatnonzero(scored)
        return self.catalogue.find(source, rows, targets.core(graded=True), num_threads=self.num_threads)

    def _update_customs(self, batch: Batch, scored: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        if not self.plan.customs:
            return {}
        if batch.ranking is None:
            name = type(self.plan.customs[0]).__name__
            raise InvalidTypeError(
                f"metrics has {name}, a metric of your own, which reads ranked lists: pass them to "
                "evaluate_ranked_predictions"
            )
        ranking = batch.ranking()
        before = [deepcopy(custom.__dict__) for custom in self.plan.customs]
        values: dict[str, NDArray[Any]] = {}
        try:
            for custom in self.plan.customs:
                values |= _checked(custom, custom.update(ranking), scored)
        except BaseException:
            for custom, state in zip(self.plan.customs, before, strict=True):
                custom.__dict__.clear()
                custom.__dict__.update(state)
            raise
        return values

    def merge(self, other: "Collector") -> None:
        """Add what another collector holds, behind what this one does.

        Parameters
        ----------
        other : Collector
            Of the same metrics.

        Raises
        ------
        InvalidParameterError
            If the metrics differ, or are metrics of the caller's, which cannot be merged.
        """
        if self.plan.customs or other.plan.customs:
            raise InvalidParameterError("metrics of your own cannot be merged: update one evaluator with every batch")
        if self.plan.core != other.plan.core:
            raise InvalidParameterError(
                f"evaluators of different metrics cannot be merged: {self.plan.labels} and {other.plan.labels}"
            )
        if self.kept_dtype != other.kept_dtype:
            raise InvalidParameterError(
                "evaluators with different collect_per_user or per_user_dtype cannot be merged: values would be lost"
            )
        self.catalogue.check_same(other.catalogue)
        if other.sums is None:
            return
        fingerprint = self.fingerprint.join(other.fingerprint)
        sums = other.sums if self.sums is None else self.sums.merge(other.sums)
        upper = other.upper if self.sums is None else None
        if self.upper is not None and other.upper is not None:
            upper = self.upper.merge(other.upper)
        # It refuses before it changes anything; from here on nothing is refused.
        self.catalogue.merge(other.catalogue)
        self.sums, self.upper, self.fingerprint = sums, upper, fingerprint
        self.debug_rows += [row | {"user_row": row["user_row"] + self.n_rows} for row in other.debug_rows]
        self.n_rows += other.n_rows
        self.n_scored_rows += other.n_scored_rows
        self.ids += other.ids
        self.scored += other.scored
        for key, chunks in other.values.items():
            self.values[key] += chunks

    def result(
        self,
        *,
        width: int,
        per_user_dtype: str | None,
        protocol: Mapping[str, Any],
        metadata: Mapping[str, Any],
        row_slices: Mapping[str, NDArray[np.bool_]],
        item_slices: Mapping[str, "Collector"],
        debug: bool = False,
    ) -> EvaluationResult:
        """Return what was found so far.

        Parameters
        ----------
        width : int
            The deepest rank there is, for metrics of the whole list.
        per_user_dtype : {"float64", "float32"} or None
            Type of the values in the result; None leaves them out.
        protocol, metadata : mapping
            Attached to the result.
        row_slices : mapping of str to ndarray of shape (n_rows,), dtype bool
            Lists to report apart.
        item_slices : mapping of str to Collector
            What was accumulated against the relevant items of a group alone.
        debug : bool, default False
            Whether details of the first lists were asked for.

        Returns
        -------
        EvaluationResult
            The collector can go on.
        """
        ids = np.concatenate(self.ids) if self.ids else np.empty(0, dtype=np.int64)
        values = {key: np.concatenate(chunks) if chunks else np.empty(0) for key, chunks in self.values.items()}
        per_user = None
        if per_user_dtype is not None:
            per_user = {key: column.astype(per_user_dtype, copy=False) for key, column in values.items()}
        slices = {name: self._row_slice(mask, values) for name, mask in row_slices.items()}
        slices |= {
            name: {"n_rows": of.n_rows, "n_scored_rows": of.n_scored_rows, **of.aggregates()[0]}
            for name, of in item_slices.items()
        }
        metrics, ties = self.aggregates()
        return EvaluationResult(
            metrics=metrics,
            n_rows=self.n_rows,
            n_scored_rows=self.n_scored_rows,
            n_units=_n_distinct(ids),
            required_k=self.plan.required_k or width,
            per_user=per_user,
            sample_ids=None if per_user is None else ids,
            ties=ties,
            slices=slices,
            metadata=dict(metadata),
            target_fingerprint=self.fingerprint.digest(),
            protocol=dict(protocol),
            debug_rows=tuple(self.debug_rows) if debug else None,
        )

    def aggregates(self) -> tuple[dict[str, float], dict[str, dict[str, float | None]]]:
        """Return the aggregate of every metric, and what ties leave open about it.

        Returns
        -------
        metrics, ties : dict
            By result key.
        """
        metrics: dict[str, float] = {}
        ties: dict[str, dict[str, float | None]] = {}
        core = self.plan.core
        nothing = (0, np.nan, np.nan, np.nan, None, np.nan)
        means = [nothing] * len(core) if self.sums is None else self.sums.means()
        upper = means if self.upper is None else self.upper.means()
        for metric, (count, mean, best, worst, sd, share), (_, _, upper_best, *_) in zip(
            core, means, upper, strict=True
        ):
            if metric.count_key:
                metrics[metric.count_key] = count
            metrics[metric.key] = mean
            ties[metric.key] = {
                "share_tied_at_cut": share,
                "mean_best": best if self.upper is None else upper_best,
                "mean_worst": worst,
                "sd": sd if self.upper is None else None,
            }
        for custom in self.plan.customs:
            computed = custom.compute()
            if not isinstance(computed, Mapping):
                raise InvalidTypeError(
                    f"{type(custom).__name__}.compute returned {computed!r}; it must return a mapping"
                )
            missing = [key for key in custom.result_keys if key not in computed]
            if missing:
                raise InvalidParameterError(
                    f"{type(custom).__name__}.compute returned no {missing[0]!r}; it must return every result key"
                )
            for key in custom.result_keys:
                if not isinstance(computed[key], (int, float, np.number)):
                    raise InvalidTypeError(
                        f"{type(custom).__name__}.compute returned {computed[key]!r} for {key!r}; it must return "
                        "numbers"
                    )
                metrics[key] = float(computed[key])
        for key, spread in self.catalogue.ties().items():
            ties[key] = {**spread}
        return metrics | self.catalogue.compute(), ties

    def _row_slice(self, mask: NDArray[np.bool_], values: Mapping[str, NDArray[Any]]) -> dict[str, float]:
        scored = np.concatenate(self.scored) if self.scored else np.empty(0, dtype=np.bool_)
        within = mask[scored]
        found: dict[str, float] = {"n_rows": int(mask.sum()), "n_scored_rows": int(within.sum())}
        count_keys = {metric.key: metric.count_key for metric in self.plan.core}
        for key, column in values.items():
            count_key = count_keys.get(key)
            if count_key:
                found[count_key] = found["n_scored_rows"]
            kept = column[within]
            if key in self.catalogue.list_keys:
                kept = kept[~np.isnan(kept)]  # Of lists too short to have a value.
            found[key] = (_core.exact_log_mean if count_key else _core.exact_mean)(kept)
        return found


def as_value_dtypes(collect_per_user: Any, per_user_dtype: Any, *, exact: bool) -> tuple[str | None, str | None]:
    """Return the type in which values per list are returned, and the one in which they are kept; None for not at all.

    Parameters
    ----------
    collect_per_user, per_user_dtype
        As in :func:`rankbound.evaluate_scores`.
    exact : bool
        Whether something else is computed from the values, which must then be neither missing nor rounded.

    Returns
    -------
    returned, kept : {"float64", "float32"} or None
        Checked.

    Raises
    ------
    RankboundError
        For another type, or what is no boolean.
    """
    dtype = as_choice(per_user_dtype, ("float64", "float32"), name="per_user_dtype")
    returned = dtype if as_flag(collect_per_user, name="collect_per_user") else None
    return returned, "float64" if exact else returned


def _n_distinct(ids: NDArray[Any]) -> int:
    # Numbered lists rise, and need no table.
    rising = ids.dtype.kind in "iu" and bool((ids[1:] > ids[:-1]).all())
    return len(ids) if rising else len(np.unique(ids))


def as_sample_ids(sample_ids: Any, n_rows: int, *, first: int = 0) -> NDArray[Any]:
    """Return one id per list.

    Parameters
    ----------
    sample_ids : array_like of shape (n_rows,), or None
        None numbers the lists.
    n_rows : int
        Number of lists.
    first : int, default 0
        The number of the first one.

    Returns
    -------
    ndarray of shape (n_rows,)
        Of one plain dtype.

    Raises
    ------
    ShapeError
        For another number of ids.
    InvalidTypeError
        For a missing id, or ids of different kinds.
    """
    if sample_ids is None:
        return np.arange(first, first + n_rows)
    ids, missing = split_missing(as_vector(sample_ids, name="sample_ids"), name="sample_ids")
    if len(ids) != n_rows:
        raise ShapeError(f"sample_ids has {len(ids)} entries, but there are {n_rows} rows; give one per row")
    if missing.any():
        raise InvalidTypeError(f"sample_ids has no id at position {int(missing.argmax())}; give every row one")
    return ids


def _checked(custom: Any, values: Any, scored: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return the columns of what a metric of the caller's returned, if it is what it must be."""
    name, keys = type(custom).__name__, tuple(custom.result_keys)
    array = np.asarray(values)
    expected = (len(scored), len(keys))
    if array.shape != expected:
        raise ShapeError(
            f"{name}.update returned shape {array.shape}; it must return {expected}: one row per list, one column per "
            "key"
        )
    if array.dtype.kind != "f":
        raise InvalidTypeError(f"{name}.update returned dtype {array.dtype}; it must return floating-point numbers")
    wrong = ~(np.abs(array) < MAX_MAGNITUDE) & scored[:, None]
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidParameterError(
            f"{name}.update returned {array[row, column]} for {keys[column]!r} at row {row}, which has relevant items; "
            "values must be finite and below 2^40 there"
        )
    # Copies, because the metric may use its array again.
    return {key: array[:, at].copy() for at, key in enumerate(keys)}
