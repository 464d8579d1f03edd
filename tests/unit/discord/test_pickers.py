"""Discord's own pickers: what a card shows, and what a payload may say."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.actions import Back, Pick
from askback.domain.choice_words import Picks
from askback.domain.form import Question
from askback.domain.interview import Interview
from askback.domain.outcome import Picked
from askback_discord import limits, render
from askback_discord.pickers import read_picked
from support.discord_cards import accepted, card, displays, do, elements, interview, pick

BEN, CY, GENERAL = "110000000000000201", "110000000000000202", "110000000000000301"
USER = {"id": BEN, "username": "ben", "global_name": "Ben Okri", "bot": False}


def asking(picks: Picks = "people", **more: Any) -> Question:
    return Question(id=picks, prompt="Who?", picks=picks, **more)


def picker(at: Interview) -> dict[str, Any]:
    made = render.render_messages(card(at))
    accepted(made)
    (found,) = (one for one in elements(made) if one["type"] in (limits.USERS, limits.CHANNELS))
    return found


def test_a_card_has_the_picker_once_and_its_types_of_channels() -> None:
    one = picker(interview(asking()))
    assert (one["type"], one["min_values"], one["max_values"]) == (5, 1, 1)
    several = picker(interview(asking("channels", multi_select=True)))
    assert (several["type"], several["min_values"], several["max_values"]) == (8, 0, 25)
    assert several["channel_types"] == [0, 5, 15]


def test_a_picker_of_several_takes_as_many_as_the_question_and_what_is_picked_already() -> None:
    at = interview(asking(multi_select=True, max_choices=2))
    assert picker(at)["max_values"] == 2
    at = do(at, Pick(picked=pick("people", 3)))
    assert picker(at)["max_values"] == 3, "Discord rejects more default values than that"
    assert picker(at)["default_values"] == [{"id": one.id, "type": "user"} for one in pick("people", 3)]


def test_who_was_picked_before_is_shown_in_the_picker_where_there_is_another_way_on() -> None:
    at = do(interview(asking(), asking("channels")), Pick(picked=pick("people", 1)), Back())
    assert picker(at)["default_values"] == [{"id": pick("people", 1)[0].id, "type": "user"}]


def test_no_message_notifies_the_people_of_an_answer() -> None:
    at = do(interview(asking()), Pick(picked=(Picked(id=BEN, name="@everyone"),)))
    for body in render.render_messages(card(at), ping=True):
        assert f"<@{BEN}>" in "".join(displays([body]))
        assert body["allowed_mentions"] == {"parse": []}


@pytest.mark.parametrize(
    ("member", "name"), [({}, "Ben Okri"), ({"nick": None}, "Ben Okri"), ({"nick": "Benny\n<@1>"}, "Benny <@1>")]
)
def test_a_person_has_the_name_that_people_see(member: dict[str, Any], name: str) -> None:
    resolved = {"users": {BEN: USER}, "members": {BEN: member}}
    assert read_picked({"values": [BEN], "resolved": resolved}, "people") == (Picked(id=BEN, name=name),)


def test_a_channel_has_its_name() -> None:
    resolved = {"channels": {GENERAL: {"id": GENERAL, "type": 0, "name": "general"}}}
    assert read_picked({"values": [GENERAL], "resolved": resolved}, "channels") == (
        Picked(id=GENERAL, name="#general"),
    )


@pytest.mark.parametrize(
    ("picks", "values", "resolved"),
    [
        ("people", [CY], {"users": {BEN: USER}}),
        ("people", [BEN, "<@1>"], {"users": {BEN: USER, "<@1>": USER}}),
        ("people", [BEN], {"users": {BEN: {**USER, "bot": True}}}),
        ("people", [BEN], {}),
        ("people", [GENERAL], {"channels": {GENERAL: {"type": 0, "name": "general"}}}),
        ("channels", [GENERAL], {"channels": {GENERAL: {"type": 1, "name": None}}}),
        ("channels", [BEN], {"users": {BEN: USER}}),
    ],
)
def test_what_is_no_person_or_channel_makes_the_whole_click_invalid(
    picks: Picks, values: list[str], resolved: dict[str, Any]
) -> None:
    assert read_picked({"values": values, "resolved": resolved}, picks) is None
