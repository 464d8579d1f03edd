"""The scenario player on Discord, with the services and a small discord.py bot: its view, and the errors it notices."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.play.play import play
from askback_sandbox.play.scenario_reader import parse
from askback_sandbox.services import Services
from emulator.play_scenarios import GOOD, IN_VAIN, SINGLE, TOOL, WRITTEN
from support.clocks import SharedClock

discord = pytest.importorskip("discord", reason="discord.py is not installed")

from support.discord_client import DiscordBot, button, callback, label, modal, pointed_at, row, select, text_input  # noqa: E402

V2, PRIVATE = 1 << 15, 1 << 6
MESSAGE, LATER, UPDATE = 4, 6, 7
PAGE = 2
CITIES = """
title = "Pages"
[[model]]
ask = { questions = [{ question = "City?", header = "C", multiSelect = false, options = [
  { label = "Athens" }, { label = "Berlin" }, { label = "Bern" }, { label = "Oslo" }, { label = "Rome" } ] }] }
[[model]]
say = "Noted."
[[step]]
write = "where?"
[[step]]
pick = "WANTED"
[[step]]
expect.told.contains = '"City?"="WANTED"'
expect.settled = true
"""


class SmallBot(DiscordBot):
    """A bot that asks AskUserQuestion's questions one card at a time; `wrong` breaks it."""

    def __init__(self, services: Services, model: AsyncAnthropic, wrong: str) -> None:
        super().__init__(services)
        self.model, self.wrong, self.answer = model, wrong, self.pressed
        self.histories: dict[int, list[Any]] = {}
        self.owners: dict[int, int] = {}
        self.asked: dict[str, tuple[str, int, Any]] = {}
        self.ticked: dict[str, list[str]] = {}

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot or not (message.guild is None or self.user in message.mentions):
            return
        room = message.channel.id
        if message.guild is not None and not isinstance(message.channel, discord.Thread):
            room = message.id
            await self.request("POST", f"/channels/{message.channel.id}/messages/{room}/threads", name="A talk")
        self.owners[room] = message.author.id
        self.histories.setdefault(room, []).append({"role": "user", "content": message.content})
        await self.turn(room)

    async def turn(self, room: int) -> None:
        history = self.histories[room]
        client = self.model.with_options(max_retries=2)
        reply = await client.messages.create(model="m", max_tokens=100, messages=history, tools=[TOOL])
        history.append(reply.to_param())
        for block in reply.content:
            if block.type == "text":
                await self.request("POST", f"/channels/{room}/messages", content=block.text)
            if block.type == "tool_use":
                question = block.input["questions"][0]
                card = {"flags": V2, "components": self.card(question, 0)}
                posted = await self.request("POST", f"/channels/{room}/messages", **card)
                self.asked[posted["id"]] = (block.id, room, question)

    def card(self, question: Any, page: int) -> list[Any]:
        labels = [option["label"] for option in question["options"]]
        described = [f"{n}\\. {o['label']} – {o.get('description', '')}" for n, o in enumerate(question["options"], 1)]
        text = {"type": 10, "content": "\n".join([f"**{question['question']}**", *described])}
        if question["multiSelect"]:
            options = [{"label": f"{n}. {one}", "value": one} for n, one in enumerate(labels, 1)]
            menu = select("tick", min_values=0, max_values=len(labels)) | {"options": options}
            return [text, row(menu), row(button("submit", "Submit"))]
        if len(labels) > 4:
            options = [{"label": one, "value": one} for one in labels[page * PAGE : page * PAGE + PAGE]]
            ways = [
                button(f"page:{page - 1}", "◀", disabled=page == 0),
                button("where", "Page", disabled=True),
                button(f"page:{page + 1}", "▶", disabled=(page + 1) * PAGE >= len(labels)),
            ]
            return [text, row(select("menu") | {"options": options}), row(*ways)]
        return [text, row(*(button(f"choose:{one}", one) for one in labels), button("write", "Something else…"))]

    async def pressed(self, interaction: discord.Interaction) -> None:
        data: Any = interaction.data
        kind, _, value = data["custom_id"].partition(":")
        message = str(interaction.message.id)
        if kind in ("field", "retry"):
            message, _, value = value.partition(":")
        if message not in self.asked:
            await self.tell(interaction, "That was too late.")
            return
        question = self.asked[message][2]
        if self.owners[self.asked[message][1]] != interaction.user.id:
            await self.tell(interaction, "Sorry, only ben is asked.")
            return
        match kind:
            case "write" | "retry":
                field = label(text_input(required=False), "Your answer")
                await callback(interaction, modal(field, custom_id=f"field:{message}", title="Something else"))
            case "field":
                text = data["components"][0]["component"]["value"]
                if text.strip():
                    await callback(interaction, {"type": LATER})
                    await self.settle(message, text)
                    return
                again = row(button(f"retry:{message}", "Try again"))
                await self.tell(interaction, "An answer cannot be empty.", again)
            case "tick":
                self.ticked[message] = data["values"]
                await callback(interaction, {"type": LATER})
            case "page":
                shown = {"components": self.card(question, int(value))}
                await callback(interaction, {"type": UPDATE, "data": shown})
            case _:
                chosen = {"menu": data.get("values"), "submit": self.ticked.get(message)}.get(kind) or [value]
                await self.acknowledge(interaction)
                await self.settle(message, ", ".join(chosen))

    async def acknowledge(self, interaction: discord.Interaction) -> None:
        if self.wrong == "no answer":
            return
        await callback(interaction, {"type": LATER})
        if self.wrong == "answers twice":
            with pytest.raises(discord.HTTPException, match="40060"):
                await callback(interaction, {"type": LATER})

    async def tell(self, interaction: discord.Interaction, text: str, *components: Any) -> None:
        told = {"content": text, "flags": PRIVATE, "components": list(components)}
        await callback(interaction, {"type": MESSAGE, "data": told})

    async def settle(self, message: str, said: str) -> None:
        identifier, room, question = self.asked.pop(message)
        path = f"/channels/{room}/messages/{message}"
        text = f"{question['question']} – {discord.utils.escape_markdown(said)}"
        if self.wrong == "bad update":
            with pytest.raises(discord.HTTPException, match="50035"):
                await self.request("PATCH", path, components=[{"type": 10, "content": ""}])
        if self.wrong != "no update":
            await self.request("PATCH", path, components=[{"type": 10, "content": text}])
        heard = "Production" if self.wrong == "result" else said
        result = f'User has answered your questions: "{question["question"]}"="{heard}".'
        content = [{"type": "tool_result", "tool_use_id": identifier, "content": result}]
        if self.wrong == "two results":
            # Send the good result first: the player continues with it, up to the text that follows only after the
            # other.
            first = [*self.histories[room], {"role": "user", "content": content}]
            await self.model.messages.create(model="m", max_tokens=100, messages=first, tools=[TOOL])
            content = [{**content[0], "content": "Another."}]
        if self.wrong == "unpaired":
            content = [{"type": "text", "text": result}]
        if self.wrong == "no result":
            return
        self.histories[room].append({"role": "user", "content": content})
        await self.turn(room)


