"""Run `askback show ID`: print everything that is known about one question, open or settled."""

from __future__ import annotations

__all__ = ["show"]

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue
from pydantic_core import from_json
from rich.console import Console
from rich.text import Text
from sqlalchemy import Connection

from askback.client.answer_contents import save_files
from askback.client.summary import (
    describe_fallback,
    describe_timeout,
    find_by_prefix,
    format_people,
    format_person,
    format_place,
    format_time,
    format_time_left,
    format_vote_state,
    get_tally,
    to_json,
)
from askback.domain.actions import (
    AttachFiles,
    Cancel,
    Choose,
    Decline,
    GoTo,
    Operation,
    Pick,
    Remind,
    Select,
    SubmitText,
)
from askback.domain.argument_change import ArgumentChange
from askback.domain.arguments import format_name, format_value
from askback.domain.ask import Ask
from askback.domain.interview import Interview
from askback.domain.outcome import Outcome, Picked
from askback.domain.voting import VoteCount
from askback.domain.webhook import WebhookDelivery
from askback.internal.clock import utc_now
from askback.store.external_access import DatabaseLocation, read_snapshot
from askback.store.queries import audit, webhooks
from askback.store.queries.audit import ActionRecord, PendingUpdate, ToolCallRecord
from askback.text.literal import quote_line
from askback.text.terminal import to_json_line, to_terminal_text
from askback.tools import TOOLS
from askback.tools.base import shorten

LONGEST = 200
"""Maximum number of characters of a call or a result of a tool of the operator."""


@dataclass(frozen=True, slots=True)
class _Record:
    ask: Ask
    done: tuple[ActionRecord, ...]
    waiting: PendingUpdate | None
    call: ToolCallRecord | None
    webhooks: tuple[WebhookDelivery, ...]


def show(where: DatabaseLocation, prefix: str, console: Console, *, as_json: bool, save: Path | None = None) -> int:
    """Print one ask. With `save`, also save the files of its answers in this folder.

    Raises `OperatorError` if it does not exist or cannot be read, or if the folder cannot be written.
    """

    def work(connection: Connection) -> _Record:
        ask = find_by_prefix(connection, prefix)
        return _Record(
            ask,
            audit.list_actions(connection, ask.id),
            audit.get_pending_update(connection, ask.id),
            audit.get_tool_call(connection, ask),
            webhooks.list_of_ask(connection, ask.id),
        )

    record = read_snapshot(where, work)
    for path in () if save is None else save_files(where, record.ask, save):
        print(f"Saved {to_terminal_text(str(path))}.", file=sys.stderr)  # noqa: T201 - this is the command line
    if as_json:
        sys.stdout.write(to_json_line(_to_json(record)) + "\n")
        return 0
    for heading, lines in (
        ("", _format_ask(record.ask, record.call)),
        ("Questions", _format_questions(record.ask.interview)),
        *((("Changes", _format_changes(changes)),) if (changes := record.ask.interview.changes) else ()),
        *((("Votes", _format_votes(record.ask, tally)),) if (tally := get_tally(record.ask)) is not None else ()),
        ("Messages", _format_messages(record)),
        *((("Webhooks", [*map(_format_webhook, record.webhooks)]),) if record.webhooks else ()),
        ("What people did", _format_operations(record)),
    ):
        if heading:
            console.print()
            console.print(Text(heading, "bold"))
        for line in lines:
            console.print(Text(line))
    return 0


