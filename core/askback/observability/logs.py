"""Logs: a sentence for people and fields for machines in each record, without secrets and without people's texts.

Secrets are hidden at every level. Texts of people and of the model appear at DEBUG only. Above DEBUG, a library's error
is shown by its type and its place in the code. Its text may quote the data that caused it.
"""

from __future__ import annotations

__all__ = ["FORMATS", "catch_crashes", "configure_logging"]

import asyncio
import logging
import re
import sqlite3
import sys
import threading
import time
import traceback
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from types import TracebackType
from typing import TYPE_CHECKING, TextIO, cast

from opentelemetry import trace

from askback.errors import AskbackError, InvalidValue, ModelError, PersonError
from askback.internal.extras import hide_module
from askback.observability.repeat_filter import RepeatFilter
from askback.store.errors import StoreError
from askback.store.outage_log import is_outage_logged
from askback.text.redaction import redact

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor

log = logging.getLogger("askback.logs")

FORMATS = ("text", "json")
WITHHELD_TEXT = "(text hidden; set ASKBACK_LOG_LEVEL=DEBUG to see it)"
LONGEST = 20_000
"""Maximum characters shown of one text."""
MAX_SCANNED_LENGTH = 4 * LONGEST
"""Maximum characters of a text that are searched for secrets."""
LONGEST_SECRET = 5000
DEEPEST = 20
"""Maximum number of errors shown of one chain."""

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_WORDS_OF_CODE = (OSError, sqlite3.Error, AttributeError, NameError, ImportError, MemoryError, RecursionError)
"""Errors that name parts of the program or the machine, never a person's text."""
_QUOTING = (InvalidValue, ModelError, PersonError)
"""askback's own errors whose text may quote the model or a person."""
_PAYLOAD = re.compile(r"[{\[].*|\b(?:exception|result)=.*", re.DOTALL)


class _Shown:
    """The first processor of all formats: it decides which parts of a record may be shown."""

    def __init__(self, *, texts: bool) -> None:
        self._texts = texts
        """True if people's texts may be shown."""

    def __call__(self, logger: object, method: str, event: EventDict) -> EventDict:
        del logger, method
        record: logging.LogRecord = event["_record"]
        error: BaseException | None = event["exc_info"][1] if "exc_info" in event else None
        return {
            "_record": record,
            "message": self._format_message(record, str(event["event"]), error),
            "exception": self._format_error(error, event.get("stack_info")),
            "fields": self._collect_fields(record),
        }

    def _format_message(self, record: logging.LogRecord, message: str, error: BaseException | None) -> str:
        message = message.rstrip()
        if not self._texts and not _is_ours(record):
            # Libraries put payloads and the texts of errors into their messages.
            if error is not None and str(error) and not _may_be_shown(error):
                message = message.replace(str(error), WITHHELD_TEXT)
            message = _PAYLOAD.sub("…", message)
        return _redact_and_cut(message)

    def _collect_fields(self, record: logging.LogRecord) -> dict[str, object]:
        fields = {key: value for key, value in record.__dict__.items() if key not in _STANDARD and value is not None}
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            fields["trace_id"] = trace.format_trace_id(span.trace_id)
        if not _is_ours(record):
            fields["logger"] = record.name
        return {key: _to_field_value(value) for key, value in fields.items()}

    def _format_error(self, error: BaseException | None, stack: str | None) -> str:
        """Return the traceback, similar to Python's own format."""
        lines: list[str] = []
        if isinstance(error, StoreError) and not self._texts:
            # The error's text is enough: it comes from the database, and the message says what failed.
            lines.append(self._describe_error(error))
        elif error is not None:
            lines += self._format_chain(error, set())
        if stack:
            lines += stack.splitlines()
        return _redact_and_cut("\n".join(lines))

    def _format_chain(self, error: BaseException, seen: set[int]) -> list[str]:
        if id(error) in seen or len(seen) >= DEEPEST:
            return ["…"]
        seen.add(id(error))
        lines: list[str] = []
        if error.__cause__ is not None:
            lines += [*self._format_chain(error.__cause__, seen), "", "This error caused the following one:", ""]
        elif error.__context__ is not None and not error.__suppress_context__:
            lines += [
                *self._format_chain(error.__context__, seen),
                "",
                "Another error occurred while this one was handled:",
                "",
            ]
        lines.append("Traceback (most recent call last):")
        lines += "".join(traceback.format_tb(error.__traceback__)).splitlines()
        lines.append(self._describe_error(error))
        if isinstance(error, BaseExceptionGroup):
            for number, part in enumerate(error.exceptions, 1):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType, reportUnknownVariableType] - of anything
                lines += [f"  {number}:", *(f"  {line}" for line in self._format_chain(part, seen))]  # pyright: ignore[reportUnknownArgumentType] - of anything
        return lines

    def _describe_error(self, error: BaseException) -> str:
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        words = str(error)
        if not words:
            return name
        # Escape the text: a line inside an error must not look like a line of the traceback or of the log.
        return f"{name}: {_escape(words) if self._texts or _may_be_shown(error) else WITHHELD_TEXT}"


