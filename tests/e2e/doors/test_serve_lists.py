"""The lists of open questions, of which one answer has only a part."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp

from e2e.ask.office import Office

from . import http_agent
from .http_caller import SECOND, HttpCaller, caller, serve, write_callers
from .waits import run

MANY = {"ASKBACK_OPEN_QUESTIONS": "1000"}
LINGER = 2.0
"""Seconds within which the connection to the platform ends, if nobody uses it."""


async def ask_many(one: HttpCaller, count: int) -> list[str]:
    """Ask questions one after the other; return their ids."""
    return [(await one.ask(question=f"Deploy 1.4.{number}?", options=["Yes", "No"]))["id"] for number in range(count)]


async def read_pages(one: HttpCaller, limit: int | None = None) -> list[list[str]]:
    """Follow the cursors from the first page; return the ids of each page."""
    pages: list[list[str]] = []
    query: dict[str, Any] = {} if limit is None else {"limit": limit}
    while True:
        status, found = await one.request("GET", "/v1/asks", params=query)
        assert status == 200, found
        pages.append([entry["id"] for entry in found["asks"]])
        if "next_cursor" not in found:
            return pages
        query["cursor"] = found["next_cursor"]


async def test_a_list_of_many_questions_has_all_of_them_on_its_pages(stored_office: Office) -> None:
    async with caller(stored_office, **MANY) as one:
        asked = await ask_many(one, 103)
        other = await one.request("POST", "/v1/asks", json={"question": "Mine?"}, token=SECOND)
        assert other[0] == 202
        assert await read_pages(one) == [asked[:100], asked[100:]]
        assert await read_pages(one, 50) == [asked[:50], asked[50:100], asked[100:]]
        assert await read_pages(one, 100) == [asked[:100], asked[100:]]
        # A client that knows nothing of pages gets what it always got.
        assert [entry["id"] for entry in (await one.request("GET", "/v1/asks"))[1]["asks"]] == asked[:100]


async def test_a_question_that_ends_between_two_pages_moves_no_other(office: Office) -> None:
    async with caller(office) as one:
        asked = await ask_many(one, 5)
        _, first = await one.request("GET", "/v1/asks?limit=2")
        for ended in asked[:3]:
            await one.request("POST", f"/v1/asks/{ended}/cancel")
        late = (await one.ask())["id"]
        _, second = await one.request("GET", "/v1/asks", params={"limit": 2, "cursor": first["next_cursor"]})
        assert [entry["id"] for entry in second["asks"]] == asked[3:]
        _, third = await one.request("GET", "/v1/asks", params={"cursor": second["next_cursor"]})
        assert ([entry["id"] for entry in third["asks"]], "next_cursor" in third) == ([late], False)


async def test_a_wrong_page_is_refused_with_the_next_step(office: Office) -> None:
    async with caller(office) as one:
        for limit in ("0", "101", "-1", "1.5", "x", "", "1" * 5000, "٣"):
            assert "from 1 to 100" in await one.problem(422, "GET", "/v1/asks", params={"limit": limit})
        for cursor in ("", "x", "1", "-", "1-", "99999999999999999999-a", "1-a\x00b", "1-ä", "1-" + "a" * 5000):
            detail = await one.problem(422, "GET", "/v1/asks", params={"cursor": cursor})
            assert "use a `next_cursor`" in detail
        # Nobody's questions are behind the cursor of somebody else.
        await ask_many(one, 2)
        _, first = await one.request("GET", "/v1/asks?limit=1")
        _, found = await one.request("GET", "/v1/asks", params={"cursor": first["next_cursor"]}, token=SECOND)
        assert found == {"asks": []}


async def test_an_agent_reads_how_many_questions_its_list_leaves_out(office: Office) -> None:
    process, address = await http_agent.serve(office, "--call-wait", "0.01s", **MANY, ASKBACK_QUESTION_PACE="0s")
    async with http_agent.agent(process, address, http_agent.FIRST) as one:
        asked = [(await one.call("ask", question=f"Deploy {number}?"))["id"] for number in range(103)]
        listed = await one.call("pending")
        assert [entry["id"] for entry in listed["pending"]] == asked[:100]
        assert "\n3 more, which are newer, are not listed: call `pending` again" in listed["message"]
        await one.call("cancel", id=asked[0])
        assert "\n2 more, which are newer" in (await one.call("pending"))["message"]


async def test_an_agent_reads_how_many_results_its_list_leaves_out(office: Office) -> None:
    process, address = await http_agent.serve(
        office, "--call-wait", "0.01s", "--wait", "1s", **MANY, ASKBACK_QUESTION_PACE="0s"
    )
    async with http_agent.agent(process, address, http_agent.FIRST) as one:
        asked = [(await one.call("ask", question=f"Deploy {number}?"))["id"] for number in range(103)]
        await office.until(lambda: not run(office, "SELECT id FROM asks WHERE status = 'open'"))
        listed = await one.call("pending")
        assert listed["pending"] == []
        assert {entry["status"] for entry in listed["unread"]} == {"timed_out"}
        assert len(listed["unread"]) == 100
        assert "\n3 more, which are older, are not listed: call `pending` again" in listed["message"]
        for entry in listed["unread"][:4]:
            await one.call("wait", id=entry["id"])
        listed = await one.call("pending")
        assert (len(listed["unread"]), "not listed" in listed["message"]) == (99, False)
        assert {entry["id"] for entry in listed["unread"]} < {*asked}


async def test_all_open_questions_of_a_program_are_served_after_a_restart(office: Office) -> None:
    file = office.folder / "impatient.py"
    file.write_text(
        "from askback.doors import shared_session\n"
        "shared_session.IDLE_SECONDS = 0.1\n"
        "from askback.cli.main import main\n"
        "main()\n"
    )
    callers = write_callers(office)
    process, address = await serve(office, file=callers, **MANY)
    async with aiohttp.ClientSession() as session:
        asked = await ask_many(HttpCaller(session, address), 101)
        await office.card("Deploy 1.4.100?")
    await process.kill()
    process, address = await serve(office, file=callers, program=file, **MANY)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        for ended in asked[:100]:
            await one.request("POST", f"/v1/asks/{ended}/cancel")
        await asyncio.sleep(LINGER)
        await office.click("ada", "Yes", "Deploy 1.4.100?")
        assert (await one.get(asked[100], wait=30))["answer"] == "Yes"
