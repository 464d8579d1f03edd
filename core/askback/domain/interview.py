"""How far a form has come. Pure: `step(interview, action) -> interview`.

Two counters tell what a click saw. `turn` goes up when the interview moves to another position, and
an action from an earlier turn changes nothing, unless it ends the whole ask. `revision` goes up with
every change that people can see, and orders the drawings of the card.
"""

from __future__ import annotations

__all__ = [
    "LONGEST_REASON",
    "Closed",
    "Draft",
    "Incomplete",
    "Interview",
    "Mark",
    "NotPossible",
    "Phase",
    "Stale",
    "counted",
    "has_counted",
    "settle",
    "start",
    "step",
]

from typing import Literal

from askback.domain.actions import (
    Action,
    Back,
    Cancel,
    Choose,
    Decline,
    Deed,
    Erase,
    GoTo,
    Look,
    Next,
    Open,
    Postpone,
    Review,
    Select,
    Submit,
    Write,
)
from askback.domain.form import Answer, Choice, Form, Outcome, Question, Vote
from askback.errors import PersonError
from askback.internal.values import Value

Phase = Literal["asking", "reviewing", "closed"]

LONGEST_REASON = 1000
"""Characters of the sentence that goes with a decline, after trimming."""

KEPT_DELIVERIES = 20
"""How many clicks that counted are remembered by the platform's names for them."""

KEPT_FOR_EACH_VOTE = 4
"""The same where several people decide, for each who has."""

KEPT_MARKS = 50
"""How many drawings of one question are remembered with what people ticked on them."""


class Stale(PersonError):
    """The step that was clicked has passed."""


class Closed(PersonError):
    """The ask is over."""


class Incomplete(PersonError):
    """Something is still unanswered."""


class NotPossible(PersonError):
    """The question does not offer what was done; no card of ours shows such a control."""


class Mark(Value):
    """What one person's screen last showed as ticked on one drawing.

    Kept until the interview moves: what is delivered twice, or late, is recognised by it.
    """

    who: str
    revision: int
    order: float | None
    chosen: tuple[int, ...]


class Draft(Value):
    """What was put down for one question so far."""

    chosen: tuple[int, ...] = ()
    text: str | None = None
    """A written answer that keeps the rules."""
    unsent: str | None = None
    """A written answer that does not, kept so that it can be mended."""
    marks: tuple[Mark, ...] = ()
    seen: bool
    """Whether people had the question before them."""

    @property
    def is_answer(self) -> bool:
        return bool(self.chosen) or self.text is not None


