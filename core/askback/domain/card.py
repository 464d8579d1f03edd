"""The platform-independent form of a card: its texts and controls."""

from __future__ import annotations

__all__ = [
    "ANSWER_REST",
    "ENDINGS",
    "EVERYTHING",
    "EXPANDING",
    "LONGEST_NAMED",
    "LONGEST_TITLE",
    "NOT_NOW",
    "SHOW_QUESTION",
    "SHOW_QUESTIONS",
    "UNDO_VOTE",
    "WITHDRAW",
    "Card",
    "Item",
    "ReviewLine",
    "build_card",
    "format_position",
    "get_excerpt",
    "get_form_title",
    "get_line_title",
    "list_others",
]

from collections.abc import Mapping
from itertools import takewhile
from typing import Final, Literal

from pydantic import AwareDatetime

from askback.domain.arguments import Arguments, parse_arguments
from askback.domain.ask_policy import PersonalReminder, Policy
from askback.domain.form import Question
from askback.domain.identity import Actor
from askback.domain.interview import Interview
from askback.domain.outcome import OutcomeStatus
from askback.domain.reserved_options import NO_ANSWER
from askback.domain.voting import VoteCount, count_votes
from askback.domain.who import Who
from askback.internal.values import Value
from askback.text.literal import count_utf16_units, fit_line, to_literal, to_single_line
from askback.translations.catalogue import ENGLISH, N_, Language, _, ngettext, use_language

LONGEST_NAMED = 60
"""Maximum number of characters of an option's label in a sentence about it."""
LONGEST_TITLE = 150
"""Maximum number of UTF-16 units of a question on its settled card. "Show question" shows a longer one."""
LONGEST_HEADING = 150
"""Maximum number of UTF-16 units of a question that is a heading. A longer one is a paragraph."""
LONGEST_RESULT = 150
"""Maximum number of characters of an answer that is the first line of its settled card. A longer one is quoted."""
SOMETHING_ELSE = N_("Something else…")
WRITE_ANSWER = N_("Write an answer…")
EDIT_TEXT = N_("Edit your text…")
NOT_NOW = N_("Not now…")
ANSWER_REST = N_("Answer the rest")
"""Label of the button that leads from a review to the first question without an answer."""
UNDO_VOTE = N_("Undo my vote")
"""Label of the button with which a voter withdraws their own vote."""
WITHDRAW = N_("Withdraw request")
"""Label of the button with which the requester ends a decision of several people."""
EVERYTHING = N_("Show everything")
"""Label of the button that shows `Card.details`."""
ENDINGS: Final[Mapping[OutcomeStatus, str]] = {
    "answered": N_("✓ Answered"),
    "cancelled": N_("Cancelled"),
    "declined": N_("Not now"),
    "timed_out": N_("Nobody answered in time"),
    "undeliverable": N_("Could not be delivered"),
}
"""First line of a settled card without an answer of one line."""
DISCUSS = N_("To be discussed first")
"""That line if somebody wants to discuss the question before anybody answers it."""
SHOW_QUESTION = N_("Show question")
"""Label of the button that shows what a settled card leaves out."""
SHOW_QUESTIONS = N_("Show questions")
"""Label of that button on the card of a form with several questions."""
EXPANDING: Final = frozenset({EVERYTHING, SHOW_QUESTION, SHOW_QUESTIONS})
"""Labels of the buttons that only show more text. A card with no other control is settled, or waits for others."""


class Item(Value):
    """One option. Platforms show every text in full."""

    number: int
    """The item's number, from 1."""
    label: str
    description: str | None
    preview: str | None
    image: str | None
    recommended: bool
    chosen: bool

    @property
    def numbered_label(self) -> str:
        """The number and the label, as a list or a menu shows them."""
        return f"{self.number}. {self.label}"


class ReviewLine(Value):
    """One question of a form with its answer so far."""

    index: int
    header: str
    prompt: str
    answer: tuple[str, ...]
    """The chosen labels, then the written text; empty if unanswered."""
    missing: str | None
    """A sentence about what the question still needs; None if it is answered."""


