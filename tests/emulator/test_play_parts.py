"""The parts of the player over recorded states: finding controls, drawing, expectations, the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from askback_sandbox.model.call_results import list_calls
from askback_sandbox.play.controls import NotFound, chosen, find, same
from askback_sandbox.play.expecting import Seen, missing
from askback_sandbox.play.scenario import Expect
from askback_sandbox.play.scene import Place, Scene
from askback_sandbox.play.verdict import lost_cards, model_troubles, unacked, unanswered
from askback_sandbox.slack.controls import controls
from askback_sandbox.slack.drawing import drawn
from askback_sandbox.slack.scene import Slack, scene


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def option(label: str, value: str = "") -> dict[str, Any]:
    return {"text": plain(label), "value": value or label}


def actions(*elements: Any) -> dict[str, Any]:
    return {"type": "actions", "block_id": "a", "elements": list(elements)}


def button(label: str) -> dict[str, Any]:
    return {"type": "button", "action_id": label, "text": plain(label)}


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def card(*blocks: Any, ts: str = "2.0", **more: Any) -> dict[str, Any]:
    return {"channel": "C1", "ts": ts, "thread_ts": "1.0", "bot": True, "text": "", "blocks": list(blocks), **more}


def seen(*messages: Any, **more: Any) -> Seen:
    state = {"messages": list(messages), "views": more.pop("views", []), "people": [], "bot": {}}
    return Seen(scene=scene(state), place=Place("C1", "1.0"), person="U1", **more)


@pytest.mark.parametrize(
    ("label", "wanted", "rank"),
    [
        ("Staging", "staging", 0),
        ("1. Staging", "Staging", 1),
        ("12. Staging", "12", 2),
        ("12. Staging", "1", 3),
        ("Something else…", "something else", 3),
        ("Something else…", "Something else...", 0),
        ("3. Move every customer to…", "Move every customer to the new system", 4),
        ("Deploy to Staging", "Staging", 5),
        ("● ✓ Staging", "Staging", 0),
        ("\u2068Staging\u2069", "Staging", 0),
        ("Staging", "Production", None),
        ("Staging", "", None),
    ],
)
def test_labels_are_found_by_what_people_see(label: str, wanted: str, rank: int | None) -> None:
    assert same(label, wanted) == rank


def test_the_best_fit_wins() -> None:
    found = controls([actions(button("Edit Time"), button("Time"), button("Time out"))])
    assert find(found, "time", kinds=("button",), what="button").label == "Time"


def test_what_is_there_is_listed_when_nothing_fits() -> None:
    with pytest.raises(NotFound, match="there is no button “C”; there is: “A”, “B”"):
        find(controls([actions(button("A"), button("B"))]), "C", kinds=("button",), what="button")


def test_an_entry_is_found_by_its_number_in_the_text_above() -> None:
    (menu,) = controls(
        [actions({"type": "static_select", "action_id": "m", "options": [option("1", "a"), option("2", "b")]})]
    )
    assert chosen(menu, "Berlin", "Which city?\n*1.* Amsterdam\n*2.* Berlin – rainy").value == "b"
    assert chosen(menu, "Berlin", "Which city?\n1  Amsterdam\n2  Berlin\n   rainy").value == "b"


def test_controls_are_found_wherever_they_stand() -> None:
    blocks: list[Any] = [
        {**section("x"), "accessory": button("in a section")},
        {"type": "input", "label": plain("Label"), "element": {"type": "plain_text_input", "action_id": "t"}},
        actions({"type": "button", "text": plain("a link"), "url": "https://example.com"}),
    ]
    assert [(control.kind, control.label) for control in controls(blocks)] == [
        ("button", "in a section"),
        ("field", "Label"),
    ]


def test_cards_are_drawn_with_their_controls() -> None:
    boxes = {
        "type": "checkboxes",
        "action_id": "c",
        "options": [option("1. A"), option("2. B")],
        "initial_options": [option("2. B")],
    }
    assert drawn([section("a &lt; b"), actions(boxes, button("Submit"), button("Cancel"))]) == [
        "a < b",
        "",
        "[ ] 1. A",
        "[x] 2. B",
        "[ Submit ]  [ Cancel ]",
    ]


def test_the_newest_card_with_controls_is_the_card() -> None:
    old, new, note = (
        card(section("old"), actions(button("A"))),
        card(section("new"), actions(button("B")), ts="3"),
        card(ts="4"),
    )
    assert not missing(Expect(card=("new",), controls=("B",), without=("old",)), seen(old, new, note))
    lacking = missing(Expect(card=("old",), controls=("A",)), seen(old, new, note))
    assert ["“old” on the card" in one.text or "the control “A”" in one.text for one in lacking] == [True, True]


def test_settled_means_the_pressed_card_has_no_controls() -> None:
    live, settled = card(section("q"), actions(button("A"))), card(section("q: A"))
    later = card(section("next"), actions(button("B")), ts="5")
    assert missing(Expect(settled=True), seen(live, later, pressed=("C1", "2.0")))
    assert not missing(Expect(settled=True, card=("q: A",)), seen(settled, later, pressed=("C1", "2.0")))


def test_messages_elsewhere_or_for_one_person_do_not_count() -> None:
    elsewhere = card(section("hello"), thread_ts="9.9")
    private = card(section("hello"), ephemeral_to="U1")
    assert missing(Expect(says=("hello",)), seen(elsewhere, private))
    assert not missing(Expect(notice=("hello",)), seen(private))
    assert missing(Expect(notice=("hello",)), seen(private, known_notices=frozenset({("C1", "2.0")})))


def test_errors_beside_fields() -> None:
    view = {"title": plain("Else"), "blocks": []}
    shown = [{"person": "U1", "view": view, "errors": {"b": "Please write something."}}]
    assert not missing(Expect(dialog=("Else",), field_error="write something"), seen(views=shown))
    assert not missing(Expect(field_error=True), seen(views=shown))
    assert missing(Expect(dialog=False), seen(views=shown))
    assert missing(Expect(field_error=True), seen(views=[{**shown[0], "errors": {}}]))


def log_entry(messages: list[Any], *calls: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": call, "name": "question", "input": {}} for call in calls]
    return {
        "path": "/v1/messages",
        "status": 200,
        "delivered": True,
        "request": {"messages": messages, "tools": [{"name": "question"}]},
        "answer": {"content": content},
        **more,
    }


def result(identifier: str, text: str) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": identifier, "content": text}]
    return {"role": "user", "content": content}


HELLO = {"role": "user", "content": "hello"}


def test_repeated_histories_count_once() -> None:
    history = [HELLO, result("t1", "A")]
    heard = list_calls([log_entry([HELLO], "t1"), log_entry(history), log_entry([*history, HELLO])])
    assert [(call.id, [one.text for one in call.results]) for call in heard] == [("t1", ["A"])]
    assert not unanswered(heard)


def test_two_results_are_a_problem_and_none_is_too() -> None:
    log = [log_entry([HELLO], "t1", "t2"), log_entry([HELLO, result("t1", "A")]), log_entry([HELLO, result("t1", "B")])]
    heard = list_calls(log)
    assert model_troubles(log, heard) == ["question (t1) got 2 different results: A / B"]
    assert unanswered(heard) == ["question (t2) never got a result"]


def test_an_answer_that_was_lost_in_a_crash_owes_nothing() -> None:
    log = [log_entry([HELLO], "t1", "t2"), log_entry([HELLO], "t3", "t4"), log_entry([HELLO, result("t3", "A")])]
    assert unanswered(list_calls(log)) == ["question (t4) never got a result"]


def test_a_tool_that_is_not_offered_is_named() -> None:
    entry = log_entry([HELLO], "t1")
    entry["request"]["tools"] = [{"name": "askQuestion"}]
    assert model_troubles([entry], ()) == [
        "the scenario calls the tool `question`, which the bot does not offer (it offers askQuestion)"
    ]


def test_an_answer_that_was_cut_off_owes_nothing() -> None:
    assert list_calls([log_entry([HELLO], "t1", delivered=False, fault="disconnect")]) == ()


@pytest.mark.parametrize(
    ("told", "fits"),
    [
        ({"is": '{"answer": "A", "timestamp": 1}'}, True),
        ({"is": '{"answer": "A"}'}, False),
        ({"contains": ["answer", "A"]}, True),
        ({"contains": ["B"]}, False),
        ({"json": {"answer": "A"}}, True),
        ({"json": {"answer": "A"}, "ignore": []}, False),
        ({"json": {"answer": "B"}}, False),
        ({"error": True}, False),
    ],
)
def test_what_the_model_was_told(told: dict[str, Any], fits: bool) -> None:
    heard = list_calls([log_entry([HELLO], "t1"), log_entry([HELLO, result("t1", '{"answer": "A", "timestamp": 1}')])])
    lacking = missing(Expect.model_validate({"told": told}), seen(heard=heard))
    assert (not lacking) is fits
    assert all(one.final for one in lacking), "waiting will not change a result"


def test_acks_are_judged() -> None:
    state = {
        "people": [{"id": "U1", "name": "ada"}],
        "interactions": [
            {"id": "1", "kind": "event", "person": "U1", "acked": False, "error": "old"},
            {"id": "2", "kind": "block_actions", "person": "U1", "acked": True, "ack_ms": 12.0},
            {"id": "3", "kind": "block_actions", "person": "U1", "acked": True, "ack_ms": 3100.0},
            {"id": "4", "kind": "view_submission", "person": "U1", "acked": False, "error": "no answer"},
            {"id": "5", "kind": "event", "person": "U1", "acked": None},
        ],
    }
    assert unacked(scene(state), before={"1"}) == [
        "acknowledged too late, after 3.1 s: block_actions by ada",
        "never acknowledged: view_submission by ada (no answer)",
        "never acknowledged: event by ada",
    ]


def test_refused_calls_are_judged() -> None:
    calls = [
        {"method": "chat.postMessage", "status": 200, "answer": {"ok": True}},
        {"method": "chat.update", "status": 200, "answer": {"ok": False, "error": "msg_too_long"}},
        {"method": "views.open", "status": 429, "answer": {"ok": False, "error": "ratelimited"}},
        {"method": "chat.delete", "status": 500, "answer": {}},
    ]
    assert Slack().refusals(calls, Scene(bot="askback"), ("ratelimited",)) == [
        "the workspace refused chat.update: msg_too_long",
        "the workspace refused chat.delete: HTTP 500",
    ]


def test_an_answered_card_with_controls_is_a_lost_update() -> None:
    state = {"messages": [card(section("Which?"), actions(button("A"))), card(actions(button("B")), ts="7")]}
    assert lost_cards(scene(state), {("C1", "2.0")}) == [
        "a card update was lost: the question was answered, and the card still has “A”: Which?"
    ]


def test_requests_that_were_refused_or_not_planned() -> None:
    refused = log_entry(
        [HELLO], status=400, delivered=False, answer={"error": {"message": "max_tokens: Field required"}}
    )
    fault = log_entry(
        [HELLO], status=529, delivered=False, fault="overloaded", answer={"error": {"message": "Overloaded"}}
    )
    beyond = log_entry([HELLO], beyond=True, script="s", turn=2)
    assert model_troubles([refused, fault, beyond], ()) == [
        "the Messages API refused a request: max_tokens: Field required",
        "the model was asked for a turn 3, which the scenario does not have",
    ]
