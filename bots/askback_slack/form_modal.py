"""The modal with all questions of a form."""

from __future__ import annotations

__all__ = ["build_errors", "build_view", "find_error_block", "fits", "read_answers"]

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast

from askback.domain.actions import FieldAnswer
from askback.domain.attached_file import AttachedFile
from askback.domain.card import SOMETHING_ELSE
from askback.domain.file_field import describe_file_rules, describe_replaced
from askback.domain.file_rules import FileRules
from askback.domain.form import DEFAULT_PLACEHOLDER, Form, Option, Question
from askback.domain.form_fields import FieldProblem, FormField, FormFields
from askback.domain.text_kinds import is_checked
from askback.domain.text_rules import TextRules
from askback.translations.catalogue import _, use_language
from askback_slack import file_modal, limits
from askback_slack.blocks import Block, context, divider, plain
from askback_slack.click_payloads import parse_indexes, read_picked
from askback_slack.escaping import fit_line, to_single_line
from askback_slack.files import list_files
from askback_slack.json_access import get_list, get_text, get_value
from askback_slack.text_entry import (
    build_label,
    build_native_entry,
    build_text_entry,
    get_initial_value,
    read_entry,
)
from askback_slack.text_modal import ANSWER, CALLBACK, FieldRef

QUESTIONS: Final = 10
"""Maximum number of questions in one modal. A longer form is easier one question at a time."""
_ELEMENT: Final = "askback:field"
_OTHER: Final = "other"
"""The value of "Something else…", which the question itself does not offer."""
_HINT: Final = 1_000
"""Maximum length of the sentence about what can be written, in UTF-16 units. A program may give a longer one."""
_BLOCK: Final = re.compile(r"askback:(choice|text|files):(0|[1-9][0-9]{0,3})")
_Part = Literal["choice", "text", "files"]


def fits(form: Form) -> bool:
    """Return True if one modal shows every question with the whole of each option."""
    return len(form.questions) <= QUESTIONS and all(map(_fits_question, form.questions))


def build_view(fields: FormFields, ref: FieldRef) -> Block:
    """Return the modal for `views.open`, in the language of the fields. The form must fit."""
    with use_language(fields.language):
        return _build_view(fields, ref)


def _build_view(fields: FormFields, ref: FieldRef) -> Block:
    blocks: list[Block] = []
    for field in fields.fields:
        if blocks:
            blocks.append(divider())
        blocks += _build_field(field)
    made: Block = {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": ref.model_dump_json(exclude_none=True, by_alias=True),
        "title": plain(_("Your answers")),
        "submit": plain(_("Submit")),
        "close": plain(_("Back to the card")),
        "notify_on_close": True,
        "blocks": [*blocks],
    }
    limits.check_view(made)
    return made


def read_answers(payload: Mapping[str, object]) -> tuple[FieldAnswer, ...]:
    """Return the answers of a submitted modal (the payload's `view`), in the order of the questions. Never raises."""
    values = get_value(payload, "state", "values")
    choices: dict[int, tuple[int, ...]] = {}
    texts: dict[int, str] = {}
    files: dict[int, tuple[AttachedFile, ...]] = {}
    for block_id, elements in cast("Mapping[str, object]", values).items() if isinstance(values, dict) else ():
        match = _BLOCK.fullmatch(block_id)
        element = get_value(elements, _ELEMENT)
        if match is not None and match[1] == "choice":
            choices[int(match[2])] = parse_indexes(read_picked(element))
        elif match is not None and match[1] == "files":
            files[int(match[2])] = list_files(element)
        elif match is not None:
            texts[int(match[2])] = read_entry(element)
    return tuple(
        FieldAnswer(index=index, chosen=choices.get(index, ()), text=texts.get(index), files=files.get(index))
        for index in sorted({*choices, *texts, *files})
    )


def build_errors(problems: Sequence[FieldProblem], fields: FormFields) -> dict[str, str]:
    """Return the `errors` of a `response_action`, which keep the modal open and show each reason at its field."""
    return {_find_block(fields.fields[problem.index].question, problem): problem.message for problem in problems}


def find_error_block(payload: Mapping[str, object]) -> str:
    """Return the id of the block that shows a reason that is about no field of a submitted modal (its `view`).

    It is the block of the text, or else the first field.
    """
    inputs = [block for block in get_list(payload, "blocks") if get_text(block, "type") == "input"]
    found = [block_id for block in inputs if (block_id := get_text(block, "block_id")) is not None]
    return ANSWER if ANSWER in found or not found else found[0]


