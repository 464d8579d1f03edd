"""The chat.* methods, and reactions to messages."""

import json
import re
from dataclasses import replace

from askback_sandbox.json_values import JsonObject, copied

from . import limits
from .arguments import Arguments
from .blocks import check_message_blocks
from .checks import SlackRefusalError
from .payloads import message_object
from .places import existing_message, joined_channel, known_channel, thread_root, writable_channel
from .posting import Posting
from .values import Message
from .workspace import Workspace

# Slack's notification text for blocks without text, as in recorded payloads.
NO_FALLBACK = "This content can't be displayed."
_EVENT_TYPE = re.compile(r"[A-Za-z0-9_.\-]{1,255}")


def checked_metadata(arguments: Arguments) -> JsonObject | None:
    """Return the metadata of a message; an empty object removes it. None if no metadata is given.

    Raises:
        SlackRefusalError: `invalid_metadata_format`, `invalid_metadata_schema`, `metadata_too_large`.
    """
    if "metadata" not in arguments:
        return None
    given = arguments.raw("metadata")
    if not isinstance(given, dict):
        raise SlackRefusalError("invalid_metadata_format")
    if not given:
        return {}
    if set(given) - {"event_type", "event_payload", "entities"}:
        raise SlackRefusalError("invalid_metadata_schema")
    event_type = given.get("event_type")
    if not isinstance(event_type, str) or not _EVENT_TYPE.fullmatch(event_type):
        raise SlackRefusalError("invalid_metadata_schema")
    if not isinstance(given.get("event_payload"), dict):
        raise SlackRefusalError("invalid_metadata_schema")
    if len(json.dumps(given).encode()) > limits.METADATA_BYTES:
        raise SlackRefusalError("metadata_too_large")
    return copied(given)


class ChatMethods:
    """The methods that post, change and delete messages."""

    def __init__(self, workspace: Workspace, posting: Posting) -> None:
        self._workspace = workspace
        self._posting = posting

    def _content(self, arguments: Arguments, most: int) -> tuple[str, list[JsonObject] | None, str | None]:
        """Return text, blocks and markdown of a new message or version."""
        text = arguments.text("text")
        markdown = arguments.text("markdown_text")
        blocks = arguments.raw("blocks")
        if markdown and (text or blocks is not None):
            raise SlackRefusalError("markdown_text_conflict")
        if markdown and len(markdown) > limits.MARKDOWN_TEXT:
            raise SlackRefusalError("msg_too_long")
        if text and len(text) > most:
            raise SlackRefusalError("msg_too_long")
        checked = None if blocks is None else check_message_blocks(blocks)
        return text or markdown or (NO_FALLBACK if checked else ""), checked, markdown

    def post_message(self, arguments: Arguments) -> JsonObject:
        """chat.postMessage"""
        channel = writable_channel(self._workspace, arguments)
        root = thread_root(self._workspace, channel, arguments)
        text, blocks, markdown = self._content(arguments, limits.MESSAGE_TEXT)
        if not text and not blocks and not arguments.objects("attachments"):
            raise SlackRefusalError("no_text")
        metadata = checked_metadata(arguments)
        message = Message(
            channel=channel.id,
            ts=self._workspace.next_ts(),
            user=self._workspace.bot.id,
            username=self._workspace.bot.name,
            text=text,
            blocks=tuple(blocks or ()),
            thread_ts=root,
            bot=True,
            markdown=markdown,
            metadata=metadata or None,
        )
        if not self._workspace.faults.take("ignore", "chat.postMessage"):
            self._posting.post(message)
        shown = message_object(self._workspace, message, with_metadata=True)
        return {"channel": channel.id, "ts": message.ts, "message": shown}

    def update(self, arguments: Arguments) -> JsonObject:
        """chat.update"""
        channel = known_channel(self._workspace, arguments)
        message = existing_message(self._workspace, channel, arguments.need("ts"))
        if message.user != self._workspace.bot.id:
            raise SlackRefusalError("cant_update_message")
        if channel.archived:
            raise SlackRefusalError("is_inactive")
        if message.streaming:
            raise SlackRefusalError("streaming_state_conflict")
        text, blocks, markdown = self._content(arguments, limits.UPDATE_TEXT)
        metadata = checked_metadata(arguments)
        gives_text = bool(arguments.text("text") or markdown)
        if not gives_text and blocks is None and metadata is None and "attachments" not in arguments:
            raise SlackRefusalError("no_text")
        newer = message
        if blocks is not None:
            if not blocks and not gives_text:
                raise SlackRefusalError("no_text")
            newer = replace(newer, blocks=tuple(blocks), text=text or newer.text, markdown=markdown)
        elif gives_text:
            # Text alone removes the blocks, and the message shows as edited [ref chat.update].
            newer = replace(newer, blocks=(), text=text, markdown=markdown, edited_ts=self._workspace.next_ts())
        if metadata is not None:
            newer = replace(newer, metadata=metadata or None)
        if not self._workspace.faults.take("ignore", "chat.update"):
            self._posting.change(message, newer)
        shown = message_object(self._workspace, newer, with_metadata=True)
        return {"channel": channel.id, "ts": newer.ts, "text": newer.text, "message": shown}

    def delete(self, arguments: Arguments) -> JsonObject:
        """chat.delete"""
        channel = known_channel(self._workspace, arguments)
        message = existing_message(self._workspace, channel, arguments.need("ts"))
        if message.user != self._workspace.bot.id:
            raise SlackRefusalError("cant_delete_message")
        if not self._workspace.faults.take("ignore", "chat.delete"):
            self._posting.remove(message)
        return {"channel": channel.id, "ts": message.ts}

    def post_ephemeral(self, arguments: Arguments) -> JsonObject:
        """chat.postEphemeral"""
        channel = writable_channel(self._workspace, arguments)
        person = self._workspace.people.get(arguments.need("user"))
        if person is None or not self._workspace.can_see(person.id, channel):
            raise SlackRefusalError("user_not_in_channel")
        root = thread_root(self._workspace, channel, arguments)
        text, blocks, markdown = self._content(arguments, limits.MESSAGE_TEXT)
        if not text and not blocks:
            raise SlackRefusalError("no_text")
        message = Message(
            channel=channel.id,
            ts=self._workspace.next_ts(),
            user=self._workspace.bot.id,
            username=self._workspace.bot.name,
            text=text,
            blocks=tuple(blocks or ()),
            thread_ts=root,
            bot=True,
            markdown=markdown,
            ephemeral_to=person.id,
        )
        # Slack does not promise that ephemeral messages arrive [ref chat.postEphemeral].
        if not self._workspace.faults.take("ignore", "chat.postEphemeral"):
            self._posting.post(message)
        return {"message_ts": message.ts}

    def get_permalink(self, arguments: Arguments) -> JsonObject:
        """chat.getPermalink"""
        channel = known_channel(self._workspace, arguments)
        message = existing_message(self._workspace, channel, arguments.need("message_ts"))
        place = f"https://{self._workspace.team.domain}.slack.com/archives/{channel.id}"
        link = f"{place}/p{message.ts.replace('.', '')}"
        if message.thread_ts:
            link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
        return {"channel": channel.id, "permalink": link}

    def add_reaction(self, arguments: Arguments) -> JsonObject:
        """reactions.add"""
        channel = joined_channel(self._workspace, arguments)
        message = existing_message(self._workspace, channel, arguments.need("timestamp"))
        name = arguments.need("name")
        if name in message.reactions:
            raise SlackRefusalError("already_reacted")
        self._workspace.put_message(replace(message, reactions=(*message.reactions, name)))
        return {}
