"""A record is one line, contains no secret, and above DEBUG no text of people."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

import askback_discord.settings
import askback_slack.settings
from askback.errors import InvalidValue, OperatorError, Problem
from askback.observability import logs
from askback.observability.logs import configure_logging
from askback.observability.repeat_filter import MOST, PERIOD_SECONDS
from askback.settings.loader import TomlSettings
from askback.store.sqlite.database import SqliteDatabase
from askback.text.redaction import REDACTED_TEXT, redact, register_secrets
from support.telemetry_backend import reported

TEXT = "marked text of a person"
log = logging.getLogger("askback.test")
library = logging.getLogger("somebody.elses")

SHAPES = {
    "xoxb": "xoxb-2345678901-2345678901234-AbCdEfGhIjKlMnOpQrStUvWx",
    "xoxp": "xoxp-2345678901-2345678901234-0123456789abcdef",
    "rotated": "xoxe.xoxb-1-MS0yLTEyMzQ1Njc4OTAxMjM0NTY3ODkw",
    "refresh": "xoxe-1-My0xLTEyMzQ1Njc4OTAxMjM0NTY3ODkw",
    "app level": "xapp-1-A0123456789-2345678901234-0123456789abcdef0123456789abcdef",
    "model": "sk-ant-api03-AbCdEfGh_IjKlMnOpQrStUvWxYz-0123456789",
    "bot of a guild": "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs1234567",
    "interaction": "aW50ZXJhY3Rpb246MTIzNDU2Nzg5MDEyMzQ1Njc4OTpBYkNkRWZHaElqS2xNbk9w",
    "bearer": "Bearer AbCd0123.EfGh-IjKl",
}
ADDRESSES = {
    "incoming webhook": ("https://hooks.slack.com/services/", "T0001/B0002/AbCdEfGhIjKlMnOpQrStUvWx"),
    "response url": ("https://hooks.slack.com/actions/", "T0001/123456789/AbCdEfGhIjKlMnOpQrStUvWx"),
    "webhook of a channel": ("https://discord.com/api/webhooks/123456789012345678/", "AbCd_EfGh-IjKlMnOpQrSt"),
    "callback": ("https://discord.com/api/v10/interactions/1234567890/", "AbCd=EfGhIjKl"),
    "somewhere else": ("http://127.0.0.1:8800/response/", "x9-AbCdEfGhIjKlMnOp"),
    "socket": ("wss://wss-primary.slack.com/link/?ticket=", "12345678-1234-1234-1234-123456789012"),
    "with a password": ("postgresql://", "ada:hunter22@"),
}


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level, logging.getLogger("askback").level, sys.excepthook, threading.excepthook
    yield
    logging.captureWarnings(False)
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    logging.getLogger("askback").setLevel(before[2])
    sys.excepthook, threading.excepthook = before[3], before[4]


def failing(error: BaseException) -> BaseException:
    """Return the same error with a traceback."""
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001
        return caught


def test_a_record_is_a_sentence_with_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO")
    log.info("A question was answered.", extra={"action": "ask_settled", "why": 'two "words"', "none": None, "ms": 4.5})
    line = capsys.readouterr().err
    assert line.endswith(' INFO    A question was answered.  action=ask_settled why="two \\"words\\"" ms=4.5\n')
    assert line[:4].isdigit()


def test_a_field_of_any_name_and_kind_is_one_pair(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO")
    fields = {"odd name\n": 1, "done": True, "event": "mine", "_name": "n", "path": "C:\\a b", "said": "a\nb"}
    library.warning("It works.", extra=fields)
    (line,) = capsys.readouterr().err.splitlines()
    pairs = r'odd_name\n=1 done=true event=mine _name=n path="C:\\a b" said=a\nb logger=somebody.elses'
    assert line.endswith(f"WARNING It works.  {pairs}")


def test_hostile_text_ends_no_line_and_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("DEBUG")
    hostile = "a\n2026-01-01 00:00:00 CRITICAL \x1b[2Jfake\r\x00\u2028\u202eb\udc80\x85"
    log.warning("It said %s.", hostile, extra={"said": hostile, "action": "x y\n=z"})
    log.error("It failed.", exc_info=failing(ValueError(hostile)))
    shown = capsys.readouterr().err
    assert shown.isprintable() is False  # the ends of the lines
    assert "".join(shown.split("\n")).isprintable()
    lines = shown.splitlines()
    assert len([line for line in lines if not line.startswith("    ")]) == 2
    assert "\\n2026-01-01 00:00:00 CRITICAL \\u001b[2Jfake\\r\\u0000\\u2028\\u202eb\\udc80\\u0085" in lines[0]
    assert lines[-1].startswith("    ValueError: a\\n2026")


def test_a_traceback_stays_readable(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO")
    cause = failing(FileNotFoundError(2, "No such file", "there.db"))
    error = OperatorError("The database is not there.")
    error.__cause__ = cause
    log.error("It failed.", exc_info=failing(ExceptionGroup("all", [failing(error)])), extra={"action": "broken"})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("It failed.  action=broken")
    assert lines[1] == "    Traceback (most recent call last):"
    assert any(line.startswith('      File "') and line.endswith("in failing") for line in lines)
    assert "    ExceptionGroup: all (1 sub-exception)" in lines
    assert "      FileNotFoundError: [Errno 2] No such file: 'there.db'" in lines
    assert "      This error caused the following one:" in lines
    assert lines[-1] == "      askback.errors.OperatorError: The database is not there."


def test_json_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO", "json")
    fields = {"action": "click", "attempts": 3, "done": True, "level": "mine", "odd": float("nan"), "place": ("a", 1)}
    log.warning("Two\nlines\u2028here.", extra=fields, exc_info=failing(OSError("disk")))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isascii()
    shown = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert shown["time"].endswith("Z")
    assert "\nOSError: disk" in shown["exception"]
    assert {key: shown[key] for key in shown if key not in ("time", "exception")} == {
        "level": "WARNING",
        "logger": "askback.test",
        "message": "Two\nlines\u2028here.",
        "action": "click",
        "attempts": 3,
        "done": True,
        "odd": "nan",
        "place": "('a', 1)",
    }


@pytest.mark.parametrize("level", ["DEBUG", "INFO"])
@pytest.mark.parametrize("form", logs.FORMATS)
def test_a_known_secret_is_in_no_part_of_a_record(capsys: pytest.CaptureFixture[str], level: str, form: str) -> None:
    class Parts(TomlSettings):
        password: SecretStr
        other: SecretStr | None = None

    secret = "pass wörd/with\\everything"
    Parts(password=SecretStr(secret))
    configure_logging(level, form)
    error = failing(OSError(f"refused {secret}"))
    error.__cause__ = failing(ValueError(secret))
    log.error("%s and %r", secret, {"a": secret}, exc_info=error, extra={"field": secret, "all": [secret]})
    library.warning("GET /?q=pass%%20w%%C3%%B6rd%%2Fwith%%5Ceverything %s", json.dumps(secret), exc_info=error)
    shown = capsys.readouterr().err
    assert shown.count(REDACTED_TEXT) >= 6
    for part in ("pass w", "pass%20w", "everything"):
        assert part not in shown


def test_what_has_the_shape_of_a_secret_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    assert {askback_slack.settings, askback_discord.settings}, "they know the shapes"
    configure_logging("DEBUG")
    for secret in SHAPES.values():
        log.error("We sent %s", secret, exc_info=failing(OSError(f"'{secret}' was refused")), extra={"sent": secret})
        library.debug("request headers=[(b'x-thing', b'%s')]", secret)
    for before, secret in ADDRESSES.values():
        log.error("POST %s%s", before, secret, exc_info=failing(OSError(f"Cannot reach {before}{secret}")))
        library.debug("url: %s%s, body", before, secret)
    shown = capsys.readouterr().err
    for name, secret in SHAPES.items():
        assert secret.removeprefix("Bearer ") not in shown, name
    for name, (_, secret) in ADDRESSES.items():
        assert secret.rstrip("@") not in shown, name
    assert shown.count("POST https://hooks.slack.com/services/[hidden]") == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"token": "s3cr3t-value", "text": "hello"}',
        "{'token': 's3cr3t-value', 'text': 'hello'}",
        r"""{"payload": "{\"token\":\"s3cr3t-value\",\"text\":\"hello\"}"}""",
        r'{"response_url": "https:\/\/s3cr3t-value\/x", "text": "hello"}',
        "headers=[(b'x-api-key', b's3cr3t-value'), (b'text', b'hello')]",
        "{'Authorization': 'Bot s3cr3t-value', 'text': 'hello'}",
        "<CIMultiDictProxy('Cookie': 's3cr3t-value', 'text': 'hello')>",
        "https://there/?app_id=1&token=s3cr3t-value&text=hello",
        "client_secret=s3cr3t-value text=hello",
    ],
)
def test_what_stands_under_the_name_of_a_secret_is_hidden_and_nothing_else(text: str) -> None:
    assert "s3cr3t" not in redact(text)
    assert REDACTED_TEXT in redact(text)
    assert "hello" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "The model stopped: end_turn.  action=model_turn input_tokens=12 output_tokens=5",
        "SLACK_BOT_TOKEN must be a bot's token (xoxb-…): copy it again. The token is no good.",
        "Listening at http://127.0.0.1:3000/slack/events.",
        "a risk-averse task-force in /home/ada/askback/core/askback/agent.py",
        "conversation_id=Xq0aBc1dEf2gHi3jKl4mNo target=ask:Xq0aBc1dEf2gHi3jKl4mNo",
        "https://discord.com/channels/123456789012345678/234567890123456789",
    ],
)
def test_nothing_else_is_hidden(text: str) -> None:
    assert redact(text) == text


def test_a_long_text_is_cut_after_its_secrets_and_not_through_one(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO")
    secret = "long-" + "s" * 60
    register_secrets(secret)
    for shift in range(0, 66, 13):
        log.info("%s%s", "x" * shift, f"{secret} " * 3000)
    log.info("y" * 50_000)
    shown = capsys.readouterr().err
    assert REDACTED_TEXT in shown
    assert "long-" not in shown
    assert "sss" not in shown
    assert "… (50000 characters)" in shown
    assert max(map(len, shown.splitlines())) < 20_200


@pytest.mark.parametrize(
    "part",
    [
        "a-",
        "sk-",
        "xoxb-",
        "\\",
        "\\'token",
        "'token' ",
        "token=",
        "a.",
        "eyJa",
        "https://",
        "a://b:",
        "/a1-",
        "bot  ",
        '"',
    ],
)
def test_a_hostile_text_does_not_hold_up_the_program(part: str) -> None:
    began = time.monotonic()
    redact((part * 80_000)[:80_000])
    assert time.monotonic() - began < 5, "its square would take minutes"


def test_what_is_too_short_for_a_secret_hides_nothing() -> None:
    register_secrets("", "a", "abc")
    assert redact("an abc of a") == "an abc of a"


def test_words_of_errors_that_may_quote_somebody_are_withheld_above_debug(capsys: pytest.CaptureFixture[str]) -> None:
    errors = [
        ValueError(TEXT),
        KeyError(TEXT),
        InvalidValue("Form", (Problem("prompt", TEXT),)),
        ExceptionGroup("all", [RuntimeError(TEXT)]),
    ]
    configure_logging("INFO")
    for error in errors:
        log.error("It failed.", exc_info=failing(error))
        library.error(f"Failed (error: {error})", exc_info=failing(error))
    library.error("Received {'text': '%s'}", TEXT)
    library.error("Task exception was never retrieved\nfuture: <Task exception=ValueError('%s')>", TEXT)
    shown = capsys.readouterr().err
    assert TEXT not in shown
    assert "    ValueError: (text hidden; set ASKBACK_LOG_LEVEL=DEBUG to see it)" in shown
    assert "in failing" in shown
    configure_logging("DEBUG")
    log.error("It failed.", exc_info=failing(errors[0]))
    assert f"    ValueError: {TEXT}" in capsys.readouterr().err


async def test_an_error_of_the_database_quotes_nobody_at_any_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text("INSERT INTO meta (name, value) VALUES (:name, :text)"), {"name": None, "text": TEXT})

    configure_logging("DEBUG")
    writer = await asyncio.to_thread(SqliteDatabase, tmp_path / "askback.db")
    try:
        await writer.run(work)
    except IntegrityError as error:
        log.error("It failed.", exc_info=error)
    finally:
        await writer.close()
    shown = capsys.readouterr().err
    assert "NOT NULL constraint failed: meta.name" in shown
    assert TEXT not in shown


def test_a_record_names_the_trace_that_it_belongs_to(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO")
    with reported() as backend, backend.tracers.get_tracer("program").start_as_current_span("work") as span:
        log.info("It works.")
    log.info("It rests.")
    inside, outside = capsys.readouterr().err.splitlines()
    assert inside.endswith(f"It works.  trace_id={span.get_span_context().trace_id:032x}")
    assert outside.endswith("It rests.")


def test_libraries_are_heard_from_warnings_on_unless_at_debug(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO")
    library.info("chatter")
    library.warning("trouble")
    line = capsys.readouterr().err
    assert "chatter" not in line
    assert "trouble  logger=somebody.elses" in line
    configure_logging("ERROR")
    library.warning("trouble")
    assert capsys.readouterr().err == ""
    configure_logging("DEBUG")
    library.debug("chatter")
    assert "chatter" in capsys.readouterr().err


def test_a_warning_of_python_is_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    register_secrets("t0p-secret")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure_logging("INFO")
        warnings.warn("t0p-secret is old", DeprecationWarning, stacklevel=1)
    (line,) = capsys.readouterr().err.splitlines()
    assert "DeprecationWarning: [hidden] is old" in line
    assert line.endswith("logger=py.warnings")


async def test_an_error_that_nobody_waited_for_is_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO")

    async def fails() -> None:
        raise ValueError(TEXT)

    task = asyncio.create_task(fails(), name="lost")
    await asyncio.wait([task])
    del task
    shown = capsys.readouterr().err
    assert "Task exception was never retrieved  action=unawaited task=lost\n" in shown
    assert "in fails" in shown
    assert TEXT not in shown


def test_what_ends_the_process_or_a_thread_is_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    register_secrets("t0p-secret")
    logs.catch_crashes()
    error = failing(OSError("t0p-secret"))
    sys.excepthook(type(error), error, error.__traceback__)
    configure_logging("INFO", "json")

    def fails() -> None:
        raise OSError("t0p-secret")

    thread = threading.Thread(target=fails)
    thread.start()
    thread.join()
    before, after = capsys.readouterr().err.strip().rsplit("\n", 1)
    assert "action=crashed" in before
    assert "OSError: [hidden]" in before
    assert json.loads(after)["action"] == "thread_crashed"
    assert "OSError: [hidden]" in json.loads(after)["exception"]


def test_a_record_that_cannot_be_written_shows_nothing_of_itself(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO")
    log.error("%d questions", TEXT)  # noqa: PLE1205, RUF100 - wrong on purpose
    assert capsys.readouterr().err == "Could not write a log record of askback.test (TypeError).\n"


def flood(times: int, error: BaseException | None = None) -> None:
    for number in range(times):
        log.warning("Request %d was refused.", number, exc_info=error, extra={"action": "refused"})


def test_a_flood_of_the_same_is_a_few_lines_with_a_count(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = clock_of_the_log(monkeypatch)
    configure_logging("INFO")
    flood(10_000)
    flood(10_000, failing(OSError(24, "Too many open files")))
    log.warning("Something else.")
    log.info("An answer came.")
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("    ")]
    assert len(lines) == 2 * MOST + 2
    assert lines[MOST - 1].endswith('Request 9 was refused.  action=refused more_like_this="left out for 60 s"')
    clock.append(clock[-1] + PERIOD_SECONDS)
    log.info("A minute later.")
    lines = capsys.readouterr().err.splitlines()
    left_out = 10_000 - MOST - 1
    assert [line.partition("WARNING ")[2] for line in lines[:2]] == [
        f"Request 9999 was refused.  action=refused left_out={left_out}"
    ] * 2
    flood(1)
    assert "Request 0 was refused." in capsys.readouterr().err


def test_what_was_left_out_is_counted_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("INFO", "json")
    flood(50)
    capsys.readouterr()
    (handler,) = logging.getLogger().handlers
    handler.close()
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["left_out"] == 50 - MOST - 1


def test_nothing_is_left_out_at_debug_nor_of_what_is_no_warning(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("DEBUG")
    flood(100)
    configure_logging("INFO")
    for _ in range(100):
        log.info("An answer came.")
    assert len(capsys.readouterr().err.splitlines()) == 200


async def test_descriptors_that_run_out_are_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """The records are those that asyncio logs for each connection that it could not accept."""
    configure_logging("INFO")
    error = failing(OSError(24, "Too many open files"))
    for _ in range(1000):
        asyncio.get_running_loop().call_exception_handler(
            {"message": "socket.accept() out of system resource", "exception": error}
        )
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("    ")]
    assert len(lines) == MOST


def clock_of_the_log(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the clock of the log; it shows the last number of the returned list."""
    shown = [1000.0]
    monkeypatch.setattr(logs, "time", SimpleNamespace(monotonic=lambda: shown[-1]))
    return shown
