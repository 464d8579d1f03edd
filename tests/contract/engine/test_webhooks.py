"""Outcomes reach their webhooks at least once: over outages of a day, and with several servers on one database.

The test controls the time. The receiver is a real server, and only what it received and the database tell the result.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import socket
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from askback.domain.actions import Action, AttachFiles
from askback.domain.wait_report import WaitReport
from askback.domain.webhook import MOST, Webhook
from askback.doors import webhook_sender, webhook_worker
from askback.errors import CallerError
from askback.internal.clock import utc_now
from askback.store.database import Database
from askback.store.queries import webhooks
from askback.store.store import Store
from support.board import ANN
from support.clocks import DrivenTime
from support.engine import eventually
from support.webhook_receiver import SECRET, is_signed, receiving

from .webhook_rig import DAY, HOUR, LOGO, NOTES, Rig

pytestmark = pytest.mark.usefixtures("stored")


@pytest.fixture
def driven(request: pytest.FixtureRequest, stored: str, monkeypatch: pytest.MonkeyPatch) -> DrivenTime:
    return DrivenTime(monkeypatch, request.getfixturevalue("postgres_url") if stored == "postgres" else None)


@pytest.fixture
async def rig(driven: DrivenTime, database: Database, tmp_path: Path) -> Rig:
    return Rig(Store(database), database, tmp_path, driven)


async def test_a_receiver_that_is_down_for_an_hour_gets_the_outcome_once_it_is_back(rig: Rig) -> None:
    async with receiving() as gone:
        url, port = gone.url, int(gone.url.split(":")[2].split("/")[0])
    rig.allow(url)
    ask_id = await rig.settle(url)
    async with rig.server() as worker:
        first = await rig.tried(ask_id, 1)
        assert first.error == "It could not be reached (ClientConnectorError)."
        attempts = 1
        while rig.driven.ahead < timedelta(hours=1):
            await rig.pass_time(worker, 60 * 2**attempts)
            attempts += 1
            await rig.tried(ask_id, attempts)
        async with receiving(port=port) as back:
            await rig.pass_time(worker, 2 * HOUR)
            ended = await rig.ended(ask_id)
            assert (ended.state, ended.error) == ("delivered", None)
            (received,) = back.received
    assert received.id == ended.id == first.id
    assert is_signed(received)
    assert abs(int(received.headers["webhook-timestamp"]) - utc_now().timestamp()) < 60, (
        "it is the time of this attempt"
    )


async def test_each_failure_is_tried_again_later_with_the_same_id(rig: Rig) -> None:
    async with receiving(500, 404, 503) as receiver, rig.server() as worker:
        rig.allow(receiver.url)
        ask_id = await rig.settle(receiver.url)
        worker.wake()
        for attempt, error in enumerate(("500", "404", "503"), 1):
            assert (await rig.tried(ask_id, attempt)).error == f"It answered with {error}."
            (left,) = (await rig.database.read(lambda one: webhooks.get_times_until_due(one, ["one"]))).values()
            pause = 5 * 2 ** (attempt - 1)
            assert 0.7 * pause <= left.total_seconds() <= 1.25 * pause
            await rig.pass_time(worker, left.total_seconds())
        assert (await rig.ended(ask_id)).state == "delivered"
    assert len({one.id for one in receiver.received}) == 1
    assert len({one.body for one in receiver.received}) == 1
    assert len(receiver.received) == 4


async def test_an_answer_that_comes_too_late_does_not_count(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_sender, "ATTEMPT_SECONDS", 0.3)
    async with receiving(0.6) as receiver, rig.server() as worker:
        rig.allow(receiver.url)
        ask_id = await rig.settle(receiver.url)
        worker.wake()
        assert (await rig.tried(ask_id, 1)).error == "It did not answer within 0.3 s."
        await rig.pass_time(worker, 10)
        await rig.ended(ask_id)
    first, second = receiver.received
    assert first.id == second.id


async def test_a_receiver_that_wants_nothing_more_gets_nothing_more(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(410) as receiver, rig.server() as worker:
        rig.allow(receiver.url)
        ask_id = await rig.settle(receiver.url + "secret-path")
        worker.wake()
        ended = await rig.ended(ask_id)
        await rig.pass_time(worker, DAY)
        await asyncio.sleep(0.2)
    assert (ended.state, ended.error, len(receiver.received)) == (
        "failed",
        "It answered with 410: it wants nothing more.",
        1,
    )
    (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert f"askback show {ask_id}" in record.getMessage()
    assert "secret-path" not in caplog.text


async def test_a_redirect_is_not_followed(rig: Rig) -> None:
    async with receiving() as other, receiving() as receiver, rig.server() as worker:
        receiver.answers = [web.Response(status=status, headers={"Location": other.url}) for status in (302, 307)]
        rig.allow(receiver.url, other.url)
        ask_id = await rig.settle(receiver.url)
        worker.wake()
        for attempt, status in enumerate((302, 307), 1):
            found = await rig.tried(ask_id, attempt)
            assert found.error == f"It answered with {status}, and redirects are not followed."
            await rig.pass_time(worker, 20)
        await rig.ended(ask_id)
    assert other.received == []


async def test_it_is_given_up_after_a_day_and_said(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(*[500] * 99) as receiver, rig.server() as worker:
        rig.allow(receiver.url)
        ask_id = await rig.settle(receiver.url)
        worker.wake()
        attempts = 1
        while (found := await rig.tried(ask_id, attempts)).state == "pending":
            (left,) = (await rig.database.read(lambda one: webhooks.get_times_until_due(one, ["one"]))).values()
            await rig.pass_time(worker, left.total_seconds())
            attempts = found.attempts + 1
        assert timedelta(hours=21) <= rig.driven.ahead <= timedelta(hours=24)
        assert 18 <= found.attempts <= 26
        found = await rig.database.read(webhooks.count)
        assert (found.failed, found.failed_ask, found.late) == (1, ask_id, 0)
        # The program asks the same once more.
        receiver.answers = []
        await rig.store.add_webhook(ask_id, Webhook(caller="one", url=receiver.url))
        worker.wake()
        assert (await rig.ended(ask_id)).state == "delivered"
    assert "could not be delivered" in caplog.text
    assert len({one.id for one in receiver.received}) == 1


@pytest.mark.parametrize(("given", "least", "most"), [("60", 59, 61), ("999999", 7199, 7201), ("soon", 3, 7)])
async def test_a_receiver_says_when_it_wants_the_next_attempt_within_limits(
    rig: Rig, given: str, least: float, most: float
) -> None:
    async with receiving(web.Response(status=429, headers={"Retry-After": given})) as receiver:
        rig.allow(receiver.url)
        ask_id = await rig.settle(receiver.url)
        async with rig.server():
            await rig.tried(ask_id, 1)
            (left,) = (await rig.database.read(lambda one: webhooks.get_times_until_due(one, ["one"]))).values()
            assert least <= left.total_seconds() <= most


async def test_a_name_that_leads_to_a_private_address_is_not_called(rig: Rig) -> None:
    async with receiving() as receiver, rig.server() as worker:
        url = receiver.url.replace("127.0.0.1", socket.gethostname().lower())
        rig.allow(url)
        ask_id = await rig.settle(url)
        worker.wake()
        assert "private address" in str((await rig.tried(ask_id, 1)).error)
        assert receiver.received == []
        rig.allow(url, more='webhook_networks = ["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]\n')
        await rig.pass_time(worker, 60)
        await rig.tried(ask_id, 2)
    assert "private address" not in str((await rig.state(ask_id)).error)


async def test_two_servers_send_each_outcome_once(rig: Rig) -> None:
    async with receiving() as receiver:
        rig.allow(receiver.url)
        asked = [await rig.settle(receiver.url + str(number)) for number in range(20)]
        async with rig.server(), rig.server():
            for ask_id in asked:
                assert (await rig.ended(ask_id)).state == "delivered"
    assert len(receiver.received) == len({one.id for one in receiver.received}) == 20


async def test_a_slow_receiver_of_one_caller_gets_a_few_at_once(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_worker, "SHUTDOWN_SECONDS", 0.1)
    async with receiving(*[5.0] * 20) as receiver:

        async def has_begun() -> bool:
            return len(receiver.received) >= webhook_worker.MAX_CONCURRENT_PER_CALLER

        rig.allow(receiver.url)
        # All are due when the server starts: on a slow machine, the first would be answered before the last is settled.
        for number in range(webhook_worker.MAX_CONCURRENT_PER_CALLER + 3):
            await rig.settle(receiver.url + str(number))
        async with rig.server():
            await eventually(has_begun)
            await asyncio.sleep(0.2)
            assert len(receiver.received) == webhook_worker.MAX_CONCURRENT_PER_CALLER


async def test_a_server_that_ends_during_an_attempt_leaves_it_to_the_next_one(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_worker, "SHUTDOWN_SECONDS", 0.1)
    async with receiving(5.0) as receiver:
        rig.allow(receiver.url)
        ask_id = await rig.settle(receiver.url)

        async def has_begun() -> bool:
            return bool(receiver.received)

        async with rig.server():
            await eventually(has_begun)
        assert (await rig.state(ask_id)).error == "The server ended during the attempt."
        async with rig.server():
            await rig.ended(ask_id)
    assert len({one.id for one in receiver.received}) == 1
    assert len(receiver.received) == 2


async def test_a_server_that_ends_lets_a_running_attempt_end(rig: Rig) -> None:
    async with receiving(0.5) as receiver:
        rig.allow(receiver.url)
        ask_id = await rig.settle(receiver.url)

        async def has_begun() -> bool:
            return bool(receiver.received)

        worker = rig.create_worker()
        task = asyncio.create_task(worker.run())
        await eventually(has_begun)
        task.cancel()
        await asyncio.wait([task])
        assert (await rig.state(ask_id)).state == "delivered"


async def test_a_lease_of_a_killed_server_ends(rig: Rig) -> None:
    async with receiving() as receiver:
        rig.allow(receiver.url)
        ask_id = await rig.settle(receiver.url)
        (lost,) = await rig.store.lease_webhooks("one", 4)
        assert await rig.store.lease_webhooks("one", 4) == ()
        async with rig.server() as worker:
            await rig.pass_time(worker, webhooks.LEASE.total_seconds() + 1)
            assert (await rig.ended(ask_id)).state == "delivered"
        # What the lost one records afterwards changes nothing.
        await rig.store.retry_webhook(lost.delivery, timedelta(0), "late")
        await rig.store.end_webhook(lost.delivery, "failed", "late")
        assert (await rig.state(ask_id)).state == "delivered"
    assert len(receiver.received) == 1


async def test_what_the_operator_takes_back_is_not_sent_until_it_is_allowed_again(rig: Rig) -> None:
    async with receiving() as receiver:
        rig.allow()
        ask_id = await rig.settle(receiver.url)
        async with rig.server():
            assert (await rig.tried(ask_id, 1)).error == "The operator does not allow this address any more."
        # Without its table, nobody knows the caller: another server may.
        rig.write(f'[other]\ntoken = "{"o" * 24}"\nto = "slack:#deploys"\nwho = "anyone"\n')
        before = await rig.state(ask_id)
        async with rig.server() as worker:
            await rig.pass_time(worker, 2 * HOUR)
            await asyncio.sleep(0.2)
        assert await rig.state(ask_id) == before
        assert (await rig.database.read(webhooks.count)).late == 1
        assert receiver.received == []
        rig.allow(receiver.url)
        async with rig.server():
            assert (await rig.ended(ask_id)).state == "delivered"


async def test_a_new_secret_signs_beside_the_old_one(rig: Rig) -> None:
    newer = "whsec_" + base64.b64encode(b"n" * 24).decode()
    async with receiving() as receiver, rig.server() as worker:
        rig.allow(receiver.url, secret=f'["{newer}", "{SECRET}"]')
        ask_id = await rig.settle(receiver.url)
        worker.wake()
        await rig.ended(ask_id)
        (received,) = receiver.received
    assert is_signed(received, newer)
    assert is_signed(received)
    assert not is_signed(received, "whsec_" + base64.b64encode(b"o" * 24).decode())


async def test_an_outcome_waits_for_the_contents_of_its_files(rig: Rig) -> None:
    async with receiving() as receiver, rig.server() as worker:
        rig.allow(receiver.url)
        ask_id = await rig.ask(receiver.url, form=LOGO)
        give = Action(ask_id=ask_id, actor=ANN, at=utc_now(), step=0, operation=AttachFiles(files=(NOTES,)))
        await rig.manager.act(give)
        ask = await rig.store.get(ask_id)
        assert ask is not None
        assert (ask.outcome is not None, ask.is_complete) == (True, False)
        worker.wake()
        await asyncio.sleep(0.2)
        assert (receiver.received, (await rig.state(ask_id)).attempts) == ([], 0)
        (file,) = await rig.store.lease_files(5, "board")
        await rig.store.store_file(file, b"words", "text")
        await rig.pass_time(worker, 3)
        await rig.ended(ask_id)
        assert receiver.received[0].document["answer"] == "notes.txt (1 kB)"


async def test_each_address_gets_the_outcome_once_however_often_it_is_named(rig: Rig) -> None:
    async with receiving() as receiver, rig.server() as worker:
        rig.allow(receiver.url)
        urls = [receiver.url + str(number) for number in range(MOST)]
        ask_id = await rig.ask(*urls, urls[0])
        with pytest.raises(CallerError, match="which is the most"):
            await rig.store.add_webhook(ask_id, Webhook(caller="one", url=receiver.url + "more"))
        await rig.manager.cancel(ask_id)
        worker.wake()

        async def are_delivered() -> bool:
            return all(one.state == "delivered" for one in await rig.states(ask_id))

        await eventually(are_delivered)
        await rig.store.add_webhook(ask_id, Webhook(caller="one", url=urls[0]))
        worker.wake()
        await asyncio.sleep(0.2)
        assert await are_delivered()
    assert len(receiver.received) == len({one.id for one in receiver.received}) == MOST


async def test_retention_deletes_the_addresses_with_their_ask(rig: Rig) -> None:
    ask_id = await rig.settle("https://ci.example.com/")
    kept = await rig.ask("https://ci.example.com/")
    await rig.database.run(lambda connection: connection.exec_driver_sql("DELETE FROM outbox").rowcount)
    assert (await rig.store.prune(utc_now() + timedelta(hours=1), 10)).asks == 1
    assert await rig.states(ask_id) == ()
    assert (await rig.state(kept)).state == "pending"


async def test_a_card_never_says_that_a_program_with_a_webhook_does_not_wait(rig: Rig) -> None:
    alone, other = await rig.ask(), await rig.ask("https://ci.example.com/")
    await rig.store.record_waits(WaitReport(waiting=(alone, other)))
    rig.driven.advance(200)
    assert await rig.store.list_changed_waits() == (alone,)
    assert await rig.store.apply_wait(alone)
    assert not await rig.store.apply_wait(other)
    await rig.store.add_webhook(alone, Webhook(caller="one", url="https://ci.example.com/"))
    assert await rig.store.list_changed_waits() == (alone,)
    assert await rig.store.apply_wait(alone)
    ask = await rig.store.get(alone)
    assert ask is not None
    assert ask.absence is None
    assert await rig.store.list_changed_waits() == ()
