"""What a program stores with `askback serve`, and an agent with `askback mcp --http`, is limited over time."""

from __future__ import annotations

from e2e.ask.office import Office

from . import http_agent
from .http_caller import SECOND, caller

MOST = 1_500_000
LIMITED = {"ASKBACK_QUESTION_BYTES": str(MOST)}
DETAILS = "x" * 400_000
DAY = 86_400
NEXT_STEP = "or sooner with less text, or let the operator raise the setting `question_bytes` (1,500,000)."


async def test_a_program_that_asks_and_cancels_cannot_fill_the_disk(office: Office) -> None:
    async with caller(office, **LIMITED) as one:
        stored = []
        for number in range(10):
            given = {"question": f"Deploy {number}?", "options": ["Yes", "No"], "details": DETAILS}
            async with one.open("POST", "/v1/asks", json=given) as response:
                found, headers = await response.json(), response.headers
            if found["status"] == 429:
                break
            stored.append((given, found["id"]))
            assert (await one.request("POST", f"/v1/asks/{found['id']}/cancel"))[1]["status"] == "cancelled"
        assert len(stored) == 3
        pause = int(headers["Retry-After"])
        assert 0 < pause < DAY * 400_000 / MOST
        assert NEXT_STEP in found["detail"]
        assert f"Ask again in {pause:,} seconds" in found["detail"]
        # What needs no further space, less text, and the other programs go on.
        assert (await one.get(stored[0][1]))["status"] == "cancelled"
        assert (await one.ask())["status"] == "open"
        assert (await one.request("POST", "/v1/asks", json=given, token=SECOND))[0] == 202


async def test_an_attempt_that_stores_nothing_counts_as_nothing(office: Office) -> None:
    async with caller(office, **LIMITED) as one:
        for number in range(10):
            given = {"question": "Deploy?", "options": ["Yes", "No"], "details": DETAILS}
            assert (await one.ask(key="release-7", **given))["status"] == "open"
            other = given | {"question": f"Deploy {number}?"}
            headers = {"Idempotency-Key": "release-7"}
            assert "release-7" in await one.problem(422, "POST", "/v1/asks", json=other, headers=headers)


async def test_an_agent_that_asks_and_cancels_cannot_fill_the_disk(office: Office) -> None:
    process, address = await http_agent.serve(office, "--call-wait", "0.01s", **LIMITED, ASKBACK_QUESTION_PACE="0s")
    async with (
        http_agent.agent(process, address, http_agent.FIRST) as one,
        http_agent.agent(process, address, http_agent.SECOND) as other,
    ):
        for number in range(3):
            asked = await one.call("ask", question=f"Deploy {number}?", details=DETAILS)
            assert (await one.call("cancel", id=asked["id"]))["status"] == "cancelled"
        assert NEXT_STEP in await one.error("ask", question="Deploy 3?", details=DETAILS)
        assert (await one.deploy())["status"] == "open"
        assert (await other.call("ask", question="Deploy 3?", details=DETAILS))["status"] == "open"
