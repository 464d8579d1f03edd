"""The notice that the outcome of an answer is unknown reaches people once, near the card that it is about."""

from __future__ import annotations

from askback.domain.hand_over import CallId
from askback_sandbox.model.script import turn

from .driver import ADA, Desk, Talk, card, delivered, form_of, line, program_asks, settled, until

PROMPT = "Deploy 1.4.2?"
WORDS = "was interrupted while it acted on the answer"
CALL = CallId(framework="langgraph", run="thread", call="first")


async def test_a_notice_whose_answer_got_lost_is_found_and_not_posted_twice(desk: Desk) -> None:
    desk.model.script(turn("Good morning."))
    talk = await desk.direct(ADA, "hello")
    await line(desk, talk, "Good morning.")
    await delivered(desk)
    async with program_asks(desk, talk, form_of(PROMPT, ["Yes", "No"], allow_custom=False), ADA) as asked:
        shown = await card(desk, talk, PROMPT)
        (ask,) = await desk.host.manager.list_open_asks()
        await desk.press(ADA, shown, "Yes")
        await asked.outcome()
        await settled(desk, talk, "Yes")

    await delivered(desk)
    store = desk.host.store
    await store.record_hand_over(CALL, ask.id, "digest")
    assert await store.claim_hand_overs({CALL: "digest"}, "a process") == "claimed"
    desk.lose_answer("post")
    assert await store.abandon_hand_overs("a process")
    desk.host.wake()
    await until(lambda: "delivery_later" in desk.journal.actions(), "it is tried again")

    # Slack has replies in the thread of a message, Discord next to it.
    places = {talk, Talk(talk.channel, shown.id)}

    def list_notices() -> list[str]:
        return [one.text for place in places for one in desk.lines(place) if WORDS in one.text]

    await until(list_notices, "people are told")
    await delivered(desk)
    assert len(list_notices()) == 1
