"""Stops, new beginnings, budgets, strangers, files, earlier messages: in the core alone, with a board."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from askback.agent.budget import Budget
from askback.domain.actions import Choose
from askback.domain.bot_access import Access
from askback.domain.form import Form, Question
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import EditedMessage, HistoryMessage, IncomingMessage, MessageResult
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Message, ToolCall, TurnEnd
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.manager import build_ask, build_policy
from askback_sandbox.model.script import Fault, turn
from askback_sandbox.services import Services
from support.board import ANN, BEN, HERE, Board
from support.engine import Engine, engine, eventually, last_request, question, results

pytestmark = pytest.mark.usefixtures("stored")


def texts(services: Services) -> list[str]:
    """Return the texts in the model's newest request, except tool results."""
    return [block["text"] for one in last_request(services) for block in one["content"] if block["type"] == "text"]


async def hear(one: Engine, text: str, *, author: Actor = ANN, place: Place = HERE, **more: object) -> MessageResult:
    key = str(more.pop("key", None) or f"{text}:{utc_now()}")
    heard = IncomingMessage(place=place, author=author, text=text, dedupe_key=key, at=utc_now()).evolve(**more)
    taken = await one.reception.receive(heard, begin=True)
    one.worker.wake()
    return taken


# Stop


async def test_a_stop_ends_a_turn_in_the_middle_and_says_who_stopped_it(
    tmp_path: Path, board: Board, services: Services
) -> None:
    # The local model replies by the request. A stopped turn leaves no message, so the next request is the same.
    services.model.script(turn("A text that comes to its end."))
    services.model.fail(Fault(kind="stall", after=16))
    async with engine(tmp_path, board, services, patience=30) as one:
        await one.write("hello")
        await one.says("A text that ")  # everything that comes before the stall
        assert await one.stop(ANN) is None
        await one.says("Stopped by Ann.")
        await board.until(lambda: board.statuses[-1] == "idle")
        await one.write("what about apples?")
        await one.says("A text that comes to its end.")
        assert texts(services) == [
            "Ann: hello",
            "[Ann stopped you here. Do not continue earlier requests, unless people ask for them again.]",
            "Ann: what about apples?",
        ]
        assert board.texts()[:2] == ["A text that ", "Stopped by Ann."], "what was shown stays as it stood"


async def test_a_stop_settles_the_open_questions_and_keeps_every_call_with_its_result(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?"), question("B?")), turn("Fine."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        cards = await one.asked(2)
        await one.recorded(*cards)
        assert (await hear(one, "Stop!", key="stop")).notice is None
        assert (await hear(one, "Stop!", key="stop")).notice is None, "delivered twice"
        await board.until(lambda: not board.open())
        await one.says("Stopped by Ann.")
        assert {ask.status for ask in board.cards()} == {"cancelled"}
        assert len(services.model.log) == 1, "the model is not called for it"
        await one.write("and now?")
        await one.says("Fine.")
        assert len(results(last_request(services))) == 2
        assert texts(services)[-1] == "Ann: and now?"


async def test_others_may_not_stop_it_unless_they_are_administrators(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question()), turn("Fine."))
    async with engine(tmp_path, board, services, access=Access(open=True, admins=("U9",))) as one:
        await one.write("hello")
        await one.asked()
        assert await one.stop(BEN) == "Only Ann, who began this, or an administrator may stop it."
        assert board.open()
        admin = Actor(platform="board", tenant="T1", id="U9", name="Root")
        assert await one.stop(admin) is None
        await one.says("Stopped by Root.")


async def test_where_nothing_goes_on_there_is_nothing_to_stop(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("Hi."))
    async with engine(tmp_path, board, services) as one:
        assert await one.stop(ANN) == "There is nothing to stop here."
        await one.write("hello")
        await one.says("Hi.")
        await board.until(lambda: board.statuses[-1] == "idle")
        assert await one.stop(ANN) == "There is nothing to stop here."


async def test_what_only_contains_the_word_is_for_the_model(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("Stopping the server."))
    async with engine(tmp_path, board, services) as one:
        await one.write("stop the server")
        await one.says("Stopping the server.")


# Recent conversations, which a bot reads again when it starts


async def test_a_recent_conversation_is_named_with_the_newest_message_that_a_person_wrote(
    tmp_path: Path, board: Board, services: Services
) -> None:
    since = utc_now() - timedelta(days=1)
    other = HERE.evolve(thread="2")
    services.model.script(turn("Hi."), turn("Fine."), when="hello")
    services.model.script(turn("Hello, Ben."), when="ben here")
    async with engine(tmp_path, board, services) as one:
        await one.write("hello", key="k1")
        await one.says("Hi.")
        await one.write("ben here", author=BEN, place=other, key="k2")
        await one.says("Hello, Ben.")
        await one.write("how are you?", key="k3")
        await one.says("Fine.")
        heard = IncomingMessage(place=HERE, author=ANN, text="how is it?", dedupe_key="k3", at=utc_now())
        await one.changes.handle_edit(EditedMessage(message=heard, at=utc_now()))
        await one.stop(ANN)
        recent = await one.store.list_recent("board", since)
        assert sorted((found.place.thread, found.newest_key) for found in recent) == [("1", "k3"), ("2", "k2")]
        assert await one.store.list_recent("else", since) == ()
        assert await one.store.list_recent("board", utc_now() + timedelta(minutes=1)) == ()
        await one.write("new", place=other, author=BEN, key="k4")
        await one.says("This is a new conversation")
        recent = await one.store.list_recent("board", since)
        assert sorted((found.place.thread, found.newest_key) for found in recent) == [("1", "k3"), ("2", "k4")]


