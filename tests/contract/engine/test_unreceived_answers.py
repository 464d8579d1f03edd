"""The card of an answered question says that no program has received the answer, as long as that is so."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from sqlalchemy import Connection, select, update

from askback.domain.actions import Action, Choose
from askback.domain.ask import Ask
from askback.domain.caller_absence import Absence
from askback.domain.form import Form, Option, Question
from askback.domain.hand_over import CallId, name_caller_call
from askback.domain.wait_report import WaitReport
from askback.domain.webhook import Webhook
from askback.domain.who import Who
from askback.internal.clock import SECOND, utc_now
from askback.manager import QuestionManager, build_ask, build_policy
from askback.store.database import Database
from askback.store.queries.receipts import RECEIPT_SECONDS, RESUME_SECONDS
from askback.store.queries.waits import GRACE_SECONDS
from askback.store.schema import waits
from askback.store.store import Store
from support.board import ANN, HERE

pytestmark = pytest.mark.usefixtures("stored")

OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=OPTIONS),))


async def ask(store: Store, key: str, webhook: Webhook | None = None) -> Ask:
    """Ask for a caller of a server."""
    new = build_ask(TEA, to=HERE, policy=build_policy(Who.from_people(ANN), 3600.0), key=f"mcp:caller:ask:{key}:call")
    return await QuestionManager(store).submit(new.evolve(keeps_receipt=True, webhook=webhook))


async def ask_in_run(store: Store, call: str) -> Ask:
    """Ask for an agent framework."""
    new = build_ask(TEA, to=HERE, policy=build_policy(Who.from_people(ANN), 3600.0), key=f"framework:{call}")
    asked = await QuestionManager(store).submit(new)
    await store.record_hand_over(in_run(call), asked.id, "digest")
    return asked


def in_run(call: str) -> CallId:
    return CallId(framework="langgraph", run="thread", call=call)


async def answer(store: Store, asked: Ask) -> None:
    await QuestionManager(store).act(
        Action(ask_id=asked.id, actor=ANN, at=utc_now(), step=0, operation=Choose(index=0))
    )


async def pass_time(database: Database, seconds: float) -> None:
    """Move what is known of all waits into the past."""
    passed = int(seconds * SECOND)

    def move(connection: Connection) -> None:
        moved = {"waits_until": waits.c.waits_until - passed, "kept_until": waits.c.kept_until - passed}
        connection.execute(update(waits).values(moved))

    await database.run(move)


async def look(store: Store) -> list[str]:
    """Do what the bot does now and then; return the ids of the asks whose cards change."""
    return [ask_id for ask_id in await store.list_changed_waits() if await store.apply_wait(ask_id)]


async def shown(store: Store, asked: Ask) -> Absence | None:
    """Return what the card says about the program."""
    found = await store.get(asked.id)
    assert found is not None
    return found.to_card().absence


async def list_waits(database: Database) -> Iterable[str]:
    return await database.read(lambda connection: tuple(connection.execute(select(waits.c.ask_id)).scalars()))


async def test_an_answer_for_a_killed_caller_is_told_within_seconds_and_corrected_by_the_next_call(
    database: Database, store: Store
) -> None:
    asked = await ask(store, "one")
    await store.record_waits(WaitReport(waiting=(asked.id,)))
    await answer(store, asked)
    await pass_time(database, RECEIPT_SECONDS - 5)
    assert await look(store) == []
    await pass_time(database, 5)
    assert await look(store) == [asked.id]
    assert await shown(store, asked) == "unreceived"
    assert await look(store) == [], "it is said once"

    before = await store.get(asked.id)
    assert await store.receive_hand_over(name_caller_call(asked))
    after = await store.get(asked.id)
    assert before is not None
    assert after is not None
    assert after.to_card().absence is None
    assert not after.is_drawn
    assert after.outcome == before.outcome


async def test_an_approval_that_no_later_call_can_receive_is_told_as_lost_unless_a_call_claims_it(
    database: Database, store: Store
) -> None:
    asked = await ask(store, "one")
    await store.record_waits(WaitReport(waiting=(asked.id,), lost=frozenset({asked.id})))
    await answer(store, asked)
    await pass_time(database, RECEIPT_SECONDS)
    assert await look(store) == [asked.id]
    assert await shown(store, asked) == "lost"
    call = name_caller_call(asked)
    assert await store.claim_hand_overs({call: call.run}, "same call") == "claimed"
    assert await shown(store, asked) is None
    assert await store.claim_hand_overs({call: call.run}, "another call") == "taken"


async def test_an_answer_that_is_received_in_time_changes_no_card(database: Database, store: Store) -> None:
    asked = await ask(store, "one")
    await store.record_waits(WaitReport(waiting=(asked.id,)))
    await answer(store, asked)
    settled = await store.get(asked.id)
    assert await store.receive_hand_over(name_caller_call(asked))
    assert await store.get(asked.id) == settled
    assert await list_waits(database) == ()


async def test_a_card_that_says_that_nobody_waits_says_at_once_that_nobody_has_received_the_answer(
    database: Database, store: Store
) -> None:
    asked = await ask(store, "one")
    await store.record_waits(WaitReport(waiting=(asked.id,)))
    await store.record_waits(WaitReport(ended=(asked.id,)))
    await pass_time(database, GRACE_SECONDS)
    assert await look(store) == [asked.id]
    await answer(store, asked)
    assert await shown(store, asked) == "unreceived"
    await store.record_waits(WaitReport(received=frozenset({asked.id})))
    assert await shown(store, asked) is None
    assert await list_waits(database) == ()


async def test_a_report_that_comes_after_the_answer_neither_delays_nor_hides_it(
    database: Database, store: Store
) -> None:
    asked = await ask(store, "one")
    await store.record_waits(WaitReport(waiting=(asked.id,)))
    await answer(store, asked)
    ids = (asked.id,)
    await store.record_waits(WaitReport(waiting=ids))
    await store.record_waits(WaitReport(ended=ids))
    await store.record_waits(WaitReport(ended=ids, kept=frozenset(ids)))
    await store.record_waits(WaitReport(lost=frozenset(ids)))
    await pass_time(database, RECEIPT_SECONDS)
    assert await look(store) == [asked.id]


async def test_only_an_answer_for_a_caller_that_has_waited_is_missed(database: Database, store: Store) -> None:
    alone, withdrawn = [await ask(store, name) for name in ("alone", "withdrawn")]
    sent = await ask(store, "sent", Webhook(caller="caller", url="https://example.com/hook"))
    await store.record_waits(WaitReport(waiting=(withdrawn.id, sent.id)))
    assert await QuestionManager(store).cancel(withdrawn.id)
    for one in (alone, sent):
        await answer(store, one)
    await pass_time(database, 1000)
    assert await look(store) == []
    assert await list_waits(database) == ()


async def test_a_run_that_no_process_waits_for_is_missed_once_all_its_questions_are_settled(
    database: Database, store: Store
) -> None:
    first, second, third = [await ask_in_run(store, call) for call in ("first", "second", "third")]
    await answer(store, first)
    await answer(store, second)
    await pass_time(database, 1000)
    assert await look(store) == [], "a framework continues with all answers of a turn"
    assert await QuestionManager(store).cancel(third.id)
    await pass_time(database, RESUME_SECONDS - 5)
    assert await look(store) == []
    await pass_time(database, 5)
    assert sorted(await look(store)) == sorted((first.id, second.id))
    assert [await shown(store, one) for one in (first, second, third)] == ["unreceived", "unreceived", None]

    digests = {in_run(call): "digest" for call in ("first", "second", "third")}
    assert await store.claim_hand_overs(digests, "one") == "claimed"
    assert [await shown(store, one) for one in (first, second)] == [None, None]
    assert await store.unclaim_hand_overs("one"), "the framework has not taken them"
    await pass_time(database, RESUME_SECONDS)
    assert sorted(await look(store)) == sorted((first.id, second.id))


async def test_one_of_several_bots_says_it_once(database: Database, store: Store) -> None:
    asked = await ask(store, "one")
    await store.record_waits(WaitReport(waiting=(asked.id,)))
    await answer(store, asked)
    await pass_time(database, RECEIPT_SECONDS)
    assert [await Store(database).apply_wait(asked.id) for _ in range(3)] == [True, False, False]
    assert await shown(store, asked) == "unreceived"