def _build_formatter(*, texts: bool, form: str) -> logging.Formatter:
    # Imported late, since it would slow down each command, and most commands log nothing.
    # structlog would import rich for its console, which is not used here: 60 modules.
    with hide_module("rich"):
        from structlog.processors import JSONRenderer, LogfmtRenderer
        from structlog.stdlib import ProcessorFormatter

    rendered = LogfmtRenderer(bool_as_flag=False)

    def format_line(logger: object, method: str, event: EventDict) -> str:
        """Return a sentence for people, then the fields for machines, then an indented traceback."""
        record: logging.LogRecord = event["_record"]
        moment = datetime.fromtimestamp(record.created).astimezone()
        time = f"{moment:%Y-%m-%d %H:%M:%S},{int(record.msecs):03d}"
        fields = rendered(logger, method, {_escape(key).replace(" ", "_"): one for key, one in event["fields"].items()})
        sentence = _escape(f"{event['message']}{'  ' if fields else ''}{fields}")
        error = (f"    {_escape(one)}" for one in event["exception"].splitlines())
        return "\n".join([f"{time} {record.levelname:<7} {sentence}", *error])

    # The output is ASCII, so that no program takes a Unicode line separator for the end of a record.
    last: list[Processor] = [_to_object, JSONRenderer()] if form == "json" else [format_line]
    return ProcessorFormatter(processors=[_Shown(texts=texts), *last])


def _to_object(logger: object, method: str, event: EventDict) -> EventDict:
    """Return the parts of a record under their keys in JSON."""
    del logger, method
    record: logging.LogRecord = event["_record"]
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    shown: EventDict = {
        "time": moment.replace("+00:00", "Z"),
        "level": record.levelname,
        "logger": record.name,
        "message": event["message"],
    }
    if event["exception"]:
        shown["exception"] = event["exception"]
    return {**shown, **event["fields"], **shown}  # the standard keys win over fields of the same name


class _Output(logging.Handler):
    """Write to the current `sys.stderr`."""

    def __init__(self, repeats: RepeatFilter | None) -> None:
        """`repeats` leaves out records that repeat others. None means that nothing is left out."""
        super().__init__()
        self._repeats = repeats

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        for ended in () if self._repeats is None else self._repeats.pop_ended(now):
            self._emit(ended)
        if self._repeats is None or self._repeats.should_show(record, now):
            self._emit(record)

    def close(self) -> None:
        """Log the number of dropped records."""
        for ended in () if self._repeats is None else self._repeats.pop_ended(float("inf")):
            self._emit(ended)
        super().close()

    def _emit(self, record: logging.LogRecord) -> None:
        try:
            _write(self.format(record))
        except Exception:  # noqa: BLE001 - as in every handler of logging: a log record must not fail its caller
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """Report without the record's parts, which the standard handler would print unescaped."""
        kind = type(sys.exc_info()[1]).__name__
        try:
            _write(f"Could not write a log record of {_escape(record.name)} ({kind}).")
        except (OSError, ValueError):
            return  # the reader closed the stream, so this cannot be reported anywhere


