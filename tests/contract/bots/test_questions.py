"""The look of a question, row by row of the design's table; every way of answering reaches the model."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from askback.domain.card_labels import SHOW_QUESTION
from askback.domain.form import Form, Option, Question
from askback_sandbox.model.script import call, turn

from .driver import (
    ADA,
    BEN,
    Card,
    Desk,
    Talk,
    asks,
    asks_of,
    cancel,
    card,
    form_of,
    notice,
    one,
    program_asks,
    settled,
    told,
    turn_of,
    until,
)

LONG = "A label that is rather long, since it explains what it stands for and what comes of it, whatever you do"


async def thread(desk: Desk) -> Talk:
    return await desk.thread(ADA, "It is market day.")


async def asked(desk: Desk, *calls: object, about: str = "please") -> tuple[Talk, Card]:
    """Return a conversation in which the model has asked, and its card."""
    desk.model.script(turn(*calls), turn("Thank you, that is settled."), when=about)  # type: ignore[arg-type]
    talk = await desk.mention(ADA, about)
    return talk, await card(desk, talk)


async def test_one_of_few_short_labels_is_buttons(desk: Desk) -> None:
    talk, shown = await asked(desk, asks(one("Which fruit?", "Apple", "Pear", "Plum", "Fig")))
    assert shown.buttons == ("Apple", "Pear", "Plum", "Fig", "Something else…", "Not now…")
    for label in ("Apple", "Pear", "Plum", "Fig"):
        assert f"About {label}" in shown.text
        assert label in shown.notification
    assert "Which fruit?" in shown.notification
    await desk.press(ADA, shown, "Plum")
    over = await settled(desk, talk, "Plum")
    assert "Answered" in over.text
    assert over.id == shown.id
    answer = (await turn_of(desk, "please", 2)).result
    assert answer == (
        'User has answered your questions: "Which fruit?"="Plum". '
        "You can now continue with the user's answers in mind."
    )


async def test_who_is_asked_stands_on_the_card_and_is_mentioned_once(desk: Desk) -> None:
    await asked(desk, asks(one("Which fruit?", "Apple", "Pear")))
    assert [ping for ping in desk.pings() if desk.actor(ADA).id in ping] == list(desk.pings())
    assert len(desk.pings()) == 1


async def test_one_of_many_is_a_numbered_menu(desk: Desk) -> None:
    labels = [f"Choice {chr(65 + index)}" for index in range(12)]
    talk, shown = await asked(desk, asks_of("Which of many?", labels))
    assert "Choice" not in shown.text, "the menu holds them whole"
    assert [choice.label for choice in shown.menu.choices] == [f"{n}. {label}" for n, label in enumerate(labels, 1)]
    assert shown.menu.kind == "menu"
    assert not shown.menu.searched
    assert shown.menu.choices[6].label == "7. Choice G"
    assert "Something else…" in shown.buttons
    await desk.pick(ADA, shown, "Choice G")
    await settled(desk, talk, "Answered")
    answer = json.loads((await turn_of(desk, "please", 2)).result)
    assert answer["answers"] == [{"id": "q", "value": "v6", "label": "Choice G", "wasCustom": False, "index": 7}]


async def test_long_labels_stand_whole_beside_a_button_with_their_number(desk: Desk) -> None:
    talk, shown = await asked(desk, asks(one("Which way?", f"{LONG} (one)", f"{LONG} (two)")))
    assert f"{LONG} (one)" in shown.text
    assert f"{LONG} (two)" in shown.text
    await desk.press(ADA, shown, "Choose 2")
    await settled(desk, talk, f"{LONG} (two)")
    assert f'"Which way?"="{LONG} (two)"' in (await turn_of(desk, "please", 2)).result


async def test_several_are_ticked_and_submitted(desk: Desk) -> None:
    talk, shown = await asked(desk, asks(one("Which ones?", "Red", "Green", "Blue", several=True)))
    assert shown.menu.kind == "several"
    if desk.platform == "slack":
        assert shown.menu.boxes
    assert "Submit" in shown.buttons
    assert "Something else…" in shown.buttons
    await desk.pick(ADA, shown, "Red", "Blue")
    ticked = await card(desk, talk, "✓")
    assert [choice.on for choice in ticked.menu.choices] == [True, False, True]
    await desk.press(ADA, ticked, "Submit")
    await settled(desk, talk, "Answered")
    assert '"Which ones?"="Red, Blue"' in (await turn_of(desk, "please", 2)).result


async def test_several_of_more_than_ten_are_a_menu_of_several(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    form = form_of("Which parts?", [f"Part {index}" for index in range(1, 15)], multi_select=True)
    async with program_asks(desk, talk, form) as asking:
        shown = await card(desk, talk, "Which parts?")
        assert shown.menu.kind == "several"
        assert not shown.menu.boxes
        await desk.pick(ADA, shown, "Part 3", "Part 14")
        await desk.press(ADA, await card(desk, talk, "✓"), "Submit")
        answer = (await asking.outcome())["q"]
        assert answer.labels == ("Part 3", "Part 14")
    await settled(desk, talk, "Answered")


async def test_nothing_ticked_is_not_submitted(desk: Desk) -> None:
    talk, shown = await asked(desk, asks(one("Which ones?", "Red", "Green", several=True)))
    await desk.press(ADA, shown, "Submit")
    await notice(desk, ADA, "choose at least one option")
    assert (await card(desk, talk, "Which ones?")).controls == shown.controls
    assert len(told(desk, "please")) == 1


async def test_more_than_a_menu_holds_is_found_by_what_is_typed(desk: Desk) -> None:
    labels = [f"City {index}" for index in range(1, 151)]
    talk, shown = await asked(desk, asks_of("Which city?", labels))
    if desk.platform == "slack":
        assert shown.menu.searched
        assert await desk.search(ADA, shown, "city 142") == ("142. City 142",)
        assert len(await desk.search(ADA, shown, "")) == 100
        assert await desk.search(ADA, shown, "no such town") == ()
    await desk.pick(ADA, shown, "City 142")
    await settled(desk, talk, "Answered")
    assert json.loads((await turn_of(desk, "please", 2)).result)["answers"][0]["index"] == 142


async def test_options_are_found_only_by_whoever_may_answer(desk: Desk) -> None:
    if desk.platform != "slack":
        return
    _, shown = await asked(desk, asks_of("Which city?", [f"City {index}" for index in range(1, 151)]))
    assert await desk.search(BEN, shown, "city") == ()


async def test_several_of_more_than_a_menu_holds(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    form = form_of("Which cities?", [f"City {index}" for index in range(1, 151)], multi_select=True)
    async with program_asks(desk, talk, form) as asking:
        await desk.pick(ADA, await card(desk, talk, "Which cities?"), "City 7", "City 149")
        await desk.press(ADA, await card(desk, talk, "✓"), "Submit")
        assert (await asking.outcome())["q"].labels == ("City 7", "City 149")
    await settled(desk, talk, "Answered")


async def test_a_recommended_option_is_marked(desk: Desk) -> None:
    talk, shown = await asked(desk, asks(one("Which fruit?", "Apple (Recommended)", "Pear")))
    assert "★" in shown.text or "recommended" in shown.text.lower()
    await desk.press(ADA, shown, "Apple")
    await settled(desk, talk, "Apple")
    assert '"Which fruit?"="Apple (Recommended)"' in (await turn_of(desk, "please", 2)).result


async def test_where_no_other_answer_is_wanted_none_is_offered(desk: Desk) -> None:
    _, shown = await asked(desk, call("askQuestion", question="Go?", options=["Yes", "No"], allowCustom=False))
    assert shown.buttons == ("Yes", "No", "Not now…")


async def test_a_question_without_options_is_a_text_field(desk: Desk) -> None:
    talk, shown = await asked(desk, call("question", questions=[{"id": "q", "prompt": "What is it called?"}]))
    assert shown.buttons == ("Write an answer…", "Not now…")
    await desk.open_field(ADA, shown, "Write an answer…")
    assert await desk.submit(ADA, "The Nautilus") == ()
    await settled(desk, talk, "The Nautilus")
    answers = json.loads((await turn_of(desk, "please", 2)).result)["answers"]
    assert [(answer["label"], answer["wasCustom"]) for answer in answers] == [("The Nautilus", True)]


async def test_a_settled_card_shows_answer_person_and_time_and_has_no_controls(desk: Desk) -> None:
    talk, shown = await asked(desk, asks(one("Which fruit?", "Apple", "Pear")))
    await desk.press(ADA, shown, "Pear")
    over = await settled(desk, talk, "Answered")
    assert over.buttons == (SHOW_QUESTION,), "nothing to decide is left"
    assert "About Apple" not in over.text
    assert over.text.count("Pear") == 1
    answer, _, facts = over.text.partition("Pear")
    assert answer.strip() == "✓"
    assert "Which fruit?" in facts
    assert desk.actor(ADA).id in facts.partition("Answered")[2]
    assert f"{datetime.now(UTC):%Y}" in facts
    if desk.platform == "slack":  # Discord has no separate text for screen readers
        assert "Answered: Pear" in over.notification
    (newest,) = desk.cards(talk)
    assert newest.id == shown.id, "it is the same message"


async def test_everybody_who_may_talk_to_the_bot_can_see_the_whole_of_a_settled_question(desk: Desk) -> None:
    talk, shown = await asked(desk, asks(one("Which fruit?", "Apple", "Pear")))
    await desk.press(ADA, shown, "Pear")
    over = await settled(desk, talk, "Answered")
    await desk.press(BEN, over, SHOW_QUESTION)
    await until(lambda: "About Apple" in desk.alone(BEN), "ben sees the whole question")
    assert "Pear  ✓" in desk.alone(BEN)
    (still,) = desk.cards(talk)
    assert (still.id, still.text) == (over.id, over.text), "looking changes nothing"


async def test_details_of_a_settled_question_are_shown_only_to_people_who_could_answer_it(desk: Desk) -> None:
    talk = await thread(desk)
    options = (Option(value="y", label="Yes"), Option(value="n", label="No"))
    form = Form(questions=(Question(id="q", prompt="Deploy?", options=options, details="The secret plan."),))
    async with program_asks(desk, talk, form, ADA):
        await desk.press(ADA, await card(desk, talk, "Deploy?"), "Yes")
        over = await settled(desk, talk, "Answered")
    await desk.press(BEN, over, SHOW_QUESTION)
    await until(lambda: "Deploy?" in desk.alone(BEN), "ben sees the question")
    assert "The secret plan." not in desk.alone(BEN)
    await desk.press(ADA, over, SHOW_QUESTION)
    await until(lambda: "The secret plan." in desk.alone(ADA), "ada sees the details, too")


async def test_a_card_of_several_messages_shrinks_to_one_when_it_is_settled(desk: Desk) -> None:
    talk = await thread(desk)
    options = tuple(
        Option(value=f"v{number}", label=f"Fruit {number:02}", description=f"Taste {number}. " + "Sweet. " * 70)
        for number in range(1, 41)
    )
    form = Form(questions=(Question(id="q", prompt="Which fruit?", options=options),))
    async with program_asks(desk, talk, form, ADA):
        shown = await card(desk, talk, "Which fruit?")
        assert "Taste 40." not in shown.text
        await until(lambda: any("Taste 40." in one.text for one in desk.lines(talk)), "all of it is posted")
        await desk.pick(ADA, shown, "Fruit 04")
        over = await settled(desk, talk, "Answered")
    assert over.id == shown.id
    assert over.buttons == (SHOW_QUESTION,)
    await until(lambda: not any("Taste" in one.text for one in desk.lines(talk)), "the further messages are gone")


async def test_a_cancelled_question_is_settled_and_the_model_hears_of_it(desk: Desk) -> None:
    talk, shown = await asked(desk, asks(one("Which fruit?", "Apple", "Pear")))
    await cancel(desk, ADA, shown)
    await settled(desk, talk, "Cancelled")
    answer = await turn_of(desk, "please", 2)
    assert "Pear" not in answer.result


async def test_several_questions_at_once_are_cards_answered_in_any_order(desk: Desk) -> None:
    talk, _ = await asked(
        desk,
        asks(one("First?", "One", "Uno")),
        asks(one("Second?", "Two", "Due")),
        asks(one("Third?", "Three", "Tre")),
    )
    for question, label in (("Second?", "Due"), ("Third?", "Three"), ("First?", "Uno")):
        await desk.press(ADA, await card(desk, talk, question), label)
        await settled(desk, talk, question)
    newest = await turn_of(desk, "please", 2)
    assert [result.split('"')[3] for result in newest.results.values()] == ["Uno", "Due", "Three"]
    assert [block["type"] for block in newest.news] == ["tool_result"] * 3
    assert len(told(desk, "please")) == 2, "one turn of the model for all of them"


async def test_a_question_that_cannot_be_understood_is_an_error_to_the_model_and_no_card(desk: Desk) -> None:
    broken = call("AskUserQuestion", questions=[one(f"Question {index}?", "A", "B") for index in range(6)])
    desk.model.script(turn(broken), turn("I had better ask less."), when="muddle")
    talk = await desk.mention(ADA, "muddle")
    newest = await turn_of(desk, "muddle", 2)
    assert newest.news[0]["is_error"] is True
    assert "4" in newest.result
    assert desk.cards(talk) == ()
