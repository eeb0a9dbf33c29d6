"""Digests that tell whether what is read is what was written."""

import json
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray


def hash_of(document: Any) -> str:
    """Return a hash of a JSON document, whatever the order of its keys and whether 1.0 is written as 1."""
    canonical = json.dumps(_plain_numbers(document), sort_keys=True, separators=(",", ":"))
    return blake2b(canonical.encode(), digest_size=16).hexdigest()


def _plain_numbers(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _plain_numbers(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [_plain_numbers(value) for value in node]
    return int(node) if isinstance(node, float) and node.is_integer() else node


def digest(*arrays: NDArray[Any]) -> str:
    """Return a hash of arrays: their dtypes, shapes and values, byte order aside."""
    hasher = blake2b(digest_size=16)
    for array in arrays:
        add_array(hasher, array)
    return hasher.hexdigest()


def add_array(hasher: blake2b, array: NDArray[Any]) -> None:
    """Add an array to a :func:`digest`."""
    if array.dtype.kind in "US":
        # Text, whatever the width that its longest item asks for.
        texts = [text.encode() if isinstance(text, str) else text for text in array.tolist()]
        hasher.update(f"{array.dtype.kind}{array.shape}{list(map(len, texts))}".encode())
        hasher.update(b"".join(texts))
        return
    plain = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    hasher.update(f"{plain.dtype.str}{plain.shape}".encode())
    hasher.update(plain.tobytes())
