"""All questions of a form in one modal: filled in, refused with the reasons, sent, and sent while others answer."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from askback.domain.form import Condition, Form, Option, Question, TextRules
from askback.doors.permission import build_questions
from askback_sandbox.model.script import turn
from askback_sandbox.slack.faults import Fault

from .driver import (
    ADA,
    BEN,
    CY,
    DEPLOYS,
    Card,
    Desk,
    PlatformTests,
    Talk,
    asks,
    card,
    line,
    notice,
    one,
    program_asks,
    settled,
    told,
    turn_of,
    until,
)

ANSWER_ALL = "Answer all…"
WHERE, BAG = "Where to?", "What to pack?"


async def trip(desk: Desk) -> tuple[Talk, Card]:
    desk.model.script(
        turn(
            asks(
                one(WHERE, "Rome", "Oslo", header="Place"),
                one(BAG, "Boots", "Hat", "Map", several=True, header="Bag"),
            )
        ),
        turn("Have a good trip."),
        turn("I see."),
        when="trip",
    )
    talk = await desk.mention(ADA, "trip")
    return talk, await card(desk, talk, WHERE)


def text_of(desk: Desk, header: str) -> str:
    """Return the label of the field for a written answer to a question with options."""
    return {"slack": f"{header}: something else", "discord": f"Something else… ({header})"}[desk.platform]


def numbers() -> Form:
    return Form(
        questions=(
            Question(id="name", prompt="Which name?", rules=TextRules(max_length=5)),
            Question(id="seats", prompt="How many seats?", rules=TextRules(kind="integer", minimum=1, maximum=9)),
        )
    )


async def greeting(desk: Desk) -> Talk:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    return talk


async def test_all_questions_are_answered_in_one_modal_without_a_review(desk: Desk) -> None:
    talk, shown = await trip(desk)
    fields = await desk.open_form(ADA, shown)
    assert [field.label for field in fields] == [WHERE, text_of(desk, "Place"), BAG, text_of(desk, "Bag")]
    assert [choice.label for choice in fields[0].choices] == ["Rome", "Oslo", "Something else…"]
    assert [choice.description for choice in fields[0].choices][:2] == ["About Rome", "About Oslo"]
    assert len(told(desk, "trip")) == 1, "nothing is handed in before it is sent"
    assert await desk.send_form(ADA, {WHERE: ["Oslo"], BAG: ["Boots", "Map"]}) == ()
    over = await settled(desk, talk, "Answered")
    assert "Oslo" in over.text
    assert '"Where to?"="Oslo", "What to pack?"="Boots, Map"' in (await turn_of(desk, "trip", 2)).result
    assert not desk.notices(ADA)


async def test_a_written_answer_in_the_modal_takes_the_place_of_an_option_or_joins_several(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.open_form(ADA, shown)
    entries = {
        WHERE: ["Something else…"],
        text_of(desk, "Place"): "Lima <!here> @everyone",
        BAG: ["Hat", "Something else…"],
        text_of(desk, "Bag"): "a camera",
    }
    assert await desk.send_form(ADA, entries) == ()
    await settled(desk, talk, "Lima <!here> @everyone")
    newest = await turn_of(desk, "trip", 2)
    assert '"Where to?"="Lima <!here> @everyone", "What to pack?"="Hat, a camera"' in newest.result
    assert len(set(desk.pings())) == 1, "nobody but ada, by the card"


async def test_an_option_and_a_text_are_refused_and_both_are_kept(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.open_form(ADA, shown)
    refused = await desk.send_form(ADA, {WHERE: ["Rome"], text_of(desk, "Place"): "but not in May", BAG: ["Hat"]})
    assert "keep one of them" in refused[-1]
    fields = {field.label: field for field in desk.form(ADA)}
    assert [choice.label for choice in fields[WHERE].choices if choice.on] or desk.platform == "slack"
    assert await desk.send_form(ADA, {text_of(desk, "Place"): ""}) == ()
    await settled(desk, talk, "Answered")
    assert '"Where to?"="Rome", "What to pack?"="Hat"' in (await turn_of(desk, "trip", 2)).result


async def test_each_wrong_field_is_named_and_the_right_ones_are_kept(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, numbers()) as asked:
        await desk.open_form(ADA, await card(desk, talk, "Which name?"))
        refused = await desk.send_form(ADA, {"Which name?": "far too long", "How many seats?": "3"})
        assert "shorten it to 5 characters" in refused[-1]
        kept = {field.label: field.value for field in desk.form(ADA)}
        if desk.platform == "discord":  # Slack's window stays open as it is
            assert kept == {"Which name?": "far too long", "How many seats?": "3"}
        assert await desk.send_form(ADA, {"Which name?": "Ada"}) == ()
        outcome = await asked.outcome()
    assert [answer.text for answer in outcome.answers] == ["Ada", "3"]


async def test_a_form_that_somebody_changed_meanwhile_shows_its_review_instead_of_ending(desk: Desk) -> None:
    talk = await greeting(desk)
    form = Form(
        questions=(
            Question(id="a", prompt="Which fruit?", options=_list("Apple", "Pear"), allow_custom=False),
            Question(id="b", prompt="Which day?", options=_list("Today", "Monday"), allow_custom=False),
        )
    )
    async with program_asks(desk, talk, form, ADA, BEN) as asked:
        shown = await card(desk, talk, "Which fruit?")
        await desk.open_form(ADA, shown)
        await desk.press(BEN, shown, "Pear")
        await card(desk, talk, "Which day?")
        assert await desk.send_form(ADA, {"Which fruit?": ["Apple"], "Which day?": ["Monday"]}) == ()
        review = await card(desk, talk, "Review your answers")
        assert "Apple" in review.text
        assert "Monday" in review.text
        await desk.press(BEN, review, "Submit")
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Apple",), ("Monday",)]


async def test_the_modal_begins_with_the_answers_so_far(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.press(ADA, shown, "Oslo")
    await desk.press(ADA, await card(desk, talk, BAG), "Back")
    fields = await desk.open_form(ADA, await card(desk, talk, WHERE))
    assert [choice.label for choice in fields[0].choices if choice.on] == ["Oslo"]
    assert await desk.send_form(ADA, {BAG: ["Hat"]}) == ()
    assert '"Where to?"="Oslo", "What to pack?"="Hat"' in (await turn_of(desk, "trip", 2)).result


async def test_sent_too_late_the_texts_are_not_lost(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.open_form(ADA, shown)
    await desk.press(ADA, shown, "Rome")
    await desk.pick(ADA, await card(desk, talk, BAG), "Hat")
    await desk.press(ADA, await card(desk, talk, BAG), "Next")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    await settled(desk, talk, "Answered")
    await line(desk, talk, "Have a good trip.")
    late = await desk.send_form(ADA, {WHERE: ["Something else…"], text_of(desk, "Place"): "Lima", BAG: ["Map"]})
    assert "already been answered" in late[0]
    assert (await turn_of(desk, "trip", 3)).texts == ["ada: (too late to be an answer to your questions) Lima"]


async def test_only_those_who_are_asked_can_open_it(desk: Desk) -> None:
    _, shown = await trip(desk)
    await desk.press(BEN, shown, ANSWER_ALL)
    await notice(desk, BEN, "can answer")
    assert desk.form(BEN) == ()


async def test_the_bot_restarts_while_somebody_fills_it_in(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        async with desk.bot():
            talk, shown = await trip(desk)
            await desk.open_form(ADA, shown)
        async with desk.bot():
            assert await desk.send_form(ADA, {WHERE: ["Rome"], BAG: ["Map"]}) == ()
            await settled(desk, talk, "Answered")
            assert '"Where to?"="Rome", "What to pack?"="Map"' in (await turn_of(desk, "trip", 2)).result


async def test_people_and_channels_are_picked_in_the_modal(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, release()) as asked:
        fields = await desk.open_form(ADA, await card(desk, talk, "Who reviews it?"))
        assert [field.label for field in fields] == ["Who reviews it?", "Where do we announce it?", "When?"]
        await desk.send_form(
            ADA, {"Who reviews it?": [BEN, CY], "Where do we announce it?": [f"#{DEPLOYS}"], "When?": "Today"}
        )
        outcome = await asked.outcome()
    assert [one.name for one in outcome["who"].picked] == [BEN, CY]
    assert [one.name for one in outcome["where"].picked] == [f"#{DEPLOYS}"]
    assert outcome["when"].text == "Today"
    ben = outcome["who"].picked[0]
    assert f"<@{ben.id}>" in (await settled(desk, talk, "Answered")).text
    assert not [one for one in desk.pings() if CY in one], "nobody is notified by being an answer"


async def test_a_bot_that_was_picked_is_named_and_every_other_answer_is_kept(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, release()) as asked:
        await desk.open_form(ADA, await card(desk, talk, "Who reviews it?"))
        entries = {
            "Who reviews it?": [BEN, "the bot"],
            "Where do we announce it?": [f"#{DEPLOYS}"],
            "When?": "Today",
        }
        refused = await desk.send_form(ADA, entries)
        assert "not a person who can be chosen here" in refused[-1]
        assert len(refused) == {"slack": 1, "discord": 2}[desk.platform], "the others are right"
        if desk.platform == "slack":  # the reason is at the picker
            view = desk.workspace.stack(desk.actor(ADA).id)[-1]  # type: ignore[attr-defined]
            assert [block for block, _ in view.errors] == ["askback:people:0"]
        else:
            kept = {field.label: field for field in desk.form(ADA)}
            assert [one.label for one in kept["Who reviews it?"].choices if one.on] == [BEN]
            assert [one.label for one in kept["Where do we announce it?"].choices if one.on] == [f"#{DEPLOYS}"]
            assert kept["When?"].value == "Today"
        assert await desk.send_form(ADA, {"Who reviews it?": [BEN, CY]}) == ()
        outcome = await asked.outcome()
    assert [one.name for one in outcome["who"].picked] == [BEN, CY]


@pytest.mark.only("slack", reason="Discord tells the names with the click")
async def test_a_slow_look_up_of_a_name_delays_no_ack_of_the_modal(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, release()) as asked:
        await desk.open_form(ADA, await card(desk, talk, "Who reviews it?"))
        await until(lambda: desk.actor(ADA), "ada is known")
        for _ in range(2):
            desk.workspace.faults.add(  # type: ignore[attr-defined]
                Fault(kind="delay", method="users.info", seconds=1.2)
            )
        entries = {"Who reviews it?": [BEN, CY], "Where do we announce it?": [f"#{DEPLOYS}"], "When?": "Today"}
        before = time.monotonic()
        assert await desk.send_form(ADA, entries) == ()
        assert time.monotonic() - before < 1.2
        outcome = await asked.outcome()
    assert [one.name for one in outcome["who"].picked] == [BEN, CY], "the caller waits for the names"


async def test_something_else_without_a_text_is_explained_at_the_text(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.open_form(ADA, shown)
    refused = await desk.send_form(ADA, {WHERE: ["Something else…"], BAG: ["Hat"]})
    assert refused[-1].endswith("You chose “Something else…”: please write your answer, or change the choice.")
    if desk.platform == "slack":
        view = desk.workspace.stack(desk.actor(ADA).id)[-1]  # type: ignore[attr-defined]
        assert [block for block, _ in view.errors] == ["askback:text:0"]
    assert await desk.send_form(ADA, {WHERE: ["Something else…"], text_of(desk, "Place"): "Lima"}) == ()
    await settled(desk, talk, "Lima")


async def test_a_later_card_offers_it_too_with_the_answers_so_far(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, fruit_and_day(), ADA) as asked:
        await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
        second = await card(desk, talk, "Which day?")
        assert (ANSWER_ALL in second.buttons, "Review" in second.buttons) == (True, False)
        fields = await desk.open_form(ADA, second)
        assert [choice.label for choice in fields[0].choices if choice.on] == ["Pear"]
        assert await desk.send_form(ADA, {"Which day?": ["Today"], "How many?": "3"}) == ()
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Pear",), ("Today",), ("3",)]


async def test_questions_that_depend_on_the_modal_follow_one_at_a_time(desk: Desk) -> None:
    talk = await greeting(desk)
    fruit, day, count = fruit_and_day().questions
    size = Question(id="size", prompt="Which size?", show_if=Condition(question="a", any_of=("Apple",)))
    async with program_asks(desk, talk, Form(questions=(fruit, size, day, count))) as asked:
        shown = await card(desk, talk, "Which fruit?")
        fields = await desk.open_form(ADA, shown, "Answer 3 together…")
        assert [field.label for field in fields] == ["Which fruit?", "Which day?", "How many?"]
        entries = {"Which fruit?": ["Apple"], "Which day?": ["Today"], "How many?": "3"}
        assert await desk.send_form(ADA, entries) == ()
        left = await card(desk, talk, "Which size?")
        assert "Answer 3 together…" not in left.buttons, "they are answered"
        await desk.open_field(ADA, left, "Write an answer…")
        assert await desk.submit(ADA, "Large") == ()
        await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Apple",), ("Large",), ("Today",), ("3",)]


async def test_without_further_questions_such_a_modal_ends_the_form(desk: Desk) -> None:
    talk = await greeting(desk)
    fruit, day, _ = fruit_and_day().questions
    size = Question(id="size", prompt="Which size?", show_if=Condition(question="a", any_of=("Apple",)))
    async with program_asks(desk, talk, Form(questions=(fruit, size, day))) as asked:
        await desk.open_form(ADA, await card(desk, talk, "Which fruit?"), "Answer 2 together…")
        assert await desk.send_form(ADA, {"Which fruit?": ["Pear"], "Which day?": ["Today"]}) == ()
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Pear",), ("Today",)]


async def test_of_two_people_who_send_at_once_one_ends_the_form_and_the_other_learns_it(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, fruit_and_day(), ADA, BEN) as asked:
        shown = await card(desk, talk, "Which fruit?")
        await desk.open_form(ADA, shown)
        await desk.open_form(BEN, shown)
        ada, ben = await asyncio.gather(
            desk.send_form(ADA, {"Which fruit?": ["Apple"], "Which day?": ["Today"], "How many?": "1"}),
            desk.send_form(BEN, {"Which fruit?": ["Pear"], "Which day?": ["Monday"], "How many?": "2"}),
        )
        outcome = await asked.outcome()
    sent = {"ada": ("Apple", "Today", "1"), "ben": ("Pear", "Monday", "2")}
    assert outcome.by is not None
    assert tuple(label for answer in outcome.answers for label in answer.labels) == sent[outcome.by.name]
    late, early = (ben, ada) if outcome.by.name == "ada" else (ada, ben)
    assert early == ()
    assert "already been answered" in late[0]


async def test_a_person_who_goes_back_meanwhile_loses_no_answer_and_stops_nobody(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, fruit_and_day(), ADA, BEN) as asked:
        await desk.press(BEN, await card(desk, talk, "Which fruit?"), "Pear")
        second = await card(desk, talk, "Which day?")
        await desk.open_form(ADA, second)
        await desk.press(BEN, second, "Back")
        first = await card(desk, talk, "Which fruit?")
        refused, _ = await asyncio.gather(
            desk.send_form(ADA, {"Which day?": ["Today"], "How many?": "far too many"}),
            desk.press(BEN, first, "Next"),
        )
        assert refused, "the text is too long"
        assert not asked.task.done()
        assert await desk.send_form(ADA, {"How many?": "3"}) == ()
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Pear",), ("Today",), ("3",)]


async def test_two_people_who_correct_each_other_in_modals_meet_in_the_review(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, fruit_and_day(), ADA, BEN) as asked:
        shown = await card(desk, talk, "Which fruit?")
        await desk.open_form(ADA, shown)
        await desk.open_form(BEN, shown)
        wrong = {"Which fruit?": ["Apple"], "Which day?": ["Today"], "How many?": "far too many"}
        assert await desk.send_form(ADA, wrong), "the text is too long, and two answers are kept"
        right = {"Which fruit?": ["Pear"], "Which day?": ["Monday"], "How many?": "2"}
        assert await desk.send_form(BEN, right) == ()
        review = await card(desk, talk, "Review your answers")
        assert "Pear" in review.text
        assert not asked.task.done(), "ben replaces what ada chose, so people see it first"
        await desk.press(ADA, review, "Submit")
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Pear",), ("Monday",), ("2",)]


def release() -> Form:
    return Form(
        questions=(
            Question(id="who", prompt="Who reviews it?", picks="people", multi_select=True, max_choices=2),
            Question(id="where", prompt="Where do we announce it?", picks="channels"),
            Question(id="when", prompt="When?"),
        )
    )


def fruit_and_day() -> Form:
    return Form(
        questions=(
            Question(id="a", prompt="Which fruit?", options=_list("Apple", "Pear"), allow_custom=False),
            Question(id="b", prompt="Which day?", options=_list("Today", "Monday"), allow_custom=False),
            Question(id="c", prompt="How many?", rules=TextRules(max_length=5)),
        )
    )


def _list(*labels: str) -> tuple[Option, ...]:
    return tuple(Option(value=label, label=label) for label in labels)


DECK = "Before I build your *deck* @everyone"


def deck() -> Form:
    """Return a form as Claude Code sends one in a host that switches further kinds of questions on."""
    count = {"kind": "number", "min": 10, "max": 50, "step": 5, "unit": "`slides` @here"}
    name = {"kind": "text", "placeholder": "A few words", "description": "It is on *each* slide."}
    return build_questions(
        {
            "title": DECK,
            "questions": [
                {"question": "How long?", "header": "Length", "description": "One for each minute.", **count},
                {"question": "Which name?", "header": "Name", **name},
            ],
        }
    )


async def test_title_help_and_limits_are_on_the_card_and_in_the_field_and_hold(desk: Desk) -> None:
    talk = await greeting(desk)
    limits = "A whole number from 10 to 50. In steps of 5, beginning with 10. Unit: `slides` @here"
    async with program_asks(desk, talk, deck()) as asked:
        shown = await card(desk, talk, "How long?")
        assert shown.text.index(DECK) < shown.text.index("How long?") < shown.text.index("One for each minute.")
        assert limits in shown.text
        field = await desk.open_field(ADA, shown, "Write an answer…")
        assert limits in field.text
        assert "One for each minute." in field.text
        assert "10" in (await desk.submit(ADA, "5"))[-1]
        await desk.close_field(ADA)
        length, name = await desk.open_form(ADA, await card(desk, talk, "How long?"))
        refused = await desk.send_form(ADA, {length.label: "12", name.label: "Deck"})
        assert "between two steps" in refused[-1]
        refused = await desk.send_form(ADA, {length.label: "55"})
        assert "50" in refused[-1]
        assert await desk.send_form(ADA, {length.label: "15"}) == ()
        outcome = await asked.outcome()
    assert [answer.text for answer in outcome.answers] == ["15", "Deck"]
    over = await settled(desk, talk, "Deck")
    assert DECK in over.text
    assert len(set(desk.pings())) == 1, "nobody but ada, by the card"
