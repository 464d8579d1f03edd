"""Arguments of tool calls: arbitrary ones for property tests, and the cards of their approvals."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st
from pydantic import JsonValue

from askback.domain.actions import Action, Choose
from askback.domain.approval import DENY, build_form
from askback.domain.arguments import Arguments
from askback.domain.ask_policy import Approval, Policy
from askback.domain.card import Card, build_card
from askback.domain.identity import Actor
from askback.domain.interview import start_interview
from askback.domain.voting import apply_vote
from askback.domain.who import Who

ASK = "a-request-for-approval"
NOW = datetime(2026, 11, 24, 9, tzinfo=UTC)
RULES = Approval(refusing=(DENY,), subject="0" * 64)

HOSTILE_TEXT = st.one_of(
    st.text(
        st.one_of(
            st.characters(),
            st.sampled_from(
                "\0\x1b\x7f\r\n\t<>&@*_~`#-|:\\[]{}()\"'.1 \u202e\u2066\u2069\u200b\u200d\u0301\ud800\ufe0f"
            ),
        ),
        max_size=400,
    ),
    st.sampled_from(
        ["<@U1>", "<!channel>", "@everyone", "<@&7>", "```\n@here\n```", "`", "a``b", "x\\", "true", "1e5", "{}", "\n"]
    ),
)
"""Texts with mark-up, mentions, quotation marks and characters that cannot be seen."""

ARGUMENTS: st.SearchStrategy[dict[str, JsonValue]] = st.dictionaries(
    HOSTILE_TEXT,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | HOSTILE_TEXT
        | st.text("ab \n", max_size=2_000),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE_TEXT, inner, max_size=4),
        max_leaves=10,
    ),
    min_size=1,
    max_size=6,
)


def build_approval_card(data: JsonValue, approver: Actor, *, vote: int | None = None) -> Card:
    """Return the card for a call with these arguments, after the approver has chosen an option, if any."""
    at = start_interview(build_form("deploy", data))
    if vote is not None:
        operation = Choose(index=vote, reason="So.")
        at = apply_vote(at, RULES, Action(ask_id=ASK, actor=approver, at=NOW, step=at.step, operation=operation))
    return build_card(ASK, at, Policy(who=Who.from_people(approver), approval=RULES))


def get_arguments(card: Card) -> Arguments:
    assert card.arguments is not None
    return card.arguments
