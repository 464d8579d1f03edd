"""`askback ask --server`: a script asks through a server, and needs neither its database nor a platform's token."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from aiohttp import web

from e2e.ask.office import OPTIONS, Office, Process

from .http_caller import FIRST, SECOND, serve, write_callers

NOTHING = {
    "ASKBACK_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "SLACK_BOT_TOKEN": "", "SLACK_APP_TOKEN": "", "DISCORD_TOKEN": "",
}  # fmt: skip
"""The script has no database and no token of a platform."""


async def ask(office: Office, address: str, *arguments: str, **more: str) -> Process:
    return await office.start(
        "ask", *arguments, "--server", address, **(NOTHING | {"ASKBACK_SERVER_TOKEN": FIRST} | more)
    )


async def deploy(office: Office, address: str, *arguments: str, **more: str) -> Process:
    return await ask(office, address, "Deploy 1.4.2?", *OPTIONS, *arguments, **more)


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


async def test_what_the_operator_decides_cannot_be_given(office: Office) -> None:
    _, address = await serve(office, file=write_callers(office, second="scopes = []"))
    for option in (("--approvers", "anyone"), ("--requested-by", "@ada"), ("--own",), ("--remind", "1h")):
        said = await (await deploy(office, address, *option)).refused(2)
        assert f"{option[0]} does not go together with --server" in said
    said = await (await deploy(office, address, "--to", "#general")).refused(2)
    assert "The operator does not let you ask in" in said
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

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner: Any = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        assert words in await (await deploy(office, f"http://127.0.0.1:{port}")).refused(2)
    finally:
        await runner.cleanup()
    assert received == ["/v1/asks"]
