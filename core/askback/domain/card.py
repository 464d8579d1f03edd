"""The platform-independent form of a card: its texts and controls."""

from __future__ import annotations

__all__ = [
    "LONGEST_NAMED",
    "Card",
    "Item",
    "build_card",
    "format_position",
    "get_excerpt",
]

from itertools import takewhile
from typing import NamedTuple

from pydantic import AwareDatetime

from askback.domain.arguments import Argument, Arguments, parse_arguments
from askback.domain.ask_policy import PersonalReminder, Policy
from askback.domain.caller_absence import Absence, settle_absence
from askback.domain.card_ending import Ending, build_ending
from askback.domain.card_item import Item, build_items
from askback.domain.card_labels import EVERYTHING, SHOW_QUESTION, SHOW_QUESTIONS
from askback.domain.card_texts import CardTexts
from askback.domain.change_line import ChangeLine, build_change_lines
from askback.domain.choice_words import Picks
from askback.domain.edit_rules import EditRules
from askback.domain.file_field import CHOOSE_FILE, CHOOSE_FILES, describe_file_rules
from askback.domain.file_rules import FileRules
from askback.domain.form import Question
from askback.domain.form_fields import FieldQuestions, find_open_questions
from askback.domain.interview import Interview
from askback.domain.outcome import Outcome, Picked
from askback.domain.reserved_options import NO_ANSWERS
from askback.domain.review_line import LONGEST_QUOTED, build_review
from askback.domain.settled_title import get_first_line
from askback.domain.timeout_words import TimeoutNotice, build_notice
from askback.domain.voting import VoteCount, count_votes
from askback.domain.who import Who
from askback.text.literal import (
    count_utf16_units,
    fit_line,
    is_readable_line,
    is_single_line,
    to_literal,
    to_single_line,
)
from askback.text.unseen import has_visible_text
from askback.translations.catalogue import ENGLISH, Language, _, use_language
from askback.translations.sentences import capitalize_first, end_sentence

LONGEST_NAMED = 60
"""Maximum number of characters of an option's label in a sentence about it."""
LONGEST_CALLER = 40
"""Maximum number of characters of the name of the program that asks."""
LONGEST_HEADING = 150
"""Maximum number of UTF-16 units of a question that is a heading. A longer one is a paragraph."""
LONGEST_CALL = 200
"""Maximum number of characters of a tool call's arguments on its settled card. "Show question" shows longer ones."""
LONGEST_RESULT = 150
"""Maximum number of characters of an answer that is the first line of its settled card. A longer one is quoted."""


class PromptParts(NamedTuple):
    """The parts of a question's text, in their order."""

    asked: str
    """Its first line if there is an excerpt, or else all of it."""
    above: str
    """The text between that line and the excerpt."""
    excerpt: str
    """The part of its details that it quotes."""
    below: str
    """The text below the excerpt."""


