"""Three people who click on cards of different ages of one ask, for the property tests of interviews.

`Room` keeps its own account of their answers, one click at a time, and compares the interview with it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from askback.domain.actions import (
    Action,
    AttachFiles,
    Back,
    Cancel,
    Choose,
    ClearText,
    Decline,
    FieldAnswer,
    GoTo,
    Next,
    OpenTextField,
    Operation,
    Pick,
    Review,
    Select,
    Submit,
    SubmitForm,
)
from askback.domain.actions import SubmitText as WriteIn
from askback.domain.apply_action import Closed, Incomplete, NotPossible, Stale, apply_action
from askback.domain.attached_file import AttachedFile
from askback.domain.card import Card, build_card
from askback.domain.form import Form
from askback.domain.form_fields import find_field_problems, find_field_questions
from askback.domain.identity import Actor
from askback.domain.interview import Draft, Interview, settle, start_interview
from askback.domain.outcome import Picked
from askback.domain.text_field import build_text_field
from askback.errors import PersonError
from support.cases import ANN, BEN, EVERYBODY, NOON, ended
from support.forms import forms, modal_forms

CLEO = Actor(platform="local", tenant="T1", id="U3", name="Cleo")
PEOPLE = (ANN, BEN, CLEO)
OFFERED = 6
"""Number of people or channels that a picker offers here. Each counts as an option, by its number."""
people = st.sampled_from(PEOPLE)
mostly = st.sampled_from([True, True, True, False])
texts = st.sampled_from(
    [
        "", "  \n", "7", " 42 ", "x", "x" * 1000, "x" * 1001, "x" * 4001,
        "@everyone <!channel>", "a\x00b\u202e", "👩‍👩‍👧",
    ]
)  # fmt: skip
notes = st.none() | texts


def to_picked(number: int) -> Picked:
    return Picked(id=f"U{number}", name=f"Person {number}")


def to_file(number: int) -> AttachedFile:
    return AttachedFile(id=f"F{number}", name=f"{number}.txt", size=5)


def numbers_of(picked: tuple[Picked, ...]) -> frozenset[int]:
    return frozenset(int(one.id[1:]) for one in picked)


def get_shown(seen: Select | Pick) -> frozenset[int]:
    """Return the numbers of the options, people or channels that a click reports."""
    return numbers_of(seen.picked) if isinstance(seen, Pick) else frozenset(seen.chosen)


def get_chosen(draft: Draft) -> set[int]:
    assert not (draft.chosen and draft.picked)
    files = (int(file.id[1:]) for file in draft.files)
    return {*draft.chosen, *numbers_of(draft.picked), *files}


def takes_ticks(card: Card) -> bool:
    return card.view == "question" and card.several and (bool(card.items) or card.picks is not None)


@dataclass
class Screen:
    """One person's screen: a card of some age, and the ticks on it since it was drawn."""

    who: Actor
    step: int
    revision: int
    card: Card
    question: int
    base: frozenset[int]
    ticked: frozenset[int]
    heard: frozenset[int]
    """The ticks that were delivered last."""
    heard_at: float = -1.0


@dataclass
class Sent:
    """A click in flight."""

    screen: Screen
    action: Action
    seen: Select | Pick


@dataclass
class Account:
    """The answers of all people to one question, as this test records them."""

    chosen: set[int] = field(default_factory=set[int])
    text: str | None = None
    unsent: str | None = None
    note: str | None = None


