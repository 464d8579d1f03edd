"""A note to a choice: written in the window of a question or a form, shown on the card, told to the agent."""

from __future__ import annotations

import json

import pytest

from askback.domain.form import Form, Option, Question
from askback_sandbox.model.script import call, turn
from askback_sandbox.person_error import PersonError

from .driver import ADA, BEN, Card, Desk, Talk, card, line, notice, program_asks, settled, turn_of
from .offers import USE, offer

WHERE = "Where do we deploy?"
EITHER, NOTE = "Something else or a note…", "Add a note…"
HOSTILE = "*but* after six <!channel> @everyone **x** `y`"


def choice_label(desk: Desk) -> str:
    return {"slack": WHERE, "discord": "Your choice"}[desk.platform]


def text_label(*, only_note: bool = False) -> str:
    return "Your note" if only_note else "Your note, or an answer of your own"


def where(**more: object) -> dict[str, object]:
    options = [{"label": "Staging"}, {"label": "Production"}]
    return {"id": "where", "question": WHERE, "options": options, "allowNote": True, **more}


async def deploy(desk: Desk, *questions: dict[str, object]) -> tuple[Talk, Card]:
    desk.model.script(turn(call("ask", questions=[*questions])), turn("Deployed."), when="deploy")
    talk = await desk.mention(ADA, "deploy")
    return talk, await card(desk, talk, WHERE)


async def result_of(desk: Desk, talk: Talk) -> dict[str, object]:
    found = json.loads((await turn_of(desk, "deploy", 2)).result)
    await line(desk, talk, "Deployed.")
    return found


async def greeting(desk: Desk) -> Talk:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    return talk


async def test_an_option_with_a_text_is_the_choice_with_its_note(desk: Desk) -> None:
    talk, shown = await deploy(desk, where())
    assert {"Staging", "Production", EITHER} <= {*shown.buttons}
    field = await desk.open_field(ADA, shown, EITHER)
    assert "With an option, this is a note. Without one, it is your answer." in field.text
    entries = {choice_label(desk): ["Production"], text_label(): HOSTILE}
    assert await desk.send_form(ADA, entries) == ()
    over = await settled(desk, talk, "✓ Production")
    assert f"Production  ·  {HOSTILE}" in over.text
    assert len(set(desk.pings())) == 1, "nobody but ada, by the card"
    assert await result_of(desk, talk) == {
        "status": "answered",
        "answers": {"where": "Production"},
        "notes": {"where": HOSTILE},
    }


async def test_a_text_alone_is_the_written_answer_and_an_option_alone_the_choice(desk: Desk) -> None:
    talk, shown = await deploy(desk, where())
    await desk.open_field(ADA, shown, EITHER)
    assert await desk.send_form(ADA, {text_label(): "Nowhere"}) == ()
    await settled(desk, talk, "Nowhere")
    assert await result_of(desk, talk) == {"status": "answered", "answers": {"where": {"written": "Nowhere"}}}


async def test_an_option_alone_is_the_choice(desk: Desk) -> None:
    talk, shown = await deploy(desk, where())
    await desk.open_field(ADA, shown, EITHER)
    assert await desk.send_form(ADA, {choice_label(desk): ["Staging"]}) == ()
    over = await settled(desk, talk, "✓ Staging")
    assert "Staging  ·" not in over.text
    assert await result_of(desk, talk) == {"status": "answered", "answers": {"where": "Staging"}}


async def test_a_click_on_an_option_still_answers_at_once(desk: Desk) -> None:
    talk, shown = await deploy(desk, where())
    await desk.press(ADA, shown, "Production")
    await settled(desk, talk, "✓ Production")
    assert await result_of(desk, talk) == {"status": "answered", "answers": {"where": "Production"}}


async def test_without_written_answers_a_text_needs_an_option(desk: Desk) -> None:
    talk, shown = await deploy(desk, where(allowCustom=False))
    assert NOTE in shown.buttons
    await desk.open_field(ADA, shown, NOTE)
    note = text_label(only_note=True)
    if desk.platform == "slack":  # each platform's client asks for the option before the bot does
        assert await desk.send_form(ADA, {note: "but after six"}) == ("Please complete this required field.",)
    else:
        with pytest.raises(PersonError, match="is required"):
            await desk.send_form(ADA, {note: "but after six"})
    assert await desk.send_form(ADA, {choice_label(desk): ["Staging"], note: "but after six"}) == ()
    await settled(desk, talk, "Staging  ·  but after six")
    assert (await result_of(desk, talk))["notes"] == {"where": "but after six"}


async def test_a_note_that_is_too_long_is_refused_and_kept_with_its_option(desk: Desk) -> None:
    talk, shown = await deploy(desk, where())
    await desk.open_field(ADA, shown, EITHER)
    long = "after six " * 110
    refused = await desk.send_form(ADA, {choice_label(desk): ["Production"], text_label(): long})
    assert "Please shorten it to 1,000 characters; it has 1,099." in refused[-1]
    fields = {field.label: field for field in desk.form(ADA)}
    assert desk.platform == "slack" or [one.label for one in fields[choice_label(desk)].choices if one.on] == [
        "Production"
    ]
    assert await desk.send_form(ADA, {text_label(): "after six"}) == ()
    await settled(desk, talk, "Production  ·  after six")
    assert (await result_of(desk, talk))["notes"] == {"where": "after six"}


