"""The local Messages API fails as told: overloads, broken streams, refusals of the model, and other reasons to stop."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import pytest

from askback_sandbox.model.script import Fault, turn
from emulator.model_service import Service, assistant, create, stream, text, user


async def test_an_overload_twice_is_repeated_by_the_client(service: Service) -> None:
    service.model.fail(Fault(kind="overloaded", times=2))
    service.model.script(turn("fine"))
    async with service.client(retries=2) as client:
        assert (await create(client, user("a"))).content[0].text == "fine"
    assert [exchange.status for exchange in service.model.log] == [529, 529, 200]


async def test_errors_in_mid_stream_come_after_text(service: Service) -> None:
    service.model.script(turn("Let me think about it", Fault(kind="overloaded", mid_stream=True)))
    heard: list[str] = []
    async with service.client() as client:
        with pytest.raises(anthropic.APIStatusError) as caught:  # noqa: PT012
            async with client.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "a"}]
            ) as events:
                async for piece in events.text_stream:
                    heard.append(piece)  # noqa: PERF401 - what came before the error counts
    assert caught.value.type == "overloaded_error"
    assert "".join(heard) == "Let me think"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(kind="disconnect"), httpx2.TransportError),
        (Fault(kind="disconnect", after=0), httpx2.TransportError),
        (Fault(kind="stall", seconds=0.2), httpx2.TransportError),
        (Fault(kind="malformed"), ValueError),
    ],
)
async def test_broken_streams(service: Service, fault: Fault, error: type[Exception]) -> None:
    service.model.script(turn("Let me think about it", fault))
    async with service.client() as client:
        with pytest.raises(error):
            await stream(client, user("a"))
        assert (await stream(client, user("a"))).content[0].text == "Let me think about it"
    assert [exchange.delivered for exchange in service.model.log] == [False, True]


async def test_a_client_may_leave_a_stalled_stream(service: Service) -> None:
    service.model.script(turn("Let me think about it", Fault(kind="stall", seconds=60)))
    async with service.client() as client:
        with pytest.raises(httpx2.TimeoutException):
            await stream(client.with_options(timeout=0.3), user("a"))


@pytest.mark.parametrize("ask", [create, stream])
async def test_refusal_says_why_and_is_dropped_or_kept(service: Service, ask: Any) -> None:
    service.model.script(turn(stop="refusal"), turn("again"), turn("last"))
    async with service.client() as client:
        refused = await ask(client, user("a"))
        assert (refused.stop_reason, refused.content) == ("refusal", [])
        assert refused.stop_details.type == "refusal"
        assert (await ask(client, user("a"))).stop_reason == "refusal", "asked again, refused again"
        assert (await ask(client, user("a\nb"))).stop_reason == "end_turn"
        after = await ask(client, user("a\nb"), assistant(text("again")), user("c"))
        assert after.content[0].text == "last"


async def test_pause_turn_may_be_sent_back_as_it_is(service: Service) -> None:
    service.model.script(turn("Hold on", stop="pause_turn"), turn("Here we are"))
    async with service.client() as client:
        paused = await stream(client, user("a"))
        assert paused.stop_reason == "pause_turn"
        message = await stream(client, user("a"), paused.to_param())
        assert message.content[0].text == "Here we are"


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
async def test_other_reasons_to_stop(service: Service, stop: Any) -> None:
    service.model.script(turn("It is so that", stop=stop))
    async with service.client() as client:
        assert (await stream(client, user("a"))).stop_reason == stop


async def test_a_turn_that_is_only_a_fault_gives_way_to_the_next(service: Service) -> None:
    service.model.script(turn(Fault(kind="server_error")), turn("one"), turn("two"))
    async with service.client() as client:
        with pytest.raises(anthropic.InternalServerError):
            await create(client, user("a"))
        assert (await create(client, user("a"))).content[0].text == "one"
        after = await create(client, user("a"), assistant(text("one")), user("b"))
        assert after.content[0].text == "two"
