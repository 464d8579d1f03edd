"""The acts of people at a keyboard in Discord: write, edit, delete, moderate."""

import re
from dataclasses import replace

from askback_sandbox.attached import Attached
from askback_sandbox.json_values import JsonObject
from askback_sandbox.person_error import PersonError

from . import limits
from .guild import Guild
from .objects import attachment_object
from .posting import Posting, mentioned
from .values import Member, Place, Post, PostType

_NAME = re.compile(r"(?<![\w<])@([A-Za-z0-9._-]+)")


def known_person(guild: Guild, name_or_id: str) -> Member:
    """Return a person by id or name.

    Raises:
        PersonError: no person has that id or name.
    """
    person = guild.person(name_or_id)
    if person is None:
        raise PersonError("person_not_found", f"nobody here is called {name_or_id!r}")
    return person


def seen_place(guild: Guild, person: Member, name_or_id: str) -> Place:
    """Return a channel, thread or direct message that the person sees.

    Raises:
        PersonError: it does not exist, or the person does not see it.
    """
    place = guild.place(name_or_id)
    if place is None or not guild.can_see(person.id, place):
        raise PersonError("channel_not_found", f"{person.name} sees no channel {name_or_id!r}")
    return place


def seen_post(guild: Guild, person: Member, place: Place, message_id: str) -> Post:
    """Return a message that the person sees.

    Raises:
        PersonError: it does not exist, or only another person sees it.
    """
    post = guild.post(place.id, message_id)
    if post is None or post.ephemeral_to not in (None, person.id):
        raise PersonError("message_not_found", f"{person.name} sees no message {message_id} there")
    return post


class DiscordPeople:
    """Carries out the acts of people at a keyboard."""

    def __init__(self, guild: Guild, posting: Posting) -> None:
        self._guild = guild
        self._posting = posting

    def write(
        self,
        person: str,
        channel: str,
        content: str,
        reference: str | None = None,
        *,
        files: tuple[Attached, ...] = (),
    ) -> Post:
        """Post as a person; a typed @name becomes a mention, as in Discord's client. With files, the text may be empty.

        Raises:
            PersonError: Discord's client would not allow it.
        """
        writer = known_person(self._guild, person)
        place = seen_place(self._guild, writer, channel)
        if place.locked:
            raise PersonError("thread_locked", f"the thread {place.name!r} is locked")
        post = Post(id=self._guild.next_id(), channel=place.id, author=writer.id, sent=self._guild.clock.time())
        if content.strip() or not files:
            post = self._worded(post, content)
        if files:
            post = replace(post, attachments=tuple(self._attachment(one) for one in files))
        if reference is not None:
            target = seen_post(self._guild, writer, place, reference)
            told = post.mentions if target.author in post.mentions else (*post.mentions, target.author)
            post = replace(post, type=PostType.REPLY, reference=target.id, mentions=told)
        return self._posting.post(post)

    def _attachment(self, file: Attached) -> JsonObject:
        attachment = attachment_object(self._guild, file.name, file.size, file.mimetype)
        if file.content is not None:
            self._guild.files[str(attachment["id"])] = file.content
        return attachment

    def delete_file(self, person: str, channel: str, message_id: str, file_id: str) -> Post:
        """Remove a file from a person's own message."""
        post = self._own(person, channel, message_id)
        left = tuple(one for one in post.attachments if one["id"] != file_id)
        if left == post.attachments:
            raise PersonError("file_not_found", f"the message has no file {file_id}")
        self._guild.files.pop(file_id, None)
        return self._posting.change(replace(post, attachments=left, edited=self._guild.clock.time()))

    def edit(self, person: str, channel: str, message_id: str, content: str) -> Post:
        """Change a person's own message."""
        post = self._worded(self._own(person, channel, message_id), content)
        return self._posting.change(replace(post, edited=self._guild.clock.time()))

    def delete(self, person: str, channel: str, message_id: str) -> None:
        """Delete a person's own message, or dismiss a message that only this person sees."""
        reader = known_person(self._guild, person)
        place = seen_place(self._guild, reader, channel)
        post = seen_post(self._guild, reader, place, message_id)
        if post.ephemeral_to != reader.id and post.author != reader.id:
            raise PersonError("not_own_message", "only one's own messages can be deleted")
        self._posting.remove(post)

    def moderate(self, person: str, channel: str, *messages: str) -> None:
        """Delete any person's messages, as moderators may; several are deleted at once."""
        moderator = known_person(self._guild, person)
        place = seen_place(self._guild, moderator, channel)
        posts = [seen_post(self._guild, moderator, place, message) for message in messages]
        if any(post.ephemeral_to is not None for post in posts):
            raise PersonError("message_not_found", "what one person alone sees, nobody else can delete")
        self._posting.remove(*posts)

    def _own(self, person: str, channel: str, message_id: str) -> Post:
        writer = known_person(self._guild, person)
        place = seen_place(self._guild, writer, channel)
        post = seen_post(self._guild, writer, place, message_id)
        if post.author != writer.id:
            raise PersonError("not_own_message", "only one's own messages can be changed")
        if place.archived:
            raise PersonError("thread_archived", f"the thread {place.name!r} is archived")
        return post

    def _worded(self, post: Post, content: str) -> Post:
        if not content.strip():
            raise PersonError("no_text", "there is nothing to send")
        if len(content) > limits.CONTENT:
            raise PersonError("content_too_long", f"a message takes at most {limits.CONTENT} characters")
        text = self._with_mentions(content.strip())
        users, roles, _ = mentioned(text)
        return replace(
            post,
            content=text,
            mentions=tuple(user for user in users if self._guild.member(user)),
            mention_roles=tuple(role for role in roles if role in self._guild.roles),
        )

    def _with_mentions(self, content: str) -> str:
        names = {person.name: f"<@{person.id}>" for person in self._guild.people.values()}
        names |= {role.name: f"<@&{role.id}>" for role in self._guild.roles.values() if not role.managed}
        names[self._guild.bot.name] = f"<@{self._guild.bot.id}>"

        def mention(match: re.Match[str]) -> str:
            # A full stop or comma after a name belongs to the sentence.
            name = match[1].rstrip(".-_")
            found = names.get(name.lower())
            return f"{found}{match[1][len(name) :]}" if found else match[0]

        return _NAME.sub(mention, content)
