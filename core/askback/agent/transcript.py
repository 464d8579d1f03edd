"""The transcript in the format of the Messages API.

The API permanently refuses a history once one message in it is wrong. Examples are repeated ids, ids with characters
that it does not allow, inputs that are not objects, and results after texts. So this module corrects messages before
the API gets them.
"""

from __future__ import annotations

__all__ = [
    "count_rounds_alone",
    "render_history",
    "render_message",
    "render_stop_note",
    "render_unshown_note",
    "to_api_blocks",
    "to_api_messages",
    "with_new_ids",
]

import re
import secrets
from typing import Final

from pydantic import JsonValue

from askback.agent.messages_api import ModelResponse
from askback.agent.names import NameFormatter, indent_body
from askback.agent.thread_history import ThreadHistory
from askback.domain.conversation import StopRecord, UnshownText
from askback.domain.incoming_message import HistoryMessage, InboxMessage
from askback.domain.turn import Blocks, Message
from askback.text.literal import fit_line

# https://docs.anthropic.com/en/api/messages describes valid ids and names of calls.
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NAME: Final = 64
MAX_PREVIOUS_CHARACTERS: Final = 2_000
"""Most characters of the version of an edited message that the model has read before."""

UNSHOWN: Final = "People could not see your text "
OMITTED_MESSAGES_TEXT: Final = (
    "Of what was written in this thread before, {} by others who may not talk with you were left out."
)


def with_new_ids(response: ModelResponse, history: tuple[Message, ...]) -> ModelResponse:
    """Return the turn with new ids for calls whose ids occurred before or are invalid.

    The API refuses such ids, and with them the whole conversation from then on.
    """
    seen = {str(block["id"]) for message in history for block in message.content if block.get("type") == "tool_use"}
    content: list[dict[str, JsonValue]] = []
    for block in response.content:
        if block.get("type") == "tool_use":
            if str(block["id"]) in seen or not _ID.fullmatch(str(block["id"])):
                block = {**block, "id": f"toolu_{secrets.token_hex(12)}"}
            seen.add(str(block["id"]))
        content.append(block)
    return response.evolve(content=tuple(content))


def to_api_blocks(content: Blocks) -> Blocks:
    """Return the model's blocks as the API accepts them back. It refuses inputs that are not objects, and some
    names."""
    return tuple(_sanitize_call(block) if block.get("type") == "tool_use" else block for block in content)


def _sanitize_call(block: dict[str, JsonValue]) -> dict[str, JsonValue]:
    given = block.get("input")
    wrapped: dict[str, JsonValue] = given if isinstance(given, dict) else {"input": given}
    name = _NOT_IN_NAMES.sub("_", str(block.get("name") or ""))[:_NAME] or "unnamed"
    return {**block, "name": name, "input": wrapped}


def to_api_messages(history: tuple[Message, ...]) -> tuple[dict[str, JsonValue], ...]:
    """Return the history in the format of the API. Consecutive messages to the model become one, with results first."""
    turns: list[tuple[str, list[dict[str, JsonValue]]]] = []
    for message in history:
        if turns and turns[-1][0] == message.role == "user":
            turns[-1][1].extend(message.content)
        else:
            turns.append((message.role, list(message.content)))
    return tuple({"role": role, "content": list[JsonValue](_sort_results_first(content))} for role, content in turns)


def _sort_results_first(content: list[dict[str, JsonValue]]) -> Blocks:
    return tuple(sorted(content, key=lambda block: block.get("type") != "tool_result"))


def render_message(written: InboxMessage, namer: NameFormatter) -> dict[str, JsonValue]:
    """Return a person's message as a text block, with the author's name."""
    edit = ""
    if written.before is not None:
        before = fit_line(written.before, MAX_PREVIOUS_CHARACTERS)
        edit = f"[edited a message that you have read. Before: “{before}”. Now:] "
    return {
        "type": "text",
        "text": f"{namer.format_name(written.author)}: {edit}{indent_body(written.text)}{_format_files(written)}",
    }


def render_history(earlier: ThreadHistory, namer: NameFormatter) -> dict[str, JsonValue] | None:
    """Return the thread's earlier messages as a text block; None if there are none."""
    if earlier.problem is not None:
        return _to_note_block("People wrote in this thread before. You cannot read that: " + earlier.problem)
    left_out = (
        OMITTED_MESSAGES_TEXT.format(_format_message_count(earlier.omitted_count)) if earlier.omitted_count else ""
    )
    if not earlier.messages:
        return _to_note_block(left_out) if left_out else None
    lines = "\n".join(
        f"{namer.format_name(one.author)}: {_collapse_whitespace(f'{one.text}{_format_files(one)}')}"
        for one in earlier.messages
    )
    return _to_note_block(
        f"What was written in this thread before, for you to know; oldest first:\n{lines}\nEnd of what was before."
        f"{left_out and ' '}{left_out}"
    )


def render_stop_note(halt: StopRecord, namer: NameFormatter) -> dict[str, JsonValue]:
    """Return a note that someone stopped a turn, so that the model does not resume that work on its own."""
    by = "Whoever runs you" if halt.by is None else namer.format_name(halt.by)
    return _to_note_block(f"{by} stopped you here. What was asked before is off, unless they ask for it again.")


def render_unshown_note(unshown: UnshownText) -> dict[str, JsonValue]:
    """Return a note that people could not see a text of the model."""
    return _to_note_block(f"{UNSHOWN}“{unshown.beginning}”, or could not see all of it: {unshown.reason}")


def count_rounds_alone(history: tuple[Message, ...]) -> int:
    """Count the model's messages since a person last wrote something."""
    rounds = 0
    for message in reversed(history):
        if message.role == "assistant":
            rounds += 1
        elif any(_is_from_person(block) for block in message.content):
            return rounds
    return rounds


def _is_from_person(block: dict[str, JsonValue]) -> bool:
    """Return True for a person's words. A note about an unshown text can come with the results of calls alone."""
    return block.get("type") == "text" and not str(block.get("text")).startswith(f"[{UNSHOWN}")


def _to_note_block(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": f"[{text}]"}


def _format_files(written: InboxMessage | HistoryMessage) -> str:
    return (
        f" [attached, and not readable here: {', '.join(map(_collapse_whitespace, written.files))}]"
        if written.files
        else ""
    )


def _format_message_count(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())
