"""Faults of Discord: refused, slow and lost calls, and lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

from askback_sandbox.discord.faults import DiscordFault
from contract.bots.driver import Card, Clicked, What, until

from .clicks import Clicks

OPERATIONS: dict[What, str] = {
    "post": "create_message",
    "text": "create_message",
    "change": "update_message",
    "field": "create_interaction_response",
    "answer": "create_interaction_response",
    "look": "list_messages",
}
REFUSALS: dict[What, tuple[int, int]] = {
    "post": (403, 50013),
    "change": (404, 10008),
    "field": (404, 10062),
    "answer": (404, 10062),
}
WHY: dict[What, str] = {"post": "I lack one of these permissions there", "change": "", "field": "", "answer": ""}


class Faults(Clicks):
    """Faults between the bot and the platform."""

    def forget_nonces(self) -> None:
        for post in tuple(self.guild.posts.values()):
            self.guild.posts[post.id] = replace(post, nonce=None)

    def drop_undelivered(self) -> None:
        """Discord delivers nothing later."""

    def slow_down(self, what: What, *, seconds: int = 1, times: int = 1) -> None:
        # Without Via, like the proxy in front of Discord; discord.py waits automatically for the other kind.
        self.guild.faults.ratelimit(OPERATIONS[what], retry_after=seconds, via=False, times=times)

    def cut(self, what: What) -> None:
        self.guild.faults.add(DiscordFault(kind="drop", operation=OPERATIONS[what]))

    def delay(self, what: What, *, seconds: float) -> Callable[[], bool]:
        faults = self.guild.faults
        added = faults.add(DiscordFault(kind="delay", operation=OPERATIONS[what], seconds=seconds))
        return lambda: added not in faults.active

    def refuse(self, what: What | Literal["everything"], *, times: int | None = 1) -> str:
        if what == "everything":
            self.guild.faults.fail("*", 401, times=times)
            return "rejects DISCORD_TOKEN"
        self._unanswered = self._unanswered or what in ("answer", "field")
        status, code = REFUSALS[what]
        self.guild.faults.fail(OPERATIONS[what], status, code, times=times)
        return WHY[what]

    def lose_answer(self, what: What, *, times: int | None = 1) -> None:
        self.guild.faults.add(DiscordFault(kind="lost_answer", operation=OPERATIONS[what], times=times))

    def end_faults(self) -> None:
        self.guild.faults.clear()

    async def lose_connection(self, *, politely: bool = False) -> None:
        before = self.connection_count()
        if politely:
            self.gateway.reconnect()
            await until(lambda: self.connection_count() > before, "the bot comes back")
            return
        self.gateway.drop()
        await until(lambda: self.gateway.connections == 0 or self.connection_count() > before, "the socket is gone")

    async def lose_session(self) -> None:
        before = self.connection_count()
        self.gateway.drop(resumable=False)
        await until(lambda: self.connection_count() > before, "another session")

    async def reconnected(self) -> None:
        await until(lambda: self.gateway.connections > 0, "the bot is back", within=30)

    async def fall_silent(self) -> None:
        self.gateway.freeze()

    def signs_of_life(self) -> int:
        return self.gateway.heartbeats

    async def press_into_silence(self, person: str, card: Card, label: str) -> Callable[[], Awaitable[Clicked]]:
        pressed = asyncio.create_task(self.press(person, card, label))

        async def again() -> Clicked:
            return await pressed  # resuming replays it

        return again

    async def press_in_vain(self, person: str, card: Card, label: str) -> str:
        raise NotImplementedError("a click that the bot misses is delivered when it resumes")

    def connection_count(self) -> int:
        return self.gateway.identified + self.gateway.resumed
