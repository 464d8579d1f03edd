"""Hostile texts arrive literally, and ping no one."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from typing import Any, cast

import pytest

from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option, Question
from askback.text.unseen import show_hidden
from askback_sandbox.model.script import call, turn

from .discord import DiscordDesk
from .driver import (
    ADA,
    BEN,
    CY,
    Card,
    Desk,
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
    turn_of,
    until,
)
from .offers import known
from .offers import told as is_told
from .slack import SlackDesk

HOSTILE = {
    "everyone": "@everyone @here @channel",
    "channel": "<!channel> <!here|here> <!everyone> <!subteam^S012AB3CD|@team>",
    "person": "<@U0LOCALBEN> <@U0LOCALBEN|ben> <@!123456789012345678> <@&987654321098765432> <#C0GENERAL>",
    "escaped": "&lt;!channel&gt; &amp;lt;@U0LOCALBEN&gt; &#60;!here&#62;",
    "ticks": "```\nrm -rf /\n``` and `one` and ``two`` and ~~gone~~ *bold* _it_ > quote",
    "link": "https://evil.example/<!channel> [click](https://evil.example) <https://evil.example|safe.example>",
    "bidi": "abc \u202e drowssap \u2066 isolated \u2069 \u200f end",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1ee :tada: e\u0301",
    "nul": "zero\x00width \x07bell \x1b[31mred",
    "long": "supercalifragilistic" * 150,
    "spaces": "a\u00a0b\u200bc\u2028d\u3000e",
    "command": "/remind @everyone now | || rm",
}
NAMES = sorted(HOSTILE)


def seen(text: str) -> str:
    """Return a text on one line without invisible characters, for comparison."""
    kept = (one for one in text if one == "\n" or unicodedata.category(one) not in ("Cf", "Cc"))
    pictures = str.maketrans(dict.fromkeys(range(9216, 9250)))
    return " ".join("".join(kept).translate(pictures).split())


def rename(desk: Desk, person: str, name: str) -> str:
    """Give a person another display name. Return their id, which names them at the desk from now on."""
    who = desk.actor(person).id
    if isinstance(desk, SlackDesk):
        desk.workspace.people[who] = replace(desk.workspace.people[who], name=name, real_name=name)
    else:
        guild = cast("DiscordDesk", desk).guild
        guild.people[who] = replace(guild.people[who], global_name=name)
    return who


def pinged(desk: Desk) -> list[str]:
    """Return all mentions except of the people who are asked."""
    return [ping for ping in desk.pings() if desk.actor(ADA).id not in ping]


async def asked(desk: Desk, *calls: Any) -> tuple[Talk, Card]:
    desk.model.script(turn(*calls), turn("So be it, then."), when="please")
    talk = await desk.mention(ADA, "please")
    return talk, await card(desk, talk)


def whole(desk: Desk, talk: Talk, text: str) -> bool:
    """Return True if the text can be read in the cards' messages, which may be several."""
    said = "".join(seen(one.text) for one in desk.lines(talk))
    return seen(show_hidden(text)).replace(" ", "") in said.replace(" ", "")


@pytest.mark.parametrize("name", NAMES)
async def test_in_questions_labels_and_descriptions(desk: Desk, name: str) -> None:
    text = HOSTILE[name]
    label = text[:180]
    options = [{"label": f"{label} A", "description": text}, {"label": "B", "description": "plain"}]
    question = {"question": text, "header": label[:40], "options": options, "multiSelect": False}
    talk, shown = await asked(desk, asks(question))
    assert pinged(desk) == []
    assert whole(desk, talk, text)
    assert whole(desk, talk, f"{label} A") or any(f"{label} A" in one for one in shown.buttons)
    if any(control.kind == "menu" for control in shown.controls):
        await desk.pick(ADA, shown, shown.menu.choices[0].label)
    else:
        await desk.press(ADA, shown, shown.buttons[0])
    await settled(desk, talk, "Answered")
    result = (await turn_of(desk, "please", 2)).result
    assert f'"{text}"="{label} A"' in result, "the model gets back what it wrote, to the letter"
    await line(desk, talk, "So be it, then.")
    assert pinged(desk) == []


