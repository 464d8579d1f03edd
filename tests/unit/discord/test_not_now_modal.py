"""The modal behind "Not now…": within Discord's limits, and submissions are read tolerantly."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.not_now import STAYS_OPEN
from askback_discord import control_ids, not_now_modal, text_modal
from support.discord_cards import ASK, NOW, accepted_modal, displays
from support.forms import build_field

NOON_AND_TWO = NOW + timedelta(hours=2)
FIELD = build_field(ASK).evolve(declines=True)


def shown(**changes: Any) -> Any:
    made: Any = not_now_modal.build_modal(FIELD.evolve(**changes), NOW)
    accepted_modal(made)
    return made


def fields(made: Any) -> dict[int, Any]:
    return {label["component"]["type"]: label["component"] for label in made["components"] if "component" in label}


def list_ways(made: Any) -> list[str]:
    return [option["value"] for option in fields(made)[21]["options"]]


def get_control(made: Any) -> control_ids.Control:
    control = control_ids.parse(made["custom_id"])
    assert control is not None
    return control


def test_it_asks_for_a_way_and_a_note() -> None:
    made = shown()
    assert made["title"] == "Not now"
    assert displays(made["components"]) == ["**Which one?**"]
    assert list_ways(made) == ["discuss", "hour", "hours", "day", "week", "cancel"]
    assert [option["value"] for option in fields(made)[21]["options"] if option.get("default")] == ["discuss"]
    assert fields(made)[4]["required"] is False
    assert get_control(made) == control_ids.Control(kind="decline", ask_id=ASK, step=3)


def test_a_reminder_after_the_end_is_not_offered() -> None:
    assert list_ways(shown(deadline=NOW + timedelta(hours=5))) == ["discuss", "hour", "hours", "cancel"]
    assert list_ways(shown(deadline=NOW + timedelta(seconds=1))) == ["discuss", "cancel"]


def test_after_the_deadline_it_still_opens() -> None:
    assert {"discuss", "cancel"} <= {*list_ways(shown(deadline=NOW - timedelta(minutes=1)))}


def test_who_may_only_cancel_has_no_choice() -> None:
    made = shown(only_cancels=True)
    assert made["title"] == "Cancel this question"
    assert 21 not in fields(made)
    assert not_now_modal.parse_way(get_control(made), {"components": []}) == "cancel"


def test_a_reminder_of_a_decision_has_only_its_times() -> None:
    made = shown(only_reminds=True)
    assert made["title"] == "Remind me"
    assert list_ways(made) == ["hour", "hours", "day", "week"]
    assert [*fields(made)] == [21], "there is no note"
    assert made["components"][1]["description"] == STAYS_OPEN
    assert get_control(made) == control_ids.Control(kind="decline", ask_id=ASK, step=3)


def test_a_single_time_is_a_menu_of_one_and_without_any_there_is_no_modal() -> None:
    made = shown(only_reminds=True, deadline=NOON_AND_TWO)
    (menu,) = fields(made).values()
    assert (menu["type"], [option["value"] for option in menu["options"]]) == (3, ["hour"])
    sent = {"components": [{"type": 18, "component": {"type": 3, "custom_id": "askback:way", "values": ["hour"]}}]}
    assert not_now_modal.parse_way(get_control(made), sent) == "hour"
    field = FIELD.evolve(only_reminds=True, deadline=NOW + timedelta(minutes=30))
    assert not_now_modal.build_modal(field, NOW) is None


@given(st.text(max_size=6000).filter(lambda text: bool(text.strip())))
def test_any_question_fits_above_it(prompt: str) -> None:
    shown(prompt=prompt)


def sent(way: Any, note: Any = "Soon") -> dict[str, Any]:
    return {
        "components": [
            {"type": 10, "id": 1},
            {"type": 18, "id": 2, "component": {"type": 21, "id": 3, "custom_id": "askback:way", "value": way}},
            {"type": 18, "id": 4, "component": {"type": 4, "id": 5, "custom_id": "askback:text", "value": note}},
        ]
    }


def test_what_was_sent_is_read() -> None:
    control = get_control(shown())
    assert not_now_modal.parse_way(control, sent("hour")) == "hour"
    assert text_modal.read_text(sent("hour")) == "Soon"


@pytest.mark.parametrize("data", [{}, {"components": None}, sent(None), sent("explode"), sent(["hour"]), sent(7)])
def test_what_cannot_be_read_is_no_way(data: Any) -> None:
    assert not_now_modal.parse_way(get_control(shown()), data) is None
