"""The scenario player, with the services and a small bolt bot: its view, and the errors that it notices."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from anthropic import AsyncAnthropic

from askback_sandbox.play.play import play
from askback_sandbox.play.scenario import Scenario
from askback_sandbox.play.scenario_reader import parse
from askback_sandbox.services import Services
from askback_sandbox.slack.faults import Fault
from emulator.conftest import Bot, bot_for
from emulator.play_scenarios import GOOD, IN_VAIN, SINGLE, TOOL
from support.clocks import SharedClock


class SmallBot:
    """A bot that asks AskUserQuestion's questions one card at a time; `wrong` breaks it."""

    def __init__(self, bot: Bot, model: AsyncAnthropic, wrong: str) -> None:
        self.app, self.model, self.wrong = bot.app, model, wrong
        self.threads: dict[str, list[Any]] = {}
        self.owners: dict[str, str] = {}
        self.asked: dict[str, tuple[str, str, Any]] = {}
        self.app.event("app_mention")(self.mention)
        self.app.event("message")(self.other)
        self.app.action("menu")(self.menu)
        self.app.options("menu")(self.search)
        self.app.action("choose")(self.choose)
        self.app.action("write")(self.write)
        self.app.action("tick")(self.ticked)
        self.app.action("submit")(self.submit)
        self.app.view("answer")(self.answer)

    async def other(self, event: dict[str, Any]) -> None:
        if event.get("channel_type") == "im" and "bot_id" not in event and "subtype" not in event:
            await self.mention(event)

    async def mention(self, event: dict[str, Any]) -> None:
        self.owners[event["ts"]] = event["user"]
        self.threads[event["ts"]] = [{"role": "user", "content": event["text"]}]
        await self.turn(event["channel"], event["ts"])

    async def turn(self, channel: str, root: str) -> None:
        history = self.threads[root]
        client = self.model.with_options(max_retries=2)
        reply = await client.messages.create(model="m", max_tokens=100, messages=history, tools=[TOOL])
        history.append(reply.to_param())
        for block in reply.content:
            if block.type == "text":
                await self.app.client.chat_postMessage(channel=channel, thread_ts=root, text=block.text)
            if block.type == "tool_use":
                question = block.input["questions"][0]
                posted = await self.app.client.chat_postMessage(
                    channel=channel, thread_ts=root, text=question["question"], blocks=self.blocks(question)
                )
                self.asked[posted["ts"]] = (block.id, root, question)

    def blocks(self, question: Any) -> list[Any]:
        text = "\n".join(
            [
                question["question"],
                *(f"{n}. {o['label']} – {o.get('description', '')}" for n, o in enumerate(question["options"], 1)),
            ]
        )
        plain = [{"type": "plain_text", "text": option["label"]} for option in question["options"]]
        if question["multiSelect"]:
            options = [{"text": {**p, "text": f"{n}. {p['text']}"}, "value": p["text"]} for n, p in enumerate(plain, 1)]
            elements: list[Any] = [{"type": "checkboxes", "action_id": "tick", "options": options}]
            more: list[Any] = [
                {"type": "button", "action_id": "submit", "text": {"type": "plain_text", "text": "Submit"}}
            ]
        elif len(plain) > 4:
            elements = [{"type": "external_select", "action_id": "menu", "min_query_length": 1}]
            more = []
        else:
            elements = [
                {"type": "button", "action_id": "choose", "text": p, "value": p["text"], "style": "primary"}
                for p in plain[:1]
            ]
            more = [{"type": "button", "action_id": "write", "text": {"type": "plain_text", "text": "Something else…"}}]
        return [
            {"type": "section", "block_id": "q", "text": {"type": "mrkdwn", "text": text}},
            {"type": "actions", "block_id": "a", "elements": [*elements, *more]},
        ]

    async def search(self, ack: Any, payload: Any) -> None:
        labels = [option["label"] for _, _, question in self.asked.values() for option in question["options"]]
        found = [label for label in labels if payload["value"].lower() in label.lower()]
        await ack(options=[{"text": {"type": "plain_text", "text": label}, "value": label} for label in found])

    async def menu(self, ack: Any, body: Any, action: Any) -> None:
        await ack()
        await self.settle(body["message"]["ts"], body["channel"]["id"], action["selected_option"]["value"])

    async def choose(self, ack: Any, body: Any, action: Any) -> None:
        if self.wrong == "no ack":
            await self.settle(body["message"]["ts"], body["channel"]["id"], action["value"])
            raise RuntimeError("an error in a listener")
        await ack()
        ts, user = body["message"]["ts"], body["user"]["id"]
        place = {"channel": body["channel"]["id"], "thread_ts": body["message"]["thread_ts"], "user": user}
        if ts not in self.asked:
            await self.app.client.chat_postEphemeral(**place, text="That was too late.")
        elif self.owners[self.asked[ts][1]] != user:
            await self.app.client.chat_postEphemeral(**place, text="Sorry, only Ben is asked.")
        else:
            await self.settle(ts, body["channel"]["id"], action["value"])

    async def ticked(self, ack: Any) -> None:
        await ack()

    async def submit(self, ack: Any, body: Any) -> None:
        await ack()
        chosen = body["state"]["values"]["a"]["tick"]["selected_options"]
        label = ", ".join(option["value"] for option in chosen)
        await self.settle(body["message"]["ts"], body["channel"]["id"], label)

    async def write(self, ack: Any, body: Any) -> None:
        await ack()
        field = {"type": "plain_text_input", "action_id": "text", "multiline": True}
        view = {
            "type": "modal",
            "callback_id": "answer",
            "title": {"type": "plain_text", "text": "Something else"},
            "submit": {"type": "plain_text", "text": "Submit"},
            "private_metadata": json.dumps([body["message"]["ts"], body["channel"]["id"]]),
            "blocks": [
                {
                    "type": "input",
                    "block_id": "own",
                    "label": {"type": "plain_text", "text": "Your answer"},
                    "element": field,
                }
            ],
        }
        await self.app.client.views_open(trigger_id=body["trigger_id"], view=view)

    async def answer(self, ack: Any, view: Any) -> None:
        text = view["state"]["values"]["own"]["text"]["value"] or ""
        if not text.strip():
            await ack(response_action="errors", errors={"own": "An answer cannot be empty."})
            return
        await ack()
        ts, channel = json.loads(view["private_metadata"])
        await self.settle(ts, channel, text)

    async def settle(self, ts: str, channel: str, label: str) -> None:
        identifier, root, question = self.asked.pop(ts)
        text = f"{question['question']} – {label}"
        if self.wrong != "no update":
            blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]
            if self.wrong == "bad update":
                blocks.append({"type": "unheard_of", "text": blocks[0]["text"]})
                await self.update_refused(channel, ts, text, blocks[1:])
            await self.app.client.chat_update(channel=channel, ts=ts, text=text, blocks=blocks[:1])
        said = "Production" if self.wrong == "result" else label
        result = f'User has answered your questions: "{question["question"]}"="{said}".'
        content = [{"type": "tool_result", "tool_use_id": identifier, "content": result}]
        if self.wrong == "unpaired":
            content = [{"type": "text", "text": result}]
        if self.wrong != "no result":
            self.threads[root].append({"role": "user", "content": content})
            await self.turn(channel, root)

    async def update_refused(self, channel: str, ts: str, text: str, blocks: list[Any]) -> None:
        with pytest.raises(Exception, match="invalid_blocks"):
            await self.app.client.chat_update(channel=channel, ts=ts, text=text, blocks=blocks)


