"""The local model: it chooses the next turn and fault, and logs requests and answers."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic import JsonValue

from .compaction import Edit, ScriptPosition, block_of, edit_in
from .request import ReceivedRequest, texts, tokens
from .rules import spoken
from .script import Fault, Script, Turn, Usage
from .tools import Object

__all__ = ["Answer", "Exchange", "Model"]

THE_END = "That is all I had planned to say."
_DROPPED = ("refusal", "model_context_window_exceeded")
_KEPT = 5_000


@dataclass(frozen=True)
class Answer:
    """An answer to send: a whole turn, and the fault on the way, if any."""

    message: Object
    fault: Fault | None
    script: str
    turn: int
    beyond: bool = False
    raw: Mapping[str, str] = field(default_factory=dict[str, str])
    """Raw text to stream as a call's input, by call id, if it differs from the input as JSON."""


@dataclass(frozen=True)
class Exchange:
    """One request and its answer, as the log keeps them; API keys are never logged."""

    number: int
    at: str
    path: str
    headers: Mapping[str, str]
    request: JsonValue
    status: int
    answer: JsonValue
    script: str = ""
    turn: int | None = None
    fault: str | None = None
    delivered: bool = True
    beyond: bool = False
    recorded: int = 0

    def json(self) -> Object:
        return {
            "number": self.number,
            "at": self.at,
            "path": self.path,
            "headers": dict(self.headers),
            "request": self.request,
            "status": self.status,
            "answer": self.answer,
            "script": self.script,
            "turn": self.turn,
            "fault": self.fault,
            "delivered": self.delivered,
            "beyond": self.beyond,
            "recorded": self.recorded,
        }


