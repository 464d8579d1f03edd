"""The agent: the real anthropic client with the local Messages API, which refuses the same requests as the real one."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from askback.agent.turn_end import MAX_FAILED_TURNS
from askback.domain.actions import Cancel, Choose
from askback.domain.form import Form, Question
from askback.domain.open_ask_limits import Limits
from askback.domain.who import Who
from askback.ports.platform import DeliveryError
from askback_sandbox.model.script import Fault, call, turn
from askback_sandbox.services import Services
from support.board import ANN, BEN, HERE, Board
from support.engine import engine, eventually, last_request, question, results

pytestmark = pytest.mark.usefixtures("stored")
ONE_STORE = pytest.mark.one_store("the store has no part in it")


def text_of(message: dict[str, Any]) -> list[str]:
    return [block["text"] for block in message["content"] if block["type"] == "text"]


# Questions and their results


async def test_several_calls_in_one_turn_each_get_one_result_all_first_in_the_models_order(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("Three things.", question("A?"), question("B?"), question("C?")), turn("Thanks."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        cards = await one.asked(3)
        for card in reversed(cards):
            await one.press(card, Choose(index=0))
        await one.says("Thanks.")
        calls = [block for block in last_request(services)[1]["content"] if block["type"] == "tool_use"]
        told = results(last_request(services))
        assert [block["tool_use_id"] for block in told] == [block["id"] for block in calls]
        assert [prompt in block["content"] for prompt, block in zip(("A?", "B?", "C?"), told, strict=True)] == [
            True
        ] * 3
        await board.until(lambda: board.texts() == ["Three things.", "Thanks."])
        assert len(services.model.log) == 2


@pytest.mark.one_store("on PostgreSQL, a job starts the turn")
async def test_an_answer_starts_the_turn_without_a_search(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn(question("A?")), turn("Thanks."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        (card,) = await one.asked()
        search = one.store.list_runnable

        async def search_until_answered(now: datetime) -> tuple[str, ...]:
            # A search may be on its way when the answer arrives, so it ends, and finds nothing.
            ask = await one.store.get(card.id)
            return () if ask is not None and ask.outcome is not None else await search(now)

        one.store.list_runnable = search_until_answered
        await one.press(card, Choose(index=0))
        await one.says("Thanks.")


async def test_every_way_out_is_told_once_timeouts_cancels_and_refusals_too(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?"), question("B?"), question("C?"), call("nope")), turn("Thanks."))
    board.faults["show"].append(DeliveryError("I am not in that channel."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        cards = await one.asked(2)
        await one.recorded(*cards)
        await one.press(cards[0], Cancel())
        await one.expire(cards[1].id)
        await one.says("Thanks.")
        told = results(last_request(services))
        assert len({block["tool_use_id"] for block in told}) == len(told) == 4
        assert "no tool 'nope'" in told[3]["content"]
        assert told[3]["is_error"] is True
        assert any("not in that channel" in block["content"] for block in told)
        await board.until(lambda: not board.open())


async def test_a_text_that_the_platform_refuses_is_told_to_people_at_once_and_to_the_model_in_its_next_turn(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("All is well."), turn("Again: all is well."), turn("Thanks."))
    board.faults["finish"].append(DeliveryError("Slack refused it (msg_too_long)."))
    board.faults["post"].append(DeliveryError("Slack refused it (msg_too_long)."))
    async with engine(tmp_path, board, services) as one:
        await one.write("how is it?")
        notice = (
            "I wrote something here that could not be shown, or not all of it: Slack refused it (msg_too_long). "
            "Please ask me for it again."
        )
        await board.until(lambda: notice in board.texts())
        await one.write("well?")
        await one.says("Again: all is well.")
        note = (
            "[People could not see your text “All is well.”, or could not see all of it: "
            "Slack refused it (msg_too_long).]"
        )
        assert text_of(last_request(services)[-1])[0] == note
        await one.write("good")
        await one.says("Thanks.")
        assert len(text_of(last_request(services)[-1])) == 1  # it is told once
    assert board.texts().count(notice) == 1


async def test_a_refused_text_beside_a_question_is_told_with_the_answer(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("It is like this.", question("A?")), turn("Thanks."))
    board.faults["finish"].append(DeliveryError("no"))
    board.faults["post"].append(DeliveryError("no"))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await board.until(lambda: any("could not be shown" in text for text in board.texts()))
        await one.press(card, Choose(index=0))
        await one.says("Thanks.")
        message = last_request(services)[-1]
        assert [block["type"] for block in message["content"]] == ["tool_result", "text"]
        assert "“It is like this.”" in text_of(message)[0]


async def test_a_place_that_takes_nothing_is_not_told_again_and_again(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("All is well."), turn("Again: all is well."), turn("It is."))
    board.faults["finish"].append(DeliveryError("no"))
    board.faults["post"] += [DeliveryError("no")] * 2
    async with engine(tmp_path, board, services) as one:
        await one.write("how is it?", BEN)

        async def is_over() -> bool:
            return not board.faults["post"] and await one.store.get_time_until_due() is None

        await eventually(is_over)
        (direct,) = [message for message in board.said if message.direct]
        assert direct.only_for == BEN
        assert direct.text == "I cannot write there, so you do not see my answer: no"
        board.faults["finish"].append(DeliveryError("no"))
        board.faults["post"] += [DeliveryError("no")] * 2
        await one.write("well?")
        await eventually(is_over)
        assert "“All is well.”" in text_of(last_request(services)[-1])[0]
        await one.write("and now?")
        await one.says("It is.")
        assert "“Again: all is well.”" in text_of(last_request(services)[-1])[0]
    assert [message for message in board.said if message.direct] == [direct]


@ONE_STORE
async def test_a_question_that_cannot_be_understood_goes_back_with_how_to_ask(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(call("AskUserQuestion", questions=7)), turn(question("A?")), turn("Thanks."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        (card,) = await one.asked()
        (told,) = results(last_request(services))
        assert told["is_error"] is True
        assert "questions" in told["content"]
        await one.press(card, Choose(index=0))
        await one.says("Thanks.")


@ONE_STORE
async def test_a_model_that_never_calls_rightly_is_stopped_and_the_conversation_goes_on(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(*[turn(call("nope", number=n)) for n in range(MAX_FAILED_TURNS)], turn("Better now."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("I tried several times to ask you something, and failed.")
        assert len(services.model.log) == MAX_FAILED_TURNS
        await one.write("go on")
        await one.says("Better now.")
        assert len(results(last_request(services))) == MAX_FAILED_TURNS


async def test_of_more_questions_than_may_be_open_those_beyond_are_refused_alone(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(*(question(f"Number {number}?") for number in range(11))), turn("I see."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        cards = await one.asked(10)
        for card in cards:
            await one.press(card, Choose(index=0))
        await one.says("I see.")
        told = results(last_request(services))
        assert [block.get("is_error", False) for block in told] == [False] * 10 + [True]
        assert told[10]["content"] == (
            "This was not asked: only 10 questions may be open here at the same time. 10 of your 11 questions were "
            "asked. Ask the others again once people have answered."
        )


TEA = Form(questions=(Question(id="tea", prompt="Tea?"),))


async def test_where_nothing_more_may_be_open_the_model_is_told_so(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?"), question("B?")), turn("I see."))
    async with engine(tmp_path, board, services, limits=Limits(pending_per_place=1)) as one:
        other = asyncio.create_task(one.manager.ask(TEA, to=HERE, who=Who.from_people(ANN), timeout=None))
        await one.asked(1)
        await one.write("hello")
        await one.says("I see.")
        told = results(last_request(services))
        assert [block["is_error"] for block in told] == [True, True]
        assert "0 of your 2 questions were asked" in str(told[0]["content"])
        other.cancel()


async def test_several_asks_of_one_turn_count_as_one_for_the_pace(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?"), question("B?"), question("C?")))
    async with engine(tmp_path, board, services, limits=Limits(seconds_between_asks=60)) as one:
        await one.write("hello")
        await one.asked(3)


async def test_what_people_write_meanwhile_is_answered_once_with_a_link_and_comes_after_the_results(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?"), question("B?")), turn("Thanks."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        first, second = await one.asked(2)
        await one.recorded(first, second)
        await one.write("one more thing", ANN)
        await one.write("and another", BEN)
        await one.says("once you answer the question above (and 1 more)")
        assert any(f"board://{number}" in text for text in board.texts() for number in board.messages)
        await one.press(first, Choose(index=0))
        await one.write("a third")
        await one.press(second, Choose(index=0))
        await one.says("Thanks.")
        assert len([text for text in board.texts() if "I will continue once" in text]) == 1
        content = last_request(services)[-1]["content"]
        assert [block["type"] for block in content] == ["tool_result"] * 2 + ["text"] * 3
        assert text_of(last_request(services)[-1]) == ["Ann: one more thing", "Ben: and another", "Ann: a third"]


async def test_what_people_write_while_the_model_writes_is_the_next_turn(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("One moment, please wait."), turn("Both then."))
    services.model.delay = 0.1
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("One mom")
        await one.write("and this")
        await one.says("Both then.")
        assert [text_of(message) for message in last_request(services)] == [
            ["Ann: hello"], ["One moment, please wait."], ["Ann: and this"]
        ]  # fmt: skip


async def test_a_message_that_comes_twice_is_heard_once(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("Hello."))
    async with engine(tmp_path, board, services) as one:
        taken = await asyncio.gather(*(one.write("hello", key="C1:1") for _ in range(5)))
        assert sorted(taken) == [False] * 4 + [True]
        await one.says("Hello.")
        assert len(services.model.log) == 1


async def test_a_tool_setting_that_changed_between_ask_and_answer_loses_no_answer(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?")), turn("Thanks."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        (card,) = await one.asked()
    async with engine(tmp_path, board, services, tools=("question",)) as two:
        await two.press(card, Choose(index=1))
        await two.says("Thanks.")
        (told,) = results(last_request(services))
        assert "Blue" in told["content"]
        assert "is_error" not in told


# Restarts and ends


async def test_a_turn_that_a_restart_broke_off_is_completed_in_the_same_message(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("A text that takes a while to write.", question("A?")), turn("Thanks."))
    services.model.fail(Fault(kind="stall", after=16))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("A text")
    async with engine(tmp_path, board, services) as two:
        (card,) = await two.asked()
        await two.press(card, Choose(index=0))
        await two.says("Thanks.")
        await board.until(lambda: board.texts() == ["A text that takes a while to write.", "Thanks."])


async def test_ending_in_the_middle_of_everything_leaves_no_task_and_no_warning(
    tmp_path: Path, board: Board, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    services.model.script(turn("Some text before it is silent.", Fault(kind="stall")), when="silent")
    services.model.script(turn(question("A?")), when="ask")
    async with engine(tmp_path, board, services) as one:
        await one.write("be silent", place=HERE)
        await one.write("ask me", place=HERE.evolve(thread="2"))
        await one.asked()
        await one.says("Some text")
        board.holds["show"] = asyncio.Event()
        await one.cancel(board.cards()[0].id)
        await board.until(lambda: board.calls.count("show") == 2)
    assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR", "CRITICAL"}]
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("askback")]


@ONE_STORE
async def test_an_address_that_is_slow_to_come_holds_up_no_message(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?")), turn("Thanks."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await one.recorded(card)
        board.holds["link"] = asyncio.Event()
        async with asyncio.timeout(30):
            await one.write("one more thing")
        await one.says("once you answer the question above")
