"""Events after a question has ended: a click gets a notice, and a text is stored and reaches the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from askback.domain.who import Who
from askback.internal import clock
from askback_sandbox.model.script import turn

from .driver import (
    ADA,
    BEN,
    Card,
    Desk,
    PlatformTests,
    Talk,
    asks,
    card,
    form_of,
    line,
    notice,
    one,
    program_asks,
    settled,
    told,
    transcript,
    turn_of,
    until,
)

TIMED_OUT = "timed out"
KEPT = "kept what you wrote as a message"
PATIENCE = timedelta(minutes=10)


@pytest.fixture
async def desk(tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A desk whose agent waits ten minutes for an answer."""
    monkeypatch.setenv("ASKBACK_TIMEOUT", str(int(PATIENCE.total_seconds())))
    async with tests_of.open_desk(tmp_path, monkeypatch) as opened:
        yield opened
        assert not opened.journal.unexpected(), "\n".join(opened.journal.unexpected())


@pytest.fixture
def ten_minutes_pass(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def later() -> None:
        now = clock.now
        monkeypatch.setattr(clock, "now", lambda: now() + PATIENCE // timedelta(microseconds=1))
        desk.host.wake()

    return later


async def fruit(desk: Desk) -> tuple[Talk, Card]:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear"))),
        turn("Nobody wants fruit."),
        turn("I see, a quince."),
        turn("I see that as well."),
        when="fruit",
    )
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def keeps(desk: Desk, talk: Talk, written: str, why: str) -> None:
    """Check that a late text is answered with the reason, and that the agent reads it once."""
    (reason,) = await desk.submit(ADA, written)
    assert why in reason
    assert KEPT in reason
    await line(desk, talk, "I see, a quince.")
    heard = await turn_of(desk, "fruit", 3)
    assert heard.texts == [f"ada: (too late to be an answer to “Which fruit?”) {written}"]
    assert not heard.results, "the question has had its one result"


async def test_a_button_that_is_clicked_after_the_timeout_gets_a_notice(
    desk: Desk, ten_minutes_pass: Callable[[], None]
) -> None:
    talk, shown = await fruit(desk)
    ten_minutes_pass()
    over = await settled(desk, talk)
    await line(desk, talk, "Nobody wants fruit.")
    clicked = await desk.press(ADA, shown, "Pear")
    assert clicked.acked
    await notice(desk, ADA, "has timed out: nobody answered in time. Your click changed nothing.")
    assert await settled(desk, talk) == over
    assert len(told(desk, "fruit")) == 2


async def test_a_text_that_is_sent_after_the_timeout_reaches_the_agent_as_a_message(
    desk: Desk, ten_minutes_pass: Callable[[], None]
) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    ten_minutes_pass()
    await settled(desk, talk)
    await line(desk, talk, "Nobody wants fruit.")
    await keeps(desk, talk, "Quince, please", TIMED_OUT)
    assert TIMED_OUT not in (await turn_of(desk, "fruit", 3)).texts[0]


async def test_a_text_that_is_sent_after_a_cancel_reaches_the_agent_as_a_message(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    (ask,) = await desk.host.manager.list_open_asks()
    await desk.host.manager.cancel(ask.id, by=desk.actor(ADA))
    await settled(desk, talk)
    await line(desk, talk, "Nobody wants fruit.")
    await keeps(desk, talk, "Quince, please", "was cancelled")


async def test_a_text_that_is_sent_after_another_answer_reaches_the_agent_as_a_message(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    await desk.press(ADA, shown, "Apple")
    await settled(desk, talk, "Apple")
    await line(desk, talk, "Nobody wants fruit.")
    await keeps(desk, talk, "Quince, please", "has already been answered")
    assert '"Which fruit?"="Apple"' in (await turn_of(desk, "fruit", 2)).result


async def test_why_not_now_is_kept_as_well(desk: Desk, ten_minutes_pass: Callable[[], None]) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown, "Not now…")
    ten_minutes_pass()
    await line(desk, talk, "Nobody wants fruit.")
    await keeps(desk, talk, "Ask me on Monday", TIMED_OUT)


async def test_before_the_agent_has_gone_on_the_text_comes_after_the_result(
    desk: Desk, ten_minutes_pass: Callable[[], None]
) -> None:
    desk.model.delay = 0.05
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    ten_minutes_pass()
    await settled(desk, talk)
    await desk.submit(ADA, "Quince, please")
    texts = ["ada: (too late to be an answer to “Which fruit?”) Quince, please"]
    await until(lambda: any(request.texts == texts for request in told(desk, "fruit")), "the agent reads it")
    assert sum(len(request.results) for request in told(desk, "fruit")) == 1


async def test_a_text_that_is_delivered_twice_or_sent_again_is_one_message(
    desk: Desk, ten_minutes_pass: Callable[[], None]
) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    ten_minutes_pass()
    await line(desk, talk, "Nobody wants fruit.")
    await keeps(desk, talk, "Quince, please", TIMED_OUT)
    if desk.platform == "slack":
        (again,) = await desk.submit(ADA, "Quince, please")  # the field is still open
        assert KEPT in again
    await desk.replay(2)
    await desk.say(ADA, "and hurry", talk)
    assert (await turn_of(desk, "fruit", 4)).texts == ["ada: and hurry"]


async def test_another_open_question_is_not_in_its_way(desk: Desk, ten_minutes_pass: Callable[[], None]) -> None:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear")), asks(one("Which drink?", "Tea", "Water"))),
        turn("Thank you."),
        when="fruit",
    )
    talk = await desk.mention(ADA, "fruit, please")
    shown = await card(desk, talk, "Which fruit?")
    drink = await card(desk, talk, "Which drink?")
    await desk.open_field(ADA, shown)
    await desk.press(ADA, shown, "Apple")
    await settled(desk, talk, "Apple")
    (reason,) = await desk.submit(ADA, "Quince, please")
    assert KEPT in reason
    await desk.press(ADA, drink, "Tea")
    heard = await turn_of(desk, "fruit", 2)
    assert len(heard.results) == 2
    assert heard.texts == ["ada: (too late to be an answer to “Which fruit?”) Quince, please"]


async def test_what_a_program_asked_is_told_that_its_text_reached_nobody(desk: Desk) -> None:
    desk.model.script(turn("Good morning."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Good morning.")
    who = Who(people=(desk.actor(ADA), desk.actor(BEN)))
    async with program_asks(desk, talk, form_of("Which fruit?", ["Apple", "Pear"]), who=who) as asking:
        shown = await card(desk, talk, "Which fruit?")
        await desk.open_field(ADA, shown)
        await desk.press(BEN, shown, "Apple")
        assert (await asking.outcome()).status == "answered"
    (reason,) = await desk.submit(ADA, "Quince, please")
    assert "has already been answered" in reason
    assert "Nobody received what you wrote" in reason
    assert desk.kept(ADA) == "Quince, please", "it can be copied"
    assert len(told(desk, "hello")) == 1, transcript(desk, talk)


async def test_after_a_new_beginning_the_text_is_given_back(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    await desk.say(ADA, "new", talk)
    await settled(desk, talk)
    (reason,) = await desk.submit(ADA, "Quince, please")
    assert "Nobody received what you wrote" in reason
    assert desk.kept(ADA) == "Quince, please"
    assert len(told(desk, "fruit")) == 1
