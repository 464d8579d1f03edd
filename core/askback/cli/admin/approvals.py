"""Run `askback approvals`: list the approvals that let a tool run without a card for the rest of a conversation."""

from __future__ import annotations

__all__ = ["print_approvals"]

import sys

from pydantic import JsonValue
from rich.console import Console
from rich.text import Text

from askback.client.summary import format_person, format_place, format_question, format_time
from askback.domain.approval import list_standing_approvers
from askback.domain.ask import Ask
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, read_snapshot
from askback.store.queries.approvals import list_standing
from askback.text.terminal import to_json_line, to_terminal_text

NONE = "No tool may run without a card for the rest of a conversation."


def print_approvals(where: DatabaseLocation, console: Console, *, as_json: bool) -> int:
    """Print the approvals that hold, oldest first. Raises `OperatorError` if they cannot be read."""
    try:
        found, none = read_snapshot(where, list_standing), NONE
    except DatabaseNotFound as error:
        found, none = (), str(error)
    if as_json:
        for ask in found:
            sys.stdout.write(to_json_line(_to_json(ask)) + "\n")
        return 0
    if not found:
        console.print(Text(none))
    for number, ask in enumerate(found):
        if number:
            console.print()
        _print(ask, console)
    return 0


def _print(ask: Ask, console: Console) -> None:
    assert ask.outcome is not None
    tool = to_terminal_text(ask.interview.form.questions[0].id)
    console.print(Text.assemble((ask.id, "bold"), f"  {tool}, since {format_time(ask.outcome.at)}"))
    given = ", ".join(map(format_person, list_standing_approvers(ask)))
    for line in (f"given by: {given}", f"for the first time: {format_question(ask)}", format_place(ask)):
        console.print(Text(f"  {line}"))


def _to_json(ask: Ask) -> dict[str, JsonValue]:
    assert ask.outcome is not None
    return {
        "id": ask.id,
        "tool": ask.interview.form.questions[0].id,
        "since": ask.outcome.at.isoformat(),
        "given_by": [person.model_dump(mode="json") for person in list_standing_approvers(ask)],
        "question": ask.interview.form.questions[0].prompt,
        "platform": ask.place.platform,
        "tenant": ask.place.tenant,
        "channel": ask.place.channel,
        "thread": ask.place.thread,
        "conversation": ask.conversation_id,
    }
