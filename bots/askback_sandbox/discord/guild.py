"""The guild: people, roles, channels, threads, messages, modals, and the history. Everything else acts on it."""

import secrets
from collections import deque
from dataclasses import replace

from askback_sandbox.clock import Clock, SystemClock
from askback_sandbox.json_values import JsonObject
from askback_sandbox.revisions import Revisions

from . import limits
from .faults import DiscordFaults
from .values import (
    MEMBER_PERMISSIONS,
    App,
    Call,
    Done,
    DoneKind,
    Member,
    Neighbour,
    OpenModal,
    Permission,
    Place,
    Post,
    Role,
    Typing,
    Window,
)

GUILD = "1100000000000000001"
RELEASE = Role("1100000000000000010", "release")
PEOPLE = (
    Member("1100000000000000201", "ada", "Ada Lovelace", roles=(RELEASE.id,)),
    Member("1100000000000000202", "ben", "Ben Okri"),
    Member("1100000000000000203", "cy", "Cy Twombly"),
)
CHANNELS = (
    Place(id="1100000000000000301", name="general"),
    Place(id="1100000000000000302", name="deploys"),
    Place(id="1100000000000000303", name="private-room", denied=int(MEMBER_PERMISSIONS)),
)
EPOCH = 1_420_070_400_000
WINDOWS = {"create_thread_from_message": Window(limits.THREAD_REQUESTS, limits.THREAD_SECONDS)}
KEPT_DONE = 5_000
KEPT_CALLS = 5_000


