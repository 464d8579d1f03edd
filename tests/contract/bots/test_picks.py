"""People and channels as answers, picked with the platform's own pickers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from askback.domain.form import Form, Question
from askback.domain.outcome import Picked
from askback_sandbox.model.script import call, turn
from askback_sandbox.slack.faults import Fault

from .conftest import PLATFORMS
from .driver import ADA, BEN, CY, DEPLOYS, Card, Desk, Talk, card, notice, program_asks, settled, turn_of, until
from .offers import known


def people(name: str = "who", **more: Any) -> Question:
    return Question(id=name, prompt="Who reviews it?", picks="people", **more)


def channels(**more: Any) -> Question:
    return Question(id="where", prompt="Where do we announce it?", picks="channels", **more)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    """The address of the database; None means the desk's own file."""
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else None


@pytest.fixture
async def here(
    platform: str, database: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    """A desk on either store, whose bot the scenario starts."""
    async with PLATFORMS[platform].open_desk(
        tmp_path,
        monkeypatch,
        start=False,
        database=database,  # type: ignore[call-arg]
    ) as opened:
        yield opened
        assert not opened.journal.unexpected(), opened.journal.unexpected()


def picked(desk: Desk, name: str) -> Picked:
    """Return a person or channel with the name that people see on this platform."""
    if name.startswith("#"):
        return Picked(id=desk._find_id(name), name=name)  # type: ignore[attr-defined]
    actor = desk.actor(name)
    return Picked(id=actor.id, name=actor.name)


def as_data(one: Picked) -> dict[str, str]:
    return {"id": one.id, "name": one.name}


async def ticked(desk: Desk, talk: Talk, *names: str) -> Card:
    """Return the card once its picker shows exactly these people or channels."""
    wanted = sorted(picked(desk, name).id for name in names)

    def shows() -> Card | None:
        one = desk.cards(talk)[-1]
        handle = one.menu.handle
        if desk.platform == "discord":
            found = [choice.label for choice in one.menu.choices]
        else:
            elements = [block.get("accessory", {}) for block in one.handle]
            element = next(e for e in elements if e.get("action_id") == handle.handle["action_id"])
            found = element.get("initial_users", element.get("initial_conversations", []))
        return one if sorted(found) == wanted else None

    return await until(shows, f"the picker shows {names}")


async def test_the_model_gets_the_id_and_the_name_of_a_person(here: Desk) -> None:
    ask = {"questions": [{"id": "who", "question": "Who reviews it?", "picks": "people"}]}
    here.model.script(turn(call("ask", **ask)), turn("I ask Ben."), when="review")
    async with here.bot():
        talk = await here.mention(ADA, "review")
        asked = await card(here, talk, "Who reviews it?")
        assert asked.menu.label == "Choose a person…"
        assert asked.text.count("Who reviews it?") == 1
        assert asked.buttons == ("Not now…",)
        assert "Choose a person." in asked.notification or here.platform == "discord"
        await here.choose(ADA, asked, BEN)
        over = await settled(here, talk, "Answered by")
        ben = picked(here, BEN)
        assert f"✓ <@{ben.id}>" in over.text.replace("*", "")
        result = json.loads((await turn_of(here, "review", 2)).result)
        assert result == {"status": "answered", "answers": {"who": as_data(ben)}}


async def test_a_restart_between_question_and_click_changes_nothing(here: Desk) -> None:
    ask = {"questions": [{"id": "who", "question": "Who reviews it?", "picks": "people", "multiSelect": True}]}
    here.model.script(turn(call("ask", **ask)), turn("I ask them."), when="review")
    async with here.bot():
        talk = await here.mention(ADA, "review")
        await here.choose(ADA, await card(here, talk, "Who reviews it?"), BEN)
        await ticked(here, talk, BEN)
    async with here.bot():
        await here.choose(ADA, here.cards(talk)[-1], BEN, CY)
        await here.press(ADA, await ticked(here, talk, BEN, CY), "Submit")
        result = json.loads((await turn_of(here, "review", 2)).result)
        assert result["answers"] == {"who": [as_data(picked(here, BEN)), as_data(picked(here, CY))]}
    assert not [one for one in here.pings() if CY in one], "nobody is notified by being an answer"


async def test_several_people_pick_and_all_of_it_counts(desk: Desk) -> None:
    talk = await desk.thread(ADA, "review")
    form = Form(questions=(people(multi_select=True, min_choices=2, max_choices=3),))
    async with program_asks(desk, talk, form, ADA, BEN) as asked:
        first = await card(desk, talk, "Choose 2 to 3 people.")
        await desk.choose(ADA, first, CY)
        await desk.press(ADA, await ticked(desk, talk, CY), "Submit")
        assert "choose 2 to 3 people" in await notice(desk, ADA, "choose 2 to 3 people")
        await desk.choose(BEN, first, BEN)  # Ben still sees the first card
        await desk.press(BEN, await ticked(desk, talk, BEN, CY), "Submit")
        outcome = await asked.outcome()
        assert outcome["who"].picked == (picked(desk, BEN), picked(desk, CY))
        over = await settled(desk, talk, "Answered by")
        assert f"✓ <@{picked(desk, BEN).id}>, <@{picked(desk, CY).id}>" in over.text.replace("*", "")


async def test_a_form_asks_for_a_person_and_a_channel_and_its_review_names_both(desk: Desk) -> None:
    talk = await desk.thread(ADA, "release")
    when = Question(id="when", prompt="When?")
    async with program_asks(desk, talk, Form(questions=(people(), channels(allow_custom=True), when))) as asked:
        await desk.choose(ADA, await card(desk, talk, "Who reviews it?"), BEN)
        where = await card(desk, talk, "Where do we announce it?")
        assert where.menu.label == "Choose a channel…"
        assert "Something else…" in where.buttons
        await desk.choose(ADA, where, f"#{DEPLOYS}")
        await desk.open_field(ADA, await card(desk, talk, "When?"), "Write an answer…")
        assert await desk.submit(ADA, "Today") == ()
        review = await card(desk, talk, "Review your answers")
        channel = picked(desk, f"#{DEPLOYS}")
        assert f"<@{picked(desk, BEN).id}>" in review.text
        assert f"<#{channel.id}>" in review.text
        await desk.press(ADA, review, "Edit Q1")
        await desk.choose(ADA, await card(desk, talk, "Who reviews it?"), CY)
        await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
        outcome = await asked.outcome()
        assert (outcome["who"].picked, outcome["where"].picked) == ((picked(desk, CY),), (channel,))
        assert outcome["where"].labels == (f"#{DEPLOYS}",)


async def test_a_written_answer_replaces_a_person_if_the_question_allows_one(desk: Desk) -> None:
    talk = await desk.thread(ADA, "release")
    form = Form(questions=(people(allow_custom=True), people("second")))
    async with program_asks(desk, talk, form) as asked:
        await desk.choose(ADA, await card(desk, talk, "1 of 2"), BEN)
        await desk.press(ADA, await card(desk, talk, "2 of 2"), "Back")
        await desk.open_field(ADA, await card(desk, talk, "1 of 2"))
        assert await desk.submit(ADA, "somebody from outside") == ()
        await desk.choose(ADA, await card(desk, talk, "2 of 2"), BEN)
        await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
        outcome = await asked.outcome()
        assert (outcome["who"].picked, outcome["who"].text) == ((), "somebody from outside")


@pytest.mark.parametrize("strange", ["<!channel>", "U0 OR 1=1", "../../etc", "", "123"])
async def test_an_id_of_a_strange_shape_is_refused_with_a_private_notice(desk: Desk, strange: str) -> None:
    talk = await desk.thread(ADA, "release")
    async with program_asks(desk, talk, Form(questions=(people(),))) as asked:
        await desk.choose_strange(ADA, await card(desk, talk, "Who reviews it?"), strange)
        await notice(desk, ADA, "Please choose")
        assert not asked.task.done()
        assert (await card(desk, talk, "Who reviews it?")).is_live


async def test_a_bot_cannot_be_picked_as_a_person(desk: Desk) -> None:
    talk = await desk.thread(ADA, "release")
    async with program_asks(desk, talk, Form(questions=(people(),))) as asked:
        asking = await card(desk, talk, "Who reviews it?")
        await desk.choose(ADA, asking, "the bot")
        await notice(desk, ADA, "not a person who can be chosen here")
        assert not asked.task.done()
        await desk.choose(ADA, asking, BEN)
        assert (await asked.outcome())["who"].picked == (picked(desk, BEN),)


async def test_somebody_who_may_not_answer_gets_the_private_notice(desk: Desk) -> None:
    talk = await desk.thread(ADA, "release")
    async with program_asks(desk, talk, Form(questions=(people(),)), ADA) as asked:
        await desk.choose(BEN, await card(desk, talk, "Who reviews it?"), BEN)
        await notice(desk, BEN, "ada")
        assert not asked.task.done(), "that Ben picked himself gives him no right to answer"


async def test_a_click_on_an_earlier_step_changes_nothing(desk: Desk) -> None:
    talk = await desk.thread(ADA, "release")
    async with program_asks(desk, talk, Form(questions=(people(), people("second")))) as asked:
        first = await card(desk, talk, "1 of 2")
        await desk.choose(ADA, first, BEN)
        await card(desk, talk, "2 of 2")
        await desk.choose(ADA, first, CY)
        await notice(desk, ADA, "moved on")
        assert not asked.task.done()


@pytest.mark.only("slack", reason="Discord tells the names with the click")
async def test_a_slow_look_up_of_a_name_delays_no_ack_and_the_model_gets_the_name(desk: Desk) -> None:
    ask = {"questions": [{"id": "who", "question": "Who reviews it?", "picks": "people"}]}
    desk.model.script(turn(call("ask", **ask)), turn("I ask Cy."), when="review")
    talk = await desk.mention(ADA, "review")
    asked = await card(desk, talk, "Who reviews it?")
    desk.workspace.faults.add(Fault(kind="delay", method="users.info", seconds=1.2))  # type: ignore[attr-defined]
    clicked = await desk.choose(ADA, asked, CY)
    assert clicked.ms is not None
    assert clicked.ms < 1_200
    assert f"<@{picked(desk, CY).id}>" in (await settled(desk, talk, "Answered by")).text
    result = json.loads((await turn_of(desk, "review", 2)).result)
    assert result["answers"] == {"who": as_data(picked(desk, CY))}
    await until(lambda: "Answered: cy" in desk.cards(talk)[-1].notification, "the card knows the name, too")


@pytest.mark.only("slack", reason="Discord tells the names with the click")
async def test_a_look_up_that_fails_at_first_is_made_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askback_slack.picked_names.LATER_PAUSES", (0.0, 0.2, 0.2))
    talk = await desk.thread(ADA, "release")
    desk.workspace.faults.fail("conversations.info", "internal_error", times=2)  # type: ignore[attr-defined]
    async with program_asks(desk, talk, Form(questions=(channels(),))) as asked:
        await desk.choose(ADA, await card(desk, talk, "Where do we announce it?"), f"#{DEPLOYS}")
        assert (await asked.outcome())["where"].picked == (picked(desk, f"#{DEPLOYS}"),)


@pytest.mark.only("slack", reason="Discord tells the names with the click")
async def test_a_channel_that_the_bot_does_not_see_is_answered_by_its_id_and_nobody_waits_for_a_name(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback.manager.awaited_names.SECONDS", 3600.0)
    talk = await desk.thread(ADA, "release")
    desk.workspace.faults.fail("conversations.info", "channel_not_found", times=None)  # type: ignore[attr-defined]
    async with program_asks(desk, talk, Form(questions=(channels(),))) as asked:
        await desk.choose(ADA, await card(desk, talk, "Where do we announce it?"), "#private-room")
        (found,) = (await asked.outcome())["where"].picked
        assert (found.name, found.label) == ("", found.id)
    await settled(desk, talk, "Answered by")


def mention(desk: Desk, *names: str) -> str:
    """Return what a client sends if a person types these mentions."""
    if desk.platform == "slack":  # its sandbox turns typed names into mentions
        return ", ".join(one if one.startswith("#") else f"@{one}" for one in names)
    return ", ".join(f"<{'#' if one.startswith('#') else '@'}{picked(desk, one).id}>" for one in names)


async def test_a_message_that_only_mentions_a_person_answers_the_question_under_whose_card_it_is(desk: Desk) -> None:
    ask = {"questions": [{"id": "who", "question": "Who reviews it?", "picks": "people"}]}
    desk.model.script(turn(call("ask", **ask)), turn("I ask Ben."), when="review")
    talk = await desk.mention(ADA, "review")
    await card(desk, talk, "Who reviews it?")
    await known(desk)
    await desk.say(ADA, mention(desk, BEN), talk)
    await settled(desk, talk, "Answered by")
    result = json.loads((await turn_of(desk, "review", 2)).result)
    assert result["answers"] == {"who": as_data(picked(desk, BEN))}


async def test_mentions_answer_each_question_of_a_form_in_turn(desk: Desk) -> None:
    talk = await desk.thread(ADA, "release")
    form = Form(questions=(people(multi_select=True), channels()))
    async with program_asks(desk, talk, form) as asked:
        await card(desk, talk, "Who reviews it?")
        await known(desk)
        await desk.say(ADA, mention(desk, BEN, CY), talk)
        await card(desk, talk, "Where do we announce it?")
        await known(desk)
        await desk.say(ADA, mention(desk, f"#{DEPLOYS}"), talk)
        await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
        outcome = await asked.outcome()
        assert outcome["who"].picked == (picked(desk, BEN), picked(desk, CY))
        assert outcome["where"].picked == (picked(desk, f"#{DEPLOYS}"),)


async def test_a_message_that_says_more_than_a_mention_is_no_answer_and_its_author_is_told_how_to_answer(
    desk: Desk,
) -> None:
    talk = await desk.thread(ADA, "release")
    async with program_asks(desk, talk, Form(questions=(people(),))) as asked:
        await card(desk, talk, "Who reviews it?")
        await known(desk)
        await desk.say(ADA, f"not {mention(desk, BEN)}, please", talk)
        await until(
            lambda: any("write a message that only mentions the person" in one for one in desk.replies(ADA)),
            "Ada gets a notice",
        )
        await desk.say(ADA, mention(desk, BEN, CY), talk)
        await desk.say(ADA, mention(desk, f"#{DEPLOYS}"), talk)
        await desk.mention_in(ADA, "hello", talk)
        assert not asked.task.done()
        await desk.say(ADA, f"{mention(desk, CY)}.", talk)
        assert (await asked.outcome())["who"].picked == (picked(desk, CY),)


async def test_a_card_that_is_posted_anew_names_people_and_notifies_nobody(desk: Desk) -> None:
    talk = await desk.thread(ADA, "release")
    form = Form(questions=(people(multi_select=True), people("second")))
    async with program_asks(desk, talk, form):
        await desk.choose(ADA, await card(desk, talk, "1 of 2"), BEN, CY)
        await desk.press(ADA, await ticked(desk, talk, BEN, CY), "Next")
        await desk.press(ADA, await card(desk, talk, "2 of 2"), "Review")
        review = await card(desk, talk, "Review your answers")
        await known(desk)
        await desk.delete(review)
        again = await until(
            lambda: next((one for one in desk.cards(talk) if one.id != review.id and one.is_live), None), "it is posted"
        )
        ids = [picked(desk, name).id for name in (BEN, CY)]
        if desk.platform == "slack":
            assert "ben, cy" in again.text
            assert not [one for one in desk.pings() if any(f"@{found}" in one for found in ids)]
        else:
            posted = [arguments for method, arguments in desk.api_calls() if method == "create_message"]
            mentioned = [one.get("allowed_mentions", {}).get("users", []) for one in posted]
            assert not {found for users in mentioned for found in users} & set(ids)