async def test_a_form_shows_a_note_in_its_review_and_its_settled_card_and_keeps_it(desk: Desk) -> None:
    day = {"id": "day", "question": "On which day?", "options": [{"label": "Monday"}, {"label": "Friday"}]}
    talk, shown = await deploy(desk, where(header="Place"), {**day, "header": "Day", "allowNote": True})
    await desk.open_field(ADA, shown, EITHER)
    assert await desk.send_form(ADA, {choice_label(desk): ["Production"], text_label(): "but after six"}) == ()
    await desk.press(ADA, await card(desk, talk, "On which day?"), "Friday")
    review = await card(desk, talk, "Review your answers")
    assert "Production  ·  but after six" in review.text
    await desk.press(ADA, review, "Edit Place")
    again = await card(desk, talk, WHERE)
    assert "but after six" in again.text
    assert "Edit your text…" in again.buttons
    opened = await desk.open_field(ADA, again, "Edit your text…")
    assert opened.value == "but after six"
    assert [one.label for one in desk.form(ADA)[0].choices if one.on] == ["Production"]
    await desk.close_field(ADA)
    await desk.press(ADA, again, "✓ Production")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    over = await settled(desk, talk, "Answered")
    assert "Production  ·  but after six" in over.text
    assert await result_of(desk, talk) == {
        "status": "answered",
        "answers": {"where": "Production", "day": "Friday"},
        "notes": {"where": "but after six"},
    }


async def test_in_the_modal_of_a_form_an_option_with_a_text_is_the_choice_with_its_note(desk: Desk) -> None:
    day = {"id": "day", "question": "On which day?", "options": [{"label": "Monday"}, {"label": "Friday"}]}
    talk, shown = await deploy(desk, where(header="Place"), {**day, "header": "Day", "allowNote": True})
    fields = await desk.open_form(ADA, shown)
    texts = [field.label for field in fields if "note" in field.label]
    assert len(texts) == 2
    entries = {WHERE: ["Production"], texts[0]: "but after six", "On which day?": ["Friday"], texts[1]: "early"}
    assert await desk.send_form(ADA, entries) == ()
    over = await settled(desk, talk, "Answered")
    assert "Production  ·  but after six" in over.text
    assert "Friday  ·  early" in over.text
    assert await result_of(desk, talk) == {
        "status": "answered",
        "answers": {"where": "Production", "day": "Friday"},
        "notes": {"where": "but after six", "day": "early"},
    }


async def test_a_typed_option_with_more_words_is_offered_as_a_choice_with_a_note(desk: Desk) -> None:
    talk, _ = await deploy(desk, where(allowCustom=False))
    await desk.say(ADA, "Production, but after six", talk)
    asked = "Is “Production” your answer to “Where do we deploy?”, with the note “but after six”?"
    offered = await offer(desk, talk)
    assert asked in offered.text
    await desk.press(ADA, offered, USE)
    await settled(desk, talk, "Production  ·  but after six")
    assert (await result_of(desk, talk))["notes"] == {"where": "but after six"}


async def test_a_late_note_is_kept_with_its_option(desk: Desk) -> None:
    desk.model.script(turn(call("ask", questions=[where()])), turn("Deployed."), turn("I see."), when="deploy")
    talk = await desk.mention(ADA, "deploy")
    shown = await card(desk, talk, WHERE)
    await desk.open_field(ADA, shown, EITHER)
    await desk.press(ADA, shown, "Staging")
    await line(desk, talk, "Deployed.")
    late = await desk.send_form(ADA, {choice_label(desk): ["Production"], text_label(): "but after six"})
    assert "already been answered" in late[0]
    assert (await turn_of(desk, "deploy", 3)).texts == [
        f"ada: (too late to be an answer to “{WHERE}”) Production, but after six"
    ]


@pytest.mark.parametrize("count", [9, 25])
async def test_many_options_with_notes_are_a_menu_in_the_modal(desk: Desk, count: int) -> None:
    talk = await greeting(desk)
    options = tuple(Option(value=f"v{i}", label=f"Region {i}") for i in range(count))
    form = Form(questions=(Question(id="q", prompt=WHERE, options=options, allow_note=True),))
    async with program_asks(desk, talk, form) as asked:
        await desk.open_field(ADA, await card(desk, talk, WHERE), EITHER)
        assert await desk.send_form(ADA, {choice_label(desk): ["Region 8"], text_label(): "slowly\nplease"}) == ()
        outcome = await asked.outcome()
        over = await settled(desk, talk, "✓ Region 8")
    assert [(answer.labels, answer.note) for answer in outcome.answers] == [(("Region 8",), "slowly\nplease")]
    assert "Note: slowly" in over.text


async def test_only_those_who_are_asked_can_write_a_note(desk: Desk) -> None:
    _, shown = await deploy(desk, where())
    await desk.press(BEN, shown, EITHER)
    await notice(desk, BEN, "can answer")
    assert desk.form(BEN) == ()
