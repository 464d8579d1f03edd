"""A conversation in the store, without its other parts."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

from askback.domain.actions import Action, Choose
from askback.domain.ask import Ask, create_ask_id
from askback.domain.ask_policy import Policy
from askback.domain.conversation import Conversation
from askback.domain.decision import decide
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import HistoryMessage, IncomingMessage
from askback.domain.interview import start_interview
from askback.domain.open_ask_limits import Limits
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Call, Message, ToolCall, Turn, TurnEnd, TurnInput
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.store.store import Store
from askback.store.turn_transactions import TokenReservation
from support.cases import form, question

HERE = Place(platform="board", tenant="T1", channel="C1", thread="1")
ANN = Actor(platform="board", tenant="T1", id="U1", name="Ann")
BEN = Actor(platform="board", tenant="T1", id="U2", name="Ben")
LIMITS = Limits(seconds_between_asks=0)


def say(target: str, **more: Any) -> OutgoingMessage:
    return OutgoingMessage(target=target, text=f"Text of {target}.", markdown=False, **more)


class Thread:
    """A conversation in the store: people write, and the model replies by a script."""

    def __init__(self, store: Store, started: Conversation) -> None:
        self.store = store
        self.id = started.id
        self.composed: list[TurnInput] = []
        """The news from which each message to the model was composed."""
        self._written = 1

    @classmethod
    async def begin(cls, store: Store, text: str = "hello", *, midway: bool = False) -> Thread:
        received = await store.receive(heard(text, "1").evolve(midway=midway), begin=True)
        assert received is not None
        return cls(store, received.conversation)

    async def hears(self, text: str, by: Actor = ANN) -> str:
        """Receive a message; return its name."""
        self._written += 1
        assert await self.store.receive(heard(text, str(self._written), by), begin=False) is not None
        return str(self._written)

    async def turn(
        self,
        notice: OutgoingMessage | None = None,
        *earlier: HistoryMessage,
        reservation: TokenReservation | None = None,
    ) -> Turn | None:
        def compose(news: TurnInput) -> Message:
            self.composed.append(news)
            results: list[dict[str, JsonValue]] = [build_result(call) for call, _ in news.calls]
            content = (*results, *(build_text(one.text) for one in news.written))
            return Message(seq=0, role="user", content=content, authors=tuple(one.author for one in news.written))

        return await self.store.begin_turn(self.id, compose, notice, earlier=earlier, reservation=reservation)

    async def begun(self, reservation: TokenReservation | None = None) -> Turn:
        turn = await self.turn(reservation=reservation)
        assert turn is not None
        return turn

    async def ends(self, turn: Turn, said: str = "Said.", *calls: ToolCall, **more: Any) -> tuple[Ask, ...] | None:
        made: list[dict[str, JsonValue]] = [{"type": "tool_use", "id": call.tool_use_id} for call in calls]
        end = TurnEnd(
            conversation_id=self.id,
            after=turn.history[-1].seq,
            content=(build_text(said), *made) if said else tuple(made),
            calls=calls,
            stops=turn.conversation.stops,
        )
        return await self.store.end_turn(end.evolve(**more), LIMITS)

    def asks(self, name: str = "colour") -> ToolCall:
        now = utc_now()
        ask = Ask(
            id=create_ask_id(),
            place=HERE,
            policy=Policy(who=Who(anyone=True)),
            interview=start_interview(form(question(name, "Green", "Blue"))),
            created_at=now,
            post_after=now,
            conversation_id=self.id,
        )
        return ToolCall(tool_use_id=name, tool="AskUserQuestion", input={"about": name}, ask=ask)

    async def answers(self, call: ToolCall) -> None:
        assert call.ask is not None
        action = Action(ask_id=call.ask.id, actor=BEN, at=utc_now(), step=0, operation=Choose(index=0))
        acted = await self.store.decide(call.ask.id, lambda ask: decide(ask, action, is_admitted=lambda by, at: False))
        assert acted.settled

    async def is_runnable(self) -> bool:
        return self.id in await self.store.list_runnable(utc_now())

    async def text_messages(self) -> tuple[MessageRef, ...]:
        conversation = await self.store.find_conversation(HERE)
        assert conversation is not None
        return conversation.text_messages

    async def due(self) -> list[str]:
        """Return the names of the deliveries that are due and not leased."""
        return [item.target for item in await self.store.lease(10)]


def heard(text: str, key: str, by: Actor = ANN) -> IncomingMessage:
    return IncomingMessage(place=HERE, author=by, text=text, dedupe_key=key, at=utc_now())


def build_text(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": text}


def build_result(call: Call) -> dict[str, JsonValue]:
    return {"type": "tool_result", "tool_use_id": call.tool_use_id}
