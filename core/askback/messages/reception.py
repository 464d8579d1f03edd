"""Takes what people write: who may talk, what is an order to the bot itself, and what goes to the agent."""

from __future__ import annotations

__all__ = ["Reception"]

import asyncio
import logging
import time
from collections.abc import Mapping

from askback import telemetry
from askback.agent.loop import Agent
from askback.asks import Ask
from askback.clock import utc_now
from askback.conversations import Conversation, Heard, Received, Say, Taken
from askback.identity import Actor, Place
from askback.manager import QuestionManager
from askback.messages.access import Access
from askback.messages.commands import command_of
from askback.messages.replies import Replies
from askback.messages.typed import TypedReplies
from askback.platform import Gone, Platform, TryLater, Undeliverable
from askback.recent import Recent
from askback.store.store import Store
from askback.text.literal import fit

log = logging.getLogger("askback.reception")

LINK_SECONDS = 1.0
"""How long the address of a question is waited for: the platform waits for the ack of what was written."""
REFUSED_AGAIN_SECONDS = 3600.0
"""Whoever may not talk is told so once in this time."""
REMEMBERED = 5000

NAMED = 10
"""People, or files, that are named in a sentence: more are counted."""
LONGEST_FILE = 80
"""Characters of a file's name in a sentence: it has to fit into a message, whoever chose it."""

NOTHING_TO_STOP = "There is nothing to stop here."
NEW = "This is a new conversation: I have set aside what was said before."
FILES = "I cannot read files, so I do not know what is in {names}. If it matters, please paste the text here."


