"""Learning to rank: every occasion has candidates of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._labels import show
from rankbound._options import as_positive
from rankbound._validation import as_numpy, check_exact_integers
from rankbound.catalogue.source import ScoredItems
from rankbound.errors import InvalidParameterError, InvalidTypeError, NonFiniteScoreError, ShapeError
from rankbound.evaluation.targets import Targets
from rankbound.protocols.lists import GradedTable, as_score, needed
from rankbound.protocols.recommendation import target_matrix
from rankbound.protocols.split import Split, split_rows
from rankbound.protocols.table import Codes, InteractionTable, read_interactions
from rankbound.protocols.truths import TruthRules, grade

_NAME = "score(rows)"
_KEPT = "most popular in the training part, then lowest id"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LtrLists(GradedTable):
    """Graded lists over the candidates of occasions, from :func:`ltr_lists`.

    Attributes
    ----------
    candidate_starts : ndarray of shape (n_lists + 1,), dtype int64
        Where the candidates of each list start.
    candidate_items : ndarray of shape (n_candidates,), dtype int64
        Column of each candidate, rising within a list.
    candidate_rows : ndarray of shape (n_candidates,), dtype int64
        Place of each candidate in the table that was given.
    is_truth : ndarray of shape (n_candidates,), dtype bool
        Whether its label is above 0.
    candidate_scores : ndarray of shape (n_candidates,) or None
        Scores, if a column of the table held them.
    """

    candidate_starts: Codes
    candidate_items: Codes
    candidate_rows: Codes
    is_truth: NDArray[np.bool_]
    candidate_scores: NDArray[Any] | None

    def _width(self) -> int:
        return int(np.diff(self.candidate_starts).max())

    def _scores(self, first: int, last: int) -> NDArray[Any]:
        """Return finite scores of the candidates from ``first`` up to ``last``."""
        if self.score is None and self.candidate_scores is not None:
            given: Any = self.candidate_scores[first:last]
            name = "score"
        else:
            given, name = needed(self.score)(self.candidate_rows[first:last]), _NAME
        scores = as_numpy(given, name=name)
        if scores.dtype.kind not in "fiu" or scores.dtype.char == "g":
            raise InvalidTypeError(f"{name} has dtype {scores.dtype}; scores must be float16/32/64 or integers")
        if scores.shape != (last - first,):
            raise ShapeError(
                f"{name} returned shape {scores.shape}; it must return {(last - first,)}: one score per candidate"
            )
        check_exact_integers(scores[None, :], name=name)
        accepted = np.isfinite(scores)
        if not accepted.all():
            at = int((~accepted).argmax())
            place = first + at
            raise NonFiniteScoreError(
                f"{name} has {scores[at]} for item {show(self.classes[self.candidate_items[place]])} at row "
                f"{self.candidate_rows[place]} of the table; every score must be finite"
            )
        return scores

    def _candidates(self, first: int, last: int) -> tuple[Codes, Codes, NDArray[Any]]:
        """Return row (from 0), column and score of every candidate of some graded lists."""
        lists = self.list_ids[first:last]
        begin, end = self.candidate_starts[lists[0]], self.candidate_starts[lists[-1] + 1]
        scores = self._scores(int(begin), int(end))
        lengths = np.diff(self.candidate_starts)[lists]
        rows = np.repeat(np.arange(last - first), lengths)
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places = self.candidate_starts[lists][rows] + offsets
        items, scores = self.candidate_items[places], scores[places - begin]
        if self.protocol["truth"]["other_truths"] == "exclude":
            graded = self.targets.indices[first:last]
            kept = ~self.is_truth[places] | (items == graded[rows])
            rows, items, scores = rows[kept], items[kept], scores[kept]
        return rows, items, scores

    def _profiles(
        self, first: int, last: int, targets: Targets, *, graded: bool, num_threads: int
    ) -> tuple[_core.Profiles, np.dtype[Any], Callable[[], ScoredItems]]:
        candidates = rows, items, given = self._candidates(first, last)
        scores = given.astype(np.float64)
        order = np.lexsort((items, -scores, rows))
        lengths = np.bincount(rows, minlength=last - first)
        profiles, _ = _core.profile_lists(
            items[order],
            scores[order],
            (np.cumsum(lengths) - lengths).astype(np.uint64),
            lengths.astype(np.uint64),
            targets.core(graded=graded),
            name=_NAME,
            # The list holds every candidate, so that a tie at its end is complete.
            open_tie="as_listed",
            cut_off=targets.n_items,
            keep_first=False,
            check_scores=True,
            num_threads=num_threads,
        )

        def source() -> ScoredItems:
            matrix = self._dense(last - first, *candidates)
            return ScoredItems(matrix, exclude=None, mask_neg_inf=True, name=_NAME)

        return profiles, given.dtype, source

    def _dense(self, n_rows: int, rows: Codes, items: Codes, scores: NDArray[Any]) -> NDArray[Any]:
        """Return a row per list, -inf where an item is no candidate."""
        dtype = scores.dtype if scores.dtype.kind == "f" else np.dtype(np.float64)
        matrix = np.full((n_rows, len(self.classes)), -np.inf, dtype=dtype)
        matrix[rows, items] = scores
        return matrix

    def _matrix(self, first: int, last: int) -> NDArray[Any]:
        return self._dense(last - first, *self._candidates(first, last))

    def _report_options(self) -> dict[str, Any]:
        return {"mask_neg_inf": True}


def ltr_lists(
    table: Any,
    score: str | Callable[[NDArray[np.int64]], Any] | None = None,
    *,
    entity: str = "entity",
    item: str = "item",
    label: str = "label",
    timestamp: str | None = None,
    occasion: str | None = None,
    truth: str = "per_truth",
    other_truths: str = "compete",
    unseen: str = "miss",
    max_candidates: int | None = 500,
    test_share: float | None = 0.2,
    split_at: Any = None,
    seed: int = 0,
) -> LtrLists:
    """Make graded lists from occasions, each over the candidates it had.

    An occasion is a query, a session, a page view: its rows of the table are its candidates, and those with a label
    above 0 are its truths. Occasions are never divided between the training and the test part. The order of the rows
    does not matter.

    Parameters
    ----------
    table : mapping of str to array_like, or frame
        One row per candidate of an occasion, as in :func:`recommendation_lists`; an occasion has an item once.
    score : str, callable or None, default None
        Column of finite scores, higher is better; or ``score(rows)``, called batch by batch, which returns such a score
        for each of the given places in the table, shape (n,). None leaves it to :meth:`LtrLists.scored_by`, once a
        model has been fitted on ``train_rows``.
    entity, item, label : str, default "entity", "item" and "label"
        Columns of ids, and of grades: finite, at least 0, and 0 for what is not relevant.
    timestamp : str or None, default None
        Column of numbers or dates. With it the occasions are split by time, each as old as its last row, without it by
        entity.
    occasion : str or None, default None
        Column of ids of occasions; each pair of an entity and an occasion is one. None makes each entity one.
    truth, other_truths
        As in :func:`recommendation_lists`.
    unseen : {"miss", "drop"}, default "miss"
        What becomes of truths that ``max_candidates`` cut off: they are worth 0 and stay in every denominator, or they
        are left out. Both are counted, in ``n_masked_truth``.
    max_candidates : int or None, default 500
        Most candidates of a list. Of a longer one the items are kept that are most popular in the training part (rows
        with a label above 0), equally popular ones by lowest id: neither scores nor labels of the test part decide, and
        truths may be cut off. Capped lists are shorter, hence easier: the protocol says ``"capped"``, and such results
        are not comparable with uncapped ones. Where no list is longer, nothing is capped. None never caps.
    test_share : float or None, default 0.2
        Largest share of the occasions (by time) or entities (by entity) to grade, above 0 and below 1. None grades the
        whole table, such as one that was scored after a split made elsewhere; then there is no popularity to cap by.
    split_at : number, date or None, default None
        First timestamp that is graded, instead of ``test_share``.
    seed : int, default 0
        Seed of the choice of entities, which are drawn without replacement.

    Returns
    -------
    LtrLists
        At least one graded list. Lists without a truth are left out and counted in ``n_no_truth``.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming column and row.

    Warns
    -----
    ReliabilityWarning
        With ``truth="first"``.

    Notes
    -----
    Ranking a few candidates is another task than ranking a catalogue. The protocol names the source of the candidates,
    and no comparison takes results of both sources together.

    Examples
    --------
    >>> from rankbound.protocols import ltr_lists
    >>> shown = {
    ...     "entity": ["ann", "ann", "ann", "bob", "bob"],
    ...     "item": ["x", "y", "z", "x", "z"],
    ...     "label": [0, 2, 1, 1, 0],
    ...     "estimate": [0.5, 0.5, 0.1, 0.3, 0.2],
    ... }
    >>> lists = ltr_lists(shown, "estimate", truth="set", test_share=None)
    >>> lists.evaluate("precision@1")["precision@1"]
    0.75
    """
    rules = TruthRules.of(truth=truth, other_truths=other_truths, unseen=unseen)
    cap = None if max_candidates is None else as_positive(max_candidates, name="max_candidates")
    column = score if isinstance(score, str) else None
    scorer = None if score is None or column is not None else as_score(score)
    if label is None:
        raise InvalidTypeError("label must be the name of a column of table: without labels every candidate is a truth")
    rows = read_interactions(
        table, entity=entity, item=item, label=label, timestamp=timestamp, occasion=occasion, score=column
    )
    split = _split(rows, test_share, split_at, seed)
    train, test = (rows.select(part).once_each(merge=False) for part in (~split.is_test, split.is_test))
    popularity = np.bincount(train.item_codes[train.labels > 0], minlength=len(rows.items))
    kept = _capped(test, popularity, cap)
    is_truth = test.labels > 0
    truths = test.select(is_truth)
    # Lists without truths are left out, capped or not.
    cut = ~kept & np.isin(test.list_codes, truths.list_codes)
    if cut.any() and not len(train):
        longest = int(np.bincount(test.list_codes).max())
        raise InvalidParameterError(
            f"max_candidates is {cap}, but a list has {longest} candidates and there is no training part whose "
            "popularity says which to keep; pass max_candidates=None, or cap the table"
        )
    grading = grade(
        truths,
        rules,
        known=np.ones(len(truths), dtype=np.bool_),
        candidate=kept[is_truth],
        n_candidates=np.bincount(test.list_codes[kept])[truths.list_codes],
    )
    codes, list_ids = np.unique(grading.list_codes, return_inverse=True)
    chosen = kept & np.isin(test.list_codes, codes)
    candidates = test.select(chosen)
    entity_codes = rows.list_entities[grading.list_codes]
    every_item = np.arange(len(rows.items))
    return LtrLists(
        entities=rows.entities[entity_codes],
        occasions=None if rows.occasions is None else rows.occasions[grading.list_codes],
        list_ids=list_ids,
        targets=target_matrix(truths, grading.starts, grading.places, every_item, len(rows.items)),
        classes=rows.items,
        unseen_items=rows.items[:0],
        popularity=popularity,
        train_rows=np.flatnonzero(~split.is_test),
        test_rows=np.flatnonzero(split.is_test),
        protocol={
            "candidates": {
                "source": "occasion",
                "kind": "capped" if cut.any() else "per_row",
                "n_items": len(rows.items),
                "cap": cap if cut.any() else None,
                "kept": _KEPT if cut.any() else "all",
            },
            "truth": rules.protocol(timed=rows.times is not None),
            "split": split.protocol,
            "population": {
                **grading.population,
                "n_no_truth": len(np.unique(test.list_codes)) - len(np.unique(truths.list_codes)),
                "n_cold_entities": len(np.setdiff1d(entity_codes, train.entity_codes)),
                "n_train_rows": len(train),
                "n_test_rows": len(test),
                "n_capped_lists": len(np.unique(test.list_codes[cut])),
                "n_capped_candidates": int(cut.sum()),
            },
        },
        score=scorer,
        candidate_starts=np.searchsorted(candidates.list_codes, np.append(codes, len(rows.list_entities))),
        candidate_items=candidates.item_codes,
        candidate_rows=candidates.rows,
        is_truth=candidates.labels > 0,
        candidate_scores=candidates.scores,
    )


def _split(rows: InteractionTable, test_share: Any, split_at: Any, seed: Any) -> Split:
    if test_share is not None:
        return split_rows(rows, test_share=test_share, split_at=split_at, seed=seed, whole_lists=True)
    if split_at is not None:
        raise InvalidParameterError("test_share=None grades the whole table; leave out split_at, or give a share")
    return Split(np.ones(len(rows), dtype=np.bool_), {"by": "none"})


def _capped(test: InteractionTable, popularity: Codes, cap: int | None) -> NDArray[np.bool_]:
    """Return which candidates are kept; the table is sorted by list."""
    kept = np.ones(len(test), dtype=np.bool_)
    if cap is None:
        return kept
    order = np.lexsort((test.item_codes, -popularity[test.item_codes], test.list_codes))
    starts = np.flatnonzero(np.diff(test.list_codes, prepend=-1))
    sizes = np.diff(np.append(starts, len(test)))
    kept[order] = np.arange(len(test)) - np.repeat(starts, sizes) < cap
    return kept
