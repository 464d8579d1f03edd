"""Why a connection failed, in the words of the system."""

from __future__ import annotations

__all__ = ["get_failure_reason"]

import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final

_UNKNOWN_NAME: Final = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


def get_failure_reason(error: BaseException) -> str:
    """Return the system's reason for a failed connection, such as “Connection refused”, or the type of the error.

    It has neither addresses nor data: the texts of the libraries' own errors may contain both.
    """
    for cause in _iter_causes(error):
        inner = getattr(cause, "certificate_error", getattr(cause, "os_error", cause))  # of aiohttp's errors
        if isinstance(inner, ssl.SSLCertVerificationError):
            return f"its TLS certificate is not trusted: {inner.verify_message}"
        if isinstance(inner, socket.gaierror) and inner.errno is not None:
            return "its name is not known here" if inner.errno in _UNKNOWN_NAME else "its name was not resolved"
        if isinstance(inner, ssl.SSLError):
            return f"TLS failed: {inner.reason}"
        if isinstance(inner, OSError) and inner.errno:
            return os.strerror(inner.errno)
    return type(error).__name__


def _iter_causes(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__ or one.__context__