class Card(CardTexts):
    """One rendering of one ask."""

    ask_id: str
    step: int
    revision: int
    who: Who
    deadline: AwareDatetime | None
    timeout: TimeoutNotice | None
    """The announcement about its deadline. None if a timeout is only reported, or once it has ended."""
    form_title: str | None
    """The heading above the questions of the form."""
    header: str | None
    prompt: str
    """The current question with its help text below it; empty in the review, and for an ended form of several."""
    help_text: str | None
    """The help text of the current question."""
    excerpt: str
    """The part of its details that the prompt quotes, to be shown verbatim; empty if none."""
    arguments: Arguments | None
    """The arguments of the tool call that people approve, to be shown instead of the excerpt and what follows it."""
    items: tuple[Item, ...]
    picks: Picks | None
    """The things that people pick from the platform's own list. The card then has no items."""
    picked: tuple[Picked, ...]
    """The people or channels that are picked so far."""
    several: bool
    """True if more than one of them can be chosen."""
    max_choices: int | None
    """The largest number of them; None means any number."""
    count_rule: str | None
    """The number of options to choose, such as "choose at least 2 options"; None means any number."""
    text_rule: str | None
    """The limits of a number that people write, in sentences; None if it has none."""
    file_rules: FileRules | None
    """The number and the kinds of the files that the question asks for; None if it asks for none. It has no items."""
    files: tuple[str, ...]
    """The names and sizes of the files that were given so far."""
    position: tuple[int, int] | None
    """The question's number among the visible ones, and the number of those. None if no question of a form is shown."""
    is_answered: bool
    """True if the question of a form that is shown has an answer."""
    can_submit: bool
    can_go_back: bool
    can_go_on: bool
    can_review: bool
    together: FieldQuestions | None
    """The questions that can be answered at once. None if fewer than two of them are left."""
    can_withdraw: bool
    """True if a requester can end a decision of several people."""
    can_decline: bool
    """True if a person can leave it for now: discuss it, be reminded of it, or cancel it."""
    can_remind: bool
    """True if those who decide together can be reminded of it."""
    tally: VoteCount | None
    """The votes so far, if several people decide."""
    is_call: bool
    """True if they decide about a tool call. The labels of its options are askback's own."""
    reminders: tuple[PersonalReminder, ...]
    """The reminders that people asked for, in the order of their times. Empty once it has ended."""
    details: str | None
    """The full text that the card shows only in part, for people who ask to see it."""
    ending: Ending | None
    edited: FieldQuestions | None = None
    """The arguments that people may change, as the questions of one modal. None if they can change none.

    A settled card has them, too: they name the texts of a change that comes too late.
    """
    edit_problem: str | None = None
    """The reason why they can change none, although the tool allows it."""
    changes: tuple[ChangeLine, ...] = ()
    """The arguments that people changed, as lines."""
    absence: Absence | None = None
    """The reason why no program waits for the answer, or has received it. None if one does, or has."""
    caller: str | None = None
    """The program that asked, in a few words. None if it has no name."""
    language: Language = ENGLISH
    """The language of the words that askback adds. A platform draws the card under `use_language`."""

    @property
    def choose_label(self) -> str:
        """The label of the button that opens the field for files."""
        several = self.file_rules is not None and self.file_rules.max > 1
        return _(CHOOSE_FILES if several else CHOOSE_FILE)

    @property
    def rule(self) -> str | None:
        """A sentence on how many options to choose, which files to give, or which numbers to write. None means any."""
        if self.file_rules is not None:
            return describe_file_rules(self.file_rules)
        return self.text_rule if self.count_rule is None else end_sentence(capitalize_first(self.count_rule))

    @property
    def show_label(self) -> str:
        """The label of the button that shows what the settled card leaves out."""
        if self.hides_text:
            return _(EVERYTHING)
        return _(SHOW_QUESTION if self.prompt else SHOW_QUESTIONS)

    @property
    def has_distinct_labels(self) -> bool:
        """True if the options can be told apart, and read, by their labels on one line each."""
        labels = [to_single_line(item.label) for item in self.items]
        return len(set(labels)) == len(labels) and all(has_visible_text(item.label) for item in self.items)

    @property
    def has_line_options(self) -> bool:
        """True if a label and a description, each on one line, say all about every option."""
        texts = [text for item in self.items for text in (item.label, item.description) if text is not None]
        return (
            bool(self.items)
            and not any(item.preview or item.image for item in self.items)
            and self.has_distinct_labels
            and all(map(is_single_line, texts))
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
    def is_compact(self) -> bool:
        """True if the card is settled and shrinks to the answer, the question, the people and the time."""
        return self.view == "ended"

    @property
    def title(self) -> str:
        """The question as one line of a settled card: its first line, cut if it is long."""
        return get_first_line(self.prompt)

    @property
    def settled_picks(self) -> tuple[Picked, ...]:
        """The people or channels with which a settled question was answered. They are its first line."""
        return self.picked if self.ending is not None and self.ending.status == "answered" else ()

    @property
    def names_picked(self) -> bool:
        """True if the card names people or channels who are an answer."""
        return bool(self.settled_picks) or any(line.picked for line in self.lines)

    @property
    def has_result(self) -> bool:
        """True if the first line of the settled card is the answer."""
        return bool(self.settled_picks) or self.result is not None

    @property
    def result(self) -> str | None:
        """The answer of a settled question if it is one short line; None if it is longer, or if there is none."""
        if self.settled_picks or self.ending is None or self.ending.status != "answered" or not self.prompt:
            return None
        answers = [answer for line in self.lines for answer in line.answer]
        if len(answers) != 1 or len(answers[0]) > LONGEST_RESULT:
            return None
        return answers[0] if is_readable_line(answers[0]) else None

    @property
    def short_arguments(self) -> tuple[Argument, ...]:
        """The arguments of a tool call that one line of the settled card shows in full; empty if it does not."""
        if self.arguments is None or not self.arguments.is_whole or self.details is not None:
            return ()
        rows = self.arguments.rows
        # A back-tick may end a text in monospace.
        if any(row.is_block or "`" in row.value for row in rows):
            return ()
        return rows if sum(len(row.name) + len(row.value) for row in rows) <= LONGEST_CALL else ()

    @property
    def settled_arguments(self) -> tuple[Argument, ...]:
        """Those of `short_arguments` that people did not change. The changed ones have a line each."""
        changed = {line.name for line in self.changes}
        return tuple(row for row in self.short_arguments if row.name not in changed)

    @property
    def result_note(self) -> str | None:
        """The note that follows the result; None if it is quoted below, or if there is none."""
        result = self.result
        note = None if result is None else self.lines[0].note
        if result is None or note is None or len(result) + len(note) > LONGEST_RESULT:
            return None
        return note if is_readable_line(note) else None

    @property
    def quotations(self) -> tuple[str, ...]:
        """The texts that the settled card of one question quotes below its first lines."""
        if self.ending is None or not self.prompt or not self.lines:
            return ()
        if self.ending.status != "answered" and not self.ending.lists_defaults:
            return ()
        if self.result is None:
            return self.lines[0].quoted
        return self.lines[0].quoted_note if self.result_note is None else ()

    def is_folded(self, *, buttons_enough: bool) -> bool:
        """Return True if the settled card leaves out a part of the question. It then has a button that shows it.

        `buttons_enough` is True if the platform's buttons showed the whole of each option, so that their labels say
        everything about them.
        """
        if not self.is_compact:
            return False
        asked = self.parts.asked if self.short_arguments and not self.parts.above else self.prompt
        is_short = bool(asked) and asked == self.title and self.details is None and self.form_title is None
        return not is_short or self.hides_text or (bool(self.items) and not buttons_enough)

    @property
    def can_undo(self) -> bool:
        """True if somebody has voted and the vote is open, so that voters can undo their votes."""
        return self.ending is None and self.tally is not None and bool(self.tally.votes)

    @property
    def parts(self) -> PromptParts:
        """The parts of the prompt."""
        if not self.excerpt:
            asked = self.prompt if self.help_text is None else self.prompt.removesuffix(f"\n{self.help_text}")
            return PromptParts(asked, "", "", self.help_text or "")
        asked, _line, rest = self.prompt.partition("\n")
        at = 0 if rest.startswith(self.excerpt) else rest.rfind(self.excerpt)
        return PromptParts(asked, rest[:at].strip("\n"), self.excerpt, rest[at + len(self.excerpt) :].strip("\n"))

    @property
    def heading(self) -> str | None:
        """The title of the form, or else the question above its excerpt. None if that is not one short line."""
        if self.form_title is not None:
            return self.form_title
        asked = self.parts.asked
        # Each click draws a card, so a long prompt is not examined.
        if len(asked) > LONGEST_HEADING or not is_readable_line(asked):
            return None
        return asked if count_utf16_units(to_literal(asked)) <= LONGEST_HEADING else None

    @property
    def asks_in_heading(self) -> bool:
        """True if the heading is the question."""
        return self.form_title is None and self.heading is not None

    @property
    def description(self) -> str:
        """The question as plain text, with the arguments of the tool call as lines below it."""
        if self.arguments is None:
            return self.prompt
        return "\n".join(filter(None, (self.parts.asked, self.parts.above, self.arguments.describe())))


def build_card(ask_id: str, interview: Interview, policy: Policy, absence: Absence | None = None) -> Card:
    """Return the card for the current state of an interview, in the language of its policy."""
    with use_language(policy.language):
        return _build_card(ask_id, interview, policy, absence)


def _build_card(ask_id: str, interview: Interview, policy: Policy, absence: Absence | None) -> Card:
    asking = interview.phase == "asking"
    shown = asking or interview.form.is_single
    question, draft = interview.question, interview.draft
    visible = interview.visible
    several_questions = not interview.form.is_single
    outcome, approval = interview.outcome, policy.approval
    edits = None if approval is None else approval.edits
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
        timeout=None if outcome is not None or policy.deadline is None else build_notice(interview, policy.on_timeout),
        view="ended" if outcome is not None else "question" if asking else "review",
        header=question.header if shown else None,
        form_title=interview.form.title,
        prompt=question.whole_prompt if shown else "",
        help_text=question.help_text if shown else None,
        excerpt=excerpt,
        arguments=arguments,
        items=build_items(question, draft.chosen) if shown else (),
        picks=question.picks if shown else None,
        picked=draft.picked if shown else (),
        several=shown and question.multi_select,
        max_choices=question.max_choices if shown else None,
        count_rule=question.describe_count() if asking and question.files is None else None,
        text_rule=question.rules.describe()
        if asking and question.allow_custom and (question.rules.is_limited_number or question.rules.lines is not None)
        else None,
        file_rules=question.files if asking else None,
        files=tuple(file.label for file in draft.files) if asking else (),
        custom=asking and question.allow_custom,
        takes_note=asking and question.allow_note,
        asks_for_text=question.picks is None
        and question.files is None
        and all(option.value in NO_ANSWERS for option in question.options),
        written=draft.text if shown else None,
        note=draft.note if shown else None,
        can_hide_text=shown and question.allow_custom and question.rules.longest > LONGEST_QUOTED,
        unsent=asking and draft.unsent is not None and has_visible_text(draft.unsent),
        position=(visible.index(interview.current) + 1, len(visible)) if asking and several_questions else None,
        is_answered=asking and several_questions and interview.is_answered(interview.current),
        lines=build_review(interview) if not asking else (),
        can_submit=(interview.phase == "reviewing" and not interview.missing)
        or (asking and not several_questions and question.takes_several),
        can_go_back=several_questions
        and (interview.phase == "reviewing" or (asking and interview.current > visible[0])),
        can_go_on=several_questions and asking,
        can_review=several_questions and asking and any(map(interview.is_answered, visible)),
        together=find_open_questions(interview) if asking and several_questions else None,
        can_withdraw=approval is not None and bool(approval.requesters),
        can_decline=approval is None,
        can_remind=approval is not None,
        tally=None if approval is None else count_votes(interview, policy, approval),
        is_call=approval is not None and approval.subject is not None,
        reminders=tuple(sorted(policy.personal_reminders, key=lambda reminder: reminder.at)) if outcome is None else (),
        details=question.details if shown and is_partial else None,
        edited=_list_edited(edits, policy),
        edit_problem=None if edits is None or outcome is not None else edits.problem,
        changes=build_change_lines(interview.changes),
        ending=None if outcome is None else build_ending(interview, outcome),
        absence=_get_absence(absence, outcome),
        caller=None if policy.caller is None else _describe_caller(policy.caller),
        language=policy.language,
    )


