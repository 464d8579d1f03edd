"""The actor in Slack: the same person in each payload about them, for any team that it names."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.identity import MessageRef
from askback.domain.who import Who
from askback_slack.click_payloads import read_click
from askback_slack.installation import UNKNOWN_INSTALLATION, Installation, read_actor
from askback_slack.message_events import read_deletion, read_edit, read_message

ALONE = Installation(team="T1")
GRID = Installation(team="T1", org="E1")
ORG_WIDE = Installation(team="E1", org="E1")


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


SAME: list[tuple[str, Installation, dict[str, Any], dict[str, Any]]] = [
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
    ("a home that is not known", UNKNOWN_INSTALLATION, message(), press("T1", "T1", "E1")),
    ("a home that is not known, in an organisation", UNKNOWN_INSTALLATION, message(org="E1"), press("T1", None, "E1")),
]


@pytest.mark.parametrize(("home", "said", "pressed"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_whoever_wrote_may_click(home: Installation, said: dict[str, Any], pressed: dict[str, Any]) -> None:
    heard, clicked = read_message(said, "UBOT", home), read_click(pressed, home)
    assert heard is not None
    assert clicked is not None
    assert Who.from_people(heard.author).contains(clicked.actor)


@pytest.mark.parametrize("home", [ALONE, GRID, UNKNOWN_INSTALLATION])
@pytest.mark.parametrize(
    "pressed",
    [press("T9", "T1"), press("T9", "T9"), press("T9", "T9", "E9"), press("T1", "T1", user="U2")],
    ids=["guest", "guest of the other side", "guest of an organisation", "somebody else"],
)
def test_another_person_of_the_same_id_may_not(home: Installation, pressed: dict[str, Any]) -> None:
    heard, who = read_message(message(), "UBOT", home), read_actor(pressed, home)
    assert heard is not None
    assert who is not None
    assert not Who.from_people(heard.author).contains(who)


def test_a_thread_of_a_shared_channel_is_one_place_whichever_side_writes() -> None:
    ours, theirs = (read_message(message(team, thread_ts="1.1"), "UBOT", ALONE) for team in ("T1", "T9"))
    assert ours is not None
    assert theirs is not None
    assert ours.place == theirs.place


@pytest.mark.parametrize("kind", ["message", "app_mention"])
def test_what_somebody_has_slackbot_write_is_nobodys_message(kind: str) -> None:
    """Slackbot posts such a reminder, so its real author would be missing among the requesters."""
    assert read_message(message(type=kind, user="USLACKBOT", text="Reminder: <@UBOT> deploy"), "UBOT", ALONE) is None


# Edits and deletions


def changed(before: str, after: str, **more: Any) -> dict[str, Any]:
    """Return a message_changed event of ada's message; `more` goes into the message."""
    about = {"type": "message", "user": "U1", "ts": "1.2", "thread_ts": "1.0", "team": "T1"}
    event = {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "channel": "C1",
        "ts": "1.9",
        "message": {**about, "text": after, "edited": {"user": "U1", "ts": "1.5"}, **more},
        "previous_message": {**about, "text": before},
    }
    return {"type": "event_callback", "team_id": "T1", "event": event}


def test_an_edit_is_the_same_message_with_other_words() -> None:
    edit = read_edit(changed("stagin", "&lt;production&gt;"), "UBOT", ALONE)
    assert edit is not None
    assert (edit.message.key, edit.message.text, edit.at.timestamp()) == ("C1:1.2", "<production>", 1.5)
    assert (edit.message.place.thread, edit.message.author.id, edit.message.in_thread) == ("1.0", "U1", True)


@pytest.mark.parametrize(
    "body",
    [
        changed("same", "same"),
        changed("one", "two", edited=None),
        changed("one", "two", edited={"user": "U2", "ts": "1.5"}),
        changed("one", "two", user="UBOT", edited={"user": "UBOT", "ts": "1.5"}),
        changed("one", "two", bot_id="B1"),
        changed("one", "two", subtype="tombstone"),
        message(),
    ],
    ids=["a preview", "not by a person", "by somebody else", "our own", "another bot's", "a tombstone", "a new one"],
)
def test_other_changes_are_no_edits(body: dict[str, Any]) -> None:
    assert read_edit(body, "UBOT", ALONE) is None
    if body["event"].get("subtype") is not None:
        assert read_message(body, "UBOT", ALONE) is None


def test_an_edit_that_names_the_bot_is_no_mention() -> None:
    mention = message(type="app_mention")
    assert read_message(mention, "UBOT", ALONE) is not None
    mention["event"]["edited"] = {"user": "U1", "ts": "1.5"}
    assert read_message(mention, "UBOT", ALONE) is None


@pytest.mark.parametrize(
    ("event", "ts"),
    [
        ({"subtype": "message_deleted", "deleted_ts": "1.2", "ts": "1.9"}, "1.2"),
        ({"subtype": "message_deleted", "previous_message": {"ts": "1.2"}, "ts": "1.9"}, "1.2"),
        ({"subtype": "message_changed", "message": {"subtype": "tombstone", "ts": "1.2"}, "ts": "1.9"}, "1.2"),
        ({"subtype": "message_changed", "message": {"ts": "1.2"}, "ts": "1.9"}, None),
        ({"subtype": "message_deleted"}, None),
        ({}, None),
    ],
)
def test_a_deletion_names_the_message_that_is_gone(event: dict[str, Any], ts: str | None) -> None:
    gone = read_deletion({"event": {"type": "message", "channel": "C1", **event}}, "UBOT")
    assert (None if gone is None else gone.ref) == (None if ts is None else MessageRef(channel="C1", id=ts))
