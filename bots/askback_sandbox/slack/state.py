"""The state of the workspace, as the page and a scenario player read it."""

from askback_sandbox.json_values import JsonObject, as_object, copied, copied_all, json_list

from . import limits
from .values import Channel, Interaction, Message, OpenView
from .workspace import Workspace


def state_object(workspace: Workspace) -> JsonObject:
    """Return everything that the page shows."""
    messages = [workspace.message(*key) for key in list(workspace.messages)]
    return {
        "revision": workspace.revision,
        "bot": {"id": workspace.bot.id, "name": workspace.bot.name},
        "people": [{"id": p.id, "name": p.name, "real_name": p.real_name} for p in workspace.people.values()],
        "channels": [_channel(channel) for channel in workspace.channels.values()],
        "groups": [{"id": group.id, "name": group.handle} for group in workspace.groups.values()],
        "messages": json_list([_message(message) for message in messages if message is not None]),
        "views": json_list([_view(view) for view in workspace.views]),
        "interactions": json_list([_interaction(entry) for entry in workspace.interactions]),
        "status": [
            {
                "channel": status.channel,
                "thread_ts": status.thread_ts,
                "text": status.text,
                "loading": list(status.loading),
                "left": max(0.0, status.since + limits.STATUS_SECONDS - workspace.clock.time()),
            }
            for status in workspace.statuses
        ],
        "sessions": [
            {
                "channel": session.channel,
                "thread_ts": session.thread_ts,
                "status": session.status,
                "title": session.title,
                "stoppable": session.status == "processing" and workspace.hears_stop,
                "stopping": session.stopped_by is not None,
            }
            for session in workspace.sessions
        ],
    }


def _channel(channel: Channel) -> JsonObject:
    return {
        "id": channel.id,
        "name": channel.name,
        "kind": channel.kind,
        "private": channel.private,
        "person": channel.person,
    }


def _message(message: Message) -> JsonObject:
    return {
        "channel": message.channel,
        "ts": message.ts,
        "thread_ts": message.thread_ts,
        "user": message.user,
        "username": message.username,
        "bot": message.bot,
        "text": message.text,
        "blocks": json_list([copied(block) for block in message.blocks]),
        "files": json_list(copied_all(list(message.files))),
        "attachments": json_list(copied_all(list(message.attachments))),
        "edited": message.edited_ts is not None,
        "streaming": message.streaming,
        "ephemeral_to": message.ephemeral_to,
        "markdown": message.markdown,
        "posted_as": as_object((message.metadata or {}).get("event_payload")).get("nonce"),
    }


def _view(view: OpenView) -> JsonObject:
    return {"person": view.person, "view": copied(view.view), "errors": dict(view.errors)}


def _interaction(interaction: Interaction) -> JsonObject:
    return {
        "id": interaction.id,
        "kind": interaction.kind,
        "person": interaction.person,
        "acked": interaction.acked,
        "ack_ms": interaction.ack_ms,
        "error": interaction.error,
    }
