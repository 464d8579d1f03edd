"""Changes the arguments of the tool call that people decide about, before they approve it. No I/O.

A change moves the question to another step and removes all votes, since people voted on another call. So a click on a
card from before the change counts for nothing.
"""

from __future__ import annotations

__all__ = ["EditRefused", "apply_edit", "build_edit_fields"]

import json
from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from askback.domain import approval
from askback.domain.actions import Action, EditArguments
from askback.domain.apply_action import Closed, NotPossible, Stale, is_click_recorded, record_click
from askback.domain.argument_change import ArgumentChange, apply_changes, merge_changes
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.edit_rules import EditRules
from askback.domain.edit_schema import SchemaProblem, find_schema_problem
from askback.domain.edit_values import FieldDraft, WrongValue, read_value, to_draft
from askback.domain.form import Form
from askback.domain.form_fields import FieldProblem, FormField, FormFields
from askback.domain.identity import Actor
from askback.domain.interview import move, start_interview
from askback.errors import CallerError, PersonError
from askback.translations.catalogue import N_, _, use_language

NOT_EDITABLE = N_("The arguments of this call cannot be changed; please use the newest card.")
EDITED_MEANWHILE = N_(
    "Somebody changed the arguments meanwhile. Your change was not applied; please use the newest card."
)
NO_CHANGE = N_("You left everything as it was, so nothing changed.")
TOO_LONG = N_("With these arguments, the question is too long for a card. Please shorten them.")
NOBODY_ELSE = N_(
    "Nobody else is left who could approve what you change, so you cannot change it. Deny the call instead, and say "
    "why."
)


NOT_TOGETHER = N_("The tool does not accept these arguments together: {problem}.")


class EditRefused(PersonError):
    """Raised for values that the arguments cannot have. The person can correct them in the fields."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def build_edit_fields(ask: Ask, actor: Actor) -> FormFields:
    """Return the fields with which this person changes the arguments. They show the values that people see now.

    Raises `Closed` or `NotPossible`.
    """
    rules, form = _get_rules(ask)
    if ask.outcome is not None:
        raise Closed
    if not rules.alone and not ask.policy.can_others_decide(actor):
        raise NotPossible(_(NOBODY_ELSE))
    data = _get_arguments(ask)
    return FormFields(
        ask_id=ask.id,
        step=ask.interview.step,
        revision=ask.interview.revision,
        fields=tuple(
            FormField(
                index=index,
                header=form.get_header(index),
                question=question,
                chosen=draft.chosen,
                value=draft.text,
                is_optional=draft.is_optional or rules.get_when_empty(question.id) is not None,
                is_exact=True,
                when_empty=None if draft.is_empty(question) else rules.get_when_empty(question.id),
            )
            for index, question in enumerate(form.questions)
            for draft in (_get_draft(form, index, data),)
        ),
        is_edit=True,
    )


def apply_edit(ask: Ask, sent: EditArguments, action: Action) -> Ask:
    """Return the ask about the changed call, without votes.

    Raises `EditRefused` if a value is wrong, and `Closed`, `Stale` or `NotPossible` if the action changes nothing.
    """
    if is_click_recorded(ask.interview, action):
        return ask
    build_edit_fields(ask, action.actor)
    if action.step != ask.interview.step:
        raise Stale(_(EDITED_MEANWHILE))
    rules, form = _get_rules(ask)
    data = _get_arguments(ask)
    found = _read_changes(rules, data, sent, action)
    if not found:
        raise NotPossible(_(NO_CHANGE))
    after = apply_changes(data, found)
    if after is None:  # they are about these values
        raise NotPossible(_(NOT_EDITABLE))
    if rules.joint is not None and (problem := find_schema_problem(rules.joint, data, after)) is not None:
        raise EditRefused((_name_field(form, problem, found[0].name),))
    return _ask_about(ask, after, found, action)


def _name_field(form: Form, problem: SchemaProblem, changed: str) -> FieldProblem:
    """Return the problem at the field that it is about, or at the one that was changed first."""
    names = [question.id for question in form.questions]
    index = names.index(problem.name if problem.name in names else changed)
    return FieldProblem(
        index=index,
        header=form.get_header(index),
        message=_(NOT_TOGETHER).format(problem=problem.message),
        in_text=form.questions[index].asks_for_text,
    )


def _ask_about(ask: Ask, data: Mapping[str, JsonValue], changes: tuple[ArgumentChange, ...], action: Action) -> Ask:
    rules, interview = _get_rules(ask)[0], ask.interview
    (question,) = interview.form.questions
    always = any(option.value == approval.ALWAYS for option in question.options)
    try:
        with use_language(ask.policy.language):
            form = approval.build_form(
                question.id, dict(data), always=always, template=rules.title, description=rules.description
            )
    except CallerError:
        raise NotPossible(_(TOO_LONG)) from None
    changed = interview.evolve(
        form=form,
        drafts=start_interview(form).drafts,
        votes=(),
        changes=merge_changes(interview.changes, changes),
    )
    decides = cast("Approval", ask.policy.approval).evolve(subject=approval.compute_digest(question.id, dict(data)))
    return ask.evolve(
        interview=record_click(move(changed, changed.current, changed.phase), action),
        policy=ask.policy.evolve(approval=decides),
    )


def _read_changes(
    rules: EditRules, data: Mapping[str, JsonValue], sent: EditArguments, action: Action
) -> tuple[ArgumentChange, ...]:
    """Return the changes of these fields, in the order of the fields. Raises `EditRefused` or `NotPossible`."""
    form = rules.form
    assert form is not None
    if [one.index for one in sent.answers] != [*range(len(form.questions))]:
        raise NotPossible(_(NOT_EDITABLE))
    changes: list[ArgumentChange] = []
    problems: list[FieldProblem] = []
    for index, (question, answer) in enumerate(zip(form.questions, sent.answers, strict=True)):
        try:
            new = read_value(question, _get_draft(form, index, data), answer, rules.get_when_empty(question.id))
        except WrongValue as wrong:
            problems.append(
                FieldProblem(
                    index=index,
                    header=form.get_header(index),
                    message=str(wrong),
                    in_text=question.asks_for_text,
                )
            )
            continue
        if new is not None:
            before = data.get(question.id)
            changes.append(
                ArgumentChange(
                    name=question.id,
                    before=before,
                    is_new=question.id not in data,
                    after=new.value,
                    is_removed=new.is_removed,
                    by=action.actor,
                    at=action.at,
                )
            )
    if problems:
        raise EditRefused(tuple(problems))
    return tuple(changes)


def _get_rules(ask: Ask) -> tuple[EditRules, Form]:
    rules = None if ask.policy.approval is None else ask.policy.approval.edits
    if rules is None or rules.form is None:
        raise NotPossible(_(NOT_EDITABLE))
    return rules, rules.form


def _get_arguments(ask: Ask) -> dict[str, JsonValue]:
    """Return the arguments that the card shows. The details of the question hold all of them, as JSON."""
    details = ask.interview.question.details
    return {} if details is None else cast("dict[str, JsonValue]", json.loads(details))


def _get_draft(form: Form, index: int, data: Mapping[str, JsonValue]) -> FieldDraft:
    draft = to_draft(form.questions[index], data)
    if draft is None:  # a value that came from a field fits into it
        raise NotPossible(_(NOT_EDITABLE))
    return draft