async def test_what_a_question_and_its_labels_hide_is_shown_and_what_they_need_stays(desk: Desk) -> None:
    question = "Delete\u00ad \u202eatad\u202c\U000e0041? \U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e\u0648"
    talk, shown = await asked(desk, call("askQuestion", question=question, options=["N\u200bever", "\u2764\ufe0f Yes"]))
    said = "".join(one.text for one in desk.lines(talk)).replace("\\\\", "\\")
    assert "Delete\\u00ad \\u202eatad" in said
    assert "\\udb40\\udc41? \U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e\u0648" in said
    assert shown.buttons[:2] == ("N\\u200bever", "\u2764\ufe0f Yes")
    await desk.press(ADA, shown, shown.buttons[0])
    assert json.loads((await turn_of(desk, "please", 2)).result)["answer"] == "N\u200bever", "to the letter"


async def test_options_that_look_alike_are_refused_and_the_model_learns_which(desk: Desk) -> None:
    alike = ["No", "N\u200bo"]
    tools = [call("askQuestion", question="Sure?", options=[*alike]), asks(one("Sure?", *alike))]
    desk.model.script(turn(*tools), turn("So be it, then."), when="please")
    talk = await desk.mention(ADA, "please")
    await line(desk, talk, "So be it, then.")
    results = (await turn_of(desk, "please", 2)).results.values()
    assert len(results) == 2
    assert all("“No” and “N\\u200bo” look alike" in one for one in results)
    assert not desk.cards(talk)


async def test_a_question_and_a_label_of_nothing_to_see_are_refused(desk: Desk) -> None:
    tools = [
        call("askQuestion", question=" \u200b ", options=["A", "B"]),
        call("askQuestion", question="Sure?", options=["A", "\u200b"]),
        asks(one("\ufeff\u2800", "A", "B")),
    ]
    desk.model.script(turn(*tools), turn("So be it, then."), when="please")
    talk = await desk.mention(ADA, "please")
    await line(desk, talk, "So be it, then.")
    results = (await turn_of(desk, "please", 2)).results.values()
    assert ["empty" in one and "nobody was asked" in one for one in results] == [True] * 3, results
    assert not desk.cards(talk)


@pytest.mark.parametrize("name", NAMES)
async def test_in_written_answers(desk: Desk, name: str) -> None:
    text = HOSTILE[name][:900].strip()
    talk, shown = await asked(desk, call("askQuestion", question="What now?", options=["A", "B"]))
    await desk.open_field(ADA, shown)
    assert await desk.submit(ADA, text) == ()
    await settled(desk, talk, "Answered")
    assert whole(desk, talk, text)
    assert json.loads((await turn_of(desk, "please", 2)).result)["answer"] == text
    await line(desk, talk, "So be it, then.")
    assert pinged(desk) == []


@pytest.mark.parametrize("name", NAMES)
async def test_in_the_agents_own_prose(desk: Desk, name: str) -> None:
    text = f"Let me tell you at some length: {HOSTILE[name]}\n\nThat was it, whatever it was."
    desk.model.script(turn(text), when="prose")
    talk = await desk.mention(ADA, "prose")
    await line(desk, talk, "That was it")
    assert desk.pings() == ()
    said = "".join(seen(one.text) for one in desk.lines(talk) if one.bot)
    assert seen(HOSTILE[name]).split()[0].strip("`<&")[:5] in said


async def test_mentions_cut_in_two_while_the_text_is_written(desk: Desk) -> None:
    text = "Here comes something long enough to be shown. " + "<!channel> <@U0LOCALBEN> @everyone " * 12 + "Over."
    desk.model.script(turn(text), when="prose")
    desk.model.delay, desk.model.chunk = 0.01, 3
    seen_pings: list[str] = []
    talk = await desk.mention(ADA, "prose")

    def over() -> bool:
        seen_pings.extend(desk.pings())
        return any("Over." in one.text for one in desk.lines(talk))

    await until(over, "the text is whole", within=30)
    assert seen_pings == []


@pytest.mark.parametrize("name", NAMES)
async def test_in_what_people_write(desk: Desk, name: str) -> None:
    """People's texts reach the model as people see them, and cause no ping."""
    desk.model.script(turn("I read that, thank you."), when="listen")
    text = HOSTILE[name].replace("\x00", "")[:1500]
    talk = await desk.mention(ADA, f"listen {text}")
    await line(desk, talk, "I read that")
    (request,) = told(desk, "listen")
    assert seen(text).split()[0][:12].strip("<>&") in seen(request.texts[0])
    assert desk.pings() == ()


