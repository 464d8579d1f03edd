"""Slack over signed HTTP: the same scenarios, and requests of strangers to the endpoint."""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
from sqlalchemy import Connection

from askback_sandbox.model.script import turn
from askback_sandbox.slack.faults import Fault
from askback_sandbox.slack.http import FORM, JSON, SlackHttp, signed
from askback_sandbox.slack.payloads import app_mention_event, event_callback
from askback_sandbox.slack.values import Message
from askback_slack.http import BODY_BYTES, SIGNED_SECONDS

from . import slack, test_clicks, test_conversations, test_questions, test_text_field
from .driver import ADA, Desk, asks, card, line, one, settled, told, until
from .slack import SlackDesk


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlackDesk]:
    async with slack.open_desk(tmp_path, monkeypatch, http=True) as opened:
        yield opened
    assert not opened.journal.unexpected(), "\n".join(opened.journal.unexpected())


def delivery(desk: SlackDesk) -> SlackHttp:
    assert isinstance(desk.services.socket, SlackHttp)
    return desk.services.socket


def url(desk: SlackDesk, path: str = "/slack/events") -> str:
    return f"http://{desk.host.connections['slack'].address}{path}"  # type: ignore[attr-defined] - of this bot


SHARED: list[Callable[[Desk], Awaitable[None]]] = [
    test_questions.test_one_of_few_short_labels_is_buttons,
    test_questions.test_several_are_ticked_and_submitted,
    test_questions.test_more_than_a_menu_holds_is_found_by_what_is_typed,
    test_text_field.test_several_lines_are_one_answer,
    test_text_field.test_a_text_that_is_too_long_is_refused_and_kept,
    test_clicks.test_a_stranger_gets_one_private_notice,
    test_clicks.test_the_same_click_delivered_twice_is_one_answer,
    test_conversations.test_a_mention_that_arrives_as_two_events_each_twice_is_one_message,
    test_conversations.test_a_direct_message_needs_no_mention,
]


@pytest.mark.parametrize("scenario", SHARED, ids=lambda scenario: scenario.__name__.removeprefix("test_"))
async def test_over_http_as_over_a_socket(desk: SlackDesk, scenario: Callable[[Desk], Awaitable[None]]) -> None:
    await scenario(desk)
    assert delivery(desk).sent
    assert "apps.connections.open" not in {method for method, _ in desk.api_calls()}


async def test_each_kind_comes_in_by_its_own_address(desk: SlackDesk) -> None:
    await test_questions.test_more_than_a_menu_holds_is_found_by_what_is_typed(desk)
    paths = {path for path, _, _ in delivery(desk).sent}
    assert paths == {"/slack/events", "/slack/interactions", "/slack/options"}


# Retries by Slack


async def test_an_event_whose_ack_got_lost_is_heard_once(desk: SlackDesk) -> None:
    desk.model.script(turn("Over here."), when="hello")
    desk.workspace.faults.add(Fault(kind="swallow_ack", method="events_api", times=2))
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Over here.")
    again = await until(
        lambda: [one for one in delivery(desk).sent if "X-Slack-Retry-Num" in one[1]] or None, "it comes again"
    )
    assert again[0][1]["X-Slack-Retry-Num"] == "1"
    assert again[0][2] == 200
    assert len(told(desk, "hello")) == 1
    assert [one.text for one in desk.lines(talk) if one.bot] == ["Over here."]


