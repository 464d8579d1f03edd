"""Slack's own pickers: what a card shows, and what a payload may say."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.actions import Back, Pick, Submit
from askback.domain.choice_words import Picks
from askback.domain.form import Question
from askback.domain.interview import Interview
from askback.domain.outcome import Picked
from askback_slack import control_ids, render
from askback_slack.click_payloads import read_click
from support.slack_cards import ASK, accepted, card, do, elements, interview, labels, pick, strings

HOSTILE = "<!channel> <@U0BEN0000> *bold* \u202e"


def asking(picks: Picks = "people", **more: Any) -> Question:
    return Question(id=picks, prompt="Who?", picks=picks, **more)


def drawn(at: Interview, **more: Any) -> tuple[render.SlackMessage, ...]:
    made = render.render_messages(card(at), **more)
    accepted(made)
    return made


@pytest.mark.parametrize(
    ("picks", "several", "kind"),
    [
        ("people", False, "users_select"),
        ("people", True, "multi_users_select"),
        ("channels", False, "conversations_select"),
        ("channels", True, "multi_conversations_select"),
    ],
)
def test_a_card_has_the_picker_once_and_its_filter(picks: Picks, several: bool, kind: str) -> None:
    made = drawn(interview(asking(picks, multi_select=several)))
    (picker,) = (one for one in elements(made) if one["type"] != "button")
    assert picker["type"] == kind
    assert picker.get("filter") == ({"include": ["public", "private"]} if picks == "channels" else None)
    assert labels(made) == ["Submit", "Not now…"] if several else ["Not now…"]


def test_a_picker_of_several_takes_as_many_as_the_question_and_what_is_picked_already() -> None:
    at = interview(asking(multi_select=True, max_choices=2))
    (picker,) = (one for one in elements(drawn(at)) if "max_selected_items" in one)
    assert picker["max_selected_items"] == 2
    at = do(at, Pick(picked=pick("people", 3)))
    (picker,) = (one for one in elements(drawn(at)) if "max_selected_items" in one)
    assert picker["max_selected_items"] == 3, "Slack rejects more initial users than that"
    assert picker["initial_users"] == [one.id for one in pick("people", 3)]


def test_who_was_picked_before_is_shown_in_the_picker() -> None:
    at = do(interview(asking(), asking("channels")), Pick(picked=pick("people", 1)), Back())
    (picker,) = (one for one in elements(drawn(at)) if one["type"] == "users_select")
    assert picker["initial_user"] == pick("people", 1)[0].id


def test_a_new_message_names_people_and_a_changed_one_mentions_them() -> None:
    at = do(interview(asking()), Pick(picked=(Picked(id="U0BEN0000", name=HOSTILE),)))
    changed, new = drawn(at), drawn(at, mentions=False)
    assert {"type": "user", "user_id": "U0BEN0000", "style": {"bold": True}} in _objects(changed[0].blocks)
    assert not [one for one in _objects(new[0].blocks) if one.get("user_id") == "U0BEN0000"]
    assert any("<!channel>" in text for text in strings([*new[0].blocks])), "rich text is literal"
    assert "<!channel>" not in new[0].text
    assert "&lt;!channel&gt;" in new[0].text


def test_the_notification_names_who_is_picked() -> None:
    at = do(interview(asking(multi_select=True)), Pick(picked=(Picked(id="U0BEN0000", name="Ben <Okri>"),)))
    assert "Chosen so far: Ben &lt;Okri&gt;" in drawn(at)[0].text
    assert drawn(do(at, Submit()))[0].text == "Who?\nAnswered: Ben &lt;Okri&gt;"


def payload(kind: str, control: str, **selected: Any) -> dict[str, Any]:
    block = control_ids.build_block_id(ASK, 4, 1)
    action_id = control_ids.to_action_id(control_ids.Control(kind=control, ask_id=ASK, step=0))  # type: ignore[arg-type]
    element = {"type": kind, "action_id": action_id, "initial_users": ["U0ADA0000"]}
    return {
        "user": {"id": "U0ADA0000", "team_id": "T1"},
        "team": {"id": "T1"},
        "message": {"ts": "1.1", "blocks": [{"type": "section", "block_id": block, "accessory": element}]},
        "channel": {"id": "C0GENERAL"},
        "actions": [{"type": kind, "action_id": action_id, "block_id": block, "action_ts": "17.5", **selected}],
    }


def test_what_slack_sends_is_read_with_what_the_card_was_drawn_with() -> None:
    sent = payload("multi_users_select", "people", selected_users=["U0BEN0000", "W0CYCY000"])
    click = read_click(sent)
    assert click is not None
    assert click.pick == Pick(
        picked=(Picked(id="U0BEN0000"), Picked(id="W0CYCY000")), base=("U0ADA0000",), revision=4, order=17.5
    )


@pytest.mark.parametrize(
    ("kind", "control", "selected"),
    [
        ("users_select", "people", {"selected_user": "C0GENERAL"}),
        ("users_select", "people", {"selected_user": "U0BEN0000 "}),
        ("users_select", "people", {"selected_user": "<@U0BEN0000>"}),
        ("users_select", "people", {"selected_user": "U" * 5000 + "!"}),
        ("users_select", "people", {"selected_user": "U" * 5000}),
        ("multi_users_select", "people", {"selected_users": ["U0BEN0000", None]}),
        ("multi_users_select", "people", {"selected_users": ["U0BEN0000", {"id": "U0CYCY000"}]}),
        ("conversations_select", "channels", {"selected_conversation": "D0DIRECT0"}),
        ("conversations_select", "channels", {"selected_conversation": "U0BEN0000"}),
        ("multi_conversations_select", "channels", {"selected_conversations": ["C0GENERAL", "\n"]}),
    ],
)
def test_an_id_of_another_shape_makes_the_whole_click_invalid(kind: str, control: str, selected: Any) -> None:
    click = read_click(payload(kind, control, **selected))
    assert click is not None
    assert click.pick is None


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list | tuple):
        return [found for one in value for found in _objects(one)]
    return [value, *_objects([*value.values()])] if isinstance(value, dict) else []