def _format_ask(ask: Ask, call: ToolCallRecord | None) -> list[str]:
    outcome = ask.outcome
    lines = [
        f"id       {ask.id}",
        f"status   {ask.status.replace('_', ' ')}",
        f"asked    {format_people(ask.policy.who)}",
        f"where    {format_place(ask)}",
        f"since    {format_time(ask.created_at)}",
    ]
    if ask.policy.deadline is not None:
        lines.append(
            f"until    {format_time(ask.policy.deadline)}"
            + ("" if outcome else f" ({format_time_left(ask.policy.deadline, utc_now())})")
        )
        if outcome is None and (then := describe_timeout(ask)) is not None:
            lines.append(f"         {then}")
    if outcome is None:
        lines += [f"remind   {format_time(at)}" for at in ask.policy.reminders]
        lines += [
            f"remind   {format_time(own.at)}  {to_terminal_text(own.who.display_name)} asked for it"
            for own in ask.policy.personal_reminders
        ]
        lines += [
            f"escalate {format_people(later.who)}, from {format_time(later.at)}" for later in ask.policy.escalations
        ]
    if ask.asked_by is not None:
        lines.append(f"asker    {format_person(ask.asked_by)}")
    if ask.policy.caller is not None:
        lines.append(f"caller   {to_terminal_text(ask.policy.caller)}")
    if ask.key is not None:
        lines.append(f"key      {to_terminal_text(ask.key)}")
    if ask.conversation_id is not None:
        lines.append(f"agent    conversation {to_terminal_text(ask.conversation_id)}")
    if call is not None:
        lines.append(f"call     {to_terminal_text(_summarize_call(call))}")
    if outcome is not None:
        by = "" if outcome.by is None else f" by {format_person(outcome.by)}"
        lines.append(f"settled  {format_time(outcome.at)}{by}{', refused' if outcome.refused else ''}")
        if outcome.revoked is not None:
            revoked = outcome.revoked
            who = "the operator" if revoked.by is None else f"{to_terminal_text(revoked.by)}, an operator"
            lines.append(_add_reason(f"revoked  {format_time(revoked.at)} by {who}", revoked.reason))
        if outcome.halted:
            lines.append("stopped  nobody answered in time, so the work stops")
        if (defaults := describe_fallback(outcome)) is not None:
            lines.append(f"applies  {defaults}")
        if outcome.reason is not None:
            lines.append(f"reason   {to_terminal_text(outcome.reason)}")
    result = None if call is None else _summarize_result(call, outcome)
    if result is not None:
        lines.append(f"result   {to_terminal_text(result)}")
    return lines


def _summarize_call(call: ToolCallRecord) -> str:
    """Return the model's call in a line."""
    tool = TOOLS.get(call.tool)
    return (
        shorten(f"{call.tool} · {call.input}", LONGEST) if tool is None else tool.summarize_call(from_json(call.input))
    )


def _summarize_result(call: ToolCallRecord, outcome: Outcome | None) -> str | None:
    """Return what the model gets, in a line. None until it is known."""
    tool = TOOLS.get(call.tool)
    if tool is None:
        return None if call.result is None else shorten(call.result, LONGEST)
    return None if outcome is None else tool.summarize_result(outcome)


def _format_questions(interview: Interview) -> list[str]:
    lines: list[str] = []
    for number, (question, draft) in enumerate(zip(interview.form.questions, interview.drafts, strict=True), 1):
        prompt = to_terminal_text(question.prompt, lines=True).splitlines()
        lines += [f"  {number}. {prompt[0]}", *(f"     {line}" for line in prompt[1:])]
        for index, option in enumerate(question.options):
            # The interview keeps its drafts; after the end they are the answers.
            mark = "x" if index in draft.chosen else " "
            about = f": {to_terminal_text(option.description)}" if option.description else ""
            lines.append(f"     [{mark}] {to_terminal_text(option.label)}{about}")
        lines += [f"     [x] {_format_picked(one)}" for one in draft.picked]
        lines += [f"     [x] {to_terminal_text(file.label)}  id {to_terminal_text(file.id)}" for file in draft.files]
        if draft.text is not None:
            lines.append(f"     written: {to_terminal_text(draft.text)}")
        if draft.note is not None:
            lines.append(f"     note: {to_terminal_text(draft.note)}")
        if draft.unsent is not None:
            lines.append(f"     written, not accepted: {to_terminal_text(draft.unsent)}")
    if interview.outcome is None:
        step = "the review" if interview.phase == "reviewing" else f"question {interview.current + 1}"
        lines.append(f"  The card is at {step}.")
    return lines


