"""Posts, changes and deletes messages, and notifies the bot."""

from dataclasses import replace

from askback_sandbox.json_values import JsonObject

from .payloads import (
    app_mention_event,
    event_callback,
    message_changed_event,
    message_deleted_event,
    message_event,
    message_tombstone_event,
    tombstone_of,
)
from .socket import Ack, SlackSocket
from .values import Message
from .workspace import Workspace


class Posting:
    """Messages and the events that they cause."""

    def __init__(self, workspace: Workspace, socket: SlackSocket) -> None:
        self._workspace = workspace
        self._socket = socket

    def post(self, message: Message) -> Message:
        """Post a message; a bot in the channel is notified, even of messages that it posted."""
        self._workspace.put_message(message)
        if message.ephemeral_to is None and self._heard(message.channel):
            channel = self._workspace.channels[message.channel]
            # A mention arrives twice, with the same channel and ts; in a direct message only as message.im.
            if not message.bot and channel.kind == "channel" and f"<@{self._workspace.bot.id}>" in message.text:
                self._tell(app_mention_event(self._workspace, message), message)
            self._tell(message_event(self._workspace, message), message)
        return message

    def change(self, previous: Message, message: Message) -> Message:
        """Replace a message with a newer version and notify the bot."""
        self._workspace.put_message(message)
        if message.ephemeral_to is None and self._heard(message.channel):
            self._tell(message_changed_event(self._workspace, message, previous), message)
        return message

    def unfurl(self, message: Message) -> None:
        """Notify the bot of a changed message with the same text: Slack added a preview of a link."""
        if self._heard(message.channel):
            self._tell(message_changed_event(self._workspace, message, message), message)

    def remove(self, message: Message) -> None:
        """Delete a message; the root of a thread with replies is replaced by a tombstone [3p]."""
        self._workspace.remove_message(message)
        has_answers = any(one.ts != message.ts for one in self._workspace.thread(message.channel, message.ts))
        if has_answers:
            self._workspace.put_message(tombstone_of(message))
        if message.ephemeral_to is None and self._heard(message.channel):
            ts = self._workspace.next_ts()
            told = message_tombstone_event if has_answers else message_deleted_event
            self._tell(told(self._workspace, message, ts), message)

    def edited(self, message: Message, text: str, blocks: tuple[JsonObject, ...]) -> Message:
        """Return a message with a new text, marked as edited."""
        return replace(message, text=text, blocks=blocks, edited_ts=self._workspace.next_ts())

    def _heard(self, channel_id: str) -> bool:
        return self._workspace.channels[channel_id].bot_in

    def _tell(self, event: JsonObject, message: Message) -> None:
        payload = event_callback(self._workspace, event)
        if message.bot:
            self._socket.tell(payload)
            return
        interaction = self._workspace.begin("event", message.user)

        def note(ack: Ack) -> None:
            self._workspace.finish(interaction, acked=ack.acked, ms=ack.ms, error=ack.error)

        self._socket.tell(payload, note)
