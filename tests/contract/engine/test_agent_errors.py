"""Errors of the model, and answers that are cut off: people read a sentence, and the conversation goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askback.agent.turn_end import MAX_PAUSES
from askback.domain.actions import Choose
from askback_sandbox.model.script import Fault, Turn, turn
from askback_sandbox.services import Services
from support.board import Board
from support.engine import engine, last_request, question, results

pytestmark = pytest.mark.usefixtures("stored")
ONE_STORE = pytest.mark.one_store("the store has no part in it")


BROKEN: dict[str, tuple[Fault, str]] = {
    "529": (Fault(kind="overloaded"), "overloaded"),
    "529 in mid-stream": (Fault(kind="overloaded", mid_stream=True), "overloaded"),
    "429": (Fault(kind="rate_limited"), "slow down"),
    "500": (Fault(kind="server_error"), "has an internal error"),
    "500 in mid-stream": (Fault(kind="server_error", mid_stream=True), "has an internal error"),
    "a bad key": (Fault(kind="bad_key"), "rejected my API key"),
    "no permission": (Fault(kind="no_permission"), "may not use this model"),
    "a broken stream": (Fault(kind="disconnect"), "The connection to the model broke."),
    "a malformed stream": (Fault(kind="malformed"), "The connection to the model broke."),
    "a silent stream": (Fault(kind="stall"), "did not answer in time"),
}


@ONE_STORE
@pytest.mark.parametrize("name", BROKEN)
async def test_a_failed_call_ends_in_a_sentence_and_the_next_message_works(
    tmp_path: Path, board: Board, services: Services, name: str
) -> None:
    fault, sentence = BROKEN[name]
    services.model.script(turn("A long enough text for a fault.", fault), turn("All is well again."))
    async with engine(tmp_path, board, services, patience=2.0 if name == "a silent stream" else 30.0) as one:
        await one.write("hello")
        await one.says(sentence)
        await one.write("go on")
        await board.until(lambda: any("well again" in text or "long enough text for" in text for text in board.texts()))
        assert not [text for text in board.texts() if "sk-" in text or "Traceback" in text]
        assert services.model.log[-1].status == 200


@pytest.mark.parametrize("name", ["529", "a broken stream", "a silent stream"])
async def test_a_call_that_fails_after_an_answer_loses_no_result(
    tmp_path: Path, board: Board, services: Services, name: str
) -> None:
    fault, sentence = BROKEN[name]
    services.model.script(turn(question("A?")), turn("Some text for the fault.", fault), turn("Thanks."))
    async with engine(tmp_path, board, services, patience=2.0 if name == "a silent stream" else 30.0) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await one.press(card, Choose(index=1))
        await one.says(sentence)
        await one.write("go on")
        await board.until(lambda: any("Thanks." in text or "for the fault." in text for text in board.texts()))
        (told,) = results(last_request(services))
        assert "Blue" in told["content"]


async def test_a_refusal_sets_the_message_aside_and_the_next_one_works(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("Good."), turn("I had beg", stop="refusal"), turn("With pleasure."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("Good.")
        await one.write("something bad")
        await one.says("The model refused to answer this. I have removed that message")
        await one.write("something good")
        await one.says("With pleasure.")
        assert "something bad" not in json.dumps(last_request(services))


async def test_a_refusal_after_an_answer_drops_the_call_with_its_result(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?")), turn(stop="refusal"))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await one.press(card, Choose(index=0))
        await one.says("The model refused to answer this. I have removed that message")
        await one.write("something else")
        await one.asked()  # it restarts, with a history that the API accepts
        assert not results(last_request(services))


@ONE_STORE
async def test_an_answer_that_is_cut_off_says_so_and_goes_on(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("The first half", question("A?"), stop="max_tokens"), turn("and the second."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("cut off")
        assert not board.cards()  # an incomplete call does not count
        await one.write("go on")
        await one.says("and the second.")


async def test_a_paused_turn_goes_on_by_itself_and_not_for_ever(
    tmp_path: Path, board: Board, services: Services
) -> None:
    pauses = [turn(f"Working {n}.", stop="pause_turn") for n in range(MAX_PAUSES + 3)]
    services.model.script(*pauses, turn("Done."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("paused too often")
        assert len(services.model.log) == MAX_PAUSES + 1
        await one.write("go on")
        await one.says("Done.")
        assert all(f"Working {n}." in board.texts() for n in range(MAX_PAUSES + 3)), "counting begins anew"


FULL: dict[str, Turn] = {
    "as a stop reason": turn("I had beg", stop="model_context_window_exceeded"),
    "as HTTP 400": turn(Fault(kind="prompt_too_long")),
    "as HTTP 413": turn(Fault(kind="request_too_large")),
}


@pytest.mark.parametrize("how", FULL)
async def test_a_full_context_is_set_aside_and_the_conversation_begins_anew(
    tmp_path: Path, board: Board, services: Services, how: str
) -> None:
    services.model.script(turn(question("A?")), FULL[how], when="hello")
    services.model.script(turn("A fresh start."), when="we wanted to ship")
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await one.press(card, Choose(index=0))
        await one.says("longer than the model can read")
        await one.write("we wanted to ship")
        await one.says("A fresh start.")
        assert len(last_request(services)) == 1


@ONE_STORE
async def test_the_key_is_in_no_sentence_and_in_no_log(
    tmp_path: Path, board: Board, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    services.model.bad_keys.add("sk-very-secret")
    async with engine(tmp_path, board, services, key="sk-very-secret") as one:
        await one.write("hello")
        await one.says("check ANTHROPIC_API_KEY")
    assert "sk-very-secret" not in caplog.text
    services.model.reset()  # the test provokes a refusal by the service itself


@ONE_STORE
async def test_a_service_that_cannot_be_reached_ends_in_a_sentence(
    tmp_path: Path, board: Board, services: Services
) -> None:
    url = services.anthropic_url
    await services.stop()
    async with engine(tmp_path, board, services) as one:
        assert url == services.anthropic_url
        await one.write("hello")
        await one.says("The connection to the model broke.")
