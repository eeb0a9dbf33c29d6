"""What a transform needs to know about the classes, frozen, and its file format."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankbound import _core
from rankbound._files import UNREADABLE, as_path, atomic_write, open_npz, why_unreadable
from rankbound._labels import as_class_ids, show
from rankbound._options import as_integer
from rankbound.errors import FileFormatError, InvalidParameterError, RankboundError, ShapeError, StateError

FittedOn = Literal["train", "calibration", "evaluation", "labels_only"]
SCHEMA_VERSION = 1
_FORMAT = "rankbound.ComparabilityState"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PercentileKnots:
    """Points of the reference distribution of each class, with exact counts; classes lie one after the other.

    Attributes
    ----------
    values : ndarray of shape (n_points,), dtype float64
        Reference scores, ascending within a class.
    less, equal : ndarray of shape (n_points,), dtype uint32
        How many reference scores of the class are below, and equal to, the value.
    offsets : ndarray of shape (n_classes + 1,), dtype int64
        Class ``c`` owns the points ``offsets[c]:offsets[c + 1]``.
    """

    values: NDArray[np.float64]
    less: NDArray[np.uint32]
    equal: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name, dtype in (("values", np.float64), ("less", np.uint32), ("equal", np.uint32), ("offsets", np.int64)):
            object.__setattr__(self, name, _frozen(getattr(self, name), dtype))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparabilityState:
    """Base rates and reference scores of the classes, as a transform needs them.

    A state is fitted once, by :func:`fit_comparability`, and then only read: transforming a row looks at that row and
    the state, so a ranking never depends on the rows beside it. Its arrays are read-only. Two states are equal if
    their fingerprints are.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Distinct ids of the columns, in their order: integers, strings or another dtype without objects.
    n_labelled : int
        Number of labelled rows, at least 0.
    counts : ndarray of shape (n_classes,), dtype int64
        Labelled rows of each class, from 0 to ``n_labelled``.
    dead : ndarray of shape (n_classes,), dtype bool
        Classes whose reference scores are all 0; shrinkage and percentiles leave them at 0.
    knots : PercentileKnots or None
        The reference distribution, if percentiles were asked for.
    n_knots : int or None
        The most knots a class may have, with ``knots``.
    n_reference : int
        Number of rows of reference scores, 0 without any.
    score_dtype : str or None
        Dtype of the reference scores.
    fitted_on : {"train", "calibration", "evaluation", "labels_only"}
        What the state was fitted on. A transform fitted on the graded rows makes results in-sample.
    row_fingerprint : str or None
        Hash of the labels fitted on, in their order: tells whether the same rows are graded.
    library_version : str
        The version of rankbound that fitted the state.
    fingerprint : str
        Hash of everything but ``library_version``: 32 hexadecimal digits.

    Raises
    ------
    ShapeError, InvalidParameterError
        If the parts contradict one another.

    Examples
    --------
    >>> import numpy as np
    >>> from rankbound.comparability import ComparabilityState
    >>> state = ComparabilityState(classes=["a", "b"], n_labelled=4, counts=[3, 1], dead=[False, False])
    >>> state.base_rates
    array([0.75, 0.25])
    """

    classes: NDArray[Any]
    n_labelled: int
    counts: NDArray[np.int64]
    dead: NDArray[np.bool_]
    knots: PercentileKnots | None = None
    n_knots: int | None = None
    n_reference: int = 0
    score_dtype: str | None = None
    fitted_on: FittedOn = "train"
    row_fingerprint: str | None = None
    library_version: str = _core.__version__
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        ids = as_class_ids(self.classes)
        object.__setattr__(self, "classes", _frozen(ids, ids.dtype))
        object.__setattr__(self, "n_labelled", as_integer(self.n_labelled, name="n_labelled"))
        object.__setattr__(self, "counts", _frozen(self.counts, np.int64))
        object.__setattr__(self, "dead", _frozen(self.dead, np.bool_))
        for name in ("counts", "dead"):
            shape = getattr(self, name).shape
            if shape != ids.shape:
                raise ShapeError(f"{name} has shape {shape} for {len(ids)} classes; give one value per class")
        wrong = (self.counts < 0) | (self.counts > self.n_labelled)
        if wrong.any():
            place = int(wrong.argmax())
            raise InvalidParameterError(
                f"counts has {self.counts[place]} at position {place}: counts go from 0 to n_labelled={self.n_labelled}"
            )
        if self.fitted_on not in get_args(FittedOn):
            raise InvalidParameterError(f"fitted_on must be one of {get_args(FittedOn)}, got {self.fitted_on!r}")
        if (self.knots is None) != (self.n_knots is None):
            raise InvalidParameterError("knots and n_knots go together: give both or neither")
        if self.knots is not None:
            percentile_transform(self)  # Refuses knots that cannot be.
        object.__setattr__(self, "fingerprint", _fingerprint(self))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def base_rates(self) -> NDArray[np.float64]:
        """Share of each class among the labelled rows, shape (n_classes,), from 0 to 1; 0 without any row."""
        return self.counts / max(self.n_labelled, 1)

    @property
    def n_floored(self) -> int:
        """Number of classes without a labelled row: the popularity discount counts them as seen once."""
        return int((self.counts == 0).sum())

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, ComparabilityState) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def check_classes(self, n_classes: int, classes: Any = None) -> None:
        """Refuse a matrix whose columns are not the classes of this state.

        Parameters
        ----------
        n_classes : int
            Number of columns of the matrix.
        classes : array_like of shape (n_classes,) or None, default None
            Ids of the columns, if known; they must be the same, in the same order.

        Raises
        ------
        StateError
            Naming the first class that differs.
        """
        if n_classes != self.n_classes:
            raise StateError(
                f"state has {self.n_classes} classes, proba has {n_classes} columns; fit a state for these columns"
            )
        if classes is None:
            return
        ids = as_class_ids(classes, n_classes)
        differ = np.ones(n_classes, bool) if ids.dtype.kind != self.classes.dtype.kind else ids != self.classes
        if differ.any():
            place = int(differ.argmax())
            reordered = set(ids.tolist()) == set(self.classes.tolist())
            raise StateError(
                f"state has the class {show(self.classes[place])} at position {place}, classes has {show(ids[place])}; "
                + ("put the columns in the order of state.classes" if reordered else "fit a state for these classes")
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to an ``.npz`` file without pickled objects.

        Parameters
        ----------
        path : str or path-like
            The exact name; no suffix is added. The file is complete or not there.

        Raises
        ------
        FileFormatError
            If the folder does not exist or cannot be written to.
        """
        metadata = {"format": _FORMAT, "schema": SCHEMA_VERSION} | _metadata(self)
        metadata |= {"library_version": self.library_version, "fingerprint": self.fingerprint}
        text = np.frombuffer(json.dumps(metadata, sort_keys=True).encode(), dtype=np.uint8)
        arrays: dict[str, Any] = {"metadata": text} | _arrays(self)
        with atomic_write(path) as handle:
            np.savez(handle, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ComparabilityState":
        """Read a state that :meth:`save` wrote. Nothing is unpickled.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        ComparabilityState
            Equal to the one saved.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, of another format or schema version, or not what was saved.
        InvalidTypeError
            If ``path`` is no name of a file.
        """
        file = as_path(path)
        name = str(path)
        try:
            with open_npz(file) as archive:
                stored = {key: archive[key] for key in archive.files}
            metadata = json.loads(stored.pop("metadata").tobytes())
            if metadata.pop("format") != _FORMAT:
                raise ValueError("another format")
        except FileNotFoundError as error:
            raise FileFormatError(f"there is no file {name!r}; write it with state.save(path)") from error
        except UNREADABLE as error:
            raise FileFormatError(
                f"{name!r} is no comparability state, or damaged ({why_unreadable(error)}); write it again with "
                "state.save(path)"
            ) from error
        schema = metadata.pop("schema", None)
        if schema != SCHEMA_VERSION:
            raise FileFormatError(
                f"{name!r} has schema version {schema}, this rankbound reads {SCHEMA_VERSION}; fit and save it again"
            )
        try:
            fingerprint = metadata.pop("fingerprint")
            knots = {key: stored.pop(f"knots_{key}") for key in _KNOT_NAMES} if "knots_values" in stored else None
            state = cls(**metadata, **stored, knots=PercentileKnots(**knots) if knots else None)
        except (RankboundError, *UNREADABLE) as error:
            raise FileFormatError(
                f"{name!r} is damaged ({why_unreadable(error)}); fit and save the state again"
            ) from error
        if state.fingerprint != fingerprint:
            raise FileFormatError(f"{name!r} was changed after it was saved; fit and save the state again")
        return state


_KNOT_NAMES = tuple(item.name for item in fields(PercentileKnots))


def percentile_transform(state: ComparabilityState) -> _core.Transform:
    """Return the percentile transform of a state that has knots."""
    knots = state.knots
    if knots is None:
        raise StateError("state has no percentile knots; fit it with fit_comparability(y, proba, percentile=True)")
    return _core.Transform.percentile(knots.values, knots.less, knots.equal, knots.offsets, state.dead)


def row_fingerprint(indices: NDArray[np.int64]) -> str:
    """Return the hash of the labels of some rows, in their order: 32 hexadecimal digits."""
    return _digest({"labels": _bytes(indices)})


def _frozen(values: Any, dtype: Any) -> NDArray[Any]:
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


def _metadata(state: ComparabilityState) -> dict[str, Any]:
    names = ("n_labelled", "n_knots", "n_reference", "score_dtype", "fitted_on", "row_fingerprint")
    return {name: getattr(state, name) for name in names}


def _arrays(state: ComparabilityState) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {name: getattr(state, name) for name in ("classes", "counts", "dead")}
    if state.knots is not None:
        arrays |= {f"knots_{name}": getattr(state.knots, name) for name in _KNOT_NAMES}
    return arrays


def _fingerprint(state: ComparabilityState) -> str:
    parts = {name: _bytes(array) for name, array in _arrays(state).items()}
    parts["metadata"] = json.dumps({"schema": SCHEMA_VERSION} | _metadata(state), sort_keys=True).encode()
    return _digest(parts)


def _digest(parts: Mapping[str, bytes]) -> str:
    digest = blake2b(digest_size=16)
    for name in sorted(parts):
        for part in (name.encode(), parts[name]):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _bytes(array: NDArray[Any]) -> bytes:
    """Return the same bytes for equal contents on every machine, whatever width strings are stored in."""
    kind = array.dtype.kind
    if kind in "US":
        return json.dumps([kind, *(item if kind == "U" else item.hex() for item in array.tolist())]).encode()
    portable = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return b"".join((portable.dtype.str.encode(), b"|", portable.view(np.uint8).data))
