"""The callers of `askback serve`: their tokens, scopes, places, rules and pace."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from e2e.ask.office import Office

from .http_caller import FIRST, QUESTION, SECOND, HttpCaller, caller, serve, write_callers


async def test_without_a_valid_token_nothing_is_done_and_nothing_is_told(office: Office) -> None:
    async with caller(office) as one:
        paths = ("/v1/asks", "/v1/asks/x", "/v1/nothing", "/v1/hooks/claude-code")
        for headers in ({"Authorization": FIRST}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {FIRST}x"}):
            details = {
                await one.problem(401, method, path, headers=headers, json=QUESTION)
                for path in paths
                for method in ("GET", "POST", "DELETE")
            }
            assert details == {"Send a valid token: Authorization: Bearer TOKEN."}
        mine = await one.ask()
        unknown = await one.problem(404, "GET", "/v1/asks/unknown", token=SECOND)
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
            assert await one.problem(404, method, f"/v1/asks/{mine['id']}{path}", token=SECOND) == unknown
        assert (await one.request("GET", "/v1/asks", token=SECOND))[1] == {"asks": []}
        assert (await one.get(mine["id"]))["status"] == "open"


async def test_a_token_can_be_revoked_while_somebody_waits(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asked = await one.ask()
        waiting = asyncio.create_task(one.request("GET", f"/v1/asks/{asked['id']}?wait=300"))
        file.write_text(file.read_text().replace(FIRST, "another-token-of-the-first"))
        await process.said("Read 2 callers again")
        assert (await waiting)[0] == 401
        await one.problem(401, "GET", "/v1/asks")
        # The token is new, and the caller is the same.
        assert (await one.request("GET", f"/v1/asks/{asked['id']}", token="another-token-of-the-first"))[0] == 200
        file.write_text("[broken")
        await process.said("All requests are rejected until this is solved")
        await one.problem(503, "GET", "/v1/asks", token=SECOND)
        write_callers(office)
        await process.said("Read 2 callers again", times=2)
        assert (await one.get(asked["id"]))["status"] == "open"
    assert FIRST not in process.err


async def test_a_stream_ends_with_an_error_when_its_token_is_revoked(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asked = await one.ask()
        async with one.open("GET", f"/v1/asks/{asked['id']}/events") as response:
            assert await response.content.readline() == b"event: open\n"
            file.write_text(file.read_text().replace(FIRST, "another-token-of-the-first"))
            await process.said("Read 2 callers again")
            assert (await response.text()).endswith("event: error\ndata: {}\n\n")
        one.token = "another-token-of-the-first"
        assert (await one.get(asked["id"]))["status"] == "open"
    await office.card()


async def test_a_caller_beyond_its_pace_is_told_when_to_come_back(office: Office) -> None:
    async with caller(office) as one:
        many = [one.open("GET", "/v1/asks/none") for _ in range(300)]

        async def send(request: Any) -> tuple[int, str | None]:
            async with request as response:
                return response.status, response.headers.get("Retry-After")

        answers = await asyncio.gather(*map(send, many))
        assert {*answers} == {(404, None), (429, "1")}
        assert (await one.request("GET", "/v1/asks", token=SECOND))[0] == 200


async def test_a_token_allows_only_its_scopes_and_places(office: Office) -> None:
    file = write_callers(office, first='scopes = ["ask"]', second="scopes = []")
    async with caller(office, file=file) as one:
        asked = await one.ask()
        assert "'cancel'" in await one.problem(403, "POST", f"/v1/asks/{asked['id']}/cancel")
        assert "'permit'" in await one.problem(403, "POST", "/v1/hooks/claude-code", json={})
        assert "'ask'" in await one.problem(403, "POST", "/v1/asks", json=QUESTION, token=SECOND)
        elsewhere = await one.problem(422, "POST", "/v1/asks", json=QUESTION | {"place": "#general"})
        assert "The operator does not let you ask in" in elsewhere
        await office.card()
    assert len(office.shown()) == 1


async def test_a_scope_can_be_taken_away_while_the_server_runs(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asked = await one.ask()
        write_callers(office, first="scopes = []")
        await process.said("Read 2 callers again")
        assert "'ask'" in await one.problem(403, "POST", "/v1/asks", json=QUESTION)
        assert "'cancel'" in await one.problem(403, "POST", f"/v1/asks/{asked['id']}/cancel")
        assert (await one.get(asked["id"]))["status"] == "open"


async def test_rules_that_change_apply_to_the_next_question(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        await one.ask()
        write_callers(office, first='wait = "1s"')
        await process.said("Read 2 callers again")
        assert (await one.ask(wait=60, question="Deploy 1.4.3?"))["status"] == "timed_out"


async def test_a_server_without_proper_callers_does_not_start(office: Office) -> None:
    said = await (await office.start("serve")).refused(2)
    assert "--callers FILE" in said
    file = office.folder / "callers.toml"
    said = await (await office.start("serve", "--callers", str(file))).refused(2)
    assert "No such file" in said
    for text, words in (
        ("", "names no caller"),
        ("[a]\ntoken = 'short'\nto = '#x'", "so it could be guessed"),
        ("[a]\nto = '#x'", "either token or token_sha256"),
        (f"[a]\ntoken = '{FIRST}'\nto = '{office.platform}:#deploys'", "Say who may answer"),
    ):
        file.write_text(text)
        said = await (await office.start("serve", "--callers", str(file), "--http", "0")).refused(2)
        assert words in said
        assert FIRST not in said
    write_callers(office).chmod(0o644)
    process, _ = await serve(office, file=file)
    assert "Other users of this machine can read the tokens" in process.err


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("to = '{platform}:#nope'\nwho = 'anyone'", "#nope"),
        ("to = '{platform}:#deploys'\nwho = '@nobody-here'", "nobody-here"),
        ("to = '{other}:#deploys'\nwho = 'anyone'", "no token"),
        ("to = '{platform}:#deploys'\nwho = ['@ada']\nrequested_by = 'anyone'", "requested_by"),
    ],
)
async def test_names_that_cannot_work_end_the_start_and_later_refuse_the_question(
    office: Office, rules: str, words: str
) -> None:
    other = "slack" if office.platform == "discord" else "discord"
    table = f"[first]\ntoken = '{FIRST}'\n{rules.format(platform=office.platform, other=other)}\n"
    broken = office.folder / "broken.toml"
    broken.write_text(table)
    said = await (await office.start("serve", "--http", "0", "--callers", str(broken))).refused(2)
    assert "[first] in the file of callers cannot work" in said
    assert words in said
    if "other" in rules:
        return  # a platform without a token is a matter of the server, and not of a name
    file = write_callers(office)
    process, address = await serve(office, file=file)
    file.write_text(table)
    await process.said("Read 1 caller again.")
    await process.said("[first] in the file of callers cannot work: ")
    assert words in process.err
    async with aiohttp.ClientSession() as session:
        detail = await HttpCaller(session, address).problem(422, "POST", "/v1/asks", json=QUESTION)
    assert detail.startswith("The operator's rules for your token cannot work: ")
    assert words in detail


async def test_a_place_that_the_bot_on_the_file_does_not_serve_ends_the_start(office: Office) -> None:
    """Only one process can open an SQLite file, so nobody could be asked there."""
    other = "slack" if office.platform == "discord" else "discord"
    both = {name: value for name, value in office.services.environment.items() if other.upper() in name}
    file = write_callers(office, second="")
    file.write_text(file.read_text().replace(f"{office.platform}:#deploys", f"{other}:#general", 1))
    await office.bot()
    said = await (await office.start("serve", "--http", "0", "--callers", str(file), **both)).refused(2)
    assert f"serves {office.platform}, not {other}. Run both bots in one process (`askback run`)" in said


async def test_a_platform_that_is_down_does_not_keep_the_server_from_starting(office: Office) -> None:
    office.settings = {
        "ASKBACK_SLACK_API_URL": "http://127.0.0.1:9/api/", "ASKBACK_DISCORD_API_URL": "http://127.0.0.1:9/v10",
    }  # fmt: skip
    process, _ = await serve(office)
    assert "Could not check" in process.err
