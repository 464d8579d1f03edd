"""The events and interactions that Slack sends to a bot, in the shape of recorded ones."""

import re
import uuid

from askback_sandbox.json_values import JsonList, JsonObject, copied, copied_all, json_list

from .block_tree import Placed
from .values import Message, OpenView, Person
from .workspace import Workspace

SLACKBOT = "USLACKBOT"
VERIFICATION_TOKEN = "local-verification-token"  # noqa: S105 - Slack's legacy field, always present, never used


def user_object(workspace: Workspace, person: Person) -> JsonObject:
    """Return the person as interactions name them."""
    return {"id": person.id, "username": person.name, "name": person.name, "team_id": workspace.team.id}


def _heading(workspace: Workspace, kind: str, person: Person) -> JsonObject:
    return {
        "type": kind,
        "user": user_object(workspace, person),
        "api_app_id": workspace.bot.app_id,
        "token": VERIFICATION_TOKEN,
        "team": {"id": workspace.team.id, "domain": workspace.team.domain},
        "enterprise": None,
        "is_enterprise_install": False,
    }


def message_object(
    workspace: Workspace, message: Message, *, with_metadata: bool = False, blocks: list[JsonObject] | None = None
) -> JsonObject:
    """Return a message as the API and the payloads show it."""
    shown: JsonObject = {
        "type": "message",
        "user": message.user,
        "ts": message.ts,
        "text": message.text,
        "team": workspace.team.id,
    }
    person = workspace.people.get(message.user)
    if person is not None and person.team is not None:
        shown |= {"team": person.team, "user_team": person.team, "source_team": person.team}
    if message.bot:
        shown["bot_id"] = workspace.bot.bot_id
        shown["app_id"] = workspace.bot.app_id
        shown["bot_profile"] = {
            "id": workspace.bot.bot_id,
            "name": workspace.bot.name,
            "app_id": workspace.bot.app_id,
            "team_id": workspace.team.id,
            "deleted": False,
        }
    if message.program:
        del shown["user"]
        shown |= {"bot_id": message.program, "subtype": "bot_message", "username": message.username}
    if message.attachments:
        shown["attachments"] = json_list(copied_all(list(message.attachments)))
    if message.client_msg_id:
        shown["client_msg_id"] = message.client_msg_id
    if message.blocks or blocks:
        shown["blocks"] = json_list([copied(block) for block in (blocks or message.blocks)])
    if message.files:
        # With files, a message has another subtype, and comes without its team [3p slack-api-specs#62].
        del shown["team"]
        shown |= {"files": json_list(copied_all(list(message.files))), "upload": False, "display_as_bot": False}
        shown["subtype"] = "file_share"
    if message.thread_ts:
        shown["thread_ts"] = message.thread_ts
        root = workspace.messages.get((message.channel, message.thread_ts))
        shown["parent_user_id"] = root.user if root else message.user
    if message.edited_ts:
        shown["edited"] = {"user": message.user, "ts": message.edited_ts}
    if message.streaming:
        shown["streaming_state"] = "in_progress"
    if with_metadata and message.metadata:
        shown["metadata"] = copied(message.metadata)
    return shown


def block_actions(
    workspace: Workspace,
    person: Person,
    message: Message,
    action: JsonObject,
    *,
    blocks: list[JsonObject],
    state: JsonObject,
    trigger_id: str,
    response_url: str,
) -> JsonObject:
    """Return the interaction for a click in a message."""
    channel = workspace.channels[message.channel]
    container: JsonObject = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.ephemeral_to is not None,
    }
    if message.thread_ts:
        container["thread_ts"] = message.thread_ts
    payload: JsonObject = {
        **_heading(workspace, "block_actions", person),
        "container": container,
        "trigger_id": trigger_id,
        "channel": {"id": channel.id, "name": "directmessage" if channel.kind == "dm" else channel.name},
        "state": {"values": state},
        "response_url": response_url,
        "actions": [action],
    }
    # The payload of an ephemeral message does not hold the message [ref block_actions payload].
    if message.ephemeral_to is None:
        payload["message"] = message_object(workspace, message, blocks=blocks)
    return payload


