"""Edits: they replace unread messages; edits of read ones are passed to the agent, and their authors are notified."""

from __future__ import annotations

import logging

import pytest

from askback_sandbox.model.script import turn

from .driver import ADA, BEN, CY, Desk, kept, line, settled, told, turn_of, until
from .driver.conversations import fruit
from .offers import USE, known, offer, offers
from .offers import told as is_told
from .slack import SlackDesk


async def test_an_edit_of_what_the_agent_has_not_read_replaces_it(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.say(BEN, "deploy to stagin", talk)
    await line(desk, talk, "I will continue once")
    await desk.edit(BEN, "deploy to PRODUCTION", talk)
    await kept(desk, "deploy to PRODUCTION")
    await desk.press(ADA, shown, "Pear")
    assert (await turn_of(desk, "fruit", 2)).texts == ["ben: deploy to PRODUCTION"]


async def test_an_edit_that_is_made_at_once_replaces_what_is_still_being_stored(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.say(BEN, "deploy to stagin", talk)
    await desk.edit(BEN, "deploy to PRODUCTION", talk)
    await kept(desk, "deploy to PRODUCTION")
    await desk.press(ADA, shown, "Pear")
    assert (await turn_of(desk, "fruit", 2)).texts == ["ben: deploy to PRODUCTION"]


@pytest.mark.only("slack", reason="Discord delivers nothing again, and so nothing in another order")
async def test_an_edit_that_overtakes_its_message_is_taken_after_it(
    desk: SlackDesk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "askback.slack")
    monkeypatch.setattr(desk.services.socket, "_event_retries", (0.1,) * 100)
    talk, shown = await fruit(desk)
    tell, held = desk.services.socket.tell, []
    with monkeypatch.context() as context:
        context.setattr(desk.services.socket, "tell", lambda *event: held.append(event))
        await desk.say(BEN, "deploy to stagin", talk)
    await desk.edit(BEN, "deploy to PRODUCTION", talk)
    await until(lambda: "edit_rejected" in desk.journal.actions(), "the edit came first")
    for event in held:
        tell(*event)
    await kept(desk, "deploy to PRODUCTION")
    await desk.press(ADA, shown, "Pear")
    assert (await turn_of(desk, "fruit", 2)).texts == ["ben: deploy to PRODUCTION"]


async def test_an_edit_of_what_the_agent_has_read_reaches_it_with_both_versions_and_its_author_sees_that(
    desk: Desk,
) -> None:
    desk.model.script(turn("To staging, then."), turn("To production, then."), when="deploy")
    talk = await desk.mention(ADA, "deploy to stagin")
    await line(desk, talk, "To staging, then.")
    await desk.edit(ADA, "deploy to PRODUCTION", talk)
    (heard,) = (await turn_of(desk, "deploy", 2)).texts
    assert heard.startswith("ada: ")
    assert "deploy to stagin" in heard
    assert "deploy to PRODUCTION" in heard
    await line(desk, talk, "To production, then.")
    await is_told(desk, talk, ADA, "the agent will see your edit")
    assert len(told(desk, "deploy")) == 2


async def test_edits_in_quick_succession_are_told_once_with_the_last_version(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    for words in ("fruit, one", "fruit, two", "fruit, three"):
        await desk.edit(ADA, words, talk)
        await kept(desk, words)
    await desk.redeliver_edit(0)
    await desk.press(ADA, shown, "Pear")
    (heard,) = (await turn_of(desk, "fruit", 2)).texts
    assert "Before: “fruit, please”" in heard
    assert heard.endswith("fruit, three")
    assert "fruit, two" not in heard
    await is_told(desk, talk, ADA, "the agent will see your edit")
    told_so = [*desk.notices(ADA), *(said.text for said in desk.lines(talk))]
    assert len([text for text in told_so if "see your edit" in text]) == 1


async def test_an_edit_that_is_taken_back_before_the_agent_reads_it_is_not_told(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "askback.reception")
    talk, shown = await fruit(desk)
    await desk.edit(ADA, "vegetables, please", talk)
    await kept(desk, "vegetables, please")
    await desk.edit(ADA, "fruit, please", talk)
    await until(lambda: desk.journal.actions().count("message_edited") == 2, "both edits are heard")
    await desk.press(ADA, shown, "Pear")
    assert (await turn_of(desk, "fruit", 2)).texts == []


async def test_an_edit_that_is_delivered_twice_is_told_once(desk: Desk) -> None:
    desk.model.script(turn("To staging, then."), turn("To production, then."), turn("Fine."), when="deploy")
    talk = await desk.mention(ADA, "deploy to stagin")
    await line(desk, talk, "To staging, then.")
    await desk.edit(ADA, "deploy to PRODUCTION", talk)
    await line(desk, talk, "To production, then.")
    await desk.redeliver_edit()
    await desk.say(ADA, "thanks", talk)
    await line(desk, talk, "Fine.")
    assert (await turn_of(desk, "deploy", 3)).texts == ["ada: thanks"]


async def test_a_change_of_something_else_than_the_words_is_no_edit(desk: Desk) -> None:
    desk.model.script(turn("To staging, then."), turn("Fine."), when="deploy")
    talk = await desk.mention(ADA, "deploy to stagin")
    await line(desk, talk, "To staging, then.")
    await desk.unfurl(ADA, talk)
    await desk.say(ADA, "thanks", talk)
    await line(desk, talk, "Fine.")
    assert (await turn_of(desk, "deploy", 2)).texts == ["ada: thanks"]
    assert desk.replies(ADA) == ()


async def test_an_edit_of_a_typed_answer_says_that_it_was_given(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await known(desk)
    await desk.say(ADA, "pear", talk)
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    await desk.edit(ADA, "apple", talk)
    await is_told(desk, talk, ADA, "already been answered: “Pear”")
    assert len(told(desk, "fruit")) == 2


async def test_an_edit_of_a_message_that_may_be_an_answer_makes_the_offer_anew(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await known(desk)
    await desk.say(ADA, "mango", talk)
    first = await offer(desk, talk)
    await known(desk)
    await desk.edit(ADA, "quince", talk)

    renewed = await until(
        lambda: next((seen for seen in offers(desk, talk) if seen.id != first.id), None), "another offer"
    )
    await desk.press(ADA, renewed, USE)
    assert '"quince"' in (await turn_of(desk, "fruit", 2)).result


async def test_an_edit_into_an_option_is_the_answer_where_the_message_was_offered_as_one(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await known(desk)
    await desk.say(ADA, "paer", talk)
    await offer(desk, talk)
    await desk.edit(ADA, "pear", talk)
    assert '"Pear"' in (await turn_of(desk, "fruit", 2)).result
    await settled(desk, talk, "Pear")


async def test_an_edit_of_an_order_is_nothing(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.say(ADA, "stop", talk)
    await line(desk, talk, "Stopped by")
    await desk.edit(ADA, "never mind", talk)
    await desk.say(ADA, "fruit, once more", talk)
    assert (await turn_of(desk, "fruit", 2)).texts[-1] == "ada: fruit, once more"
    assert not any("never mind" in text for text in (await turn_of(desk, "fruit", 2)).all_texts)


async def test_an_edit_that_names_the_bot_for_the_first_time_begins_nothing(desk: Desk) -> None:
    desk.model.script(turn("Hello to you."), when="hello")
    talk = await desk.thread(BEN, "just talking")
    await desk.edit(BEN, "@askback just talking", talk)
    other = await desk.mention(CY, "hello")
    await line(desk, other, "Hello to you.")
    assert not told(desk, "just talking")


async def test_an_edit_of_what_the_agent_has_read_as_history_reaches_it_with_both_versions(desk: Desk) -> None:
    desk.model.script(turn("To staging, then."), turn("To production, then."), turn("Fine."), when="deploy")
    talk = await desk.thread(BEN, "deploy to stagin")
    await desk.mention_in(ADA, "do what ben says", talk)
    await line(desk, talk, "To staging, then.")
    await desk.edit(BEN, "deploy to PRODUCTION", talk)
    await line(desk, talk, "To production, then.")
    assert (await turn_of(desk, "deploy", 2)).texts == [
        "ben: [edited a message that you have read. Before: “deploy to stagin”. Now:] deploy to PRODUCTION"
    ]
    await is_told(desk, talk, BEN, "Got it: the agent will see your edit.")
    await desk.redeliver_edit()
    await desk.say(ADA, "thanks", talk)
    assert (await turn_of(desk, "deploy", 3)).texts == ["ada: thanks"]


async def test_history_that_was_edited_before_the_agent_read_it_is_not_told_again(desk: Desk) -> None:
    desk.model.script(turn("To production, then."), turn("Fine."), when="deploy")
    talk = await desk.thread(BEN, "deploy to stagin")
    await desk.edit(BEN, "deploy to PRODUCTION", talk)
    await desk.mention_in(ADA, "do what ben says", talk)
    await line(desk, talk, "To production, then.")
    await desk.redeliver_edit()
    await desk.say(ADA, "thanks", talk)
    assert (await turn_of(desk, "deploy", 2)).texts == ["ada: thanks"]
    assert not any("see your edit" in text for text in (*desk.notices(BEN), *desk.replies(BEN)))