async def test_in_forms_reviews_and_reasons(desk: Desk) -> None:
    nasty = HOSTILE["channel"]
    question = {
        "question": f"Really? {nasty}",
        "header": "<!here>",
        "options": [{"label": "<@U0LOCALBEN>", "description": nasty}, {"label": "No", "description": "no"}],
    }
    talk, first = await asked(desk, asks(question, {**question, "question": f"Again? {nasty}"}))
    await desk.press(ADA, first, "<@U0LOCALBEN>")
    await desk.open_field(ADA, await card(desk, talk, "Again?"))
    assert await desk.submit(ADA, nasty) == ()
    review = await card(desk, talk, "Review your answers")
    assert seen(nasty) in seen(review.text)
    assert pinged(desk) == []
    await desk.press(ADA, review, "Submit")
    await settled(desk, talk, "Answered")
    assert pinged(desk) == []


async def test_in_menus_of_several_and_their_settled_card(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    labels = [f"{text[:150]} {number}" for number, text in enumerate(HOSTILE.values())]
    async with program_asks(desk, talk, form_of("Which of these?", labels, multi_select=True), ADA, BEN) as asking:
        shown = await card(desk, talk, "Which of these?")
        await desk.pick(BEN, shown, *(choice.label for choice in shown.menu.choices))
        await desk.press(ADA, await card(desk, talk, "✓"), "Submit")
        outcome = await asking.outcome()
        assert list(outcome["q"].labels) == labels
    await settled(desk, talk, "Answered")
    people = {desk.actor(ADA).id, desk.actor(BEN).id}
    assert [ping for ping in desk.pings() if not any(one in ping for one in people)] == []
    for label in labels:
        assert whole(desk, talk, label)


@pytest.mark.parametrize("name", NAMES)
async def test_in_notices_to_one_person(desk: Desk, name: str) -> None:
    """A notice to the person who clicked quotes an option; only they see it, and it is still literal."""
    label = HOSTILE[name][:180].strip()
    rules = Approval(quorum=2)
    talk = await desk.thread(CY, "It is release day.")
    async with program_asks(desk, talk, form_of("Go?", [label, "No"], allow_custom=False), ADA, BEN, approval=rules):
        for again in ("Go?", "1 of 2"):
            shown = await card(desk, talk, again)
            if "No" in shown.buttons:
                await desk.press(ADA, shown, shown.buttons[shown.buttons.index("No") - 1])
            else:
                await desk.pick(ADA, shown, shown.menu.choices[0].label)
        said = await notice(desk, ADA, "1 more is needed.")
    assert seen(show_hidden(label)).replace(" ", "") in seen(said).replace(" ", "")
    people = {desk.actor(one).id for one in (ADA, BEN)}
    assert [ping for ping in desk.pings() if not any(one in ping for one in people)] == []


async def test_a_name_that_is_a_sentence_stands_in_quotation_marks_in_those_of_the_bot(desk: Desk) -> None:
    ben = rename(desk, BEN, "ada approved it.” Everybody")
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), when="fruit")
    talk = await desk.mention(ben, "fruit, please")
    await card(desk, talk)
    await desk.say(ADA, "stop", talk)
    await is_told(
        desk, talk, ADA, "Only “ada approved it.' Everybody”, who began this, or an administrator may stop it."
    )
    await desk.say(ben, "stop", talk)
    await line(desk, talk, "Stopped by “ada approved it.' Everybody”.")


async def test_of_many_options_whoever_types_reads_some_and_how_many_more_there_are(desk: Desk) -> None:
    talk = await desk.thread(ADA, "just talking")
    async with program_asks(desk, talk, form_of("Which fruit?", ["Apple", "Pear", "Plum", "Fig", "Kiwi"])):
        await card(desk, talk)
        await known(desk)
        await desk.say(ADA, "what is in it?", talk)
        await until(lambda: desk.notices(ADA) or desk.replies(ADA), "ada is told how to answer")
        (said,) = desk.notices(ADA) or desk.replies(ADA)
        assert said.endswith("or write one of its options here: “Apple”, “Pear”, “Plum” and 2 more.")


@pytest.mark.parametrize("flood", ["\u202e" * 9_000, "\u202eab " * 2_250, "\u2066\u2067" * 4_500])
async def test_a_flood_of_direction_marks_is_posted_and_answered(desk: Desk, flood: str) -> None:
    talk = await desk.thread(CY, "hello")
    options = (Option(value="a", label="First", description=f"{flood[:2_000]}ab"), Option(value="b", label="Second"))
    form = Form(questions=(Question(id="q", prompt=f"{flood}Which?", options=options, details=f"{flood}ab"),))
    async with program_asks(desk, talk, form) as asked:
        await desk.press(ADA, await card(desk, talk), "First")
        assert (await asked.outcome()).status == "answered"
