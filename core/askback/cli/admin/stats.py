"""Run `askback stats`: how questions ended, how long people took, and what they chose."""

from __future__ import annotations

__all__ = ["NONE", "NONE_YET", "print_statistics"]

import sys
from datetime import timedelta

from rich.console import Console
from rich.text import Text

from askback.cli.admin.statistics import QuestionStatistics, Statistics, compute_statistics
from askback.client.summary import format_span
from askback.domain.ask_filter import AskFilter
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, read_snapshot
from askback.store.queries import ask_history
from askback.store.unreadable_rows import SkippedRows
from askback.text.literal import quote_line
from askback.text.terminal import to_json_line, to_terminal_text

NONE = "No question fits these options."
NONE_YET = "This database has no questions yet."
PROMPT = 70
MAX_CHOICES = 5
"""Maximum number of different choices of a question to print. `--json` has all."""


def print_statistics(where: DatabaseLocation, wanted: AskFilter, console: Console, *, as_json: bool) -> int:
    """Print the statistics of the wanted questions. Raises `OperatorError` if they cannot be read."""
    none = NONE if wanted != AskFilter() else NONE_YET
    try:
        found = read_snapshot(
            where, lambda connection: compute_statistics(ask_history.iterate(connection, wanted, SkippedRows()))
        )
    except DatabaseNotFound as error:
        found, none = compute_statistics(()), str(error)
    if as_json:
        sys.stdout.write(to_json_line(found.model_dump(mode="json")) + "\n")
    elif not found.asked:
        console.print(Text(none))
    else:
        _print(found, console)
    return 0


def _print(found: Statistics, console: Console) -> None:
    states = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in found.by_state.items())
    console.print(Text(f"{_count(found.asked, 'question')}: {states}"))
    if found.median_seconds is not None and found.p90_seconds is not None:
        median, most = (format_span(timedelta(seconds=one)) for one in (found.median_seconds, found.p90_seconds))
        console.print(Text(f"Half of the answers came within {median}, and nine of ten within {most}."))
    for question in found.questions:
        console.print()
        console.print(
            Text.assemble((f"{question.asked} × ", "bold"), to_terminal_text(quote_line(question.prompt, PROMPT)))
        )
        for line in _list_lines(question):
            console.print(Text(f"  {line}"))


def _list_lines(question: QuestionStatistics) -> list[str]:
    lines = [f"{count} × {to_terminal_text(quote_line(label, PROMPT))}" for label, count in question.choices]
    more = len(lines) - MAX_CHOICES
    lines = [*lines[:MAX_CHOICES], *([f"and {_count(more, 'other choice')}"] if more > 0 else [])]
    if question.written_count:
        newest = ", ".join(to_terminal_text(quote_line(text, PROMPT)) for text in question.written)
        lines.append(f"{question.written_count} × in own words, the newest first: {newest}")
    if question.note_count:
        newest = ", ".join(to_terminal_text(quote_line(text, PROMPT)) for text in question.notes)
        lines.append(f"{question.note_count} × with a note, the newest first: {newest}")
    ended = question.asked - question.answered - question.open
    lines += [f"{question.open} × still open"] if question.open else []
    return [*lines, *([f"{ended} × without an answer"] if ended else [])]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
