"""The modal with all questions of a form."""

from __future__ import annotations

__all__ = ["build_modal", "fits", "read_answers"]

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from askback.domain.actions import FieldAnswer
from askback.domain.choice_words import SOMETHING_ELSE
from askback.domain.file_field import describe_file_rules, describe_replaced
from askback.domain.form import DEFAULT_PLACEHOLDER, Option, Question
from askback.domain.form_fields import TITLE, FieldQuestions, FormField, FormFields
from askback.domain.text_problem import describe_text
from askback.domain.text_rules import TextRules
from askback.text.literal import count_utf16_units, replace_controls, to_single_line
from askback.translations.catalogue import N_, _, use_language
from askback_discord import control_ids, file_modal, limits
from askback_discord.absence import build_absence
from askback_discord.components import Component, display, option
from askback_discord.escaping import fit_line, truncate
from askback_discord.modal_components import Json, iter_components
from askback_discord.payloads import parse_indexes
from askback_discord.pickers import build_element, read_valid
from askback_discord.text_modal import ONE_LINE, OTHER, PARAGRAPH, build_prompt

NO_TEXTS: Final = N_("To write an answer of your own, close this window and use the card.")
NO_NOTES: Final = N_("To write a note or an answer of your own, close this window and use the card.")
MORE: Final = N_("More questions may follow: they depend on these answers.")
_CUSTOM_ID: Final = re.compile(r"askback:(choice|text|people|channels|files):(0|[1-9][0-9]{0,3})")
_Part = Literal["choice", "text", "people", "channels", "files"]


@dataclass(frozen=True, slots=True)
class _Words:
    """The places of a question's prompt and of the sentence about its answer."""

    label: str
    description: str | None
    above: str | None
    """The prompt, if a text above the field has to show it."""


def fits(asked: FieldQuestions) -> bool:
    """Return True if one modal shows each of these questions with the whole of each option."""
    return all(map(_fits_question, asked.questions)) and (
        _count_components(asked.questions, with_texts=False, is_whole=asked.is_whole) <= limits.MODAL_COMPONENTS
    )


def build_modal(fields: FormFields) -> Component:
    """Return the data of a callback that opens the modal (type 9). The form must fit.

    It is in the language of the fields. If the fields for other written answers do not fit, a sentence says where to
    write them.
    """
    with use_language(fields.language):
        return _build_modal(fields)


def _build_modal(fields: FormFields) -> Component:
    questions = tuple(field.question for field in fields.fields)
    counted = _count_components(questions, with_texts=True, is_whole=fields.is_whole)
    with_texts = counted <= limits.MODAL_COMPONENTS
    parts = [part for field in fields.fields for part in _build_field(field, with_texts=with_texts)]
    elsewhere = _(NO_NOTES if any(question.allow_note for question in questions) else NO_TEXTS)
    remarks = [] if with_texts or not any(map(_takes_either, questions)) else [elsewhere]
    remarks += [] if fields.is_whole else [_(MORE)]
    if remarks:
        parts.append(display("\n".join(f"-# {remark}" for remark in remarks)))
    # The card behind the window says it, too, if the window is full.
    parts = [*build_absence(fields.absence), *parts] if len(parts) < limits.MODAL_COMPONENTS else parts
    kind: control_ids.Kind = "edits" if fields.is_edit else "fields"
    control = control_ids.Control(kind=kind, ask_id=fields.ask_id, step=fields.step, revision=fields.revision)
    made: Component = {"custom_id": control_ids.to_custom_id(control), "title": fields.title, "components": [*parts]}
    limits.check_modal(made)
    return made