def _format_picked(picked: Picked) -> str:
    """Return the name of a person or a channel with the id, which nobody can choose."""
    return to_terminal_text(f"{picked.name} ({picked.id})" if picked.name else picked.id)


def _format_changes(changes: Iterable[ArgumentChange]) -> list[str]:
    """Return what people changed about the call: the agent's value, and the newest one."""
    return [
        f"  {format_time(one.at)}  {format_person(one.by)} {to_terminal_text(format_name(one.name)[0])}: "
        f"{'(not given)' if one.is_new else _shorten(one.before)} → "
        f"{'(removed)' if one.is_removed else _shorten(one.after)}"
        for one in changes
    ]


def _shorten(value: JsonValue) -> str:
    return to_terminal_text(shorten(format_value(value), LONGEST))


def _format_votes(ask: Ask, tally: VoteCount) -> list[str]:
    lines = [f"  {format_vote_state(tally)}"]
    for vote in tally.votes:
        why = "" if vote.reason is None else f": {to_terminal_text(vote.reason)}"
        lines.append(f"  {format_time(vote.at)}  {format_person(vote.by)} “{to_terminal_text(vote.choice.label)}”{why}")
    if ask.outcome is None and tally.missing is not None:
        lines.append(f"  not voted yet: {format_people(tally.missing)}")
    if tally.requesters:
        lines.append(f"  requesters: {', '.join(map(format_person, tally.requesters))}")
    if ask.policy.approval is not None and ask.policy.approval.subject is not None:
        lines.append(f"  digest: {to_terminal_text(ask.policy.approval.subject)}")
    return lines


def _format_messages(record: _Record) -> list[str]:
    ask, waiting = record.ask, record.waiting
    lines = [f"  {to_terminal_text(message.channel)} {to_terminal_text(message.id)}" for message in ask.messages]
    if not lines:
        lines.append("  It was never posted.")
    if ask.is_drawn:
        lines.append("  People see its newest state.")
    elif waiting is None:
        lines.append("  People do not see its newest state, and the bot does not try to show it any more.")
    else:
        tried = f" The bot has tried {waiting.attempts} times." if waiting.attempts > 1 else ""
        lines.append(f"  People do not see its newest state yet.{tried}")
        if waiting.error is not None:
            lines.append(f"  The last try failed: {to_terminal_text(waiting.error)}")
    return lines


def _format_webhook(delivery: WebhookDelivery) -> str:
    """Return the state of a delivery in a line. A path or a query may have a secret of the receiver."""
    attempts = f", {delivery.attempts} attempt{'' if delivery.attempts == 1 else 's'}" if delivery.attempts else ""
    ended = "" if delivery.ended_at is None else f" at {format_time(delivery.ended_at)}"
    error = "" if delivery.error is None else f". {to_terminal_text(delivery.error)}"
    return f"  {to_terminal_text(delivery.origin)} {delivery.state}{ended}{attempts}{error}"


def _format_operations(record: _Record) -> list[str]:
    if not record.done:
        return ["  Nothing."]
    form = record.ask.interview.form
    labels = [[to_terminal_text(option.label) for option in question.options] for question in form.questions]
    only = labels[0] if len(labels) == 1 else None
    return [
        f"  {format_time(done.at)}  {format_person(done.by)} {_describe_operation(done.operation, only)}"
        + ({"settled": " (settled the question)", "unchanged": " (changed nothing)"}.get(done.verdict, ""))
        for done in record.done
    ]


