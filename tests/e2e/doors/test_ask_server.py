"""`askback ask --server`: a script asks through a server, and needs neither its database nor a platform's token."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import ClientSession, web

from e2e.ask.office import Office
from support.certificates import Authority
from support.free_port import free_port
from support.tunnel import Tunnel

from .ask_script import ask, deploy, deploy_fresh
from .http_caller import FIRST, SECOND, serve, write_callers


@asynccontextmanager
async def answering(answer: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncGenerator[str]:
    """Serve every path with this function; yield the address."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner: Any = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_the_outcome_is_that_of_a_question_that_was_asked_without_a_server(office: Office) -> None:
    server, address = await serve(office)
    asking = await deploy(office, address)
    await office.click("ada", "Yes")
    outcome = await asking.outcome(0)
    await server.kill()
    local = await office.ask()
    await office.click("ada", "Yes")
    expected = await local.outcome(0)
    differing = {"id", "key", "at", "votes"}
    assert {name: outcome[name] for name in outcome.keys() - differing} == {
        name: expected[name] for name in expected.keys() - differing
    }
    assert [vote.keys() for vote in outcome["votes"]] == [vote.keys() for vote in expected["votes"]]
    assert outcome["approved"] is True


async def test_a_refusal_and_the_lack_of_an_answer_have_their_exit_codes(office: Office) -> None:
    _, address = await serve(office)
    asking = await deploy(office, address)
    await office.click("ada", "No")
    assert (await asking.outcome(3))["status"] == "refused"
    asking = await deploy(office, address, "--wait", "1s")
    assert (await asking.outcome(4))["status"] == "timed_out"


async def test_a_written_answer_through_a_server_is_told_from_a_chosen_one(office: Office) -> None:
    _, address = await serve(office)
    asking = await ask(office, address, "Where to?", "--option", "Staging", "--option", "Production")
    await office.fill("ada", "Something else…", "Production", "Where to?")
    outcome = await asking.outcome(0)
    assert (outcome["answer"], outcome["written"]) == ("Production", True)
    assert ", in their own words: Production" in asking.err


async def test_the_operator_limits_the_wait(office: Office) -> None:
    _, address = await serve(office, file=write_callers(office, first='wait = "1s"'))
    asking = await deploy(office, address, "--wait", "forever")
    assert (await asking.outcome(4))["status"] == "timed_out"


async def test_a_form_is_asked_too(office: Office) -> None:
    _, address = await serve(office)
    form = office.folder / "form.json"
    options = [{"value": "1", "label": "Yes"}, {"value": "2", "label": "No"}]
    form.write_text(json.dumps([{"id": "go", "prompt": "Deploy 1.4.2?", "options": options}]))
    asking = await ask(office, address, "--form", str(form))
    await office.click("ada", "Yes")
    outcome = await asking.outcome(0)
    assert (outcome["answers"], outcome["approved"]) == ({"go": "1"}, None)


async def test_a_script_that_is_interrupted_comes_back_with_its_key(office: Office) -> None:
    _, address = await serve(office)
    asking = await deploy(office, address, "--key", "release-7")
    await asking.said("Asked in ")
    asking.signal(signal.SIGTERM)
    said = await asking.refused(143)
    assert "repeat the command with --key release-7" in said
    again = await deploy(office, address, "--key", "release-7")
    await office.click("ada", "Yes")
    assert (await again.outcome(0))["key"] == "release-7"
    assert len(office.shown()) == 1


