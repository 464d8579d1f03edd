"""The transcript in the format of the Messages API.

The API permanently rejects a history once one message in it is wrong. Examples are repeated ids, ids with characters
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
    "replace_call_ids",
    "to_api_blocks",
    "to_api_messages",
]

import re
import secrets
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from askback.agent.display_names import NameFormatter
from askback.agent.messages_api import ModelResponse
from askback.agent.thread_history import ThreadHistory
from askback.domain.conversation import StopRecord, UnshownText
from askback.domain.incoming_message import HistoryMessage, InboxMessage
from askback.domain.turn import Blocks, Message
from askback.text.bodies import indent_body
from askback.text.literal import fit_line

# https://docs.anthropic.com/en/api/messages describes valid ids and names of calls.
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NAME: Final = 64
MAX_PREVIOUS_CHARACTERS: Final = 2_000
"""Maximum number of characters quoted from the earlier version of an edited message."""

UNSHOWN: Final = "People could not see your text "
OMITTED_MESSAGES_TEXT: Final = "Left out: {} from before by people who may not talk with you."


def replace_call_ids(response: ModelResponse, history: tuple[Message, ...]) -> ModelResponse:
    """Return the turn with new ids for calls whose ids occurred before or are invalid.

    The API rejects such ids, and with them the whole conversation from then on.
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
    """Return the model's blocks as the API accepts them back. It rejects inputs that are not objects, and some
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
        return _to_note_block("There are earlier messages in this thread. You cannot read them: " + earlier.problem)
    left_out = (
        OMITTED_MESSAGES_TEXT.format(_format_message_count(earlier.omitted_count)) if earlier.omitted_count else ""
    )
    if not earlier.messages:
        return _to_note_block(left_out) if left_out else None
    lines = "\n".join(line for one in earlier.messages for line in _format_lines(one, namer))
    return _to_note_block(
        f"Earlier messages in this thread, for context, oldest first:\n{lines}\nEnd of the earlier messages."
        f"{left_out and ' '}{left_out}"
    )


def render_stop_note(halt: StopRecord, namer: NameFormatter) -> dict[str, JsonValue]:
    """Return a note that someone stopped a turn, so that the model does not resume that work on its own."""
    by = "Your operator" if halt.by is None else namer.format_name(halt.by)
    return _to_note_block(f"{by} stopped you here. Do not continue earlier requests, unless people ask for them again.")


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


def _format_lines(one: HistoryMessage, namer: NameFormatter) -> Iterator[str]:
    """Yield one line for a person's own words, and one for each message of others that they shared."""
    name = namer.format_name(one.author)
    if one.text or one.files:
        yield f"{name}: {_collapse_whitespace(f'{one.text}{_format_files(one)}')}"
    for quote in one.quotes:
        yield f"{namer.format_name(quote.author)} (shared by {name}): {_collapse_whitespace(quote.text)}"


def _format_files(written: InboxMessage | HistoryMessage) -> str:
    return (
        f" [attachments that you cannot read: {', '.join(map(_collapse_whitespace, written.files))}]"
        if written.files
        else ""
    )


def _format_message_count(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())