async def test_a_command_that_shows_the_open_questions_counts_as_read(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question()), when="hello")
    async with engine(tmp_path, board, services) as one:
        await one.write("hello", key="k1")
        await one.recorded(*await one.asked())
        assert not (await hear(one, "show the question", key="k2")).new, "it is not for the model"
        (recent,) = await one.store.list_recent("board", utc_now() - timedelta(days=1))
        assert recent.newest_key == "k2"


# New


async def test_new_sets_the_conversation_aside_and_settles_its_questions(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question()), when="hello")
    services.model.script(turn("A fresh start."), when="who are you?")
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.asked()
        await one.write("new", key="k1")
        await board.until(lambda: not board.open())
        await one.says("This is a new conversation")
        assert not await one.write("new", key="k1"), "delivered twice"
        await one.write("who are you?")
        await one.says("A fresh start.")
        assert texts(services) == ["Ann: who are you?"]
        assert len([text for text in board.texts() if "new conversation" in text]) == 1


async def test_what_was_heard_before_new_is_not_heard_again_after_it(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("Hi."), when="hello")
    services.model.script(turn("Hi again."), when="hello again")
    async with engine(tmp_path, board, services) as one:
        await one.write("hello", key="k1")
        await one.says("Hi.")
        await one.write("new")
        assert not await one.write("hello", key="k1")
        assert await one.write("hello again", key="k2")
        await one.says("Hi again.")


async def test_others_may_not_end_a_conversation_by_beginning_anew(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question()), when="hello")
    async with engine(tmp_path, board, services, access=Access(open=True, admins=("U9",))) as one:
        await one.write("hello")
        await one.asked()
        taken = await hear(one, "new", author=BEN)
        assert (taken.new, taken.notice) == (
            False,
            "Only Ann, who began this, or an administrator may start a new conversation here.",
        )
        assert board.open()
        assert (await hear(one, "new", author=Actor(platform="board", tenant="T1", id="U9", name="Root"))).new
        await board.until(lambda: not board.open())


async def test_a_turn_that_was_stopped_commits_nothing_however_far_it_came(
    tmp_path: Path, board: Board, services: Services
) -> None:
    """The other order of the race: the model has answered, and the stop is committed first."""
    async with engine(tmp_path, board, services, work=False) as one:
        await hear(one, "hello")
        conversation = await one.store.find_conversation(HERE)
        assert conversation is not None
        begun = await one.store.begin_turn(conversation.id, lambda *_: Message(seq=0, role="user", content=()))
        assert begun is not None
        ask = build_ask(
            Form(questions=(Question(id="q", prompt="Go on?", options=()),)),
            to=HERE,
            policy=build_policy(Who.from_people(ANN), None),
            conversation_id=conversation.id,
        )
        end = TurnEnd(
            conversation_id=conversation.id,
            content=({"type": "text", "text": "Done."},),
            calls=(ToolCall(tool_use_id="t1", tool="question", input={}, ask=ask),),
            outgoing=OutgoingMessage(target="say:1", text="Done.", markdown=True),
            stops=begun.conversation.stops,
            after=begun.history[-1].seq,
            tokens=7,
        )
        assert await one.store.stop(conversation.id, ANN) is not None
        assert await one.store.end_turn(end, one.manager.limits) is None
        assert await one.store.list_open() == ()
        assert [item.target for item in await one.store.lease(10)] == [f"stop:{conversation.id}:0"]
        assert (await one.store.get_usage(conversation.id)).conversation == 7, "what it cost counts all the same"
        assert await one.store.list_runnable(utc_now()) == ()