async def test_a_server_that_restarts_is_waited_for(office: Office) -> None:
    server, address = await serve(office)
    asking = await deploy(office, address)
    await asking.said("Asked in ")
    await server.kill()
    port = address.rpartition(":")[2]
    await office.start("serve", "--http", port, "--callers", str(office.folder / "callers.toml"))
    await office.click("ada", "Yes")
    assert (await asking.outcome(0))["answer"] == "Yes"
    assert len(office.shown()) == 1


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
async def test_a_server_that_cannot_be_reached_is_told_at_once_and_for_no_longer_than_the_wait(office: Office) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    asking = await deploy(office, nowhere, "--wait", "5s")
    said = await asking.refused(5)
    assert f"Could not reach the server at {nowhere}: " in said
    assert said.count("Trying again for 5 seconds.") == 1
    assert "Nothing was asked." in said
    asking = await deploy(office, nowhere)
    await asking.said("Trying again for 10 minutes.")
    asking.signal(signal.SIGTERM)
    assert "Nothing was asked." in await asking.refused(143)


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
async def test_a_server_that_cannot_be_reached_is_tried_no_longer_than_until_the_moment(office: Office) -> None:
    moment = (datetime.now(UTC) + timedelta(seconds=30)).isoformat()
    asking = await deploy(office, f"http://127.0.0.1:{free_port()}", "--wait", moment)
    await asking.said("Trying again for ")
    (seconds,) = re.findall(r"Trying again for (\d+) seconds", asking.err)
    assert 0 < int(seconds) <= 30
    asking.signal(signal.SIGTERM)
    await asking.refused(143)


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
@pytest.mark.parametrize("status", [408, 500, 521, 524])
async def test_a_proxy_that_cannot_reach_the_server_for_a_moment_is_tried_again(office: Office, status: int) -> None:
    _, address = await serve(office)
    failures = 1

    async def forward(request: web.Request) -> web.Response:
        nonlocal failures
        if request.method == "GET" and failures:
            failures -= 1
            return web.Response(status=status, text="<h1>The origin is away</h1>", content_type="text/html")
        kept = {name: request.headers[name] for name in ("Authorization", "Idempotency-Key") if name in request.headers}
        given = await request.json() if request.method == "POST" else None
        async with (
            ClientSession(headers=kept) as session,
            session.request(request.method, f"{address}{request.rel_url}", json=given) as response,
        ):
            return web.Response(status=response.status, body=await response.read(), content_type="application/json")

    async with answering(forward) as proxy:
        asking = await deploy(office, proxy)
        await asking.said(f"({status})")
        await office.click("ada", "Yes")
        assert (await asking.outcome(0))["answer"] == "Yes"


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
async def test_a_script_behind_a_proxy_asks_through_it_and_the_proxy_reads_no_token(office: Office) -> None:
    """The name of the server is known only to the proxy, as in the networks of many companies."""
    _, address = await serve(office)
    authority = Authority(office.folder)
    async with Tunnel(address, authority.issue("ask.example.test")).serve() as proxy:
        own = {"HTTPS_PROXY": proxy.url.replace("//", "//ada:secret@"), "SSL_CERT_FILE": str(authority.file)}
        asking = await deploy_fresh(office, "https://ask.example.test", **own)
        await office.click("ada", "Yes")
        assert (await asking.outcome(0))["answer"] == "Yes"
    assert {one.splitlines()[0] for one in proxy.requests} == {"CONNECT ask.example.test:443 HTTP/1.1"}
    assert all("Proxy-Authorization: Basic YWRhOnNlY3JldA==" in one and FIRST not in one for one in proxy.requests)


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
async def test_a_proxy_that_wants_a_password_is_told_at_once_and_no_password_is_shown(office: Office) -> None:
    async with Tunnel("http://127.0.0.1:1", Authority(office.folder).issue("x"), refuses=True).serve() as proxy:
        wrong = proxy.url.replace("//", "//ada:secret@")
        said = await (await deploy(office, "https://ask.example.test", HTTPS_PROXY=wrong)).refused(2)
    assert "The proxy in HTTPS_PROXY wants a name and a password" in said
    assert "secret" not in said
    wrong = "ftp://ada:secret@127.0.0.1"
    said = await (await deploy(office, "https://ask.example.test", HTTPS_PROXY=wrong)).refused(2)
    assert "HTTPS_PROXY is not the URL of an HTTP proxy" in said
    assert "secret" not in said


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
async def test_what_a_proxy_does_wrong_names_the_variable_that_it_is_in(office: Office) -> None:
    server = "https://ask.example.test"
    async with Tunnel("http://127.0.0.1:1", Authority(office.folder).issue("x"), refuses=True).serve() as proxy:
        said = await (await deploy(office, server, ALL_PROXY=proxy.url)).refused(2)
    assert "The proxy in ALL_PROXY wants a name and a password" in said
    nowhere = f"http://127.0.0.1:{free_port()}"
    said = await (await deploy(office, server, "--wait", "1s", https_proxy=nowhere)).refused(5)
    assert f"Could not reach the proxy in https_proxy, which leads to {server}: Connection refused." in said


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
async def test_a_server_without_tls_is_reached_without_a_proxy_which_could_read_the_token(office: Office) -> None:
    _, address = await serve(office)
    nowhere = f"http://127.0.0.1:{free_port()}"
    asking = await deploy(office, address, HTTP_PROXY=nowhere, HTTPS_PROXY=nowhere, ALL_PROXY=nowhere)
    await office.click("ada", "Yes")
    assert (await asking.outcome(0))["answer"] == "Yes"


