"""The modal with all questions of a form."""

from __future__ import annotations

__all__ = ["build_errors", "build_view", "find_error_block", "fits", "read_answers"]

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast

from askback.domain.actions import FieldAnswer
from askback.domain.choice_words import SOMETHING_ELSE
from askback.domain.file_field import describe_file_rules, describe_replaced
from askback.domain.file_rules import FileRules
from askback.domain.form import DEFAULT_PLACEHOLDER, Option, Question
from askback.domain.form_fields import FieldProblem, FieldQuestions, FormField, FormFields, describe_choice
from askback.domain.outcome import Picked
from askback.domain.text_problem import describe_text
from askback.domain.text_rules import TextRules
from askback.translations.catalogue import N_, _, use_language
from askback_slack import file_modal, limits
from askback_slack.absence import build_absence
from askback_slack.blocks import Block, context, divider, plain
from askback_slack.click_payloads import parse_indexes, read_picked
from askback_slack.escaping import fit_line, to_single_line
from askback_slack.files import list_files
from askback_slack.json_access import get_list, get_text, get_value
from askback_slack.pickers import build_element, read_ids
from askback_slack.text_entry import (
    build_label,
    build_native_entry,
    build_text_entry,
    get_initial_value,
    read_entry,
)
from askback_slack.text_modal import ANSWER, CALLBACK, OTHER, FieldRef

QUESTIONS: Final = 10
"""Maximum number of questions in one modal. A longer form is easier one question at a time."""
MORE: Final = N_("More questions may follow: they depend on these answers.")
_ELEMENT: Final = "askback:field"
_HINT: Final = 1_000
"""Maximum length of the sentence about what can be written, in UTF-16 units. A program may give a longer one."""
_BLOCK: Final = re.compile(r"askback:(choice|text|people|channels|files):(0|[1-9][0-9]{0,3})")
_Part = Literal["choice", "text", "people", "channels", "files"]


def fits(asked: FieldQuestions) -> bool:
    """Return True if one modal shows each of these questions with the whole of each option."""
    if any(one.allow_custom and one.rules.longest > limits.INPUT_TEXT for one in asked.questions):
        return False  # one question at a time, a longer answer can be a message
    return len(asked.questions) <= QUESTIONS and all(map(_fits_question, asked.questions))


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
    if not fields.is_whole:
        blocks += [divider(), context(_(MORE))]
    made: Block = {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": ref.model_dump_json(exclude_none=True, by_alias=True),
        "title": plain(fields.title),
        "submit": plain(fields.submit_label),
        "close": plain(_("Back to the card")),
        "notify_on_close": True,
        "blocks": [*build_absence(fields.absence), *blocks],
    }
    limits.check_view(made)
    return made


def read_answers(payload: Mapping[str, object]) -> tuple[FieldAnswer, ...]:
    """Return the answers of a submitted modal (the payload's `view`), in the order of the questions. Never raises.

    Picked people and channels are without names, which Slack does not tell here.
    """
    values = get_value(payload, "state", "values")
    found: dict[int, dict[str, object]] = {}
    for block_id, elements in cast("Mapping[str, object]", values).items() if isinstance(values, dict) else ():
        match = _BLOCK.fullmatch(block_id)
        if match is not None:
            parts = found.setdefault(int(match[2]), {})
            parts |= _read_part(match[1], get_value(elements, _ELEMENT))
    return tuple(FieldAnswer.parse({"index": index, **parts}) for index, parts in sorted(found.items()))


def _read_part(part: str, element: object) -> dict[str, object]:
    """Return what one element says about its question, as fields of `FieldAnswer`."""
    if part == "text":
        return {"text": read_entry(element)}
    if part == "choice":
        values = read_picked(element)
        return {"chosen": parse_indexes(values), "writes": OTHER in values}
    if part == "files":
        return {"files": list_files(element)}
    ids = read_ids(element, "people" if part == "people" else "channels")
    return {"rejected": True} if ids is None else {"picked": tuple(Picked(id=one) for one in ids)}


def build_errors(problems: Sequence[FieldProblem], fields: FormFields) -> dict[str, str]:
    """Return the `errors` of a `response_action`, which keep the modal open and show each reason at its field."""
    questions = {field.index: field.question for field in fields.fields}
    return {_find_block(questions[problem.index], problem): problem.message for problem in problems}


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
    in_text = question.asks_for_text or (problem.in_text and question.takes_text_beside_choice)
    return _build_block_id("text" if in_text else question.picks or "choice", problem.index)


def _build_field(field: FormField) -> list[Block]:
    question = field.question
    label, blocks = build_label(question.whole_prompt, field.header)
    if question.files is not None:
        return [*blocks, *_build_files(field, question.files, label)]
    if question.asks_for_text:
        return [*blocks, *_build_text(field, label)]
    hint = describe_choice(question)
    if question.multi_select:  # a single choice has an option for it
        hint = field.add_empty_hint(hint)
    if question.picks is None:
        made = [
            *blocks,
            _build_input("choice", field, label, _build_choice(field), hint=hint, optional=field.is_optional),
        ]
    else:
        picker = build_element(
            question.picks, field.picked, several=question.multi_select, max_choices=question.max_choices
        )
        # A written answer is enough, and a picker has no entry that says so.
        optional = question.allow_custom
        made = [*blocks, _build_input(question.picks, field, label, picker, hint=hint, optional=optional)]
    if question.takes_text_beside_choice:
        label = _name_text(question).format(question=field.header)
        made += _build_text(field, fit_line(label, limits.INPUT_LABEL))
    return made


def _name_text(question: Question) -> str:
    """Return the label of the text field that follows the options of a question, with a place for its header."""
    if not question.allow_note:
        return _("{question}: something else")
    return _("{question}: something else, or a note") if question.allow_custom else _("{question}: a note")


def _build_choice(field: FormField) -> Block:
    """Radio buttons, checkboxes or a menu. The last option means a written answer."""
    question = field.question
    options = [_build_option(index, option) for index, option in enumerate(question.options)]
    chosen = [options[index] for index in field.chosen]
    if question.allow_custom:
        other: Block = {"text": plain(_(SOMETHING_ELSE)), "value": OTHER}
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
    is_short = not (question.asks_for_text or question.allow_note or question.rules.lines) or question.rules.is_one_line
    is_line = is_short and to_single_line(value) == value
    placeholder = fit_line(field.placeholder, limits.PLACEHOLDER) or _(DEFAULT_PLACEHOLDER)
    # Slack's own field for a time has no seconds and no zone.
    is_rounded = field.is_exact and question.rules.kind == "date-time"
    native = None if question.allow_note or is_rounded else build_native_entry(question.rules, value)
    entry = native or build_text_entry(value, placeholder, is_line=is_line)
    is_hinted = question.rules != TextRules() or question.allow_note or question.asks_for_text
    hint = field.add_empty_hint(fit_line(describe_text(question), _HINT) if is_hinted else None)
    made = _build_input(
        "text", field, label, entry, hint=hint, optional=field.is_optional or not question.asks_for_text
    )
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


def _fits_question(question: Question) -> bool:
    options = len(question.options) + (question.allow_custom and bool(question.options))
    if options > limits.MENU_OPTIONS:
        return False
    if options > limits.CHECKBOXES and any(one.description for one in question.options):
        return False  # a menu has no descriptions
    texts = [text for one in question.options for text in (one.label, one.description) if text is not None]
    return all(fit_line(text, limits.OPTION_TEXT) == text for text in texts)
