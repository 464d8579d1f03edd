"""People and notifications of cards as Slack messages."""

from __future__ import annotations

import json

from askback.domain.ask_policy import Policy
from askback.domain.form import Option
from askback.domain.identity import Actor
from askback.domain.interview import settle
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback_slack import render
from support.slack_cards import NOW, accepted, card, interview, options, question, said
from unit.slack.drawn_cards import FORM, shown


def test_somebody_of_another_platform_is_named_and_not_mentioned() -> None:
    bob = Actor(platform="discord", id="42", name="Bob <!here>")
    at = settle(interview(*FORM), Outcome(status="cancelled", at=NOW, by=bob))
    made = render.render_messages(card(at, Policy(who=Who(people=(bob,), groups=("S1",)))))
    accepted(made)
    assert said(made).count("Bob <!here>") == 1
    at = settle(interview(*FORM), Outcome(status="timed_out", at=NOW))
    made = render.render_messages(card(at, Policy(who=Who(people=(bob,), groups=("S1",)))))
    accepted(made)
    assert said(made).count("Bob <!here>") == 1
    assert '"user_id"' not in json.dumps(made[0].blocks)
    assert '"usergroup_id": "S1"' in json.dumps(made[0].blocks)


def test_who_is_asked_until_when() -> None:
    at = interview(*FORM)
    made = render.render_messages(card(at, Policy(who=Who(anyone=True), deadline=NOW)))
    accepted(made)
    assert "anyone here" in said(made)
    assert f'"timestamp": {int(NOW.timestamp())}' in json.dumps(made[0].blocks)


def test_the_notification_names_nobody_and_tells_all_that_fits() -> None:
    described = (Option(value="a", label="A & B", description="<!channel>"), Option(value="b", label="C"))
    text = shown(interview(question(header="Head", options=described)))[0].text
    assert text.splitlines()[:3] == ["Head: Which one?", "1. A &amp; B — &lt;!channel&gt;", "2. C"]
    assert "U0ADA" not in text


def test_the_notification_says_what_it_leaves_off() -> None:
    long = shown(interview(question(options=options(60, "Option {}", description="d" * 200))))[0].text
    assert len(long.encode()) <= 4000
    assert "more options on the card)" in long
    prompt = shown(interview(question(prompt="wörd & " * 1000)))[0].text
    assert len(prompt.encode()) <= 4000
    assert "(continues on the card)" in prompt
