"""Composes the next message to the model: the results of its tool calls, and people's messages."""

from __future__ import annotations

__all__ = ["build_omission_notice", "compose_message"]

from pydantic import JsonValue

from askback.agent.display_names import NameFormatter
from askback.agent.file_blocks import render_file
from askback.agent.thread_history import ThreadHistory
from askback.agent.tool_calls import ToolCallHandler
from askback.agent.transcript import (
    render_earlier_answers,
    render_history,
    render_message,
    render_stop_note,
    render_unshown_note,
)
from askback.domain.identity import deduplicate_accounts
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Message, TurnInput
from askback.translations.catalogue import ngettext


def compose_message(calls: ToolCallHandler, earlier: ThreadHistory, news: TurnInput) -> Message:
    """Compose the next message to the model: exactly one result for each call, then people's messages."""
    earlier = earlier.evolve(messages=news.history)
    halt = news.halt if news.written else None
    authors = deduplicate_accounts(
        (
            *news.answering,
            *(() if halt is None or halt.by is None else (halt.by,)),
            *(author for one in earlier.messages if not one.ours for author in one.authors),
            *(one.author for one in news.written),
        )
    )
    read = (author for one in earlier.messages for author in one.authors)
    namer = NameFormatter((*authors, *read), news.known)
    content: list[dict[str, JsonValue]] = [calls.to_result_block(call, ask, namer) for call, ask in news.calls]
    blocks: dict[int, int] = {}
    # The API wants all results at the beginning, so the files of the answers follow them.
    for attached in news.answer_files:
        blocks[attached.id] = len(content)
        content.append(render_file(attached))
    content.extend(render_earlier_answers(one, namer) for one in news.earlier_answers)
    content.extend(map(render_unshown_note, news.unshown))
    if halt is not None:
        content.append(render_stop_note(halt, namer))
    context = render_history(earlier, namer)
    if context is not None:
        content.append(context)
    for one in news.written:
        content.append(render_message(one, namer))
        for attached in one.attached:
            blocks[attached.id] = len(content)
            content.append(render_file(attached))
    return Message(seq=0, role="user", content=tuple(content), authors=authors, files=blocks)


def build_omission_notice(conversation_id: str, earlier: ThreadHistory) -> OutgoingMessage | None:
    """Return the notice to people about messages that the model has not read; None if there are none."""
    if not earlier.omitted_count:
        return None
    text = ngettext(
        "I have not read {count} message here, because the authors may not talk with me. My operator can allow them.",
        "I have not read {count} messages here, because the authors may not talk with me. My operator can allow them.",
        earlier.omitted_count,
    ).format(count=earlier.omitted_count)
    return OutgoingMessage(target=f"left_out:{conversation_id}", text=text, markdown=False)
