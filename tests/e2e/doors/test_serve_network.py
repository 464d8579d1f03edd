"""Requests to `askback serve` through networks, proxies and clients that do odd things."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import aiohttp

from e2e.ask.office import Office

from .http_caller import FIRST, QUESTION, SECOND, HttpCaller, caller, serve, write_callers

BEARER = f"Authorization: Bearer {FIRST}\r\n"
JSON_TYPE = {"Content-Type": "application/json"}
BODY = json.dumps(QUESTION).encode()
LARGE = "1" + "0" * 400
"""A whole number of JSON that no float can hold."""


async def talk(address: str, sent: bytes, *, later: bytes = b"", within: float = 5.0) -> bytes:
    """Send bytes, and others `later`. Return what comes back until the server closes, or for some seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
    writer.write(sent)
    found = b""
    if later:
        await asyncio.sleep(0.1)
        writer.write(later)
    try:
        async with asyncio.timeout(within):
            while data := await reader.read(65_536):
                found += data
    except TimeoutError:
        pass
    writer.close()
    return found


def request(line: str, *headers: str, body: bytes = b"", closes: bool = True) -> bytes:
    lines = (f"{line} HTTP/1.1", "Host: askback", *headers, *(["Connection: close"] if closes else []))
    return ("\r\n".join(lines) + "\r\n" + BEARER + "\r\n").encode() + body


async def test_a_head_request_receives_no_outcome_and_sends_no_body(office: Office) -> None:
    async with caller(office) as one:
        asked = await one.ask()
        await office.click("ada", "Yes")
        for path in (f"/v1/asks/{asked['id']}", f"/v1/asks/{asked['id']}/events", "/v1/asks"):
            said = await talk(one.address, request(f"HEAD {path}"))
            head, _, body = said.partition(b"\r\n\r\n")
            assert (head.splitlines()[0], body) == (b"HTTP/1.1 405 Method Not Allowed", b""), said
        # No call has received the answer yet, so the same question finds it.
        again = await one.ask()
        assert (again["id"], again["status"]) == (asked["id"], "answered")


async def test_a_stream_that_is_opened_again_after_its_end_says_so(office: Office) -> None:
    async with caller(office) as one:
        asked = await one.ask()
        stream = f"/v1/asks/{asked['id']}/events"
        async with one.open("GET", stream) as response:
            assert await response.content.readline() == b"event: open\n"
        await office.click("ada", "Yes")
        async with one.open("GET", stream, headers={"Last-Event-ID": ""}) as response:
            *_, last = (await response.text()).strip().split("\n\n")
        name, number, data = last.splitlines()
        assert (name, json.loads(data.removeprefix("data: "))["answer"]) == ("event: settled", "Yes")
        assert number == f"id: {asked['id']}"
        async with one.open("GET", stream, headers={"Last-Event-ID": number.removeprefix("id: ")}) as response:
            assert (response.status, await response.read()) == (204, b"")


async def test_a_body_that_does_not_arrive_ends_its_request(office: Office) -> None:
    file = office.folder / "impatient.py"
    file.write_text(
        "import askback.doors.http_access as access\n"
        "access.BODY_SECONDS = 0.5\n"
        "from askback.cli.main import main\n"
        "main()\n"
    )
    process, address = await serve(office, program=file)
    sent = request("POST /v1/asks", "Content-Type: application/json", "Content-Length: 100", body=b'{"question"')
    said = await talk(address, sent)
    assert said.startswith(b"HTTP/1.1 408 Request Timeout")
    assert b"send it again" in said
    # What is malformed after the beginning never arrives, either.
    chunked = request(
        "POST /v1/asks", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"1\r\n{\r\n"
    )
    assert (await talk(address, chunked, later=b"zz\r\n")).startswith(b"HTTP/1.1 408 Request Timeout")
    assert "Traceback" not in process.err
    assert office.shown() == []


async def test_what_is_not_clear_is_refused(office: Office) -> None:
    file = write_callers(office, first='scopes = ["ask", "permit"]\napprovers = "anyone"')
    async with caller(office, file=file) as one:
        length = (f"Content-Length: {len(BODY)}", "Content-Type: application/json")
        keys = request("POST /v1/asks", *length, "Idempotency-Key: a", "Idempotency-Key: b", body=BODY)
        assert (await talk(one.address, keys)).startswith(b"HTTP/1.1 422 ")
        tokens = request("GET /v1/asks", f"Authorization: Bearer {SECOND}")
        assert (await talk(one.address, tokens)).startswith(b"HTTP/1.1 401 ")
        packed = {"data": gzip.compress(BODY), "headers": JSON_TYPE | {"Content-Encoding": "gzip"}}
        assert "without Content-Encoding" in await one.problem(415, "POST", "/v1/asks", **packed)
        for number in ("NaN", "-Infinity", "1e999"):
            hook = f'{{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {{"n": {number}}}}}'
            for path, text in (
                ("/v1/asks", f'{{"question": "?", "timeout": {number}}}'),
                ("/v1/hooks/claude-code", hook),
            ):
                given: dict[str, Any] = {"data": text.encode(), "headers": JSON_TYPE}
                status, found = await one.request("POST", path, **given)
                assert (status, "not JSON" in found["detail"]) == (400, True), (path, number)
        for given in ({"type": "number", "minimum": int(LARGE)}, {"type": "integer", "enum": [int(LARGE)]}):
            form = {"type": "object", "properties": {"n": given}}
            assert "“n”" in await one.problem(422, "POST", "/v1/asks", json={"question": "How many?", "form": form})
    assert office.shown() == []


async def test_a_client_that_gives_up_while_its_question_is_stored_leaves_one_that_people_can_answer(
    office: Office,
) -> None:
    process, address = await serve(office, program=Path(__file__).with_name("slow_submit.py"))
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asking = asyncio.create_task(one.ask())
        await office.card()
        asking.cancel()
        # Without anybody who uses it, the connection to the platform ends soon.
        await asyncio.sleep(3.0)
        await office.click("ada", "Yes")
        assert (await one.ask(wait=30))["answer"] == "Yes"
    assert "Traceback" not in process.err


async def test_an_empty_body_in_chunks_is_no_body(office: Office) -> None:
    async with caller(office) as one:
        asked = await one.ask()
        sent = request(f"POST /v1/asks/{asked['id']}/cancel", "Transfer-Encoding: chunked", body=b"0\r\n\r\n")
        assert (await talk(one.address, sent)).startswith(b"HTTP/1.1 200 OK")
        assert (await one.get(asked["id"]))["status"] == "cancelled"


async def test_a_change_of_the_rules_or_of_the_file_ends_no_wait_for_good(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asked = await one.ask()

        async def wait() -> tuple[int, str | None]:
            async with one.open("GET", f"/v1/asks/{asked['id']}?wait=60") as response:
                return response.status, response.headers.get("Retry-After")

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        write_callers(office, first='remind = "1h"')
        await process.said("Read 2 callers again")
        assert await waiting == (503, "1")
        waiting = asyncio.create_task(wait())
        file.write_text("[broken")
        await process.said("All requests are rejected until this is solved")
        assert await waiting == (503, "1")
        write_callers(office, first='remind = "1h"')
        await process.said("Read 2 callers again", times=2)
        waiting = asyncio.create_task(wait())
        await office.click("ada", "Yes")
        assert await waiting == (200, None)