async def test_the_store_knows_which_call_of_the_model_asked_and_which_asks_are_of_programs(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question()), turn("Thanks."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        (card,) = await one.asked()
        form = Form(questions=(Question(id="q", prompt="Go on?", options=()),))
        policy = build_policy(Who.from_people(ANN), None)
        of_program = await one.manager.submit(build_ask(form, to=HERE, policy=policy))
        (exchange,) = services.model.log
        answer = cast("dict[str, list[dict[str, str]]]", exchange.answer)
        (call,) = [block["id"] for block in answer["content"] if block["type"] == "tool_use"]
        names = [card.id, of_program.id, "say:1"]
        assert await one.store.list_askers(names) == {card.id: call, of_program.id: None}
        assert await one.store.list_askers([]) == {}


# Budgets and loops


async def test_a_spent_budget_is_said_and_nothing_is_lost(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn(question()), turn("Thanks."))
    async with engine(tmp_path, board, services, budget=Budget(conversation=1)) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await one.press(card, Choose(index=0))
        await one.says("This conversation has used up its budget")
        assert len(services.model.log) == 1
    async with engine(tmp_path, board, services) as two:
        await two.write("more for you")
        await two.says("Thanks.")
        assert len(results(last_request(services))) == 1


async def test_the_budget_of_a_day_holds_for_all_conversations(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("Hi."))
    async with engine(tmp_path, board, services, budget=Budget(day=1)) as one:

        async def counted() -> int:
            return (await one.store.get_usage("another")).today

        await one.write("hello")
        await eventually(counted)
        await one.write("and here?", place=HERE.evolve(thread="2"))
        await one.says("Today's budget is used up")
        assert len(services.model.log) == 1


async def test_an_agent_that_asks_in_a_loop_rests_until_a_person_writes(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(*[turn(question(f"Round {number}?")) for number in range(4)], turn("At last."))
    async with engine(tmp_path, board, services, rounds=3) as one:
        await one.write("hello")
        for number in range(3):
            (card,) = await one.asked()
            assert card.interview.question.prompt == f"Round {number}?"
            await one.press(card, Choose(index=0))
        await one.says("I have called the model 3 times without a message from you.")
        assert len(services.model.log) == 3
        await one.write("go on")
        (card,) = await one.asked()
        assert card.interview.question.prompt == "Round 3?"


# Who may talk


async def test_a_stranger_is_told_once_and_costs_nothing(tmp_path: Path, board: Board, services: Services) -> None:
    async with engine(tmp_path, board, services, access=Access(people=("U1",))) as one:
        taken = await hear(one, "hello", author=BEN)
        assert (taken.new, taken.notice) == (False, "I may not talk with you. My operator can allow it.")
        assert (await hear(one, "hello?", author=BEN)).notice is None
        assert await one.store.find_conversation(HERE) is None
        assert not services.model.log


# Files and earlier messages


async def test_a_file_that_cannot_be_read_is_said_to_people_and_to_the_model(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("I see."))
    async with engine(tmp_path, board, services) as one:
        await hear(one, "look at this", files=("plan\n*b*.pdf", "a.png"))
        await one.says("I see.")
        await one.says("I do not see what is in “plan *b*.pdf”, a.png. If it matters, please paste the text here.")
        assert texts(services) == ["Ann: look at this [attachments that you cannot read: plan *b*.pdf, a.png]"]


async def test_mentioned_in_the_middle_of_a_thread_it_reads_what_came_before(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("I have read it."), turn("Yes."))
    board.before = (
        HistoryMessage(key="m1", author=BEN, text="The server\nis down."),
        HistoryMessage(key="k", author=ANN, text="what now?"),
    )
    async with engine(tmp_path, board, services) as one:
        await hear(one, "what now?", key="k", midway=True)
        await one.says("I have read it.")
        assert texts(services) == [
            (
                "[Earlier messages in this thread, for context, oldest first:\n"
                "Ben: The server is down.\nEnd of the earlier messages.]"
            ),
            "Ann: what now?",
        ]
        await one.write("sure?")
        await one.says("Yes.")
        assert board.calls.count("read") == 1


async def test_where_it_may_not_read_the_model_is_told_so(tmp_path: Path, board: Board, services: Services) -> None:
    from askback.ports.platform import DeliveryError

    services.model.script(turn("I cannot see it."))
    board.faults["read"].append(DeliveryError("the bot is not in this channel."))
    async with engine(tmp_path, board, services) as one:
        await hear(one, "what now?", midway=True)
        await one.says("I cannot see it.")
        assert "You cannot read them: the bot is not in this channel." in texts(services)[0]


# Retention


async def test_what_rested_long_enough_is_deleted_and_what_waits_is_kept(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question()), turn("Thanks."), when="ask me")
    services.model.script(turn("Hi."), when="hello")
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("Hi.")
        waiting = HERE.evolve(thread="2")
        await one.write("ask me", place=waiting)
        await one.asked()
        done = HERE.evolve(thread="3")
        await one.write("ask me", place=done)
        card = next(ask for ask in await one.asked(2) if ask.place == done)
        await one.press(card, Choose(index=0))
        await one.says("Thanks.")

        async def rests() -> bool:
            return not await one.store.list_runnable(utc_now()) and await one.store.get_time_until_due() is None

        await eventually(rests)
        assert (await one.store.prune(utc_now() - timedelta(hours=1), 10)).conversations == 0
        pruned = await one.store.prune(utc_now() + timedelta(hours=1), 10)
        assert (pruned.conversations, pruned.asks) == (2, 1)
        assert await one.store.find_conversation(HERE) is None
        assert await one.store.find_conversation(done) is None
        assert await one.store.find_conversation(waiting) is not None
        assert await one.store.get(card.id) is None
        assert len(await one.store.list_open()) == 1
