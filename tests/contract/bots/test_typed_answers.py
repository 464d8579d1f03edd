"""Typed answers: options by name or number, and messages whose authors declare their purpose."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from askback.domain.form import Form, Question, TextRules
from askback_sandbox.model.script import turn

from .driver import (
    ADA,
    BEN,
    Card,
    Desk,
    PlatformTests,
    Talk,
    asks,
    card,
    form_of,
    gather,
    line,
    one,
    program_asks,
    settled,
    turn_of,
    until,
)
from .driver import (
    told as requests,
)
from .offers import DISCUSS, KEEP, USE, known, no_offer, notices, offer, offers, press_anyhow, readers, told

WAITING = "I will continue once"
GOING_ON = "So be it, then."


async def fruit(desk: Desk, several: bool = False) -> tuple[Talk, Card]:
    question = one("Which fruit?", "Apple", "Pear", "Plum", several=several)
    desk.model.script(turn(asks(question)), turn(GOING_ON), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    shown = await card(desk, talk)
    await known(desk)
    return talk, shown


@asynccontextmanager
async def desk_with(
    mode: str, tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    monkeypatch.setenv("ASKBACK_TYPED_REPLIES", mode)
    async with tests_of.open_desk(tmp_path, monkeypatch) as opened:
        yield opened
        assert not opened.journal.unexpected()


async def went_on(desk: Desk, talk: Talk, about: str = "fruit") -> None:
    """Check that the agent received one result, and that the bot posted nothing unnecessary."""
    await line(desk, talk, GOING_ON)
    assert sum(len(request.results) for request in requests(desk, about)) == 1
    assert not any(WAITING in said.text for said in desk.lines(talk))


@pytest.mark.parametrize("typed", ["Pear", " “pear”. ", "2", "option ２", "2. Pear"])
async def test_a_message_that_names_an_option_is_the_answer(desk: Desk, typed: str) -> None:
    talk, _ = await fruit(desk)
    await desk.say(ADA, typed, talk)
    assert "ada" in (await settled(desk, talk, "Pear")).text.casefold() or desk.platform == "discord"
    heard = await turn_of(desk, "fruit", 2)
    assert '"Which fruit?"="Pear"' in heard.result
    assert not heard.texts, "the message itself does not go to the model"
    await went_on(desk, talk)
    assert not offers(desk, talk)
    assert not notices(desk, ADA)


async def test_several_options_can_be_typed_at_once(desk: Desk) -> None:
    talk, _ = await fruit(desk, several=True)
    await desk.say(ADA, "plum and 1", talk)
    await settled(desk, talk, "Apple")
    assert '"Which fruit?"="Apple, Plum"' in (await turn_of(desk, "fruit", 2)).result
    await went_on(desk, talk)


async def test_in_a_form_the_card_moves_on_with_each_typed_answer(desk: Desk) -> None:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear"), one("When?", "Now", "Soon"))), turn(GOING_ON), when="fruit"
    )
    talk = await desk.mention(ADA, "fruit, please")
    await card(desk, talk, "Which fruit?")
    await known(desk)
    await desk.say(ADA, "pear", talk)
    await card(desk, talk, "When?", without="1. Apple")
    await known(desk)
    await desk.say(ADA, "soon", talk)
    await card(desk, talk, "Review your answers")
    await known(desk)
    await desk.say(ADA, "submit", talk)
    result = (await turn_of(desk, "fruit", 2)).result
    assert '"Which fruit?"="Pear"' in result
    assert '"When?"="Soon"' in result
    await went_on(desk, talk)


async def test_not_now_can_be_typed_with_a_reason(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.say(ADA, "Not now: ask me on Monday", talk)
    shown = await settled(desk, talk, "Not now")
    assert "ask me on Monday" in shown.text
    result = (await turn_of(desk, "fruit", 2)).result
    assert "declined" in result
    assert "ask me on Monday" in result


async def test_of_another_text_its_author_is_asked_and_it_becomes_the_answer(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.say(ADA, "mango @channel <!here> *ripe*", talk)
    seen = await offer(desk, talk)
    assert "Is this your answer to “Which fruit?”" in seen.text
    assert seen.buttons == (USE, KEEP, DISCUSS)
    assert ADA in readers(desk, seen)
    if desk.platform == "slack":
        assert readers(desk, seen) == (ADA,)
    pings = desk.pings()
    await desk.press(ADA, seen, USE)
    await settled(desk, talk, "mango")
    heard = await turn_of(desk, "fruit", 2)
    assert "mango @channel" in heard.result
    assert not any("mango" in text for text in heard.all_texts), "it does not reach the model twice"
    await no_offer(desk, talk)
    await went_on(desk, talk)
    assert set(desk.pings()) == set(pings)
    assert not notices(desk, ADA)


async def test_a_question_back_can_open_the_discussion(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.say(ADA, "Which of them is in season, @channel?", talk)
    await desk.press(ADA, await offer(desk, talk), DISCUSS)
    over = await settled(desk, talk, "To be discussed first")
    assert "Which of them is in season" in over.text
    heard = await turn_of(desk, "fruit", 2)
    assert "wants to discuss this" in heard.result
    assert "in season" in heard.result
    assert not heard.texts, "it does not reach the model twice"
    await no_offer(desk, talk)
    await went_on(desk, talk)
    assert not notices(desk, ADA)


@pytest.mark.parametrize("typed", ["Pear?", "pear ？", "2?", "not now?"])
async def test_of_an_option_that_is_asked_about_its_author_is_asked(desk: Desk, typed: str) -> None:
    talk, shown = await fruit(desk)
    await desk.say(ADA, typed, talk)
    await desk.press(ADA, await offer(desk, talk), KEEP)
    await no_offer(desk, talk)
    await desk.press(ADA, shown, "Plum")
    heard = await turn_of(desk, "fruit", 2)
    assert '"Which fruit?"="Plum"' in heard.result
    assert heard.texts == [f"ada: {typed}"]


async def test_a_question_back_in_the_review_does_not_submit(desk: Desk) -> None:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear"), one("When?", "Now", "Soon"))), turn(GOING_ON), when="fruit"
    )
    talk = await desk.mention(ADA, "fruit, please")
    await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
    await desk.press(ADA, await card(desk, talk, "When?", without="1. Apple"), "Soon")
    shown = await card(desk, talk, "Review your answers")
    await known(desk)
    await desk.say(ADA, "Submit?", talk)
    await line(desk, talk, WAITING)
    await desk.press(ADA, shown, "Submit")
    assert (await turn_of(desk, "fruit", 2)).texts == ["ada: Submit?"]


async def test_just_a_message_stays_one(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.say(ADA, "by the way, hurry", talk)
    await desk.press(ADA, await offer(desk, talk), KEEP)
    await no_offer(desk, talk)
    assert (await card(desk, talk)).id == shown.id
    await desk.press(ADA, shown, "Pear")
    heard = await turn_of(desk, "fruit", 2)
    assert '"Which fruit?"="Pear"' in heard.result
    assert heard.texts == ["ada: by the way, hurry"]
    await went_on(desk, talk)


async def test_an_offer_whose_question_was_answered_goes_and_says_so(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.say(ADA, "mango", talk)
    seen = await offer(desk, talk)
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    if desk.platform == "discord":
        await no_offer(desk, talk)  # everyone saw it
    else:
        await desk.press(ADA, seen, USE)
        await told(desk, talk, ADA, "already closed")
        await no_offer(desk, talk)
    heard = await turn_of(desk, "fruit", 2)
    assert '"Which fruit?"="Pear"' in heard.result
    assert heard.texts == ["ada: mango"]
    await went_on(desk, talk)


@pytest.mark.only("discord", reason="what one person alone is shown on Slack, nobody can delete for them")
async def test_an_offer_that_somebody_deleted_leaves_nothing_to_be_done(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.say(ADA, "mango", talk)
    await desk.delete(await offer(desk, talk))
    await desk.press(ADA, shown, "Pear")
    await until(lambda: [one for one, _ in desk.api_calls() if one == "delete_message"], "the bot wants to remove it")
    await went_on(desk, talk)
    assert "remove_rejected" not in desk.journal.actions()


async def test_nobody_else_can_choose_on_an_offer(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.say(ADA, "mango", talk)
    seen = await offer(desk, talk)
    await press_anyhow(desk, BEN, seen, USE)
    await told(desk, talk, BEN, "Only ada, who wrote that")
    assert offers(desk, talk) == (seen,)
    assert (await card(desk, talk)).controls
    await desk.press(ADA, seen, USE)
    await settled(desk, talk, "mango")


async def test_of_two_texts_the_newer_is_asked_about_and_the_other_stays_a_message(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.say(ADA, "hm", talk)
    first = await offer(desk, talk)
    await desk.say(ADA, "mango", talk)
    private = desk.platform == "slack"  # an ephemeral message that only she can dismiss

    def newest() -> Card | None:
        there = offers(desk, talk)
        return there[-1] if len(there) == (2 if private else 1) and there[-1].id != first.id else None

    await desk.press(ADA, await until(newest, "another offer, in the place of the first where it can"), USE)
    await settled(desk, talk, "mango")
    heard = await turn_of(desk, "fruit", 2)
    assert "mango" in heard.result
    assert heard.texts == ["ada: hm"]
    if private:
        await desk.press(ADA, first, USE)
        await told(desk, talk, ADA, "already closed")
        await no_offer(desk, talk)


@pytest.mark.usefixtures("only_starter")
async def test_whoever_may_not_answer_is_told_for_whom_the_bot_waits(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.say(BEN, "Pear", talk)
    await line(desk, talk, "once ada answers")
    assert not offers(desk, talk)
    assert (await card(desk, talk)).controls


async def test_a_typed_answer_that_is_delivered_twice_counts_once(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.deliver_twice(2)
    await desk.say(ADA, "Pear", talk)
    await settled(desk, talk, "Pear")
    await went_on(desk, talk)
    assert requests(desk, "fruit")[-1].all_texts == ["ada: fruit, please"]


@pytest.mark.parametrize("typed_first", [True, False])
async def test_a_typed_answer_and_a_click_at_once_have_one_outcome(desk: Desk, typed_first: bool) -> None:
    talk, shown = await fruit(desk)
    both = [desk.say(ADA, "Plum", talk), desk.press(ADA, shown, "Pear")]
    await gather(*(both if typed_first else reversed(both)))
    over = await settled(desk, talk)
    await line(desk, talk, GOING_ON)
    # Either one came first: the click got the notice that it was late, or the text is a message, now or later.
    result = requests(desk, "fruit")[1].result
    assert sum(len(request.results) for request in requests(desk, "fruit")) == 1
    assert ("Pear" in result) != ("Plum" in result)
    if "Plum" in result:
        assert "Plum" in over.text
        assert not any("Plum" in text for text in requests(desk, "fruit")[-1].all_texts)
        await until(lambda: any("already" in told for told in notices(desk, ADA)), "the click is told")
    else:
        await until(lambda: "ada: Plum" in requests(desk, "fruit")[-1].all_texts, "the text is a message")


async def test_of_several_open_questions_the_one_that_it_names_is_answered(desk: Desk) -> None:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Other")), asks(one("Which drink?", "Tea", "Other"))),
        turn(GOING_ON),
        when="fruit",
    )
    talk = await desk.mention(ADA, "fruit, please")
    await card(desk, talk, "Which fruit?")
    await card(desk, talk, "Which drink?")
    await known(desk)
    await desk.say(ADA, "other", talk)
    seen = await offer(desk, talk)
    assert "Which fruit?" in seen.text, "of what fits both, the oldest is asked about"
    await desk.say(ADA, "tea", talk)
    await settled(desk, talk, "Which drink?")
    assert (await card(desk, talk, "Which fruit?")).controls
    await desk.press(ADA, seen, USE)
    await settled(desk, talk, "Which fruit?")
    results = (await turn_of(desk, "fruit", 2)).results
    assert sorted(text.split("=")[1].split(".")[0] for text in results.values()) == ['"Other"', '"Tea"']


async def test_an_option_that_is_called_like_an_order_is_an_option(desk: Desk) -> None:
    desk.model.script(turn(asks(one("What now?", "Go on", "Stop"))), turn(GOING_ON), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    await card(desk, talk, "What now?")
    await known(desk)
    await desk.say(ADA, "stop", talk)
    assert '"What now?"="Stop"' in (await turn_of(desk, "fruit", 2)).result
    await went_on(desk, talk)


async def test_the_question_of_a_program_can_be_answered_by_typing(desk: Desk) -> None:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    async with program_asks(desk, talk, form_of("Which fruit?", ["Apple", "Pear"])) as asked:
        await card(desk, talk, "Which fruit?")
        await known(desk)
        await desk.say(ADA, "pear", talk)
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Pear",)]
    assert outcome.by is not None
    assert outcome.by.is_same_person(desk.actor(ADA))
    assert len(requests(desk, "hello")) == 1, "the model hears nothing of it"


async def test_a_number_with_a_decimal_comma_is_a_number_and_an_address_that_runs_is_none(desk: Desk) -> None:
    talk = await desk.thread(ADA, "How much?")
    number = Question(id="n", prompt="How much?", rules=TextRules(kind="number"))
    async with program_asks(desk, talk, Form(questions=(number,))) as asked:
        await card(desk, talk, "How much?")
        await known(desk)
        await desk.say(ADA, "1,5", talk)
        assert [answer.text for answer in (await asked.outcome()).answers] == ["1.5"]
    stepped = Question(id="s", prompt="How many hours?", rules=TextRules(kind="number", step=0.5))
    async with program_asks(desk, talk, Form(questions=(stepped,))) as asked:
        await card(desk, talk, "How many hours?")
        await known(desk)
        await desk.say(ADA, "1,5", talk)
        assert [answer.text for answer in (await asked.outcome()).answers] == ["1.5"]
    page = Question(id="p", prompt="Which page?", rules=TextRules(kind="uri"))
    async with program_asks(desk, talk, Form(questions=(page,))) as asked:
        shown = await card(desk, talk, "Which page?")
        await known(desk)
        await desk.say(ADA, "javascript:alert(1)", talk)
        await desk.open_field(ADA, shown, "Write an answer…")
        for unsafe in ("javascript:alert(1)", "data:text/html,x"):
            (why,) = await desk.submit(ADA, unsafe)
            assert why == "Please write a full address, such as https://example.com/page."
        assert await desk.submit(ADA, "https://example.com/a") == ()
        assert [answer.text for answer in (await asked.outcome()).answers] == ["https://example.com/a"]


async def test_an_answer_counts_before_the_bot_knows_that_its_card_was_posted(desk: Desk) -> None:
    """People see a card before the platform's answer to the post reaches the bot. Here that answer is lost."""
    talk = await desk.thread(ADA, "fruit")
    desk.lose_answer("post")
    async with program_asks(desk, talk, form_of("Which fruit?", ["Apple", "Pear"])) as asked:
        await card(desk, talk, "Which fruit?")
        await desk.say(ADA, "pear", talk)
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Pear",)]