def impatient(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA busy_timeout = 50")


async def test_an_event_that_cannot_be_stored_gets_503_and_comes_again(desk: SlackDesk, tmp_path: Path) -> None:
    desk.journal.announce("message_rejected", "askback.store", "askback.worker")
    # The full retry time for a locked database would exceed Slack's timeout.
    await desk.host.store._database.run(impatient)
    desk.model.script(turn("At last."), when="hello")
    body = mention(desk)
    with closing(sqlite3.connect(tmp_path / "desk.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert await post(desk, body) == 503
        other.rollback()
    assert await post(desk, body, X_Slack_Retry_Num="1", X_Slack_Retry_Reason="http_error") == 200
    await until(lambda: told(desk, "hello") or None, "it is heard")


async def test_an_event_that_means_nothing_here_is_acked(desk: SlackDesk) -> None:
    body = json.dumps(
        event_callback(desk.workspace, {"type": "emoji_changed", "channel": "C0GENERAL", "event_ts": "1.2"})
    ).encode()
    assert await post(desk, body) == 200
    unknown = json.dumps({"type": "of_tomorrow"}).encode()
    assert await post(desk, unknown) == 200
    assert "unknown_payload" in desk.journal.actions()


# Requests by strangers


async def post(desk: SlackDesk, body: bytes, path: str = "/slack/events", **headers: str) -> int:
    """Send Slack's own request with these headers replaced; an empty one is left out."""
    whole = {"Content-Type": JSON, **signed(delivery(desk).secret, body, time.time())}
    whole |= {name.replace("_", "-"): value for name, value in headers.items()}
    async with aiohttp.ClientSession() as session:
        kept = {name: value for name, value in whole.items() if value}
        skipped = ["Content-Type"] if not whole["Content-Type"] else []
        async with session.post(url(desk, path), data=body, headers=kept, skip_auto_headers=skipped) as response:
            text = await response.text()
            assert delivery(desk).secret not in text
            assert "Traceback" not in text
            return response.status


def mention(desk: SlackDesk, text: str = "hello") -> bytes:
    words = f"<@{desk.workspace.bot.id}> {text}"
    message = Message(channel="C0GENERAL", ts=desk.workspace.next_ts(), user="U0LOCALADA", text=words)
    desk.workspace.put_message(message)
    return json.dumps(event_callback(desk.workspace, app_mention_event(desk.workspace, message))).encode()


async def nothing_happened(desk: SlackDesk) -> None:
    """Check that the endpoint still works for Slack, and that the earlier requests had no effect."""
    assert not desk.model.log
    desk.model.script(turn("Over here."), when="still")
    talk = await desk.mention(ADA, "still there?")
    await line(desk, talk, "Over here.")
    assert len(desk.model.log) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Slack_Signature": "v0=" + "0" * 64},
        {"X_Slack_Signature": "v0=ä"},
        {"X_Slack_Signature": "v1=1"},
        {"X_Slack_Signature": ""},
        {"X_Slack_Request_Timestamp": ""},
        {"X_Slack_Signature": "", "X_Slack_Request_Timestamp": ""},
        {"X_Slack_Request_Timestamp": "now"},
        {"X_Slack_Request_Timestamp": "-5"},
        {"X_Slack_Request_Timestamp": "9" * 400},
    ],
    ids=["wrong", "no ASCII", "other version", "none", "no time", "neither", "no number", "negative", "endless"],
)
async def test_what_is_not_signed_by_slack_is_refused_unread(desk: SlackDesk, headers: dict[str, str]) -> None:
    assert await post(desk, mention(desk), **headers) == 401
    assert await post(desk, b"{ no json", **headers) == 401
    refusals = [record for record in desk.journal.records if getattr(record, "action", "") == "request_rejected"]
    assert len(refusals) == 1, "said once a minute, whoever floods the door"
    await nothing_happened(desk)


@pytest.mark.parametrize("seconds", [-SIGNED_SECONDS - 5, SIGNED_SECONDS + 5], ids=["old", "future"])
async def test_a_signature_of_another_time_is_refused(desk: SlackDesk, seconds: float) -> None:
    body = mention(desk)
    headers = signed(delivery(desk).secret, body, time.time() + seconds)
    given = {name.replace("-", "_"): value for name, value in headers.items()}
    assert await post(desk, body, **given) == 401
    await nothing_happened(desk)


async def test_a_body_that_was_changed_under_its_signature_is_refused(desk: SlackDesk) -> None:
    body = mention(desk)
    headers = signed(delivery(desk).secret, body, time.time())
    given = {name.replace("-", "_"): value for name, value in headers.items()}
    assert await post(desk, body.replace(b"hello", b"jello"), **given) == 401
    await nothing_happened(desk)


async def test_another_apps_secret_is_refused(desk: SlackDesk) -> None:
    body = mention(desk)
    given = {name.replace("-", "_"): value for name, value in signed("a" * 32, body, time.time()).items()}
    assert await post(desk, body, **given) == 401
    await nothing_happened(desk)


async def test_a_body_that_is_played_again_is_heard_once(desk: SlackDesk) -> None:
    desk.model.script(turn("Over here."), turn("Again?"), when="hello")
    body = mention(desk)
    given = {name.replace("-", "_"): value for name, value in signed(delivery(desk).secret, body, time.time()).items()}
    assert [await post(desk, body, **given) for _ in range(3)] == [200, 200, 200]
    await until(lambda: told(desk, "hello") or None, "it is heard")
    desk.model.script(turn("The other."), when="other")
    await line(desk, await desk.mention(ADA, "other"), "The other.")
    assert len(told(desk, "hello")) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{ no json", JSON),
        (b"", JSON),
        (b"[1]", JSON),
        (b"[" * 200_000, JSON),
        (b"\xff\xfe", JSON),
        (b"payload=%7Bno", FORM),
        (b"payload=%5B1%5D", FORM),
        (b"no form at all", FORM),
        (b'{"type": "event_callback", "authorizations": "x", "event": {}}', JSON),
        (b'{"type": "event_callback", "event": {"type": "message", "channel": [], "user": 5, "team": []}}', JSON),
        (urlencode({str(index): "x" for index in range(200)}).encode(), FORM),
    ],
)
async def test_garbage_with_a_good_signature_is_refused(desk: SlackDesk, body: bytes, kind: str) -> None:
    assert await post(desk, body, "/slack/interactions", Content_Type=kind) == 400
    await nothing_happened(desk)


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", ""])
async def test_another_content_type_is_refused(desk: SlackDesk, kind: str) -> None:
    assert await post(desk, mention(desk), Content_Type=kind) == 415
    await nothing_happened(desk)


