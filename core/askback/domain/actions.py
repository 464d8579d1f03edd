"""The actions that a person can take on a card. Platform code translates each payload into exactly one of these."""

from __future__ import annotations

__all__ = [
    "Action",
    "AttachFiles",
    "Back",
    "Cancel",
    "Choose",
    "ClearText",
    "Decline",
    "EditArguments",
    "FieldAnswer",
    "GoTo",
    "Next",
    "OpenDecline",
    "OpenEdit",
    "OpenFiles",
    "OpenForm",
    "OpenTextField",
    "Operation",
    "Pick",
    "Remind",
    "Review",
    "Select",
    "ShowDetails",
    "Submit",
    "SubmitForm",
    "SubmitText",
    "UndoVote",
]  # fmt: skip

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from askback.domain.attached_file import AttachedFile
from askback.domain.file_kinds import MAX_FILES
from askback.domain.identity import Actor, MessageRef
from askback.domain.outcome import Picked
from askback.internal.values import PersonText, Value
from askback.text.unseen import strip_text


class Choose(Value):
    """Take one option of a single-choice question."""

    kind: Literal["choose"] = "choose"
    index: int
    reason: PersonText | None = None
    """The voter's reason if several people decide. None means they have not given one yet."""
    # Excluded by default, because an older process rejects a field that it does not know.
    note: PersonText | None = Field(default=None, exclude_if=lambda value: value is None)
    """The note to the choice, if the question takes one. None leaves the note to this option as it is."""


class ShowDetails(Value):
    """Show the full details that the card shows only in part. Changes nothing."""

    kind: Literal["look"] = "look"


class Select(Value):
    """Report the options that a person's screen shows as ticked, given that the card was rendered with `base` ticked.

    The difference is what the person did, and it is applied to the newest interview. So the ticks of several people
    all count, even if their cards are of different ages.
    """

    kind: Literal["select"] = "select"
    chosen: tuple[int, ...]
    base: tuple[int, ...] | None = None
    """The options that were ticked when the card was rendered. None means unknown: `chosen` then replaces all ticks."""
    revision: int | None = None
    """The revision of the card that they saw."""
    order: float | None = Field(default=None, allow_inf_nan=False)
    """The platform's own time of the click, which orders the clicks of one person. None means order of arrival."""


class Pick(Value):
    """Report the people or channels that a person's picker shows.

    If the question takes several, the difference to `base` is applied to the newest interview, as for `Select`.
    """

    kind: Literal["pick"] = "pick"
    picked: tuple[Picked, ...]
    base: tuple[str, ...] | None = None
    """The ids that the picker was drawn with. None means unknown: `picked` then replaces all."""
    revision: int | None = None
    """The revision of the card that they saw."""
    order: float | None = Field(default=None, allow_inf_nan=False)
    """The platform's own time of the click, as in `Select`."""


class AttachFiles(Value):
    """Give files as the answer. They replace those that were given before."""

    kind: Literal["attach"] = "attach"
    files: tuple[AttachedFile, ...] = Field(max_length=MAX_FILES)
    message: MessageRef | None = Field(default=None, exclude_if=lambda value: value is None)
    """The message that they are attached to. None if they were chosen in a field."""


class SubmitText(Value):
    """Send a written text, instead of or in addition to options."""

    kind: Literal["write"] = "write"
    text: PersonText


class ClearText(Value):
    """Delete the written text."""

    kind: Literal["erase"] = "erase"


class OpenTextField(Value):
    """Ask for the text field. Changes nothing."""

    kind: Literal["open"] = "open"


class OpenFiles(Value):
    """Ask for the field in which files are chosen. Changes nothing."""

    kind: Literal["open_files"] = "open_files"


class OpenForm(Value):
    """Ask for the fields of all questions. Changes nothing."""

    kind: Literal["open_form"] = "open_form"


