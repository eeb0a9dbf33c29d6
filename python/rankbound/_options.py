"""Options, checked once: every message names the option and the value, and says what to do."""

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankbound import _core
from rankbound._messages import shortened
from rankbound.errors import InvalidKError, InvalidParameterError, InvalidTypeError, RankboundError

THREADS_VARIABLE = "RANKBOUND_NUM_THREADS"
MAX_THREADS = 1024
# More than any list is long; it may exceed the number of classes.
MAX_CUT_OFF = 2**31 - 1
# Every resample is kept until its percentiles are known: 8 bytes a metric.
MAX_RESAMPLES = 10**7


def resolve_num_threads(num_threads: int | None) -> int:
    """Return the number of threads to use.

    Parameters
    ----------
    num_threads : int or None
        None takes the environment variable ``RANKBOUND_NUM_THREADS``, else all cores available to the process.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    InvalidTypeError
        If it is not an integer.
    InvalidParameterError
        If it, or the environment variable, is out of range.
    """
    if num_threads is None:
        text = os.environ.get(THREADS_VARIABLE, "").strip()
        if not text:
            return min(_core.available_threads(), MAX_THREADS)
        try:
            count, name = int(text), THREADS_VARIABLE
        except ValueError as error:
            raise InvalidParameterError(
                f"the environment variable {THREADS_VARIABLE} is {text!r}; set it to an integer of at least 1"
            ) from error
    else:
        count, name = as_integer(num_threads, name="num_threads"), "num_threads"
    if not 1 <= count <= MAX_THREADS:
        raise InvalidParameterError(f"{name} must be between 1 and {MAX_THREADS}, got {count}")
    return count


def as_integer(value: Any, *, name: str) -> int:
    """Return an integer option as ``int``; booleans and floats are refused.

    Parameters
    ----------
    value : int
        The option.
    name : str
        The argument, for messages.

    Returns
    -------
    int
        The value.

    Raises
    ------
    InvalidTypeError
        If it is not an integer.
    """
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise InvalidTypeError(f"{name} must be an integer, got {value!r}")


