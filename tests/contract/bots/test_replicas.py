"""Two processes on one database serve the same workspace: each continues the work of the other.

On Discord both belong to the same shard, the default, so that both receive everything; on Slack the payloads
alternate between them.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from askback_sandbox.model.script import turn
from askback_sandbox.slack.http import SlackHttp
from support.processes import Launcher

from .driver import ADA, Desk, asks, cancel, card, line, one, settled, told, turn_of, until
from .driver.conversations import trip
from .replica_desks import HELD, STALLED, STORY, eaten, fruit, hold, is_recorded, lengthen_lease, read_revision
from .replicas import Office, open_office


@pytest.fixture
def desk(office: Office) -> Desk:
    return office.desk


async def test_a_mention_that_both_hear_is_answered_once(office: Office, desk: Desk) -> None:
    await office.start()
    await office.start()
    desk.model.script(turn("Hello there."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello there.")
    assert [said.text for said in desk.lines(talk) if said.bot] == ["Hello there."]
    assert len(told(desk, "hello")) == 1


async def test_a_form_is_gone_through_with_clicks_in_both(office: Office, desk: Desk) -> None:
    await office.start()
    await office.start()
    talk, first = await trip(desk)
    await desk.press(ADA, first, "Oslo")
    await desk.pick(ADA, await card(desk, talk, "What to pack?"), "Boots", "Map")
    await desk.press(ADA, await card(desk, talk, "✓"), "Next")
    await desk.press(ADA, await card(desk, talk, "3 of 3"), "May")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    await settled(desk, talk, "Answered")
    result = (await turn_of(desk, "trip", 2)).result
    assert '"Where to?"="Oslo", "What to pack?"="Boots, Map", "When?"="May"' in result
    await line(desk, talk, "Have a good trip.")
    assert (desk.notices(ADA), len(desk.cards(talk)), len(told(desk, "trip"))) == ((), 1, 2)


async def test_a_form_begun_in_one_is_finished_in_another_that_never_saw_it(office: Office, desk: Desk) -> None:
    before = await office.start()
    talk, first = await trip(desk)
    await desk.press(ADA, first, "Oslo")
    shown = await card(desk, talk, "What to pack?")
    await before.kill()
    await office.start()
    await desk.pick(ADA, shown, "Hat")
    await desk.press(ADA, await card(desk, talk, "✓"), "Next")
    await desk.press(ADA, await card(desk, talk, "3 of 3"), "June")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    await settled(desk, talk, "Answered")
    assert '"Where to?"="Oslo", "What to pack?"="Hat"' in (await turn_of(desk, "trip", 2)).result
    assert desk.notices(ADA) == ()


async def test_an_older_drawing_of_a_process_that_died_does_not_stay(office: Office, desk: Desk) -> None:
    """The platform executes its last call only after another process has drawn the end of the question."""
    drawing = await office.start()
    talk, shown = await trip(desk)
    is_called = desk.delay("change", seconds=5)  # shorter than a lease, also where the machine stalls
    # A typed answer is drawn from the outbox, by an edit that carries no click.
    await desk.say(ADA, "Oslo", talk)
    await until(is_called, "the next question is being drawn")
    await drawing.kill()
    await office.start()
    await cancel(desk, ADA, shown)
    await settled(desk, talk, "Cancelled")
    await until(lambda: any("2 of 3" in str(body) for _, body in desk.api_calls()), "the old call is executed")
    await settled(desk, talk, "Cancelled")


async def test_a_card_is_posted_once_if_somebody_asks_for_it_while_its_process_stands_still(
    office: Office, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The platform executes the first process's call only after another process has been asked for the card."""
    office.may_fail = True  # the server may close a connection that was suspended within a transaction
    released = hold(office, monkeypatch)
    posting = await office.start()
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("Enjoy it."), when="fruit")
    is_called = desk.delay("post", seconds=HELD)
    talk = await desk.mention(ADA, "fruit, please")
    await until(is_called, "the card is being posted")
    posting.suspend()
    # The lease must last until the second process has started, which takes a busy machine some seconds.
    revision = lengthen_lease(office, timedelta(seconds=20))
    await office.start()
    await desk.say(ADA, "show the question", talk)
    await until(lambda: read_revision(office) > revision, "the second process has been asked for the card", within=30)
    await asyncio.sleep(3)  # if the second process took the card, it would find none in this time, and post one
    released.set()
    await until(lambda: is_recorded(office), "the second process has found the card", within=60)
    posts = [body for name, body in desk.api_calls() if name in {"chat.postMessage", "create_message"}]
    posting.resume()
    assert len([body for body in posts if "Which fruit?" in str(body)]) == 1
    await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
    await settled(desk, talk, "Pear")
    await line(desk, talk, "Enjoy it.")
    assert len(desk.cards(talk)) == 1


async def test_a_text_field_opened_by_one_is_sent_to_the_other(office: Office, desk: Desk) -> None:
    first = await office.start()
    talk = await fruit(desk)
    await desk.open_field(ADA, await card(desk, talk, "Which fruit?"))
    await office.start()
    await first.stop()
    assert await desk.submit(ADA, "Quince") == ()
    await eaten(desk, talk, "Quince")