class Ending(Value):
    """The end of the ask, as people read it."""

    status: OutcomeStatus
    at: AwareDatetime
    by: Actor | None
    reason: str | None
    discuss: bool = False

    @property
    def title(self) -> str:
        """The first line of a settled card without an answer of one line."""
        return _(DISCUSS if self.discuss else ENDINGS[self.status])


class Card(Value):
    """One rendering of one ask."""

    ask_id: str
    step: int
    revision: int
    who: Who
    deadline: AwareDatetime | None
    view: Literal["question", "review", "ended"]
    header: str | None
    prompt: str
    """The current question; empty in the review and for an ended form of several questions."""
    excerpt: str
    """The part of its details that the prompt quotes below its first line, to be shown verbatim; empty if none."""
    arguments: Arguments | None
    """The arguments of the tool call that people approve, to be shown instead of the excerpt and what follows it."""
    items: tuple[Item, ...]
    several: bool
    """True if more than one item can be chosen."""
    count_rule: str | None
    """How many items to choose, such as "choose at least 2 options"; None means any number."""
    custom: bool
    """True if an answer can be written."""
    asks_for_text: bool
    """True if there is no option to choose, other than not to answer."""
    written: str | None
    """The written answer so far."""
    unsent: bool
    """True if a rejected text waits to be corrected; a blank text does not count."""
    position: tuple[int, int] | None
    """The question's number among the visible ones, and the number of those. None if no question of a form is shown."""
    is_answered: bool
    """True if the question of a form that is shown has an answer."""
    lines: tuple[ReviewLine, ...]
    can_submit: bool
    can_go_back: bool
    can_go_on: bool
    can_review: bool
    can_withdraw: bool
    """True if a requester can end a decision of several people."""
    can_decline: bool
    """True if a person can leave it for now: discuss it, be reminded of it, or cancel it."""
    tally: VoteCount | None
    """The votes so far, if several people decide."""
    reminders: tuple[PersonalReminder, ...]
    """The reminders that people asked for, in the order of their times. Empty once it has ended."""
    details: str | None
    """The full text that the card shows only in part, for people who ask to see it. Never of a settled decision."""
    ending: Ending | None
    language: Language = ENGLISH
    """The language of the words that askback adds. A platform draws the card under `use_language`."""

    @property
    def write_label(self) -> str:
        """The label of the button that opens the text field."""
        if self.written is not None or self.unsent:
            return _(EDIT_TEXT)
        return _(WRITE_ANSWER if self.asks_for_text else SOMETHING_ELSE)

    @property
    def show_label(self) -> str:
        """The label of the button that shows what the settled card leaves out."""
        return _(SHOW_QUESTION if self.prompt else SHOW_QUESTIONS)

    @property
    def has_distinct_labels(self) -> bool:
        """True if the options can be told apart, and read, by their labels on one line each."""
        labels = [to_single_line(item.label) for item in self.items]
        return len(set(labels)) == len(labels) and all(any(map(str.isprintable, label)) for label in labels)

    @property
    def has_line_options(self) -> bool:
        """True if a label and a description, each on one line, say all about every option."""
        texts = [text for item in self.items for text in (item.label, item.description) if text is not None]
        return (
            bool(self.items)
            and not any(item.preview or item.image for item in self.items)
            and self.has_distinct_labels
            and all(to_single_line(text) == text for text in texts)
        )

    @property
    def is_described(self) -> bool:
        """True if an option has a description."""
        return any(item.description for item in self.items)

    @property
    def is_plain_choice(self) -> bool:
        """True if one line for each option, its label, says all about the options, of which one can be chosen."""
        return not self.several and not self.is_described and self.has_line_options

    @property
    def next_missing(self) -> int | None:
        """Index of the first question that a review finds unanswered; None if all are answered."""
        if self.view != "review":
            return None
        return next((line.index for line in self.lines if line.missing is not None), None)

    @property
    def is_compact(self) -> bool:
        """True if the card is settled and shrinks to the answer, the question, the person and the time.

        A decision of several people keeps its full text, which is its record.
        """
        return self.view == "ended" and self.tally is None

    @property
    def title(self) -> str:
        """The question as one line of a settled card: its first line, cut if it is long."""
        return _get_first_line(self.prompt)

    @property
    def result(self) -> str | None:
        """The answer of a settled question if it is one short line; None if it is longer, or if there is none."""
        if self.ending is None or self.ending.status != "answered" or not self.prompt:
            return None
        answers = [answer for line in self.lines for answer in line.answer]
        if len(answers) != 1 or len(answers[0]) > LONGEST_RESULT:
            return None
        return answers[0] if _is_readable_line(answers[0]) else None

    def is_folded(self, *, buttons_enough: bool) -> bool:
        """Return True if the settled card leaves out a part of the question. It then has a button that shows it.

        `buttons_enough` is True if the platform's buttons showed the whole of each option, so that their labels say
        everything about them.
        """
        if not self.is_compact:
            return False
        is_short = bool(self.prompt) and self.prompt == self.title and self.details is None
        return not is_short or (bool(self.items) and not buttons_enough)

    @property
    def can_undo(self) -> bool:
        """True if somebody has voted and the vote is open, so that voters can undo their votes."""
        return self.ending is None and self.tally is not None and bool(self.tally.votes)

    @property
    def parts(self) -> tuple[str, str, str]:
        """The three parts of the prompt: the question, the excerpt, and the text below the excerpt."""
        if not self.excerpt:
            return self.prompt, "", ""
        asked, _line, rest = self.prompt.partition("\n")
        return asked, self.excerpt, rest[len(self.excerpt) :].strip("\n")

    @property
    def heading(self) -> str | None:
        """The question as a heading, or the part of it above the excerpt. None if it is not one short line."""
        asked = self.parts[0]
        # Each click draws a card, so a long prompt is not examined.
        if len(asked) > LONGEST_HEADING or not _is_readable_line(asked):
            return None
        return asked if count_utf16_units(to_literal(asked)) <= LONGEST_HEADING else None

    @property
    def description(self) -> str:
        """The question as plain text, with the arguments of the tool call as lines below it."""
        return self.prompt if self.arguments is None else f"{self.parts[0]}\n{self.arguments.describe()}"


