"""The workspace: people, channels, messages, modals, and the history. Everything else here acts on it."""

import secrets
from collections import deque
from dataclasses import replace

from askback_sandbox.clock import Clock, SystemClock
from askback_sandbox.json_values import JsonObject
from askback_sandbox.revisions import Revisions

from . import limits
from .element_state import ElementStates
from .faults import Faults
from .pickers import offered_ids
from .values import (
    ApiCall,
    Bot,
    Channel,
    Interaction,
    InteractionKind,
    Message,
    OpenView,
    Person,
    ResponseUrl,
    Session,
    Status,
    Team,
    Trigger,
    UserGroup,
)

PEOPLE = (
    Person("U0LOCALADA", "ada", "Ada Lovelace"),
    Person("U0LOCALBEN", "ben", "Ben Okri"),
    Person("U0LOCALCY", "cy", "Cy Twombly"),
)
CHANNELS = (
    Channel(id="C0GENERAL", name="general"),
    Channel(id="C0DEPLOYS", name="deploys"),
    Channel(id="C0PRIVATE", name="private-room", private=True, bot_in=False),
)
GROUPS = (UserGroup(id="S0LOCALREL", handle="release", name="Release", users=("U0LOCALADA",)),)
KEPT_INTERACTIONS = 500
KEPT_CALLS = 5_000
KEPT_SECONDS = 2 * limits.RESPONSE_URL_SECONDS


