"""chat.startStream, chat.appendStream, chat.stopStream: a message that grows."""

from dataclasses import replace

from askback_sandbox.json_values import JsonObject, as_text

from . import limits
from .arguments import Arguments
from .blocks import check_message_blocks
from .chat import checked_metadata
from .checks import Problem, SlackRefusalError
from .payloads import message_object
from .places import existing_message, joined_channel, thread_root
from .posting import Posting
from .sessions import checked_status
from .values import Message, Session, SessionStatus
from .workspace import Workspace


def _grown(message: Message, arguments: Arguments) -> Message:
    """Return a message with the additions of one call.

    Raises:
        SlackRefusalError: `msg_too_long`, `msg_blocks_too_long`, `invalid_chunks`, or a code of the blocks' check.
    """
    added = arguments.text("markdown_text") or ""
    blocks = list(message.blocks)
    for index, chunk in enumerate(arguments.objects("chunks")):
        kind = as_text(chunk.get("type"))
        if kind == "markdown_text":
            added += as_text(chunk.get("text"))
        elif kind == "blocks":
            blocks += check_message_blocks(chunk.get("blocks"))
        elif kind in ("task_update", "plan_update"):
            for name, value in chunk.items():
                if isinstance(value, str) and len(value) > limits.CHUNK_TEXT:
                    problem = Problem(
                        f"must be less than {limits.CHUNK_TEXT + 1} characters", f"/chunks/{index}/{name}"
                    )
                    raise SlackRefusalError("invalid_chunks", [problem])
        else:
            problem = Problem(f"unsupported type: {kind}", f"/chunks/{index}/type")
            raise SlackRefusalError("invalid_chunks", [problem])
    if len(added) > limits.MARKDOWN_TEXT:
        raise SlackRefusalError("msg_too_long")
    if len(blocks) > limits.MESSAGE_BLOCKS:
        raise SlackRefusalError("msg_blocks_too_long")
    markdown = (message.markdown or "") + added
    return replace(message, markdown=markdown, text=markdown, blocks=tuple(blocks))


class StreamMethods:
    """The streaming methods. A stream ends automatically after about five minutes."""

    def __init__(self, workspace: Workspace, posting: Posting) -> None:
        self._workspace = workspace
        self._posting = posting

    def start(self, arguments: Arguments) -> JsonObject:
        """chat.startStream"""
        channel = joined_channel(self._workspace, arguments)
        if channel.archived:
            raise SlackRefusalError("is_archived")
        arguments.need("thread_ts")
        root = thread_root(self._workspace, channel, arguments)
        if channel.kind != "dm":
            if "recipient_user_id" not in arguments:
                raise SlackRefusalError("missing_recipient_user_id")
            if "recipient_team_id" not in arguments:
                raise SlackRefusalError("missing_recipient_team_id")
            if arguments.text("recipient_user_id") not in self._workspace.people:
                raise SlackRefusalError("user_not_found")
        message = Message(
            channel=channel.id,
            ts=self._workspace.next_ts(),
            user=self._workspace.bot.id,
            username=self._workspace.bot.name,
            text="",
            thread_ts=root,
            bot=True,
            markdown="",
            streaming=True,
            stream_started=self._workspace.clock.time(),
        )
        # No event yet: the bot receives one when the streamed message is complete.
        self._workspace.put_message(_grown(message, arguments))
        return {"channel": channel.id, "ts": message.ts}

    def append(self, arguments: Arguments) -> JsonObject:
        """chat.appendStream"""
        message = self._streaming(arguments)
        if not arguments.text("markdown_text") and not arguments.objects("chunks"):
            raise SlackRefusalError("no_text")
        grown = _grown(message, arguments)
        if not self._workspace.faults.take("ignore", "chat.appendStream"):
            self._workspace.put_message(grown)
        return {"channel": message.channel, "ts": message.ts}

    def stop(self, arguments: Arguments) -> JsonObject:
        """chat.stopStream"""
        grown = _grown(self._streaming(arguments), arguments)
        if arguments.raw("blocks") is not None:
            grown = replace(grown, blocks=(*grown.blocks, *check_message_blocks(arguments.raw("blocks"))))
        metadata = checked_metadata(arguments)
        status = checked_status(arguments.need("session_status")) if "session_status" in arguments else None
        done = replace(grown, streaming=False, metadata=metadata or grown.metadata)
        if not self._workspace.faults.take("ignore", "chat.stopStream"):
            self._posting.post(done)
            self._move_session(done, status)
        shown = message_object(self._workspace, done, with_metadata=True)
        return {"channel": done.channel, "ts": done.ts, "message": shown}

    def _move_session(self, message: Message, status: SessionStatus | None) -> None:
        """Set the session's status, if the end of a stream gives one."""
        session = self._workspace.session(message.channel, message.root)
        if status is not None:
            begun = session or Session(channel=message.channel, thread_ts=message.root, status=status)
            self._workspace.put_session(replace(begun, status=status, stopped_by=None))

    def _streaming(self, arguments: Arguments) -> Message:
        channel = joined_channel(self._workspace, arguments)
        message = existing_message(self._workspace, channel, arguments.need("ts"))
        if message.user != self._workspace.bot.id or not message.streaming:
            raise SlackRefusalError("message_not_in_streaming_state")
        return message
