"""A card says what follows if nobody answers in time, and then says that it follows: on both platforms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from askback.domain.ask_policy import Approval
from askback.domain.form import Condition, Form, Option, Question
from askback.internal import clock
from askback_sandbox.model.script import call, turn

from .driver import ADA, BEN, Card, Desk, PlatformTests, card, form_of, line, program_asks, settled, told, turn_of

PATIENCE = timedelta(minutes=10)
SECONDS = PATIENCE.total_seconds()
HOSTILE = "*Stag*ing <!here> @everyone"
STOPPED = "Nobody answered in time, so I have stopped."


@pytest.fixture
def ten_minutes_pass(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: pass_time(desk, monkeypatch)


def pass_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ten minutes pass."""
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() + PATIENCE // timedelta(microseconds=1))
    desk.host.wake()


def where(*labels: str, **more: object) -> Form:
    return form_of("Where do we deploy?", labels or ("Staging", "Production"), default=("v0",), **more)


def quiet_line(shown: Card) -> str:
    """Return the line that says who is asked, and until when."""
    return next(one for one in shown.text.splitlines() if "Asked: " in one)


async def test_the_card_names_the_default_and_then_says_that_it_applies(
    desk: Desk, ten_minutes_pass: Callable[[], None]
) -> None:
    talk = await desk.thread(ADA, "Let us deploy.")
    async with program_asks(desk, talk, where(), timeout=SECONDS, on_timeout="default") as asked:
        shown = await card(desk, talk, "Where do we deploy?")
        assert quiet_line(shown).endswith(", then “Staging”")
        ten_minutes_pass()
        outcome = await asked.outcome()
        assert (outcome.status, outcome.answers, outcome.by) == ("timed_out", (), None)
        assert [one.labels for one in outcome.fallback] == [("Staging",)]
        over = await settled(desk, talk, "Nobody answered in time. “Staging” applies, as announced.")
        assert "Answered" not in over.text
        if desk.platform == "slack":
            assert over.notification.endswith("Nobody answered in time. “Staging” applies, as announced.")


async def test_a_default_is_shown_literally_and_pings_nobody(desk: Desk, ten_minutes_pass: Callable[[], None]) -> None:
    talk = await desk.thread(ADA, "Let us deploy.")
    async with program_asks(desk, talk, where(HOSTILE, "Production"), timeout=SECONDS, on_timeout="default") as asked:
        shown = await card(desk, talk, "Where do we deploy?")
        assert f"then “{HOSTILE}”" in shown.text
        ten_minutes_pass()
        await asked.outcome()
        await settled(desk, talk, f"“{HOSTILE}” applies, as announced.")
        assert not {"here", "everyone"} & {*desk.pings()}


async def test_a_default_that_is_too_long_for_the_line_is_quoted_in_full(
    desk: Desk, ten_minutes_pass: Callable[[], None]
) -> None:
    long = f"{'A long way to say staging, ' * 20}and the end."
    talk = await desk.thread(ADA, "Let us deploy.")
    async with program_asks(desk, talk, where(long, "Production"), timeout=SECONDS, on_timeout="default") as asked:
        shown = await card(desk, talk, "Where do we deploy?")
        assert quiet_line(shown).endswith(", then the default applies")
        assert long in shown.text.partition("If nobody answers in time:")[2]
        ten_minutes_pass()
        await asked.outcome()
        over = await settled(desk, talk, "The default applies, as announced:")
        assert long in over.text


