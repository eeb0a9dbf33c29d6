"""How often each item is shown: what coverage, entropy, Gini and group exposure are read from."""

import json
import math
import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._files import UNREADABLE, as_path, atomic_write, open_npz, why_unreadable
from rankbound._options import as_integer
from rankbound.errors import FileFormatError, InvalidParameterError, InvalidTypeError, RankboundError

FORMAT = "rankbound-exposure"
SCHEMA_VERSION = 1


class RankValue(NamedTuple):
    """What each of the first ``k`` ranks gives to the exposure of its item, as the core takes it."""

    weights: str = "top"
    patience: float = 0.0


def shares_of(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each of some groups has of their total; NaN if there is none."""
    total = _core.exact_sum(sums)
    return sums / total if total else np.full(len(sums), np.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exposure:
    """Expected exposure of every item by many lists, to be kept, stored and merged.

    Made by :func:`rankbound.catalogue.exposure`; merging exposures of parts gives the same bits as all lists at once.

    Parameters
    ----------
    sums : _core.ExposureSums
        The exact sums.
    n_lists : int
        Lists added up.
    k : int
        Cut-off.
    rank_value : RankValue
        What a rank gives.
    n_tied_at_cut : int
        Lists whose top ``k`` depends on the order of equal scores.
    """

    sums: _core.ExposureSums
    n_lists: int
    k: int
    rank_value: RankValue
    n_tied_at_cut: int

    @property
    def expected(self) -> NDArray[np.float64]:
        """Expected exposure per item: with weights ``"top"`` the expected number of lists that show it."""
        return self.sums.exposure()[0]

    @property
    def seen(self) -> NDArray[np.float64]:
        """Probability per item that at least one list shows it, lists breaking their ties independently."""
        return self.sums.exposure()[1]

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue."""
        return len(self.expected)

    def coverage_sd_bound(self, catalog_size: int | None = None) -> float:
        """Return the most that the standard deviation of the coverage over tie-breaks can be.

        Whether an item stays unseen is negatively associated with whether others do, so the variance of the number of
        unseen items is at most the sum of their variances.

        Parameters
        ----------
        catalog_size : int or None, default None
            As in :func:`rankbound.catalogue.catalog_coverage`.

        Returns
        -------
        float
            In the unit of the coverage, 0 without ties at the cut; NaN without lists.

        Raises
        ------
        InvalidParameterError
            For a catalogue smaller than the lists'.

        References
        ----------
        Joag-Dev and Proschan, "Negative association of random variables with applications", Annals of Statistics 11(1),
        1983.

        Examples
        --------
        >>> from rankbound.catalogue import exposure
        >>> exposure([[3, 2, 2, 1], [0, 0, 0, 0], [1, 5, 1, 1]], 2).coverage_sd_bound()
        0.1502313031443329
        """
        size, seen = self.size_of(catalog_size), self.seen
        return math.sqrt(_core.exact_sum(seen * (1.0 - seen))) / size if self.n_lists else math.nan

    def size_of(self, catalog_size: int | None) -> int:
        """Return the size of the catalogue, which may be larger than that of the lists'."""
        size = self.n_items if catalog_size is None else as_integer(catalog_size, name="catalog_size")
        if size < self.n_items:
            raise InvalidParameterError(
                f"catalog_size is {size}, but the lists are over {self.n_items} items; it counts all of them and those "
                "that are never candidates"
            )
        return size

    def merge(self, other: "Exposure") -> "Exposure":
        """Return the exposure by the lists of both.

        Parameters
        ----------
        other : Exposure
            By other lists over the same items, with the same cut-off and weights.

        Returns
        -------
        Exposure
            The same bits as of all lists at once.

        Raises
        ------
        InvalidTypeError
            If it is no exposure.
        InvalidParameterError
            If cut-off or weights differ.
        ShapeError
            If the numbers of items differ.
        """
        if not isinstance(other, Exposure):
            raise InvalidTypeError(f"other must be an Exposure, got {type(other).__name__}")
        if (self.k, self.rank_value) != (other.k, other.rank_value):
            raise InvalidParameterError(
                f"exposures of other cut-offs or weights cannot be merged: k={self.k}, {self.rank_value} and "
                f"k={other.k}, {other.rank_value}"
            )
        return Exposure(
            sums=self.sums.merge(other.sums),
            n_lists=self.n_lists + other.n_lists,
            k=self.k,
            rank_value=self.rank_value,
            n_tied_at_cut=self.n_tied_at_cut + other.n_tied_at_cut,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the exposure to a file that :meth:`load` reads, without pickle.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.npz``. The file appears complete or not at all.

        Raises
        ------
        FileFormatError
            For another suffix, or if the file cannot be written.
        InvalidTypeError
            If ``path`` is no name of a file.
        """
        if as_path(path).suffix.lower() != ".npz":
            raise FileFormatError(f"{os.fspath(path)!r} must end in .npz, the format that is written")
        certain, sums = self.sums.store()
        header = json.dumps(
            {
                "format": FORMAT,
                "schema": SCHEMA_VERSION,
                "n_lists": self.n_lists,
                "k": self.k,
                "rank_value": self.rank_value,
                "n_tied_at_cut": self.n_tied_at_cut,
            }
        )
        text = np.frombuffer(header.encode(), dtype=np.uint8)
        with atomic_write(path) as handle:
            np.savez_compressed(handle, header=text, certain=certain, sums=sums)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Exposure":
        """Read an exposure that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Exposure
            With the same sums.

        Raises
        ------
        FileFormatError
            If there is no such file, or it is damaged or of another kind.
        InvalidTypeError
            If ``path`` is no name of a file.
        """
        file = as_path(path)
        name = str(path)
        try:
            with open_npz(file) as archive:
                header = json.loads(archive["header"].tobytes())
                if header["format"] != FORMAT:
                    raise ValueError("another format")
                if header["schema"] != SCHEMA_VERSION:
                    raise ValueError(f"schema version {header['schema']}, this rankbound reads {SCHEMA_VERSION}")
                return cls(
                    sums=_core.ExposureSums.restore(archive["certain"], np.ascontiguousarray(archive["sums"])),
                    n_lists=int(header["n_lists"]),
                    k=int(header["k"]),
                    rank_value=RankValue(*header["rank_value"]),
                    n_tied_at_cut=int(header["n_tied_at_cut"]),
                )
        except FileNotFoundError as error:
            raise FileFormatError(f"there is no file {name!r}; write it with exposure.save(path)") from error
        except (RankboundError, *UNREADABLE) as error:
            raise FileFormatError(
                f"{name!r} is no saved exposure, or damaged ({why_unreadable(error)}); save it again"
            ) from error

    def __repr__(self) -> str:
        return f"<Exposure of {self.n_items} items by the top {self.k} of {self.n_lists} lists>"
