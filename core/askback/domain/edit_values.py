"""The values of a call's arguments as the contents of fields, and back. No I/O.

A field that people leave as it is changes nothing, so a value never changes only because a field writes it in another
way.
"""

from __future__ import annotations

__all__ = ["FieldDraft", "NewValue", "WrongValue", "read_value", "to_draft"]

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from askback.domain.actions import FieldAnswer
from askback.domain.form import Question
from askback.domain.form_fields import UNANSWERED, WhenEmpty
from askback.domain.form_limits import FIELD_ANSWER
from askback.domain.list_text import write_list
from askback.domain.reserved_options import NO_ANSWER, NONE_OF_THESE, RESERVED
from askback.domain.schema_choices import format_number, is_number, to_option_value
from askback.domain.text_kinds import is_numeric, parse_number, to_json_value
from askback.errors import PersonError
from askback.internal.values import Value
from askback.text.literal import count_utf16_units, replace_controls
from askback.text.unseen import strip_text
from askback.translations.catalogue import N_, _

NOT_SHOWN = N_("Please shorten it, and leave out characters that nobody can see.")


class WrongValue(PersonError):
    """Raised for a value that the argument cannot have, with the reason for the person."""


class FieldDraft(Value):
    """The value that a field shows when it opens."""

    chosen: tuple[int, ...] = ()
    """The indexes of the chosen options."""
    text: str = ""
    is_optional: bool = False
    """True if the call has no value, null or an empty text. The field is then empty, and may stay so."""

    def is_empty(self, question: Question) -> bool:
        """Return True if the field shows no value."""
        return self.is_optional or self.chosen == (_find_empty_option(question),)


class NewValue(Value):
    """The new value of an argument."""

    value: JsonValue = None
    is_removed: bool = False
    """True if the argument has no value any more."""


def to_draft(question: Question, data: Mapping[str, JsonValue]) -> FieldDraft | None:
    """Return what the field of an argument shows. None if the field cannot show the whole of its value."""
    value = data.get(question.id)
    nothing = _find_empty_option(question)
    if value is None and nothing is not None:
        return FieldDraft(chosen=(nothing,))
    if value is None or (isinstance(value, str) and not value.strip() and not question.options):
        return FieldDraft(is_optional=True)
    if question.multi_select:
        return _choose_several(question, value)
    if question.options:
        found = _find_option(question, value)
        return None if found is None else FieldDraft(chosen=(found,))
    if question.rules.lines is not None:
        return _write_lines(question, value)
    if is_numeric(question.rules.kind) and is_number(value):
        return FieldDraft(text=format_number(cast("float", value)))
    if not isinstance(value, str) or replace_controls(value) != value.replace("\r\n", "\n"):
        return None
    return FieldDraft(text=value) if count_utf16_units(value) <= FIELD_ANSWER else None


def read_value(
    question: Question, before: FieldDraft, sent: FieldAnswer, when_empty: WhenEmpty | None = None
) -> NewValue | None:
    """Return the new value of an argument. None if the person left the field as it was.

    `when_empty` is the effect of a field that the person emptied. None means that it must have a value. Raises
    `WrongValue`.
    """
    if question.options:
        return _read_chosen(question, before, sent.chosen, when_empty)
    written = (sent.text or "").replace("\r\n", "\n")
    text = strip_text(written)
    if text == strip_text(before.text.replace("\r\n", "\n")):
        return None
    rules = question.rules
    if rules.lines is not None and text and rules.to_json_value(text) == rules.to_json_value(before.text):
        return None
    if rules.lines is None and is_numeric(rules.kind):
        old, new = (parse_number("number", one) for one in (before.text, text))
        if old is not None and old == new:
            return None
    if not text and before.is_optional:
        return None
    if not text and when_empty is not None:
        return _build_empty(when_empty)
    is_exact = rules.lines is None and rules.kind == "text" and _has_layout(before.text)
    problem = rules.find_exact_problem(written) if is_exact else rules.find_problem(written)
    if problem is not None:
        raise WrongValue(problem)
    value = written if is_exact else rules.to_json_value(text)
    if to_draft(question, {question.id: value}) is None:
        raise WrongValue(_(NOT_SHOWN))
    return NewValue(value=value)


def _read_chosen(
    question: Question, before: FieldDraft, chosen: tuple[int, ...], when_empty: WhenEmpty | None
) -> NewValue | None:
    picked = tuple(sorted(set(chosen)))
    if picked == before.chosen:
        return None
    if not all(0 <= index < len(question.options) for index in picked) or (
        len(picked) > 1 and not question.multi_select
    ):
        raise WrongValue(_("There is no such option."))
    if when_empty is not None and (not picked or picked == (_find_empty_option(question),)):
        return _build_empty(when_empty)
    if not picked:
        raise WrongValue(_(UNANSWERED))
    problem = question.find_count_problem(len(picked)) if question.multi_select else None
    if problem is not None:
        raise WrongValue(_("Please {needed}.").format(needed=problem))
    kind = question.rules.kind
    values: list[JsonValue] = [
        to_json_value(kind, question.options[index].value)
        for index in picked
        if question.options[index].value not in RESERVED
    ]
    return NewValue(value=values if question.multi_select else values[0])


def _build_empty(when_empty: WhenEmpty) -> NewValue:
    return NewValue(value=[] if when_empty == "list" else None, is_removed=when_empty == "removed")


def _find_empty_option(question: Question) -> int | None:
    """Return the index of the option that means no value; None if there is none."""
    return next((index for index, option in enumerate(question.options) if option.value == NO_ANSWER), None)


def _write_lines(question: Question, value: JsonValue) -> FieldDraft | None:
    """Return the draft for a list that people write, one item per line."""
    text = write_list(question.rules.kind, value) if isinstance(value, list) else None
    if text is None or count_utf16_units(text) > FIELD_ANSWER:
        return None
    return FieldDraft(text=text, is_optional=not text)


def _choose_several(question: Question, value: JsonValue) -> FieldDraft | None:
    if not isinstance(value, list):
        return None
    if not value:
        none = [index for index, option in enumerate(question.options) if option.value == NONE_OF_THESE]
        return FieldDraft(chosen=tuple(none)) if none else FieldDraft(is_optional=True)
    found = [_find_option(question, one) for one in value]
    known = [index for index in found if index is not None]
    # A field has no order and no repetition.
    return FieldDraft(chosen=tuple(known)) if len(known) == len(found) and known == sorted(set(known)) else None


def _find_option(question: Question, value: JsonValue) -> int | None:
    """Return the index of the option for a value: 1 and 1.0 are the same number."""
    text = to_option_value(question.rules.kind, value)
    found = (index for index, option in enumerate(question.options) if option.value == text)
    return None if text in RESERVED else next(found, None)


def _has_layout(text: str) -> bool:
    """Return True for a text of several lines, or with white space around it, as programs and patches are."""
    return "\n" in text or text != text.strip()