async def test_a_form_shows_its_defaults_and_drafts_do_not_count(
    desk: Desk, ten_minutes_pass: Callable[[], None]
) -> None:
    only = Condition(question="where", any_of=("stg",))
    form = Form(
        questions=(
            Question(
                id="where",
                prompt="Where do we deploy?",
                header="Where",
                options=(Option(value="stg", label="Staging"), Option(value="prd", label="Production")),
                default=("stg",),
            ),
            Question(
                id="data",
                prompt="With which data?",
                header="Data",
                options=(Option(value="copy", label="A copy"), Option(value="none", label="None")),
                default=("copy",),
                show_if=only,
            ),
        )
    )
    talk = await desk.thread(ADA, "Let us deploy.")
    async with program_asks(desk, talk, form, timeout=SECONDS, on_timeout="default") as asked:
        first = await card(desk, talk, "Where do we deploy?")
        assert quiet_line(first).endswith(", then the defaults apply")
        assert "✓ Staging" in first.buttons
        assert "Where: Staging" not in first.text, "the mark says it"
        await desk.press(ADA, first, "Production")
        review = await card(desk, talk, "Review your answers")
        announced = review.text.partition("If nobody answers in time:")[2]
        assert "Where: Staging" in announced
        assert "Data: A copy" in announced, "the defaults call for it, whatever is chosen meanwhile"
        ten_minutes_pass()
        outcome = await asked.outcome()
        assert {one.question_id: one.labels for one in outcome.fallback} == {"where": ("Staging",), "data": ("A copy",)}
        over = await settled(desk, talk, "The defaults apply, as announced:")
        assert "Production" not in over.text
        assert "Answers that were begun, but not submitted, do not count." in over.text


async def test_a_halt_is_announced_and_said(desk: Desk, ten_minutes_pass: Callable[[], None]) -> None:
    talk = await desk.thread(ADA, "Let us deploy.")
    async with program_asks(desk, talk, where(), timeout=SECONDS, on_timeout="halt") as asked:
        assert quiet_line(await card(desk, talk, "Where do we deploy?")).endswith(", then the work stops")
        ten_minutes_pass()
        outcome = await asked.outcome()
        assert (outcome.status, outcome.halted, outcome.fallback) == ("timed_out", True, ())
        await settled(desk, talk, "Nobody answered in time. The work stops, as announced.")


async def test_a_vote_can_halt_and_says_how_far_it_came(desk: Desk, ten_minutes_pass: Callable[[], None]) -> None:
    talk = await desk.thread(ADA, "Let us deploy.")
    form = form_of("Deploy?", ("Yes", "No"), allow_custom=False)
    rules = Approval(quorum=2, refusing=("v1",))
    async with program_asks(desk, talk, form, ADA, BEN, timeout=SECONDS, approval=rules, on_timeout="halt") as asked:
        shown = await card(desk, talk, "Deploy?")
        assert ", then the work stops" in shown.text
        await desk.press(ADA, shown, "Yes")
        ten_minutes_pass()
        assert (await asked.outcome()).halted
        over = await settled(desk, talk, "Not decided in time")
        assert "; the work stops" in over.text


async def test_without_a_choice_a_card_reads_as_before(desk: Desk, ten_minutes_pass: Callable[[], None]) -> None:
    talk = await desk.thread(ADA, "Let us deploy.")
    async with program_asks(desk, talk, where(), timeout=SECONDS) as asked:
        assert ", then " not in quiet_line(await card(desk, talk, "Where do we deploy?"))
        ten_minutes_pass()
        outcome = await asked.outcome()
        assert (outcome.status, outcome.fallback, outcome.halted) == ("timed_out", (), False)
        assert "applies" not in (await settled(desk, talk, "Nobody answered in time")).text


async def test_the_agent_halts_and_goes_on_with_a_word_from_a_person(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKBACK_TIMEOUT", str(int(SECONDS)))
    monkeypatch.setenv("ASKBACK_TOOLS", "ask")
    question = {"id": "where", "question": "Where?", "options": [{"label": "Staging"}, {"label": "Production"}]}
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        desk.model.script(turn(call("ask", questions=[question], onTimeout="halt")), turn("Going on."), when="deploy")
        talk = await desk.mention(ADA, "deploy")
        assert ", then the work stops" in (await card(desk, talk, "Where?")).text
        pass_time(desk, monkeypatch)
        await settled(desk, talk, "The work stops, as announced.")
        await line(desk, talk, STOPPED)
        assert len(told(desk, "deploy")) == 1
        await desk.say(ADA, "continue", talk)
        await line(desk, talk, "Going on.")
        assert "Stop here" in (await turn_of(desk, "deploy", 2)).result
        assert not desk.journal.unexpected()
