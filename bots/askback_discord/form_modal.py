"""The modal with all questions of a form."""

from __future__ import annotations

__all__ = ["build_modal", "fits", "read_answers"]

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from askback.domain.actions import FieldAnswer
from askback.domain.attached_file import AttachedFile
from askback.domain.card import SOMETHING_ELSE
from askback.domain.file_field import describe_file_rules, describe_replaced
from askback.domain.form import DEFAULT_PLACEHOLDER, Form, Option, Question
from askback.domain.form_fields import FormField, FormFields
from askback.domain.text_kinds import is_checked
from askback.domain.text_rules import TextRules
from askback.text.literal import count_utf16_units, replace_controls, to_single_line
from askback.translations.catalogue import N_, _, use_language
from askback_discord import control_ids, file_modal, limits
from askback_discord.components import Component, display, option
from askback_discord.escaping import fit_line, truncate
from askback_discord.payloads import parse_indexes
from askback_discord.text_modal import ONE_LINE, PARAGRAPH, build_prompt

TITLE: Final = N_("Your answers")
NO_TEXTS: Final = N_("To write an answer of your own, close this window and use the card.")
_OTHER: Final = "other"
"""The value of "Something else…", which the question itself does not offer."""
_CUSTOM_ID: Final = re.compile(r"askback:(choice|text|files):(0|[1-9][0-9]{0,3})")
_Part = Literal["choice", "text", "files"]
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Words:
    """The places of a question's prompt and of the sentence about its answer."""

    label: str
    description: str | None
    above: str | None
    """The prompt, if a text above the field has to show it."""


def fits(form: Form) -> bool:
    """Return True if one modal shows every question with the whole of each option."""
    return all(map(_fits_question, form.questions)) and _count_components(form, with_texts=False) <= (
        limits.MODAL_COMPONENTS
    )


def build_modal(fields: FormFields) -> Component:
    """Return the data of a callback that opens the modal (type 9). The form must fit.

    It is in the language of the fields. If the fields for other written answers do not fit, a sentence says where to
    write them.
    """
    with use_language(fields.language):
        return _build_modal(fields)


def _build_modal(fields: FormFields) -> Component:
    form = Form(questions=tuple(field.question for field in fields.fields))
    with_texts = _has_texts(form)
    parts = [part for field in fields.fields for part in _build_field(field, with_texts=with_texts)]
    if not with_texts and any(map(_takes_either, form.questions)):
        parts.append(display(f"-# {_(NO_TEXTS)}"))
    control = control_ids.Control(kind="fields", ask_id=fields.ask_id, step=fields.step, revision=fields.revision)
    made: Component = {"custom_id": control_ids.to_custom_id(control), "title": _(TITLE), "components": [*parts]}
    limits.check_modal(made)
    return made


def read_answers(data: Json) -> tuple[FieldAnswer, ...]:
    """Return the answers of a submitted modal (the interaction's `data`), in the order of the questions. Never raises.

    A written answer for which the modal had no field is missing.
    """
    choices: dict[int, tuple[int, ...]] = {}
    texts: dict[int, str] = {}
    files: dict[int, tuple[AttachedFile, ...]] = {}
    for part, index, component in _iter_fields(data.get("components"), 0):
        value, values = component.get("value"), component.get("values")
        if part == "text":
            texts[index] = value if isinstance(value, str) else ""
        elif part == "files":
            files[index] = file_modal.read_files(data, _build_custom_id("files", index))
        elif isinstance(values, list):
            choices[index] = parse_indexes(tuple(map(str, cast("list[object]", values))))
        else:
            choices[index] = parse_indexes((str(value),))
    return tuple(
        FieldAnswer(index=index, chosen=choices.get(index, ()), text=texts.get(index), files=files.get(index))
        for index in sorted({*choices, *texts, *files})
    )


