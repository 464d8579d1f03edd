"""Cards of what agents ask through the doors: calls of tools, changes to them, and requests of other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from askback.domain.actions import Choose, EditArguments, FieldAnswer, Operation, Submit, SubmitText
from askback.domain.approval import APPROVE, DENY
from askback.domain.ask_policy import Approval
from askback.doors.acp_permissions import read_request
from askback.doors.claude_hooks import ElicitationBody, build_elicitation
from askback.doors.langgraph_interrupts import read_interrupt
from askback.doors.tool_decisions import build_call_question

from .story import Story

_SQL: Final = "\n".join(
    (
        "UPDATE orders SET state = 'archived', archived_at = now()",
        *(f"  FROM archive_rules_{number} AS r{number}" for number in range(30)),
        "WHERE orders.created_at < now() - interval '2 years'",
    )
)
_MAIL: Final[dict[str, JsonValue]] = {
    "to": ["ada@example.com", "ben@example.com"],
    "subject": "Invoice 4711 for November, with the corrected amount for the second server room in the annexe of the "
    "building at the old harbour",
    "body": "Dear Ada,\n\nhere is the corrected invoice.\n" + "It lists each server with its hours. " * 20,
    "options": {
        "track": True,
        "reply_to": {"name": "Billing", "address": "billing@example.com"},
        "retries": [1, 5, 30],
    },
}
_MANY: Final[dict[str, JsonValue]] = {f"setting_{number:02}": number * 1_000 for number in range(24)}
_RELEASE: Final[dict[str, JsonValue]] = {"version": "1.4.2", "where": "staging", "replicas": 3, "note": "A new login."}
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "version": {"type": "string", "description": "The tag of the release."},
        "where": {"enum": ["staging", "production"]},
        "replicas": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "note": {"type": "string"},
    },
    "required": ["version", "where"],
}
_APPROVE, _DENY = (Choose(index=0),), (Choose(index=1, reason="It is Friday."),)


def _call(
    name: str,
    tool: str,
    given: Mapping[str, JsonValue],
    *,
    before: tuple[Operation, ...] = (),
    after: tuple[Operation, ...] = _APPROVE,
    schema: Mapping[str, JsonValue] | None = None,
    description: str | None = None,
) -> Story:
    """Return the story of a call whose arguments people may change if there is a schema."""
    decisions = ("approve", "reject") if schema is None else ("approve", "reject", "edit")
    question = build_call_question(tool, given, decisions, description, parameters=schema)
    vote = Approval(refusing=(DENY,), approving=(APPROVE,), subject=question.digest, edits=question.edits)
    return Story(name, question.form, before, after, vote, is_requested=True)


def _edit(*texts: str | int | None) -> EditArguments:
    """Return the fields of the form: a text for each, or the index of the chosen option."""
    return EditArguments(
        answers=tuple(
            FieldAnswer(index=index, chosen=(entry,))
            if isinstance(entry, int)
            else FieldAnswer(index=index, text=entry)
            for index, entry in enumerate(texts)
        )
    )


def _permission(name: str, call: Mapping[str, Any], options: Sequence[tuple[str, str]], after: Operation) -> Story:
    """Return the story of a request of an ACP agent."""
    from acp.schema import PermissionOption, ToolCallUpdate

    offered = [
        PermissionOption(option_id=str(index), kind=kind, name=label)  # type: ignore[arg-type] - one of its kinds
        for index, (kind, label) in enumerate(options)
    ]
    asked = ToolCallUpdate.model_validate({"toolCallId": "call-1", **call})
    question = read_request(asked, offered, allow_always=True).question
    assert question.vote is not None
    return Story(name, question.form, (), (after,), question.vote.evolve(subject=question.digest))


def _interrupt(name: str, value: JsonValue, *after: Operation) -> Story:
    """Return the story of an interrupt of a LangGraph graph."""
    (question,) = read_interrupt("interrupt", value, None).questions
    vote = question.vote
    if question.kind == "permit":
        vote = Approval(refusing=(DENY,), approving=(APPROVE,), subject=question.digest, edits=question.edits)
    return Story(name, question.form, (), after, vote)


def _elicit(name: str, message: str, schema: Mapping[str, JsonValue], *after: Operation) -> Story:
    """Return the story of what another MCP server asks for, through Claude Code's hook."""
    body = ElicitationBody(
        hook_event_name="Elicitation", mcp_server_name="booking", message=message, requested_schema=dict(schema)
    )
    _kind, form, vote = build_elicitation(body)
    return Story(name, form, (), after, vote)


