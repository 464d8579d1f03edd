"""The field that "Something else…" opens: refused with the reason, kept, accepted, closed, edited, withdrawn."""

from __future__ import annotations

import pytest

from askback.domain.form import TextRules
from askback_sandbox.model.script import call, turn

from .driver import (
    ADA,
    BEN,
    Card,
    Desk,
    Talk,
    asks,
    card,
    form_of,
    one,
    program_asks,
    settled,
    told,
    turn_of,
    until,
)

ELSE = "Something else…"


async def fruit(desk: Desk, *, several: bool = False) -> tuple[Talk, Card]:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear", several=several))), turn("So be it."), when="fruit"
    )
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def test_the_field_shows_the_question_and_a_placeholder(desk: Desk) -> None:
    desk.model.script(
        turn(call("askQuestion", question="Which fruit?", options=["A", "B"], customPlaceholder="A fruit of yours")),
        turn("So be it."),
        when="fruit",
    )
    talk = await desk.mention(ADA, "fruit, please")
    field = await desk.open_field(ADA, await card(desk, talk))
    assert "Which fruit?" in field.text
    assert field.placeholder == "A fruit of yours"
    assert field.value == ""
    assert field.errors == ()


async def test_without_a_placeholder_of_the_model_the_field_says_what_to_do(desk: Desk) -> None:
    _, shown = await fruit(desk)
    assert (await desk.open_field(ADA, shown)).placeholder == "Enter your answer…"


@pytest.mark.parametrize("blank", ["   ", "\n\n", " ", "\u200b", "\ufeff \u2800", "\u3164", "\u00ad\x00"])
async def test_a_blank_text_keeps_the_field_open_with_the_reason_and_the_text(desk: Desk, blank: str) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    (reason,) = await desk.submit(ADA, blank)
    assert reason
    field = desk.field(ADA)
    assert field is not None
    assert field.value in (blank, ""), "no other text than theirs"
    assert field.errors == (reason,)
    assert len(told(desk, "fruit")) == 1
    assert await desk.submit(ADA, "  Quince ") == ()
    assert desk.field(ADA) is None
    await settled(desk, talk, "Quince")
    assert '"Which fruit?"="Quince"' in (await turn_of(desk, "fruit", 2)).result


async def test_nothing_at_all_is_refused_too(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    assert await desk.submit(ADA, "")
    assert desk.field(ADA) is not None
    assert await desk.submit(ADA, "Quince") == ()
    await settled(desk, talk, "Quince")


async def test_a_text_that_is_too_long_is_refused_and_kept(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    long = "much " * 300
    (reason,) = await desk.submit(ADA, long)
    assert "1,000" in reason
    field = desk.field(ADA)
    assert field is not None
    assert field.value == long
    await desk.close_field(ADA)
    kept = await card(desk, talk, "A rejected text is kept")
    again = await desk.open_field(ADA, kept, "Edit your text…")
    assert again.value == long
    assert await desk.submit(ADA, "m" * 1000) == ()
    await settled(desk, talk, "Answered")
    assert f'="{"m" * 1000}"' in (await turn_of(desk, "fruit", 2)).result


async def test_the_rules_of_a_question_are_told_in_the_field(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    rules = TextRules(pattern=r"[A-Z]{3}-\d+", hint="Like ABC-123.")
    async with program_asks(desk, talk, form_of("Which ticket?", [], rules=rules)) as asking:
        await desk.open_field(ADA, await card(desk, talk, "Which ticket?"), "Write an answer…")
        (reason,) = await desk.submit(ADA, "the usual one")
        assert "ABC-123" in reason
        assert await desk.submit(ADA, "OPS-7") == ()
        assert (await asking.outcome())["q"].text == "OPS-7"


async def test_closing_the_field_returns_to_the_options(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    await desk.close_field(ADA)
    assert desk.field(ADA) is None
    now = await card(desk, talk)
    assert now.buttons == shown.buttons
    await desk.press(ADA, now, "Pear")
    await settled(desk, talk, "Pear")


async def test_several_lines_are_one_answer(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    assert await desk.submit(ADA, "first\nsecond\n\nthird") == ()
    await settled(desk, talk, "second")
    assert '="first\nsecond\n\nthird"' in (await turn_of(desk, "fruit", 2)).result


async def test_a_text_stands_beside_choices_and_is_edited_and_taken_back(desk: Desk) -> None:
    talk, shown = await fruit(desk, several=True)
    await desk.pick(ADA, shown, "Pear")
    await desk.open_field(ADA, await card(desk, talk, "✓"))
    assert await desk.submit(ADA, "and a quince") == ()
    both = await card(desk, talk, "and a quince")
    assert [choice.on for choice in both.menu.choices] == [False, True]
    field = await desk.open_field(ADA, both, "Edit your text…")
    assert field.value == "and a quince"
    assert await desk.submit(ADA, "and two quinces") == ()
    await desk.press(ADA, await card(desk, talk, "two quinces"), "Remove text")
    bare = await card(desk, talk, without="quinces")
    assert ELSE in bare.buttons
    await desk.open_field(ADA, bare)
    assert await desk.submit(ADA, "and three quinces") == ()
    await desk.press(ADA, await card(desk, talk, "three quinces"), "Submit")
    await settled(desk, talk, "Answered")
    assert '"Which fruit?"="Pear, and three quinces"' in (await turn_of(desk, "fruit", 2)).result


async def test_a_text_alone_answers_a_question_of_several(desk: Desk) -> None:
    talk, shown = await fruit(desk, several=True)
    await desk.open_field(ADA, shown)
    assert await desk.submit(ADA, "none of them") == ()
    await desk.press(ADA, await card(desk, talk, "none of them"), "Submit")
    await settled(desk, talk, "Answered")
    assert '"Which fruit?"="none of them"' in (await turn_of(desk, "fruit", 2)).result


async def test_a_field_that_was_overtaken_says_so(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    await desk.press(ADA, shown, "Apple")
    await settled(desk, talk, "Apple")
    (reason,) = await desk.submit(ADA, "Quince after all")
    assert "already been answered" in reason
    assert '"Which fruit?"="Apple"' in (await turn_of(desk, "fruit", 2)).result


async def test_a_stranger_gets_no_field(desk: Desk) -> None:
    _, shown = await fruit(desk)
    await desk.press(BEN, shown, ELSE)
    await until(lambda: desk.notices(BEN), "ben is told")
    assert desk.field(BEN) is None