class Guild(Revisions):
    """The state of one guild with one bot in it.

    `faults` holds the faults to cause, `log` holds the bot's requests, and `clock` gives the time.
    """

    def __init__(self, *, clock: Clock | None = None, app: App | None = None, name: str = "Local") -> None:
        super().__init__()
        self.clock = clock or SystemClock()
        self.app = app or App()
        self.id = GUILD
        self.name = name
        self.locale = "en-US"
        """The language that its owner has set for everybody."""
        self.faults = DiscordFaults()
        self.windows = dict(WINDOWS)
        """Rate limits by operation, for operations that do not have the default one."""
        self.log: deque[Call] = deque(maxlen=KEPT_CALLS)
        everyone = Role(self.id, "@everyone", int(MEMBER_PERMISSIONS))
        self.roles: dict[str, Role] = {
            role.id: role for role in (everyone, RELEASE, Role(self.app.role, self.app.name, managed=True))
        }
        self.bot = Member(self.app.id, self.app.name, self.app.name, (self.app.role,), bot=True)
        self.people: dict[str, Member] = {}
        self.neighbours: tuple[Neighbour, ...] = ()
        self.places: dict[str, Place] = {place.id: place for place in CHANNELS}
        self.posts: dict[str, Post] = {}
        self.files: dict[str, bytes] = {}
        """The contents of the files in messages, by the attachment's id."""
        self.files_url = "https://cdn.discordapp.com"
        self.files_signature = 1
        """The signature of the addresses of files. A higher one lets all earlier addresses expire."""
        self.uploads: dict[str, JsonObject] = {}
        """The files that people chose in modals, as Discord describes them, by the attachment's id."""
        self.modals: dict[str, OpenModal] = {}
        self._done: dict[str, Done] = {}
        self._tokens: dict[str, str] = {}
        self._typing: dict[tuple[str, str], Typing] = {}
        self._last_id = 0
        for person in PEOPLE:
            self.add_person(person)

    # names

    def next_id(self) -> str:
        """Return a new snowflake: it grows with the time in milliseconds, and is unique."""
        now = (int(self.clock.time() * 1000) - EPOCH) << 22
        self._last_id = max(now, self._last_id + 1)
        return str(self._last_id)

    # people and channels

    def add_person(self, person: Member) -> None:
        """Add a person, with a direct message to the bot."""
        self.people[person.id] = person
        place = Place(id=f"{int(person.id) + 200}", name=person.name, kind="dm", person=person.id)
        self.places[place.id] = place
        self.touch()

    def put_place(self, place: Place) -> None:
        """Create a channel or thread, or change it."""
        self.places[place.id] = place
        self.touch()

    def member(self, user_id: str) -> Member | None:
        """Return a person or the bot by id; None if unknown."""
        return self.bot if user_id == self.bot.id else self.people.get(user_id)

    def person(self, name_or_id: str) -> Member | None:
        """Return a person by id or by name; None if unknown."""
        return self.people.get(name_or_id) or next(
            (person for person in self.people.values() if person.name == name_or_id), None
        )

    def place(self, name_or_id: str) -> Place | None:
        """Return a channel or thread by id, or a channel by name with or without #; None if unknown."""
        return self.places.get(name_or_id) or next(
            (
                place
                for place in self.places.values()
                if place.kind == "channel" and place.name == name_or_id.removeprefix("#")
            ),
            None,
        )

    def dm(self, person_id: str) -> Place | None:
        """Return the direct message of a person with the bot; None if there is none."""
        return next((p for p in self.places.values() if p.kind == "dm" and p.person == person_id), None)

    def can_see(self, person_id: str, place: Place) -> bool:
        """Return True if the person sees the place.

        People are in every channel, and in their own direct message.
        """
        return place.kind != "dm" or place.person == person_id

    def permissions(self, member: Member, place: Place | None = None) -> Permission:
        """Return the permissions of a member, in a place or in the guild."""
        held = Permission(self.roles[self.id].permissions)
        for role_id in member.roles:
            held |= Permission(self.roles[role_id].permissions)
        if place is not None and place.parent is not None:
            parent = self.places.get(place.parent)
            if member.bot and parent is not None:
                held &= ~Permission(parent.denied)
        if place is not None and member.bot:
            held &= ~Permission(place.denied)
        return held

    # messages

    def post(self, channel: str, message_id: str) -> Post | None:
        """Return a message in its current version; None if the channel does not have it."""
        found = self.posts.get(message_id)
        return found if found is not None and found.channel == channel else None

    def put_post(self, post: Post) -> Post:
        """Post a message, or replace it with a newer version."""
        is_new = post.id not in self.posts
        self.posts[post.id] = post
        if is_new:
            self._typing.pop((post.channel, post.author), None)
        self.touch()
        return post

    def remove_post(self, post: Post) -> None:
        """Delete a message."""
        self.posts.pop(post.id, None)
        self.touch()

    def history(self, channel: str) -> list[Post]:
        """Return the messages that everyone sees in a channel, oldest first."""
        # Ids only grow, so the messages are in order.
        return [post for post in self.posts.values() if post.channel == channel and post.ephemeral_to is None]

    # modals

    def open_modal(self, person: str, modal: JsonObject, done: Done) -> None:
        """Open a modal for a person; it replaces another one."""
        self.modals[person] = OpenModal(person=person, modal=modal, channel=done.channel, message=done.message)
        self.touch()

    def close_modal(self, modal: OpenModal) -> None:
        """Close a modal, unless another one has replaced it."""
        if self.modals.get(modal.person) is modal:
            del self.modals[modal.person]
            self.touch()

    # interactions

    def begin(self, kind: DoneKind, person: str, channel: str, message: str | None, custom_id: str) -> Done:
        """Record that something is being sent to the bot, with a token for the answer."""
        done = Done(
            id=self.next_id(),
            token=f"aW50ZXJhY3Rpb246{secrets.token_urlsafe(90)}",
            kind=kind,
            person=person,
            channel=channel,
            message=message,
            issued=self.clock.time(),
            custom_id=custom_id,
        )
        self._done[done.id] = done
        self._tokens[done.token] = done.id
        if len(self._done) > KEPT_DONE:
            oldest = self._done.pop(next(iter(self._done)))
            del self._tokens[oldest.token]
        self.touch()
        return done

    @property
    def done(self) -> list[Done]:
        """The acts of people that were sent to the bot, oldest first."""
        return list(self._done.values())

    def update_done(self, done: Done) -> Done:
        """Replace an interaction with a newer version."""
        if done.id in self._done:
            self._done[done.id] = done
        self.touch()
        return done

    def done_by_id(self, interaction_id: str) -> Done | None:
        """Return an interaction by its id; None if unknown."""
        return self._done.get(interaction_id)

    def done_by_token(self, token: str) -> Done | None:
        """Return an interaction by its token; None if unknown."""
        return self._done.get(self._tokens.get(token, ""))

    def fail(self, done: Done, error: str) -> Done:
        """Record that an interaction failed."""
        newest = self.done_by_id(done.id) or done
        return self.update_done(replace(newest, acked=False, error=error))

    # typing

    def set_typing(self, channel: str, user: str) -> None:
        """Record that a member types, for the next ten seconds or until the next message."""
        self._typing[channel, user] = Typing(channel=channel, user=user, since=self.clock.time())
        self.touch()

    @property
    def typing(self) -> list[Typing]:
        """The members who are typing now, with their channels."""
        now = self.clock.time()
        return [typing for typing in self._typing.values() if now - typing.since < limits.TYPING_SECONDS]
