"""The scenario player with actions other than answers: people stop, attach files, type, and take offers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from askback_sandbox.discord.scene import scene as discord_scene
from askback_sandbox.play.controls import Control
from askback_sandbox.play.play import play
from askback_sandbox.play.scenario_reader import ScenarioError, parse
from askback_sandbox.play.scene import Place, Work
from askback_sandbox.services import Services
from askback_sandbox.slack.scene import scene as slack_scene
from emulator.conftest import Bot, bot_for
from support.clocks import SharedClock

discord = pytest.importorskip("discord", reason="discord.py is not installed")

from support.discord_client import DiscordBot, button, callback, pointed_at, row  # noqa: E402

STOPPED = """
title = "Stopped"
platform = "PLATFORM"
by = "ada"
[[step]]
write = "count to a million"
[[step]]
expect.working = true
[[step]]
stop = true
[[step]]
expect.says = "Stopped by ada."
expect.working = false
"""
OFFERED = """
title = "Typed and attached"
platform = "slack"
by = "ada"
[[step]]
write = "look at this"
attach = ["build.log", "shot.png"]
[[step]]
expect.says = "I cannot read build.log, shot.png."
[[step]]
write = "Staging, please"
[[step]]
expect.offer = ["Use this", "Just a message"]
[[step]]
press = "Use this as your answer"
[[step]]
expect.says = "Staging, please it is."
[[step]]
write = "thanks"
[[step]]
press = "just a message"
[[step]]
expect.says = "Never mind."
"""
LABELS = {"use": "Use this as your answer", "skip": "Just a message"}


class SlackBot:
    """A bot that works until it is stopped, lists files it cannot read, and offers to use typed words as an answer."""

    def __init__(self, bot: Bot) -> None:
        self.client = bot.client
        bot.app.event("app_mention")(self.mention)
        bot.app.event("message")(self.message)
        bot.app.event("agent_session_stopped")(self.stopped)
        bot.app.action("use")(self.use)
        bot.app.action("skip")(self.skip)

    async def say(self, event: dict[str, Any], text: str) -> None:
        root = event.get("thread_ts") or event["ts"]
        await self.client.chat_postMessage(channel=event["channel"], thread_ts=root, text=text)

    async def mention(self, event: dict[str, Any]) -> None:
        if files := event.get("files"):
            await self.say(event, f"I cannot read {', '.join(file['name'] for file in files)}.")
        else:
            await self.put(event["channel"], event["ts"], "processing")

    async def put(self, channel: str, root: str, status: str) -> None:
        await self.client.agents_sessions_setStatus(channel_id=channel, thread_ts=root, status=status)

    async def stopped(self, event: dict[str, Any]) -> None:
        await self.put(event["channel"], event["thread_ts"], "active")
        person = (await self.client.users_info(user=event["user"]))["user"]["name"]
        await self.say(event, f"Stopped by {person}.")

    async def message(self, event: dict[str, Any]) -> None:
        if "thread_ts" not in event or "bot_id" in event:
            return
        elements = [
            {"type": "button", "action_id": name, "value": event["text"], "text": {"type": "plain_text", "text": text}}
            for name, text in LABELS.items()
        ]
        await self.client.chat_postEphemeral(
            channel=event["channel"],
            thread_ts=event["thread_ts"],
            user=event["user"],
            text="Is that your answer?",
            blocks=[{"type": "actions", "block_id": event["ts"], "elements": elements}],
        )

    async def use(self, ack: Any, body: dict[str, Any], respond: Any) -> None:
        await ack()
        await respond(delete_original=True)
        container = body["container"]
        where = {"channel": container["channel_id"], "ts": container["thread_ts"]}
        await self.say(where, f"{body['actions'][0]['value']} it is.")

    async def skip(self, ack: Any, body: dict[str, Any], respond: Any) -> None:
        await ack()
        await respond(replace_original=True, text="Kept as a message.")
        container = body["container"]
        await self.say({"channel": container["channel_id"], "ts": container["thread_ts"]}, "Never mind.")


class ButtonBot(DiscordBot):
    """A bot that types, shows a Stop below its text, and names the person who pressed it."""

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot or self.user not in message.mentions:
            return
        path = f"/channels/{message.channel.id}/messages/{message.id}/threads"
        thread = (await self.request("POST", path, name="A talk"))["id"]
        stop = row(button("stop", "Stop", style=4))
        await self.request("POST", f"/channels/{thread}/messages", content="1, 2, 3…", components=[stop])
        await self.request("POST", f"/channels/{thread}/typing")

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        said = f"Stopped by {interaction.user.name}."
        await callback(interaction, {"type": 7, "data": {"content": "1, 2, 3", "components": []}})
        await self.request("POST", f"/channels/{interaction.channel_id}/messages", content=said)


@pytest.fixture
async def living() -> AsyncIterator[Services]:
    """Services in real time, with both bots."""
    clock = SharedClock()
    async with (
        clock.running(),
        Services(port=0, clock=clock) as services,
        aiohttp.ClientSession() as session,
        bot_for(services, session) as bot,
    ):
        SlackBot(bot)
        await bot.connect()
        with pointed_at(services):
            other = ButtonBot(services)
            try:
                await other.run_until_ready()
                yield services
            finally:
                await other.stop()


async def played(services: Services, text: str) -> tuple[list[str], str]:
    lines: list[str] = []
    problems = await play(parse(text), services.url, lines.append)
    return problems, "\n".join(lines)


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_what_works_can_be_stopped(living: Services, platform: str) -> None:
    problems, transcript = await played(living, STOPPED.replace("PLATFORM", platform))
    assert problems == []
    assert "» ada presses Stop" in transcript
    # A Stop alone makes no card.
    assert "╭─" not in transcript


async def test_files_and_offers_are_played(living: Services) -> None:
    problems, transcript = await played(living, OFFERED)
    assert problems == []
    assert "📎 build.log" in transcript
    assert "(only ada sees this)" in transcript
    assert "» ada presses [ Use this as your answer ]" in transcript


FILE = '[[step]]\nwrite = "here"\nattach = "a.txt"\n[[step]]\nwithin = 0.3\n'
WORK = '[[step]]\nwrite = "work"\n[[step]]\nexpect.working = true\n[[step]]\nwithin = 0.3\n'


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (f"{FILE}stop = true", "is not at work here"),
        (f"{FILE}expect.working = true", "shows that it is at work"),
        (f"{WORK}expect.working = false", "is not at work any more"),
        (f'{FILE}expect.offer = "A"', "offer of “A”; there is none"),
        ('[[step]]\nwrite = "here"\nattach = "a/b"', "a file needs a name"),
    ],
)
async def test_what_does_not_come_is_a_problem(living: Services, steps: str, words: str) -> None:
    (problem, *_), _ = await played(living, f'title = "T"\nplatform = "slack"\nby = "ada"\n{steps}')
    assert words in problem


def test_a_message_needs_words_or_a_file() -> None:
    with pytest.raises(ScenarioError, match="write something, or attach a file"):
        parse('title = "T"\n[[step]]\nwrite = ""')
    assert parse('title = "T"\n[[step]]\nwrite = ""\nattach = "a.txt"').steps


def test_a_turn_may_say_its_usage_and_its_summary() -> None:
    text = 'title = "T"\n[[model]]\nsay = "x"\ncompact = "Short."\nusage = { input_tokens = 7 }\n[[step]]\nwrite = "hi"'
    (turn,) = parse(text).scripts[0].turns
    assert (turn.compact, turn.usage.input_tokens, turn.usage.output_tokens) == ("Short.", 7, None)


def test_work_is_seen_where_it_is() -> None:
    slack = slack_scene(
        {
            "sessions": [
                {"channel": "C1", "thread_ts": "1.0", "status": "processing", "stoppable": True},
                {"channel": "C1", "thread_ts": "2.0", "status": "suspended", "stoppable": False},
            ],
            "status": [{"channel": "D1", "thread_ts": "3.0", "text": "is thinking…"}],
        }
    )
    assert slack.works == (Work("C1", "1.0", stoppable=True), Work("D1", "3.0"))
    assert [Place("D1", None).has(work) for work in slack.works] == [False, True]
    typing = [{"channel": "7", "user": "9"}, {"channel": "5", "user": "9"}, {"channel": "7", "user": "1"}]
    channels = [{"id": "7", "parent": "5", "kind": "thread"}, {"id": "5", "parent": None, "kind": "channel"}]
    guild = discord_scene({"bot": {"id": "9"}, "channels": channels, "typing": typing})
    assert guild.works == (Work("5", "7"), Work("5", "5"))


def test_a_stop_beside_other_buttons_is_one_of_them() -> None:
    def shown(*labels: str) -> tuple[tuple[Control, ...], Control | None, bool]:
        buttons = [
            {"type": "button", "action_id": label, "text": {"type": "plain_text", "text": label}} for label in labels
        ]
        blocks = [{"type": "actions", "block_id": "a", "elements": buttons}]
        (message,) = slack_scene(
            {"messages": [{"channel": "C1", "ts": "1.0", "bot": True, "text": "x", "blocks": blocks}]}
        ).messages
        return message.controls, message.stop, message.card

    controls, stop, card = shown("Stop")
    assert (controls, stop is not None, card) == ((), True, False)
    controls, stop, card = shown("Stop", "Go on")
    assert ([control.label for control in controls], stop, card) == (["Stop", "Go on"], None, True)
