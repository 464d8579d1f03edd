"""The acts of people at a keyboard: write, edit, delete, archive, stop. It also sends recorded payloads."""

import re
import uuid
from dataclasses import replace

from askback_sandbox.attached import Attached
from askback_sandbox.json_values import JsonObject, as_object, as_text
from askback_sandbox.person_error import PersonError

from .files import file_object
from .payloads import escaped, event_callback, rich_text_of, session_stopped_event
from .posting import Posting
from .socket import Ack, SlackSocket
from .values import Channel, Interaction, InteractionKind, Message, Person
from .workspace import Workspace

LONGEST_MESSAGE = 40_000
_NAME = re.compile(r"(?<![\w<])@([A-Za-z0-9._-]+)")
_CHANNEL = re.compile(r"(?<![\w<&])#([a-z0-9_-]+)")
_KINDS: dict[str, InteractionKind] = {
    "block_actions": "block_actions",
    "view_submission": "view_submission",
    "view_closed": "view_closed",
    "block_suggestion": "block_suggestion",
}


def known_person(workspace: Workspace, name_or_id: str) -> Person:
    """Return a person by id or name.

    Raises:
        PersonError: no person has that id or name.
    """
    person = workspace.person(name_or_id)
    if person is None:
        raise PersonError("person_not_found", f"nobody here is called {name_or_id!r}")
    return person


def seen_channel(workspace: Workspace, person: Person, name_or_id: str) -> Channel:
    """Return a channel that the person is in.

    Raises:
        PersonError: the channel does not exist, or the person is not in it.
    """
    channel = workspace.channel(name_or_id)
    if channel is None or not workspace.can_see(person.id, channel):
        raise PersonError("channel_not_found", f"{person.name} sees no channel {name_or_id!r}")
    return channel


def seen_message(workspace: Workspace, person: Person, channel: Channel, ts: str) -> Message:
    """Return a message that the person sees.

    Raises:
        PersonError: the message does not exist, or only another person sees it.
    """
    message = workspace.message(channel.id, ts)
    if message is None or message.ephemeral_to not in (None, person.id):
        raise PersonError("message_not_found", f"{person.name} sees no message {ts} there")
    return message


