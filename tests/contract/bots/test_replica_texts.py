"""Two processes on one database: what one has begun to write is said once, whole, by either."""

from __future__ import annotations

import psycopg
import pytest

from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.model.script import turn
from askback_sandbox.slack.faults import Fault as SlackFault

from .driver import ADA, Desk, Talk, line, until
from .replica_desks import HELD, STALLED, STORY, hold
from .replicas import Office, Replica
from .slack import SlackDesk


@pytest.fixture
def desk(office: Office) -> Desk:
    return office.desk


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
