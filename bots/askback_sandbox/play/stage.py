"""The state of a play: the conversations, the cards so far, and the model's tool calls."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject
from askback_sandbox.model.call_results import DeliveredCall, list_calls

from .api_client import ApiClient
from .expecting import Seen
from .scenario import Scenario
from .scene import Channel, Key, Message, Place, Scene

__all__ = ["Stage", "Wrong"]


class Wrong(Exception):
    """A step did not have the required result."""


class Stage:
    """The memory of one play."""

    def __init__(self, scenario: Scenario, client: ApiClient) -> None:
        self.scenario = scenario
        self.client = client
        self.places: dict[str, Place] = {}
        self.pressed: Key | None = None
        self.since = ""
        self.told = 0
        self._place: Place | None = None
        self._begun = max((_recorded(entry) for entry in client.model_log), default=0)
        self._cards: dict[Key, list[Message]] = {}
        self._notices: dict[str, frozenset[Key]] = {}

    @property
    def cards(self) -> Collection[Key]:
        """The messages that had controls at some time."""
        return self._cards.keys()

    @property
    def here(self) -> Place:
        """The current conversation.

        Raises:
            Wrong: no person has written yet.
        """
        if self._place is None:
            raise Wrong('nobody has written anything yet: begin with a step write = "hello"')
        return self._place

    def go(self, key: str, place: Place, at: str) -> None:
        """Make a conversation the current one; texts of the bot count from `at` on."""
        self.places[key] = self._place = place
        self.since = at

    def look(self, person: str) -> None:
        """Mark a person's present private notices as known, so that they do not count as new."""
        self._notices[person] = frozenset(note.key for note in self.client.scene.notices(person))

    def remember(self, scene: Scene) -> None:
        """Remember every version of every card in these conversations, because late clicks use older ones."""
        for message in scene.live:
            if any(place.holds(message) for place in self.places.values()):
                versions = self._cards.setdefault(message.key, [])
                if all(version.controls != message.controls or version.lines != message.lines for version in versions):
                    versions.append(message)

    def usable(self, scene: Scene, person: str, *, late: bool) -> list[Message]:
        """Return the messages that a person can use, newest first; with `late`, in all remembered versions."""
        here = self.here
        messages = [
            message
            for message in reversed(scene.messages)
            if message.bot and message.only_for in (None, person) and here.holds(message)
        ]
        if late:
            return [version for message in messages for version in reversed(self._cards.get(message.key, []))]
        return [message for message in messages if message.controls]

    def seen(self, scene: Scene, person: str) -> Seen:
        """Return the scene as a person sees it, with the memory of this play."""
        self.remember(scene)
        return Seen(
            scene=scene,
            place=self.here,
            person=person,
            cards=tuple(self._cards),
            pressed=self.pressed,
            since=self.since,
            known_notices=self._notices.get(person, frozenset()),
            heard=self.heard(),
            told=self.told,
        )

    def log(self) -> list[JsonObject]:
        """Return the model's log without other conversations."""
        names: set[JsonValue] = {script.name for script in self.scenario.scripts}
        return [
            entry
            for entry in self.client.model_log
            if _recorded(entry) > self._begun and (entry.get("script") in names or _refused(entry))
        ]

    def heard(self) -> tuple[DeliveredCall, ...]:
        """Return the tool calls of this play, with their results."""
        return list_calls(self.log())

    def person(self, name: str | None) -> str:
        """Return a person's id, given an id or a name; None means the scenario's person, or the first one.

        Raises:
            Wrong: no person has that name.
        """
        people = self.client.scene.people
        wanted = name or self.scenario.by
        for person in people:
            if wanted is None or wanted.casefold() in (known.casefold() for known in person.names):
                return person.id
        known = ", ".join(person.name for person in people)
        raise Wrong(f"nobody is called “{wanted}”; there is: {known}")

    def channel(self, name: str, person: str) -> Channel:
        """Return a channel by id or name; `dm` is the direct message of that person.

        Raises:
            Wrong: no channel has that name.
        """
        channels = self.client.scene.channels
        for channel in channels:
            own = channel.kind == "dm" and channel.person == person
            if (own and name == "dm") or name.removeprefix("#") in (channel.id, channel.name):
                return channel
        known = ", ".join(channel.name for channel in channels if channel.kind == "channel")
        raise Wrong(f"there is no channel “{name}”; there is: dm, {known}")


def _recorded(entry: JsonObject) -> int:
    number = entry.get("recorded")
    return number if isinstance(number, int) else 0


def _refused(entry: JsonObject) -> bool:
    return entry.get("status") not in (200, 0) and not entry.get("fault")
