"""What an interview looks like, for every platform: texts and controls, and what a click gets back."""

from __future__ import annotations

__all__ = [
    "EVERYTHING",
    "NOT_NOW",
    "TAKE_BACK",
    "Card",
    "FieldErrors",
    "Item",
    "Notice",
    "Redraw",
    "Response",
    "ReviewLine",
    "Tab",
    "TextField",
    "Whole",
    "draw",
    "reason_field",
    "text_field",
    "vote_field",
]

from itertools import takewhile
from typing import Literal

from pydantic import AwareDatetime

from askback.domain.form import OutcomeStatus, Question
from askback.domain.identity import Actor
from askback.domain.interview import LONGEST_REASON, Interview
from askback.domain.policy import Denied, Policy, Who
from askback.domain.voting import Tally, tally
from askback.internal.values import Value
from askback.text.literal import fit

LONGEST_NAMED = 60
"""Characters of an option's label in a sentence about it."""
SOMETHING_ELSE = "Something else…"
NOT_NOW = "Not now…"
TAKE_BACK = "Take back"
"""What ends a decision of several people without one: for whoever asked for it."""
EVERYTHING = "Show everything"
"""What opens `Card.details`."""


class Item(Value):
    """One option. Every text is shown whole."""

    number: int
    """Counts from 1."""
    label: str
    description: str | None
    preview: str | None
    image: str | None
    recommended: bool
    chosen: bool


class Tab(Value):
    """One question of a form, as a place to go to."""

    index: int
    header: str
    answered: bool
    current: bool


class ReviewLine(Value):
    """One question of a form with what was put down for it."""

    index: int
    header: str
    prompt: str
    answer: tuple[str, ...]
    """Labels, and the written text last; nothing where it is unanswered."""


class Ending(Value):
    """How the ask ended, as people read it."""

    status: OutcomeStatus
    at: AwareDatetime
    by: Actor | None
    reason: str | None


class Card(Value):
    """One drawing of one ask."""

    ask_id: str
    turn: int
    revision: int
    who: Who
    deadline: AwareDatetime | None
    view: Literal["question", "review", "ended"]
    header: str | None
    prompt: str
    """The current question; empty in the review and for an ended form of several questions."""
    excerpt: str
    """What the prompt quotes of its details below its first line, to be shown as it is; empty where it quotes none."""
    items: tuple[Item, ...]
    several: bool
    """Whether more than one item can be chosen."""
    custom: bool
    """Whether an answer can be written."""
    written: str | None
    """The written answer so far."""
    unsent: bool
    """Whether a written text waits to be mended; a blank one is nothing to mend."""
    tabs: tuple[Tab, ...]
    lines: tuple[ReviewLine, ...]
    can_submit: bool
    can_go_back: bool
    can_go_on: bool
    can_cancel: bool
    """Whether it can be ended without an answer, by whoever may."""
    can_decline: bool
    """Whether somebody can say "not now"."""
    tally: Tally | None
    """How far the decision has come, where several people decide."""
    details: str | None
    """What the card shows a part of, as a person may ask to see whole."""
    ending: Ending | None

    @property
    def parts(self) -> tuple[str, str, str]:
        """The prompt in three: the question, the excerpt, and what stands below that."""
        if not self.excerpt:
            return self.prompt, "", ""
        asked, _, rest = self.prompt.partition("\n")
        return asked, self.excerpt, rest[len(self.excerpt) :].strip("\n")

    @property
    def position(self) -> tuple[int, int]:
        """The current question's number among those visible, and how many those are."""
        return next((i for i, tab in enumerate(self.tabs, 1) if tab.current), 0), len(self.tabs)


class TextField(Value):
    """A field to write an answer in, or why there is none for now."""

    ask_id: str
    turn: int
    header: str
    prompt: str
    placeholder: str
    value: str
    """What stands in it to begin with."""
    longest: int
    multi: bool
    """Whether the text stands beside chosen options rather than in their place."""
    declines: bool = False
    """Whether sending it says "not now", and the text is the reason: it may be left empty then."""
    choice: int | None = None
    """Sending it chooses this option, and the text is the reason for that."""


class Redraw(Value):
    """The click counted: the card is to be drawn anew, as it is by then."""

    kind: Literal["redraw"] = "redraw"


class AskText(Value):
    """Open this text field."""

    kind: Literal["ask_text"] = "ask_text"
    field: TextField


class FieldErrors(Value):
    """The text was not accepted; it is kept, and `field` holds it."""

    kind: Literal["field_errors"] = "field_errors"
    message: str
    field: TextField


class Notice(Value):
    """A sentence for the person who clicked, and nobody else."""

    kind: Literal["notice"] = "notice"
    text: str
    card: Card | None = None
    """The newest card, where the person may be looking at an old one."""
    kept: bool = False
    """Whether what the person wrote is kept as a message: nobody has to send it again."""
    denied: Denied | None = None
    """Why this person may not do it at all; None: they may."""
    told: bool = False
    """Whether this person read the same about this question a moment ago: it is not said again."""