class People:
    """Carries out the acts of people at a keyboard."""

    def __init__(self, workspace: Workspace, socket: SlackSocket, posting: Posting) -> None:
        self._workspace = workspace
        self._socket = socket
        self._posting = posting

    def write(
        self,
        person: str,
        channel: str,
        text: str,
        thread_ts: str | None = None,
        *,
        files: tuple[Attached, ...] = (),
    ) -> Message:
        """Post as a person: @name and #name become mentions, the rest is escaped. With files, the text may be empty.

        Raises:
            PersonError: Slack's client would not allow it.
        """
        writer = known_person(self._workspace, person)
        place = seen_channel(self._workspace, writer, channel)
        if place.archived:
            raise PersonError("is_archived", f"#{place.name} is archived")
        if thread_ts is not None:
            thread_ts = seen_message(self._workspace, writer, place, thread_ts).root
        sent = self._sent(text) if text.strip() or not files else ""
        message = Message(
            channel=place.id,
            ts=self._workspace.next_ts(),
            user=writer.id,
            username=writer.name,
            text=sent,
            blocks=(rich_text_of(sent),) if sent else (),
            thread_ts=thread_ts,
            client_msg_id=str(uuid.uuid4()),
            files=tuple(file_object(self._workspace, writer, one) for one in files),
        )
        return self._posting.post(message)

    def edit(self, person: str, channel: str, ts: str, text: str) -> Message:
        """Change a person's own message."""
        message = self._own(person, channel, ts)
        sent = self._sent(text)
        return self._posting.change(message, self._posting.edited(message, sent, (rich_text_of(sent),)))

    def delete(self, person: str, channel: str, ts: str) -> None:
        """Delete a person's own message, or dismiss a message that only this person sees."""
        reader = known_person(self._workspace, person)
        message = self._workspace.message(seen_channel(self._workspace, reader, channel).id, ts)
        if message is not None and message.ephemeral_to == reader.id:
            self._workspace.remove_message(message)
            return
        self._posting.remove(self._own(person, channel, ts))

    def delete_file(self, person: str, file_id: str) -> None:
        """Delete a person's own file. The messages with it stay."""
        owner = known_person(self._workspace, person)
        described = self._workspace.files.get(file_id)
        if described is None or described["user"] != owner.id:
            raise PersonError("file_not_found", f"{owner.name} has no file {file_id}")
        del self._workspace.files[file_id]
        self._workspace.contents.pop(file_id, None)

    def moderate(self, person: str, channel: str, ts: str) -> None:
        """Delete any person's message, as a workspace's administrators may."""
        moderator = known_person(self._workspace, person)
        place = seen_channel(self._workspace, moderator, channel)
        message = seen_message(self._workspace, moderator, place, ts)
        if message.ephemeral_to is not None:
            raise PersonError("message_not_found", "what one person alone sees, nobody else can delete")
        self._posting.remove(message)

    def unfurl(self, person: str, channel: str, ts: str) -> None:
        """Add a link preview to a person's message: the bot receives a change although the text stays the same."""
        self._posting.unfurl(self._own(person, channel, ts))

    def archive(self, person: str, channel: str) -> None:
        """Archive a channel: no one can write in it any more, and a bot in it is notified."""
        archiver = known_person(self._workspace, person)
        place = seen_channel(self._workspace, archiver, channel)
        if place.kind != "channel":
            raise PersonError("method_not_supported_for_channel_type", "a direct message cannot be archived")
        self._workspace.put_channel(replace(place, archived=True))
        kind = "group_archive" if place.private else "channel_archive"
        event: JsonObject = {
            "type": kind,
            "channel": place.id,
            "user": archiver.id,
            "is_moved": 0,
            "event_ts": self._workspace.next_ts(),
        }
        if place.bot_in:
            self._tell(archiver.id, event_callback(self._workspace, event))

    def _own(self, person: str, channel: str, ts: str) -> Message:
        writer = known_person(self._workspace, person)
        place = seen_channel(self._workspace, writer, channel)
        message = seen_message(self._workspace, writer, place, ts)
        if message.user != writer.id:
            raise PersonError("not_own_message", "only one's own messages can be changed")
        return message

    def _sent(self, text: str) -> str:
        if not text.strip():
            raise PersonError("no_text", "there is nothing to send")
        if len(text) > LONGEST_MESSAGE:
            raise PersonError("msg_too_long", "that is too long for one message")
        names = {person.name: person.id for person in self._workspace.people.values()}
        names[self._workspace.bot.name] = self._workspace.bot.id

        def mention(match: re.Match[str]) -> str:
            # A full stop or comma after a name belongs to the sentence.
            name = match[1].rstrip(".-_")
            found = names.get(name.lower())
            return f"<@{found}>{match[1][len(name) :]}" if found else match[0]

        channels = {one.name: one.id for one in self._workspace.channels.values() if one.kind == "channel"}

        def link(match: re.Match[str]) -> str:
            found = channels.get(match[1].rstrip("-_"))
            return f"<#{found}|{match[1]}>" if found else match[0]

        return _CHANNEL.sub(link, _NAME.sub(mention, escaped(text)))

    def stop(self, person: str, channel: str, thread_ts: str) -> Interaction:
        """Press Stop in a thread where the agent is working; its streaming messages end.

        The status of the session stays: the app has to change it [ref agent_session_stopped].

        Raises:
            PersonError: there is nothing to stop, or the bot cannot be stopped.
        """
        presser = known_person(self._workspace, person)
        place = seen_channel(self._workspace, presser, channel)
        session = self._workspace.session(place.id, thread_ts)
        if session is None or session.status != "processing":
            raise PersonError("nothing_to_stop", f"{self._workspace.bot.name} is not working there")
        if not self._workspace.hears_stop:
            raise PersonError("nothing_to_stop", f"{self._workspace.bot.name} cannot be stopped: it does not listen")
        # A message counts as streaming only within its five minutes.
        ours = [self._workspace.message(m.channel, m.ts) for m in self._workspace.thread(place.id, thread_ts)]
        streams = [m for m in ours if m is not None and m.streaming]
        for message in streams:
            self._posting.post(replace(message, streaming=False))
        self._workspace.put_session(replace(session, stopped_by=presser.id))
        ended = [message.ts for message in streams]
        event = session_stopped_event(self._workspace, presser, place.id, thread_ts, ended)
        return self._tell(presser.id, event_callback(self._workspace, event))

    def _tell(self, person: str, payload: JsonObject) -> Interaction:
        interaction = self._workspace.begin("event", person)

        def note(ack: Ack) -> None:
            self._workspace.finish(interaction, acked=ack.acked, ms=ack.ms, error=ack.error)

        self._socket.tell(payload, note)
        return interaction

    async def raw(self, payload: JsonObject) -> Ack:
        """Send a payload unchanged and return the bot's answer; an event counts as acknowledged at once."""
        kind = as_text(payload.get("type"))
        person = as_text(as_object(payload.get("user")).get("id"))
        if kind == "event_callback":
            self._tell(as_text(as_object(payload.get("event")).get("user")), payload)
            return Ack(acked=True)
        interaction = self._workspace.begin(_KINDS.get(kind, "block_actions"), person)
        wants_answer = kind in ("view_submission", "block_suggestion")
        ack = await self._socket.interact(payload, wants_answer=wants_answer)
        self._workspace.finish(interaction, acked=ack.acked, ms=ack.ms, error=ack.error)
        return ack