@pytest.fixture
async def real_services() -> AsyncIterator[Services]:
    clock = SharedClock()
    async with clock.running(), Services(port=0, clock=clock) as services:
        yield services


async def played(services: Services, text: str, *, wrong: str = "", within: float = 30) -> tuple[list[str], str]:
    lines: list[str] = []
    scenario = parse(text).model_copy(update={"within": within})
    with pointed_at(services):
        async with AsyncAnthropic(api_key="k", base_url=services.anthropic_url, max_retries=0) as model:
            bot = SmallBot(services, model, wrong)
            try:
                await bot.run_until_ready()
                problems = await play(scenario, services.url, lines.append, ["discord"])
            finally:
                await bot.stop()
    return problems, "\n".join(lines)


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
async def test_what_is_played_on_slack_is_played_on_discord(real_services: Services, text: str) -> None:
    problems, transcript = await played(real_services, text)
    print(transcript)
    assert problems == []


async def test_the_transcript_shows_what_people_see(real_services: Services) -> None:
    _, transcript = await played(real_services, SINGLE)
    for line in (
        "── Discord ── One question ─",
        "#general",
        "ada ▸ @askback deploy, please",
        "askback ▸ Let me ask.",
        "│ Where?",
        "│ 1. Staging – Nobody sees it",
        "│ [ Staging ]  [ Production ]  [ Something else… ]",
        "» ada presses [ Staging ]   (acknowledged in",
        '→ the model was told: User has answered your questions: "Where?"="Staging".',
        "│ Where? – Staging",
        "askback ▸ Noted.",
        "✓ 1 click or dialog, acknowledged within",
    ):
        assert line in transcript


