"""Which protocols may stand side by side."""

from collections.abc import Iterator, Mapping
from typing import Any

# What decides whether numbers mean the same.
SEMANTIC = ("candidates", "truth", "ties", "metrics", "transform.state_fitted_on")
# And of what the lists show together, such as coverage, which have no values per list.
OF_CATALOGUE = "catalogue"
# Cut-offs and choices of metrics: the key of a metric carries them, and only shared keys are compared.
IN_THE_KEYS = frozenset({"metrics.k", "metrics.fixed", "metrics.primary"})
INFORMATIONAL = frozenset({"version", "timings"})


def protocol_differences(
    first: Mapping[str, Any], other: Mapping[str, Any], *, catalogue: str | None = None
) -> list[str]:
    """Return the semantic fields in which two protocol blocks differ.

    A field of ``metrics`` or ``catalogue`` that only one of them has says nothing about the other's metrics, and lists
    of metrics are choices; all other fields must be equal.

    Parameters
    ----------
    first, other : mapping
        Nested mappings of plain values, as in JSON.
    catalogue : str or None, default None
        The key of a catalogue metric that is to stand side by side, for which the catalogue's conventions count too,
        and those of the metric itself.

    Returns
    -------
    list of str
        A text for each, such as ``"truth.unseen is 'miss' and 'drop'"``.

    Examples
    --------
    >>> from rankbound.compare.protocol import protocol_differences
    >>> protocol_differences({"truth": {"unseen": "miss"}}, {"truth": {"unseen": "drop"}})
    ["truth.unseen is 'miss' and 'drop'"]
    """
    mine, theirs = (
        dict(_fields({**protocol, OF_CATALOGUE: _about(protocol.get(OF_CATALOGUE, {}), catalogue)}))
        for protocol in (first, other)
    )
    return [
        f"{field} is {_show(mine, field)} and {_show(theirs, field)}"
        for field in dict.fromkeys([*mine, *theirs])
        if not _agree(field, mine, theirs)
    ]


def _about(conventions: Mapping[str, Any], metric: str | None) -> dict[str, Any]:
    """Return the conventions of the catalogue that count for a metric: general ones, and its own by its label."""
    if metric is None:
        return {}
    return {
        name: node
        for name, node in conventions.items()
        if name == "tail" or not isinstance(node, Mapping) or metric.startswith(name.split("@")[0])
    }


def _fields(protocol: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, node in protocol.items():
        for field, value in _leaves(name, node):
            if any(field == part or field.startswith(f"{part}.") for part in (*SEMANTIC, OF_CATALOGUE)):
                yield field, value


def _leaves(name: str, node: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(node, Mapping):
        yield name, list(node) if isinstance(node, tuple) else node
        return
    for key, value in node.items():
        if key not in INFORMATIONAL:
            yield from _leaves(f"{name}.{key}", value)


def _agree(field: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    in_both = field in mine and field in theirs
    if in_both and mine[field] == theirs[field]:
        return True
    if field.split(".", maxsplit=1)[0] not in ("metrics", OF_CATALOGUE):
        return False
    return not in_both or field in IN_THE_KEYS or isinstance(mine[field], list)


def _show(fields: Mapping[str, Any], field: str) -> str:
    return repr(fields[field]) if field in fields else "missing"
