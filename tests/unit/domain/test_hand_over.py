"""The hand-over of an outcome: which call it belongs to, who may claim it, and whom people hear of it from."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from askback.domain.ask import Ask
from askback.domain.ask_policy import Policy
from askback.domain.form import Form, Option, Question
from askback.domain.hand_over import (
    CallId,
    ClaimResult,
    HandOver,
    HandOverState,
    build_known_notice,
    build_unknown_notice,
    name_call,
    name_caller_call,
)
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Choice, Outcome, Vote
from askback.domain.who import Who
from askback.errors import InvalidValue

AT = datetime(2026, 11, 27, 9, tzinfo=UTC)
ANN, BEN, CID = (Actor(platform="chat", id=name, name=name) for name in ("ann", "ben", "cid"))
CARD, REST = (MessageRef(channel="C1", id=name) for name in ("card", "rest"))
YES = Choice(index=0, value="yes", label="Yes")


def settled(*votes: Actor, by: Actor | None = None, key: str | None = None, language: str = "en") -> Ask:
    options = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
    form = Form(questions=(Question(id="tea", prompt="Tea?", options=options),))
    cast = tuple(Vote(by=one, choice=YES, at=AT) for one in votes)
    return Ask(
        id="q" * 22,
        place=Place(platform="chat", channel="C1"),
        policy=Policy.parse({"who": Who.from_people(ANN, BEN), "language": language}),
        interview=settle(start_interview(form), Outcome(status="cancelled", at=AT, by=by, votes=cast)),
        created_at=AT,
        post_after=AT,
        key=key,
        messages=(CARD, REST),
    )


def in_state(state: HandOverState, *, call: str = "first", holder: str | None = None) -> HandOver:
    return HandOver(
        id=CallId(framework="acp", run="talk", call=call), ask_id="q", digest="shown", state=state, holder=holder
    )


@pytest.mark.parametrize(
    ("one", "digest", "holder", "result"),
    [
        (in_state("asked"), "shown", "me", "claimed"),
        (in_state("asked"), "other", "me", "changed"),
        (in_state("claimed", holder="me"), "shown", "me", "claimed"),
        (in_state("claimed", holder="you"), "shown", "me", "taken"),
        (in_state("claimed", holder="you"), "other", "me", "taken"),
        (in_state("acknowledged", holder="me"), "shown", "me", "acknowledged"),
        (in_state("unknown", holder="me"), "shown", "me", "unknown"),
    ],
)
def test_only_an_outcome_that_is_free_goes_to_the_call_that_people_were_shown(
    one: HandOver, digest: str, holder: str, result: ClaimResult
) -> None:
    assert one.check_claim(digest, holder) == result


def test_an_equal_call_is_the_same_one_until_its_outcome_was_taken_and_then_the_next() -> None:
    known = [in_state("acknowledged", call="name.0"), in_state("asked", call="name.1"), in_state("unknown", call="b.0")]
    ended: tuple[HandOverState, ...] = ("acknowledged", "unknown")
    assert name_call("acp", "talk", "name", [], ended).call == "name.0"
    assert name_call("acp", "talk", "name", known[:1], ended).call == "name.1"
    assert name_call("acp", "talk", "name", known, ended) == CallId(framework="acp", run="talk", call="name.1")
    assert name_call("acp", "talk", "b", known, ended).call == "b.1"
    assert name_call("acp", "talk", "b", known, ("acknowledged",)).call == "b.0"
    both = [in_state("acknowledged", call="name.0"), in_state("acknowledged", call="name.1")]
    assert name_call("acp", "talk", "name", both, ended).call == "name.2"


@pytest.mark.parametrize("part", ["framework", "run", "call"])
def test_a_call_has_a_name_in_a_run_of_a_framework(part: str) -> None:
    named = {"framework": "f", "run": "r", "call": "0"}
    assert CallId.parse(named).model_dump() == named
    with pytest.raises(InvalidValue):
        CallId.parse({**named, part: ""})


def test_equal_calls_of_a_client_are_of_one_run() -> None:
    first, second = (name_caller_call(settled(key=f"mcp:digest:of:it:{number}")) for number in range(2))
    assert (first.framework, first.run, first.call) == ("askback", "mcp:digest:of:it", "0")
    assert (second.run, second.call) == (first.run, "1")


def test_whoever_decided_learns_below_the_card_that_the_outcome_is_unknown_and_later_that_it_is_known() -> None:
    lost = in_state("unknown", holder="host:1:a")
    for ask, people in (
        (settled(ANN, BEN, by=CID), (ANN, BEN)),
        (settled(by=CID), (CID,)),
    ):
        unknown, known = build_unknown_notice(ask, lost), build_known_notice(ask, lost)
        assert "was interrupted while it acted on the answer" in unknown.text
        assert "The outcome is known now" in known.text
        for notice in (unknown, known):
            assert notice.mention == Who.from_people(*people)
            assert notice.reply_to == CARD
            assert not notice.markdown
    assert build_unknown_notice(settled(), lost).mention is None


def test_each_interruption_is_told_once_and_in_the_language_of_the_question() -> None:
    ask = settled(ANN, language="de")
    first, second = (in_state("unknown", holder=holder) for holder in ("host:1:a", "host:2:b"))
    notices = [build(ask, one) for build in (build_unknown_notice, build_known_notice) for one in (first, second)]
    assert len({notice.target for notice in notices}) == 4
    assert build_unknown_notice(ask, first).target == notices[0].target
    assert all(notice.language == "de" for notice in notices)
    assert not any("outcome" in notice.text for notice in notices)


def test_without_a_card_or_an_outcome_a_notice_names_nobody() -> None:
    ask = settled(ANN)
    fresh = ask.evolve(interview=start_interview(ask.interview.form), messages=())
    notice = build_unknown_notice(fresh, in_state("unknown", holder="host:1:a"))
    assert (notice.mention, notice.reply_to) == (None, None)
