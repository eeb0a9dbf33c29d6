"""What an evaluation accumulates, batch by batch, and the result it makes of it."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import as_vector, split_missing
from rankbound._options import as_choice, as_flag, resolve_num_threads
from rankbound.catalogue.accumulator import Accumulator, Addition
from rankbound.catalogue.source import Recommended
from rankbound.errors import InvalidParameterError, InvalidTypeError, ReliabilityWarning, ShapeError
from rankbound.evaluation.customs import compute_customs, update_customs
from rankbound.evaluation.fingerprint import Fingerprint
from rankbound.evaluation.plan import Plan
from rankbound.evaluation.result import EvaluationResult
from rankbound.evaluation.slices import Group, Members
from rankbound.evaluation.targets import Targets
from rankbound.evaluation.totals import Totals
from rankbound.metrics import RankingBatch


@dataclass(slots=True)
class Batch:
    """One batch to be added: profiles of its lists, and what else is known about them.

    ``upper`` holds the profiles with every open tie broken for the list, where ``profiles`` hold the least they can be
    worth; ``bounds`` makes both against other targets. ``ranking`` makes what metrics of the caller's read,
    ``recommended`` is what catalogue metrics read; without them there can be none.
    """

    profiles: _core.Profiles
    targets: Targets
    sample_ids: NDArray[Any]
    upper: _core.Profiles | None = None
    bounds: Callable[[Targets], tuple[_core.Profiles, _core.Profiles]] | None = None
    ranking: Callable[[], RankingBatch] | None = None
    recommended: Recommended | None = None
    debug_rows: list[dict[str, Any]] = field(default_factory=list)

    def of_group(self, group: Group) -> tuple[_core.Profiles, _core.Profiles | None]:
        """Return the profiles, and the upper ones, against the relevant items of a group alone."""
        if self.bounds is not None:
            # An open tie is broken by what is relevant, for every group in another way.
            return self.bounds(self.targets.of_group(group))
        return self.profiles.of_group(group.codes, group.code), None


class Collector:
    """Sums and, if wanted, values per list, over any number of batches.

    Parameters
    ----------
    plan : Plan
        The metrics.
    kept_dtype : {"float64", "float32"} or None
        Type in which the values per list are kept; None keeps none.
    num_threads : int or None
        Threads; None takes what there are when a batch is added.
    item_groups : mapping of str to Group, or None, default None
        Groups of items to report apart; the targets of batches must keep their items then.
    goes_on : bool, default False
        Whether batches can follow one that was refused.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        kept_dtype: str | None,
        num_threads: int | None,
        item_groups: Mapping[str, Group] | None = None,
        goes_on: bool = False,
    ) -> None:
        if item_groups and plan.customs:
            raise InvalidParameterError(
                f"metrics has {type(plan.customs[0]).__name__}, a metric of your own, which cannot be evaluated for "
                f"the group of items {next(iter(item_groups))!r} in slices; evaluate it apart"
            )
        self.plan = plan
        self.kept_dtype = kept_dtype
        self.num_threads = num_threads
        self.item_groups = dict(item_groups or {})
        self.goes_on = goes_on
        self.catalogue = Accumulator(plan.catalogues)
        self.reset()

    def reset(self) -> None:
        """Forget everything that was added."""
        self.totals = Totals()
        self.group_totals = dict.fromkeys(self.item_groups, self.totals)
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
        core, threads = self.plan.core, resolve_num_threads(self.num_threads)
        own, columns = Totals.of(batch.profiles, batch.upper, core, num_threads=threads)
        totals = self.totals.plus(own)
        group_totals = {
            name: self.group_totals[name].plus(Totals.of(*batch.of_group(group), core, num_threads=threads)[0])
            for name, group in self.item_groups.items()
        }
        scored = batch.profiles.n_relevant() > 0
        addition = self._catalogue_addition(batch, scored, threads)
        total = None if addition is None else self.catalogue.sum_with(addition)
        fingerprint = self.fingerprint.join(Fingerprint.of(batch.targets, num_threads=threads))
        ids = batch.sample_ids[scored]
        kept = self._kept({metric.key: column for metric, column in zip(core, columns, strict=True)}, scored)
        if addition is not None and self.kept_dtype is not None:
            kept |= {key: column.astype(self.kept_dtype, copy=False) for key, column in addition.values.items()}
        # Last, because what they have read can be taken back but once; from here on nothing is refused.
        kept |= self._kept(self._update_customs(batch, scored), scored)
        self.catalogue.total = total
        self.totals, self.group_totals, self.fingerprint = totals, group_totals, fingerprint
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

    def _catalogue_addition(self, batch: Batch, scored: NDArray[np.bool_], num_threads: int) -> Addition | None:
        if not self.plan.catalogues:
            return None
        if batch.recommended is None:
            raise InvalidTypeError(
                f"metrics has {self.plan.catalogues[0].label}, which reads which items are shown, and this input does "
                "not say: pass scores, vectors, ranked lists or a run to a function such as evaluate_scores"
            )
        source, targets = batch.recommended
        rows = np.flatnonzero(scored)
        return self.catalogue.find(source, rows, targets.core(graded=True), num_threads=num_threads)

    def _update_customs(self, batch: Batch, scored: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        customs = self.plan.customs
        if not customs:
            return {}
        if batch.ranking is None:
            raise InvalidTypeError(
                f"metrics has {type(customs[0]).__name__}, a metric of your own, which reads ranked lists: pass them "
                "to evaluate_ranked_predictions"
            )
        return update_customs(customs, batch.ranking(), scored, goes_on=self.goes_on)

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
        if other.totals.sums is None:
            return
        totals, fingerprint = self.totals.plus(other.totals), self.fingerprint.join(other.fingerprint)
        # It refuses before it changes anything; from here on nothing is refused.
        self.catalogue.merge(other.catalogue)
        n_before, self.totals, self.fingerprint = self.totals.n_rows, totals, fingerprint
        self.debug_rows += [row | {"user_row": row["user_row"] + n_before} for row in other.debug_rows]
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
        row_groups: Mapping[str, Group],
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
        row_groups : mapping of str to Group
            Lists to report apart.
        debug : bool, default False
            Whether details of the first lists were asked for.

        Returns
        -------
        EvaluationResult
            The collector can go on.
        """
        ids = _joined(self.ids, dtype=np.int64)
        values = {key: _joined(chunks) for key, chunks in self.values.items()}
        per_user = None
        if per_user_dtype is not None:
            per_user = {key: column.astype(per_user_dtype, copy=False) for key, column in values.items()}
        slices = self._row_slices(row_groups, values)
        slices |= {
            name: {"n_rows": of.n_rows, "n_scored_rows": of.n_scored_rows, **of.aggregates(self.plan.core)[0]}
            for name, of in self.group_totals.items()
        }
        if self.item_groups and self.catalogue.list_keys:
            warnings.warn(
                f"slices of items, such as {next(iter(self.item_groups))!r}, have no "
                f"{', '.join(self.catalogue.list_keys)}, which is about the items that lists show: see the value over "
                "all items",
                ReliabilityWarning,
                stacklevel=2,
            )
        catalogue = self.catalogue.compute()
        of_all = [key for key in catalogue if key not in self.catalogue.list_keys] if slices else []
        if of_all:
            warnings.warn(
                f"slices have no {', '.join(of_all)}, a number of all lists together: evaluate a group's lists apart",
                ReliabilityWarning,
                stacklevel=2,
            )
        if not self.totals.n_scored_rows:
            warnings.warn(
                "no list was added: every mean is NaN"
                if not self.totals.n_rows
                else f"no list of {self.totals.n_rows} has a relevant item: there is nothing to measure, and every "
                "mean is NaN; check the targets",
                ReliabilityWarning,
                stacklevel=2,
            )
        metrics, ties = self.totals.aggregates(self.plan.core)
        return EvaluationResult(
            metrics=metrics | compute_customs(self.plan.customs) | catalogue,
            n_rows=self.totals.n_rows,
            n_scored_rows=self.totals.n_scored_rows,
            n_units=_n_distinct(ids),
            required_k=self.plan.required_k or width,
            per_user=per_user,
            sample_ids=None if per_user is None else ids,
            ties=ties | {key: {**spread} for key, spread in self.catalogue.ties().items()},
            slices=slices,
            metadata=dict(metadata),
            target_fingerprint=self.fingerprint.digest(),
            protocol=dict(protocol),
            debug_rows=tuple(self.debug_rows) if debug else None,
        )

    def _row_slices(
        self, groups: Mapping[str, Group], values: Mapping[str, NDArray[Any]]
    ) -> dict[str, dict[str, float]]:
        scored = np.concatenate(self.scored) if self.scored else np.empty(0, dtype=np.bool_)
        # Groups of the same labels share their codes.
        codes = {id(group.codes): group.codes for group in groups.values()}
        of_rows = {key: Members(of) for key, of in codes.items()}
        of_scored = {key: Members(of[scored]) for key, of in codes.items()}
        return {
            name: {
                "n_rows": len(of_rows[id(group.codes)].of(group.code)),
                **self._row_slice(of_scored[id(group.codes)].of(group.code), values),
            }
            for name, group in groups.items()
        }

    def _row_slice(self, members: NDArray[np.intp], values: Mapping[str, NDArray[Any]]) -> dict[str, float]:
        found: dict[str, float] = {"n_scored_rows": len(members)}
        count_keys = {metric.key: metric.count_key for metric in self.plan.core}
        for key, column in values.items():
            count_key = count_keys.get(key)
            if count_key:
                found[count_key] = len(members)
            kept = column[members]
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


def _joined(chunks: list[NDArray[Any]], dtype: type = np.float64) -> NDArray[Any]:
    if len(chunks) == 1:
        # As mostly: it need not be copied.
        return chunks[0]
    return np.concatenate(chunks) if chunks else np.empty(0, dtype=dtype)


def _n_distinct(ids: NDArray[Any]) -> int:
    # Numbered lists and the queries of qrels rise, and need no table.
    rising = ids.dtype.kind in "iuU" and bool((ids[1:] > ids[:-1]).all())
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
