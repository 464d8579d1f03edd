"""`ask`: a form with conditions, kinds of answers, defaults and optional questions, answered on both platforms."""

from __future__ import annotations

import json

from askback_sandbox.model.script import call, turn
from support.tool_calls import DEPLOY

from .driver import ADA, Card, Desk, Talk, card, line, settled, turn_of, until

WRITE = "Write an answer…"


async def deploy(desk: Desk) -> tuple[Talk, Card]:
    desk.model.script(turn(call("ask", **DEPLOY)), turn("Deployed."), when="deploy")
    talk = await desk.mention(ADA, "deploy")
    return talk, await card(desk, talk, "Where do we deploy?")


async def result_of(desk: Desk, talk: Talk) -> object:
    await settled(desk, talk, "Answered")
    found = json.loads((await turn_of(desk, "deploy", 2)).result)
    await line(desk, talk, "Deployed.")
    return found


async def test_a_form_of_the_model_is_answered_and_comes_back_by_id(desk: Desk) -> None:
    talk, first = await deploy(desk)
    assert "✓ Staging" in first.buttons, "the default is chosen"
    await desk.press(ADA, first, "Production")
    field = await desk.open_field(ADA, await card(desk, talk, "On how many machines?"), WRITE)
    assert "9." in field.text, "it says what can be written"
    (refused,) = await desk.submit(ADA, "12")
    # Slack's own field for numbers refuses it before the bot does.
    assert ("Must be 9 or less" if desk.platform == "slack" else "at most 9") in refused
    assert await desk.submit(ADA, "3") == ()
    await desk.open_field(ADA, await card(desk, talk, "On which day?"), WRITE)
    if desk.platform == "discord":  # Slack's calendar takes nothing but a date
        (refused,) = await desk.submit(ADA, "Monday")
        assert "2026-11-24" in refused
    assert await desk.submit(ADA, "2026-11-30") == ()
    checks = await card(desk, talk, "Which checks run before?")
    assert "Choose at least 2 options." in checks.text
    assert "Choose at least 2 options" in checks.notification
    await desk.pick(ADA, checks, "Tests")
    await desk.press(ADA, await card(desk, talk, "✓"), "Next")
    await desk.press(ADA, await card(desk, talk, "What else is to be known?"), "(no answer)")
    review = await card(desk, talk, "Not answered yet: choose at least 2 options")
    assert "Submit" not in review.buttons
    await desk.press(ADA, review, "Answer the rest")
    await desk.pick(ADA, await card(desk, talk, "Which checks run before?"), "Tests", "Lint")
    await until(lambda: [one.on for one in desk.cards(talk)[-1].menu.choices] == [True, False, True], "both are ticked")
    await desk.press(ADA, await card(desk, talk, "4 of 5"), "Review")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    assert await result_of(desk, talk) == {
        "status": "answered",
        "answers": {"where": "prd", "count": 3, "day": "2026-11-30", "checks": ["Tests", "Lint"], "note": None},
    }


async def test_a_question_that_going_back_takes_out_is_reported_as_skipped(desk: Desk) -> None:
    talk, first = await deploy(desk)
    await desk.press(ADA, first, "Production")
    await desk.open_field(ADA, await card(desk, talk, "On how many machines?"), WRITE)
    assert await desk.submit(ADA, "3") == ()
    await desk.open_field(ADA, await card(desk, talk, "On which day?"), WRITE)
    assert await desk.submit(ADA, "2026-11-30") == ()
    await desk.pick(ADA, await card(desk, talk, "Which checks run before?"), "Tests", "Types")
    await desk.press(ADA, await card(desk, talk, "✓"), "Next")
    await desk.open_field(ADA, await card(desk, talk, "What else is to be known?"), WRITE)
    assert await desk.submit(ADA, "After six.") == ()
    review = await card(desk, talk, "Review your answers")
    assert "2026-11-30" in review.text
    await desk.press(ADA, review, "Edit Where")
    await desk.press(ADA, await card(desk, talk, "Where do we deploy?"), "Staging")
    review = await card(desk, talk, "Review your answers")
    assert "2026-11-30" not in review.text
    await desk.press(ADA, review, "Submit")
    assert await result_of(desk, talk) == {
        "status": "answered",
        "answers": {"where": "stg", "count": 3, "checks": ["Tests", "Types"], "note": "After six."},
        "skipped": ["day"],
    }