class Interview(Value):
    """A form on its way. `drafts` run parallel to the form's questions."""

    form: Form
    drafts: tuple[Draft, ...]
    current: int = 0
    phase: Phase = "asking"
    turn: int = 0
    revision: int = 0
    outcome: Outcome | None = None
    votes: tuple[Vote, ...] = ()
    """Where several people decide: one for each who did, in the order in which they did."""
    deliveries: tuple[str, ...] = ()
    """The clicks that counted, those that came last: a platform may deliver one again, also to another process."""

    @property
    def question(self) -> Question:
        """The current question; in the review, the last one visited."""
        return self.form.questions[self.current]

    @property
    def draft(self) -> Draft:
        return self.drafts[self.current]

    @property
    def visible(self) -> tuple[int, ...]:
        """The questions that the answers so far call for."""
        shown: list[int] = []
        for index, question in enumerate(self.form.questions):
            condition = question.show_if
            if condition is not None:
                earlier = self.form.index(condition.question)
                if earlier not in shown or not self._meets(earlier, condition.any_of):
                    continue
            shown.append(index)
        return tuple(shown)

    @property
    def missing(self) -> tuple[int, ...]:
        """The visible questions without an answer."""
        return tuple(index for index in self.visible if not self.drafts[index].is_answer)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers so far, of visible questions only."""
        return tuple(self.answer(index) for index in self.visible if self.drafts[index].is_answer)

    def answer(self, index: int) -> Answer:
        """What was put down for one question. Raises `InvalidValue` where nothing was."""
        question, draft = self.form.questions[index], self.drafts[index]
        choices = tuple(
            Choice(index=i, value=question.options[i].value, label=question.options[i].label) for i in draft.chosen
        )
        return Answer(question_id=question.id, choices=choices, text=draft.text)

    def _meets(self, index: int, any_of: tuple[str, ...]) -> bool:
        draft = self.drafts[index]
        if not any_of:
            return draft.is_answer
        options = self.form.questions[index].options
        return any(options[i].value in any_of for i in draft.chosen)


def start(form: Form) -> Interview:
    """The interview of a form that nobody has touched."""
    drafts = tuple(
        Draft(
            chosen=tuple(i for i, option in enumerate(question.options) if option.value in question.default),
            seen=index == 0,
        )
        for index, question in enumerate(form.questions)
    )
    return Interview(form=form, drafts=drafts)


def step(interview: Interview, action: Action) -> Interview:
    """The interview after one action.

    Raises `Closed`, `Stale`, `Incomplete` or `NotPossible` where the action changes nothing; the text
    is for the person who acted. A written text that breaks the rules is no error: it is kept as
    `unsent`, and `rules.problem` says why. A click that counted already changes nothing, and is no error either.
    """
    if has_counted(interview, action):
        return interview
    return counted(_stepped(interview, action), action)


def counted(interview: Interview, action: Action) -> Interview:
    """The interview, which remembers that this click was applied to it."""
    if action.delivery is None or isinstance(action.deed, Open | Postpone | Look):
        return interview
    # Where many decide, the clicks of the others must not have one forgotten: delivered again, it would undo a change.
    kept = max(KEPT_DELIVERIES, KEPT_FOR_EACH_VOTE * len(interview.votes))
    return interview.evolve(deliveries=(*interview.deliveries, action.delivery)[-kept:])


def has_counted(interview: Interview, action: Action) -> bool:
    """Whether this very click was applied before."""
    return action.delivery is not None and action.delivery in interview.deliveries


def _stepped(interview: Interview, action: Action) -> Interview:
    if interview.phase == "closed":
        raise Closed("This question is closed already. Your click changed nothing.")
    deed = action.deed
    match deed:
        case Cancel():
            return settle(interview, Outcome(status="cancelled", at=action.at, by=action.actor))
        case Decline(reason=reason):
            reason = reason.strip() if reason else ""
            _must(
                len(reason) <= LONGEST_REASON,
                f"Please shorten it to {LONGEST_REASON:,} characters; it has {len(reason):,}.",
            )
            return settle(interview, Outcome(status="declined", at=action.at, by=action.actor, reason=reason or None))
        case Postpone() | Look():
            return interview
        case _:
            pass
    if action.turn != interview.turn:
        raise Stale(
            "That step has passed: the card has moved on. Your click changed nothing; please use the newest card."
        )
    if action.ticks is not None and interview.phase == "asking" and interview.question.multi_select:
        interview = _select(interview, action.ticks, action)
    if interview.phase == "reviewing":
        return _in_review(interview, deed, action)
    return _at_question(interview, deed, action)


def settle(interview: Interview, outcome: Outcome) -> Interview:
    """The interview, ended; one that is over stays as it ended. What people put down stays too."""
    if interview.phase == "closed":
        return interview
    return interview.evolve(
        phase="closed",
        outcome=outcome.evolve(votes=interview.votes),
        turn=interview.turn + 1,
        revision=interview.revision + 1,
    )


def _at_question(interview: Interview, deed: Deed, action: Action) -> Interview:
    question = interview.question
    match deed:
        case Open():
            _must(
                question.allow_custom,
                "Please choose one of the options: a written answer is not asked for here.",
            )
            return interview
        case Choose(index=index):
            _must(not question.multi_select and 0 <= index < len(question.options), "There is no such option.")
            chosen = interview.draft.evolve(chosen=(index,), text=None, unsent=None)
            return _onward(_put(interview, chosen), action)
        case Select():
            _must(question.multi_select, "Only one of these options can be chosen.")
            return _select(interview, deed, action)
        case Write(text=text):
            return _write(interview, text, action)
        case Erase():
            return _put(interview, interview.draft.evolve(text=None, unsent=None))
        case Submit():
            _must(
                interview.form.is_single,
                "Please answer every question first; the review has the Submit button.",
            )
            return _submit(interview, action)
        case Next():
            return _to_next(interview)
        case _:
            return _elsewhere(interview, deed)


def _in_review(interview: Interview, deed: Deed, action: Action) -> Interview:
    match deed:
        case Submit():
            return _submit(interview, action)
        case Back():
            return _move(interview, interview.visible[-1], "asking")
        case _:
            return _elsewhere(interview, deed)


def _elsewhere(interview: Interview, deed: Deed) -> Interview:
    """The moves that are possible from every position of a form."""
    match deed:
        case GoTo(index=index):
            _must(index in interview.visible, "There is no such question.")
            return _move(interview, index, "asking")
        case Review():
            _must(not interview.form.is_single, "There is nothing to review.")
            return _move(interview, interview.current, "reviewing")
        case Back():
            before = [index for index in interview.visible if index < interview.current]
            _must(bool(before), "This is the first question.")
            return _move(interview, before[-1], "asking")
        case _:
            raise NotPossible("That is not possible here; please use the newest card.")


def _write(interview: Interview, text: str, action: Action) -> Interview:
    question, draft = interview.question, interview.draft
    _must(question.allow_custom, "Please choose one of the options: a written answer is not asked for here.")
    if question.rules.problem(text) is not None:
        return _put(interview, draft.evolve(unsent=text))
    kept = draft.chosen if question.multi_select else ()
    written = _put(interview, draft.evolve(chosen=kept, text=text.strip(), unsent=None))
    return written if question.multi_select and question.options else _onward(written, action)


def _select(interview: Interview, deed: Select, action: Action) -> Interview:
    """Apply what a person ticked and unticked, not what their screen showed: ticks of several commute."""
    question, draft = interview.question, interview.draft
    if not all(0 <= index < len(question.options) for index in (*deed.chosen, *(deed.base or ()))):
        raise NotPossible("There is no such option.")
    who = f"{action.actor.platform}:{action.actor.id}"
    if deed.revision is None and deed.order is not None:
        # Without the drawing, only the time tells what came before, or came already.
        times = [mark.order for mark in draft.marks if mark.who == who and mark.order is not None]
        if times and deed.order <= max(times):
            return interview
    revision = interview.revision if deed.revision is None else deed.revision
    shown, base = set(deed.chosen), set(draft.chosen if deed.base is None else deed.base)
    marks = {(mark.who, mark.revision): mark for mark in draft.marks}
    mark = marks.get((who, revision))
    if mark is not None:
        # They clicked before their screen was redrawn: what it showed is what they last sent.
        if deed.order is not None and mark.order is not None and deed.order < mark.order:
            return interview
        base = set(mark.chosen)
    chosen = tuple(sorted((set(draft.chosen) | (shown - base)) - (base - shown)))
    marks[who, revision] = Mark(who=who, revision=revision, order=deed.order, chosen=tuple(sorted(shown)))
    return _put(interview, draft.evolve(chosen=chosen, marks=tuple(marks.values())[-KEPT_MARKS:]))


def _submit(interview: Interview, action: Action) -> Interview:
    missing = interview.missing
    if missing and interview.form.is_single:
        also = ", or write an answer" if interview.question.allow_custom else ""
        raise Incomplete(f"Please choose at least one option{also}, then submit.")
    if missing:
        names = ", ".join(interview.form.header(index) for index in missing)
        raise Incomplete(f"Not answered yet: {names}. Please answer, then submit.")
    return settle(interview, Outcome(status="answered", at=action.at, by=action.actor, answers=interview.answers))


def _onward(interview: Interview, action: Action) -> Interview:
    """After an answer: the end for a single question; else the next one, or the review if nothing is left.

    A question that only its default answers is left until people had it before them.
    """
    if interview.form.is_single:
        return _submit(interview, action)
    if not interview.missing and all(interview.drafts[index].seen for index in interview.visible):
        return _move(interview, interview.current, "reviewing")
    return _to_next(interview)


def _to_next(interview: Interview) -> Interview:
    _must(not interview.form.is_single, "There is only one question.")
    after = [index for index in interview.visible if index > interview.current]
    if after:
        return _move(interview, after[0], "asking")
    return _move(interview, interview.current, "reviewing")


def _move(interview: Interview, current: int, phase: Phase) -> Interview:
    left = _with_draft(interview, interview.current, interview.draft.evolve(marks=()))
    come = _with_draft(left, current, left.drafts[current].evolve(seen=True))
    return come.evolve(current=current, phase=phase, turn=interview.turn + 1, revision=interview.revision + 1)


def _put(interview: Interview, draft: Draft) -> Interview:
    """Another draft of the current question. What only the marks tell is nothing to see."""
    if draft == interview.draft:
        return interview
    unseen = {"marks": ()}
    seen = draft.__dict__ | unseen != interview.draft.__dict__ | unseen
    return _with_draft(interview, interview.current, draft, revision=interview.revision + seen)


def _with_draft(interview: Interview, index: int, draft: Draft, **changes: int) -> Interview:
    return interview.evolve(drafts=(*interview.drafts[:index], draft, *interview.drafts[index + 1 :]), **changes)


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NotPossible(otherwise)
