"""Faults of Slack: refused, slow and lost calls, and lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from askback_sandbox.json_values import copied
from askback_sandbox.slack.faults import Fault
from contract.bots.driver import Card, Clicked, What, until

from .clicks import Clicks

METHODS: dict[What, str] = {
    "post": "chat.postMessage",
    "text": "chat.startStream",
    "change": "chat.update",
    "field": "views.open",
    "answer": "response_url",
    "look": "conversations.replies",
}
REFUSALS: dict[What, str] = {
    "post": "not_in_channel",
    "change": "message_not_found",
    "field": "expired_trigger_id",
    "answer": "used_url",
}


class Faults(Clicks):
    """Faults between the bot and the platform."""

    def forget_nonces(self) -> None:
        """Slack knows none."""

    def drop_undelivered(self) -> None:
        self._delivery._event_retries = ()

    def slow_down(self, what: What, *, seconds: int = 1, times: int = 1) -> None:
        self.workspace.faults.ratelimit(METHODS[what], retry_after=seconds, times=times)

    def cut(self, what: What) -> None:
        self.workspace.faults.add(Fault(kind="drop", method=METHODS[what]))

    def delay(self, what: What, *, seconds: float) -> Callable[[], bool]:
        faults = self.workspace.faults
        added = faults.add(Fault(kind="delay", method=METHODS[what], seconds=seconds))
        return lambda: added not in faults.active

    def refuse(self, what: What | Literal["everything"], *, times: int | None = 1) -> str:
        if what == "everything":
            self.workspace.faults.fail("*", "token_revoked", times=times)
            return "revoked"
        if what == "answer":
            fault = Fault(kind="error", method="response_url", error="used_url", status=404, times=times)
            self.workspace.faults.add(fault)
            return ""
        self.workspace.faults.fail(METHODS[what], REFUSALS[what], times=times)
        return "not in that channel" if what == "post" else ""

    def lose_answer(self, what: What, *, times: int | None = 1) -> None:
        self.workspace.faults.add(Fault(kind="lost_answer", method=METHODS[what], times=times))

    def end_faults(self) -> None:
        self.workspace.faults.clear()

    async def lose_connection(self, *, politely: bool = False) -> None:
        before = self.connection_count()
        if politely:
            await self.services.socket.disconnect("refresh_requested")
            await until(lambda: self.connection_count() > before, "the bot asks for another socket")
            return
        self.services.socket.drop()
        await until(lambda: self.services.socket.connections == 0, "the socket is gone")

    async def lose_session(self) -> None:
        await self.lose_connection()

    async def reconnected(self) -> None:
        await until(lambda: self.services.socket.connections > 0, "the bot is back", within=30)

    async def fall_silent(self) -> None:
        self.services.socket.freeze()

    def signs_of_life(self) -> int:
        return self.services.socket.pings

    async def press_into_silence(self, person: str, card: Card, label: str) -> Callable[[], Awaitable[Clicked]]:
        self._last = self._payload(person, card, card.control(label), [])
        unheard = asyncio.create_task(self.services.people.raw(copied(self._last)))

        async def again() -> Clicked:
            unheard.cancel()  # Slack would show its error after three seconds
            (clicked,) = await self.replay()
            return clicked

        return again

    async def press_in_vain(self, person: str, card: Card, label: str) -> str:
        target = self._target(person, card, card.control(label).handle)
        interaction = await self.services.clicks.act(target, [], as_seen=card.handle)
        assert interaction is not None
        assert interaction.acked is False
        return str(interaction.error)

    def connection_count(self) -> int:
        return self.services.socket.ticket_count
