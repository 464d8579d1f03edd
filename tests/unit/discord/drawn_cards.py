"""Cards as Discord messages, for the tests of their parts."""

from __future__ import annotations

from typing import Any

from askback.domain.ask_policy import Policy
from askback.domain.interview import Interview
from askback.domain.who import Who
from askback_discord import render
from support.discord_cards import ADA, Body, accepted, card, options, question

MENTION = f"<@{ADA.id}>"


def shown(at: Interview, page: int | None = None, **more: Any) -> tuple[Body, ...]:
    made = render.render_messages(card(at, **more), page)
    accepted(made)
    return made


def values(menu: Body) -> list[str]:
    return [entry["value"] for entry in menu["options"]]


def chosen(menu: Body) -> list[str]:
    return [entry["value"] for entry in menu["options"] if entry.get("default")]


FORM = (
    question("db", "Which database?", header="Database", options=options(3)),
    question("extras", "Which extras?", header="Extras", options=options(3), multi_select=True),
    question("name", "What is it called?"),
)


WHO = Policy(who=Who(people=(ADA,), groups=("77", "88")))
