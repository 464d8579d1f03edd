"""The rig on Slack."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from askback_sandbox.model.model import Model
from askback_sandbox.play.controls import Control, find
from askback_sandbox.revisions import Revisions
from askback_sandbox.services import Services
from askback_sandbox.slack.clicks import Target
from askback_sandbox.slack.controls import controls
from askback_sandbox.slack.drawing import message_text
from askback_sandbox.slack.socket import SlackSocket
from askback_sandbox.slack.values import Message
from askback_sandbox.slack.workspace import Workspace
from support.clocks import SharedClock
from support.outage import End, of_slack
from support.processes import Launcher

from .rig import ACK_SECONDS, LONGEST_CALL, STREAM_SECONDS, THREAD, Link, Pressed, Rig

DELIVERING = (
    "chat.postMessage", "chat.update", "chat.delete", "chat.startStream", "chat.appendStream", "chat.stopStream",
    "conversations.replies", "conversations.history",
)  # fmt: skip
"""The methods that an outage affects. A notice that follows the ack of a click has no outbox, so it is left out."""


class SlackRig(Rig):
    """The rig with Slack's services."""

    platform = "slack"
    receives = 1  # a mention also arrives as a message, which is deduplicated

    def __init__(self, services: Services, folder: Path, launcher: Launcher) -> None:
        super().__init__(services, folder, launcher)
        self.workspace: Workspace = services.workspace

    @property
    def link(self) -> Link:
        return self.services.socket

    @property
    def state(self) -> Revisions:
        return self.workspace

    def write(self, text: str = f"@askback {THREAD}", thread: str | None = None) -> str:
        return self.services.people.write("ada", "general", text, thread).ts

    async def press(self, message: Message, label: str) -> Pressed:
        button = find(self.buttons(message), label, kinds=("button",), what="button")
        target = Target(
            person="ada",
            channel=message.channel,
            ts=message.ts,
            block_id=str(button.handle["block_id"]),
            action_id=str(button.handle["action_id"]),
        )
        done = await self.services.clicks.act(target, as_seen=[*message.blocks])
        assert done is not None
        return done

    async def open_field(self, message: Message, label: str) -> None:
        await self.press(message, label)
        await self.until(lambda: self.workspace.views)

    async def send_field(self, text: str) -> bool:
        view = self.workspace.views[0]
        blocks: Any = view.view["blocks"]
        (entry,) = [block for block in blocks if block["type"] == "input"]
        values: Any = {entry["block_id"]: {entry["element"]["action_id"]: text}}
        return (await self.services.modals.submit("ada", view.id, values)).ok

    def outage(self, kind: str) -> End:
        return of_slack(self.workspace.faults, kind, methods=DELIVERING, retry_after=1)

    def hold_drawings(self) -> None:
        for method in ("response_url", "chat.update"):
            self.workspace.faults.fail(method, "internal_error", times=None)

    def release_drawings(self) -> None:
        self.workspace.faults.clear()

    def drawings(self) -> int:
        return sum(call.method == "chat.update" for call in self.workspace.log)

    def calls(self) -> str:
        return "\n".join(
            f"{call.at:.3f} {call.method} {call.status} {json.dumps(call.arguments)[:LONGEST_CALL]} "
            f"-> {call.answer.get('error') or call.answer.get('ts')}"
            for call in self.workspace.log
            if call.method in DELIVERING
        )

    def shown(self) -> list[Message]:
        return [message for message in self.workspace.messages.values() if message.bot]

    def bots(self) -> list[Message]:
        shown = [message for message in self.workspace.messages.values() if message.bot and not message.ephemeral_to]
        return sorted(shown, key=lambda message: message.ts)

    def reads(self, message: Message) -> str:
        return message_text({"blocks": [*message.blocks], "text": message.text, "markdown": message.markdown})

    def buttons(self, message: Message) -> tuple[Control, ...]:
        return controls([*message.blocks])

    def is_finished(self, message: Message) -> bool:
        return not message.streaming

    def posts(self) -> list[tuple[str, str]]:
        return [
            (str(call.arguments.get("metadata")), message_text(call.arguments))
            for call in self.workspace.log
            if call.method == "chat.postMessage" and call.answer.get("ok")
        ]

    def written(self) -> list[str]:
        bot = f"<@{self.workspace.bot.id}>"
        return [
            message.text.replace(bot, "").strip() for message in self.workspace.messages.values() if not message.bot
        ]


@asynccontextmanager
async def rigged(folder: Path, launcher: Launcher) -> AsyncGenerator[Rig]:
    clock = SharedClock()
    workspace = Workspace(clock=clock)
    socket = SlackSocket(workspace, ack_seconds=ACK_SECONDS, event_retries=(0.1, 0.1, 0.1, 0.1, 0.1, 0.1))
    async with (
        clock.running(),
        Services(port=0, workspace=workspace, socket=socket, model=Model(delay=STREAM_SECONDS)) as services,
    ):
        rig = SlackRig(services, folder, launcher)
        try:
            yield rig
        finally:
            await rig.close()