_OPTIONS = (
    ("allow_once", "Allow"),
    ("allow_always", "Always allow"),
    ("reject_once", "Reject"),
    ("reject_always", "Never allow"),
)
_PUBLISH = {"title": "npm publish", "kind": "execute", "rawInput": {"command": "npm publish", "cwd": "/srv/shop"}}
_WRITE = {
    "title": "Write /srv/shop/config/production.toml",
    "kind": "edit",
    "locations": [{"path": "/srv/shop/config/production.toml", "line": 12}],
    "content": [
        {
            "type": "diff",
            "path": "/srv/shop/config/production.toml",
            "oldText": "replicas = 3\n",
            "newText": 'replicas = 30\nregion = "eu"\n',
        }
    ],
}
_GUESTS: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"guests": {"type": "integer", "title": "Guests", "minimum": 1, "maximum": 12}},
    "required": ["guests"],
}

_TAG: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "tag": {"type": "string", "pattern": r"^v\d+\.\d+$"},
        "where": {"type": ["string", "null"], "enum": ["eu", "us", None]},
    },
    "required": ["tag", "where"],
}
_TEXT: dict[str, JsonValue] = {"type": "string"}
_LISTED: dict[str, JsonValue] = {"to": {"type": "array", "items": _TEXT}, "subject": _TEXT}

OF_AGENTS = (
    _call("a long call", "run_sql", {"database": "orders", "statement": _SQL, "dry_run": False}),
    _call("a nested call", "send_mail", _MAIL, after=_DENY),
    _call("many arguments", "configure", _MANY),
    _call("a described call", "send_mail", {"to": "ada@example.com"}, description="Sends a mail to a customer."),
    _call("an editable call", "deploy", _RELEASE, schema=_SCHEMA),
    _call("a changed call", "deploy", _RELEASE, schema=_SCHEMA, before=(_edit("1.4.3", 1, "12", ""),)),
    _call(
        "a changed long call",
        "announce",
        {"text": "word " * 60 + "old " + "word " * 60},
        schema={"type": "object", "properties": {"text": {"type": "string"}}},
        before=(_edit("word " * 60 + "new " + "word " * 60),),
    ),
    _call(
        "a call that nobody can change",
        "send_mail",
        {"to": "ada@example.com", "options": {"track": True}},
        schema={"type": "object", "properties": {"options": {"type": "object", "properties": {}}}},
    ),
    _call(
        "a call with a fixed argument",
        "send_mail",
        {"to": ["ada@example.com"], "subject": "Invoice 4711"},
        schema={"type": "object", "properties": _LISTED},
    ),
    _interrupt(
        "options of an interrupt",
        {"question": "Which database?", "options": [{"label": "PostgreSQL", "description": "A server"}, "SQLite"]},
        *_APPROVE,
    ),
    _interrupt(
        "a request of an inbox",
        {
            "action_request": {"action": "deploy", "args": {"version": "1.4.2"}},
            "config": {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True},
            "description": "The release of Friday.",
        },
        *_DENY,
    ),
    _elicit("a form with a pattern", "Tell me about the release.", _TAG, SubmitText(text="v1.4"), *_APPROVE, Submit()),
    _permission("a permission", _PUBLISH, _OPTIONS, Choose(index=1)),
    _permission("a permission without reject", _WRITE, _OPTIONS[:1], Choose(index=1, reason="Ask me again on Monday.")),
    _elicit("an elicitation", "Shall I book the table at the Harbour Grill for 19:30?", {"type": "object"}, *_APPROVE),
    _elicit("an elicited form", "How many guests?", _GUESTS, SubmitText(text="4")),
)  # fmt: skip