async def test_written_to_the_bot_alone_it_is_the_same(desk: Desk) -> None:
    desk.model.script(
        turn(asks(one("Which fruit?", "Apple", "Pear"))),
        turn(asks(one("Which drink?", "Tea", "Milk"))),
        turn(GOING_ON),
        when="fruit",
    )
    talk = await desk.direct(ADA, "fruit, please")
    await card(desk, talk, "Which fruit?")
    await known(desk)
    await desk.say(ADA, "2", talk)
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", 2)).result
    await card(desk, talk, "Which drink?")
    await known(desk)
    await desk.say(ADA, "cocoa", talk)
    await desk.press(ADA, await offer(desk, talk), USE)
    assert '"Which drink?"="cocoa"' in (await turn_of(desk, "fruit", 3)).result
    await line(desk, talk, GOING_ON)
    await no_offer(desk, talk)


async def test_set_to_answer_any_text_is_the_written_answer(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_with("answer", tests_of, tmp_path, monkeypatch) as desk:
        talk, _ = await fruit(desk)
        await desk.say(ADA, "m" * 1001, talk)
        await told(desk, talk, ADA, "Please shorten it to 1,000 characters")
        assert (await card(desk, talk)).controls
        await desk.say(ADA, "a ripe mango", talk)
        await settled(desk, talk, "a ripe mango")
        heard = await turn_of(desk, "fruit", 2)
        assert "a ripe mango" in heard.result
        assert heard.texts == [f"ada: {'m' * 1001}"]
        assert not offers(desk, talk)


async def test_set_to_off_a_message_is_never_an_answer(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk_with("off", tests_of, tmp_path, monkeypatch) as desk:
        talk, shown = await fruit(desk)
        await desk.say(ADA, "Pear", talk)
        await line(desk, talk, "once you answer")
        await desk.press(ADA, shown, "Apple")
        heard = await turn_of(desk, "fruit", 2)
        assert '"Which fruit?"="Apple"' in heard.result
        assert heard.texts == ["ada: Pear"]
        assert not offers(desk, talk)