def as_flag(value: Any, *, name: str) -> bool:
    """Return an option that is on or off; only booleans are taken, since ``"no"`` would be true.

    Parameters
    ----------
    value : bool
        The option.
    name : str
        The argument, for messages.

    Returns
    -------
    bool
        The value.

    Raises
    ------
    InvalidTypeError
        If it is not a boolean.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InvalidTypeError(f"{name} must be True or False, got {value!r}")


def as_cut_off(k: Any, *, name: str = "k") -> int:
    """Return a cut-off: an integer of at least 1, which may exceed the number of classes.

    Parameters
    ----------
    k : int
        The option.
    name : str, default "k"
        The argument, for messages.

    Returns
    -------
    int
        The value.

    Raises
    ------
    InvalidKError
        If it is no integer or out of range.
    """
    try:
        return as_positive(k, name=name)
    except RankboundError as error:
        raise InvalidKError(str(error)) from error


def as_text(value: Any, *, name: str) -> str:
    """Return a text.

    Parameters
    ----------
    value : str
        The text.
    name : str
        The argument, for messages.

    Returns
    -------
    str
        The value.

    Raises
    ------
    InvalidTypeError
        If it is no string, such as bytes.
    """
    if isinstance(value, str):
        return value
    hint = "; decode it, e.g. with .decode()" if isinstance(value, (bytes, bytearray)) else ""
    raise InvalidTypeError(f"{name} must be a string, got {shortened(value)}{hint}")


def as_items(values: Any, *, name: str, of: str) -> list[Any]:
    """Return what an argument lists.

    Parameters
    ----------
    values : iterable
        A list, a set or another iterable; a single string is no list of its letters.
    name : str
        The argument, for messages.
    of : str
        What it lists, for messages.

    Returns
    -------
    list
        The items, of any type.

    Raises
    ------
    InvalidTypeError
        If it is no iterable.
    """
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, bytearray)):
        return list(values)
    raise InvalidTypeError(f"{name} must be a list of {of}, got {shortened(values)}")


def as_mapping(value: Any, *, name: str) -> dict[Any, Any]:
    """Return a mapping as a dict.

    Parameters
    ----------
    value : mapping
        The argument.
    name : str
        The argument, for messages.

    Returns
    -------
    dict
        A shallow copy.

    Raises
    ------
    InvalidTypeError
        If it is no mapping.
    """
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidTypeError(f"{name} must be a mapping, such as a dict, got {shortened(value)}")


def as_choice(value: Any, choices: Sequence[str], *, name: str) -> str:
    """Return an option that must be one of a few names.

    Parameters
    ----------
    value : str
        The option.
    choices : sequence of str
        What it may be.
    name : str
        The argument, for messages.

    Returns
    -------
    str
        The value, as a plain string.

    Raises
    ------
    InvalidParameterError
        If it is none of them.
    """
    if isinstance(value, str) and value in choices:
        return str(value)
    raise InvalidParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def as_count(value: Any, *, name: str) -> int:
    """Return an integer option of at least 0.

    Parameters
    ----------
    value : int
        The option.
    name : str
        The argument, for messages.

    Returns
    -------
    int
        The value.

    Raises
    ------
    InvalidTypeError
        If it is not an integer.
    InvalidParameterError
        If it is negative.
    """
    number = as_integer(value, name=name)
    if number < 0:
        raise InvalidParameterError(f"{name} must be at least 0, got {number}")
    return number


def as_positive(value: Any, *, name: str) -> int:
    """Return a size: an integer of at least 1 that is no longer than any list.

    Parameters
    ----------
    value : int
        The option.
    name : str
        The argument, for messages.

    Returns
    -------
    int
        The value.

    Raises
    ------
    InvalidTypeError
        If it is not an integer.
    InvalidParameterError
        If it is out of range.
    """
    number = as_integer(value, name=name)
    if number < 1:
        raise InvalidParameterError(f"{name} must be at least 1, got {number}")
    if number > MAX_CUT_OFF:
        raise InvalidParameterError(f"{name} must be at most {MAX_CUT_OFF}, got {number}")
    return number


def as_resamples(value: Any, *, name: str = "n_resamples") -> int:
    """Return a number of resamples; a great many would not fit in memory.

    Parameters
    ----------
    value : int
        The option, 0 to turn resampling off.
    name : str, default "n_resamples"
        The argument, for messages.

    Returns
    -------
    int
        The value.

    Raises
    ------
    InvalidTypeError
        If it is not an integer.
    InvalidParameterError
        If it is out of range.
    """
    number = as_count(value, name=name)
    if number > MAX_RESAMPLES:
        raise InvalidParameterError(f"{name} must be at most {MAX_RESAMPLES}, got {number}")
    return number


def as_level(value: Any, *, name: str) -> float:
    """Return an option that must lie between 0 and 1, both excluded.

    Parameters
    ----------
    value : float
        The option.
    name : str
        The argument, for messages.

    Returns
    -------
    float
        The value.

    Raises
    ------
    InvalidTypeError
        If it is not a number.
    InvalidParameterError
        If it is out of range.
    """
    number = as_non_negative(value, name=name)
    if not 0 < number < 1:
        raise InvalidParameterError(f"{name} must lie between 0 and 1, got {value!r}")
    return number


def as_number(value: Any, *, name: str) -> float:
    """Return a real option as ``float``; booleans and text are refused.

    Parameters
    ----------
    value : float
        The option.
    name : str
        The argument, for messages.

    Returns
    -------
    float
        The value, which may be infinite or NaN.

    Raises
    ------
    InvalidTypeError
        If it is not a number.
    """
    if not isinstance(value, (bool, np.bool_, str, bytes)):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise InvalidTypeError(f"{name} must be a number, got {value!r}")


def as_non_negative(value: Any, *, name: str) -> float:
    """Return a real option that must be finite and at least 0.

    Parameters
    ----------
    value : float
        The option.
    name : str
        The argument, for messages.

    Returns
    -------
    float
        The value.

    Raises
    ------
    InvalidTypeError
        If it is not a number.
    InvalidParameterError
        If it is negative, NaN or infinite.
    """
    number = as_number(value, name=name)
    if not (math.isfinite(number) and number >= 0):
        raise InvalidParameterError(f"{name} must be finite and at least 0, got {value!r}")
    return number
