"""People on Slack besides their clicks: they write, edit, delete, and join groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from askback_sandbox.attached import Attached
from askback_sandbox.json_values import JsonObject, as_object, copied
from askback_sandbox.slack import payloads as slack_payloads
from askback_sandbox.slack.faults import Fault
from askback_sandbox.slack.values import Message, UserGroup
from contract.bots.driver import GENERAL, GROUPS, Card, Talk, until

from .view import View


class People(View):
    """Messages of people, and the groups that they belong to."""

    async def mention(self, person: str, text: str, channel: str = GENERAL) -> Talk:
        message = self.services.people.write(person, channel, f"@askback {text}")
        return Talk(message.channel, message.ts)

    async def thread(self, person: str, text: str) -> Talk:
        message = self.services.people.write(person, GENERAL, text)
        return Talk(message.channel, message.ts)

    async def direct(self, person: str, text: str, *, thread: bool = False) -> Talk:
        who = self._person(person)
        channel = self.workspace.dm(who.id)
        assert channel is not None
        if not thread:
            self.services.people.write(person, channel.id, text)
            return Talk(channel.id, None)
        root = self.workspace.put_message(
            Message(channel=channel.id, ts=self.workspace.next_ts(), user=who.id, text="(earlier)")
        )
        self.services.people.write(person, channel.id, text, root.ts)
        return Talk(channel.id, root.ts)

    async def say(self, person: str, text: str, talk: Talk) -> None:
        self.services.people.write(person, talk.channel, text, talk.thread)

    async def attach(self, person: str, text: str, talk: Talk, *files: str | Attached) -> None:
        attached = tuple(Attached(file) if isinstance(file, str) else file for file in files)
        self.services.people.write(person, talk.channel, text, talk.thread, files=attached)

    def delete_files(self, person: str, talk: Talk) -> None:
        for file in self._own(person, talk)[-1].files:
            self.services.people.delete_file(person, str(file["id"]))

    def refuse_files(self, status: int, location: str = "", *, times: int = 1) -> None:
        self.workspace.faults.add(
            Fault(kind="foreign", method="files-pri", status=status, location=location, times=times)
        )

    def delay_files(self, seconds: float) -> None:
        self.workspace.faults.add(Fault(kind="delay", method="files-pri", seconds=seconds))

    async def share(self, person: str, text: str, author: str, talk: Talk) -> None:
        other = self._person(author)
        shared: JsonObject = {
            "fallback": f"[September 1st] {author}: {text}",
            "author_id": other.id,
            "author_name": author,
            "is_share": True,
            "is_msg_unfurl": True,
            "text": text,
        }
        self._post(talk, user=self._person(person).id, attachments=(shared,))

    async def program(self, text: str, talk: Talk) -> str:
        self._post(talk, user="", program="B0WORKFLOW", username="Deploy Bot", text=text)
        return "B0WORKFLOW"

    def _post(self, talk: Talk, **fields: Any) -> None:
        message = Message(
            channel=talk.channel, ts=self.workspace.next_ts(), thread_ts=talk.thread, **{"text": "", **fields}
        )
        self.services.posting.post(message)

    async def mention_in(self, person: str, text: str, talk: Talk) -> None:
        self.services.people.write(person, talk.channel, f"@askback {text}", talk.thread)

    async def edit(self, person: str, text: str, talk: Talk, *, which: int = -1) -> None:
        ts = self._own(person, talk)[which].ts
        self.services.people.edit(person, talk.channel, ts, self._as_written(talk, ts, text))

    def _as_written(self, talk: Talk, ts: str, text: str) -> str:
        """Return the text of an edit, which keeps the mention of the bot."""
        return f"@askback {text}" if self.workspace.messages[talk.channel, ts].text.startswith("<@") else text

    def _own(self, person: str, talk: Talk) -> list[Message]:
        who = self._person(person).id
        return [message for message in self._messages(talk) if message.user == who]

    async def take_back(self, person: str, talk: Talk) -> None:
        self.services.people.delete(person, talk.channel, self._own(person, talk)[-1].ts)

    async def redeliver_edit(self, which: int = -1) -> None:
        edits = [one for one in self._told if as_object(one.get("event")).get("subtype") == "message_changed"]
        await self.services.people.raw(copied(edits[which]))

    async def unfurl(self, person: str, talk: Talk) -> None:
        self.services.people.unfurl(person, talk.channel, self._own(person, talk)[-1].ts)

    async def other_bot(self, text: str, talk: Talk) -> None:
        ts = self.workspace.next_ts()
        common: JsonObject = {
            "user": "U0OTHERBOT",
            "bot_id": "B0OTHERBOT",
            "app_id": "A0OTHERAPP",
            "bot_profile": {"id": "B0OTHERBOT", "name": "other"},
            "text": f"<@{self.workspace.bot.id}> {text}",
            "ts": ts,
            "event_ts": ts,
            "thread_ts": talk.thread,
            "channel": talk.channel,
            "team": self.workspace.team.id,
        }
        await self._event({"type": "message", "channel_type": "channel", **common})
        await self._event({"type": "app_mention", **common})

    async def joins(self, person: str, talk: Talk) -> None:
        ts = self.workspace.next_ts()
        who = self._person(person).id
        await self._event(
            {
                "type": "message",
                "subtype": "channel_join",
                "user": who,
                "text": f"<@{who}> has joined the channel",
                "ts": ts,
                "event_ts": ts,
                "thread_ts": talk.thread,
                "channel": talk.channel,
                "channel_type": "channel",
            }
        )
        await self._event({"type": "member_joined_channel", "user": who, "channel": talk.channel, "event_ts": ts})

    async def deliver_twice(self, times: int) -> None:
        self.workspace.faults.add(Fault(kind="duplicate_events", method="events_api", times=times))

    async def _event(self, event: JsonObject) -> None:
        """Send an event, and return when it is acked."""
        before = len(self.workspace.interactions)
        await self.services.people.raw(slack_payloads.event_callback(self.workspace, event))
        told = list(self.workspace.interactions)[before]

        def acked() -> bool | None:
            found = next(one for one in self.workspace.interactions if one.id == told.id)
            return found.acked

        assert await until(acked, "an event is acked")

    def speaks(self, person: str, locale: str) -> None:
        who = self._person(person)
        self.workspace.people[who.id] = replace(who, locale=locale)

    def server_speaks(self, locale: str) -> None:
        """Slack knows the language of each author."""

    def join_group(self, person: str) -> None:
        self._put_members({*self._release.users, self._person(person).id})

    def leave_group(self, person: str) -> None:
        self._put_members({*self._release.users} - {self._person(person).id})

    @property
    def _release(self) -> UserGroup:
        return self.workspace.groups[GROUPS[self.platform]]

    def _put_members(self, people: set[str]) -> None:
        self.workspace.put_group(replace(self._release, users=tuple(sorted(people))))

    async def delete(self, card: Card) -> None:
        self.services.people.moderate("cy", card.talk.channel, card.id)

    async def delete_twice(self, card: Card) -> None:
        await self.deliver_twice(1)
        await self.delete(card)

    async def delete_part(self, card: Card, number: int) -> None:
        self.services.people.moderate("cy", card.talk.channel, self.parts(card.talk)[number])

    async def lose(self, card: Card) -> None:
        self.workspace.remove_message(self.workspace.messages[card.talk.channel, card.id])

    async def close_room(self, talk: Talk) -> None:
        self.services.people.archive("cy", talk.channel)
