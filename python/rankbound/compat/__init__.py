"""Drop-ins: the functions of other libraries with their names and arguments, exact under ties.

Each module takes the arguments of the library it is named after and returns what that library returns. On scores
without ties the values are the same; where items tie, the library's value depends on the order of columns, rows or ids,
or takes one end of what is possible, and the value here is the expectation over all orders that the scores allow. What
else differs, and why, stands at the top of each module. Conventions are the other library's, above all what a list
without relevant items is worth: 0 or 1 where the functions of :mod:`rankbound` itself leave it out.

None of the libraries is needed, or loaded, by these modules.
"""

from importlib import import_module
from typing import Any

__all__ = ["catboost", "lightgbm", "pytrec_eval", "ranx", "sklearn", "xgboost"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