class Workspace(Revisions):
    """The state of one Slack workspace with one bot in it.

    `faults` holds the faults to cause, `log` holds the bot's API calls, and `clock` gives the time.
    """

    def __init__(self, *, clock: Clock | None = None, team: Team | None = None, bot: Bot | None = None) -> None:
        super().__init__()
        self.clock = clock or SystemClock()
        self.team = team or Team()
        self.bot = bot or Bot()
        self.faults = Faults()
        self.log: deque[ApiCall] = deque(maxlen=KEPT_CALLS)
        self.element_states = ElementStates()
        self.people: dict[str, Person] = {}
        self.channels: dict[str, Channel] = {channel.id: channel for channel in CHANNELS}
        self.groups: dict[str, UserGroup] = {group.id: group for group in GROUPS}
        self.messages: dict[tuple[str, str], Message] = {}
        self.views: list[OpenView] = []
        self.interactions: deque[Interaction] = deque(maxlen=KEPT_INTERACTIONS)
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.files: dict[str, JsonObject] = {}
        """The files of messages as Slack describes them, by id, unless they were deleted."""
        self.contents: dict[str, bytes] = {}
        """The contents of those that have any."""
        self.files_url = "https://files.slack.com"
        self.largest_page = limits.LARGEST_PAGE  # even if the bot asks for more entries: Slack may send fewer
        self.hears_stop = True  # True if the app subscribes to agent_session_stopped
        self._statuses: dict[tuple[str, str], Status] = {}
        self._sessions: dict[tuple[str, str], Session] = {}
        self._last_ts = 0
        self._last_number = 0
        for person in PEOPLE:
            self.add_person(person)

    # names

    def next_ts(self) -> str:
        """Return a new message id: as in Slack, it is the time in microseconds and unique."""
        now = int(self.clock.time() * 1_000_000)
        self._last_ts = max(now, self._last_ts + 100)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def next_id(self, prefix: str) -> str:
        """Return a new id in Slack's format."""
        self._last_number += 1
        return f"{prefix}0LOCAL{self._last_number:05d}"

    # people and channels

    def add_person(self, person: Person) -> None:
        """Add a person, with a direct message to the bot."""
        self.people[person.id] = person
        channel = Channel(id=f"D{person.id[1:]}", name=person.name, kind="dm", person=person.id)
        self.channels[channel.id] = channel
        self.touch()

    def put_channel(self, channel: Channel) -> None:
        """Create a channel, or change it (archive it, let the bot in or out)."""
        self.channels[channel.id] = channel
        self.touch()

    def put_group(self, group: UserGroup) -> None:
        """Create a user group, or change it (its people, or its `enabled`)."""
        self.groups[group.id] = group
        self.touch()

    def person(self, name_or_id: str) -> Person | None:
        """Return a person by id or by name; None if unknown."""
        return self.people.get(name_or_id) or next(
            (person for person in self.people.values() if person.name == name_or_id), None
        )

    def channel(self, name_or_id: str) -> Channel | None:
        """Return a channel by id, or by name with or without #; None if unknown."""
        return self.channels.get(name_or_id) or next(
            (
                channel
                for channel in self.channels.values()
                if channel.kind == "channel" and channel.name == name_or_id.removeprefix("#")
            ),
            None,
        )

    def dm(self, person_id: str) -> Channel | None:
        """Return the direct message of a person with the bot; None if there is none."""
        return next((c for c in self.channels.values() if c.kind == "dm" and c.person == person_id), None)

    def can_see(self, person_id: str, channel: Channel) -> bool:
        """Return True if the person is in the channel.

        People are in every channel, and in their own direct message.
        """
        return channel.kind == "channel" or channel.person == person_id

    def offered_ids(self, person_id: str, element: JsonObject) -> list[str]:
        """Return the people or channels that a picker offers to a person; none for other elements."""
        people = [self.bot.id, *(one.id for one in self.people.values() if not one.deleted)]
        return offered_ids(element, people, [one for one in self.channels.values() if self.can_see(person_id, one)])

    # messages

    def message(self, channel: str, ts: str) -> Message | None:
        """Return a message in its current version; None if unknown. An expired stream is not streaming any more."""
        found = self.messages.get((channel, ts))
        if found is None or not found.streaming:
            return found
        if self.clock.time() - found.stream_started >= limits.STREAM_SECONDS:
            found = replace(found, streaming=False)
            self.messages[channel, ts] = found
        return found

    def put_message(self, message: Message) -> Message:
        """Post a message, or replace it with a newer version."""
        is_new = (message.channel, message.ts) not in self.messages
        self.messages[message.channel, message.ts] = message
        self.element_states.keep_blocks(scope_of(message), message)
        if is_new and message.bot and message.thread_ts:
            # A reply hides the status [ref assistant.threads.setStatus].
            self._statuses.pop((message.channel, message.thread_ts), None)
        self.touch()
        return message

    def remove_message(self, message: Message) -> None:
        """Delete a message."""
        self.messages.pop((message.channel, message.ts), None)
        self.element_states.drop(scope_of(message))
        self.touch()

    def thread(self, channel: str, root: str) -> list[Message]:
        """Return a thread, root first, without the messages that only one person sees."""
        found = [m for m in self.messages.values() if m.channel == channel and m.root == root]
        return sorted((m for m in found if m.ephemeral_to is None), key=lambda m: m.ts)

    # views

    def stack(self, person_id: str) -> list[OpenView]:
        """Return the modals that a person has open, the topmost last."""
        return [view for view in self.views if view.person == person_id]

    def view(self, view_id: str) -> OpenView | None:
        """Return an open modal by its id or its external id; None if there is none."""
        return next((v for v in self.views if view_id and view_id in (v.id, v.view.get("external_id"))), None)

    def put_view(self, view: OpenView) -> OpenView:
        """Open a modal, or replace it with a newer version."""
        known = [index for index, other in enumerate(self.views) if other.id == view.id]
        if known:
            self.views[known[0]] = view
        else:
            self.views.append(view)
        self.touch()
        return view

    def close_views(self, views: list[OpenView]) -> None:
        """Close modals and drop the values that people entered."""
        gone = {view.id for view in views}
        self.views = [view for view in self.views if view.id not in gone]
        for view_id in gone:
            self.element_states.drop(view_id)
        self.touch()

    # interactions

    def begin(self, kind: InteractionKind, person: str) -> Interaction:
        """Record that something is being sent to the bot."""
        interaction = Interaction(id=self.next_id("I"), kind=kind, person=person)
        self.interactions.append(interaction)
        self.touch()
        return interaction

    def finish(self, interaction: Interaction, *, acked: bool, ms: float | None, error: str | None) -> Interaction:
        """Record the result of an interaction."""
        done = replace(interaction, acked=acked, ack_ms=ms, error=error)
        for index, other in enumerate(self.interactions):
            if other.id == interaction.id:
                self.interactions[index] = done
        self.touch()
        return done

    def issue_trigger(self, person: str, *, view_id: str | None = None) -> Trigger:
        """Issue the right to open one modal within the next three seconds."""
        self._forget_old(self.triggers)
        number = secrets.randbelow(10**12)
        trigger = Trigger(
            id=f"{number}.{secrets.randbelow(10**12)}.{secrets.token_hex(16)}",
            person=person,
            issued=self.clock.time(),
            view_id=view_id,
        )
        self.triggers[trigger.id] = trigger
        return trigger

    def issue_response_url(self, message: Message, person: str) -> ResponseUrl:
        """Issue the right to answer an interaction with messages."""
        self._forget_old(self.response_urls)
        url = ResponseUrl(
            token=secrets.token_urlsafe(18),
            channel=message.channel,
            ts=message.ts,
            person=person,
            issued=self.clock.time(),
        )
        self.response_urls[url.token] = url
        return url

    def _forget_old(self, grants: dict[str, Trigger] | dict[str, ResponseUrl]) -> None:
        """Drop grants that expired long ago; the oldest come first."""
        now = self.clock.time()
        while grants:
            key, grant = next(iter(grants.items()))
            if now - grant.issued < KEPT_SECONDS:
                return
            del grants[key]

    # status

    def set_status(self, channel: str, thread_ts: str, text: str, loading: tuple[str, ...] = ()) -> None:
        """Show the bot's status text; an empty text hides it."""
        self._statuses.pop((channel, thread_ts), None)
        if text:
            self._statuses[channel, thread_ts] = Status(
                channel=channel, thread_ts=thread_ts, text=text, since=self.clock.time(), loading=loading
            )
        self.touch()

    @property
    def statuses(self) -> list[Status]:
        """The bot's status texts that have not expired."""
        now = self.clock.time()
        return [s for s in self._statuses.values() if now - s.since < limits.STATUS_SECONDS]

    def session(self, channel: str, thread_ts: str) -> Session | None:
        """Return the agent's session in a thread; None if it has none."""
        return self._sessions.get((channel, thread_ts))

    def put_session(self, session: Session) -> Session:
        """Create or change a session; unless it is processing, the status text is hidden."""
        self._sessions[session.channel, session.thread_ts] = session
        if session.status != "processing":
            self._statuses.pop((session.channel, session.thread_ts), None)
        self.touch()
        return session

    @property
    def sessions(self) -> list[Session]:
        """The sessions of all threads."""
        return list(self._sessions.values())


def scope_of(message: Message) -> str:
    """Return the key under which a message's element values are kept."""
    return f"{message.channel}/{message.ts}"
