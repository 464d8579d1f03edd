"""Votes of several people in any order of arrival: the count never depends on it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from askback.domain.actions import Action, Decline, OpenDecline, Operation, ShowDetails, Submit, SubmitText, UndoVote
from askback.domain.identity import Actor
from askback.domain.outcome import Outcome
from askback.domain.voting import apply_vote
from askback.errors import PersonError
from support.cases import ANN, BEN
from unit.domain.ballot import CID, DEE, LATER, NO, PEOPLE, REFUSING, WORKED, YES, Ballot, action


def test_the_order_in_which_people_vote_changes_no_count():
    ways = set[tuple[frozenset[tuple[str, str]], bool]]()
    for order in permutations([(ANN, YES), (BEN, NO), (CID, LATER), (DEE, YES)]):
        ballot = Ballot(quorum=3, refusals=2)
        for by, index in order:
            ballot.votes(by, index)
        ways.add((frozenset((one.by.id, one.choice.label) for one in ballot.now.votes), ballot.outcome is None))
    assert len(ways) == 1


class Voting(RuleBasedStateMachine):
    """People vote in any order, twice, with and without reasons; a plain dictionary predicts the result."""

    @initialize(
        quorum=st.integers(1, 4),
        refusals=st.integers(1, 4),
        reasons=st.sampled_from(["none", "no", "yes", "both"]),
        refusing=st.sampled_from([(), ("no",), REFUSING]),
    )
    def begin(self, quorum: int, refusals: int, reasons: str, refusing: tuple[str, ...]) -> None:
        self.ballot = Ballot(quorum=quorum, refusals=refusals, reasons=reasons, refusing=refusing)
        self.said: dict[str, int] = {}
        self.delivered: list[Action] = []
        self.over: Outcome | None = None

    def does(self, one: Action, then: Callable[[], None] = lambda: None) -> None:
        before = self.ballot.now
        try:
            self.ballot.now = apply_vote(before, self.ballot.approval, one)
        except PersonError:
            assert self.ballot.now == before
        else:
            if self.ballot.now != before:
                assert self.ballot.now.revision > before.revision
                self.delivered.append(one)
                then()

    @rule(
        who=st.sampled_from(PEOPLE),
        index=st.integers(-1, 4),
        why=st.sampled_from([None, "", " ", "because", "x" * 1001]),
        number=st.none() | st.integers(0, 30),
    )
    def votes(self, who: Actor, index: int, why: str | None, number: int | None) -> None:
        # Each click has its own name, for any outcome.
        delivery = None if number is None else f"{who.id} {index} {why!s:.9} {number}"
        one = action(who, index, why=why, delivery=delivery)

        def counted() -> None:
            self.said.pop(who.id, None)
            self.said[who.id] = index

        self.does(one, counted)
        rules = self.ballot.approval
        if 0 <= index < 4 and self.over is None and why == "because":
            assert self.said.get(who.id) == index or delivery in self.ballot.now.deliveries
        if self.said.get(who.id) == index and why is None and self.delivered and self.delivered[-1] == one:
            assert not rules.needs_reason(WORKED.questions[0].options[index])

    @rule(who=st.sampled_from(PEOPLE), number=st.none() | st.integers(0, 30))
    def undoes(self, who: Actor, number: int | None) -> None:
        delivery = None if number is None else f"{who.id} undoes {number}"
        self.does(action(who, UndoVote(), delivery=delivery), lambda: self.said.pop(who.id))

    @rule(data=st.data())
    def delivers_again(self, data: st.DataObject) -> None:
        again = [one for one in self.delivered if one.delivery in self.ballot.now.deliveries]
        if again:
            before = self.ballot.now
            assert apply_vote(before, self.ballot.approval, data.draw(st.sampled_from(again))) == before

    @rule(
        who=st.sampled_from(PEOPLE),
        operation=st.sampled_from([ShowDetails(), SubmitText(text="Yes"), Submit(), Decline(), OpenDecline()]),
    )
    def does_something_else(self, who: Actor, operation: Operation) -> None:
        before = self.ballot.now
        self.does(action(who, operation, delivery="other"))
        assert self.ballot.now == before

    @invariant()
    def each_has_the_vote_that_they_gave_last(self) -> None:
        assert [(one.by.id, one.choice.index) for one in self.ballot.now.votes] == list(self.said.items())

    @invariant()
    def it_is_decided_exactly_when_enough_agree_or_refuse(self) -> None:
        rules, options = self.ballot.approval, WORKED.questions[0].options
        refused = [index for index in self.said.values() if rules.is_refusing(options[index])]
        agreed = [index for index in self.said.values() if not rules.is_refusing(options[index])]
        enough = len(refused) >= rules.refusals or any(agreed.count(index) >= rules.quorum for index in agreed)
        outcome = self.ballot.outcome
        assert (outcome is not None) == enough
        if outcome is None:
            return
        last = list(self.said.items())[-1]
        assert outcome.by is not None
        assert (outcome.by.id, outcome.answers[0].choices[0].index) == last
        assert outcome.refused == (last[1] in refused)
        assert outcome.votes == self.ballot.now.votes
        assert self.over in {None, outcome}, "it is decided once"
        self.over = outcome


TestVoting = Voting.TestCase
