"""Running bots until somebody ends them."""

from __future__ import annotations

__all__ = ["configure_logging", "serve"]

import asyncio
import logging
import sys
from collections.abc import Sequence

from askback.bots import Bot
from askback.errors import OperatorError
from askback.host import running
from askback.settings import Settings, load

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class _Sentences(logging.Formatter):
    """A sentence for people, then the fields for machines."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        fields = " ".join(f"{key}={value}" for key, value in record.__dict__.items() if key not in _STANDARD)
        return f"{line}  {fields}" if fields else line


def configure_logging(level: str) -> None:
    """Log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Sentences("%(asctime)s %(levelname)-7s %(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("askback").setLevel(level)


async def serve(bots: Sequence[Bot]) -> int:
    """Run these bots until cancelled. Raises `OperatorError` with everything that is missing at once."""
    problems: list[str] = []
    settings: Settings | None = None
    try:
        settings = load(Settings)
        _ = settings.model_key
    except OperatorError as error:
        problems.append(str(error))
    for bot in bots:
        try:
            bot.check()
        except OperatorError as error:
            problems.append(str(error))
    if settings is None or problems:
        raise OperatorError("\n".join(dict.fromkeys(problems)))
    configure_logging(settings.log_level)
    async with running(bots, settings):
        await asyncio.Event().wait()
    return 0
