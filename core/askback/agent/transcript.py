"""The transcript in the format of the Messages API.

The API permanently refuses a history once one message in it is wrong. Examples are repeated ids, ids with characters
that it does not allow, inputs that are not objects, and results after texts. So this module corrects messages before
the API gets them.
"""

from __future__ import annotations

__all__ = [
    "merged",
    "rounds_alone",
    "sendable",
    "spoken",
    "spoken_earlier",
    "stopped",
    "with_new_ids",
]

import re
import secrets
from typing import Final

from pydantic import JsonValue

from askback.agent.history import Earlier
from askback.agent.model import ModelTurn
from askback.agent.names import Namer, body
from askback.domain.conversation import Blocks, Halt, HistoryMessage, InboxMessage, Message
from askback.text.literal import fit

# https://docs.anthropic.com/en/api/messages describes valid ids and names of calls.
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NAME: Final = 64
BEFORE: Final = 2_000
"""Most characters of the version of an edited message that the model has read before."""

LEFT_OUT: Final = "Of what was written in this thread before, {} by others who may not talk with you were left out."


def with_new_ids(said: ModelTurn, history: tuple[Message, ...]) -> ModelTurn:
    """Return the turn with new ids for calls whose ids occurred before or are invalid.

    The API refuses such ids, and with them the whole conversation from then on.
    """
    seen = {str(block["id"]) for message in history for block in message.content if block.get("type") == "tool_use"}
    content: list[dict[str, JsonValue]] = []
    for block in said.content:
        if block.get("type") == "tool_use":
            if str(block["id"]) in seen or not _ID.fullmatch(str(block["id"])):
                block = {**block, "id": f"toolu_{secrets.token_hex(12)}"}
            seen.add(str(block["id"]))
        content.append(block)
    return said.evolve(content=tuple(content))


def sendable(content: Blocks) -> Blocks:
    """Return the model's blocks as the API accepts them back. It refuses inputs that are not objects, and some
    names."""
    return tuple(_sendable_call(block) if block.get("type") == "tool_use" else block for block in content)


def _sendable_call(block: dict[str, JsonValue]) -> dict[str, JsonValue]:
    given = block.get("input")
    wrapped: dict[str, JsonValue] = given if isinstance(given, dict) else {"input": given}
    name = _NOT_IN_NAMES.sub("_", str(block.get("name") or ""))[:_NAME] or "unnamed"
    return {**block, "name": name, "input": wrapped}


def merged(history: tuple[Message, ...]) -> tuple[dict[str, JsonValue], ...]:
    """Return the history in the format of the API. Consecutive messages to the model become one, with results first."""
    turns: list[tuple[str, list[dict[str, JsonValue]]]] = []
    for message in history:
        if turns and turns[-1][0] == message.role == "user":
            turns[-1][1].extend(message.content)
        else:
            turns.append((message.role, list(message.content)))
    return tuple({"role": role, "content": list[JsonValue](_results_first(content))} for role, content in turns)


def _results_first(content: list[dict[str, JsonValue]]) -> Blocks:
    return tuple(sorted(content, key=lambda block: block.get("type") != "tool_result"))


def spoken(written: InboxMessage, namer: Namer) -> dict[str, JsonValue]:
    """Return a person's message as a text block, with the author's name."""
    edit = ""
    if written.before is not None:
        edit = f"[edited a message that you have read. Before: “{fit(written.before, BEFORE)}”. Now:] "
    return {"type": "text", "text": f"{namer.name(written.author)}: {edit}{body(written.text)}{_files(written)}"}


def spoken_earlier(earlier: Earlier, namer: Namer) -> dict[str, JsonValue] | None:
    """Return the thread's earlier messages as a text block; None if there are none."""
    if earlier.problem is not None:
        return _note("People wrote in this thread before. You cannot read that: " + earlier.problem)
    left_out = LEFT_OUT.format(_messages(earlier.left_out)) if earlier.left_out else ""
    if not earlier.said:
        return _note(left_out) if left_out else None
    lines = "\n".join(f"{namer.name(one.author)}: {_line(f'{one.text}{_files(one)}')}" for one in earlier.said)
    return _note(
        f"What was written in this thread before, for you to know; oldest first:\n{lines}\nEnd of what was before."
        f"{left_out and ' '}{left_out}"
    )


def stopped(halt: Halt, namer: Namer) -> dict[str, JsonValue]:
    """Return a note that someone stopped a turn, so that the model does not resume that work on its own."""
    by = "Whoever runs you" if halt.by is None else namer.name(halt.by)
    return _note(f"{by} stopped you here. What was asked before is off, unless they ask for it again.")


def rounds_alone(history: tuple[Message, ...]) -> int:
    """Count the model's messages since a person last wrote something."""
    rounds = 0
    for message in reversed(history):
        if message.role == "assistant":
            rounds += 1
        elif any(block.get("type") == "text" for block in message.content):
            return rounds
    return rounds


def _note(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": f"[{text}]"}


def _files(written: InboxMessage | HistoryMessage) -> str:
    return f" [attached, and not readable here: {', '.join(map(_line, written.files))}]" if written.files else ""


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def _line(text: str) -> str:
    return " ".join(text.split())
