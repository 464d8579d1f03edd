"""A decision of several people on Slack's card: complete, within the limits, and without repeated mentions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.actions import Action, Choose
from askback.domain.apply_action import REASON_RULES
from askback.domain.ask_policy import Approval, Policy
from askback.domain.card import Card
from askback.domain.card_labels import EVERYTHING, REMIND_ME, WITHDRAW
from askback.domain.click_response import Details
from askback.domain.form import Option
from askback.domain.identity import Actor
from askback.domain.interview import Interview
from askback.domain.voting import apply_vote
from askback.domain.who import Who
from askback_slack import control_ids, details_modal, render, text_modal
from support.slack_cards import (
    ADA,
    ASK,
    NOW,
    accepted,
    accepted_view,
    card,
    elements,
    interview,
    labels,
    options,
    question,
    said,
    strings,
)

CY = Actor(platform="slack", id="U0CY", tenant="T1", name="Cy")
YES_NO = (Option(value="yes", label="Yes"), Option(value="no", label="No"))


def crowd(count: int) -> tuple[Actor, ...]:
    return tuple(Actor(platform="slack", id=f"U0P{n}", tenant="T1", name=f"p{n}") for n in range(count))


def decided(*votes: tuple[Actor, int, str | None], rules: Approval, people: tuple[Actor, ...], **more: Any) -> Card:
    at: Interview = interview(question(options=YES_NO, allow_custom=False, **more))
    for who, index, reason in votes:
        operation = Choose(index=index, reason=reason)
        at = apply_vote(at, rules, Action(ask_id=ASK, actor=who, at=NOW, step=0, operation=operation))
    return card(at, Policy(who=Who(people=people, groups=("S0REL",)), approval=rules, deadline=NOW))


def found(value: Any, kind: str) -> list[Any]:
    if isinstance(value, dict):
        here = [value] if value.get("type") == kind else []
        return here + [one for entry in value.values() for one in found(entry, kind)]
    return [one for entry in value for one in found(entry, kind)] if isinstance(value, list | tuple) else []


RULES = Approval(quorum=2, refusing=("no",), requesters=(CY,))


def test_the_one_whose_request_it_is_is_named_and_not_called() -> None:
    (message,) = render.render_messages(decided(rules=RULES, people=(ADA,)))
    accepted([message])
    assert [one["user_id"] for one in found(message.blocks, "user")] == [ADA.id]
    assert "Cy" in said([message])
    assert "Needs 2 approvals. One denial stops it." in message.text


@pytest.mark.parametrize(("count", "named", "rest"), [(6, 6, " (cannot vote)."), (7, 5, " and 2 more (cannot vote)")])
def test_of_many_requesters_some_are_named_and_the_others_counted(count: int, named: int, rest: str) -> None:
    people = crowd(count)
    made = render.render_messages(decided(rules=RULES.evolve(requesters=people), people=(ADA,)))
    accepted(made)
    text = "".join(said(made))
    assert f"p{named - 1}{rest}" in text
    assert f"p{named}" not in text


def test_every_vote_stands_there_with_its_whole_reason_however_many_there_are() -> None:
    people = crowd(60)
    rules = Approval(quorum=60, refusing=("no",), refusals=60)
    reasons = [f"{n} ".ljust(REASON_RULES.max_length - 1, "x") + "!" for n in range(59)]
    shown = decided(*((who, 0, why) for who, why in zip(people, reasons, strict=False)), rules=rules, people=people)
    messages = render.render_messages(shown)
    accepted(messages)
    texts = said(messages)
    assert all(reason in texts for reason in reasons)
    assert "59 of 60 agree" in texts
    assert "59 of 60 agree." in messages[0].text
    assert "more votes on the card" in messages[0].text, "what does not fit into the notification is counted"


@given(st.text(max_size=300), st.text(min_size=1, max_size=REASON_RULES.max_length), st.booleans())
def test_any_name_and_any_reason_are_literal(name: str, reason: str, agrees: bool) -> None:
    who = ADA.evolve(name=name)
    rules = RULES.evolve(requesters=(CY.evolve(name=name),))
    if not reason.strip():
        reason = "why"
    accepted(render.render_messages(decided((who, 0 if agrees else 1, reason), rules=rules, people=(who,))))


def test_approved_and_refused_are_told_apart() -> None:
    ben = ADA.evolve(id="U0BEN")
    (yes,) = render.render_messages(decided((ADA, 0, None), (ben, 0, "Fine."), rules=RULES, people=(ADA, ben)))
    (no,) = render.render_messages(decided((ADA, 0, None), (ben, 1, "Not now."), rules=RULES, people=(ADA, ben)))
    assert "✅ Approved" in said([yes])
    assert "⛔ Refused" in said([no])
    assert "Fine." in said([yes])
    assert said([no]).count("Not now.") == 1
    assert "Approved." in yes.text
    assert "Refused." in no.text
    assert not labels([yes])


def test_votes_without_a_reason_are_one_line_of_names() -> None:
    ben, dot = ADA.evolve(id="U0BEN"), ADA.evolve(id="U0DOT")
    people, three = (ADA, ben, dot), RULES.evolve(quorum=3)
    (message,) = render.render_messages(decided((ADA, 0, None), (ben, 0, None), rules=three, people=people))
    (line,) = (
        [element.get("text", element.get("user_id")) for element in section["elements"]]
        for section in found(message.blocks, "rich_text_section")
        if "2 of 3 agree" in strings(section)
    )
    assert line[:6] == ["2 of 3 agree", "  ·  ✓ ", ADA.id, ", ", "U0BEN", "  ·  Not yet: "]
    (over,) = render.render_messages(decided((ADA, 0, None), (ben, 0, None), rules=RULES, people=people))
    assert "Approved: “Yes”  ·  2 of 2: " in "".join(said([over]))
    assert [one["user_id"] for one in found(over.blocks, "user")] == [ADA.id, "U0BEN"]
    (no,) = render.render_messages(decided((ben, 1, None), rules=three.evolve(refusals=2), people=people))
    assert "✗  " in said([no])
    voters = crowd(11)
    many = render.render_messages(
        decided(*((who, 0, None) for who in voters), rules=RULES.evolve(quorum=12), people=voters)
    )
    assert sum(said([one]).count("✓  ") for one in many) == 11, "more than one line names"


def test_the_no_is_red_and_what_agrees_is_green() -> None:
    made = render.render_messages(decided(rules=RULES, people=(ADA,), details="all"))
    assert labels(made) == ["Yes", "No", EVERYTHING, REMIND_ME, WITHDRAW]
    assert [entry.get("style") for entry in elements(made)] == ["primary", "danger", None, None, None]


def test_many_who_are_missing_are_counted_and_groups_are_named() -> None:
    people = crowd(30)
    (message,) = render.render_messages(decided((people[0], 0, None), rules=RULES, people=people))
    accepted([message])
    assert "  ·  Not yet: 29 people, " in "".join(said([message]))
    assert len(found(message.blocks, "usergroup")) == 2, "among those who are asked, and among the missing"


@pytest.mark.parametrize("count", [10, 200])
def test_menus_are_voted_on_too(count: int) -> None:
    at = interview(question(options=options(count), allow_custom=False))
    policy = Policy(who=Who.from_people(ADA), approval=Approval(refusing=("v1",)))
    accepted(render.render_messages(card(at, policy)))


def test_what_the_question_quotes_of_its_details_stands_there_as_code() -> None:
    details = '{\n  "version": "1.4.2"\n}'
    quoted, told = f"Run deploy?\n{details[:9]}\n… and more.", "Run deploy?\nIt takes a while."
    (message,) = render.render_messages(decided(rules=RULES, people=(ADA,), prompt=quoted, details=details))
    accepted([message])
    assert [*strings(found(message.blocks, "rich_text_preformatted"))] == [details[:9]]
    assert "… and more." in said([message])
    voted = decided((ADA, 0, None), rules=RULES.evolve(quorum=1), people=(ADA,), prompt=quoted, details=details)
    (message,) = render.render_messages(voted)
    assert not found(message.blocks, "rich_text_preformatted"), "“Show question” shows it when it is settled"
    assert labels([message]) == ["Show question"]
    (message,) = render.render_messages(decided(rules=RULES, people=(ADA,), prompt=told, details=details))
    assert not found(message.blocks, "rich_text_preformatted")


# -- a reason -----------------------------------------------------------------------------------------


def test_which_option_a_reason_is_for_is_read_back() -> None:
    reference = text_modal.FieldRef(ask_id=ASK, step=0, channel="C1", message_ts="1.1", choice=0)
    assert text_modal.FieldRef.parse(reference.model_dump(exclude_none=True)) == reference
    assert text_modal.FieldRef(ask_id=ASK, step=0, channel="C1", message_ts="1.1").choice is None, (
        "the first is no none"
    )


# -- everything ---------------------------------------------------------------------------------------


def text_of(text: str, *, is_document: bool) -> str:
    parts = details_modal.split_parts(text, is_document=is_document)
    return "".join(one for part in parts for one in strings(part))


@pytest.mark.parametrize("is_document", [False, True])
@pytest.mark.parametrize("text", ["x", "line\n" * 3_000, "x" * 500_000, "é👋 " * 100_000, '  "a": 1,\n' * 90_000])
def test_everything_is_shown_whole_in_as_many_parts_as_it_takes(text: str, is_document: bool) -> None:
    assert text_of(text, is_document=is_document) == text
    count = len(details_modal.split_parts(text, is_document=is_document))
    for number in range(count):
        view: Any = details_modal.build_view(
            Details(ask_id=ASK, title="A title too long for one of Slack's", text=text, is_document=is_document), number
        )
        accepted_view(view)
        kinds_of_text = {block["type"] for block in view["blocks"]} - {"actions", "context"}
        assert kinds_of_text == {"rich_text" if is_document else "section"}
        kinds = [control_ids.parse(one["action_id"]) for one in found(view, "button")]
        ways = {control.arg for control in kinds if control is not None}
        assert ways == {other for other in (number - 1, number + 1) if 0 <= other < count}


@pytest.mark.parametrize("text", [" " * 5_000, "\u202e" * 5_000, "\x00\x1b" * 3_000, "\n" * 10_000, "a\r\nb"])
def test_hostile_texts_make_views_that_slack_takes(text: str) -> None:
    for is_document in (False, True):
        details = Details(ask_id=ASK, title="\u202e*x*", text=text, is_document=is_document)
        for number in range(len(details_modal.split_parts(text, is_document=is_document))):
            accepted_view(details_modal.build_view(details, number))


@given(st.text(min_size=1, max_size=4_000), st.booleans())
def test_any_text_is_shown(text: str, is_document: bool) -> None:
    view: Any = details_modal.build_view(Details(ask_id=ASK, title=text, text=text, is_document=is_document))
    accepted_view(view)
    assert any(strings(view["blocks"]))
