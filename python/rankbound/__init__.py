"""Exact, tie-aware measurement of rankings."""

from rankbound._core import __version__

__all__ = ["__version__"]
