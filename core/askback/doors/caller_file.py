"""Keeps the callers of a file up to date while a server runs, so that a token can be revoked without a restart."""

from __future__ import annotations

__all__ = ["CallerFile"]

import asyncio
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from askback.agent.approvals import ApprovalRules
from askback.doors.callers import Caller, Callers, read_callers
from askback.errors import OperatorError

log = logging.getLogger("askback.door")

MAX_BYTES: Final = 1_000_000
"""Largest file in bytes."""
POLL_SECONDS: Final = 1.0
"""Seconds between two looks at the file."""

_Version = tuple[int, int, int]


class CallerFile:
    """The callers of one file. While the file cannot be read, all requests are rejected."""

    def __init__(self, file: Path, approvals: ApprovalRules) -> None:
        self._file = file
        self._approvals = approvals
        self._callers: Callers | None = None
        self._version: _Version | None = None

    def load(self) -> None:
        """Read the file. Raises `OperatorError`, which shows no token."""
        self._version, self._callers = self._read()
        log.info("Read %s.", _count(self._callers), extra={"action": "callers"})

    def find(self, token: str) -> Caller | None:
        """Return the caller with this token; None if none has. Raises `OperatorError` while the file cannot be read."""
        if self._callers is None:
            raise OperatorError("The callers are not known now, since their file cannot be read.")
        return self._callers.find(token)

    def get(self, name: str) -> Caller | None:
        """Return the caller with this name; None if there is none, or while the file cannot be read."""
        return None if self._callers is None else self._callers.by_name.get(name)

    def has(self, caller: Caller) -> bool:
        """Return True if the caller still has the same token, rules and scopes."""
        return self._callers is not None and self._callers.by_name.get(caller.name) == caller

    @property
    def is_readable(self) -> bool:
        """True if the callers are known now."""
        return self._callers is not None

    def list_names(self) -> tuple[str, ...]:
        """Return the names of the callers; empty while the file cannot be read."""
        return () if self._callers is None else tuple(self._callers.by_name)

    def list_platforms(self) -> frozenset[str]:
        """Return the platforms on which the callers may ask."""
        callers = () if self._callers is None else self._callers.by_name.values()
        return frozenset[str]().union(*(caller.rules.list_platforms() for caller in callers))

    async def watch(self, on_change: Callable[[], None]) -> None:
        """Read the file again whenever it has changed, and call `on_change` then. Ends when cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                version, callers = await asyncio.to_thread(self._read_if_changed)
            except OperatorError as error:
                if self._callers is not None:
                    log.error("All requests are rejected until this is solved: %s", error, extra={"action": "callers"})
                self._version = self._callers = None
                continue
            if callers is not None:
                self._version, self._callers = version, callers
                log.info("Read %s again.", _count(callers), extra={"action": "callers"})
                on_change()

    def _read_if_changed(self) -> tuple[_Version | None, Callers | None]:
        try:
            if self._version is not None and _to_version(self._file.stat()) == self._version:
                return self._version, None
        except OSError as error:
            raise self._build_error(error.strerror) from None
        return self._read()

    def _read(self) -> tuple[_Version, Callers]:
        try:
            with self._file.open("rb") as opened:
                status = os.fstat(opened.fileno())  # before its text: a change in between is seen at the next look
                text = opened.read(MAX_BYTES + 1)
        except OSError as error:
            raise self._build_error(error.strerror) from None
        if len(text) > MAX_BYTES:
            raise self._build_error(f"it has more than {MAX_BYTES:,} bytes")
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) and self._version is None:
            log.warning(
                "Other users of this machine can read the tokens in %s: chmod 600 %s", self._file, self._file,
                extra={"action": "callers"},
            )  # fmt: skip
        try:
            return _to_version(status), read_callers(text.decode(), str(self._file), self._approvals)
        except UnicodeDecodeError:
            raise self._build_error("it is not UTF-8 text") from None

    def _build_error(self, why: str | None) -> OperatorError:
        return OperatorError(
            f"Could not read the callers in {self._file}: {why or 'access is denied'}. Correct --callers, or the file."
        )


def _count(callers: Callers) -> str:
    number = len(callers.by_name)
    return f"{number} caller{'' if number == 1 else 's'}"


def _to_version(status: os.stat_result) -> _Version:
    return status.st_mtime_ns, status.st_size, status.st_ino