class Model:
    """Answers from its scripts, or else from its persona, and logs every exchange.

    The number of assistant turns in a request's history gives the next turn. A bot that crashed and asks again
    therefore gets the same turn, even from a restarted model.
    """

    def __init__(
        self,
        *scripts: Script,
        persona: Callable[[ReceivedRequest], Turn] | None = None,
        delay: float = 0.0,
        chunk: int = 12,
    ) -> None:
        self.persona = persona
        self.delay = delay
        self.chunk = chunk
        self.bad_keys: set[str] = set()
        self.unknown: set[str] = set()
        """Model names whose description is answered with 404."""
        self.lifecycle = "active"
        self._scripts = list(scripts)
        self._faults: deque[Fault] = deque()
        self._spent: Counter[tuple[str, int]] = Counter()
        self._delivered: Counter[str] = Counter()
        self._paused: set[str] = set()
        self._vanished: dict[tuple[str, int], str] = {}
        self._log: deque[Exchange] = deque(maxlen=_KEPT)
        self._numbers = 0
        self._recorded = 0
        self._readers: set[asyncio.Event] = set()

    @property
    def log(self) -> tuple[Exchange, ...]:
        return tuple(self._log)

    @property
    def paused(self) -> frozenset[str]:
        return frozenset(self._paused)

    def script(self, *turns: Turn, when: str = "", name: str = "") -> None:
        """Add a script for conversations whose first message contains `when`.

        The longest match wins, and the newest of equal ones.
        """
        self.add(Script(turns=turns, when=when, name=name))

    def add(self, script: Script) -> None:
        """Add a script; if its name was used before, its faults occur again."""
        name = script.name or script.when
        self._spent = Counter({place: spent for place, spent in self._spent.items() if place[0] != name})
        self._vanished = {place: seen for place, seen in self._vanished.items() if place[0] != name}
        self._scripts.append(script)

    def fail(self, *faults: Fault) -> None:
        """Queue faults for the next requests of any conversation, in this order."""
        self._faults.extend(faults)

    def reset(self) -> None:
        """Drop the scripts, the faults and the log; the persona stays."""
        self._scripts.clear()
        self._faults.clear()
        self._spent.clear()
        self._delivered.clear()
        self._paused.clear()
        self._vanished.clear()
        self._log.clear()

    def answer(self, asked: ReceivedRequest) -> Answer:
        """Return the next turn for this request."""
        script = self._script_of(asked)
        if script is None:
            said = self.persona(asked) if self.persona is not None else Turn(say=THE_END)
            fault = self._next_fault(said, ("", 0))
            turn = len(asked.turns)
            return Answer(
                self._message(asked, said, ScriptPosition("", turn, False)), fault, "", turn, self.persona is None
            )
        index, name = self._index(script, asked), script.name or script.when
        while index < len(script.turns) and (said := script.turns[index]).empty:
            fault = self._next_fault(said, (name, index))
            if fault is not None:
                return Answer(self._message(asked, said, ScriptPosition(name, index, False)), fault, name, index)
            index += 1
        beyond = index >= len(script.turns)
        said = Turn(say=THE_END) if beyond else script.turns[index]
        fault = self._next_fault(said, (name, index))
        message = self._message(asked, said, ScriptPosition(name, index, False))
        return Answer(message, fault, name, index, beyond, _raw(message, said))

    def heard(self, asked: ReceivedRequest, answer: Answer) -> None:
        """Note that the answer was delivered in full.

        The same request then gets new ids when asked again, as from the real API.
        """
        self._delivered[asked.digest] += 1
        if answer.message["stop_reason"] == "pause_turn":
            self._paused.add(spoken(answer.message["content"]))
        if answer.message["stop_reason"] in _DROPPED:
            self._vanished.setdefault((answer.script, answer.turn), asked.digest)

    def record(self, exchange: Exchange) -> None:
        self._recorded += 1
        self._log.append(replace(exchange, recorded=self._recorded))
        for reader in self._readers:
            reader.set()

    async def since(self, number: int, within: float) -> tuple[Exchange, ...]:
        """Return the exchanges recorded after `number`; if there are none, wait up to `within` seconds for one."""
        reader = asyncio.Event()
        self._readers.add(reader)
        try:
            if not (found := self._after(number)):
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.wait(), within)
                found = self._after(number)
        finally:
            self._readers.discard(reader)
        return found

    def _after(self, number: int) -> tuple[Exchange, ...]:
        # In the order of their ends: a long answer is recorded after a short one that began later.
        return tuple(exchange for exchange in self._log if exchange.recorded > number)

    def number(self) -> tuple[int, str]:
        """Return the number and time of a request that begins."""
        self._numbers += 1
        return self._numbers, datetime.now(UTC).isoformat(timespec="milliseconds")

    def _script_of(self, asked: ReceivedRequest) -> Script | None:
        """Return the script of the compaction mark, or else the one for the first message.

        After a compaction, a client may omit the first message.
        """
        named = asked.mark.script if asked.mark is not None else None
        marked = [script for script in self._scripts if (script.name or script.when) == named]
        return marked[-1] if marked else self._script_for(asked.first_text)

    def _script_for(self, first: str) -> Script | None:
        found = _plain(first)
        candidates = [script for script in reversed(self._scripts) if _plain(script.when) in found]
        return max(candidates, key=lambda script: len(_plain(script.when)), default=None)

    def _index(self, script: Script, asked: ReceivedRequest) -> int:
        """Match the history with the script's turns and return the index of the next turn.

        Bots may drop a refused turn, and a failed turn never arrived.
        """
        mark = asked.mark
        index = 0 if mark is None else mark.turn
        for content in asked.turns if mark is None else asked.turns_since:
            here = index
            while here < len(script.turns) and _may_vanish(script.turns[here]):
                if _is(script.turns[here], content):
                    break
                here += 1
            index = here + 1
        vanished = self._vanished.get((script.name or script.when, index))
        return index if vanished in (None, asked.digest) else index + 1

    def _next_fault(self, said: Turn, place: tuple[str, int]) -> Fault | None:
        if self._faults:
            fault = self._faults[0]
            if fault.times <= 1:
                self._faults.popleft()
            else:
                self._faults[0] = fault.model_copy(update={"times": fault.times - 1})
            return fault
        if said.fault is None or self._spent[place] >= said.fault.times:
            return None
        self._spent[place] += 1
        return said.fault

    def _message(self, asked: ReceivedRequest, said: Turn, mark: ScriptPosition) -> Object:
        again = self._delivered[asked.digest]

        def identifier(prefix: str, number: int) -> str:
            seed = f"{asked.digest} {again} {number}"
            return prefix + "01" + hashlib.sha256(seed.encode()).hexdigest()[:22]

        content: list[JsonValue] = [{"type": "text", "text": said.say}] if said.say else []
        for number, call in enumerate(said.calls):
            content.append(
                {
                    "type": "tool_use",
                    "id": identifier("toolu_", number),
                    "name": asked.tool(call.tool),
                    "input": call.input,
                }
            )
        usage, edit = _usage(asked.tokens, tokens(content), said.usage), edit_in(dict(asked.body))
        stop: str = said.stop_reason
        if (summary := _summary(asked, said, mark, edit)) is not None:
            pause = edit is not None and edit.pause
            content = [block_of(summary, replace(mark, paused=pause)), *([] if pause else content)]
            stop = "compaction" if pause else stop
            usage = _compacted(asked, said, summary, [] if pause else content[1:])
        refusal: Object = {
            "type": "refusal",
            "category": "general_harms",
            "explanation": "This request was declined.",
        }
        return {
            "id": identifier("msg_", -1),
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "stop_details": refusal if said.stop == "refusal" else None,
            "usage": usage,
            **({"context_management": {"applied_edits": []}} if "context_management" in asked.body else {}),
        }


