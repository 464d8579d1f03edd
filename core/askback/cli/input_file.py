"""Read a file that the command line names, in a directory that others may have written to.

Others write a pipeline's checkout. A link there could lead to a secret, such as the environment of this process, which
would then be posted to a channel or printed into a public log.
"""

from __future__ import annotations

__all__ = ["UnusableFile", "read_input_file", "read_input_stream"]

import os
import stat
from pathlib import Path
from typing import BinaryIO

from askback.errors import CallerError


class UnusableFile(CallerError):
    """A file that cannot be read, or that must not be. The message continues its name."""


def read_input_file(path: Path, limit: int) -> str:
    """Return the text of a regular file of at most `limit` bytes. Raises `UnusableFile`.

    The file is not a link, and no link inside the working directory leads to it.
    """
    try:
        if link := _find_link(path):
            raise UnusableFile(f"is not read, since {link} is a link, which may lead anywhere: name the file itself")
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise UnusableFile("is not a regular file: pipe its text in, where - names standard input")
            if found.st_size > limit:
                raise UnusableFile(f"is too large: it has {found.st_size} bytes, and {limit} are allowed")
            # Files of /proc have no size. So nothing is read of them, whatever way leads there.
            data = opened.read(found.st_size)
    except OSError as error:
        raise UnusableFile(f"cannot be read: {error.strerror}") from None
    return _decode(data)


def read_input_stream(stream: BinaryIO, limit: int) -> str:
    """Return the text of standard input. Raises `UnusableFile` if it is longer than `limit` bytes."""
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise UnusableFile(f"is too large: {limit} bytes are allowed")
    return _decode(data)


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableFile("is not valid UTF-8 text") from None


def _find_link(path: Path) -> Path | None:
    """Return the first part of the path that is a link and that must not be followed: the last, or one in the working
    directory.

    Raises `OSError`.
    """
    ours = Path.cwd()
    folder = Path(path.anchor) if path.is_absolute() else ours
    shown = Path(path.anchor)
    parts = path.parts[1:] if path.is_absolute() else path.parts
    for number, part in enumerate(parts, 1):
        shown /= part
        step = folder / part
        if stat.S_ISLNK(step.lstat().st_mode) and (number == len(parts) or folder.is_relative_to(ours)):
            return shown
        folder = step.resolve(strict=True)
    return None