class FieldAnswer(Value):
    """The answer to one question of a form, as its fields were sent."""

    index: int = Field(ge=0)
    """The index of the question in the form."""
    chosen: tuple[int, ...] = ()
    # Excluded by default, because an older process rejects a field that it does not know.
    picked: tuple[Picked, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The people or channels, if the question asks for these."""
    text: PersonText | None = None
    """The written answer, or the note to the choice if the question takes one. None means that it had no field."""
    writes: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if "Something else…" is chosen, so that a text has to follow."""
    rejected: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if something was picked that cannot be an answer, such as a bot. `picked` does not have it."""
    files: tuple[AttachedFile, ...] | None = Field(
        default=None, max_length=MAX_FILES, exclude_if=lambda value: value is None
    )
    """The files that were chosen. None if the question asks for none, and empty if the person chose none now."""


class SubmitForm(Value):
    """Send the answers to all questions of a form together.

    It counts from every position of the interview, because it names no current question.
    """

    kind: Literal["submit_form"] = "submit_form"
    answers: tuple[FieldAnswer, ...]
    """One answer for each question, in the order of the form."""
    revision: int | None = None
    """The revision of the interview that the fields showed when they opened. None means unknown."""

    @property
    def picked(self) -> tuple[Picked, ...]:
        """The people and channels of all answers."""
        return tuple(one for answer in self.answers for one in answer.picked)

    @property
    def texts(self) -> tuple[str, ...]:
        """The written texts that are not blank."""
        return _list_texts(self.answers)


class OpenEdit(Value):
    """Ask for the fields of a tool call's arguments. Changes nothing."""

    kind: Literal["open_edit"] = "open_edit"


class EditArguments(Value):
    """Change the arguments of the tool call that people decide about. It counts from the newest step only."""

    kind: Literal["edit_arguments"] = "edit_arguments"
    answers: tuple[FieldAnswer, ...]
    """One answer for each argument that may be changed, in the order of the fields."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The written texts that are not blank."""
        return _list_texts(self.answers)


class Next(Value):
    """Go to the next question, or to the review."""

    kind: Literal["next"] = "next"


class Back(Value):
    """Go to the previous question."""

    kind: Literal["back"] = "back"


class GoTo(Value):
    """Go to any question, by its index in the form (from 0)."""

    kind: Literal["go_to"] = "go_to"
    index: int


class Review(Value):
    """Go to the review of all answers."""

    kind: Literal["review"] = "review"


class Submit(Value):
    """Submit the answers."""

    kind: Literal["submit"] = "submit"


class Cancel(Value):
    """End the whole ask without an answer, with an optional sentence for the asker."""

    kind: Literal["cancel"] = "cancel"
    reason: PersonText | None = None


class UndoVote(Value):
    """Withdraw one's own vote, while several people decide."""

    kind: Literal["undo"] = "undo"


class OpenDecline(Value):
    """Ask for the ways to leave the question for now. Changes nothing."""

    kind: Literal["postpone"] = "postpone"


class Decline(Value):
    """Answer "not now", with an optional sentence for the asker."""

    kind: Literal["decline"] = "decline"
    reason: PersonText | None = None
    discuss: bool = False
    """True if the person wants to discuss the question before anybody answers it."""


class Remind(Value):
    """Ask for a reminder of the question, which stays open."""

    kind: Literal["remind"] = "remind"
    moment: AwareDatetime
    reason: PersonText | None = None
    """A sentence for the others, which the card shows."""


Operation = Annotated[
    Choose
    | Select
    | Pick
    | AttachFiles
    | SubmitText
    | ClearText
    | OpenTextField
    | OpenFiles
    | OpenForm
    | SubmitForm
    | OpenEdit
    | EditArguments
    | ShowDetails
    | Next
    | Back
    | GoTo
    | Review
    | Submit
    | Cancel
    | UndoVote
    | OpenDecline
    | Decline
    | Remind,
    Field(discriminator="kind"),
]


class Action(Value):
    """One action of one person, with the ask and the step of the interview that it came from."""

    ask_id: str
    actor: Actor
    at: AwareDatetime
    step: int
    """The step that the card was rendered in. Every move to another position of the interview gets a new number."""
    operation: Operation
    ticks: Annotated[Select | Pick, Field(discriminator="kind")] | None = None
    """The choices that the person had ticked on the same card when they pressed a button."""
    message: MessageRef | None = None
    """The message that was clicked. The ask records it as its card if it did not know it."""
    delivery: str | None = None
    """The platform's id of this click. A click that is delivered twice, even to two processes, counts once."""

    @property
    def picked(self) -> tuple[Picked, ...]:
        """The people or channels that the action reports."""
        if isinstance(self.operation, SubmitForm):
            return self.operation.picked
        return next((one.picked for one in (self.operation, self.ticks) if isinstance(one, Pick)), ())

    @property
    def files(self) -> tuple[AttachedFile, ...]:
        """The files that the action gives, with the addresses at which the bot reads them."""
        match self.operation:
            case AttachFiles(files=files):
                return files
            case SubmitForm(answers=answers):
                return tuple(file for answer in answers for file in answer.files or ())
            case _:
                return ()

    def without_addresses(self) -> Action:
        """Return the same action for the record, in which no address is kept."""
        if not self.files:
            return self
        operation = self.operation
        if isinstance(operation, AttachFiles):
            operation = operation.evolve(files=_strip_addresses(operation.files))
        elif isinstance(operation, SubmitForm):
            answers = (
                answer if answer.files is None else answer.evolve(files=_strip_addresses(answer.files))
                for answer in operation.answers
            )
            operation = operation.evolve(answers=tuple(answers))
        return self.evolve(operation=operation)


def _list_texts(answers: Iterable[FieldAnswer]) -> tuple[str, ...]:
    return tuple(filter(None, (strip_text(one.text) for one in answers)))


def _strip_addresses(files: Iterable[AttachedFile]) -> tuple[AttachedFile, ...]:
    return tuple(file.evolve(address=None) for file in files)