class Reception:
    """The door for messages of people. What it returns is committed."""

    def __init__(
        self,
        store: Store,
        manager: QuestionManager,
        agent: Agent,
        platforms: Mapping[str, Platform],
        access: Mapping[str, Access] | None = None,
        typed: TypedReplies = "offer",
    ) -> None:
        """`access`: the rules by platform; without any for a platform, whoever the bot hears may talk."""
        self.replies = Replies(store, manager, typed)
        self._store = store
        self._manager = manager
        self._agent = agent
        self._platforms = platforms
        self._access: Mapping[str, Access] = access if access is not None else {}
        self._refused: Recent[tuple[str, str], float] = Recent(REMEMBERED)

    async def hear(self, heard: Heard, *, begin: bool) -> Taken:
        """Take a message from a person. When this returns, it is stored. `begin`: start a conversation if need be."""
        refusal = self._refusal(heard)
        if refusal is not None:
            return Taken(new=False, notice=self._once(heard.author, refusal) if begin else None)
        hearing = telemetry.Hearing(heard.place.platform)
        if hearing.trace is not None:
            heard = heard.evolve(trace=hearing.trace)
        command = command_of(heard.text) if not heard.files else None
        if command is not None and await self.replies.names_option(heard):
            command = None
        if command == "stop":
            return await self._stop_by_word(heard, begin=begin)
        if command == "new":
            return await self._start_over(heard, hearing, begin=begin)
        received = await self.replies.receive(heard, begin=begin)
        if received is None or received.duplicate:
            return Taken(new=False)
        if heard.files:
            await self._tell_files(received.conversation, heard)
        if received.waiting_for and not received.told:
            await self._tell_waiting(received, heard)
        hearing.end(received.conversation.trace)
        self._manager.nudge()
        return Taken(new=True)

    async def _start_over(self, heard: Heard, hearing: telemetry.Hearing, *, begin: bool) -> Taken:
        """Another conversation in the place of the present one. That ends what goes on, so it takes the same right."""
        before = await self._store.conversation(heard.place)
        if before is not None and not self._may_stop(before, heard.author):
            return Taken(new=False, notice=_not_yours(before, "begin anew here"))
        received = await self._store.start_over(heard, NEW, begin=begin)
        if received is None or received.duplicate:
            return Taken(new=False)
        hearing.end(received.conversation.trace)
        self._manager.settled(received.asks)
        if received.ended is not None:
            self._agent.rests(received.ended)
        return Taken(new=True)

    async def stop(self, place: Place, by: Actor, *, key: str) -> str | None:
        """End what goes on in a place: the turn, its tools and its questions. Returns why not, for this person.

        `key`: the platform's own name for this stop, which may be delivered again, also to another process.
        """
        conversation = await self._store.conversation(place)
        if conversation is None:
            return NOTHING_TO_STOP
        heard = Heard(place=conversation.place, author=by, text="stop", dedupe_key=f"stop:{key}", at=utc_now())
        return await self._stop(conversation, by, heard)

    async def _stop(self, conversation: Conversation, by: Actor, heard: Heard) -> str | None:
        if not self._may_stop(conversation, by):
            return _not_yours(conversation, "stop it")
        stopped = await self._store.stop(conversation.id, by, heard=heard)
        if stopped is None:
            return NOTHING_TO_STOP
        if stopped.duplicate:
            return None  # what goes on now began after it
        self._manager.settled(stopped.asks)
        self._agent.rests(conversation)
        return None

    async def _stop_by_word(self, heard: Heard, *, begin: bool) -> Taken:
        conversation = await self._store.conversation(heard.place)
        if conversation is None:
            return Taken(new=False, notice=NOTHING_TO_STOP if begin else None)
        return Taken(new=False, notice=await self._stop(conversation, heard.author, heard))

    def _may_stop(self, conversation: Conversation, by: Actor) -> bool:
        access = self._access.get(by.platform)
        return conversation.starter.is_same_person(by) or (access is not None and access.is_admin(by))

    def _refusal(self, heard: Heard) -> str | None:
        access = self._access.get(heard.place.platform)
        return None if access is None else access.refusal(heard.author, heard.place, direct=heard.direct)

    def _once(self, author: Actor, refusal: str) -> str | None:
        """The refusal, unless this person was told lately."""
        now, key = time.monotonic(), (author.platform, author.id)
        if key in self._refused and now - self._refused[key] < REFUSED_AGAIN_SECONDS:
            return None
        self._refused[key] = now
        log.info(
            "Somebody who may not talk to the bot was told so.",
            extra={"action": "stranger_refused", "platform": author.platform},
        )
        return refusal

    async def _tell_files(self, conversation: Conversation, heard: Heard) -> None:
        names = ", ".join(fit(name, LONGEST_FILE) for name in heard.files[:NAMED])
        more = f" and {len(heard.files) - NAMED} more" if len(heard.files) > NAMED else ""
        say = Say(target=f"files:{heard.dedupe_key}", text=FILES.format(names=names + more), markdown=False)
        await self._store.queue(say, conversation.id)

    async def _tell_waiting(self, received: Received, heard: Heard) -> None:
        """Say once what the conversation waits for: what people write meanwhile is kept for later."""
        ask = received.waiting_for[0]
        people = ask.policy.who.people
        whose = "your" if any(one.is_same_person(heard.author) for one in people) else _whose(people)
        more = len(received.waiting_for) - 1
        count = f" (and {more} more)" if more else ""
        text = f"I have noted that. I am waiting for {whose} answer to the question above{count} and go on after it."
        say = Say(target=f"wait:{ask.id}", text=text, markdown=False, link=await self._link(ask))
        await self._store.tell_waiting(received.conversation.id, say)

    async def _link(self, ask: Ask) -> str | None:
        platform = self._platforms.get(ask.place.platform)
        if platform is None or not ask.messages:
            return None
        try:
            async with asyncio.timeout(LINK_SECONDS):
                return await platform.link(ask.messages[0])
        except (Undeliverable, Gone, TryLater, TimeoutError) as error:
            why = str(error) or "the platform does not answer."
            log.warning("The link to a question is not to be had: %s", why, extra={"action": "no_link"})
            return None


def _not_yours(conversation: Conversation, what: str) -> str:
    return f"Only {conversation.starter.called}, who began this, or an administrator may {what}."


def _whose(people: tuple[Actor, ...]) -> str:
    if len(people) > NAMED:
        return f"{len(people)} people's"
    names = " or ".join(one.called for one in people)
    return f"{names}'s" if names else "an"
