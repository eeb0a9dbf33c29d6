"""What results hold: dicts and lists that say no to a change, which a written file would pass on as measured."""

from collections.abc import Mapping
from typing import Any, NoReturn

from rankbound.errors import InvalidTypeError


def _refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
    kind = "dict" if isinstance(self, dict) else "list"
    raise InvalidTypeError(f"what a result holds is read-only: change a copy, {kind}(...)")


class ReadOnlyDict(dict[Any, Any]):
    """A dict that cannot be changed."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        """Make copies and pickles whole, not item by item."""
        return type(self), (dict(self),)


class ReadOnlyList(list[Any]):
    """A list that cannot be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> Any:
        """Make copies and pickles whole, not item by item."""
        return type(self), (list(self),)


def read_only(node: Any) -> Any:
    """Return mappings and lists, and those within, as read-only copies; anything else as it is."""
    if isinstance(node, Mapping):
        return ReadOnlyDict({key: read_only(value) for key, value in node.items()})
    if isinstance(node, list):
        return ReadOnlyList(map(read_only, node))
    if type(node) is tuple:
        return tuple(map(read_only, node))
    return node