def _get_absence(absence: Absence | None, outcome: Outcome | None) -> Absence | None:
    """Return what the card says about the program that asked. It need not receive an end without an answer."""
    if outcome is None:
        return absence
    return settle_absence(absence) if outcome.status == "answered" else None


def _describe_caller(name: str) -> str:
    return _("for {caller}").format(caller=fit_line(to_single_line(name), LONGEST_CALLER))


def _list_edited(edits: EditRules | None, policy: Policy) -> FieldQuestions | None:
    """Return the arguments that people may change. None if they may change none.

    Nobody approves alone what they have changed, so a single approver may not change anything.
    """
    if edits is None or edits.form is None or not (edits.alone or policy.has_several_deciders):
        return None
    questions = edits.form.questions
    return FieldQuestions(indexes=tuple(range(len(questions))), questions=questions, is_whole=True)


def format_position(position: tuple[int, int]) -> str:
    """Return the position of something among several, such as "1 of 3"."""
    return _("{number} of {count}").format(number=position[0], count=position[1])


def get_excerpt(question: Question) -> str:
    """Return the part of its details that the prompt quotes. Only the last line may be cut.

    It is below the first line of the prompt, or below further text with a blank line before and after it.
    """
    asked, _line, rest = question.prompt.partition("\n")
    if question.details is None or not asked.strip():
        return ""
    if rest.startswith("\n"):
        at = rest.rfind(f"\n\n{question.details.partition(chr(10))[0]}\n")
        rest = "" if at < 0 else rest[at + 2 :]
    first = rest.partition("\n")[0]
    if not first.strip() or not question.details.startswith(first):
        return ""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(rest, question.details, strict=False))
    return rest[: sum(1 for _pair in same)].rstrip()