async def test_one_that_is_stopped_leaves_everything_to_the_other(office: Office, desk: Desk) -> None:
    first = await office.start()
    await office.start()
    talk = await fruit(desk)
    shown = await card(desk, talk, "Which fruit?")
    await first.stop()
    await desk.press(ADA, shown, "Pear")
    await eaten(desk, talk, "Pear")


async def test_the_turn_of_one_that_dies_is_taken_over(office: Office, desk: Desk) -> None:
    first = await office.start()
    desk.model.script(turn(STORY, STALLED), when="story")  # the second request gets the full text
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins")
    await office.start()
    await first.kill()
    await line(desk, talk, "Here it ends.")
    said = [one.text for one in desk.lines(talk) if one.bot]
    assert len(said) == 1, said


async def test_a_stop_in_one_ends_the_turn_in_the_other(office: Office, desk: Desk) -> None:
    """The turn runs in the first process, which receives no more events."""
    await office.start()
    desk.model.script(turn(STORY, STALLED), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins")
    await until(lambda: desk.can_stop(talk), "there is a button to stop it")
    office.spare()
    await office.start()
    await desk.stop(ADA, talk)
    await line(desk, talk, "Stopped by")
    await until(lambda: not desk.can_stop(talk), "the button goes")
    assert len([said for said in desk.lines(talk) if said.text.startswith("Stopped by")]) == 1
    assert desk.notices(ADA) == ()


async def test_a_deletion_that_both_hear_brings_one_card(office: Office, desk: Desk) -> None:
    await office.start()
    await office.start()
    talk = await fruit(desk)
    first = await card(desk, talk, "Which fruit?")
    await until(lambda: is_recorded(office), "it is known where the card stands")
    await desk.delete(first)
    await until(lambda: desk.cards(talk) and desk.cards(talk)[0].id != first.id, "the card comes back")
    await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
    await eaten(desk, talk, "Pear")


async def test_a_card_that_was_deleted_while_no_process_ran_comes_back_at_the_next_start(
    office: Office, desk: Desk
) -> None:
    before = await office.start()
    talk = await fruit(desk)
    first = await card(desk, talk, "Which fruit?")
    await until(lambda: is_recorded(office), "it is known where the card stands")
    await before.kill()
    await desk.lose(first)
    await office.start()
    await until(lambda: desk.cards(talk), "the card comes back")
    await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
    await eaten(desk, talk, "Pear")


async def test_an_edit_that_both_hear_reaches_the_agent_once(office: Office, desk: Desk) -> None:
    await office.start()
    await office.start()
    desk.model.script(turn("To staging."), turn("To production."), turn("Fine."), when="deploy")
    talk = await desk.mention(ADA, "deploy to stagin")
    await line(desk, talk, "To staging.")
    await desk.edit(ADA, "deploy to PRODUCTION", talk)
    await line(desk, talk, "To production.")
    await desk.say(ADA, "thanks", talk)
    await line(desk, talk, "Fine.")
    assert [len(request.texts) for request in told(desk, "deploy")] == [1, 1, 1]


@pytest.mark.only("discord", reason="Slack shares out by itself")
@pytest.mark.parametrize("direct", [True, False])
async def test_each_shard_hears_its_part_and_any_process_posts(office: Office, desk: Desk, direct: bool) -> None:
    first, second = await office.start("--shard", "0/2"), await office.start("--shard", "1/2")
    assert ("as shard 0 of 2" in first.said, "as shard 1 of 2" in second.said) == (True, True)
    talk = await fruit(desk, direct=direct)
    await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
    await eaten(desk, talk, "Pear")


@pytest.mark.only("discord", reason="Slack shares out by itself")
async def test_a_shard_alone_goes_on_with_what_the_other_heard(office: Office, desk: Desk) -> None:
    second = await office.start("--shard", "1/2")
    desk.model.script(turn(STORY, STALLED), when="story")  # the second request gets the full text
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins")
    await office.start("--shard", "0/2")
    await second.kill()
    await line(desk, talk, "Here it ends.")


@pytest.mark.only("slack", reason="Discord is served over its gateway alone")
async def test_behind_a_balancer_any_process_takes_any_request(
    platform: str, tmp_path: Path, postgres_url: str, launcher: Launcher
) -> None:
    async with open_office(platform, tmp_path, postgres_url, launcher, http=True) as office:
        desk, delivery = office.desk, office.services.socket
        assert isinstance(delivery, SlackHttp)
        first, second = await office.start(http=True), await office.start(http=True)
        assert await delivery.send_to(f"http://{first.address}", f"http://{second.address}"), delivery.sent
        talk, shown = await trip(desk)
        await desk.press(ADA, shown, "Oslo")
        await desk.pick(ADA, await card(desk, talk, "What to pack?"), "Boots")
        await desk.press(ADA, await card(desk, talk, "✓"), "Next")
        await first.kill()
        await desk.open_field(ADA, await card(desk, talk, "3 of 3"))
        assert await desk.submit(ADA, "In autumn") == ()
        await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
        await settled(desk, talk, "Answered")
        assert '"When?"="In autumn"' in (await turn_of(desk, "trip", 2)).result
        assert desk.notices(ADA) == ()