def _find_block(question: Question, problem: FieldProblem) -> str:
    if question.files is not None:
        return _build_block_id("files", problem.index)
    in_text = not question.options or (problem.in_text and question.allow_custom)
    return _build_block_id("text" if in_text else "choice", problem.index)


def _build_field(field: FormField) -> list[Block]:
    question = field.question
    label, blocks = build_label(question.prompt, field.header)
    if question.files is not None:
        return [*blocks, *_build_files(field, question.files, label)]
    if not question.options:
        return [*blocks, *_build_text(field, label)]
    made = [*blocks, _build_input("choice", field, label, _build_choice(field), hint=_describe_count(question))]
    if question.allow_custom:
        made += _build_text(
            field, fit_line(_("{question}: something else").format(question=field.header), limits.INPUT_LABEL)
        )
    return made


def _build_choice(field: FormField) -> Block:
    """Radio buttons, checkboxes or a menu. The last option means a written answer."""
    question = field.question
    options = [_build_option(index, option) for index, option in enumerate(question.options)]
    chosen = [options[index] for index in field.chosen]
    if question.allow_custom:
        other: Block = {"text": plain(_(SOMETHING_ELSE)), "value": _OTHER}
        options.append(other)
        if field.value and (question.multi_select or not chosen):
            chosen.append(other)
    few = len(options) <= limits.CHECKBOXES
    if question.multi_select:
        made: Block = {"type": "checkboxes" if few else "multi_static_select", "options": [*options]}
        return {**made, "initial_options": [*chosen]} if chosen else made
    made = {"type": "radio_buttons" if few else "static_select", "options": [*options]}
    return {**made, "initial_option": chosen[0]} if chosen else made


def _build_option(index: int, given: Option) -> Block:
    made: Block = {"text": plain(fit_line(given.label, limits.OPTION_TEXT)), "value": str(index)}
    if given.description is None:
        return made
    return {**made, "description": plain(fit_line(given.description, limits.OPTION_TEXT))}


def _build_text(field: FormField, label: str) -> list[Block]:
    question = field.question
    value, kept_whole = get_initial_value(field.value)
    # If there are options, a written answer is short as a rule. An earlier text of several lines would lose them.
    is_line = (bool(question.options) or is_checked(question.rules.kind)) and to_single_line(value) == value
    placeholder = fit_line(field.placeholder, limits.PLACEHOLDER) or _(DEFAULT_PLACEHOLDER)
    entry = build_native_entry(question.rules, value) or build_text_entry(value, placeholder, is_line=is_line)
    hint = fit_line(question.rules.describe(), _HINT) if question.rules != TextRules() or not question.options else None
    made = _build_input("text", field, label, entry, hint=hint, optional=bool(question.options))
    if kept_whole:
        return [made]
    return [context(_("Your earlier text is longer than this field, which shows only its beginning.")), made]


def _build_files(field: FormField, rules: FileRules, label: str) -> list[Block]:
    """Slack's field cannot show files that were given before. They stay unless others are chosen."""
    made = _build_input(
        "files",
        field,
        label,
        file_modal.build_entry(rules),
        hint=describe_file_rules(rules),
        optional=bool(field.files),
    )
    replaced = describe_replaced(field.files)
    return [made] if replaced is None else [context(replaced), made]


def _build_input(
    part: _Part, field: FormField, label: str, element: Block, *, hint: str | None, optional: bool = False
) -> Block:
    made: Block = {
        "type": "input",
        "block_id": _build_block_id(part, field.index),
        "label": plain(label),
        "element": {**element, "action_id": _ELEMENT},
        "optional": optional,
    }
    return made if hint is None else {**made, "hint": plain(hint)}


def _build_block_id(part: _Part, index: int) -> str:
    return f"askback:{part}:{index}"


def _describe_count(question: Question) -> str | None:
    count = question.describe_count()
    return None if count is None else _("Please {needed}.").format(needed=count)


def _fits_question(question: Question) -> bool:
    options = len(question.options) + (question.allow_custom and bool(question.options))
    if options > limits.MENU_OPTIONS:
        return False
    if options > limits.CHECKBOXES and any(one.description for one in question.options):
        return False  # a menu has no descriptions
    texts = [text for one in question.options for text in (one.label, one.description) if text is not None]
    return all(fit_line(text, limits.OPTION_TEXT) == text for text in texts)
