"""The card of a tool call: it shows everything that would run, and no other call has the same digest."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from askback.domain.approval import ALWAYS, APPROVE, DENY, SHOWN, build_form, compute_digest, describe_unapproved
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Question
from askback.domain.identity import Actor
from askback.domain.outcome import Answer, Choice, Outcome, Vote
from askback.domain.who import Who
from askback.errors import CallerError

ADA = Actor(platform="board", id="U1", name="Ada")
BEN = Actor(platform="board", id="U2", name="")
NOW = datetime(2026, 1, 1, tzinfo=UTC)

VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
INPUTS = st.dictionaries(st.text(), VALUES, max_size=5)


def asked(data: JsonValue, *, always: bool = False) -> Question:
    (question,) = build_form("deploy", data, always=always).questions
    return question


@given(INPUTS)
def test_the_details_are_the_whole_input_in_characters_that_can_be_seen(data: dict[str, JsonValue]) -> None:
    details = asked(data).details or "{}"
    assert json.loads(details) == data
    assert all(one.isprintable() or one == "\n" for one in details)


@pytest.mark.parametrize(
    "unseen", "\u034f\u115f\u1160\u17b5\u180c\u180f\u2800\u3164\ufe00\ufe0f\uffa0\U000e0100\U000e01ef"
)
def test_a_letter_or_mark_that_shows_nothing_stands_there_as_an_escape(unseen: str) -> None:
    """A whole message can be hidden in selectors after one letter; Python considers them printable."""
    question = asked({f"pa{unseen}th": f"/srv/app{unseen}"})
    assert question.details is not None
    assert unseen not in question.prompt + question.details
    assert json.loads(question.details) == {f"pa{unseen}th": f"/srv/app{unseen}"}


def test_the_delete_character_stands_there_as_an_escape() -> None:
    question = asked({"path": "/srv\x7f"})
    assert question.details == '{\n  "path": "/srv\\u007f"\n}'
    assert question.details in question.prompt


def test_the_digest_of_a_call_is_the_one_of_earlier_releases() -> None:
    """People approved stored calls by it, so it must never change."""
    digest = compute_digest("deploy", {"where": "staging", "hosts": ["a", 1, None], "é": 1.5})
    assert digest == "babeabb813c9bb38a1b152727b6a8e09d2469d2d2a26b775613aa5d2ee1e011d"


@given(INPUTS, INPUTS)
def test_two_inputs_have_one_digest_only_where_they_are_the_same(
    one: dict[str, JsonValue], other: dict[str, JsonValue]
) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (compute_digest("deploy", one) == compute_digest("deploy", other)) is same
    assert compute_digest("deploy", one) != compute_digest("wipe", one)
    # As read from a row, in any order of the keys.
    stored = json.loads(json.dumps(dict(reversed(one.items())), ensure_ascii=False))
    assert compute_digest("deploy", stored) == compute_digest("deploy", one)


def test_numbers_that_are_equal_and_not_the_same_have_different_digests() -> None:
    assert len({compute_digest("pay", {"sum": value}) for value in (1, 1.0, True, "1")}) == 4


def test_long_arguments_are_shown_from_the_beginning_with_how_much_more_there_is() -> None:
    data: JsonValue = {f"step {number}": "copy" for number in range(300)}
    question = asked(data)
    shown, _, rest = question.prompt.partition("\n… and ")
    begun = shown.removeprefix("Run deploy?\n")
    assert question.details is not None
    assert question.details.startswith(begun)
    assert SHOWN / 2 < len(begun) <= SHOWN
    assert abs(int(rest.split()[0].replace(",", "")) - (len(question.details) - len(begun))) < 10
    assert json.loads(question.details) == data


def test_a_value_cannot_pass_itself_off_as_another_argument_nor_hide_or_turn_what_is_shown() -> None:
    prompt = asked({"where": 'staging",\n  "force": "no', "who": "a\u202eb\u200bc\U000e0041"}).prompt
    assert prompt.splitlines()[1:] == [
        "{",
        r'  "where": "staging\",\n  \"force\": \"no",',
        r'  "who": "a\u202eb\u200bc\udb40\udc41"',
        "}",
    ]


def test_no_arguments_are_said_to_be_none_and_nobody_is_offered_to_see_them() -> None:
    assert asked({}).prompt == "Run deploy? It takes no arguments."
    assert asked({}).details is None


def test_what_is_nested_too_deeply_to_be_shown_is_refused() -> None:
    data: JsonValue = "x"
    for _ in range(100_000):
        data = [data]
    with pytest.raises(CallerError, match="nested too deeply"):
        build_form("deploy", data)


@pytest.mark.parametrize("always", [False, True])
def test_the_form_is_one_that_several_people_can_decide(always: bool) -> None:
    policy = Policy(who=Who.from_people(ADA, BEN), approval=Approval(quorum=2, refusing=(DENY,), refusals=2))
    policy.check(build_form("deploy", {"a": 1}, always=always))
    values = [option.value for option in asked({"a": 1}, always=always).options]
    assert values == [APPROVE, DENY, ALWAYS][: 3 if always else 2]


def denied(*votes: tuple[Actor, str, str | None]) -> Outcome:
    cast = tuple(
        Vote(by=by, choice=Choice(index=1, value=value, label=value), reason=reason, at=NOW)
        for by, value, reason in votes
    )
    answers = (Answer(question_id="deploy", choices=(cast[-1].choice,)),)
    return Outcome(status="answered", at=NOW, by=cast[-1].by, answers=answers, votes=cast, refused=True)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (denied((ADA, DENY, "too\nearly.")), "deploy was denied by Ada: too\nearly. It was not run."),
        (
            denied((BEN, APPROVE, None), (ADA, DENY, "no"), (BEN, DENY, None)),
            "deploy was denied by Ada: no; by U2. It was not run.",
        ),
        (
            Outcome(status="undeliverable", at=NOW, reason="no such channel."),
            "deploy was not run: nobody could be asked for approval: no such channel.",
        ),
        (Outcome(status="cancelled", at=NOW), "The request to run deploy was withdrawn. It was not run."),
        (
            Outcome(status="cancelled", at=NOW, by=ADA, reason="moved"),
            "The request to run deploy was withdrawn by Ada: moved. It was not run.",
        ),
        (Outcome(status="timed_out", at=NOW), "Nobody decided in time whether deploy may run. It was not run."),
    ],
)
def test_the_model_is_told_in_one_sentence_why_it_did_not_run(outcome: Outcome, text: str) -> None:
    assert describe_unapproved("deploy", outcome, lambda person: person.display_name) == text