class Whole(Value):
    """For the person who clicked, and nobody else: the whole of what the card shows a part of."""

    kind: Literal["whole"] = "whole"
    ask_id: str
    title: str
    text: str


Response = Redraw | AskText | FieldErrors | Notice | Whole


def draw(ask_id: str, interview: Interview, policy: Policy) -> Card:
    """The card of an interview as it stands."""
    asking = interview.phase == "asking"
    shown = asking or interview.form.is_single
    question, draft = interview.question, interview.draft
    visible = interview.visible
    several_questions = not interview.form.is_single
    outcome, approval = interview.outcome, policy.approval
    return Card(
        ask_id=ask_id,
        turn=interview.turn,
        revision=interview.revision,
        who=policy.deciders,
        deadline=policy.deadline,
        view="ended" if outcome is not None else "question" if asking else "review",
        header=(interview.form.header(interview.current) if several_questions else question.header) if shown else None,
        prompt=question.prompt if shown else "",
        excerpt=_excerpt(question) if shown else "",
        items=_items(question, draft.chosen) if shown else (),
        several=shown and question.multi_select,
        custom=asking and question.allow_custom,
        written=draft.text if shown else None,
        unsent=asking and draft.unsent is not None and bool(draft.unsent.strip()),
        tabs=tuple(
            Tab(
                index=index,
                header=interview.form.header(index),
                answered=interview.drafts[index].is_answer,
                current=asking and index == interview.current,
            )
            for index in visible
        )
        if several_questions
        else (),
        lines=_lines(interview) if not asking else (),
        can_submit=interview.phase == "reviewing"
        or (asking and not several_questions and (question.multi_select and bool(question.options))),
        can_go_back=several_questions
        and (interview.phase == "reviewing" or (asking and interview.current > visible[0])),
        can_go_on=several_questions and asking,
        can_cancel=approval is None or bool(approval.requesters),
        can_decline=approval is None,
        tally=None if approval is None else tally(interview, policy, approval),
        details=_rest(question) if shown and outcome is None else None,
        ending=None
        if outcome is None
        else Ending(status=outcome.status, at=outcome.at, by=outcome.by, reason=outcome.reason),
    )


def text_field(ask_id: str, interview: Interview) -> TextField:
    """The field for a written answer to the current question, holding what was written before."""
    question, draft = interview.question, interview.draft
    return TextField(
        ask_id=ask_id,
        turn=interview.turn,
        header=interview.form.header(interview.current) if not interview.form.is_single else (question.header or ""),
        prompt=question.prompt,
        placeholder=question.placeholder,
        value=draft.unsent if draft.unsent and draft.unsent.strip() else draft.text or "",
        longest=question.rules.max_length,
        multi=question.multi_select and bool(question.options),
    )


def reason_field(ask_id: str, interview: Interview) -> TextField:
    """The field in which to say why there is no answer for now, or when there will be."""
    single = interview.form.is_single
    return TextField(
        ask_id=ask_id,
        turn=interview.turn,
        header="",
        prompt=interview.question.prompt if single else "No answer to these questions for now.",
        placeholder="Such as: ask me again on Monday",
        value="",
        longest=LONGEST_REASON,
        multi=False,
        declines=True,
    )


def vote_field(ask_id: str, interview: Interview, index: int, reason: str = "") -> TextField:
    """The field in which to say why somebody chooses an option."""
    question = interview.form.questions[0]
    return TextField(
        ask_id=ask_id,
        turn=interview.turn,
        header=question.header or "",
        # What it quotes stands on the card behind the field.
        prompt=question.prompt.partition("\n")[0] if _excerpt(question) else question.prompt,
        placeholder=f"Why “{fit(question.options[index].label, LONGEST_NAMED)}”?",
        value=reason,
        longest=LONGEST_REASON,
        multi=False,
        choice=index,
    )


def _rest(question: Question) -> str | None:
    """What the question does not show whole."""
    return None if question.details is None or question.details in question.prompt else question.details


def _excerpt(question: Question) -> str:
    """What the prompt quotes of its details below its first line: of whole lines, but for the last."""
    asked, _, rest = question.prompt.partition("\n")
    first = rest.partition("\n")[0]
    if question.details is None or not asked.strip() or not first.strip() or not question.details.startswith(first):
        return ""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(rest, question.details, strict=False))
    return rest[: sum(1 for _ in same)].rstrip()


def _items(question: Question, chosen: tuple[int, ...]) -> tuple[Item, ...]:
    return tuple(
        Item(
            number=index + 1,
            label=option.label,
            description=option.description,
            preview=option.preview,
            image=option.image,
            recommended=option.recommended,
            chosen=index in chosen,
        )
        for index, option in enumerate(question.options)
    )


def _lines(interview: Interview) -> tuple[ReviewLine, ...]:
    return tuple(
        ReviewLine(
            index=index,
            header=interview.form.header(index),
            prompt=interview.form.questions[index].prompt,
            answer=interview.answer(index).labels if interview.drafts[index].is_answer else (),
        )
        for index in interview.visible
    )
