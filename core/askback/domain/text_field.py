"""The field in which a person writes an answer, or a reason."""

from __future__ import annotations

__all__ = ["TextField", "build_reason_field", "build_text_field", "build_vote_field", "list_option_labels"]

from collections.abc import Sequence

from pydantic import AwareDatetime, Field

from askback.domain.apply_action import REASON_RULES
from askback.domain.ask import Ask
from askback.domain.caller_absence import Absence
from askback.domain.card import LONGEST_NAMED, get_excerpt
from askback.domain.form import Option, Question
from askback.domain.interview import Interview
from askback.domain.text_problem import NOTE_HINT, get_placeholder
from askback.domain.text_rules import NOTE_RULES, TextRules
from askback.internal.values import Value
from askback.text.literal import fit_line, is_readable_line, to_single_line
from askback.translations.catalogue import Language, _, get_language


class TextField(Value):
    """A field for a written answer, or for a reason."""

    ask_id: str
    step: int
    header: str
    prompt: str
    placeholder: str
    value: str
    """The text in the field when it opens."""
    rules: TextRules
    """The rules of the text. A platform may have a special field for its kind."""
    multi: bool
    """True if the text is added to the chosen options rather than replacing them."""
    declines: bool = False
    """True if it leaves the question for now, in one of several ways. The text is the reason, which may be empty."""
    deadline: AwareDatetime | None = None
    """The time at which the question ends, if it leaves it for now. None means no deadline."""
    only_cancels: bool = False
    """True if the person may cancel the question and not answer it."""
    only_reminds: bool = False
    """True if the person may only ask for a reminder, because several people decide. It then has no text."""
    absence: Absence | None = None
    """The reason why no program waits for the answer."""
    choice: int | None = None
    """The index of the option that sending it chooses, with the text as the reason."""
    options: tuple[Option, ...] = ()
    """The options of which a person can choose one here, with the text as its note. Empty if it takes no note."""
    chosen: int | None = None
    """The index of the option that is chosen when the field opens."""
    is_note: bool = False
    """True if the text can only be a note, and no written answer."""
    language: Language = Field(default_factory=get_language)
    """The language of its words, which is that of the person. A platform builds the modal under `use_language`."""

    @property
    def hint(self) -> str:
        """A sentence about what a person can write."""
        if self.options and not self.is_note:
            return f"{_(NOTE_HINT)} {self.rules.describe()}"
        return self.rules.describe()

    @property
    def is_line(self) -> bool:
        """True if one line is enough, as for a number or a date. A rejected text may have more, and would lose them."""
        return not self.options and self.rules.is_one_line and to_single_line(self.value) == self.value


def build_text_field(ask_id: str, interview: Interview) -> TextField:
    """Return the field for a written answer to the current question, prefilled with the earlier text."""
    question, draft = interview.question, interview.draft
    return TextField(
        ask_id=ask_id,
        step=interview.step,
        header=interview.form.get_header(interview.current)
        if not interview.form.is_single
        else (question.header or ""),
        prompt=question.whole_prompt,
        placeholder=get_placeholder(question),
        value=draft.shown_text,
        rules=question.rules if question.allow_custom else NOTE_RULES,
        multi=question.takes_several,
        options=question.options if question.allow_note else (),
        chosen=draft.chosen[0] if question.allow_note and draft.chosen else None,
        is_note=question.allow_note and not question.allow_custom,
    )


def build_reason_field(ask: Ask, *, may_answer: bool) -> TextField:
    """Return the field in which a person leaves the question for now. `may_answer` is False if they may only cancel."""
    interview = ask.interview
    single = interview.form.is_single
    return TextField(
        ask_id=ask.id,
        step=interview.step,
        header="",
        prompt=_get_short_prompt(interview.question) if single else _("You do not answer these questions now."),
        placeholder=_("For example: which of them is cheaper?"),
        value="",
        rules=REASON_RULES,
        multi=False,
        declines=True,
        deadline=ask.policy.deadline,
        only_cancels=not may_answer,
        only_reminds=ask.policy.approval is not None,
    )


def build_vote_field(ask_id: str, interview: Interview, index: int, reason: str = "") -> TextField:
    """Return the field for a person's reason to choose an option."""
    question = interview.form.questions[0]
    return TextField(
        ask_id=ask_id,
        step=interview.step,
        header=question.header or "",
        prompt=_get_short_prompt(question),
        placeholder=_("Why “{option}”?").format(option=fit_line(question.options[index].label, LONGEST_NAMED)),
        value=reason,
        rules=REASON_RULES,
        multi=False,
        choice=index,
    )


def _get_short_prompt(question: Question) -> str:
    """Return the prompt without the excerpt of its details, which the card behind the field shows already."""
    return question.prompt.partition("\n")[0] if get_excerpt(question) else question.whole_prompt


def list_option_labels(options: Sequence[Option], longest: int) -> tuple[str, ...]:
    """Return a label of at most `longest` UTF-16 units for each option, with its number if labels alone are unclear."""
    labels = [fit_line(option.label, longest) for option in options]
    if len(set(labels)) == len(labels) and all(is_readable_line(option.label) for option in options):
        return tuple(labels)
    return tuple(fit_line(f"{number}. {option.label}", longest) for number, option in enumerate(options, 1))