def read_answers(data: Json) -> tuple[FieldAnswer, ...]:
    """Return the answers of a submitted modal (the interaction's `data`), in the order of the questions. Never raises.

    A written answer for which the modal had no field is missing.
    """
    found: dict[int, dict[str, object]] = {}
    for part, index, component in _iter_fields(data):
        parts = found.setdefault(index, {})
        if part == "files":
            parts["files"] = file_modal.read_files(data, _build_custom_id("files", index))
        else:
            parts |= _read_part(part, {**component, "resolved": data.get("resolved")})
    return tuple(FieldAnswer.parse({"index": index, **parts}) for index, parts in sorted(found.items()))


def _read_part(part: str, component: Json) -> dict[str, object]:
    """Return what one component says about its question, as fields of `FieldAnswer`."""
    value, values = component.get("value"), component.get("values")
    if part == "text":
        return {"text": value if isinstance(value, str) else ""}
    if part == "choice":
        given = tuple(map(str, cast("list[object]", values))) if isinstance(values, list) else (str(value),)
        return {"chosen": parse_indexes(given), "writes": OTHER in given}
    picked, are_all = read_valid(component, "people" if part == "people" else "channels")
    return {"picked": picked, "rejected": not are_all}


def _iter_fields(data: Json) -> Iterator[tuple[str, int, Json]]:
    """Yield the part, the index of the question and the component of each field."""
    for component in iter_components(data):
        custom_id = component.get("custom_id")
        match = _CUSTOM_ID.fullmatch(custom_id) if isinstance(custom_id, str) else None
        if match is not None:
            yield match[1], int(match[2]), component


def _count_components(questions: Sequence[Question], *, with_texts: bool, is_whole: bool) -> int:
    """Return the number of parts. A sentence at the end is one, whatever it says."""
    either = sum(map(_takes_either, questions))
    above = sum(_place_words(question, "").above is not None for question in questions)
    has_notes = not is_whole or (bool(either) and not with_texts)
    return len(questions) + above + (either if with_texts else 0) + has_notes


def _takes_either(question: Question) -> bool:
    """Return True if people can choose the answer, and write an answer or a note."""
    return question.takes_text_beside_choice


def _place_words(question: Question, header: str) -> _Words:
    prompt = replace_controls(question.whole_prompt)
    line = fit_line(prompt, limits.LABEL_DESCRIPTION) if to_single_line(prompt) == prompt else ""
    hint, needed = _describe_answer(question)
    if line == prompt and count_utf16_units(line) <= limits.LABEL:
        return _Words(line, hint, None)
    label = fit_line(header, limits.LABEL) or _(TITLE)
    # The number of parts must not depend on the language, whose hints differ in length.
    if line == prompt and not needed:
        return _Words(label, line, None)
    return _Words(label, hint, question.whole_prompt)


def _is_room_for(hint: str) -> bool:
    return count_utf16_units(hint) <= limits.LABEL_DESCRIPTION


def _describe_answer(question: Question) -> tuple[str | None, bool]:
    """Return a sentence about the answer, and True if a person needs it."""
    if question.files is not None:
        return fit_line(describe_file_rules(question.files), limits.LABEL_DESCRIPTION), True
    if not question.asks_for_text:
        count = question.describe_count()
        return (None, False) if count is None else (_("Please {needed}.").format(needed=count), True)
    return fit_line(question.rules.describe(), limits.LABEL_DESCRIPTION), question.rules != TextRules()


def _build_field(field: FormField, *, with_texts: bool) -> list[Component]:
    question = field.question
    words = _place_words(question, field.header)
    if question.asks_for_text or question.multi_select:  # a single choice has an option for it
        words = replace(words, description=_add_empty_hint(field, words.description))
    above = [] if words.above is None else [build_prompt(words.above)]
    if question.files is not None:
        entry = file_modal.build_entry(_build_custom_id("files", field.index), question.files, required=not field.files)
        hint = describe_replaced(field.files) or words.description
        return [*above, _label(words.label, hint, entry)]
    if question.asks_for_text:
        return [*above, _label(words.label, words.description, _build_text(field))]
    other = with_texts and question.allow_custom
    chooser = _build_choice(field, other=other) if question.picks is None else _build_picker(field, other=other)
    made = [*above, _label(words.label, words.description, chooser)]
    if with_texts and question.takes_text_beside_choice:
        label = _name_text(question).format(question=field.header)
        made.append(_label(label, describe_text(question), _build_text(field)))
    return made


