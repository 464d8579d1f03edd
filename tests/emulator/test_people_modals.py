"""People's actions in modals and the visible result, through their endpoints."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from askback_sandbox.slack.faults import Fault
from askback_sandbox.slack.modals import REQUIRED


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def modal(title: str = "Form", *, blocks: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    text = {
        "type": "input",
        "block_id": "why",
        "label": plain("Why?"),
        "element": {"type": "plain_text_input", "action_id": "text", "min_length": 2, "max_length": 5},
    }
    return {
        "type": "modal",
        "callback_id": "form",
        "title": plain(title),
        "submit": plain("Send"),
        "blocks": blocks or [text],
        **more,
    }


class Form:
    """A bot with one modal; it answers a submission with `answer`."""

    def __init__(self, services, bot, hands) -> None:
        self.services, self.bot, self.hands = services, bot, hands
        self.answer: dict[str, Any] = {}
        self.submitted: list[dict[str, Any]] = []
        self.closed: list[dict[str, Any]] = []
        self.clicked: list[dict[str, Any]] = []

        @bot.app.view("form")
        async def submission(ack, body) -> None:
            self.submitted.append(body)
            await ack(**self.answer)

        @bot.app.view_closed("form")
        async def closing(ack, body) -> None:
            self.closed.append(body)
            await ack()

        @bot.app.action("press")
        async def press(ack, body) -> None:
            self.clicked.append(body)
            await ack()

    async def open(self, view: dict[str, Any], person: str = "U0LOCALADA") -> str:
        trigger = self.services.workspace.issue_trigger(person).id
        return (await self.bot.client.views_open(trigger_id=trigger, view=view))["view"]["id"]

    async def submit(self, view_id: str, values: Any = None, person: str = "ada") -> dict[str, Any]:
        return await self.hands.post("/people/submit", person=person, view_id=view_id, values=values or {})

    async def titles(self) -> list[str]:
        return [entry["view"]["title"]["text"] for entry in (await self.hands.state())["views"]]


@pytest.fixture
async def form(services, bot, hands) -> Form:
    form = Form(services, bot, hands)
    await bot.connect()
    return form


GOOD = {"why": {"text": "fine"}}


async def test_a_click_opens_a_modal_and_submitting_it_closes_it(services, bot, hands, form) -> None:
    @bot.app.action("ask")
    async def ask(ack, body, client) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=modal(private_metadata="id 7"))

    button = {"type": "button", "action_id": "ask", "text": plain("Other…")}
    blocks = [{"type": "actions", "block_id": "a", "elements": [button]}]
    ts = (await bot.client.chat_postMessage(channel="C0GENERAL", text="x", blocks=blocks))["ts"]
    await hands.post("/people/act", person="ben", channel="general", ts=ts, block_id="a", action_id="ask")
    await services.workspace.until(lambda w: w.views)
    (entry,) = (await hands.state())["views"]
    assert (entry["person"], entry["view"]["callback_id"], entry["errors"]) == ("U0LOCALBEN", "form", {})
    assert entry["view"]["hash"]

    assert (await form.submit(entry["view"]["id"], GOOD, person="ben"))["ok"]
    assert (await hands.state())["views"] == []
    (sent,) = form.submitted
    assert sent["view"]["state"]["values"] == {"why": {"text": {"type": "plain_text_input", "value": "fine"}}}
    assert (sent["view"]["private_metadata"], sent["user"]["id"]) == ("id 7", "U0LOCALBEN")


async def test_slack_asks_for_required_fields_and_lengths_before_the_bot(form) -> None:
    view_id = await form.open(modal())
    assert (await form.submit(view_id))["errors"] == {"why": REQUIRED}
    assert "at least 2" in (await form.submit(view_id, {"why": {"text": "x"}}))["errors"]["why"]
    assert "less than 6" in (await form.submit(view_id, {"why": {"text": "x" * 6}}))["errors"]["why"]
    assert form.submitted == []
    (entry,) = (await form.hands.state())["views"]
    assert set(entry["errors"]) == {"why"}
    assert (await form.submit(view_id, GOOD))["ok"]


async def test_an_optional_field_is_sent_empty(form) -> None:
    blocks = [{**modal()["blocks"][0], "optional": True}]
    assert (await form.submit(await form.open(modal(blocks=blocks))))["ok"]
    assert form.submitted[0]["view"]["state"]["values"]["why"]["text"]["value"] is None


async def test_menus_take_one_value_or_a_list(form) -> None:
    options = [{"text": plain(value), "value": value} for value in ("a", "b")]
    blocks = [
        {
            "type": "input",
            "block_id": kind,
            "label": plain(kind),
            "element": {"type": kind, "action_id": "x", "options": options},
        }
        for kind in ("static_select", "multi_static_select", "radio_buttons", "checkboxes")
    ]
    view_id = await form.open(modal(blocks=blocks))
    wrong = await form.submit(view_id, {"static_select": {"x": "q"}})
    assert wrong["ok"] is False
    values = {block["block_id"]: {"x": ["a"]} for block in blocks} | {"static_select": {"x": "b"}}
    assert (await form.submit(view_id, values))["ok"]
    sent = form.submitted[0]["view"]["state"]["values"]
    assert sent["static_select"]["x"]["selected_option"]["value"] == "b"
    assert [o["value"] for o in sent["checkboxes"]["x"]["selected_options"]] == ["a"]


async def test_a_time_is_sent_in_seconds_and_may_be_left_out(form) -> None:
    blocks = [
        {
            "type": "input",
            "block_id": name,
            "optional": True,
            "label": plain(name),
            "element": {"type": "datetimepicker", "action_id": "x"},
        }
        for name in ("when", "until")
    ]
    view_id = await form.open(modal(blocks=blocks))
    for wrong in ("tomorrow", "12", "1" * 13):
        assert (await form.submit(view_id, {"when": {"x": wrong}}))["ok"] is False
    assert (await form.submit(view_id, {"when": {"x": "1800000000"}}))["ok"]
    sent = form.submitted[0]["view"]["state"]["values"]
    assert sent["when"]["x"] == {"type": "datetimepicker", "selected_date_time": 1_800_000_000}
    assert sent["until"]["x"] == {"type": "datetimepicker", "selected_date_time": None}


async def test_errors_of_the_bot_keep_the_modal_open_under_their_fields(form) -> None:
    view_id = await form.open(modal())
    form.answer = {"response_action": "errors", "errors": {"why": "Say more."}}
    answer = await form.submit(view_id, GOOD)
    assert (answer["ok"], answer["errors"]) == (False, {"why": "Say more."})
    (entry,) = (await form.hands.state())["views"]
    assert entry["errors"] == {"why": "Say more."}
    form.answer = {}
    assert (await form.submit(view_id, GOOD))["ok"]


async def test_errors_for_no_field_are_trouble_for_the_person(form) -> None:
    view_id = await form.open(modal())
    form.answer = {"response_action": "errors", "errors": {"elsewhere": "x"}}
    answer = await form.submit(view_id, GOOD)
    assert (answer["ok"], "trouble" in answer["error"]) == (False, True)
    assert len((await form.hands.state())["views"]) == 1
    assert (await form.hands.state())["interactions"][-1]["error"]


async def test_an_answer_can_update_push_and_clear(form) -> None:
    first = await form.open(modal("One"))
    form.answer = {"response_action": "update", "view": modal("Two")}
    before = form.services.workspace.view(first).hash
    assert (await form.submit(first, GOOD))["ok"]
    assert await form.titles() == ["Two"]
    assert form.services.workspace.view(first).hash != before
    form.answer = {"response_action": "push", "view": modal("Three")}
    assert (await form.submit(first, GOOD))["ok"]
    assert await form.titles() == ["Two", "Three"]
    top = form.services.workspace.stack("U0LOCALADA")[-1]
    assert (top.root_id, top.previous_id) == (first, first)
    assert not (await form.submit(first, GOOD))["ok"], "only the topmost modal can be used"
    form.answer = {"response_action": "clear"}
    assert (await form.submit(top.id, GOOD))["ok"]
    assert await form.titles() == []


async def test_an_invalid_view_in_an_answer_is_trouble_for_the_person(form) -> None:
    view_id = await form.open(modal())
    form.answer = {"response_action": "update", "view": modal("x" * 25)}
    answer = await form.submit(view_id, GOOD)
    assert "less than 25 characters" in answer["error"]
    assert await form.titles() == ["Form"]


async def test_an_unacked_submission_leaves_the_modal_open(form, clock) -> None:
    view_id = await form.open(modal())
    fault = form.services.workspace.faults.add(Fault(kind="swallow_ack", method="interactive"))
    submission = asyncio.create_task(form.submit(view_id, GOOD))
    await form.services.workspace.faults.until_gone(fault)
    clock.advance(3)
    answer = await submission
    assert (answer["ok"], answer["error"]) == (False, "askback did not respond in time")
    assert await form.titles() == ["Form"]


async def test_an_update_keeps_what_is_written_where_the_ids_are_the_same(form) -> None:
    button = {"type": "button", "action_id": "press", "text": plain("x")}
    blocks = [*modal()["blocks"], {"type": "actions", "block_id": "b", "elements": [button]}]
    view_id = await form.open(modal(blocks=blocks))
    field = {"person": "ada", "view_id": view_id, "block_id": "why", "action_id": "text"}
    typed = await form.hands.post("/people/act", **field, selected=["abc"])
    assert typed == {"ok": True, "interaction": None}
    await form.bot.client.views_update(view_id=view_id, view=modal("Again", blocks=blocks))
    pressed = await form.hands.post("/people/act", person="ada", view_id=view_id, block_id="b", action_id="press")
    assert pressed["ok"]
    view = form.clicked[0]["view"]
    assert (view["title"]["text"], view["state"]["values"]["why"]["text"]["value"]) == ("Again", "abc")
    other = [{**blocks[0], "block_id": "other"}, blocks[1]]
    await form.bot.client.views_update(view_id=view_id, view=modal(blocks=other), hash=view["hash"])
    await form.hands.post("/people/act", person="ada", view_id=view_id, block_id="b", action_id="press")
    assert form.clicked[1]["view"]["state"]["values"] == {
        "other": {"text": {"type": "plain_text_input", "value": None}}
    }


async def test_a_click_in_a_modal_may_push_one_on_top(form) -> None:
    button = {"type": "button", "action_id": "press", "text": plain("x")}
    blocks = [{"type": "actions", "block_id": "b", "elements": [button]}]
    view_id = await form.open(modal("One", blocks=blocks))
    await form.hands.post("/people/act", person="ada", view_id=view_id, block_id="b", action_id="press")
    click = form.clicked[0]
    assert (click["container"], "response_url" in click) == ({"type": "view", "view_id": view_id}, False)
    await form.bot.client.views_push(trigger_id=click["trigger_id"], view=modal("Two"))
    assert await form.titles() == ["One", "Two"]


async def test_closing_is_told_when_the_view_asks_for_it(form) -> None:
    silent = await form.open(modal())
    assert (await form.hands.post("/people/close", person="ada", view_id=silent))["interaction"] is None
    assert form.closed == []
    view_id = await form.open(modal(notify_on_close=True))
    assert (await form.hands.post("/people/close", person="ada", view_id=view_id))["ok"]
    assert (form.closed[0]["view"]["id"], form.closed[0]["is_cleared"]) == (view_id, False)
    assert await form.titles() == []
    assert not (await form.hands.post("/people/close", person="ada", view_id=view_id))["ok"]


async def test_the_cross_closes_the_whole_stack_and_names_the_root(form) -> None:
    root = await form.open(modal("One", notify_on_close=True))
    form.answer = {"response_action": "push", "view": modal("Two", notify_on_close=True)}
    await form.submit(root, GOOD)
    top = form.services.workspace.stack("U0LOCALADA")[-1].id
    await form.hands.post("/people/close", person="ada", view_id=top, clear=True)
    assert (form.closed[0]["view"]["id"], form.closed[0]["is_cleared"]) == (root, True)
    assert await form.titles() == []


async def test_two_people_have_modals_of_their_own(form) -> None:
    ada, ben = await form.open(modal()), await form.open(modal(), person="U0LOCALBEN")
    assert not (await form.submit(ben, GOOD, person="ada"))["ok"]
    assert (await form.submit(ada, GOOD, person="ada"))["ok"]
    assert [entry["person"] for entry in (await form.hands.state())["views"]] == ["U0LOCALBEN"]
