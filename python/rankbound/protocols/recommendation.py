"""Recommendation: every entity is offered the whole catalogue."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._exclusion import as_exclusion, marked_too
from rankbound._labels import show
from rankbound._options import as_choice, as_flag
from rankbound._validation import as_score_matrix
from rankbound.catalogue.source import ScoredItems
from rankbound.errors import NonFiniteScoreError, ShapeError
from rankbound.evaluation.targets import Targets
from rankbound.protocols.lists import GradedTable, as_score, needed
from rankbound.protocols.split import split_rows
from rankbound.protocols.table import Codes, InteractionTable, read_interactions
from rankbound.protocols.truths import TruthRules, grade

_NAME = "score(entities, items)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RecommendationLists(GradedTable):
    """Graded lists over one catalogue, from :func:`recommendation_lists`.

    Attributes
    ----------
    seen : csr_array of shape (n_entities, n_columns), dtype bool, or None
        Items of the training part of each entity of the table, which are no candidates of its lists; None if they are.
    entity_codes : ndarray of shape (n_rows,), dtype int64
        Row of ``seen`` of each graded list.
    truths_of_lists : csr_array of shape (n_lists, n_columns), dtype bool, or None
        All truths of each list, of which the graded lists exclude those they do not grade; None if truths compete.
    """

    seen: Any
    entity_codes: Codes
    truths_of_lists: Any

    @property
    def exclude(self) -> Any:
        """Items that are no candidates of each graded list, as a boolean csr_array of shape (n_rows, n_classes)."""
        from scipy import sparse  # noqa: PLC0415 - `import rankbound` stays light

        excluded = self._excluded(0, len(self))
        if excluded is None:
            return sparse.csr_array((len(self), len(self.classes)), dtype=np.bool_)
        return excluded[:, : len(self.classes)]

    def _excluded(self, first: int, last: int) -> Any:
        """Return what is no candidate of some graded lists, over all columns, as a CSR matrix; None if all are."""
        excluded = None
        if self.seen is not None:
            excluded = self.seen[self.entity_codes[first:last]]
        if self.truths_of_lists is not None:
            # The truth that is graded is one of them.
            others = self.truths_of_lists[self.list_ids[first:last]] != (self.targets[first:last] != 0)
            excluded = others if excluded is None else excluded + others
        return excluded

    def _scores(self, first: int, last: int) -> NDArray[Any]:
        """Return finite scores of some graded lists, one column per class."""
        codes, of_rows = np.unique(self.entity_codes[first:last], return_inverse=True)
        first_rows = first + np.unique(of_rows, return_index=True)[1]
        entities = self.entities[first_rows]
        scores = as_score_matrix(needed(self.score)(entities, self.classes), name=_NAME)
        expected = (len(codes), len(self.classes))
        if scores.shape != expected:
            raise ShapeError(
                f"{_NAME} returned shape {scores.shape}; it must return {expected}: one row per entity, one column per "
                "item"
            )
        accepted = np.isfinite(scores)
        if not accepted.all():
            row, column = np.argwhere(~accepted)[0]
            raise NonFiniteScoreError(
                f"{_NAME} returned {scores[row, column]} for entity {show(entities[row])} and item "
                f"{show(self.classes[column])}; every score must be finite"
            )
        return scores if len(codes) == last - first else scores[of_rows]

    def _width(self) -> int:
        return len(self.classes)

    def _profiles(
        self, first: int, last: int, targets: Targets, *, graded: bool, num_threads: int
    ) -> tuple[_core.Profiles, np.dtype[Any], Callable[[], ScoredItems]]:
        of_classes = scores = self._scores(first, last)
        excluded = self._excluded(first, last)
        n_unseen = len(self.unseen_items)
        if n_unseen:
            # Columns of unseen truths, so that they stay in every denominator; excluded, they are never ranked.
            scores = np.concatenate([scores, np.zeros((last - first, n_unseen), dtype=scores.dtype)], axis=1)
        exclusion = as_exclusion(excluded, scores.shape, np.arange(last - first), scores=_NAME)
        profiles, _ = _core.profile_scores(
            scores,
            targets.core(graded=graded),
            name=_NAME,
            exclude=marked_too(exclusion, np.arange(scores.shape[1]) >= len(self.classes), scores.shape),
            mask_neg_inf=False,
            drop_masked=False,
            num_threads=num_threads,
            progress=None,
        )

        def source() -> ScoredItems:
            shape = of_classes.shape
            in_catalogue = None if excluded is None else excluded[:, : shape[1]]
            exclude = as_exclusion(in_catalogue, shape, np.arange(shape[0]), scores=_NAME)
            return ScoredItems(of_classes, exclude=exclude, mask_neg_inf=False, name=_NAME)

        return profiles, of_classes.dtype, source

    def _matrix(self, first: int, last: int) -> NDArray[Any]:
        return self._scores(first, last)

    def _report_options(self) -> dict[str, Any]:
        exclude = self.exclude
        return {"exclude": exclude if exclude.nnz else None}


def recommendation_lists(
    table: Any,
    score: Callable[[NDArray[Any], NDArray[Any]], Any] | None = None,
    *,
    entity: str = "entity",
    item: str = "item",
    label: str | None = "label",
    timestamp: str | None = None,
    occasion: str | None = None,
    truth: str = "per_truth",
    other_truths: str = "compete",
    unseen: str = "miss",
    exclude_seen: bool = True,
    duplicates: str = "refuse",
    test_share: float = 0.2,
    split_at: Any = None,
    seed: int = 0,
) -> RecommendationLists:
    """Make graded lists from interactions, each over the whole catalogue.

    The table is split into a training and a test part. The catalogue are the items of the training part, all of them:
    there is no cap. Each entity of the test part, or each of its occasions, has a list; the items it met there with a
    label above 0 are the truths. The order of the rows does not matter.

    Parameters
    ----------
    table : mapping of str to array_like, or frame
        One row per interaction: arrays by column name, or an eager frame of pandas, polars, pyarrow or another library
        that narwhals knows. No value of a column that is read may be missing.
    score : callable or None, default None
        ``score(entities, items)`` returns finite scores of shape (n_entities, n_items), higher is better, for arrays
        of ids; it is called batch by batch when lists are evaluated, with all of ``classes`` as the items. None leaves
        it to :meth:`RecommendationLists.scored_by`, once a model has been fitted on ``train_rows``.
    entity, item : str, default "entity" and "item"
        Columns of ids.
    label : str or None, default "label"
        Column of grades: finite, at least 0, and 0 for what is not relevant. None grades every row with 1.
    timestamp : str or None, default None
        Column of numbers or dates. With it the table is split by time, row by row, without it by entity.
    occasion : str or None, default None
        Column of ids of occasions; each pair of an entity and an occasion is a list. None makes each entity one.
    truth : {"per_truth", "first", "set"}, default "per_truth"
        A graded list for each truth; for the first truth of each list alone, by timestamp, then by item; or for all
        truths of a list together. ``"first"`` is biased down, most for entities with many truths, and warned of.
    other_truths : {"compete", "exclude"}, default "compete"
        Whether the other truths of a list are candidates, which may outrank the one that is graded.
    unseen : {"miss", "drop"}, default "miss"
        What becomes of truths that are no candidates, because the training part does not have the item, or the entity
        has seen it there: they are worth 0 and stay in every denominator, or they are left out. Both are counted.
    exclude_seen : bool, default True
        Whether the items that an entity met in the training part, whatever their label, are no candidates of its lists.
    duplicates : {"refuse", "merge"}, default "refuse"
        What to do about an item that a list, or an entity and occasion of the training part, has twice: refuse it, or
        keep the highest label and the earliest timestamp.
    test_share : float, default 0.2
        Largest share of the rows (by time) or entities (by entity) to grade, above 0 and below 1. By time the newest
        rows are graded; rows of equal timestamps stay together.
    split_at : number, date or None, default None
        First timestamp that is graded, instead of ``test_share``.
    seed : int, default 0
        Seed of the choice of entities, which are drawn without replacement.

    Returns
    -------
    RecommendationLists
        At least one graded list. Entities without training rows are graded as well, and counted in
        ``protocol["population"]["n_cold_entities"]``; lists without a truth are left out and counted in ``n_no_truth``.

    Raises
    ------
    RankboundError
        A subclass that says what is wrong, naming column and row.

    Warns
    -----
    ReliabilityWarning
        With ``truth="first"``.

    References
    ----------
    Bordes, A., Usunier, N., Garcia-Duran, A., Weston, J., & Yakhnenko, O. (2013). Translating embeddings for modeling
    multi-relational data. Advances in Neural Information Processing Systems, 26. (Other truths left out: the
    "filtered" setting.)

    Examples
    --------
    >>> import numpy as np
    >>> from rankbound.protocols import recommendation_lists
    >>> visits = {
    ...     "entity": ["ann", "bob", "bob", "ann", "ann"],
    ...     "item": ["x", "y", "z", "y", "z"],
    ...     "day": [1, 1, 2, 3, 3],
    ... }
    >>> lists = recommendation_lists(visits, label=None, timestamp="day", split_at=3)
    >>> lists
    <RecommendationLists 2 graded lists (per_truth) of 1 entities over 3 items>
    >>> popular = lambda entities, items: np.tile(lists.popularity, (len(entities), 1))
    >>> lists.scored_by(popular).evaluate("mrr@10")["mrr@10"]
    0.75
    """
    rules = TruthRules.of(truth=truth, other_truths=other_truths, unseen=unseen)
    exclude = as_flag(exclude_seen, name="exclude_seen")
    merge = as_choice(duplicates, ("refuse", "merge"), name="duplicates") == "merge"
    scorer = None if score is None else as_score(score)
    rows = read_interactions(table, entity=entity, item=item, label=label, timestamp=timestamp, occasion=occasion)
    split = split_rows(rows, test_share=test_share, split_at=split_at, seed=seed, whole_lists=False)
    train, test = (rows.select(part).once_each(merge=merge) for part in (~split.is_test, split.is_test))
    truths = test.select(test.labels > 0)
    known = np.unique(train.item_codes)
    columns, unseen_codes = _columns(truths, known, len(rows.items))
    n_columns = len(known) + len(unseen_codes)
    seen = _pairs(train.entity_codes, columns[train.item_codes], (len(rows.entities), n_columns)) if exclude else None
    has_column = columns[truths.item_codes] < len(known)
    candidate = has_column.copy()
    if seen is not None and len(truths):
        candidate &= ~np.asarray(seen[truths.entity_codes, columns[truths.item_codes]]).ravel()
    n_seen = np.zeros(len(rows.entities), dtype=np.int64) if seen is None else np.diff(seen.indptr)
    grading = grade(
        truths,
        rules,
        known=has_column,
        candidate=candidate,
        n_candidates=len(known) - n_seen[truths.entity_codes],
    )
    codes, list_ids = np.unique(grading.list_codes, return_inverse=True)
    others = None
    if rules.other_truths == "exclude":
        graded = np.isin(truths.list_codes, codes)
        others = _pairs(
            np.searchsorted(codes, truths.list_codes[graded]),
            columns[truths.item_codes[graded]],
            (len(codes), n_columns),
        )
    entity_codes = rows.list_entities[grading.list_codes]
    per_row = others is not None or (seen is not None and seen[np.unique(entity_codes)].nnz > 0)
    is_known_entity = np.zeros(len(rows.entities), dtype=np.bool_)
    is_known_entity[train.entity_codes] = True
    return RecommendationLists(
        entities=rows.entities[entity_codes],
        occasions=None if rows.occasions is None else rows.occasions[grading.list_codes],
        list_ids=list_ids,
        targets=target_matrix(truths, grading.starts, grading.places, columns, n_columns),
        classes=rows.items[known],
        unseen_items=rows.items[unseen_codes],
        popularity=np.bincount(columns[train.item_codes[train.labels > 0]], minlength=len(known)),
        train_rows=np.flatnonzero(~split.is_test),
        test_rows=np.flatnonzero(split.is_test),
        protocol={
            "candidates": {
                "source": "catalogue",
                "kind": "per_row" if per_row else "full",
                "n_items": len(known),
                "cap": None,
                "seen": "exclude" if exclude else "keep",
            },
            "truth": rules.protocol(timed=rows.times is not None),
            "split": split.protocol,
            "population": {
                **grading.population,
                "n_no_truth": len(np.unique(test.list_codes)) - len(np.unique(truths.list_codes)),
                "n_cold_entities": int((~is_known_entity[np.unique(entity_codes)]).sum()),
                "n_train_rows": int((~split.is_test).sum()),
                "n_test_rows": int(split.is_test.sum()),
                "n_merged_rows": len(rows) - len(train) - len(test),
            },
        },
        score=scorer,
        seen=seen,
        entity_codes=entity_codes,
        truths_of_lists=others,
    )


def target_matrix(truths: InteractionTable, starts: Codes, places: Codes, columns: Codes, n_columns: int) -> Any:
    """Return the labels of the graded truths as a csr_array of shape (n_rows, n_columns)."""
    from scipy import sparse  # noqa: PLC0415 - `import rankbound` stays light

    parts = (truths.labels[places], columns[truths.item_codes[places]], starts)
    matrix = sparse.csr_array(parts, shape=(len(starts) - 1, n_columns))
    matrix.sort_indices()
    return matrix


def _columns(truths: InteractionTable, known: Codes, n_items: int) -> tuple[Codes, Codes]:
    """Return the column of each item of the table, -1 without one, and the items of the columns behind the known."""
    unseen = np.setdiff1d(truths.item_codes, known)
    columns = np.full(n_items, -1)
    columns[known] = np.arange(len(known))
    columns[unseen] = len(known) + np.arange(len(unseen))
    return columns, unseen


def _pairs(rows: Codes, columns: Codes, shape: tuple[int, int]) -> Any:
    """Return a boolean CSR matrix that is true at the given places."""
    from scipy import sparse  # noqa: PLC0415 - `import rankbound` stays light

    starts, columns = _csr(rows, columns, shape)
    return sparse.csr_array((np.ones(len(columns), dtype=np.bool_), columns, starts), shape=shape)


def _csr(rows: Codes, columns: Codes, shape: tuple[int, int]) -> tuple[Codes, Codes]:
    """Return row starts and rising columns of the given places, each once."""
    places = np.sort(rows * shape[1] + columns)
    # Faster than numpy's unique where most are distinct.
    places = places[np.diff(places, prepend=-1) > 0]
    return np.searchsorted(places, np.arange(shape[0] + 1) * shape[1]).astype(np.int64), places % shape[1]