def _describe_operation(operation: Operation, labels: list[str] | None) -> str:
    """Describe a person's action.

    `labels` are those of the only question. None for a form, in which an action does not name its question.
    """

    def format_option(index: int) -> str:
        known = labels is not None and 0 <= index < len(labels)
        return f"“{labels[index]}”" if labels is not None and known else f"option {index + 1}"

    match operation:
        case Choose(index=index, reason=reason, note=note):
            noted = f" with the note “{to_terminal_text(note)}”" if note else ""
            return _add_reason(f"chose {format_option(index)}{noted}", reason)
        case Select(chosen=chosen):
            return f"ticked {', '.join(map(format_option, chosen)) or 'nothing'}"
        case Pick(picked=picked):
            return f"picked {', '.join(map(_format_picked, picked)) or 'nothing'}"
        case AttachFiles(files=files):
            return f"gave {', '.join(to_terminal_text(quote_line(file.name)) for file in files) or 'no files'}"
        case SubmitText(text=text):
            return f"wrote “{to_terminal_text(text)}”"
        case GoTo(index=index):
            return f"went to question {index + 1}"
        case Decline(reason=reason, discuss=discuss):
            return _add_reason("wants to discuss it" if discuss else "declined", reason)
        case Cancel(reason=reason):
            return _add_reason("cancelled", reason)
        case Remind(moment=moment, reason=reason):
            return _add_reason(f"asked for a reminder at {format_time(moment)}", reason)
        case _:
            return _OPERATIONS.get(operation.kind, operation.kind)


def _add_reason(done: str, reason: str | None) -> str:
    return done if reason is None else f"{done}: “{to_terminal_text(reason)}”"


_OPERATIONS = {
    "erase": "deleted the written text",
    "open": "opened the text field",
    "open_files": "opened the field for files",
    "open_form": "opened all questions",
    "open_edit": "opened the arguments",
    "edit_arguments": "changed the arguments",
    "submit_form": "sent all answers together",
    "look": "opened the details",
    "postpone": "opened “Not now…” or “Remind me…”",
    "next": "went to the next question",
    "back": "went to the previous question",
    "review": "went to the review",
    "submit": "submitted the answers",
    "undo": "undid their vote",
}


def _to_json(record: _Record) -> dict[str, JsonValue]:
    ask, waiting = record.ask, record.waiting
    interview, changes = ask.interview, ask.interview.changes
    drafts: list[JsonValue] = [
        {
            "question": question.id,
            "chosen": [question.options[index].label for index in draft.chosen],
            "text": draft.text,
            **({} if draft.note is None else {"note": draft.note}),
            "unsent": draft.unsent,
            **({} if question.picks is None else {"picked": [one.model_dump(mode="json") for one in draft.picked]}),
            **({} if question.files is None else {"files": [file.to_json_value() for file in draft.files]}),
        }
        for question, draft in zip(interview.form.questions, interview.drafts, strict=True)
    ]
    return {
        **to_json(ask),
        "asked_by": None if ask.asked_by is None else ask.asked_by.model_dump(mode="json"),
        "form": interview.form.model_dump(mode="json"),
        "drafts": drafts,
        "phase": interview.phase,
        "current": interview.current,
        "policy": ask.policy.model_dump(mode="json"),
        **({"changes": [cast("JsonValue", one.model_dump(mode="json")) for one in changes]} if changes else {}),
        "votes": [cast("JsonValue", vote.model_dump(mode="json")) for vote in interview.votes],
        "outcome": None if ask.outcome is None else ask.outcome.model_dump(mode="json"),
        "messages": [cast("JsonValue", message.model_dump(mode="json")) for message in ask.messages],
        "shown": ask.is_drawn,
        "waiting": None if waiting is None else waiting.model_dump(mode="json"),
        "call": None
        if record.call is None
        else {
            "tool": record.call.tool,
            "summary": _summarize_call(record.call),
            "result": _summarize_result(record.call, ask.outcome),
        },
        "webhooks": [
            cast("JsonValue", one.model_dump(mode="json", exclude={"ask_id", "url"}) | {"origin": one.origin})
            for one in record.webhooks
        ],
        "actions": [cast("JsonValue", done.model_dump(mode="json")) for done in record.done],
    }