def _iter_fields(components: object, depth: int) -> Iterator[tuple[str, int, Json]]:
    """Yield the part, the index of the question and the component of each field, in a label or at the top level."""
    if not isinstance(components, Sequence) or isinstance(components, str) or depth > 1:
        return
    for entry in cast("Sequence[object]", components):
        if not isinstance(entry, Mapping):
            continue
        component = cast("Json", entry)
        custom_id = component.get("custom_id")
        match = _CUSTOM_ID.fullmatch(custom_id) if isinstance(custom_id, str) else None
        if match is not None:
            yield match[1], int(match[2]), component
        yield from _iter_fields([component.get("component")], depth + 1)


def _has_texts(form: Form) -> bool:
    """Return True if the modal has a field for each written answer."""
    return _count_components(form, with_texts=True) <= limits.MODAL_COMPONENTS


def _count_components(form: Form, *, with_texts: bool) -> int:
    either = sum(map(_takes_either, form.questions))
    above = sum(_place_words(question, "").above is not None for question in form.questions)
    return len(form.questions) + above + (either if with_texts else min(either, 1))


def _takes_either(question: Question) -> bool:
    """Return True if the question has options and takes a written answer, too."""
    return question.allow_custom and bool(question.options)


def _place_words(question: Question, header: str) -> _Words:
    prompt = replace_controls(question.prompt)
    line = fit_line(prompt, limits.LABEL_DESCRIPTION) if to_single_line(prompt) == prompt else ""
    hint, needed = _describe_answer(question)
    if line == prompt and count_utf16_units(line) <= limits.LABEL:
        return _Words(line, hint, None)
    label = fit_line(header, limits.LABEL) or _(TITLE)
    # The number of parts must not depend on the language, whose hints differ in length.
    if line == prompt and not needed:
        return _Words(label, line, None)
    return _Words(label, hint, question.prompt)


def _describe_answer(question: Question) -> tuple[str | None, bool]:
    """Return a sentence about the answer, and True if a person needs it."""
    if question.files is not None:
        return fit_line(describe_file_rules(question.files), limits.LABEL_DESCRIPTION), True
    if question.options:
        count = question.describe_count()
        return (None, False) if count is None else (_("Please {needed}.").format(needed=count), True)
    return fit_line(question.rules.describe(), limits.LABEL_DESCRIPTION), question.rules != TextRules()


def _build_field(field: FormField, *, with_texts: bool) -> list[Component]:
    question = field.question
    words = _place_words(question, field.header)
    above = [] if words.above is None else [build_prompt(words.above)]
    if question.files is not None:
        entry = file_modal.build_entry(_build_custom_id("files", field.index), question.files, required=not field.files)
        hint = describe_replaced(field.files) or words.description
        return [*above, _label(words.label, hint, entry)]
    if not question.options:
        return [*above, _label(words.label, words.description, _build_text(field))]
    other = with_texts and question.allow_custom
    made = [*above, _label(words.label, words.description, _build_choice(field, other=other))]
    if other:
        made.append(
            _label(
                _("Something else… ({question})").format(question=field.header),
                question.rules.describe(),
                _build_text(field),
            )
        )
    return made


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
        options.append(option(_(SOMETHING_ELSE), _OTHER, chosen=writes))
    made: Component = {"custom_id": _build_custom_id("choice", field.index), "options": [*options]}
    is_group = len(options) <= limits.CHECKBOXES
    if question.multi_select:
        return {"type": limits.BOXES if is_group else limits.MENU, **made, "min_values": 1, "max_values": len(options)}
    return {"type": limits.RADIO if is_group and len(options) >= limits.RADIO_LEAST else limits.MENU, **made}


def _build_text(field: FormField) -> Component:
    question = field.question
    value = replace_controls(field.value)
    kept = truncate(value, limits.INPUT_VALUE)
    is_line = is_checked(question.rules.kind) and to_single_line(value) == value
    made: Component = {
        "type": limits.INPUT,
        "custom_id": _build_custom_id("text", field.index),
        "style": ONE_LINE if is_line else PARAGRAPH,
        "required": not question.options,
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
