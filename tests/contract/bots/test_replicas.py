"""Two processes on one database serve the same workspace: each continues the work of the other.

On Discord both belong to the same shard, the default, so that both receive everything; on Slack the payloads
alternate between them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.model.script import Fault, turn
from askback_sandbox.slack.faults import Fault as SlackFault
from askback_sandbox.slack.http import SlackHttp
from support.processes import Launcher

from .driver import ADA, Desk, Talk, asks, cancel, card, line, one, settled, told, turn_of, until
from .replicas import Office, Replica, open_office
from .slack import SlackDesk
from .test_forms import trip

STALLED = Fault(kind="stall", after=60)
HELD = 1_000_000.0
"""Seconds of a delay that the test itself ends."""
STORY = "It begins here. " + "And then it goes on for a while. " * 14 + "Here it ends."


@pytest.fixture
async def office(platform: str, tmp_path: Path, postgres_url: str, launcher: Launcher) -> AsyncIterator[Office]:
    async with open_office(platform, tmp_path, postgres_url, launcher) as opened:
        yield opened
        for replica in () if opened.may_fail else opened.replicas:
            # On a machine that stalls, the database ends transactions that rest for too long.
            errors = [one for one in replica.said.splitlines() if " ERROR " in one and "database_away" not in one]
            assert not errors, replica.said
            assert "Traceback" not in replica.said, replica.said


@pytest.fixture
def desk(office: Office) -> Desk:
    return office.desk


async def fruit(desk: Desk, *, direct: bool = False) -> Talk:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("Enjoy it."), when="fruit")
    return await (desk.direct(ADA, "fruit, please") if direct else desk.mention(ADA, "fruit, please"))


def read_revision(office: Office) -> int:
    """Return the revision of the one card that waits to be drawn; 0 if none does."""
    with psycopg.connect(office.database, autocommit=True) as connection:
        found = connection.execute("SELECT revision FROM outbox WHERE kind = 'card'").fetchone()
        return 0 if found is None else found[0]


def lengthen_lease(office: Office, by: timedelta) -> int:
    """Lengthen the lease of the one card that waits to be drawn, and return its revision."""
    microseconds = by // timedelta(microseconds=1)
    with psycopg.connect(office.database, autocommit=True) as connection:
        connection.execute("UPDATE outbox SET leased_until = leased_until + %s WHERE kind = 'card'", [microseconds])
    return read_revision(office)


def is_recorded(office: Office) -> bool:
    """Return True if the database has the card's location."""
    with psycopg.connect(office.database, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM asks WHERE messages <> '[]' AND drawn_revision >= revision")
        return found.fetchone() is not None


async def eaten(desk: Desk, talk: Talk, answer: str) -> None:
    """Check that it ends with this answer, once, and without any notice."""
    await settled(desk, talk, answer)
    assert f'"Which fruit?"="{answer}"' in (await turn_of(desk, "fruit", 2)).result
    await line(desk, talk, "Enjoy it.")
    assert (desk.notices(ADA), len(desk.cards(talk)), len(told(desk, "fruit"))) == ((), 1, 2)
    assert len([said for said in desk.lines(talk) if said.text == "Enjoy it."]) == 1


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


async def test_a_text_whose_beginning_cannot_be_looked_up_for_now_is_not_said_twice(office: Office, desk: Desk) -> None:
    first = await office.start()
    desk.model.delay = 0.05
    desk.model.script(turn(STORY, STALLED), when="story")  # the second request gets the full text
    talk = await desk.mention(ADA, "story")
    await until(lambda: desk.model._numbers > 0, "the model is asked")
    with psycopg.connect(office.database) as locked:
        # The lock keeps every process from recording the text's location.
        locked.execute("SELECT id FROM conversations FOR UPDATE")
        await line(desk, talk, "It begins")
        await first.kill()
    desk.lose_answer("look", times=None)
    second = await office.start()
    await until(
        lambda: "Could not look up whether a text is already posted" in second.said,
        "it looks for the beginning",
        within=60,
    )
    desk.end_faults()
    await line(desk, talk, "Here it ends.")
    said = [one.text for one in desk.lines(talk) if one.bot]
    assert len(said) == 1, said


async def test_the_beginning_of_a_text_that_the_database_never_learned_of_does_not_stay(
    office: Office, desk: Desk
) -> None:
    """Somebody writes before the turn is taken again, so that its text has another name then."""
    first = await office.start()
    desk.model.delay = 0.05
    desk.model.script(turn(STORY), turn(STORY), when="story")
    talk = await desk.mention(ADA, "story")
    await until(lambda: desk.model._numbers > 0, "the model is asked")
    with psycopg.connect(office.database) as locked:
        locked.execute("SELECT id FROM conversations FOR UPDATE")
        await line(desk, talk, "It begins")
        await until(lambda: "action=text_held" in first.said, "its location cannot be recorded")
        await until(
            lambda: "Could not commit a turn of the agent" in first.said, "the turn cannot be committed", within=60
        )
    office.may_fail = True
    await desk.say(ADA, "please", talk)
    await line(desk, talk, "Here it ends.")
    said = [one.text for one in desk.lines(talk) if one.bot]
    assert len(said) == 1, said


@pytest.mark.parametrize("seen", ["nothing", "the beginning"])
@pytest.mark.parametrize("wakes", ["while the other writes", "after the other has ended"])
async def test_a_text_is_said_once_if_its_process_was_suspended(
    office: Office, desk: Desk, seen: str, wakes: str
) -> None:
    """The second process takes the suspended one for dead, and writes the text. Then the first one wakes up."""
    office.may_fail = True  # the server may close a connection that was suspended within a transaction
    first = await office.start()
    desk.model.delay = 0.2
    desk.model.script(turn(STORY), when="story")
    talk = await desk.mention(ADA, "story")
    await until(lambda: desk.model._numbers > 0, "the model is asked")
    if seen == "the beginning":
        await line(desk, talk, "It begins")
    first.suspend()
    await office.start()
    await until(lambda: desk.model._numbers > 1, "the second process asks the model", within=30)
    await line(desk, talk, "Here it ends." if wakes.startswith("after") else "It begins")
    first.resume()
    await line(desk, talk, "Here it ends.")
    await until(lambda: not desk.can_stop(talk), "the button goes")
    await until(lambda: any("Dropped a turn" in one.said for one in office.replicas), "one of them drops its turn")
    said = [one.text for one in desk.lines(talk) if one.bot]
    assert (len(said), said[0].endswith("Here it ends.")) == (1, True), said
    assert not desk.can_stop(talk)


@pytest.mark.only("slack", reason="Discord's texts are always written by edits")
@pytest.mark.parametrize("wakes", ["while the other writes", "after the other has ended"])
async def test_a_text_without_streams_is_said_once_if_its_process_was_suspended(
    office: Office, desk: Desk, wakes: str
) -> None:
    """The first process abandons its text, and must not write its beginning over the whole one."""
    assert isinstance(desk, SlackDesk)
    desk.workspace.faults.fail("chat.startStream", "unknown_method", times=None)
    await test_a_text_is_said_once_if_its_process_was_suspended(office, desk, "the beginning", wakes)


def hold(office: Office, monkeypatch: pytest.MonkeyPatch, seconds: float = HELD) -> asyncio.Event:
    """Let the platforms' delays of that many seconds end when the event is set."""
    released = asyncio.Event()
    clock = office.services.discord.guild.clock
    sleep = clock.sleep
    monkeypatch.setattr(clock, "sleep", lambda length: released.wait() if length == seconds else sleep(length))
    return released


def hold_edit(office: Office, desk: Desk) -> int:
    """Let the platform take the next edit only when the test says so. Return the fault's id."""
    if isinstance(desk, SlackDesk):
        return desk.workspace.faults.add(SlackFault(kind="delay", method="chat.update", seconds=HELD))
    return office.services.discord.guild.faults.add(
        DiscordFault(kind="delay", operation="update_message", seconds=HELD)
    )


async def suspend_in_an_edit(office: Office, desk: Desk) -> tuple[Replica, Talk]:
    """Suspend a process while it writes a part of the story, which `hold_edit` holds."""
    office.may_fail = True
    faults = desk.workspace.faults if isinstance(desk, SlackDesk) else office.services.discord.guild.faults
    first = await office.start()
    desk.model.delay = 0.4
    desk.model.script(turn(STORY), when="story")
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins")
    held = hold_edit(office, desk)
    await until(lambda: held not in faults.active, "the first process writes a part")
    first.suspend()
    return first, talk


async def test_a_part_that_arrives_after_the_whole_text_does_not_stay(
    office: Office, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process is suspended while it writes a part. The platform takes that part after the whole text."""
    released = hold(office, monkeypatch)
    if isinstance(desk, SlackDesk):
        desk.workspace.faults.fail("chat.startStream", "unknown_method", times=None)  # then texts are written by edits
    first, talk = await suspend_in_an_edit(office, desk)
    await office.start()
    await line(desk, talk, "Here it ends.")
    await until(lambda: not desk.can_stop(talk), "the button goes")
    released.set()
    await until(lambda: "Here it ends." not in desk.lines(talk)[-1].text, "the part is written over the whole text")
    first.resume()
    await until(lambda: "Here it ends." in desk.lines(talk)[-1].text, "the whole text is back", within=30)
    assert len([one for one in desk.lines(talk) if one.bot]) == 1
    assert not desk.can_stop(talk)


@pytest.mark.only("discord", reason="on Slack, a process that ends a text leaves its message alone")
@pytest.mark.parametrize("first_one", ["gives its turn up", "dies"])
async def test_a_part_that_arrives_while_the_other_process_looks_for_beginnings_does_not_stay(
    office: Office, desk: Desk, monkeypatch: pytest.MonkeyPatch, first_one: str
) -> None:
    """The part has a button, as a beginning that was left behind has. The second process has not recorded the whole
    text yet.
    """
    edited, looked = hold(office, monkeypatch), hold(office, monkeypatch, HELD + 1)
    faults = office.services.discord.guild.faults
    first, talk = await suspend_in_an_edit(office, desk)
    await office.start()
    await until(lambda: desk.model._numbers > 1, "the second process asks the model", within=30)
    look = faults.add(DiscordFault(kind="delay", operation="list_messages", seconds=HELD + 1))
    await line(desk, talk, "Here it ends.")
    await until(lambda: look not in faults.active, "the second process looks for beginnings")
    edited.set()
    await until(lambda: "Here it ends." not in desk.lines(talk)[-1].text, "the part is written over the whole text")
    if first_one == "dies":
        await first.kill()
    else:
        first.resume()
        await until(lambda: "Dropped a turn" in first.said, "the first process drops its turn")
    looked.set()
    await until(lambda: "Here it ends." in desk.lines(talk)[-1].text, "the whole text is back", within=30)
    assert len([one for one in desk.lines(talk) if one.bot]) == 1
    await until(lambda: not desk.can_stop(talk), "the button goes")


@pytest.mark.only("slack", reason="on Discord, any turn finds what is being written by its button")
@pytest.mark.parametrize("by", ["chat.startStream", "chat.postMessage"])
@pytest.mark.parametrize("falls", ["while it deletes its beginning", "before it hears of it"])
async def test_a_beginning_that_its_process_lost_does_not_stay_if_that_process_dies(
    office: Office, desk: Desk, falls: str, by: str
) -> None:
    """The second process takes the turn again, with an edit. Its text has another name, and it finds no beginning."""
    assert isinstance(desk, SlackDesk)
    office.may_fail = True
    first = await office.start()
    desk.model.delay = 0.4
    desk.model.script(turn(STORY, STALLED), when="story")  # the second request gets the full text
    faults = desk.workspace.faults
    if by == "chat.postMessage":
        faults.fail("chat.startStream", "unknown_method", times=None)  # then texts are written by edits
    begins = faults.add(SlackFault(kind="delay", method=by, seconds=12))
    talk = await desk.mention(ADA, "story")
    await until(lambda: begins not in faults.active, "the first process begins to show the text")
    first.suspend()
    office.spare()
    second = await office.start()
    await desk.edit(ADA, "a long story", talk)
    await line(desk, talk, "It begins")
    deletes = faults.add(SlackFault(kind="delay", method="chat.delete", seconds=120))
    if falls.startswith("while"):
        first.resume()
        await until(lambda: deletes not in faults.active, "the first process deletes its beginning")
    await first.kill()
    faults.remove(deletes)
    await line(desk, talk, "Here it ends.")
    assert "Traceback" not in second.said
    await until(lambda: len([one for one in desk.lines(talk) if one.bot]) == 1, "one text is left", within=10)


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
