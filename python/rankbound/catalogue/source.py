"""What is recommended, as the core reads it: scores of all items, or ranked lists of some."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._exclusion import Exclusion
from rankbound.errors import InvalidParameterError

if TYPE_CHECKING:
    from rankbound.evaluation.lists import RankedLists
    from rankbound.evaluation.targets import CoreTargets

Found: TypeAlias = tuple[list[NDArray[np.float64]], _core.ExposureSums, _core.GroupSums, int]


class Request(NamedTuple):
    """What is wanted of some lists: the attributes that the core reads."""

    k: int
    rows: NDArray[np.uint64]
    measures: list[_core.ListMeasure]
    targets: "CoreTargets | None"
    weights: tuple[str, float] | None
    class_hits: bool
    drop_masked: bool = False


class Source(Protocol):
    """Recommendations that can be scanned."""

    def __len__(self) -> int:
        """Return the number of lists."""

    @property
    def n_items(self) -> int | None:
        """Number of items in the catalogue; None if nobody said."""

    def scan(self, request: Request, *, n_items: int, num_threads: int) -> Found:
        """Return values per list, exposure, hits per item and the number of lists tied at the cut."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredItems:
    """A score matrix, what is no candidate in it, and what the caller calls it."""

    matrix: NDArray[Any]
    exclude: Exclusion | None
    mask_neg_inf: bool
    drop_masked: bool = False
    name: str = "scores"

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def n_items(self) -> int:
        """Columns of the matrix."""
        return int(self.matrix.shape[1])

    def scan(self, request: Request, *, n_items: int, num_threads: int) -> Found:
        """Scan the rows of the matrix, which has ``n_items`` columns."""
        del n_items
        return _core.catalogue_scores(
            self.matrix,
            request._replace(drop_masked=self.drop_masked),
            name=self.name,
            exclude=self.exclude,
            mask_neg_inf=self.mask_neg_inf,
            num_threads=num_threads,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ListedItems:
    """Ranked lists, how they are read, and what the caller calls them."""

    lists: "RankedLists"
    open_tie: str = "refuse"
    duplicates: str = "refuse"
    check_scores: bool = True
    name: str = "recommendations"

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def n_items(self) -> int | None:
        """Items that the lists say there are."""
        return self.lists.n_items

    def scan(self, request: Request, *, n_items: int, num_threads: int) -> Found:
        """Scan the lists over a catalogue of ``n_items``."""
        if self.open_tie == "bounds":
            raise InvalidParameterError(
                "open_tie='bounds' has no bounds for catalogue metrics; use 'refuse' or 'as_listed', or evaluate them "
                "apart"
            )
        items, scores, starts, lengths = list_arrays(self.lists)
        return _core.catalogue_lists(
            items,
            scores,
            starts,
            lengths,
            request,
            name=self.name,
            n_items=n_items,
            as_listed=self.open_tie == "as_listed",
            keep_first=self.duplicates == "keep_first",
            check_scores=self.check_scores,
            num_threads=num_threads,
        )


def list_arrays(
    lists: "RankedLists",
) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[np.uint64], NDArray[np.uint64]]:
    """Return ranked lists as flat arrays.

    Parameters
    ----------
    lists : RankedLists
        The lists.

    Returns
    -------
    items : ndarray of int32 or int64
        List after list, padding included.
    scores : ndarray of float32 or float64, or None
        As many.
    starts, lengths : ndarray of uint64
        Where each list starts, and how many items it has.
    """
    n_rows, width = lists.indices.shape
    items = np.ascontiguousarray(lists.indices)
    if items.dtype not in (np.int32, np.int64):
        items = items.astype(np.int64)
    scores = None
    if lists.scores is not None:
        narrow = lists.scores.dtype in (np.float32, np.float16)
        scores = np.ascontiguousarray(lists.scores, dtype=np.float32 if narrow else np.float64).reshape(-1)
    starts = np.arange(n_rows, dtype=np.uint64) * np.uint64(width)
    lengths = np.full(n_rows, width) if lists.lengths is None else lists.lengths
    return items.reshape(-1), scores, starts, lengths.astype(np.uint64)
