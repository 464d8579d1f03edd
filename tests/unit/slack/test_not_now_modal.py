"""The modal behind "Not now…": within Slack's limits, and submissions are read tolerantly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.not_now import STAYS_OPEN
from askback_slack import form_modal, not_now_modal, text_modal
from askback_slack.not_now_modal import Sent
from support.forms import build_field
from support.slack_cards import ASK, NOW, accepted_view, strings

FIELD = build_field(ASK).evolve(declines=True)
REF = text_modal.FieldRef(ask_id=ASK, step=3, channel="C1", message_ts="1700000000.000100", declines=True)


def shown(**changes: Any) -> Any:
    made: Any = not_now_modal.build_view(FIELD.evolve(**changes), REF, NOW)
    accepted_view(made)
    return made


def elements(view: Any) -> dict[str, Any]:
    return {block["element"]["type"]: block["element"] for block in view["blocks"] if block["type"] == "input"}


def list_ways(view: Any) -> list[str]:
    return [option["value"] for option in elements(view)["radio_buttons"]["options"]]


def test_it_asks_for_a_way_a_note_and_a_time() -> None:
    view = shown()
    assert view["title"]["text"] == "Not now"
    assert list_ways(view) == ["discuss", "hour", "tomorrow", "time", "cancel"]
    assert [*elements(view)] == ["radio_buttons", "plain_text_input", "datetimepicker"]
    assert elements(view)["radio_buttons"]["initial_option"]["value"] == "discuss"
    assert "Which one?" in strings(view["blocks"])
    assert [block.get("optional") for block in view["blocks"] if block["type"] == "input"] == [None, True, True]
    assert text_modal.parse_ref(view) == REF


def test_a_reminder_after_the_end_is_not_offered() -> None:
    assert "hour" not in list_ways(shown(deadline=NOW + timedelta(minutes=59)))


def test_after_the_deadline_it_still_opens() -> None:
    assert {"discuss", "cancel"} <= {*list_ways(shown(deadline=NOW - timedelta(minutes=1)))}


def test_who_may_only_cancel_sees_only_that() -> None:
    view = shown(only_cancels=True)
    assert list_ways(view) == ["cancel"]
    assert "datetimepicker" not in elements(view)
    assert view["title"]["text"] == "Cancel this question"


def test_a_reminder_of_a_decision_has_only_its_times() -> None:
    view = shown(only_reminds=True)
    assert view["title"]["text"] == "Remind me"
    assert list_ways(view) == ["hour", "tomorrow", "time"]
    assert [*elements(view)] == ["radio_buttons", "datetimepicker"], "there is no note"
    assert STAYS_OPEN in strings(view["blocks"])


def test_an_error_is_shown_at_a_block_that_the_modal_has() -> None:
    assert form_modal.find_error_block(shown()) == text_modal.ANSWER
    assert form_modal.find_error_block(shown(only_reminds=True)) == not_now_modal.WAY


@given(st.text(max_size=6000).filter(lambda text: bool(text.strip())))
def test_any_question_stands_above_it_whole(prompt: str) -> None:
    shown(prompt=prompt)


def state(**elements: Any) -> dict[str, Any]:
    places = {"way": ("askback:way",) * 2, "when": ("askback:when",) * 2, "note": ("askback:answer", "askback:text")}
    return {"state": {"values": {places[name][0]: {places[name][1]: one} for name, one in elements.items()}}}


def test_what_was_sent_is_read() -> None:
    sent = state(
        way={"type": "radio_buttons", "selected_option": {"value": "time", "text": {}}},
        when={"type": "datetimepicker", "selected_date_time": 1_800_000_000},
        note={"type": "plain_text_input", "value": "Soon"},
    )
    assert not_now_modal.parse_sent(sent) == Sent(
        way="time", note="Soon", when=datetime.fromtimestamp(1_800_000_000, UTC)
    )


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"state": None},
        state(way={"selected_option": None}, when={"selected_date_time": None}, note={"value": None}),
        state(way={"selected_option": {"value": "explode"}}, when={"selected_date_time": 10**30}),
        state(way={"selected_option": {"value": ["hour"]}}, when={"selected_date_time": True}),
        state(way={"selected_option": "hour"}, when={"selected_date_time": "1800000000"}),
        state(way=7, when=[], note=None),
    ],
)
def test_what_cannot_be_read_is_nothing(sent: Any) -> None:
    assert not_now_modal.parse_sent(sent) == Sent(way=None, note="", when=None)