class Room(RuleBasedStateMachine):
    """Three people, one ask."""

    @initialize(asked=forms() | modal_forms(largest=3))
    def ask(self, asked: Form) -> None:
        self.form = asked
        self.interview = start_interview(asked)
        self.accounts = [
            Account({i for i, option in enumerate(one.options) if option.value in one.default})
            for one in asked.questions
        ]
        self.clock = itertools.count(1)
        self.under_way: list[Sent] = []
        self.delivered: list[Sent] = []
        self.screens = {person.id: self.screen_of(person) for person in PEOPLE}

    # The room's knowledge

    def screen_of(self, person: Actor) -> Screen:
        now = self.interview
        card = self.card()
        shown = frozenset(item.number - 1 for item in card.items if item.chosen) | numbers_of(card.picked)
        if card.view != "question":
            shown = frozenset[int]()
        return Screen(person, now.step, now.revision, card, now.current, shown, shown, shown)

    def card(self) -> Card:
        return build_card("ask", self.interview, EVERYBODY)

    @property
    def is_asking(self) -> bool:
        return self.interview.phase == "asking"

    def action(self, person: Actor, operation: Operation, step: int, ticks: Select | Pick | None = None) -> Action:
        return Action(ask_id="ask", actor=person, at=NOON, step=step, operation=operation, ticks=ticks)

    def do(self, action: Action) -> type[PersonError] | None:
        """Apply an action; check that a refused one changes nothing, and gives a reason in words."""
        before = self.interview
        try:
            self.interview = apply_action(before, action)
        except PersonError as refused:
            self.check_refusal(before, action, refused)
            return type(refused)
        assert before.phase != "closed"
        assert action.step == before.step or isinstance(action.operation, Cancel | Decline | SubmitForm)
        self.check_counters(before)
        return None

    def check_refusal(self, before: Interview, action: Action, refused: PersonError) -> None:
        kind = type(refused)
        assert str(refused).endswith(".")
        stale = action.step != before.step and not isinstance(action.operation, Cancel | Decline)
        if before.phase == "closed":
            assert kind is Closed
        elif stale:
            assert kind is Stale
        else:
            assert kind in {Incomplete, NotPossible}

    def check_counters(self, before: Interview) -> None:
        """Check that the revision grows with every visible change, and the turn with every move."""
        now = self.interview
        assert now.revision >= before.revision
        assert now.step >= before.step
        was, is_now = (build_card("ask", one, EVERYBODY) for one in (before, now))
        if now.revision == before.revision:
            assert is_now == was
            assert build_text_field("ask", now) == build_text_field("ask", before)
        if (now.phase, now.current) != (before.phase, before.current):
            assert now.step > before.step

    # Actions of people

    @rule(person=people)
    def look(self, person: Actor) -> None:
        """Show the newest card on a person's screen; unsent ticks of the old card disappear."""
        if self.screens[person.id].revision != self.interview.revision:
            self.screens[person.id] = self.screen_of(person)

    @precondition(lambda self: any(takes_ticks(screen.card) for screen in self.screens.values()))
    @rule(data=st.data(), at_once=st.booleans())
    def tick(self, data: st.DataObject, at_once: bool) -> None:
        """Tick or untick one option on a screen of some age; the click may be delayed."""
        able = [screen for screen in self.screens.values() if takes_ticks(screen.card)]
        screen = data.draw(st.sampled_from(able))
        option = data.draw(st.integers(0, (len(screen.card.items) or OFFERED) - 1))
        screen.ticked ^= {option}
        seen = self.ticks(screen)
        if isinstance(seen, Pick):
            seen = seen.evolve(picked=tuple(data.draw(st.permutations(seen.picked))) + seen.picked[:1])
        else:
            seen = seen.evolve(chosen=tuple(data.draw(st.permutations(seen.chosen))) + seen.chosen[:1])
        sent = Sent(screen, self.action(screen.who, seen, screen.step), seen)
        if at_once:
            self.deliver(sent)
        else:
            self.under_way.append(sent)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def arrive(self, data: st.DataObject) -> None:
        """Deliver a click in flight, in any order."""
        sent = data.draw(st.sampled_from(self.under_way))
        self.under_way.remove(sent)
        self.deliver(sent)

    @precondition(lambda self: self.delivered)
    @rule(data=st.data())
    def arrive_again(self, data: st.DataObject) -> None:
        """Deliver any earlier click a second time, and check that nothing changes."""
        sent = data.draw(st.sampled_from(self.delivered))
        before = self.interview
        self.do(sent.action)
        assert self.interview == before

    def deliver(self, sent: Sent) -> None:
        screen, at = sent.screen, self.interview.current
        refused = self.do(sent.action)
        if refused is None:
            assert screen.question == at
            self.note_ticks(screen, sent.seen)
        self.delivered.append(sent)

    def ticks(self, screen: Screen) -> Select | Pick:
        """Return the ticks on the screen, as a platform sends them."""
        order = float(next(self.clock))
        if screen.card.picks is not None:
            picked, base = tuple(map(to_picked, screen.ticked)), tuple(to_picked(one).id for one in screen.base)
            return Pick(picked=picked, base=base, revision=screen.revision, order=order)
        return Select(chosen=tuple(screen.ticked), base=tuple(screen.base), revision=screen.revision, order=order)

    def note_ticks(self, screen: Screen, seen: Select | Pick) -> None:
        """Record this person's changes on this screen since its last click that arrived."""
        order = seen.order
        assert order is not None
        if order < screen.heard_at:
            return
        chosen = self.accounts[screen.question].chosen
        shown = get_shown(seen)
        for option in shown ^ screen.heard:
            (chosen.add if option in shown else chosen.discard)(option)
        screen.heard, screen.heard_at = shown, order

    @precondition(lambda self: self.is_asking and self.interview.question.options)
    @rule(person=people, data=st.data(), note=notes, fresh=mostly)
    def choose(self, person: Actor, data: st.DataObject, note: str | None, fresh: bool) -> None:
        """Choose an option: with its button, or with a note to it in the window."""
        at, count = self.interview.current, len(self.interview.question.options)
        index = data.draw(st.integers(0, count - 1) | st.sampled_from([-1, count, 10**9]))
        before = self.accounts[at]
        if self.press(person, Choose(index=index, note=note), fresh) is not None:
            return
        assert 0 <= index < count
        assert not self.form.questions[at].multi_select
        assert self.form.questions[at].allow_note or not (note or "").strip()
        self.accounts[at] = Account({index})
        if note is None:
            self.accounts[at].note = before.note if before.chosen == {index} else None
        elif len(note.strip()) > 1000:
            self.accounts[at].unsent = note
        else:
            self.accounts[at].note = note.strip() or None

    @precondition(lambda self: self.is_asking and not self.interview.question.multi_select)
    @rule(person=people, picked=st.lists(st.integers(0, OFFERED - 1), max_size=2, unique=True), fresh=mostly)
    def pick(self, person: Actor, picked: list[int], fresh: bool) -> None:
        at = self.interview.current
        if self.press(person, Pick(picked=tuple(map(to_picked, picked))), fresh) is None:
            assert self.form.questions[at].picks is not None
            assert len(picked) == 1
            self.accounts[at] = Account(set(picked))

    @precondition(lambda self: self.is_asking)
    @rule(person=people, count=st.integers(0, 4), fresh=mostly)
    def attach(self, person: Actor, count: int, fresh: bool) -> None:
        at = self.interview.current
        if self.press(person, AttachFiles(files=tuple(map(to_file, range(count)))), fresh) is None:
            rules = self.form.questions[at].files
            assert rules is not None
            assert rules.min <= count <= rules.max
            self.accounts[at] = Account(set(range(count)))

    @rule(person=people, text=texts, fresh=mostly)
    def write(self, person: Actor, text: str, fresh: bool) -> None:
        at = self.interview.current
        asked, account = self.form.questions[at], self.accounts[at]
        if self.press(person, WriteIn(text=text), fresh) is not None:
            return
        assert asked.allow_custom or asked.allow_note
        if not asked.allow_custom or asked.rules.find_problem(text) is not None:
            account.unsent = text
        else:
            account.text, account.unsent = text.strip(), None
            account.note = None
            if not asked.multi_select:
                account.chosen.clear()

    @precondition(lambda self: any(account.text or account.unsent or account.note for account in self.accounts))
    @rule(person=people, fresh=mostly)
    def erase(self, person: Actor, fresh: bool) -> None:
        at = self.interview.current
        if self.press(person, ClearText(), fresh) is None:
            self.accounts[at].text = self.accounts[at].unsent = self.accounts[at].note = None

    @rule(
        person=people,
        operation=st.sampled_from([Next(), Back(), Review(), OpenTextField(), *(GoTo(index=i) for i in range(-1, 6))]),
        fresh=mostly,
    )
    def move(self, person: Actor, operation: Operation, fresh: bool) -> None:
        self.press(person, operation, fresh)

    @precondition(lambda self: not self.form.is_single)
    @rule(person=people)
    def go_to_what_is_missing(self, person: Actor) -> None:
        missing = self.interview.missing
        self.press(person, GoTo(index=missing[0]) if missing else Review(), True)

    @precondition(lambda self: self.interview.phase == "reviewing" or self.form.is_single)
    @rule(person=people, fresh=mostly)
    def submit(self, person: Actor, fresh: bool) -> None:
        before = self.interview
        refused = self.press(person, Submit(), fresh)
        if refused is None:
            assert self.interview.missing == ()
        if refused is Incomplete:
            assert before.missing

    @precondition(lambda self: find_field_questions(self.form) is not None)
    @rule(person=people, data=st.data(), fresh=mostly)
    def send_all(self, person: Actor, data: st.DataObject, fresh: bool) -> None:
        """Send the answers to several questions, from a modal that shows the newest state or the first one."""
        asked = find_field_questions(self.form)
        assert asked is not None
        sent = tuple(
            FieldAnswer(
                index=index,
                chosen=tuple(
                    data.draw(st.sets(st.integers(0, len(one.options) - 1), max_size=1 + 2 * one.multi_select))
                )
                if one.options
                else (),
                picked=tuple(
                    map(to_picked, data.draw(st.sets(st.integers(0, OFFERED - 1), max_size=1 + 2 * one.multi_select)))
                )
                if one.picks
                else (),
                rejected=bool(one.picks) and data.draw(st.sampled_from([False, False, True])),
                writes=bool(one.options) and one.allow_custom and data.draw(st.booleans()),
                text=data.draw(texts) if one.allow_custom or one.allow_note else None,
            )
            for index, one in zip(asked.indexes, asked.questions, strict=True)
        )
        before = self.interview
        operation = SubmitForm(answers=sent, revision=before.revision if fresh else 0)
        if self.do(self.action(person, operation, 0)) is not None:
            assert before.phase == "closed"
            return
        for one in sent:
            account, draft = self.accounts[one.index], self.interview.drafts[one.index]
            text = (one.text or "").strip()
            if one.text is not None or not self.form.questions[one.index].multi_select:
                kept = draft.text or draft.note or (draft.unsent or "").strip()
                assert kept in (text, ""), "no other text appears"
                assert kept == text or not self.form.questions[one.index].allow_note, "a text is never dropped"
                account.text, account.unsent, account.note = draft.text, draft.unsent, draft.note
            account.chosen = {*one.chosen, *numbers_of(one.picked)}
            assert get_chosen(draft) == account.chosen, "every choice is kept"
        problems = find_field_problems(self.interview, operation)
        if self.interview.phase == "asking" and not problems:
            assert self.interview.current not in asked.indexes, "what depends on the answers is next"
        if self.interview.phase == "closed":
            assert not problems
            assert {*self.interview.visible} <= {*asked.indexes}, "nobody answers what nobody saw"

    def press(self, person: Actor, operation: Operation, fresh: bool) -> type[PersonError] | None:
        """Press a button; the ticks on that screen are sent with it."""
        if fresh:
            self.look(person)
        screen = self.screens[person.id]
        ticks: Select | Pick | None = None
        if takes_ticks(screen.card):
            ticks = self.ticks(screen)
        refused = self.do(self.action(person, operation, screen.step, ticks))
        if refused is None and ticks is not None:
            self.note_ticks(screen, ticks)
        return refused

    @precondition(lambda self: len(self.delivered) > 12)
    @rule(person=people, operation=st.sampled_from([Cancel(), Decline(reason="No time.")]))
    def give_up(self, person: Actor, operation: Operation) -> None:
        self.do(self.action(person, operation, 0))
        assert self.interview.phase == "closed"

    @precondition(lambda self: len(self.delivered) > 12)
    @rule()
    def time_out(self) -> None:
        before = self.interview
        self.interview = settle(before, ended("timed_out"))
        if before.phase == "closed":
            assert self.interview == before

    # Invariants

    @invariant()
    def no_draft_is_lost(self) -> None:
        for draft, account in zip(self.interview.drafts, self.accounts, strict=True):
            assert get_chosen(draft) == account.chosen
            assert (draft.text, draft.unsent, draft.note) == (account.text, account.unsent, account.note)

    @invariant()
    def index_and_answer_agree(self) -> None:
        outcome = self.interview.outcome
        for answer in (*self.interview.answers, *(outcome.answers if outcome else ())):
            index = self.form.find_index(answer.question_id)
            assert index is not None
            asked = self.form.questions[index]
            for choice in answer.choices:
                option = asked.options[choice.index]
                assert (choice.value, choice.label) == (option.value, option.label)
            assert len({choice.index for choice in answer.choices}) == len(answer.choices)
            assert len({one.id for one in answer.picked}) == len(answer.picked)
            assert asked.picks is not None or not answer.picked
            if not asked.multi_select:
                assert len(answer.labels) == 1

    @invariant()
    def what_is_written_is_allowed_and_never_blank(self) -> None:
        for index, draft in enumerate(self.interview.drafts):
            asked = self.form.questions[index]
            if draft.unsent is not None:
                assert asked.allow_custom or asked.allow_note
            if draft.note is not None:
                assert asked.allow_note
                assert draft.chosen
                assert draft.text is None
                assert draft.note.strip() == draft.note
                assert 1 <= len(draft.note) <= 1000
            if draft.text is not None:
                assert asked.allow_custom
                assert draft.text.strip() == draft.text
                assert 1 <= len(draft.text) <= asked.rules.max_length
                assert asked.rules.find_problem(draft.text) is None

    @invariant()
    def an_ending_is_typed_and_has_answers_only_if_answered(self) -> None:
        now = self.interview
        assert (now.outcome is not None) == (now.phase == "closed")
        if now.outcome is None:
            return
        if now.outcome.status == "answered":
            assert {answer.question_id for answer in now.outcome.answers} == {
                self.form.questions[index].id for index in now.visible
            }
        else:
            assert now.outcome.answers == ()

    @invariant()
    def the_current_question_is_one_that_is_shown(self) -> None:
        assert self.interview.current in self.interview.visible

    @invariant()
    def the_card_shows_every_option_whole(self) -> None:
        card = self.card()
        now = self.interview
        assert (card.step, card.revision) == (now.step, now.revision)
        if card.view == "question":
            asked = now.question
            assert card.prompt == asked.prompt
            assert [(item.number, item.label) for item in card.items] == [
                (number, option.label) for number, option in enumerate(asked.options, 1)
            ]
            assert [item.chosen for item in card.items] == [i in now.draft.chosen for i in range(len(asked.options))]
            assert (card.picks, card.picked) == (asked.picks, now.draft.picked)
        elif not self.form.is_single:
            assert [(line.index, line.prompt) for line in card.lines] == [
                (index, self.form.questions[index].prompt) for index in now.visible
            ]

    @invariant()
    def everything_survives_json(self) -> None:
        stored = self.interview.model_dump_json()
        assert Interview.model_validate_json(stored) == self.interview
        assert Card.model_validate_json(self.card().model_dump_json()) == self.card()

    @invariant()
    def every_state_can_be_left(self) -> None:
        if self.interview.phase != "closed":
            assert answer_by_what_the_card_offers(self.interview).outcome is not None
            cancelled = apply_action(self.interview, self.action(BEN, Cancel(), self.interview.step))
            assert cancelled.outcome is not None
            assert cancelled.outcome.status == "cancelled"


