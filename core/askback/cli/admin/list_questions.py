"""Run `askback list`: list open and settled questions."""

from __future__ import annotations

__all__ = ["ListFormat", "print_questions"]

import csv
import json
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Final, Literal

from pydantic import JsonValue
from rich.console import Console
from rich.text import Text
from sqlalchemy import Connection

from askback.cli.admin.stats import NONE, NONE_YET
from askback.client.result import get_outcome
from askback.client.summary import (
    describe_fallback,
    format_person,
    format_place,
    format_question,
    format_span,
    format_time,
    to_json,
)
from askback.domain.answer_values import list_notes
from askback.domain.ask import Ask
from askback.domain.ask_filter import AskFilter, get_state
from askback.domain.outcome import Answer
from askback.internal.clock import to_iso
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, read_snapshot
from askback.store.queries import ask_history
from askback.store.unreadable_rows import SkippedRows
from askback.text.literal import fit_line
from askback.text.terminal import to_json_line, to_terminal_text

ListFormat = Literal["text", "json", "csv"]
ANSWER = 70
"""Maximum number of characters of an answer in the text format."""
_COLUMNS: Final[tuple[str, ...]] = (
    "id", "state", "since", "posted", "settled", "seconds", "platform", "tenant", "channel", "thread", "question",
    "questions", "answer", "by", "by_id", "reason", "key", "conversation",
    "fallback", "halted", "caller",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters with which a cell begins a formula in a spreadsheet."""


def print_questions(
    where: DatabaseLocation, wanted: AskFilter, console: Console, *, limit: int, as_format: ListFormat
) -> int:
    """Print the wanted questions, newest first. Raises `OperatorError` if they cannot be read."""

    def read(connection: Connection) -> tuple[tuple[Ask, ...], bool]:
        found = ask_history.iterate(connection, wanted, SkippedRows())
        first = tuple(islice(found, limit))
        return first, next(found, None) is not None

    try:
        found, is_cut = read_snapshot(where, read)
    except DatabaseNotFound as error:
        found, is_cut = (), False
        none = str(error)
    else:
        none = NONE if wanted != AskFilter() else NONE_YET
    if as_format == "json":
        for ask in found:
            sys.stdout.write(to_json_line(_to_record(ask)) + "\n")
    elif as_format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(_to_cells(_to_record(ask)) for ask in found)
    elif not found:
        console.print(Text(none))
    else:
        for ask in found:
            _print(ask, console)
    if is_cut:
        print(f"There are more. To see more than {limit}, use --limit.", file=sys.stderr)  # noqa: T201 - this is the command line
    return 0


def _to_record(ask: Ask) -> dict[str, JsonValue]:
    """Return the fields of a question and its outcome."""
    outcome, ended = get_outcome(ask), ask.outcome
    taken = ask.time_taken
    record: dict[str, JsonValue] = {
        **to_json(ask),
        "state": get_state(ask),
        "posted": None if ask.posted_at is None else to_iso(ask.posted_at),
        "settled": None if ended is None else to_iso(ended.at),
        "seconds": None if taken is None else round(taken.total_seconds(), 3),
        "answer": _join_answers(ask, with_notes=False) or None,
        "answers": None if outcome is None or outcome.answers is None else dict(outcome.answers),
        "notes": None if ended is None else list_notes(ended) or None,
        "by": None if outcome is None else outcome.by,
        "by_id": None if outcome is None else outcome.by_id,
        "reason": None if outcome is None else outcome.reason,
        "fallback": None if outcome is None or outcome.fallback is None else dict(outcome.fallback),
        "halted": outcome is not None and outcome.halted,
    }
    return record


def _join_answers(ask: Ask, *, with_notes: bool) -> str:
    """Return the answers to all questions in one line; empty if there are none."""
    answers = () if ask.outcome is None else ask.outcome.answers
    return "; ".join(_format_answer(answer) if with_notes else ", ".join(answer.labels) for answer in answers)


def _format_answer(answer: Answer) -> str:
    labels = ", ".join(answer.labels)
    return labels if answer.note is None else f"{labels} (note: {answer.note})"


def _to_cells(record: Mapping[str, JsonValue]) -> list[str]:
    """Return the cells of a row. No text of a person or a model becomes a formula in a spreadsheet."""
    cells = ["" if record[name] is None else _to_cell(record[name]) for name in _COLUMNS]
    return [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells]


def _to_cell(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | dict) else str(value)


def _print(ask: Ask, console: Console) -> None:
    by = None if ask.outcome is None else ask.outcome.by
    state = get_state(ask).replace("_", " ")
    line = Text.assemble((ask.id, "bold"), f"  {format_time(ask.created_at)}  {state}")
    if ask.time_taken is not None:
        line.append(f"{'' if by is None else f' by {format_person(by)}'} after {format_span(ask.time_taken)}")
    console.print(line)
    answer = _join_answers(ask, with_notes=True)
    shown = f" → {to_terminal_text(fit_line(answer, ANSWER))}" if answer else ""
    if ask.outcome is not None and ask.outcome.fallback:
        shown = f" → {describe_fallback(ask.outcome)}"
    elif ask.outcome is not None and ask.outcome.halted:
        shown = " → the work stops"
    caller = "" if ask.policy.caller is None else f", for {to_terminal_text(ask.policy.caller)}"
    console.print(Text(f"  {format_question(ask)}{shown}  ({format_place(ask)}{caller})"))