def view_actions(
    workspace: Workspace, person: Person, view: OpenView, action: JsonObject, *, state: JsonObject, trigger_id: str
) -> JsonObject:
    """Return the interaction for a click in a modal."""
    return {
        **_heading(workspace, "block_actions", person),
        "container": {"type": "view", "view_id": view.id},
        "trigger_id": trigger_id,
        "view": view_object(view, state),
        "actions": [action],
    }


def view_object(view: OpenView, state: JsonObject) -> JsonObject:
    """Return a modal with the values that are set in it."""
    return {**copied(view.view), "state": {"values": state}}


def view_submission(
    workspace: Workspace, person: Person, view: OpenView, *, state: JsonObject, trigger_id: str
) -> JsonObject:
    """Return the interaction for a press of Submit."""
    return {
        **_heading(workspace, "view_submission", person),
        "trigger_id": trigger_id,
        "view": view_object(view, state),
        "response_urls": [],
    }


def view_closed(
    workspace: Workspace, person: Person, view: OpenView, *, state: JsonObject, is_cleared: bool
) -> JsonObject:
    """Return the interaction for a modal that was closed without Submit."""
    return {
        **_heading(workspace, "view_closed", person),
        "view": view_object(view, state),
        "is_cleared": is_cleared,
    }


def block_suggestion(
    workspace: Workspace,
    person: Person,
    placed: Placed,
    query: str,
    *,
    message: Message | None = None,
    view: OpenView | None = None,
    state: JsonObject | None = None,
) -> JsonObject:
    """Return the interaction for a person who types into a search-as-you-type menu."""
    payload: JsonObject = {
        **_heading(workspace, "block_suggestion", person),
        "action_id": placed.action_id,
        "block_id": placed.block_id,
        "value": query,
    }
    if view is not None:
        payload["container"] = {"type": "view", "view_id": view.id}
        payload["view"] = view_object(view, state or {})
    elif message is not None:
        channel = workspace.channels[message.channel]
        payload["container"] = {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
            "is_ephemeral": message.ephemeral_to is not None,
        }
        payload["channel"] = {"id": channel.id, "name": channel.name}
        if message.ephemeral_to is None:
            payload["message"] = message_object(workspace, message)
    return payload


def action_object(placed: Placed, state: JsonObject, action_ts: str) -> JsonObject:
    """Return the act on one element."""
    action: JsonObject = {"action_id": placed.action_id, "block_id": placed.block_id}
    kept = ("text", "value", "style", "url", "confirm") if placed.element.get("type") == "button" else ("placeholder",)
    for name in kept:
        if name in placed.element:
            action[name] = placed.element[name]
    return {**copied(action), **state, "type": placed.element["type"], "action_ts": action_ts}


# events

_MARKUP = re.compile(r"<@(?P<user>[UW][A-Z0-9]+)>|<#(?P<channel>[CG][A-Z0-9]+)\|[^>]*>|<(?P<url>https?://[^>|]+)>")


def rich_text_of(text: str) -> JsonObject:
    """Return the block that Slack's client adds to texts that people write."""
    parts: JsonList = []
    at = 0
    for match in _MARKUP.finditer(text):
        if match.start() > at:
            parts.append({"type": "text", "text": unescaped(text[at : match.start()])})
        if match["user"]:
            parts.append({"type": "user", "user_id": match["user"]})
        elif match["channel"]:
            parts.append({"type": "channel", "channel_id": match["channel"]})
        else:
            parts.append({"type": "link", "url": match["url"]})
        at = match.end()
    if at < len(text):
        parts.append({"type": "text", "text": unescaped(text[at:])})
    return {
        "type": "rich_text",
        "block_id": uuid.uuid4().hex[:5],
        "elements": [{"type": "rich_text_section", "elements": parts}],
    }


