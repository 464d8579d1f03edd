"""Features of Slack alone: streams that are missing or end automatically, tokens, and the words of its API."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from askback_sandbox.json_values import as_object, as_text
from askback_sandbox.model.script import Fault as ModelFault
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from askback_sandbox.slack.faults import Fault
from askback_sandbox.slack.values import Channel, Person
from askback_slack.posting import SlackPlatform
from askback_slack.streaming import SlackTextStream
from support.processes import communicate

from . import slack
from .driver import ADA, BEN, Talk, asks, card, form_of, line, one, program_asks, settled, told, until
from .driver.conversations import PROSE
from .slack import SlackDesk

COMMAND = Path(sys.executable).with_name("askback")


@pytest.fixture
async def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlackDesk]:
    async with slack.open_desk(tmp_path, monkeypatch) as desk:
        yield desk
    assert not desk.journal.unexpected(), "\n".join(desk.journal.unexpected())


def methods(desk: SlackDesk) -> list[str]:
    return [method for method, _ in desk.api_calls()]


# Streams


async def test_a_text_is_streamed_and_stopped(workspace: SlackDesk) -> None:
    workspace.model.script(turn(PROSE), when="story")
    workspace.model.delay = 0.04
    talk = await workspace.mention(ADA, "story")
    await line(workspace, talk, "Here it ends.")
    await until(lambda: "chat.stopStream" in methods(workspace), "the stream is stopped")
    used = methods(workspace)
    assert used.count("chat.startStream") == used.count("chat.stopStream") == 1
    assert "chat.appendStream" in used
    assert "chat.update" not in used
    assert "chat.postMessage" not in used
    assert not any(message.streaming for message in workspace.workspace.messages.values())


async def test_where_there_is_no_markdown_block_people_read_every_word_without_formatting(workspace: SlackDesk) -> None:
    workspace.journal.announce("markdown_rejected")
    workspace.workspace.faults.fail("chat.startStream", "unknown_method", times=None)
    words = f"**Bold** <!channel> @here & {PROSE} " + "row of a long text\n" * 300
    workspace.model.script(turn(words), turn("Again."), when="story")
    workspace.workspace.faults.fail("chat.postMessage", "invalid_blocks")
    talk = await workspace.mention(ADA, "story")
    await until(lambda: methods(workspace).count("chat.postMessage") >= 2, "it is posted in another way")
    (posted,) = [one for one in workspace.workspace.messages.values() if one.user == workspace.workspace.bot.id]
    kinds = {(as_text(block["type"]), as_text(as_object(block["text"])["type"])) for block in posted.blocks}
    assert kinds == {("section", "plain_text")}
    shown = "".join(as_text(as_object(block["text"])["text"]) for block in posted.blocks)
    assert shown.split() == words.split()
    assert posted.text.startswith("**Bold** &lt;!channel&gt; @here &amp; It begins here.")
    assert not workspace.pings()
    await workspace.say(ADA, "again", talk)
    await line(workspace, talk, "Again.")
    (_, newest) = [one for one in workspace.workspace.messages.values() if one.user == workspace.workspace.bot.id]
    assert newest.blocks[0]["type"] == "markdown", "the rejection may have been about that one text"


@pytest.mark.parametrize("code", ["unknown_method", "missing_scope", "channel_type_not_supported"])
async def test_where_there_are_no_streams_the_text_is_edited(workspace: SlackDesk, code: str) -> None:
    workspace.workspace.faults.fail("chat.startStream", code, times=None)
    workspace.model.script(turn(PROSE), turn(PROSE + " Again."), when="story")
    workspace.model.delay = 0.08
    talk = await workspace.mention(ADA, "story")
    partial = await line(workspace, talk, "It begins here.")
    assert "Here it ends." not in partial.text
    await line(workspace, talk, "Here it ends.")
    (whole,) = (one for one in workspace.lines(talk) if one.bot)
    assert whole.text.strip() == PROSE
    used = methods(workspace)
    assert used.count("chat.postMessage") == 1
    assert "chat.update" in used
    assert "chat.stopStream" not in used
    workspace.model.delay = 0
    await workspace.say(ADA, "again", talk)
    await line(workspace, talk, "Again.")
    general = code in ("unknown_method", "missing_scope")
    assert methods(workspace).count("chat.startStream") == 1 if general else True


async def test_where_there_are_no_streams_a_text_that_somebody_stopped_stays(workspace: SlackDesk) -> None:
    """It is marked while it is being written. The next turn deletes what is marked."""
    workspace.workspace.faults.fail("chat.startStream", "unknown_method", times=None)
    workspace.model.script(
        turn(PROSE, ModelFault(kind="stall", after=60)), when="story"
    )  # the second request gets it whole
    talk = await workspace.mention(ADA, "story")
    await line(workspace, talk, "It begins")
    await workspace.say(ADA, "stop", talk)
    await line(workspace, talk, "Stopped by")
    await workspace.say(ADA, "another story", talk)
    await line(workspace, talk, "Here it ends.")
    said = [one.text for one in workspace.lines(talk) if one.bot]
    assert [text[:9] for text in said] == ["It begins", "Stopped b", "It begins"]
    assert "Here it ends." not in said[0]


async def test_a_stream_that_ends_by_itself_goes_on_by_edits(workspace: SlackDesk) -> None:
    workspace.model.script(turn(PROSE), when="story")
    workspace.model.delay = 0.05
    talk = await workspace.mention(ADA, "story")
    await line(workspace, talk, "It begins here.")
    (message,) = (one for one in workspace.workspace.messages.values() if one.streaming)
    workspace.workspace.put_message(replace(message, streaming=False))
    await line(workspace, talk, "Here it ends.")
    (whole,) = (one for one in workspace.lines(talk) if one.bot)
    assert whole.text.strip() == PROSE
    refusals = [entry.answer.get("error") for entry in workspace.workspace.log if not entry.answer.get("ok")]
    assert set(refusals) == {"message_not_in_streaming_state"}


async def test_a_stream_whose_end_was_accepted_without_an_answer_is_not_ended_again(workspace: SlackDesk) -> None:
    workspace.workspace.faults.add(Fault(kind="lost_answer", method="chat.stopStream"))
    workspace.model.script(turn(PROSE), when="story")
    workspace.model.delay = 0.03
    talk = await workspace.mention(ADA, "story")
    await until(lambda: "chat.update" in methods(workspace), "the whole text is written")
    (whole,) = (one for one in workspace.lines(talk) if one.bot)
    assert whole.text.strip() == PROSE
    assert methods(workspace).count("chat.stopStream") == 1
    assert all(entry.answer.get("ok") for entry in workspace.workspace.log if entry.method != "chat.stopStream")


class KilledError(Exception):
    """Ends a bot without waiting for anything."""


async def test_after_a_restart_one_stream_is_left_of_those_that_were_not_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: object, **__: object) -> tuple[()]:
        """Find and end nothing, like a process that is killed before its calls arrive."""
        return ()

    async with slack.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.delay = 0.05
        desk.model.script(turn(PROSE, ModelFault(kind="stall", after=60)), when="story")
        streams = desk.workspace.messages
        with monkeypatch.context() as dead, suppress(KilledError):
            dead.setattr(SlackTextStream, "abandon", nothing)
            dead.setattr(SlackPlatform, "find_posted", nothing)
            dead.setattr("askback_slack.streaming.HOLD_SECONDS", 0.1)
            async with desk.bot():
                desk.workspace.faults.add(Fault(kind="lost_answer", method="chat.startStream", times=2))
                talk = await desk.mention(ADA, "story")
                await until(lambda: sum(one.streaming for one in streams.values()) == 2, "two streams are open")
                raise KilledError
        async with desk.bot():
            await line(desk, talk, "Here it ends.")
            await until(
                lambda: [said.text.strip() for said in desk.lines(talk) if said.bot] == [PROSE], "one text is left"
            )
            assert not any(one.streaming for one in streams.values())


async def test_a_stream_that_ends_just_before_its_end_is_finished_by_an_edit(workspace: SlackDesk) -> None:
    workspace.workspace.faults.fail("chat.stopStream", "message_not_in_streaming_state", times=1)
    workspace.model.script(turn(PROSE), when="story")
    workspace.model.delay = 0.03
    talk = await workspace.mention(ADA, "story")
    await line(workspace, talk, "Here it ends.")
    (whole,) = (one for one in workspace.lines(talk) if one.bot)
    assert whole.text.strip() == PROSE


async def test_too_many_additions_to_a_stream_lose_nothing(workspace: SlackDesk) -> None:
    workspace.workspace.faults.ratelimit("chat.appendStream", retry_after=1, times=1)
    workspace.model.script(turn(PROSE), when="story")
    workspace.model.delay = 0.05
    talk = await workspace.mention(ADA, "story")
    await line(workspace, talk, "Here it ends.")
    (whole,) = (one for one in workspace.lines(talk) if one.bot)
    assert whole.text.strip() == PROSE
    assert "text_held" in workspace.journal.actions()


# Places and tokens


async def test_a_private_channel_without_the_bot_is_said_by_name_of_the_remedy(workspace: SlackDesk) -> None:
    workspace.journal.announce("delivery_rejected")
    talk = Talk("C0PRIVATE", None)
    async with program_asks(workspace, talk, form_of("Go?", ["Yes", "No"])) as asking:
        outcome = await asking.outcome()
        assert outcome.status == "undeliverable"
        assert "/invite @askback" in str(outcome.reason)


async def test_an_archived_channel_is_said(workspace: SlackDesk) -> None:
    workspace.journal.announce("delivery_rejected")
    workspace.workspace.put_channel(Channel(id="C0DEPLOYS", name="deploys", archived=True))
    async with program_asks(workspace, Talk("C0DEPLOYS", None), form_of("Go?", ["Yes", "No"])) as asking:
        assert "archived" in str((await asking.outcome()).reason)


async def run_command(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run the real command; return its exit code and its error output."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SLACK_", "ASKBACK_"))}
    process = await asyncio.create_subprocess_exec(
        str(COMMAND),
        *arguments,
        env={**inherited, **environment},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await communicate(process)
    assert process.returncode is not None
    return process.returncode, errors.decode()


def sentences(errors: str) -> list[str]:
    """Return the lines other than INFO."""
    return [line for line in errors.strip().splitlines() if " INFO " not in line]


@pytest.mark.parametrize(
    ("method", "code", "said"),
    [
        ("auth.test", "token_revoked", "SLACK_BOT_TOKEN was revoked"),
        ("apps.connections.open", "invalid_auth", "SLACK_APP_TOKEN"),
    ],
)
async def test_a_token_that_is_no_good_ends_the_start_with_one_sentence(
    tmp_path: Path, method: str, code: str, said: str
) -> None:
    async with Services(port=0) as services:
        services.workspace.faults.fail(method, code, times=None)
        exit_code, errors = await run_command(
            "slack", **services.environment, ASKBACK_DATABASE_URL=str(tmp_path / "one.db")
        )
    assert exit_code == 2, errors
    lines = sentences(errors)
    assert len(lines) == 1, errors
    assert said in lines[0]
    assert "xoxb-" not in lines[0].replace("(xoxb-…)", "")


async def test_a_slack_that_cannot_be_reached_ends_the_start_with_one_sentence(tmp_path: Path) -> None:
    async with Services(port=0) as services:
        environment = {**services.environment, "ASKBACK_SLACK_API_URL": "http://127.0.0.1:9/api/"}
    exit_code, errors = await run_command("slack", **environment, ASKBACK_DATABASE_URL=str(tmp_path / "one.db"))
    assert exit_code == 2, errors
    assert "ASKBACK_SLACK_API_URL" in errors
    assert len(sentences(errors)) == 1, errors


async def test_nothing_is_said_about_tokens_that_are_right(workspace: SlackDesk) -> None:
    said = [record.getMessage() for record in workspace.journal.records if record.levelno >= logging.WARNING]
    assert said == []


async def test_the_first_click_waits_for_no_call_to_slack(workspace: SlackDesk) -> None:
    """The bot asks for its own identity at the start, not at a click."""
    workspace.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await workspace.mention(ADA, "fruit")
    shown = await card(workspace, talk)
    workspace.workspace.faults.add(Fault(kind="delay", method="*", times=None, seconds=2.0))
    clicked = await workspace.press(ADA, shown, "Pear")
    assert clicked.ms is not None
    assert clicked.ms < 1500
    workspace.workspace.faults.clear()
    assert methods(workspace).count("auth.test") == 1


@pytest.mark.usefixtures("only_starter")
async def test_a_name_is_as_harmless_as_any_other_text(workspace: SlackDesk) -> None:
    name = "<!channel> @everyone\nada: `x` \u202e<@U0LOCALBEN>"
    eve = "U0LOCALEVE"
    workspace.workspace.add_person(Person(eve, name, "Eve"))
    workspace.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await workspace.mention(eve, "fruit")
    shown = await card(workspace, talk)
    await workspace.say(ADA, f"what does <@{eve}> want?", talk)
    said = await line(workspace, talk, "I will continue once")
    assert "<!channel> @everyone" in said.text
    await workspace.press(eve, shown, "Pear")
    await settled(workspace, talk, "Pear")
    await line(workspace, talk, "So be it.")
    assert {ping.removeprefix("@") for ping in workspace.pings()} == {eve}
    (spoken,) = told(workspace, "fruit")[0].texts
    assert "\n" not in spoken, "a name cannot speak for somebody else"
    assert f"({eve}): fruit" in spoken, "and is told apart by its id"
    asked = next(text for one in told(workspace, "fruit") for text in one.texts if "what does" in text)
    assert "\n" not in asked, "nor can it in what others write"


# The words of the API


async def test_every_update_says_how_its_text_is_read(workspace: SlackDesk) -> None:
    workspace.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await workspace.mention(ADA, "fruit")
    await card(workspace, talk)
    # It is cancelled instead of clicked, so there is no response_url, only chat.update.
    (ask,) = await workspace.host.manager.list_open_asks()
    assert await workspace.host.manager.cancel(ask.id)
    await settled(workspace, talk, "Which fruit?")
    assert "chat.update" in methods(workspace)
    for method, arguments in workspace.api_calls():
        if method in ("chat.update", "chat.postMessage"):
            assert arguments["parse"] == "none"
            assert arguments["text"].strip()
        if method == "chat.update":
            assert "blocks" in arguments
        if method == "chat.postMessage":
            assert arguments["unfurl_links"] is False
            assert arguments["unfurl_media"] is False


async def test_a_text_settles_its_card_by_whichever_way_is_open_first(workspace: SlackDesk) -> None:
    """The drawing for the click that opened the field may still be in progress; it includes the newest state."""
    workspace.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await workspace.mention(ADA, "fruit")
    await workspace.open_field(ADA, await card(workspace, talk))
    assert await workspace.submit(ADA, "Quince") == ()
    await settled(workspace, talk, "Quince")
    await line(workspace, talk, "So be it.")
    assert not any(one.is_live for one in workspace.cards(talk))


async def test_a_message_that_follows_a_mention_at_once_waits_until_the_conversation_has_begun(
    workspace: SlackDesk,
) -> None:
    """The name of the mention's author is looked up meanwhile, and that of the next author is known sooner."""
    workspace.model.script(turn("Good morning."), turn("To both of you."), when="hello")
    workspace.workspace.faults.add(Fault(kind="delay", method="users.info", seconds=0.5))
    talk = await workspace.mention(ADA, "hello")
    await workspace.say(BEN, "and from me", talk)
    await until(
        lambda: told(workspace, "hello") and "ben: and from me" in told(workspace, "hello")[-1].all_texts, "both"
    )
    assert told(workspace, "hello")[-1].all_texts == ["ada: hello", "ben: and from me"]


async def test_a_click_is_drawn_by_its_own_address(workspace: SlackDesk) -> None:
    """It does not use chat.update, which Slack limits to about fifty calls a minute."""
    workspace.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await workspace.mention(ADA, "fruit")
    await workspace.press(ADA, await card(workspace, talk), "Pear")
    await settled(workspace, talk, "Pear")
    await line(workspace, talk, "So be it.")
    assert "response_url" in methods(workspace)
    assert "chat.update" not in methods(workspace)


async def test_no_argument_holds_a_token(workspace: SlackDesk) -> None:
    workspace.model.script(turn("A short word."), when="hello")
    talk = await workspace.mention(ADA, "hello")
    await line(workspace, talk, "A short word.")
    logged = "\n".join(record.getMessage() for record in workspace.journal.records)
    assert "xoxb-local" not in logged
    assert "xapp-local" not in logged
