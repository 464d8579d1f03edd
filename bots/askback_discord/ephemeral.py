"""Private messages that only the person who clicked sees."""

from __future__ import annotations

__all__ = [
    "Component",
    "build_file_errors",
    "build_form_errors",
    "build_message",
    "build_notice",
    "build_rejection",
    "describe_edit_errors",
    "edit_again",
    "format_edits",
    "retry",
    "to_replacement",
    "try_again",
]

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from askback.domain.actions import FieldAnswer
from askback.domain.card import Card
from askback.domain.file_field import FileField
from askback.domain.form_fields import FieldProblem, FormFields
from askback.domain.text_field import TextField
from askback.text.literal import count_utf16_units, find_break, truncate
from askback.translations.catalogue import N_, _
from askback_discord import control_ids, limits
from askback_discord.components import Component, button, row
from askback_discord.escaping import plain

TRY_AGAIN = N_("Try again")


def build_notice(words: str) -> Component:
    """A private message with these words. Words that are too long are shortened."""
    return build_message(words, [])


def to_replacement(body: Mapping[str, JsonValue]) -> Component:
    """Return a body that replaces an existing notice. Discord keeps the notice private."""
    return {"components": [], **body}


def try_again(words: str, field: TextField) -> Component:
    """A private message whose button opens the text field again, since a modal cannot follow a modal."""
    return build_message(words, [retry(field.ask_id, field.step)])


def build_file_errors(words: str, field: FileField) -> Component:
    """A private message about files that cannot be an answer. Its button opens their field again."""
    control = control_ids.Control(kind="files", ask_id=field.ask_id, step=field.step)
    return build_message(words, [row([button(_(TRY_AGAIN), control, "primary")])])


def build_form_errors(problems: Sequence[FieldProblem], fields: FormFields) -> Component:
    """A private message with the problems of several questions. Its button opens their fields again."""
    words = "\n".join(
        (_("Your answers are kept, but not sent:"), *(f"{problem.header}: {problem.message}" for problem in problems))
    )
    control = control_ids.Control(kind="form", ask_id=fields.ask_id, step=fields.step, revision=fields.revision)
    return build_message(words, [row([button(_(TRY_AGAIN), control, "primary")])])


def describe_edit_errors(problems: Sequence[FieldProblem]) -> str:
    """Return the reasons why nothing was changed, a line for each argument."""
    return "\n".join((_("Nothing was changed:"), *(f"{problem.header}: {problem.message}" for problem in problems)))


def format_edits(answers: Sequence[FieldAnswer], card: Card | None, fields: FormFields | None = None) -> str:
    """Return the texts of an edit of a call's arguments, each with its argument, for their author to copy.

    With the `fields` that people see now, only those that differ from them.
    """
    names = {} if card is None or card.edited is None else dict(enumerate(card.edited.questions))
    now = {} if fields is None else {field.index: field.value for field in fields.fields}
    names |= {} if fields is None else {field.index: field.question for field in fields.fields}
    found: list[str] = []
    for one in answers:
        text = (one.text or "").strip()
        if not text or text == now.get(one.index, "").strip():
            continue
        question = names.get(one.index)
        found.append(text if question is None else f"{question.id}:{chr(10) if chr(10) in text else ' '}{text}")
    # Texts without names, as when the commit failed, are told apart by blank lines.
    return ("\n" if names else "\n\n").join(found)


def edit_again(ask_id: str, step: int) -> Component:
    """The row with the button that opens the arguments of a tool call again."""
    control = control_ids.Control(kind="edit", ask_id=ask_id, step=step)
    return row([button(_(TRY_AGAIN), control, "primary")])


def retry(ask_id: str, step: int, choice: int | None = None) -> Component:
    """The row with the button that opens the text field. `choice` is the option whose reason the field is for."""
    control = control_ids.Control(kind="retry", ask_id=ask_id, step=step, arg=choice)
    return row([button(_(TRY_AGAIN), control, "primary")])


def build_rejection(words: str, written: str, again: Component | None = None) -> list[Component]:
    """A private message and the complete text that was rejected, so that its author can copy it."""
    below = [again] if again is not None else []
    if not written.strip():
        return [build_message(words, below)]
    heading = f"{words} {_('Here is your text, so that you can copy it:')}"
    if count_utf16_units(plain(f"{heading}\n\n{written}")) <= limits.CONTENT:
        return [build_message(f"{heading}\n\n{written}", below)]
    return [build_message(heading, below), *(build_message(piece, []) for piece in _split_text(written))]


def _split_text(written: str) -> Iterator[str]:
    """Split a long text into texts that each fit."""
    while written:
        room = limits.CONTENT
        while count_utf16_units(plain(written[:room])) > limits.CONTENT:
            room -= 100
        at = find_break(written, room)
        if written[:at].strip():
            yield written[:at]
        written = written[at:]


def build_message(words: str, components: list[Component]) -> Component:
    """A private message with rows of controls. Words that are too long are shortened."""
    made: Component = {"content": _shorten(words), "flags": limits.EPHEMERAL, "allowed_mentions": {"parse": []}}
    if components:
        made["components"] = [*components]
    limits.check_message(made)
    return made


def _shorten(words: str) -> str:
    """Return the complete text if it fits, or else its beginning."""
    shown, room = plain(words), limits.CONTENT
    while count_utf16_units(shown) > limits.CONTENT:
        room -= 100
        shown = plain(f"{truncate(words, room)}…")
    return shown
