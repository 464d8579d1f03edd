"""Several questions in one ask: one at a time, back and forth, a review, one Submit."""

from __future__ import annotations

from .driver import ADA, Desk, cancel, card, settled, told, turn_of
from .driver.conversations import trip


async def test_one_at_a_time_then_a_review_then_one_submit(desk: Desk) -> None:
    talk, first = await trip(desk)
    assert "1 of 3" in first.text
    assert "What to pack?" not in first.text
    await desk.press(ADA, first, "Oslo")
    second = await card(desk, talk, "What to pack?")
    assert second.id == first.id, "the card moves on in its place"
    await desk.pick(ADA, second, "Boots", "Map")
    await desk.press(ADA, await card(desk, talk, "✓"), "Next")
    await desk.press(ADA, await card(desk, talk, "When?"), "May")
    review = await card(desk, talk, "Review your answers")
    for text in ("Where to?", "Oslo", "What to pack?", "Boots", "Map", "When?", "May"):
        assert text in review.text
    assert len(told(desk, "trip")) == 1, "nothing is handed in before Submit"
    await desk.press(ADA, review, "Submit")
    over = await settled(desk, talk, "Answered")
    assert "Oslo" in over.text
    newest = await turn_of(desk, "trip", 2)
    assert '"Where to?"="Oslo", "What to pack?"="Boots, Map", "When?"="May"' in newest.result


async def test_back_and_forth_keep_what_was_put_down(desk: Desk) -> None:
    talk, first = await trip(desk)
    await desk.press(ADA, first, "Rome")
    await desk.pick(ADA, await card(desk, talk, "What to pack?"), "Hat")
    await desk.press(ADA, await card(desk, talk, "✓"), "Back")
    again = await card(desk, talk, "Where to?")
    assert "✓ Rome" in again.buttons
    assert "Back" not in again.buttons
    await desk.press(ADA, again, "Next")
    second = await card(desk, talk, "What to pack?")
    assert [choice.on for choice in second.menu.choices] == [False, True, False]


async def test_questions_are_left_out_and_answered_from_the_review(desk: Desk) -> None:
    talk, first = await trip(desk)
    assert "Review" not in first.buttons, "there is no answer to review"
    await desk.press(ADA, first, "Next")
    await desk.press(ADA, await card(desk, talk, "What to pack?"), "Next")
    await desk.press(ADA, await card(desk, talk, "When?"), "June")
    review = await card(desk, talk, "Review your answers")
    assert review.text.count("Not answered yet") == 2
    assert review.buttons == ("Edit Month", "Answer the rest", "Back", "Not now…")
    await desk.press(ADA, review, "Answer the rest")
    await desk.press(ADA, await card(desk, talk, "1 of 3"), "Rome")
    await desk.pick(ADA, await card(desk, talk, "What to pack?"), "Hat")
    await desk.press(ADA, await card(desk, talk, "✓"), "Next")
    await desk.press(ADA, await card(desk, talk, "3 of 3"), "Next")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    assert '"Where to?"="Rome", "What to pack?"="Hat", "When?"="June"' in (await turn_of(desk, "trip", 2)).result
    assert len(told(desk, "trip")) == 2, "nothing is handed in before Submit"


async def test_an_answer_is_changed_from_the_review(desk: Desk) -> None:
    talk, first = await trip(desk)
    await desk.press(ADA, first, "Rome")
    await desk.pick(ADA, await card(desk, talk, "What to pack?"), "Hat")
    await desk.press(ADA, await card(desk, talk, "✓"), "Next")
    await desk.press(ADA, await card(desk, talk, "When?"), "May")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Edit Place")
    await desk.press(ADA, await card(desk, talk, "1 of 3"), "Oslo")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    assert '"Where to?"="Oslo"' in (await turn_of(desk, "trip", 2)).result


async def test_a_written_answer_in_a_form(desk: Desk) -> None:
    talk, first = await trip(desk)
    await desk.open_field(ADA, first)
    assert await desk.submit(ADA, "Lima") == ()
    second = await card(desk, talk, "What to pack?")
    await desk.open_field(ADA, second)
    assert await desk.submit(ADA, "a camera") == ()
    await desk.press(ADA, await card(desk, talk, "a camera"), "Next")
    await desk.press(ADA, await card(desk, talk, "When?"), "June")
    review = await card(desk, talk, "Review your answers")
    assert "Lima" in review.text
    await desk.press(ADA, review, "Submit")
    newest = await turn_of(desk, "trip", 2)
    assert '"Where to?"="Lima", "What to pack?"="a camera", "When?"="June"' in newest.result


async def test_ticks_that_were_not_sent_by_themselves_count_with_next(desk: Desk) -> None:
    """Boxes and Next are two clicks on one card; the second one contains the first one's selection."""
    talk, first = await trip(desk)
    await desk.press(ADA, first, "Rome")
    second = await card(desk, talk, "What to pack?")
    await desk.pick(ADA, second, "Boots")
    await desk.press(ADA, second, "Next")
    await desk.press(ADA, await card(desk, talk, "When?"), "Review")
    assert "Boots" in (await card(desk, talk, "Review your answers")).text


async def test_a_form_is_cancelled_as_a_whole(desk: Desk) -> None:
    talk, first = await trip(desk)
    await desk.press(ADA, first, "Rome")
    await cancel(desk, ADA, await card(desk, talk, "What to pack?"))
    over = await settled(desk, talk, "Cancelled")
    assert "not submitted" in over.text
    await turn_of(desk, "trip", 2)
