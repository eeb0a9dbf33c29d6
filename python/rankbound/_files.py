"""Files that are either complete or not there, and what reading a damaged one raises."""

import os
import secrets
import shutil
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rankbound._messages import shortened
from rankbound.errors import FileFormatError, InvalidTypeError

# All that zip files, array headers, sparse parts and JSON of the wrong kind raise.
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def why_unreadable(error: BaseException) -> str:
    """Return what one of these errors says of a file."""
    if isinstance(error, KeyError):
        return f"it lacks {str(error.args[0]).removesuffix(' is not a file in the archive')!r}"
    return str(error)


@contextmanager
def open_npz(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open an archive of arrays, without pickle.

    Parameters
    ----------
    path : str or path-like
        The file.

    Yields
    ------
    NpzFile
        The arrays by name.

    Raises
    ------
    ValueError
        If it is no archive: one of :data:`UNREADABLE`.
    """
    with Path(path).open("rb") as handle:
        if not zipfile.is_zipfile(handle):
            # numpy takes anything else for a pickle, and says how to load one.
            raise ValueError("it is no whole npz archive")
        handle.seek(0)
        with np.load(handle, allow_pickle=False) as archive:
            yield archive


def as_path(path: Any, *, name: str = "path") -> Path:
    """Return the name of a file.

    Parameters
    ----------
    path : str or path-like
        The name.
    name : str, default "path"
        The argument, for messages.

    Returns
    -------
    Path
        The name, whether or not there is such a file.

    Raises
    ------
    InvalidTypeError
        If it is no name of a file; names in bytes are none.
    """
    if isinstance(path, (str, os.PathLike)) and isinstance(os.fspath(path), str):
        return Path(path)
    raise InvalidTypeError(f"{name} must be the name of a file, a string or a pathlib.Path, got {shortened(path)}")


def check_target(path: str | os.PathLike[str]) -> Path:
    """Refuse a name that no file can be written to, before the work whose result it is for.

    Parameters
    ----------
    path : str or path-like
        The name to write.

    Returns
    -------
    Path
        The file itself: symbolic links are followed.

    Raises
    ------
    FileFormatError
        If the folder does not exist, ``path`` is a folder, or the folder cannot be written to.
    InvalidTypeError
        If it is no name of a file.
    """
    target = Path(os.path.realpath(as_path(path)))
    if not target.parent.is_dir():
        raise FileFormatError(f"cannot write {os.fspath(path)!r}: there is no folder {str(target.parent)!r}; create it")
    if target.is_dir():
        raise FileFormatError(f"cannot write {os.fspath(path)!r}: it is a folder; give the name of a file in it")
    if not os.access(target.parent, os.W_OK):
        raise FileFormatError(f"cannot write {os.fspath(path)!r}: the folder {str(target.parent)!r} is read-only")
    return target


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes the name ``path`` once the block ends without an exception.

    Until then the bytes go to a temporary name in the same folder, so that a reader, or a crash, never meets half a
    file. A symbolic link is followed, not replaced.

    Parameters
    ----------
    path : str or path-like
        The exact name to write; no suffix is added. An existing file is replaced and keeps its mode; to a pipe or a
        device the bytes go directly.

    Yields
    ------
    BinaryIO
        The file to write to.

    Raises
    ------
    FileFormatError
        If the folder does not exist, ``path`` is a folder, or the folder cannot be written to.
    InvalidTypeError
        If it is no name of a file.
    """
    target = check_target(path)
    if target.exists() and not target.is_file():
        # A pipe or a device has no contents to protect, and must not become a file.
        with target.open("wb") as device:
            yield device
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        handle = temporary.open("xb")
    except OSError as error:
        raise FileFormatError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from error
    try:
        with handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