def _raw(message: Object, said: Turn) -> dict[str, str]:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    ids = [str(block["id"]) for block in blocks if isinstance(block, dict) and block["type"] == "tool_use"]
    return {name: call.raw for name, call in zip(ids, said.calls, strict=False) if call.raw is not None}


def _summary(asked: ReceivedRequest, said: Turn, mark: ScriptPosition, edit: Edit | None) -> str | None:
    """Return the summary that compacts this request; None if it is not compacted."""
    before = asked.mark
    if edit is None or (before is not None and before.paused and before.turn == mark.turn and not asked.turns_since):
        return None  # it was compacted just now and continues
    if said.compact is not None:
        return said.compact
    return f"In short, it began with: {asked.first_text[:200]}" if asked.tokens >= edit.trigger else None


def _usage(read: int, written: int, said: Usage | None) -> Object:
    given = said or Usage()
    return {
        "input_tokens": read if given.input_tokens is None else given.input_tokens,
        "cache_creation_input_tokens": given.cache_creation_input_tokens,
        "cache_read_input_tokens": given.cache_read_input_tokens,
        "output_tokens": written if given.output_tokens is None else given.output_tokens,
    }


def _compacted(asked: ReceivedRequest, said: Turn, summary: str, content: Sequence[JsonValue]) -> Object:
    """Return the usage of a compacted answer: only its own iteration counts the compaction's tokens."""
    compaction: Object = {"type": "compaction", **_usage(asked.tokens, tokens(summary), None)}
    if not content:
        return {**_usage(0, 0, None), "iterations": [compaction]}
    smaller = tokens({**asked.body, "messages": [summary]})
    usage = _usage(smaller, tokens(content), said.usage)
    return {**usage, "iterations": [compaction, {"type": "message", **usage}]}


def _plain(text: str) -> str:
    """Reduce a text to its words: bots remove mentions, name the speaker and escape characters."""
    return " ".join(re.findall(r"\w+", re.sub(r"<[@#!][^>]*>", " ", text).casefold()))


def _may_vanish(said: Turn) -> bool:
    return said.empty or said.stop in _DROPPED


def _is(said: Turn, content: JsonValue) -> bool:
    return not said.empty and texts({"content": content}).strip() == said.say.strip()