def _add_empty_hint(field: FormField, hint: str | None) -> str | None:
    """Return the sentence with the effect of an empty field, if there is room for it.

    How to write a list matters more than what each item is: a wrong item is named when it is sent.
    """
    lines = field.question.rules.lines
    brief = () if lines is None else (field.add_empty_hint(lines.describe()),)
    for longer in (field.add_empty_hint(hint), *brief):
        if longer is not None and _is_room_for(longer):
            return longer
    return hint


def _name_text(question: Question) -> str:
    """Return the label of the text field that follows the options of a question, with a place for its header."""
    if not question.allow_note:
        return _("Something else… ({question})")
    return _("Something else, or note ({question})") if question.allow_custom else _("Note ({question})")


def _label(words: str, description: str | None, component: Component) -> Component:
    made: Component = {"type": limits.LABELLED, "label": fit_line(words, limits.LABEL), "component": component}
    return made if description is None else {**made, "description": fit_line(description, limits.LABEL_DESCRIPTION)}


def _build_choice(field: FormField, *, other: bool) -> Component:
    """A group or a menu. With `other`, its last option means a written answer."""
    question = field.question
    options = [
        option(one.label, index, description=one.description, chosen=index in field.chosen)
        for index, one in enumerate(question.options)
    ]
    if other:
        writes = bool(field.value) and (question.multi_select or not field.chosen)
        options.append(option(_(SOMETHING_ELSE), OTHER, chosen=writes))
    made: Component = {"custom_id": _build_custom_id("choice", field.index), "options": [*options]}
    if field.is_optional:
        made["required"] = False
    is_group = len(options) <= limits.CHECKBOXES
    if question.multi_select:
        least = 0 if field.is_optional else 1
        kind = limits.BOXES if is_group else limits.MENU
        return {"type": kind, **made, "min_values": least, "max_values": len(options)}
    return {"type": limits.RADIO if is_group and len(options) >= limits.RADIO_LEAST else limits.MENU, **made}


def _build_picker(field: FormField, *, other: bool) -> Component:
    """Discord's own picker. With `other`, a written answer is enough."""
    question = field.question
    assert question.picks is not None
    made = build_element(question.picks, field.picked, several=question.multi_select, max_choices=question.max_choices)
    made["custom_id"] = _build_custom_id(question.picks, field.index)
    return {**made, "min_values": 0, "required": False} if other else {**made, "min_values": 1, "required": True}


def _build_text(field: FormField) -> Component:
    question = field.question
    value = replace_controls(field.value)
    kept = truncate(value, limits.INPUT_VALUE)
    is_line = not question.allow_note and question.rules.is_one_line and to_single_line(value) == value
    made: Component = {
        "type": limits.INPUT,
        "custom_id": _build_custom_id("text", field.index),
        "style": ONE_LINE if is_line else PARAGRAPH,
        "required": question.asks_for_text and not field.is_optional,
        "max_length": limits.INPUT_VALUE,
        "placeholder": fit_line(field.placeholder, limits.INPUT_PLACEHOLDER) or _(DEFAULT_PLACEHOLDER),
    }
    return {**made, "value": kept} if kept else made


def _build_custom_id(part: _Part, index: int) -> str:
    return f"askback:{part}:{index}"


def _fits_question(question: Question) -> bool:
    if len(question.options) + question.allow_custom > limits.MENU_OPTIONS:
        return False
    return all(map(_fits_option, question.options))


def _fits_option(given: Option) -> bool:
    texts = [text for text in (given.label, given.description) if text is not None]
    return all(fit_line(text, limits.OPTION_TEXT) == text for text in texts)
