"""Reads the options that the value of an interrupt names, and builds the question with a button for each. Pure."""

from __future__ import annotations

__all__ = ["InterruptOption", "build_options_question", "find_options"]

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option, Question
from askback.domain.verdicts import find_no, find_yes
from askback.errors import CallerError, InvalidValue
from askback.text.unseen import has_visible_text

FIELDS = ("options", "choices")
"""The fields of a value that hold its options."""
_SHOWN = frozenset({"label", "description"})
"""The fields of an option that its card shows."""


@dataclass(frozen=True, slots=True)
class InterruptOption:
    """One option of an interrupt."""

    label: str
    description: str | None
    value: JsonValue
    """The value that the graph gets, exactly as its list has it."""
    is_shown_whole: bool
    """True if the card shows all of the option."""


def find_options(value: Mapping[str, JsonValue]) -> tuple[str, tuple[InterruptOption, ...]] | None:
    """Return the field of a value that holds its options, and these. None if there is no such list.

    An option is a text, a number, a boolean, or an object with a `label`, a `value`, or both.
    """
    for field in FIELDS:
        listed = value.get(field)
        if isinstance(listed, list) and listed:
            found = [_read_option(one) for one in listed]
            known = tuple(one for one in found if one is not None)
            if len(known) == len(found):
                return field, known
    return None


def _read_option(given: JsonValue) -> InterruptOption | None:
    if not isinstance(given, dict):
        label = _to_label(given)
        return None if label is None else InterruptOption(label, None, given, is_shown_whole=True)
    label = _to_label(given.get("label", given.get("value")))
    if label is None:
        return None
    about = given.get("description")
    description = about if isinstance(about, str) and has_visible_text(about) else None
    return InterruptOption(label, description, given.get("value", label), is_shown_whole=set(given) <= _SHOWN)


def _to_label(value: JsonValue) -> str | None:
    if isinstance(value, str):
        return value if has_visible_text(value) else None
    return json.dumps(value) if isinstance(value, int | float) else None


def build_options_question(
    question_id: str, message: str, details: str | None, options: Sequence[InterruptOption]
) -> tuple[Form, Approval | None]:
    """Return the question with these options, and the rules of its vote if one of them is a “no”.

    Raises `CallerError` if people cannot be asked that.
    """
    labels = [one.label for one in options]
    shown = tuple(_build_option(number, option) for number, option in enumerate(options, 1))
    try:
        question = Question(id=question_id, prompt=message, options=shown, allow_custom=False, details=details)
    except InvalidValue as error:
        problems = "; ".join(problem.message for problem in error.problems)
        raise CallerError(f"The options of an interrupt cannot be asked: {problems}.") from None
    refusing = find_no(labels)
    vote = Approval(refusing=refusing, approving=find_yes(labels, refusing)) if refusing else None
    return Form(questions=(question,)), vote


def _build_option(number: int, given: InterruptOption) -> Option:
    try:
        return Option(value=given.label, label=given.label, description=given.description)
    except InvalidValue as error:
        # The value is the label, so a problem of both is reported once.
        problems = "; ".join(str(problem) for problem in error.problems if problem.field != "value")
        raise CallerError(f"Option {number} of an interrupt cannot be asked: {problems}.") from None