def answer_by_what_the_card_offers(interview: Interview) -> Interview:
    """Answer an interview using only what the card shows."""

    def does(operation: Operation, ticks: Select | Pick | None = None) -> Interview:
        return apply_action(
            interview, Action(ask_id="ask", actor=CLEO, at=NOON, step=card.step, operation=operation, ticks=ticks)
        )

    for _ in range(40):
        card = build_card("ask", interview, EVERYBODY)
        if card.view == "ended":
            assert card.ending is not None
            assert card.ending.status == "answered"
            return interview
        if card.view == "review":
            assert card.can_submit == (card.next_missing is None)
            interview = does(Submit() if card.next_missing is None else GoTo(index=card.next_missing))
        elif takes_ticks(card):
            assert card.can_submit != card.can_go_on
            wanted = tuple(map(to_picked, range(1 if card.count_rule is None else 2)))
            ticks: Select | Pick = Pick(picked=wanted, base=(), revision=card.revision)
            if card.picks is None:
                ticks = Select(chosen=tuple(range(len(card.items)))[-2:], base=(), revision=card.revision)
            interview = does(Submit() if card.can_submit else Next(), ticks)
        elif card.picks is not None:
            interview = does(Pick(picked=(to_picked(0),)))
        elif card.file_rules is not None:
            interview = does(AttachFiles(files=(to_file(0),)))
        elif card.items:
            interview = does(Choose(index=len(card.items) - 1))
        else:
            assert card.custom
            interview = does(WriteIn(text="7"))
    pytest.fail("The card leads round in circles.")


Room.TestCase.settings = settings(
    deadline=None, max_examples=60, stateful_step_count=40, suppress_health_check=list(HealthCheck)
)