def _is_readable_line(text: str) -> bool:
    """Return True if the text is one line, and something of it can be seen."""
    return to_single_line(text) == text and any(map(str.isprintable, text))


def build_card(ask_id: str, interview: Interview, policy: Policy) -> Card:
    """Return the card for the current state of an interview, in the language of its policy."""
    with use_language(policy.language):
        return _build_card(ask_id, interview, policy)


def _build_card(ask_id: str, interview: Interview, policy: Policy) -> Card:
    asking = interview.phase == "asking"
    shown = asking or interview.form.is_single
    question, draft = interview.question, interview.draft
    visible = interview.visible
    several_questions = not interview.form.is_single
    outcome, approval = interview.outcome, policy.approval
    excerpt = get_excerpt(question) if shown else ""
    # Only the prompt of a tool call quotes arguments: other details may look like some.
    quotes_arguments = bool(excerpt) and approval is not None and approval.subject is not None
    arguments = parse_arguments(question.details or "") if quotes_arguments else None
    is_partial = question.has_hidden_details or (arguments is not None and not arguments.is_whole)
    return Card(
        ask_id=ask_id,
        step=interview.step,
        revision=interview.revision,
        who=policy.deciders,
        deadline=policy.deadline,
        view="ended" if outcome is not None else "question" if asking else "review",
        header=(interview.form.get_header(interview.current) if several_questions else question.header)
        if shown
        else None,
        prompt=question.prompt if shown else "",
        excerpt=excerpt,
        arguments=arguments,
        items=_build_items(question, draft.chosen) if shown else (),
        several=shown and question.multi_select,
        count_rule=question.describe_count() if asking else None,
        custom=asking and question.allow_custom,
        asks_for_text=all(option.value == NO_ANSWER for option in question.options),
        written=draft.text if shown else None,
        unsent=asking and draft.unsent is not None and bool(draft.unsent.strip()),
        position=(visible.index(interview.current) + 1, len(visible)) if asking and several_questions else None,
        is_answered=asking and several_questions and interview.is_answered(interview.current),
        lines=_build_review(interview) if not asking else (),
        can_submit=(interview.phase == "reviewing" and not interview.missing)
        or (asking and not several_questions and (question.multi_select and bool(question.options))),
        can_go_back=several_questions
        and (interview.phase == "reviewing" or (asking and interview.current > visible[0])),
        can_go_on=several_questions and asking,
        can_review=several_questions and asking and any(map(interview.is_answered, visible)),
        can_withdraw=approval is not None and bool(approval.requesters),
        can_decline=approval is None,
        tally=None if approval is None else count_votes(interview, policy, approval),
        reminders=tuple(sorted(policy.personal_reminders, key=lambda reminder: reminder.at)) if outcome is None else (),
        details=question.details if shown and is_partial and (outcome is None or approval is None) else None,
        ending=None
        if outcome is None
        else Ending(
            status=outcome.status, at=outcome.at, by=outcome.by, reason=outcome.reason, discuss=outcome.discuss
        ),
        language=policy.language,
    )