def _write(line: str) -> None:
    if cast("TextIO | None", sys.stderr) is not None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def configure_logging(level: str, log_format: str = "text") -> None:
    """Log to standard error in one of `FORMATS`: askback's records from `level` on, and the warnings of libraries.

    At DEBUG, show all records of libraries and every repeated record. Python's warnings, and errors of the running
    event loop that no code awaited, go to the same log.
    """
    texts = level == "DEBUG"
    root = logging.getLogger()
    root.handlers = [_build_handler(texts=texts, form=log_format)]
    root.setLevel(logging.DEBUG if texts else max(logging.WARNING, logging.getLevelNamesMapping()[level]))
    logging.getLogger("askback").setLevel(level)
    logging.captureWarnings(True)
    try:
        asyncio.get_running_loop().set_exception_handler(_on_loop_exception)
    except RuntimeError:
        return  # no loop yet


def catch_crashes() -> None:
    """Log crashes of the process and of its threads with the same formatter."""
    sys.excepthook = _on_crash
    threading.excepthook = _on_thread_crash


def _is_outage_repeat(record: logging.LogRecord) -> bool:
    """Return True if a record only repeats that the database is down: everything that needs it fails meanwhile."""
    if not is_outage_logged() or record.levelno >= logging.CRITICAL or not _is_ours(record):
        return False
    error = record.exc_info[1] if record.exc_info else None
    arguments = record.args if isinstance(record.args, tuple) else ()
    return isinstance(error, StoreError) or any(isinstance(one, StoreError) for one in arguments)


def _build_handler(*, texts: bool, form: str) -> logging.Handler:
    handler = _Output(None if texts else RepeatFilter())
    if not texts:
        handler.addFilter(lambda record: not _is_outage_repeat(record))
    handler.setFormatter(_build_formatter(texts=texts, form=form))
    return handler


def _on_crash(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    if not issubclass(kind, Exception):
        sys.__excepthook__(kind, error, where)  # Ctrl-C and the like
        return
    _report("askback crashed because of a bug. Please report this with the traceback.", error, "crashed")


def _on_thread_crash(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None:
        _report("A thread crashed: please report this with the traceback.", args.exc_value, "thread_crashed")


def _report(sentence: str, error: BaseException, action: str) -> None:
    what = (type(error), error, error.__traceback__)
    record = log.makeRecord(log.name, logging.CRITICAL, "", 0, sentence, (), what, extra={"action": action})
    ours = next((one for one in logging.getLogger().handlers if isinstance(one, _Output)), None)
    (ours or _build_handler(texts=False, form="text")).handle(record)


def _on_loop_exception(loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
    del loop
    error, task = context.get("exception"), context.get("task", context.get("future"))
    log.error(
        "A background task failed: %s",
        context.get("message"),
        exc_info=error if isinstance(error, BaseException) else None,
        extra={"action": "unawaited", "task": task.get_name() if isinstance(task, asyncio.Task) else None},
    )


def _is_ours(record: logging.LogRecord) -> bool:
    # Deeper names belong to a platform's library, which logs to a logger that askback gave it.
    return record.name.split(".")[0] == "askback" and record.name.count(".") < 2


def _may_be_shown(error: BaseException) -> bool:
    """Return True if the error's text never quotes a person or the model."""
    if isinstance(error, AskbackError):
        return not isinstance(error, _QUOTING)
    return isinstance(error, (*_WORDS_OF_CODE, BaseExceptionGroup))


def _to_field_value(value: object) -> object:
    """Return a field's value, as a number if it is one."""
    if isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    return _redact_and_cut(str(value))


def _redact_and_cut(text: str) -> str:
    """Redact secrets in the text, and truncate it to a maximum length."""
    shown = redact(text[:MAX_SCANNED_LENGTH])
    if len(text) > MAX_SCANNED_LENGTH:
        # The truncated text may end in half of a secret, which the redaction does not recognize.
        shown = shown[:-LONGEST_SECRET]
    elif len(shown) <= LONGEST:
        return shown
    return f"{shown[:LONGEST]}… ({len(text)} characters)"


def _escape(text: str) -> str:
    """Escape everything that ends a line, moves a cursor or changes the direction of the text."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape_character(one) if unicodedata.category(one) in _UNSEEN else one for one in text)


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def _escape_character(one: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(one) or f"\\u{ord(one):04x}"
