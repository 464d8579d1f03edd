"""Requests to `askback serve`: wrong ones, too many, and those of its document."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from e2e.ask.office import Office

from .http_caller import FIRST, QUESTION, HttpCaller, caller, serve

FILES = 280
"""Files that a server with few connections may open. A quarter of them may be connections."""
BEYOND = 10
"""Requests for which it has no connection."""
JSON_TYPE = {"Content-Type": "application/json"}


async def test_a_wrong_request_is_refused_with_the_next_step(office: Office) -> None:
    async with caller(office) as one:
        for status, words, path, more in (
            (400, "not JSON", "/v1/asks", {"data": b"{", "headers": JSON_TYPE}),
            *(
                (400, "nested too deeply", "/v1/asks", {"data": b"[" * n + b"]" * n, "headers": JSON_TYPE})
                for n in (600, 90_000)
            ),
            (415, "Content-Type", "/v1/asks", {"data": b"{}"}),
            (422, "question", "/v1/asks", {"json": {}}),
            (422, "Write it like this: {", "/v1/asks", {"json": {"question": "A?", "options": [{"colour": "Blue"}]}}),
            (422, 'such as ["Yes", "No"]', "/v1/asks", {"json": {"question": "Go?", "options": "Yes, No"}}),
            (422, "who", "/v1/asks", {"json": QUESTION | {"who": "anyone"}}),
            (422, "no such option", "/v1/asks", {"json": QUESTION | {"yes": ["Maybe"]}}),
            (422, "`question` is missing", "/v1/asks", {"json": {"question": "\u200b"}}),
            (422, "look alike", "/v1/asks", {"json": {"question": "?", "options": ["No", "N\u200bo"]}}),
            (422, "need `options`", "/v1/asks", {"json": {"question": "Why?", "quorum": 2}}),
            (422, "cannot be asked", "/v1/asks", {"json": {"questions": []}}),
            (422, "form: should be an object with named", "/v1/asks", {"json": {"question": "Go?", "form": []}}),
            (422, "quorum: should be at least 1", "/v1/asks", {"json": QUESTION | {"quorum": 0}}),
            (422, "from 0 to 300", "/v1/asks?wait=nan", {"json": QUESTION}),
            (422, "from 0 to 300", "/v1/asks?wait=301", {"json": QUESTION}),
            (422, "Idempotency-Key", "/v1/asks", {"json": QUESTION, "headers": {"Idempotency-Key": "x" * 256}}),
            (404, "GET /openapi.json", "/v1/nothing", {"json": QUESTION}),
        ):
            assert words in await one.problem(status, "POST", path, **more)
        assert "methods" in await one.problem(405, "DELETE", "/v1/asks")
        large = io.BytesIO(json.dumps(QUESTION | {"details": "x" * 2_000_000}).encode())
        assert "a megabyte" in await one.problem(413, "POST", "/v1/asks", data=large, headers=JSON_TYPE)
    assert office.shown() == []


async def test_what_is_not_http_does_not_fill_the_log(office: Office) -> None:
    process, address = await serve(office)
    port = int(address.rpartition(":")[2])
    for _ in range(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /\x00 HTTP/9.9\r\n\x01: y\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.0 400")
        writer.close()
    await process.said("Rejected a request that is not valid HTTP.")
    assert process.err.count("not valid HTTP") == 1
    assert "Traceback" not in process.err


async def test_requests_by_the_document_get_the_answers_that_it_describes(office: Office) -> None:
    """schemathesis sends hundreds of valid and invalid requests, and compares each answer with the document."""
    command = Path(sys.executable).with_name("schemathesis")
    if not command.exists():
        pytest.skip("schemathesis is not installed")
    process, address = await serve(office)
    async with aiohttp.ClientSession() as session:
        _, document = await HttpCaller(session, address).request("GET", "/openapi.json")
    for operation in (document["paths"]["/v1/asks"]["post"], document["paths"]["/v1/asks/{id}"]["get"]):
        operation["parameters"] = [one for one in operation["parameters"] if one["name"] != "wait"]  # nobody answers
    file = office.folder / "openapi.json"
    file.write_text(json.dumps(document))
    # A valid question may break a rule that no schema expresses, such as two equal options. An invalid one may be as
    # models write them, such as a number for a text. A stream does not end.
    running = await asyncio.create_subprocess_exec(
        command, "run", str(file), "--url", address, "-H", f"Authorization: Bearer {FIRST}",
        "--exclude-path", "/v1/asks/{id}/events",
        "--exclude-checks", "positive_data_acceptance,negative_data_rejection",
        "--phases", "coverage,fuzzing", "--max-examples", "10", "--seed", "1", "--generation-deterministic",
        "--rate-limit", "50/s", "--no-color",
        cwd=office.folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await running.communicate()
    assert running.returncode == 0, out.decode()
    assert "Traceback" not in process.err


async def test_the_document_describes_every_path(office: Office) -> None:
    async with caller(office) as one:
        status, document = await one.request("GET", "/openapi.json", token="none")
        assert (status, document["openapi"]) == (200, "3.1.0")
        assert (await one.request("GET", "/healthz", token="none"))[0] == 200
        # Generators of clients lose the fields of a body with alternatives, and cannot read a list without items.
        assert not document["components"]["schemas"]["AskBody"].keys() & {"anyOf", "oneOf", "allOf"}
        assert "enum" in document["components"]["schemas"]["AskResult"]["properties"]["status"]
        assert document["paths"]["/readyz"]["get"]["security"] == []
        for path, operations in document["paths"].items():
            for method in operations:
                status, _ = await one.request(method, path.replace("{id}", "x"), json={"reason": ""})
                assert status in (200, 403, 404, 422), path


async def test_beyond_its_connections_a_server_tells_programs_to_come_again(office: Office) -> None:
    async with caller(office, files=FILES) as one:
        asked = await one.ask()

        async def poll() -> tuple[int, str | None, Any]:
            async with one.open("GET", f"/v1/asks/{asked['id']}?wait=60") as response:
                return response.status, response.headers.get("Retry-After"), await response.json()

        polls = [asyncio.create_task(poll()) for _ in range(FILES // 4 + BEYOND)]
        await office.until(lambda: len([task for task in polls if task.done()]) == BEYOND)
        await office.click("ada", "Yes")
        answers = await asyncio.gather(*polls)
    refused = [answer for answer in answers if answer[0] != 200]
    assert {(status, pause, problem["status"]) for status, pause, problem in refused} == {(503, "5", 503)}
    assert len(refused) == BEYOND
    assert {answer["answer"] for status, _, answer in answers if status == 200} == {"Yes"}
