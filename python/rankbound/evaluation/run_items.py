"""What the lists of a run show of a catalogue whose items the caller names."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound.catalogue.source import Found, Request, check_open_tie
from rankbound.errors import (
    DuplicateItemError,
    EmptyInputError,
    InvalidTypeError,
    OpenTieError,
    UnknownLabelError,
)
from rankbound.evaluation.ids import Ids, OwnIds, as_ids
from rankbound.evaluation.targets import Targets


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The items of a catalogue, in the order in which data about them is given."""

    ids: OwnIds
    num_threads: int

    @classmethod
    def of(cls, item_ids: Any, *, num_threads: int) -> "Catalogue":
        """Check the ids.

        Parameters
        ----------
        item_ids : iterable of int or of str
            Distinct.
        num_threads : int
            Number of threads.

        Returns
        -------
        Catalogue
            At least one item.

        Raises
        ------
        InvalidTypeError
            If they are not ids of one kind.
        EmptyInputError
            If there is none.
        DuplicateItemError
            Naming the item.
        """
        if not isinstance(item_ids, Iterable) or isinstance(item_ids, (str, bytes)):
            raise InvalidTypeError(f"item_ids must be the ids of all items in the catalogue, got {item_ids!r}")
        if isinstance(item_ids, (set, frozenset)):
            raise InvalidTypeError(
                f"item_ids is a {type(item_ids).__name__}, which has no order, and data about items is given in the "
                "order of their ids: pass a list, such as sorted(item_ids)"
            )
        ids = as_ids(item_ids, name="item_ids")
        if not len(ids):
            raise EmptyInputError("item_ids is empty: there is no catalogue")
        places = _core.places_of(ids.core, ids.core, num_threads=num_threads)
        again = np.flatnonzero(places != np.arange(len(ids)))
        if len(again):
            raise DuplicateItemError(
                f"item_ids has {ids.show(again[0])} twice, again at position {again[0]}; list every item once"
            )
        return cls(ids, num_threads)

    def __len__(self) -> int:
        return len(self.ids)

    def digest(self) -> str:
        """Return a digest of the ids and their order."""
        return self.ids.digest()

    def text_ranks(self) -> NDArray[np.int64]:
        """Return where each item stands if ids are sorted as text."""
        return np.argsort(np.argsort(self.ids.array(found="item_ids has").astype(np.str_)))

    def places(self, ids: Ids, rows: NDArray[np.int64], *, argument: str) -> NDArray[np.int64]:
        """Return where items stand in the catalogue.

        Parameters
        ----------
        ids : Ids
            A column of items.
        rows : ndarray of shape (n,), dtype int64
            Those of its rows that are wanted.
        argument : str
            Where it comes from, for messages.

        Returns
        -------
        ndarray of shape (n,), dtype int64
            Their places.

        Raises
        ------
        InvalidTypeError
            If ids are of different kinds.
        UnknownLabelError
            Naming the first item that is not there.
        """
        if not len(rows):
            return np.empty(0, dtype=np.int64)
        if self.ids.are_texts != ids.are_texts:
            raise InvalidTypeError(
                f"item ids are of different kinds: {argument} has {ids.show(rows[0])}, item_ids has "
                f"{self.ids.show(0)}; convert one to the other"
            )
        found = _core.places_of(ids.core, self.ids.core, num_threads=self.num_threads)[rows]
        if (found < 0).any():
            unknown = ids.show(rows[int((found < 0).argmax())])
            raise UnknownLabelError(
                f"item_ids has no {unknown}, which {argument} has; list every item of the catalogue"
            )
        return found

    def targets(self, item_ids: Ids, judged: Targets) -> Targets:
        """Return relevant items by their places in the catalogue.

        Parameters
        ----------
        item_ids : Ids
            The judged items.
        judged : Targets
            Relevant items as places among the judged ones.

        Returns
        -------
        Targets
            Of the same lists.

        Raises
        ------
        RankboundError
            As :meth:`places`.
        """
        places = self.places(item_ids, np.arange(len(item_ids)), argument="qrels")[judged.items]
        order = np.lexsort((places, np.repeat(np.arange(len(judged)), judged.counts)))
        return Targets(judged.starts, places[order].astype(np.uint32), judged.grades[order], len(self))


@dataclass(frozen=True, slots=True, eq=False)
class RunItems:
    """Ranked lists of a run, list after list, their items being places in the catalogue.

    Scores, which fall within a list, are there if equal ones tie. ``query_ids`` are for messages.
    """

    items: NDArray[np.int64]
    scores: NDArray[np.float64] | None
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    n_items: int
    query_ids: NDArray[Any]
    open_tie: str

    @classmethod
    def of(
        cls,
        lists: NDArray[np.int64],
        items: NDArray[np.int64],
        best_first: tuple[NDArray[Any], ...],
        *,
        scores: NDArray[np.float64] | None,
        n_items: int,
        query_ids: NDArray[Any],
        open_tie: str,
    ) -> "RunItems":
        """Put the rows of a run in order.

        Parameters
        ----------
        lists, items : ndarray of shape (n_rows,)
            List of each row, and place of its item in the catalogue.
        best_first : tuple of ndarray of shape (n_rows,)
            What rises from the best row of a list to its last, the decisive one last.
        scores : ndarray of shape (n_rows,) or None
            Scores, if equal ones tie.
        n_items, query_ids, open_tie
            As in the class; one id per list.

        Returns
        -------
        RunItems
            Lists without a row are empty.
        """
        order = np.lexsort((*best_first, lists))
        lengths = np.bincount(lists, minlength=len(query_ids))
        return cls(
            items=items[order],
            scores=None if scores is None else scores[order],
            starts=np.cumsum(lengths) - lengths,
            lengths=lengths,
            n_items=n_items,
            query_ids=query_ids,
            open_tie=open_tie,
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def scan(self, request: Request, *, n_items: int, num_threads: int) -> Found:
        """Scan the lists over the catalogue."""
        check_open_tie(self.open_tie)
        if self.open_tie == "refuse" and self.scores is not None:
            self._refuse_open(request, self.scores)
        return _core.catalogue_lists(
            self.items,
            self.scores,
            self.starts.astype(np.uint64),
            self.lengths.astype(np.uint64),
            request,
            name="run",
            n_items=n_items,
            as_listed=True,
            keep_first=False,
            check_scores=False,
            num_threads=num_threads,
        )

    def _refuse_open(self, request: Request, scores: NDArray[np.float64]) -> None:
        """Refuse a tie at the end of a list that reaches into its top k, which items beyond it may share."""
        ends = self.starts + self.lengths
        begins = np.ones(len(scores), dtype=np.bool_)
        begins[1:] = scores[1:] != scores[:-1]
        begins[self.starts[self.lengths > 0]] = True
        groups = np.flatnonzero(begins)
        last = groups[np.searchsorted(groups, ends[request.rows.astype(np.intp)]) - 1] if len(groups) else groups
        for list_, first in zip(request.rows.tolist(), last.tolist(), strict=False):
            tied, above = int(ends[list_]) - first, first - int(self.starts[list_])
            if self.lengths[list_] and tied > 1 and above < request.k and self.lengths[list_] < self.n_items:
                raise OpenTieError(
                    f"run has query {self.query_ids[list_].item()!r} end within a tie that reaches into its top "
                    f"{request.k}: {tied} of its {self.lengths[list_]} items share the last score, and items that are "
                    "not listed may share it too, so what the list shows is unknown. Pass longer lists, or "
                    "open_tie='as_listed' to take the tie as complete"
                )