@pytest.fixture
async def real_services() -> AsyncIterator[Services]:
    clock = SharedClock()
    async with clock.running(), Services(port=0, clock=clock) as services:
        yield services


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(kind="swallow_ack", method="interactive"), "never acknowledged: block_actions by ada"),
        (Fault(kind="ignore", method="chat.update"), "a card update was lost: the question was answered"),
        (
            Fault(kind="error", method="chat.update", error="msg_too_long"),
            "the workspace refused chat.update: msg_too_long",
        ),
    ],
)
async def test_what_gets_lost_on_the_way_is_a_problem(real_services: Services, fault: Fault, words: str) -> None:
    real_services.workspace.faults.add(fault)
    problems, transcript = await played(real_services, SINGLE, within=4)
    print(transcript, problems, sep="\n")
    assert any(words in problem for problem in problems), problems


async def played(services: Services, text: str, *, wrong: str = "", within: float = 30) -> tuple[list[str], str]:
    lines: list[str] = []
    scenario: Scenario = parse(text).model_copy(update={"within": within})
    async with (
        aiohttp.ClientSession() as session,
        bot_for(services, session) as bot,
        AsyncAnthropic(api_key="k", base_url=services.anthropic_url, max_retries=0) as model,
    ):
        SmallBot(bot, model, wrong)
        await bot.connect()
        problems = await play(scenario, services.url, lines.append, ["slack"])
    return problems, "\n".join(lines)


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
async def test_a_good_bot_plays_without_problems(real_services: Services, text: str) -> None:
    problems, transcript = await played(real_services, text)
    print(transcript)
    assert problems == []


async def test_the_transcript_shows_what_was_read_back(real_services: Services) -> None:
    _, transcript = await played(real_services, SINGLE)
    for line in (
        "#general",
        "ada ▸ @askback deploy, please",
        "askback ▸ Let me ask.",
        "│ 1. Staging – Nobody sees it",
        "[ Staging ]  [ Something else… ]",
        "» ada presses [ Staging ]   (acknowledged in",
        '→ the model was told: User has answered your questions: "Where?"="Staging".',
        "│ Where? – Staging",
        "askback ▸ Noted.",
        "✓ 1 click or dialog, acknowledged within",
    ):
        assert line in transcript


async def test_it_can_be_played_again(real_services: Services) -> None:
    for _ in range(2):
        problems, _ = await played(real_services, SINGLE)
        assert problems == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("no ack", "never acknowledged: block_actions by ada"),
        ("no update", "a card update was lost: the question was answered, and the card still has “Staging”"),
        ("bad update", "the workspace refused chat.update: invalid_blocks"),
        (
            "result",
            'expected\n  User has answered your questions: "Where?"="Staging".\nbut the model was told\n  User has',
        ),
        ("no result", "a result for AskUserQuestion"),
        ("unpaired", "the Messages API refused a request: messages.1: `tool_use` ids were found without"),
    ],
)
async def test_what_goes_wrong_is_a_problem(real_services: Services, wrong: str, words: str) -> None:
    problems, transcript = await played(real_services, SINGLE, wrong=wrong, within=4 if wrong in IN_VAIN else 30)
    print(transcript, problems, sep="\n")
    assert any(words in problem for problem in problems), problems
