"""The log of a scenario, which may contain only announced errors."""

from __future__ import annotations

import logging


class Journal(logging.Handler):
    """All log records. Errors that a scenario did not announce make it fail."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []
        self._announced: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def announce(self, *actions: str) -> None:
        """Expect errors with these `action`s, or of these loggers."""
        self._announced.update(actions)

    def actions(self) -> list[str]:
        return [str(getattr(record, "action", "")) for record in self.records]

    def unexpected(self) -> list[str]:
        """Return the errors that were not announced."""
        formatter = logging.Formatter("%(name)s: %(message)s")
        return [
            formatter.format(record)
            for record in self.records
            if record.levelno >= logging.ERROR
            and str(getattr(record, "action", "")) not in self._announced
            and not any(record.name.startswith(name) for name in self._announced if name)
            and not _left_midway(record)
        ]


def _left_midway(record: logging.LogRecord) -> bool:
    """Return True for the error that the services' server logs if a bot ends during a request."""
    error = record.exc_info[1] if record.exc_info else None
    return record.name == "aiohttp.server" and isinstance(error, ConnectionResetError)
