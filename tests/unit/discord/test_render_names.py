"""People whom the messages of a card on Discord name and notify."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.actions import Cancel, Choose
from askback.domain.ask_policy import Policy
from askback.domain.identity import Actor
from askback.domain.interview import settle
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback_discord import render
from support.discord_cards import ADA, NOW, accepted, card, displays, do, interview, labels, options, question, said
from support.discord_markdown import formats, read
from unit.discord.drawn_cards import FORM, MENTION, WHO, shown


def test_only_the_first_posting_notifies_those_who_must_answer() -> None:
    at = interview(question(prompt="Ask <@4> and @everyone", options=options(2)))
    posted, redrawn = (
        render.render_messages(card(at, WHO), ping=ping)[0]["allowed_mentions"] for ping in (True, False)
    )
    assert posted == {"parse": [], "users": [ADA.id], "roles": ["77", "88"]}
    assert redrawn == {"parse": []}


def test_a_card_that_has_ended_notifies_nobody() -> None:
    at = do(interview(question(options=options(2))), Choose(index=0))
    assert render.render_messages(card(at, WHO), ping=True)[0]["allowed_mentions"] == {"parse": []}


def test_each_message_notifies_those_whom_it_names() -> None:
    crowd = Policy(who=Who(people=tuple(ADA.evolve(id=str(10**17 + n)) for n in range(300))))
    made = render.render_messages(card(interview(*FORM), crowd), ping=True)
    accepted(made)
    named: Any = [body["allowed_mentions"].get("users", []) for body in made]
    assert len(made) > 1
    assert len(named[0]) == 100
    assert set(named[0]).isdisjoint(named[1])
    assert "Option 1" in labels(made)


def test_who_is_asked_and_until_when() -> None:
    at = interview(*FORM)
    assert f"Asked: {MENTION}, <@&77>, <@&88>" in said(shown(at, policy=WHO))
    made = shown(at, policy=Policy(who=Who(anyone=True), deadline=NOW))
    assert f"Asked: anyone here  ·  ends <t:{int(NOW.timestamp())}:R>" in said(made)
    ended = shown(do(at, Cancel()), policy=Policy(who=Who(anyone=True), deadline=NOW))
    assert ":R>" not in said(ended)


@pytest.mark.parametrize(
    "bob", [Actor(platform="slack", id="42", name="Bob <@9>"), Actor(platform="discord", id="U_1")]
)
def test_somebody_who_cannot_be_mentioned_is_named(bob: Actor) -> None:
    at = settle(interview(*FORM), Outcome(status="cancelled", at=NOW, by=bob))
    made = shown(at, policy=Policy(who=Who(people=(bob,), groups=("no_role",))))
    name = bob.name or bob.id
    assert f"by {name}  ·  " in said(made)
    still = settle(interview(*FORM), Outcome(status="timed_out", at=NOW))
    made = shown(still, policy=Policy(who=Who(people=(bob,), groups=("no_role",))))
    assert f"Asked: {name}, no_role" in said(made)
    assert "mention" not in {*formats(read("\n".join(displays(made))))}