def format_position(position: tuple[int, int]) -> str:
    """Return the position of something among several, such as "1 of 3"."""
    return _("{number} of {count}").format(number=position[0], count=position[1])


def get_form_title(card: Card) -> str:
    """Return the questions of a settled form in one line. If some are answered, their answers name them below."""
    if any(line.answer for line in card.lines) or not card.lines:
        count = len(card.lines)
        return ngettext("{count} question", "{count} questions", count).format(count=count)
    more = len(card.lines) - 1
    title = get_line_title(card.lines[0])
    return _("{title} and {count} more").format(title=title, count=more)


def get_line_title(line: ReviewLine) -> str:
    """Return a question of a settled form as one line, cut if it is long."""
    return _get_first_line(line.prompt)


def _get_first_line(prompt: str) -> str:
    return fit_line(next((line for line in prompt.splitlines() if line.strip()), ""), LONGEST_TITLE)


def list_others(card: Card) -> tuple[str, tuple[str, ...]]:
    """Return a caption, and the labels of the options that a settled question did not end with."""
    if card.ending is None or card.ending.status != "answered":
        return _("Options: "), tuple(item.label for item in card.items)
    return _("Not chosen: "), tuple(item.label for item in card.items if not item.chosen)


def get_excerpt(question: Question) -> str:
    """Return the part of its details that the prompt quotes below its first line. Only the last line may be cut."""
    asked, _line, rest = question.prompt.partition("\n")
    first = rest.partition("\n")[0]
    if question.details is None or not asked.strip() or not first.strip() or not question.details.startswith(first):
        return ""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(rest, question.details, strict=False))
    return rest[: sum(1 for _pair in same)].rstrip()


def _build_items(question: Question, chosen: tuple[int, ...]) -> tuple[Item, ...]:
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


def _build_review(interview: Interview) -> tuple[ReviewLine, ...]:
    return tuple(
        ReviewLine(
            index=index,
            header=interview.form.get_header(index),
            prompt=interview.form.questions[index].prompt,
            answer=interview.answer(index).labels if interview.drafts[index].is_answer else (),
            missing=_describe_missing(interview, index),
        )
        for index in interview.visible
    )


def _describe_missing(interview: Interview, index: int) -> str | None:
    if interview.is_answered(index):
        return None
    problem = interview.find_count_problem(index)
    return _("Not answered yet") if problem is None else _("Not answered yet: {problem}").format(problem=problem)