async def test_a_refused_text_is_tried_again_through_the_private_notice(real_services: Services) -> None:
    _, transcript = await played(real_services, WRITTEN)
    refused = transcript.index("(only ada sees this)")
    assert "An answer cannot be empty." in transcript[refused:]
    assert transcript.index("» ada presses [ Try again ]") < transcript.index('» ada types "Slowly ⚡"')


async def test_a_refused_text_can_be_given_up(real_services: Services) -> None:
    text = WRITTEN.replace('type = "Slowly ⚡"\nfield = "your answer"\nsubmit = true', "close = true").replace(
        'expect.dialog = false\nexpect.told.contains = "Slowly ⚡"', 'expect.dialog = false\n[[step]]\npress = "A"'
    )
    problems, transcript = await played(real_services, text)
    assert problems == []
    assert "» ada dismisses it" in transcript


@pytest.mark.parametrize("city", ["Athens", "Oslo", "Rome", "Bern"])
async def test_a_menu_with_pages_is_turned_over(real_services: Services, city: str) -> None:
    problems, transcript = await played(real_services, CITIES.replace("WANTED", city))
    assert problems == []
    assert f"» ada picks {city}" in transcript
    assert ("» ada presses [ ▶ ]" in transcript) == (city != "Athens")


async def test_what_no_page_has_is_a_problem(real_services: Services) -> None:
    problems, _ = await played(real_services, CITIES.replace("WANTED", "Paris"), within=2)
    assert "there is no entry “Paris”" in problems[0]


async def test_a_good_bot_may_be_told_twice(real_services: Services) -> None:
    real_services.discord.guild.faults.add(DiscordFault(kind="twice", operation="INTERACTION_CREATE"))
    problems, _ = await played(real_services, WRITTEN)
    assert problems == []
    assert 40060 in [answer["code"] for answer in refusals(real_services)]


def refusals(services: Services) -> list[Any]:
    return [call.answer for call in services.discord.guild.log if call.status >= 400]


async def test_a_rate_limit_is_a_problem_unless_it_is_forgiven(real_services: Services) -> None:
    for forgive, expected in (
        ("", ["Discord refused update_message: You are being rate limited."]),
        ("ratelimited", []),
    ):
        real_services.discord.guild.faults.ratelimit("update_message", retry_after=0.05)
        problems, _ = await played(real_services, f'forgive = "{forgive}"\n{SINGLE}')
        assert problems == expected


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            DiscordFault(kind="swallow", operation="create_interaction_response"),
            "never acknowledged: click by ada (This interaction failed)",
        ),
        (
            DiscordFault(kind="late", operation="INTERACTION_CREATE", seconds=3.2),
            "never acknowledged: click by ada (This interaction failed)",
        ),
        (DiscordFault(kind="swallow", operation="update_message"), "a card update was lost: the question was answered"),
        (
            DiscordFault(
                kind="error", operation="update_message", status=403, code=50013, message="Missing Permissions"
            ),
            "Discord refused update_message: 50013 Missing Permissions",
        ),
    ],
)
async def test_what_gets_lost_on_the_way_is_a_problem(real_services: Services, fault: DiscordFault, words: str) -> None:
    real_services.discord.guild.faults.add(fault)
    problems, transcript = await played(real_services, SINGLE, within=4)
    print(transcript, problems, sep="\n")
    assert any(words in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("no answer", "never acknowledged: click by ada (This interaction failed)"),
        ("no update", "a card update was lost: the question was answered, and the card still has “Staging”"),
        ("bad update", "Discord refused update_message: 50035 Invalid Form Body (components.0.content: "),
        (
            "result",
            'expected\n  User has answered your questions: "Where?"="Staging".\nbut the model was told\n  User has',
        ),
        ("no result", "a result for AskUserQuestion"),
        ("two results", "got 2 different results"),
        ("unpaired", "the Messages API refused a request: messages.1: `tool_use` ids were found without"),
    ],
)
async def test_what_goes_wrong_is_a_problem(real_services: Services, wrong: str, words: str) -> None:
    problems, transcript = await played(real_services, SINGLE, wrong=wrong, within=4 if wrong in IN_VAIN else 30)
    print(transcript, problems, sep="\n")
    assert any(words in problem for problem in problems), problems
