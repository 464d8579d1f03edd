"""Webhooks of `askback serve`: the program learns the outcome without waiting, at least once."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from askback_sandbox.attached import Attached
from e2e.ask.office import Office, Process
from support.certificates import Authority, create_self_signed
from support.webhook_receiver import SECRET, Receiver, is_signed, receiving

from .file_answers import LOGO, give
from .file_answers import QUESTION as FILE_QUESTION
from .fresh_program import prepare_fresh
from .http_caller import FIRST, QUESTION, SECOND, HttpCaller, caller, serve, write_callers
from .killed_servers import SERVER, press_until_killed
from .looking_bot import looking_bot
from .waits import pass_time, reads, run, waited_for

KILLED_BEFORE_LEASE = ("before:lease_webhooks", "commit:lease_webhooks")


def allow(office: Office, *urls: str, more: str = "") -> None:
    """Write the file of the callers, of which the first may name these webhooks."""
    write_callers(office, first=f'webhooks = {[*urls]}\nwebhook_secret = "{SECRET}"\n{more}')


async def start(office: Office, *, program: Path | None = None, **environment: str) -> tuple[Process, str]:
    """Start a server with the callers that are allowed now."""
    return await serve(office, file=office.folder / "callers.toml", program=program, **environment)


async def start_fresh(office: Office, **environment: str) -> tuple[Process, str]:
    """Start a server that reads the certificates of this machine itself."""
    program, own = prepare_fresh(office)
    return await start(office, program=program, **own, **environment)


async def ask(office: Office, address: str, receiver: Receiver) -> str:
    """Ask with a webhook, and return the id of the question once people see it."""
    async with aiohttp.ClientSession() as session:
        asked = await HttpCaller(session, address).ask(**QUESTION, webhook=receiver.url)
    await office.card()
    return asked["id"]


async def delivered(office: Office, count: int = 1) -> None:
    """Wait until this number of deliveries is recorded."""
    await office.until(lambda: run(office, "SELECT state FROM webhooks") == [("delivered",)] * count)


async def test_the_outcome_is_sent_once_and_signed_when_people_have_answered(stored_office: Office) -> None:
    office = stored_office
    async with receiving() as receiver:
        allow(office, receiver.url)
        async with caller(office, file=office.folder / "callers.toml") as one:
            asked = await one.ask(**QUESTION, webhook=receiver.url + "42?token=t")
            found = await one.get(asked["id"])
            (state,) = found["webhooks"]
            assert (state["state"], state["attempts"], state["url"]) == ("pending", 0, receiver.url + "42")
            await office.click("ada", "Yes")
            await delivered(office)
            (attempt,) = receiver.received
            assert is_signed(attempt)
            assert attempt.headers["content-type"] == "application/json"
            found = await one.get(asked["id"])
            (state,) = found.pop("webhooks")
            assert attempt.document == found
            assert (attempt.document["answer"], attempt.id) == ("Yes", state["id"])
            # It has received the outcome, so the same question is asked again.
            again = await one.ask(**QUESTION, webhook=receiver.url + "42?token=t")
            assert again["id"] != asked["id"]


async def test_a_timeout_and_a_cancellation_are_sent_too(office: Office) -> None:
    async with receiving() as receiver:
        allow(office, receiver.url)
        async with caller(office, file=office.folder / "callers.toml") as one:
            late = await one.ask(**QUESTION, webhook=receiver.url, timeout=1)
            other = await one.ask(question="And 1.4.3?", options=["Yes", "No"], webhook=receiver.url)
            await one.request("POST", f"/v1/asks/{other['id']}/cancel")
            await delivered(office, 2)
    found = {one.document["id"]: one.document["status"] for one in receiver.received}
    assert found == {late["id"]: "timed_out", other["id"]: "cancelled"}


async def test_the_contents_of_a_file_are_there_when_the_outcome_arrives(office: Office) -> None:
    async with receiving() as receiver:
        allow(office, receiver.url)
        async with caller(office, file=office.folder / "callers.toml") as one:
            asked = await one.ask(questions=[FILE_QUESTION], webhook=receiver.url)

            await give(office, Attached("logo.png", content=LOGO))
            await delivered(office)
            file = receiver.received[0].document["answers"]["logo"]
            async with one.open("GET", f"/v1/asks/{asked['id']}/files/{file['id']}") as response:
                assert await response.read() == LOGO


async def test_what_people_answer_while_no_server_runs_is_sent_when_one_starts(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    async with receiving() as receiver:
        allow(office, receiver.url)
        server, address = await start(office)
        await ask(office, address, receiver)
        await server.kill()
        await office.click("ada", "No")
        await office.settled("Deploy 1.4.2?")
        assert receiver.received == []
        await start(office)
        await delivered(office)
    assert [one.document["status"] for one in receiver.received] == ["refused"]


async def test_a_server_that_is_killed_during_an_attempt_sends_the_same_id_again(stored_office: Office) -> None:
    office = stored_office
    async with receiving(9.0) as receiver:
        allow(office, receiver.url)
        server, address = await start(office)
        await ask(office, address, receiver)
        await office.click("ada", "Yes")
        await office.until(lambda: receiver.received)
        await server.kill()
        run(office, "UPDATE webhooks SET leased_until = leased_until - 30000000")
        await start(office)
        await delivered(office)
    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)


@pytest.mark.parametrize("window", KILLED_BEFORE_LEASE)
async def test_a_server_that_is_killed_between_the_answer_and_the_first_attempt_loses_no_outcome(
    stored_office: Office, window: str
) -> None:
    office = stored_office
    async with receiving() as receiver:
        allow(office, receiver.url)
        server, address = await start(office, program=SERVER, RIG_WINDOW=window)
        asked = await ask(office, address, receiver)
        await press_until_killed(office, server, "Yes")
        assert run(office, "SELECT state, attempts FROM webhooks") == [("pending", 0)]
        assert receiver.received == []
        await start(office)
        await delivered(office)
        ids = run(office, "SELECT id FROM webhooks")
    assert [(one.id,) for one in receiver.received] == ids
    assert (receiver.received[0].document["id"], receiver.received[0].document["answer"]) == (asked, "Yes")


async def test_a_server_that_is_killed_with_the_lease_repeats_the_attempt_with_one_id(stored_office: Office) -> None:
    office = stored_office
    async with receiving() as receiver:
        allow(office, receiver.url)
        server, address = await start(office, program=SERVER, RIG_WINDOW="after:lease_webhooks")
        await ask(office, address, receiver)
        await press_until_killed(office, server, "Yes")
        assert run(office, "SELECT state, attempts FROM webhooks") == [("pending", 1)]
        run(office, "UPDATE webhooks SET leased_until = leased_until - 30000000")
        await start(office)
        await delivered(office)
        ids = run(office, "SELECT id FROM webhooks")
    assert [(one.id,) for one in receiver.received] == ids


async def test_a_receiver_with_a_certificate_that_nobody_trusts_gets_nothing(office: Office) -> None:
    tls = create_self_signed(office.folder, "127.0.0.1")
    async with receiving(tls=tls) as receiver:
        allow(office, receiver.url)
        server, address = await start(office)
        asked = await ask(office, address, receiver)
        await office.click("ada", "Yes")
        await server.said("trying again in")
        async with aiohttp.ClientSession() as session:
            (state,) = (await HttpCaller(session, address).get(asked))["webhooks"]
    reason = "Its TLS certificate is not trusted (self-signed certificate)."
    assert (state["state"], state["attempts"], state["error"]) == ("pending", 1, reason)
    assert re.search(rf"Could not deliver an outcome to https://127\.0\.0\.1:\d+, .*{re.escape(reason)}", server.err)
    assert "Traceback" not in server.err
    assert receiver.received == []


async def test_a_receiver_of_an_authority_that_the_operator_trusts_gets_the_outcome(office: Office) -> None:
    authority = Authority(office.folder)
    async with receiving(tls=authority.issue("127.0.0.1")) as receiver:
        allow(office, receiver.url)
        server, address = await start(office)
        await ask(office, address, receiver)
        await office.click("ada", "Yes")
        await server.said("Its TLS certificate is not trusted (unable to get local issuer certificate).")
        assert receiver.received == []
        await server.kill()
        run(office, "UPDATE webhooks SET due_at = due_at - 3600000000, leased_until = NULL")
        await start_fresh(office, SSL_CERT_FILE=str(authority.file))
        await delivered(office)
    (attempt,) = receiver.received
    assert is_signed(attempt)
    assert attempt.document["answer"] == "Yes"


async def test_a_trusted_certificate_for_another_host_is_not_enough(office: Office) -> None:
    authority = Authority(office.folder)
    async with receiving(tls=authority.issue("other.example")) as receiver:
        allow(office, receiver.url)
        server, address = await start_fresh(office, SSL_CERT_FILE=str(authority.file))
        await ask(office, address, receiver)
        await office.click("ada", "Yes")
        await server.said("Its TLS certificate is for another host.")
    assert receiver.received == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_server_that_is_told_to_end_lets_an_attempt_end(office: Office, number: int) -> None:
    async with receiving(2.0) as receiver:
        allow(office, receiver.url)
        server, address = await start(office)
        await ask(office, address, receiver)
        await office.click("ada", "Yes")
        await office.until(lambda: receiver.received)
        server.signal(number)
        assert (await server.ended())[0] == 0
        assert run(office, "SELECT state, attempts FROM webhooks") == [("delivered", 1)]
        assert "Traceback" not in server.err


async def test_two_servers_beside_a_bot_send_the_outcome_once(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    async with receiving() as receiver:
        allow(office, receiver.url)
        _, address = await start(office)
        await start(office)
        await ask(office, address, receiver)
        await office.click("ada", "Yes")
        await delivered(office)
        await asyncio.sleep(1)
    assert len(receiver.received) == 1


async def test_a_caller_names_only_what_the_operator_lists(office: Office) -> None:
    allow(office, "https://ci.example.com/hooks/", "https://ci.example.com/other?x=1")
    async with caller(office, file=office.folder / "callers.toml") as one:
        for url in (
            "https://ci.example.com/other",
            "https://ci.example.com/hooks/../admin",
            "https://ci.example.com/hooks/..%2fadmin",
            "https://ci.example.com:8443/hooks/1",
            "http://ci.example.com/hooks/1",
            "https://ci.example.com.evil.example/hooks/1",
            "https://ci.example.com@evil.example/hooks/1",
            "http://127.0.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "file:///etc/passwd",
            "nothing",
        ):
            wrong = QUESTION | {"webhook": url}
            assert "does not allow this webhook" in await one.problem(422, "POST", "/v1/asks", json=wrong), url
        body: dict[str, Any] = QUESTION | {"webhook": "https://ci.example.com/hooks/1"}
        said = await one.problem(422, "POST", "/v1/asks", json=body, token=SECOND)
        assert "allows no webhooks" in said
        assert office.shown() == []
        asked = await one.ask(**body)
        assert (await one.get(asked["id"]))["webhooks"][0]["url"] == body["webhook"]


async def test_the_secret_is_shown_nowhere(office: Office) -> None:
    async with receiving(410) as receiver:
        allow(office, receiver.url)
        office.settings = {"ASKBACK_LOG_LEVEL": "DEBUG"}
        server, address = await start(office)
        async with aiohttp.ClientSession() as session:
            one = HttpCaller(session, address)
            asked = await one.ask(**QUESTION, webhook=receiver.url + "path-of-the-receiver?key=key-of-the-receiver")
            await office.click("ada", "Yes")
            await office.until(lambda: run(office, "SELECT state FROM webhooks") == [("failed",)])
            _, document = await one.request("GET", "/openapi.json")
            body = QUESTION | {"details": SECRET.removeprefix("whsec_")}
            assert "contains a secret" in await one.problem(422, "POST", "/v1/asks", json=body)
        texts = [json.dumps(document), server.err]
        for arguments in (("show", asked["id"]), ("show", asked["id"], "--json"), ("doctor",)):
            process = await office.start(*arguments)
            _, out = await process.ended()
            texts += [out, process.err]
        shown, as_json, doctor = texts[2], texts[4], texts[6]
        assert "failed" in shown
        assert "1 attempt. It answered with 410: it wants nothing more." in shown
        assert json.loads(as_json)["webhooks"][0]["state"] == "failed"
        assert f"askback show {asked['id']}" in doctor
        for text in texts:
            assert SECRET not in text
            assert SECRET.removeprefix("whsec_") not in text
            assert "of-the-receiver" not in text


async def test_without_its_token_a_caller_gets_nothing_until_it_is_back(office: Office) -> None:
    async with receiving() as receiver:
        allow(office, receiver.url)
        server, address = await start(office)
        await ask(office, address, receiver)
        file = office.folder / "callers.toml"
        before = file.read_text()
        file.write_text(before[before.index("[second]") :])
        await server.said("Read 1 caller again")
        await office.click("ada", "Yes")
        await office.settled("Deploy 1.4.2?")
        await asyncio.sleep(1)
        assert receiver.received == []
        file.write_text(before.replace(FIRST, "another-token-of-the-first"))
        await delivered(office)
    assert len(receiver.received) == 1


async def test_a_wrong_list_of_webhooks_does_not_start(office: Office) -> None:
    file = office.folder / "callers.toml"
    secret = f'webhook_secret = "{SECRET}"\n'
    for lines, words in (
        ('webhooks = ["https://ci.example.com/"]', "no secret that signs"),
        (secret, "no address"),
        (secret + 'webhooks = ["ci.example.com"]', "not a URL"),
        (secret + 'webhooks = ["https://user:pass@ci.example.com/"]', "not a URL"),
        (secret + 'webhooks = "https://a.example/"\nwebhook_networks = ["10.0.0.1/8"]', "not a network"),
        ('webhooks = "https://a.example/"\nwebhook_secret = "whsec_c2hvcnQ="', "whsec_ and 24 to 64 bytes"),
        (f'webhooks = "https://a.example/"\nwebhook_secret = "{SECRET[6:]}"', "whsec_ and 24 to 64 bytes"),
    ):
        write_callers(office, first=lines)
        said = await (await office.start("serve", "--callers", str(file), "--http", "0")).refused(2)
        assert words in said, said
        assert SECRET[6:] not in said


async def test_the_card_never_says_that_a_program_with_a_webhook_does_not_wait(office: Office) -> None:
    await looking_bot(office)
    async with receiving() as receiver:
        allow(office, receiver.url)
        async with caller(office, file=office.folder / "callers.toml") as one:
            other: dict[str, Any] = {"question": "And 1.4.3?", "options": ["Yes", "No"]}
            waiting = [
                asyncio.create_task(one.ask(60, **body)) for body in (QUESTION | {"webhook": receiver.url}, other)
            ]
            await waited_for(office, 2)
            before = dict(run(office, "SELECT ask_id, waits_until FROM waits"))
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)

            def have_ended() -> bool:
                now = dict(run(office, "SELECT ask_id, waits_until FROM waits"))
                return all(now[ask] < until for ask, until in before.items())

            await office.until(have_ended)
            pass_time(office, 1000)
            await reads(office, "And 1.4.3?", "is not waiting at the moment")
            await reads(office, "Deploy 1.4.2?", without="is not waiting at the moment")


async def test_the_document_describes_what_a_webhook_gets(office: Office) -> None:
    async with receiving() as receiver:
        allow(office, receiver.url)
        async with caller(office, file=office.folder / "callers.toml") as one:
            await one.ask(**QUESTION, webhook=receiver.url)
            await office.click("ada", "Yes")
            await delivered(office)
            _, document = await one.request("GET", "/openapi.json")
    described = document["webhooks"]["outcome"]["post"]
    (received,) = receiver.received
    assert {one["name"] for one in described["parameters"]} <= received.headers.keys()
    schema = described["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert received.document.keys() <= document["components"]["schemas"][schema]["properties"].keys()
