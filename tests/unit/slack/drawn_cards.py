"""Cards as Slack messages, for the tests of their parts."""

from __future__ import annotations

from typing import Any

from askback.domain.interview import Interview
from askback_slack import render
from support.slack_cards import accepted, card, options, question


def shown(at: Interview, **more: Any) -> tuple[render.SlackMessage, ...]:
    made = render.render_messages(card(at, **more))
    accepted(made)
    return made


FORM = (
    question("db", "Which database?", header="Database", options=options(3)),
    question("extras", "Which extras?", header="Extras", options=options(3), multi_select=True),
    question("name", "What is it called?"),
)
