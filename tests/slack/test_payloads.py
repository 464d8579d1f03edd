"""Who did something in Slack: the same person in each payload about them, whichever of their teams it names."""

from __future__ import annotations

from typing import Any

import pytest

from askback.policy import Who
from askback_slack.payloads import NOWHERE, Home, actor, click, written

ALONE = Home(team="T1")
GRID = Home(team="T1", org="E1")
ORG_WIDE = Home(team="E1", org="E1")


def message(team: str | None = "T1", org: str | None = None, **event: Any) -> dict[str, Any]:
    about = {"type": "message", "user": "U1", "channel": "C1", "ts": "1.2", "text": "<@UBOT> hi", **event}
    return {"type": "event_callback", "team_id": team, "enterprise_id": org, "event": about}


def press(
    own: str | None, team: str | None, org: str | None = None, *, user: str = "U1", enterprise: bool = True
) -> dict[str, Any]:
    inside = {"id": team} if org is None else {"id": team, "enterprise_id": org}
    return {
        "type": "block_actions",
        "user": {"id": user} if own is None else {"id": user, "team_id": own},
        "team": None if team is None else inside,
        "enterprise": {"id": org} if org is not None and enterprise else None,
        "actions": [{"type": "button", "action_id": "x"}],
    }


SAME: list[tuple[str, Home, dict[str, Any], dict[str, Any]]] = [
    ("one workspace", ALONE, message(team="T1"), press("T1", "T1")),
    ("one workspace, nothing said of the person", ALONE, message(), press(None, "T1")),
    ("no team in the message", ALONE, message(team=None), press("T1", "T1")),
    ("no team in the click", ALONE, message(team="T1"), press(None, None)),
    ("in an organisation, which the message leaves out", GRID, message(), press("T1", "T1", "E1")),
    ("in an organisation, told as the person's team", GRID, message(), press("E1", "T1", "E1")),
    ("in an organisation, told by the message only", GRID, message(org="E1"), press("T1", "T1")),
    ("installed for all of an organisation", ORG_WIDE, message("T7", "E1"), press("T7", None, "E1")),
    ("the same, and another of its teams", ORG_WIDE, message("T7", "E1"), press("T8", None, "E1")),
    ("a guest", ALONE, message(user_team="T9"), press("T9", "T1")),
    ("a guest, told as the team of the payload", ALONE, message(user_team="T9"), press("T9", "T9")),
    ("a guest of an organisation", ALONE, message(user_team="T9"), press("T9", "T9", "E9")),
    ("a guest of an organisation, told as their team", ALONE, message(user_team="T9"), press("E9", "T9", "E9")),
    ("a guest, by the message of their side", GRID, message("T9", user_team="T9"), press("T9", "T9", "E9")),
    ("a home that is not known", NOWHERE, message(), press("T1", "T1", "E1")),
    ("a home that is not known, in an organisation", NOWHERE, message(org="E1"), press("T1", None, "E1")),
]


@pytest.mark.parametrize(("home", "said", "pressed"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_whoever_wrote_may_click(home: Home, said: dict[str, Any], pressed: dict[str, Any]) -> None:
    heard, clicked = written(said, "UBOT", home), click(pressed, home)
    assert heard is not None
    assert clicked is not None
    assert Who.only(heard.author).includes(clicked.actor)


@pytest.mark.parametrize("home", [ALONE, GRID, NOWHERE])
@pytest.mark.parametrize(
    "pressed",
    [press("T9", "T1"), press("T9", "T9"), press("T9", "T9", "E9"), press("T1", "T1", user="U2")],
    ids=["guest", "guest of the other side", "guest of an organisation", "somebody else"],
)
def test_another_person_of_the_same_id_may_not(home: Home, pressed: dict[str, Any]) -> None:
    heard, who = written(message(), "UBOT", home), actor(pressed, home)
    assert heard is not None
    assert who is not None
    assert not Who.only(heard.author).includes(who)


def test_a_thread_of_a_shared_channel_is_one_place_whichever_side_writes() -> None:
    ours, theirs = (written(message(team, thread_ts="1.1"), "UBOT", ALONE) for team in ("T1", "T9"))
    assert ours is not None
    assert theirs is not None
    assert ours.place == theirs.place


@pytest.mark.parametrize("kind", ["message", "app_mention"])
def test_what_somebody_has_slackbot_write_is_nobodys_message(kind: str) -> None:
    """A reminder that mentions the bot: whoever set it would not be among those whose request it is."""
    assert written(message(type=kind, user="USLACKBOT", text="Reminder: <@UBOT> deploy"), "UBOT", ALONE) is None