def escaped(text: str) -> str:
    """Return a text as Slack's client sends it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescaped(text: str) -> str:
    """Return a text as people read it."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def event_callback(workspace: Workspace, event: JsonObject) -> JsonObject:
    """Return an event with the envelope that Slack adds."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": workspace.team.id,
        "api_app_id": workspace.bot.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": workspace.next_id("Ev"),
        "event_time": int(workspace.clock.time()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": workspace.team.id,
                "user_id": workspace.bot.id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
        "event_context": f"1-{event['type']}-{workspace.team.id}-{event['channel']}",
    }


def channel_type(workspace: Workspace, channel_id: str) -> str:
    """Return the kind of a channel, as events name it."""
    channel = workspace.channels[channel_id]
    if channel.kind == "dm":
        return "im"
    return "group" if channel.private else "channel"


def message_event(workspace: Workspace, message: Message) -> JsonObject:
    """`message`: something was posted."""
    return {
        **message_object(workspace, message),
        "channel": message.channel,
        "event_ts": message.ts,
        "channel_type": channel_type(workspace, message.channel),
    }


def app_mention_event(workspace: Workspace, message: Message) -> JsonObject:
    """`app_mention`: the bot was named."""
    shown = message_object(workspace, message)
    shown.pop("subtype", None)  # a mention with files is a mention [recorded]
    return {**shown, "type": "app_mention", "channel": message.channel, "event_ts": message.ts}


def session_stopped_event(
    workspace: Workspace, person: Person, channel: str, thread_ts: str, streams: list[str]
) -> JsonObject:
    """`agent_session_stopped`: Stop was pressed; Slack ended the messages in `streams` because of it."""
    return {
        "type": "agent_session_stopped",
        "channel": channel,
        "thread_ts": thread_ts,
        "user": person.id,
        "streaming_message_ts": [*streams],
        "event_ts": workspace.next_ts(),
    }


def message_changed_event(workspace: Workspace, message: Message, previous: Message) -> JsonObject:
    """`message_changed`: a message was edited or updated."""
    return {
        "type": "message",
        "subtype": "message_changed",
        "message": message_object(workspace, message),
        "previous_message": message_object(workspace, previous),
        "channel": message.channel,
        "hidden": True,
        "ts": message.edited_ts or message.ts,
        "event_ts": message.edited_ts or message.ts,
        "channel_type": channel_type(workspace, message.channel),
    }


def message_deleted_event(workspace: Workspace, previous: Message, ts: str) -> JsonObject:
    """`message_deleted`: a message was deleted."""
    return {
        "type": "message",
        "subtype": "message_deleted",
        "previous_message": message_object(workspace, previous),
        "channel": previous.channel,
        "hidden": True,
        "deleted_ts": previous.ts,
        "ts": ts,
        "event_ts": ts,
        "channel_type": channel_type(workspace, previous.channel),
    }


def tombstone_of(message: Message) -> Message:
    """Return the replacement of a deleted message that has replies."""
    return Message(
        channel=message.channel,
        ts=message.ts,
        user=SLACKBOT,
        text="This message was deleted.",
        thread_ts=message.thread_ts or message.ts,
    )


def message_tombstone_event(workspace: Workspace, previous: Message, ts: str) -> JsonObject:
    """`message_changed` to a tombstone: the root of a thread was deleted, and its replies were not."""
    left = {**message_object(workspace, tombstone_of(previous)), "subtype": "tombstone", "hidden": True}
    return {
        "type": "message",
        "subtype": "message_changed",
        "message": left,
        "previous_message": message_object(workspace, previous),
        "channel": previous.channel,
        "hidden": True,
        "ts": ts,
        "event_ts": ts,
        "channel_type": channel_type(workspace, previous.channel),
    }
