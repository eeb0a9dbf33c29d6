"""Vectors of queries and items, by whose similarity items are ranked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbound._options import as_choice
from rankbound._validation import as_numpy
from rankbound.errors import EmptyInputError, InvalidTypeError, ShapeError


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Vectors of queries and of all items; every query ranks every item by its similarity.

    Parameters
    ----------
    queries : array_like of shape (n_queries, n_dimensions)
        One finite vector per query; float32, or float16, which float32 holds exactly.
    items : array_like of shape (n_items, n_dimensions)
        One vector per item, likewise.
    item_bias : array_like of shape (n_items,) or None, default None
        What each item scores beside its similarity; float32 or float16.
    similarity : {"inner", "cosine", "l2"}, default "inner"
        As in :func:`rankbound.evaluate_embeddings`.

    Raises
    ------
    RankboundError
        For other dtypes, shapes that do not fit, and an unknown similarity. Values are checked where they are read.

    Examples
    --------
    >>> import numpy as np
    >>> from rankbound.catalogue import Embeddings, catalog_coverage
    >>> items = np.asarray([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    >>> catalog_coverage(Embeddings(items[:1], items), 1)
    0.3333333333333333
    """

    queries: NDArray[Any]
    items: NDArray[Any]
    item_bias: NDArray[np.float32] | None = None
    similarity: str = "inner"

    def __post_init__(self) -> None:
        """Check types and shapes."""
        queries, items = _as_vectors(self.queries, name="queries"), _as_vectors(self.items, name="items")
        if queries.shape[1] != items.shape[1]:
            raise ShapeError(
                f"queries has {queries.shape[1]} dimensions, but items has {items.shape[1]}; both need as many"
            )
        put = object.__setattr__
        put(self, "queries", queries)
        put(self, "items", items)
        put(self, "item_bias", None if self.item_bias is None else _as_bias(self.item_bias, n_items=len(items)))
        as_choice(self.similarity, ("inner", "cosine", "l2"), name="similarity")

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue."""
        return len(self.items)


def _as_vectors(value: Any, *, name: str) -> NDArray[Any]:
    """Return vectors as they are, if float32 holds them."""
    vectors = _as_single(value, name=name)
    if vectors.ndim != 2:
        raise ShapeError(
            f"{name} has {vectors.ndim} dimension(s), shape {vectors.shape}; it must have two: one row per vector, one "
            "column per dimension"
        )
    if 0 in vectors.shape:
        raise EmptyInputError(f"{name} has shape {vectors.shape}: there is nothing to score")
    return vectors


def _as_bias(value: Any, *, n_items: int) -> NDArray[np.float32]:
    bias = _as_single(value, name="item_bias")
    if bias.shape != (n_items,):
        raise ShapeError(f"item_bias has shape {bias.shape}; it must be {(n_items,)}: one value per item")
    return np.ascontiguousarray(bias, dtype=np.float32)


def _as_single(value: Any, *, name: str) -> NDArray[Any]:
    array = as_numpy(value, name=name)
    if array.dtype not in (np.float32, np.float16):
        raise InvalidTypeError(
            f"{name} has dtype {array.dtype}, but scores are computed in float32: pass {name}.astype('float32'), which "
            "may round"
        )
    return array