@pytest.mark.parametrize("key", ["släpp-7", "release " + "7" * 300], ids=["unicode", "long"])
async def test_a_key_that_no_header_can_carry_finds_its_question_too(office: Office, key: str) -> None:
    _, address = await serve(office)
    asking = await deploy(office, address, "--key", key)
    await office.click("ada", "Yes")
    first = await asking.outcome(0)
    again = await (await deploy(office, address, "--key", key)).outcome(0)
    assert (again["id"], again["key"]) == (first["id"], key)
    assert len(office.shown()) == 1


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
async def test_a_server_that_is_lost_while_it_reads_the_question_leaves_open_if_it_was_asked(office: Office) -> None:
    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(drop, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        said = await (await deploy(office, f"http://127.0.0.1:{port}", "--wait", "1s", "--key", "release-7")).refused(5)
    assert "It is unknown if the question was asked. Repeat the command with --key release-7" in said


@pytest.mark.parametrize("platform", ["slack"], indirect=True)
async def test_the_token_travels_in_the_clear_only_if_the_caller_says_so(office: Office) -> None:
    for url in ("http://127.0.0.2:1", "http://ask.invalid"):
        said = await (await deploy(office, url, "--wait", "1s")).refused(2)
        assert f"--server {url} has no TLS" in said
        assert "--allow-http" in said
        said = await (await deploy(office, url, "--wait", "1s", "--allow-http")).refused(5)
        assert f"Could not reach the server at {url}: " in said


async def test_what_the_operator_decides_cannot_be_given(office: Office) -> None:
    _, address = await serve(office, file=write_callers(office, second="scopes = []"))
    for option in (("--approvers", "anyone"), ("--requested-by", "@ada"), ("--own",), ("--remind", "1h")):
        said = await (await deploy(office, address, *option)).refused(2)
        assert f"{option[0]} does not go together with --server" in said
    said = await (await deploy(office, address, "--to", "#general")).refused(2)
    assert "The operator does not let you ask in '#general': leave --to out" in said
    said = await (await deploy(office, address, "--allow-custom")).refused(2)
    assert "leave out --allow-custom" in said
    said = await (await deploy(office, address, ASKBACK_SERVER_TOKEN=SECOND)).refused(2)
    assert "the scope 'ask'" in said
    said = await (await ask(office, address, "--key", "release-7")).refused(2)
    assert "give a question or --form" in said
    assert office.shown() == []


async def test_a_wrong_token_or_server_is_told_without_the_token(office: Office) -> None:
    _, address = await serve(office)
    wrong = "a-token-that-nobody-has"
    said = await (await deploy(office, address, ASKBACK_SERVER_TOKEN=wrong)).refused(2)
    assert "Send a valid token" in said
    assert wrong not in said
    assert "set ASKBACK_SERVER_TOKEN" in await (await deploy(office, address, ASKBACK_SERVER_TOKEN="")).refused(2)
    for path in ("/v1/asks", "/v1/asks/"):
        assert "leave out /v1/asks" in await (await deploy(office, address + path)).refused(2)
    assert "leave out the path" in await (await deploy(office, f"{address}/ask")).refused(2)
    for url in ("ftp://127.0.0.1", "https://user:secret@127.0.0.1", "nowhere"):
        assert "is not the URL of a server" in await (await deploy(office, url)).refused(2)
    token = office.folder / "token"
    token.write_text(f"{FIRST}\n")
    asking = await deploy(office, address, "--token-file", str(token), ASKBACK_SERVER_TOKEN=wrong)
    await office.click("ada", "Yes")
    await asking.outcome(0)


@pytest.mark.parametrize(
    ("status", "words"), [(307, "answered with 307"), (200, "does not answer as a server"), (404, "check --server")]
)
async def test_a_server_that_is_another_program_gets_no_more_than_one_request(
    office: Office, status: int, words: str
) -> None:
    """A redirect is not followed, since it would carry the token elsewhere."""
    received: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        received.append(request.path)
        return web.Response(status=status, text="hello", headers={"Location": "/elsewhere"})

    async with answering(answer) as url:
        assert words in await (await deploy(office, url)).refused(2)
    assert received == ["/v1/asks"]