async def test_other_methods_and_paths_are_refused(desk: SlackDesk) -> None:
    async with aiohttp.ClientSession() as session:
        for verb, path, status in (
            ("GET", "/slack/events", 405),
            ("PUT", "/slack/options", 405),
            ("POST", "/", 404),
            ("POST", "/slack/events/../../etc", 404),
        ):
            async with session.request(verb, url(desk, path)) as response:
                assert response.status == status, (verb, path)
    await nothing_happened(desk)


async def raw(desk: SlackDesk, head: str, chunks: list[bytes]) -> str:
    """Return the first line of the answer; the body is not complete, and may never be."""
    host, _, port = str(desk.host.connections["slack"].address).partition(":")  # type: ignore[attr-defined]
    reader, writer = await asyncio.open_connection(host, int(port))
    with closing(writer):
        now = signed(delivery(desk).secret, b"", time.time())
        lines = [head, "Host: localhost", f"Content-Type: {JSON}", *(f"{name}: {value}" for name, value in now.items())]
        writer.write(("\r\n".join(lines) + "\r\n").encode())
        for chunk in chunks:
            writer.write(chunk)
        async with asyncio.timeout(10):
            return (await reader.readline()).decode()


async def test_ten_megabytes_are_refused_before_they_are_sent(desk: SlackDesk) -> None:
    answer = await raw(desk, "POST /slack/events HTTP/1.1\r\nContent-Length: 10000000", [b"\r\n"])
    assert answer.startswith("HTTP/1.1 413")
    await nothing_happened(desk)


async def test_a_body_without_a_length_is_refused_as_soon_as_it_is_too_large(desk: SlackDesk) -> None:
    size = BODY_BYTES // 4
    chunk = f"{size:x}\r\n".encode() + b" " * size + b"\r\n"
    # Five of them, and never the chunk that ends it.
    answer = await raw(desk, "POST /slack/events HTTP/1.1\r\nTransfer-Encoding: chunked", [b"\r\n", *[chunk] * 5])
    assert answer.startswith("HTTP/1.1 413")
    await nothing_happened(desk)


async def test_a_packed_body_is_not_unpacked(desk: SlackDesk) -> None:
    packed = gzip.compress(b" " * 50_000_000)
    assert len(packed) < BODY_BYTES
    assert await post(desk, packed, Content_Encoding="gzip") == 400
    await nothing_happened(desk)


async def test_a_body_that_does_not_come_is_not_waited_for(desk: SlackDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askback_slack.http.BODY_SECONDS", 0.05)
    answer = await raw(desk, "POST /slack/events HTTP/1.1\r\nContent-Length: 10", [b"\r\n", b"{"])
    assert answer.startswith("HTTP/1.1 408")
    await nothing_happened(desk)


async def test_the_challenge_is_answered_only_under_a_signature(desk: SlackDesk) -> None:
    """`open_desk` has answered one already, because Slack verifies each address."""
    body: Any = {"type": "url_verification", "challenge": "abc", "token": "t"}
    assert await post(desk, json.dumps(body).encode(), X_Slack_Signature="v0=1") == 401


async def test_a_click_that_is_not_answered_in_time_shows_the_person_an_error(desk: SlackDesk) -> None:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await desk.mention(ADA, "fruit")
    shown = await card(desk, talk)
    desk.workspace.faults.add(Fault(kind="swallow_ack", method="interactive", times=1))
    assert "did not respond" in await desk.press_in_vain(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
