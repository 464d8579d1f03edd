"""Decisions of several people on Discord's cards: complete, in as many messages as necessary."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from askback.domain.actions import Action, Cancel, Choose
from askback.domain.apply_action import REASON_RULES
from askback.domain.ask_policy import Approval, Policy
from askback.domain.card_labels import REMIND_ME, WITHDRAW
from askback.domain.click_response import Details
from askback.domain.form import Option
from askback.domain.identity import Actor, Place
from askback.domain.interview import Interview, settle
from askback.domain.outcome import Outcome
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.text_field import build_vote_field
from askback.domain.voting import apply_vote
from askback.domain.who import Who
from askback.text.literal import replace_controls
from askback.text.unseen import find_lookalikes, has_visible_text
from askback_discord import bot_sentences, control_ids, limits, render, text_modal
from askback_discord.details_modal import FILE, build_notice
from askback_discord.layout import CONTINUED, GOES_ON
from support.discord_cards import (
    ADA,
    ASK,
    HOSTILE,
    NOW,
    Body,
    accepted,
    accepted_modal,
    card,
    displays,
    elements,
    interview,
    labels,
    question,
    said,
    squeezed,
)

BEN, CY, DOT = (Actor(platform="discord", id=f"10000000000000000{n}", name=f"P{n}") for n in (2, 3, 4))
RELEASE = "300000000000000007"
YES_NO = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
WHO = Who(people=(ADA, BEN, CY), groups=(RELEASE,))
TWO = Approval(quorum=2, refusing=("no",), requesters=(DOT,))


def asked(*options: Option, **more: Any) -> Interview:
    more = {"prompt": "Deploy 1.4.2?", **more}
    return interview(question(options=options or YES_NO, allow_custom=False, **more))


def voted(at: Interview, approval: Approval, *votes: tuple[Actor, int, str | None]) -> Interview:
    for by, index, reason in votes:
        operation = Choose(index=index, reason=reason)
        at = apply_vote(at, approval, Action(ask_id=ASK, actor=by, at=NOW, step=at.step, operation=operation))
    return at


def shown(at: Interview, approval: Approval = TWO, who: Who = WHO, **more: Any) -> tuple[Body, ...]:
    made = render.render_messages(card(at, Policy(who=who, approval=approval, **more)))
    accepted(made)
    return made


def test_an_open_decision_says_what_is_needed_and_whose_request_it_is() -> None:
    made = shown(asked(), deadline=NOW)
    assert "Needs 2 approvals. One denial stops it." in said(made)
    assert f"Requested by <@{DOT.id}> (cannot vote)." in said(made)
    assert f"  ·  ends <t:{int(NOW.timestamp())}:R>\n" in said(made)
    assert labels(made) == ["Yes", "No", REMIND_ME, WITHDRAW], "nobody says “not now” for the others"


def test_the_no_is_red_and_what_agrees_is_green() -> None:
    made = shown(asked())
    assert [one.get("style") for one in elements(made)] == [3, 4, 2, 2]


def test_what_the_question_quotes_of_its_details_stands_there_as_code_until_it_is_settled() -> None:
    details = '{\n  "version": "1.4.2"\n}'
    quoting = asked(prompt=f"Run deploy?\n{details[:9]}\n… and more.", details=details)
    (display, *_) = [text for text in displays(shown(quoting)) if "Run deploy?" in text]
    assert display.startswith("## Run deploy?\n-# Asked: ")
    assert ">\n```\n" in display
    assert display.endswith("\n```\n… and more.")
    over = shown(voted(quoting, TWO, (BEN, 1, "No")))
    assert "version" not in said(over)
    assert labels(over) == ["Show question"]
    assert "```" not in "".join(displays(shown(asked(prompt="Run deploy?\nIt takes a while.", details=details))))


def test_many_who_are_missing_are_counted_and_groups_are_named() -> None:
    people = tuple(BEN.evolve(id=str(200_000_000_000_000_000 + n)) for n in range(30))
    one = people[0]
    text = said(shown(voted(asked(), TWO, (one, 0, None)), who=WHO.evolve(people=people)))
    assert f"1 of 2 agree  ·  ✓ <@{one.id}>  ·  Not yet: 29 people, <@&{RELEASE}>" in text


def test_votes_without_a_reason_are_one_line_of_names() -> None:
    three, two, twelve = TWO.evolve(quorum=3), TWO.evolve(refusals=2), TWO.evolve(quorum=12)
    text = said(shown(voted(asked(), three, (BEN, 0, None), (CY, 0, None)), three))
    assert f"2 of 3 agree  ·  ✓ <@{BEN.id}>, <@{CY.id}>  ·  Not yet: <@{ADA.id}>, <@&{RELEASE}>" in text
    over = said(shown(voted(asked(), TWO, (BEN, 0, None), (CY, 0, None))))
    assert f"✅ Approved: “Yes”  ·  2 of 2: <@{BEN.id}>, <@{CY.id}>\nDeploy 1.4.2?  ·  Requested by" in over
    assert f"✗  <@{BEN.id}>  No" in said(shown(voted(asked(), two, (BEN, 1, None)), two))
    crowd = tuple((BEN.evolve(id=str(200_000_000_000_000_000 + n)), 0, None) for n in range(11))
    everybody = WHO.evolve(people=tuple(who for who, _, _ in crowd))
    many = said(shown(voted(asked(), twelve, *crowd), twelve, who=everybody))
    assert f"✓  <@{crowd[10][0].id}>  Yes" in many, "more than one line names"


@pytest.mark.parametrize(("count", "named", "rest"), [(6, 6, " (cannot vote)."), (7, 5, " and 2 more (cannot vote)")])
def test_of_many_requesters_some_are_named_and_the_others_counted(count: int, named: int, rest: str) -> None:
    people = tuple(BEN.evolve(id=str(200_000_000_000_000_000 + n)) for n in range(count))
    text = said(shown(asked(), TWO.evolve(requesters=people)))
    assert f"<@{people[named - 1].id}>{rest}" in text
    assert all(one.id not in text for one in people[named:])


def test_nobody_cancels_what_nobody_requested() -> None:
    assert labels(shown(asked(), Approval(quorum=2, refusing=("no",)))) == ["Yes", "No", REMIND_ME]


def test_the_tally_says_who_has_spoken_why_and_who_is_missing() -> None:
    text = said(shown(voted(asked(), TWO, (BEN, 0, "Tested *on* staging"))))
    assert f"✓  <@{BEN.id}>  Yes\nTested *on* staging" in text
    assert f"1 of 2 agree  ·  Not yet: <@{ADA.id}>, <@{CY.id}>, <@&{RELEASE}>" in text


def test_approved_and_refused_are_told_apart_with_every_vote() -> None:
    approved = shown(voted(asked(), TWO, (BEN, 0, None), (CY, 0, "Go")))
    refused = shown(voted(asked(), TWO, (BEN, 0, None), (CY, 1, "Not on a Friday")))
    colours = [body[0]["components"][0]["accent_color"] for body in (approved, refused)]
    assert colours == [render.ANSWERED, render.REFUSED]
    yes, no = said(approved), said(refused)
    now = int(NOW.timestamp())
    at = f"Deploy 1.4.2?  ·  Requested by <@{DOT.id}>  ·  <t:{now}:d> <t:{now}:t>"
    assert f"✅ Approved\n{at}" in yes
    assert f"✓  <@{BEN.id}>  Yes\n✓  <@{CY.id}>  Yes\nGo" in yes
    assert f"⛔ Refused\n{at}" in no
    assert f"✓  <@{BEN.id}>  Yes\n✗  <@{CY.id}>  No\nNot on a Friday" in no
    assert no.count("Not on a Friday") == 1
    assert yes.endswith("Not chosen: No")
    assert no.endswith("Not chosen: Yes")
    for text in (yes, no):
        assert "Not yet" not in text
        assert "approvals" not in text


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(status="timed_out", at=NOW), "Not decided in time: 1 of 2 agreed"),
        (Outcome(status="cancelled", at=NOW, by=DOT, reason="Not needed"), f"Withdrawn by <@{DOT.id}>"),
        (Outcome(status="undeliverable", at=NOW, reason="No such channel."), "Not delivered"),
    ],
)
def test_an_end_without_a_decision_keeps_the_votes(outcome: Outcome, words: str) -> None:
    text = said(shown(settle(voted(asked(), TWO, (BEN, 0, "Fine")), outcome)))
    assert words in text
    assert (outcome.reason or "") in text
    assert f"✓  <@{BEN.id}>  Yes\nFine" in text
    assert "✅" not in text


def test_a_card_of_a_decision_notifies_those_who_decide_and_never_a_whole_server() -> None:
    decides = card(asked(), Policy(who=WHO.merge(Who(groups=("8",))), approval=TWO))
    (body,) = render.render_messages(decides, ping=True)
    assert body["allowed_mentions"] == {"parse": [], "users": [ADA.id, BEN.id, CY.id], "roles": [RELEASE, "8"]}
    quiet = bot_sentences.remove_everyone_mention(body, Place(platform="discord", tenant="8", channel="9"))
    assert quiet["allowed_mentions"] == {"parse": [], "users": [ADA.id, BEN.id, CY.id], "roles": [RELEASE]}
    drawn = render.render_messages(card(voted(asked(), TWO, (BEN, 0, None)), Policy(who=WHO, approval=TWO)))
    assert all(one["allowed_mentions"] == {"parse": []} for one in drawn)


TEXT = st.one_of(
    HOSTILE,
    st.sampled_from(["@everyone <@1> <#1> :smile:", "a" * 1000, "`*_~` " * 150, "**" * 500, "漢字" * 500]),
    st.sampled_from(["- a\n# b\n> c\n-# d\n1. e\n" * 40, "x" + "\n" * 990 + "y", "\u202e" * 900 + "z"]),
).filter(has_visible_text)


@st.composite
def actors(draw: st.DrawFn, at: int) -> Actor:
    elsewhere = draw(st.booleans())
    return Actor(
        platform="slack" if elsewhere else "discord", id=str(10**17 + at), name=draw(HOSTILE) if elsewhere else ""
    )


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data(), st.integers(0, 60), st.integers(1, 70), st.lists(TEXT, min_size=3, max_size=3))
def test_any_decision_is_whole(data: st.DataObject, count: int, quorum: int, names: list[str]) -> None:
    everybody = tuple(data.draw(actors(number)) for number in range(count + 2))
    assume(find_lookalikes(names) is None)
    options = [Option(value=f"v{number}", label=label) for number, label in enumerate(names)]
    approval = Approval(quorum=quorum, refusing=("v2",), refusals=quorum, reasons="no", requesters=everybody[-1:])
    at = asked(*options)
    reasons = data.draw(st.lists(TEXT, min_size=1, max_size=5))
    for number, by in enumerate(everybody[:count]):
        if at.phase != "closed":
            reason = reasons[number % len(reasons)][: REASON_RULES.max_length].strip() or "x"
            at = voted(at, approval, (by, number % 3, reason))
    made = shown(at, approval, Who(people=everybody[:-1], groups=(RELEASE,)))
    text = squeezed(said(made).replace(CONTINUED.removeprefix("-# "), "").replace(GOES_ON.removeprefix("-# "), ""))
    for given_by in at.votes:
        assert squeezed(replace_controls(given_by.reason or "")) in text
        assert squeezed(replace_controls(given_by.by.name) or f"<@{given_by.by.id}>") in text
    assert squeezed(replace_controls(everybody[-1].name) or f"<@{everybody[-1].id}>") in text
    assert ("Not yet" in said(made)) == (bool(at.votes) and at.phase != "closed")


def test_many_long_reasons_go_on_in_further_messages() -> None:
    many = Approval(quorum=99, refusing=("no",), refusals=99)
    people = [Actor(platform="discord", id=str(10**17 + n), name=f"P{n}") for n in range(60)]
    at = asked()
    for number, by in enumerate(people):
        at = voted(at, many, (by, number % 2, f"Reason {number}: " + "*_~" * 250))
    made = shown(at, many, Who(people=tuple(people)))
    assert len(made) > 10
    text = said(made)
    for number, by in enumerate(people):
        assert f"<@{by.id}>" in text
        assert f"Reason {number}: " in text
    assert "30 of 99 agree, 30 of 99 “No”" in text


# -- reasons ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "label", ["Deny", "x" * 2000, "\u2067" * 89 + "x", "\n`*"], ids=["short", "long", "reordering", "marked"]
)
def test_a_reason_is_asked_for_in_a_field_that_says_for_what(label: str) -> None:
    at = asked(Option(value="yes", label="Yes"), Option(value="no", label=label))
    made = text_modal.build_modal(build_vote_field("a" * 22, at, 1, "because"))
    accepted_modal(made)
    assert squeezed(str(made["title"])).startswith("Why“")
    assert control_ids.parse(made["custom_id"]) == control_ids.Control(kind="vote", ask_id="a" * 22, step=0, arg=1)
    assert '"value": "because"' in str(made).replace("'", '"')


def test_the_operation_of_every_reason_is_in_the_id() -> None:
    named = control_ids.to_custom_id(
        control_ids.Control(kind="vote", ask_id="a" * 48, step=999_999_999, arg=999_999_999)
    )
    assert len(named) <= limits.CUSTOM_ID


# -- the whole ----------------------------------------------------------------------------------------


def pasted(bodies: list[Any]) -> str:
    """Return the joined text of the code blocks."""
    texts = [str(body["content"]).partition("\n")[2] for body in bodies]
    return "".join(text.removeprefix("```\n").removesuffix("\n```") for text in texts)


def test_the_whole_stands_below_its_title_as_it_is() -> None:
    bodies, file = build_notice(Details(ask_id=ASK, title="deploy *now*", text='{"a": "<@4> @everyone"}'))
    assert file is None
    (body,) = bodies
    assert body == {
        "content": '**deploy \\*now\\***\n```\n{"a": "<@4> @everyone"}\n```',
        "flags": limits.EPHEMERAL,
        "allowed_mentions": {"parse": []},
    }


@settings(deadline=None)
@given(st.text(min_size=1, max_size=6000).filter(has_visible_text))
def test_no_text_is_cut(text: str) -> None:
    bodies, file = build_notice(Details(ask_id=ASK, title="Details", text=text))
    for body in bodies:
        limits.check_message(body)
    if file is None:
        assert squeezed(pasted(bodies)) == squeezed(replace_controls(text))
        assert len(bodies) == 1 or all(f"{n} of {len(bodies)}" in str(body) for n, body in enumerate(bodies, 1))
    else:
        assert file.content == text


def test_a_long_text_goes_on_and_a_very_long_one_is_a_file() -> None:
    text = "\n".join(f"line {n}" for n in range(500))
    bodies, file = build_notice(Details(ask_id=ASK, title="deploy", text=text))
    assert file is None
    assert len(bodies) > 1
    assert pasted(bodies) == text
    bodies, file = build_notice(Details(ask_id=ASK, title="deploy", text=text * 20))
    assert file is not None
    assert (file.name, file.content) == (FILE, text * 20)
    assert len(bodies) == 2, "the first answer waits for no upload"


# -- reminders ----------------------------------------------------------------------------------------


def test_a_reminder_names_and_notifies_those_who_are_missing() -> None:
    slack = Actor(platform="slack", id="77", name="Sam")
    say = OutgoingMessage(
        target="remind:a:0.0",
        text="Reminder: “*Deploy* <@9> @everyone?” still waits for you.",
        markdown=False,
        mention=Who(people=(BEN, slack, BEN), groups=(RELEASE, "no_role")),
        until=NOW + timedelta(hours=2),
    )
    until = int((NOW + timedelta(hours=2)).timestamp())
    words = bot_sentences.to_markdown(say)
    assert words.startswith(f"<@{BEN.id}> <@&{RELEASE}> Reminder: “\\*Deploy\\* \\<@9> \\@everyone?”")
    assert words.endswith(f"  ·  until <t:{until}:d> <t:{until}:t>, <t:{until}:R>")
    assert bot_sentences.build_allowed_mentions(say.mention) == {"parse": [], "users": [BEN.id], "roles": [RELEASE]}


def test_a_reminder_to_a_crowd_says_how_many_more_there_are() -> None:
    crowd = tuple(Actor(platform="discord", id=str(10**17 + n)) for n in range(300))
    say = OutgoingMessage(target="remind:a:0.0", text="Reminder: it waits.", markdown=False, mention=Who(people=crowd))
    words = bot_sentences.to_markdown(say)
    assert len(words) <= limits.CONTENT
    named = words.count("<@")
    assert f"and {300 - named} more: Reminder: it waits." in words
    assert len(bot_sentences.build_allowed_mentions(say.mention)["users"]) == limits.MENTIONS  # type: ignore[arg-type]


def test_what_is_cancelled_by_its_requester_is_taken_back() -> None:
    at = apply_vote(asked(), TWO, Action(ask_id=ASK, actor=DOT, at=NOW, step=0, operation=Cancel()))
    assert f"Withdrawn by <@{DOT.id}>" in said(shown(at))
