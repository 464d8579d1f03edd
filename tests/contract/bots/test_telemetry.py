"""With OpenTelemetry's SDK, an operator sees one trace from a message to its answer, and durations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from askback_sandbox.model.script import Fault, turn
from support.telemetry_backend import Backend, linked, parents, reported

from .driver import ADA, BEN, Card, Desk, Talk, asks, card, form_of, line, one, program_asks, until

ASKING = turn("I must ask.", asks(one("Which fruit?", "Apple", "Pear")))
DONE = turn("So be it, then.")


@pytest.fixture
def backend() -> Iterator[Backend]:
    with reported() as backend:
        yield backend


async def fruit(desk: Desk) -> tuple[Talk, Card]:
    desk.model.script(ASKING, DONE, when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def answered(desk: Desk, talk: Talk, backend: Backend, *, turns: int = 2) -> None:
    """Answer the question, and wait until everything about it was reported."""
    await desk.press(ADA, await card(desk, talk), "Pear")
    await line(desk, talk, "So be it, then.")
    await until(lambda: len(backend.spans("askback.turn")) == turns, "the last turn is over")


async def test_one_trace_leads_from_the_message_to_the_answer(backend: Backend, desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await until(lambda: backend.spans("askback.deliver"), "the card's delivery is reported")
    await answered(desk, talk, backend)
    spans = backend.spans()
    assert len(backend.traces()) == 1
    assert sorted(parents(spans), key=str) == sorted(
        [
            ("askback.message", None),
            ("askback.turn", "askback.message"),
            ("askback.model", "askback.turn"),
            ("askback.ask", "askback.turn"),
            ("askback.deliver", "askback.ask"),
            ("askback.click", "askback.ask"),
            ("askback.wait", "askback.ask"),
            ("askback.turn", "askback.ask"),
            ("askback.tool_result", "askback.turn"),
            ("askback.model", "askback.turn"),
        ],
        key=str,
    )
    wait = backend.span("askback.wait")
    assert linked(wait, spans) == ["askback.click"]
    assert linked(backend.span("askback.tool_result"), spans) == ["askback.ask"]
    assert dict(wait.attributes or {}) == {"askback.ask.status": "answered"}
    assert (backend.span("askback.click").attributes or {})["askback.platform"] == desk.platform
    click, ask = backend.span("askback.click"), backend.span("askback.ask")
    assert (wait.start_time or 0) <= (ask.end_time or 0) <= (click.start_time or 0) <= (wait.end_time or 0)


async def test_what_is_written_while_something_goes_on_belongs_to_it_and_what_comes_after_does_not(
    backend: Backend, desk: Desk
) -> None:
    talk, _ = await fruit(desk)
    await desk.say(BEN, "by the way", talk)
    await until(lambda: len(backend.spans("askback.message")) == 2, "the second message is reported")
    assert len(backend.traces()) == 1
    await answered(desk, talk, backend)
    assert len(backend.traces()) == 1
    desk.model.script(turn("Thank you."), when="by the way")
    await desk.say(ADA, "and another thing", talk)
    await until(lambda: len(backend.spans("askback.turn")) == 3, "it is answered")
    assert len(backend.traces()) == 2


async def test_a_program_that_asks_has_its_question_in_its_own_trace(backend: Backend, desk: Desk) -> None:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    with backend.tracers.get_tracer("program").start_as_current_span("deploy") as mine:
        async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
            await desk.press(ADA, await card(desk, talk, "Go?"), "Yes")
            assert (await asking.outcome()).status == "answered"
    for name in ("askback.ask", "askback.click", "askback.wait"):
        assert backend.span(name).context.trace_id == mine.get_span_context().trace_id


async def test_the_metrics_say_what_happened(backend: Backend, desk: Desk) -> None:
    assert backend.points("askback.asks.open")[0].value == 0
    talk, _ = await fruit(desk)
    assert [(point.attributes, point.value) for point in backend.points("askback.asks.open")] == [({}, 1)]
    await desk.say(BEN, "hm", talk)
    await line(desk, talk, "I will continue once")
    await answered(desk, talk, backend)
    assert backend.points("askback.asks.open")[0].value == 0
    (asked,) = backend.points("askback.ask.duration")
    assert (asked.attributes, asked.count) == ({"status": "answered"}, 1)
    wait = backend.span("askback.wait")
    assert asked.value == pytest.approx(((wait.end_time or 0) - (wait.start_time or 0)) / 1e9, abs=0.001)
    (acked,) = backend.points("askback.ack.duration")
    assert (acked.attributes, acked.count) == ({"platform": desk.platform, "kind": "press"}, 1)
    assert 0 < acked.value < 3
    await until(lambda: _counts(backend, "askback.outbox.lag", "kind").get("say"), "the notice's delivery is reported")
    lags = {point.attributes["kind"]: point for point in backend.points("askback.outbox.lag")}
    assert lags["card"].count >= 1
    assert all(0 <= point.value < 10 for point in lags.values()), {k: (p.value, p.count) for k, p in lags.items()}
    tokens = {point.attributes["direction"]: point.value for point in backend.points("askback.model.tokens")}
    usage = [span.attributes or {} for span in backend.spans("askback.model")]
    for direction in ("input", "cache", "output"):
        assert tokens[direction] == sum(int(str(one[f"askback.model.tokens.{direction}"])) for one in usage)
    told: list[Any] = [exchange.answer for exchange in desk.model.log]
    assert tokens["output"] == sum(one["usage"]["output_tokens"] for one in told) > 0
    assert tokens["input"] + tokens["cache"] == sum(one["usage"]["input_tokens"] for one in told) > 0
    assert _counts(backend, "askback.model.duration", "result") == {"tool_use": 1, "end_turn": 1}
    assert [point.value for point in backend.points("askback.turns")] == [2]
    assert backend.units() == {
        "askback.asks.open": "{ask}",
        "askback.ask.duration": "s",
        "askback.ack.duration": "s",
        "askback.outbox.lag": "s",
        "askback.model.duration": "s",
        "askback.model.tokens": "{token}",
        "askback.turns": "{turn}",
    }


def _counts(backend: Backend, metric: str, attribute: str) -> dict[str, int]:
    return {point.attributes[attribute]: point.count for point in backend.points(metric)}


async def test_a_text_that_is_sent_is_measured_as_one(backend: Backend, desk: Desk) -> None:
    _, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    assert await desk.submit(ADA, "Quince") == ()
    await until(lambda: backend.spans("askback.wait"), "it is answered")
    await until(lambda: _counts(backend, "askback.ack.duration", "kind").get("text"), "the ack of the text is measured")
    assert _counts(backend, "askback.ack.duration", "kind") == {"press": 1, "text": 1}


async def test_nothing_that_is_reported_names_a_person_or_quotes_one(backend: Backend, desk: Desk) -> None:
    desk.journal.announce("model_failed")
    talk, shown = await fruit(desk)
    desk.model.fail(Fault(kind="overloaded", times=3))
    await desk.press(ADA, shown, "Pear")
    await line(desk, talk, "The model is overloaded")
    await until(lambda: len(backend.spans("askback.turn")) == 2, "the last turn is over")
    words = backend.words()
    assert "askback.turn" in words
    ada = desk.actor(ADA)
    for told in (ada.id, ada.name or "ada", talk.channel, "fruit", "Pear", "So be it"):
        assert told not in words, told
    (failed,) = (span for span in backend.spans("askback.model") if span.status.status_code is StatusCode.ERROR)
    assert (failed.attributes or {})["error.type"]
    assert not failed.events
    assert _counts(backend, "askback.model.duration", "result")["error"] == 1
