"""The places where a bot may read and write, with Slack's answers to a wrong channel, thread or message."""

from .arguments import Arguments
from .checks import SlackRefusalError
from .values import Channel, Message
from .workspace import Workspace


def known_channel(workspace: Workspace, arguments: Arguments, *, name: str = "channel") -> Channel:
    """Return a channel that the bot may know.

    Raises:
        SlackRefusalError: `channel_not_found`, also for a private channel without the bot.
    """
    channel = workspace.channels.get(arguments.need(name))
    if channel is None or (channel.private and not channel.bot_in):
        raise SlackRefusalError("channel_not_found")
    return channel


def joined_channel(workspace: Workspace, arguments: Arguments, *, name: str = "channel") -> Channel:
    """Return a channel that the bot is in.

    Raises:
        SlackRefusalError: `channel_not_found`, `not_in_channel`.
    """
    channel = known_channel(workspace, arguments, name=name)
    if not channel.bot_in:
        raise SlackRefusalError("not_in_channel")
    return channel


def writable_channel(workspace: Workspace, arguments: Arguments) -> Channel:
    """Return a channel that the bot may post in; the id of a person selects their direct message.

    Raises:
        SlackRefusalError: `channel_not_found`, `not_in_channel`, `is_archived`.
    """
    given = arguments.need("channel")
    direct = workspace.dm(given)
    named = workspace.channel(given)
    found = direct or named
    if found is None:
        raise SlackRefusalError("channel_not_found")
    channel = joined_channel(workspace, Arguments({"channel": found.id}))
    if channel.archived:
        raise SlackRefusalError("is_archived")
    return channel


def thread_root(workspace: Workspace, channel: Channel, arguments: Arguments) -> str | None:
    """Return the thread to post in; None if no thread is given.

    A reply's own ts does not start a thread ("use the parent's" [ref chat.postMessage]).

    Raises:
        SlackRefusalError: `invalid_thread_ts`.
    """
    thread_ts = arguments.text("thread_ts")
    if not thread_ts:
        return None
    root = workspace.message(channel.id, thread_ts)
    if root is None or root.ephemeral_to is not None or root.thread_ts not in (None, root.ts):
        raise SlackRefusalError("invalid_thread_ts")
    return thread_ts


def existing_message(workspace: Workspace, channel: Channel, ts: str) -> Message:
    """Return a message that everyone in the channel can see.

    Raises:
        SlackRefusalError: `message_not_found`.
    """
    message = workspace.message(channel.id, ts)
    if message is None or message.ephemeral_to is not None:
        raise SlackRefusalError("message_not_found")
    return message
