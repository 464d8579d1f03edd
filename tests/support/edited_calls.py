"""A call of a tool that people may change before they approve it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from askback.domain import approval
from askback.domain.actions import Action, Choose, EditArguments, FieldAnswer
from askback.domain.apply_edit import apply_edit, build_edit_fields
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.edit_rules import build_edit_rules, build_parameter_rules
from askback.domain.form import Form
from askback.domain.identity import Actor, Place
from askback.domain.interview import start_interview
from askback.domain.reserved_options import NO_ANSWER
from askback.domain.voting import apply_vote
from askback.domain.who import Who

AT = datetime(2026, 11, 27, 9, tzinfo=UTC)
ANN, BEN = (Actor(platform="chat", id=name, name=name) for name in ("ann", "ben"))
TOOL = "deploy"
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "version": {"type": "string", "minLength": 2, "maxLength": 20},
        "count": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 9}, {"type": "null"}], "default": None},
        "share": {"type": "number", "maximum": 5},
        "force": {"type": "boolean", "default": False},
        "where": {"$ref": "#/$defs/Where"},
        "regions": {"type": "array", "items": {"enum": ["eu", "us", "ap"]}, "maxItems": 2},
        "size": {"enum": [1, 2.5, 10]},
    },
    "required": ["version", "where"],
    "$defs": {"Where": {"enum": ["staging", "production"], "type": "string"}},
}
NAMES = [*SCHEMA["properties"]]  # pyright: ignore[reportGeneralTypeIssues, reportArgumentType] - it is an object


def form_for(schema: Any) -> Form:
    """Return the questions for all parameters in the schema of a tool."""
    form = build_parameter_rules(schema).form
    assert form is not None
    return form


def asked(data: dict[str, Any], schema: dict[str, JsonValue] = SCHEMA, **more: Any) -> Ask:
    """Return the ask about a call with these arguments. `more` is of its approval."""
    rules = build_edit_rules(data, build_parameter_rules(schema))
    decides = Approval(
        refusing=("deny",),
        approving=("approve",),
        subject=approval.compute_digest(TOOL, data),
        edits=rules.evolve(alone=True),
        **more,
    )
    return Ask(
        id="q" * 22,
        place=Place(platform="chat", channel="C1"),
        policy=Policy(who=Who.from_people(ANN, BEN), approval=decides),
        interview=start_interview(approval.build_form(TOOL, data)),
        created_at=AT,
        post_after=AT,
    )


def act(ask: Ask, operation: Any, by: Actor = ANN) -> Action:
    """Return what a person does to the ask at its step."""
    return Action(ask_id=ask.id, actor=by, at=AT, step=ask.interview.step, operation=operation)


def edit(ask: Ask, sent: list[FieldAnswer], by: Actor = ANN) -> Ask:
    """Return the ask after a person has sent these fields."""
    operation = EditArguments(answers=tuple(sent))
    return apply_edit(ask, operation, act(ask, operation, by))


def untouched(ask: Ask) -> list[FieldAnswer]:
    """Return what the modal sends if a person changes nothing."""
    return [
        FieldAnswer(index=field.index, chosen=field.chosen, text=field.value if field.question.asks_for_text else None)
        for field in build_edit_fields(ask, ANN).fields
    ]


def get_shown(ask: Ask) -> Any:
    """Return the arguments that the card shows."""
    return json.loads(ask.interview.question.details or "{}")


def approve(ask: Ask, by: Actor = BEN) -> Ask:
    """Return the ask after a person has approved the call as it is now."""
    assert ask.policy.approval is not None
    voted = apply_vote(ask.interview, ask.policy.approval, act(ask, Choose(index=0), by))
    return ask.evolve(interview=voted)


def removal(ask: Ask, name: str) -> Ask:
    """Return the ask after ann has emptied a field."""
    fields = build_edit_fields(ask, ANN).fields
    index = next(field.index for field in fields if field.question.id == name)
    sent = untouched(ask)
    options = fields[index].question.options
    nothing = [n for n, option in enumerate(options) if option.value == NO_ANSWER]
    sent[index] = FieldAnswer(index=index, text="", chosen=tuple(nothing))
    return edit(ask, sent)
