"""Plays a scenario through the people's routes and reports the problems."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import aiohttp
from pydantic import JsonValue

from askback_sandbox.discord.scene import Discord
from askback_sandbox.json_values import JsonObject
from askback_sandbox.slack.scene import Slack

from .acting import Acting
from .api_client import ApiClient, TooLate
from .controls import NotFound
from .expecting import Missing, missing, said
from .platform import Platform
from .program import Programs
from .scenario import (
    Close,
    Edit,
    Expect,
    Give,
    Pick,
    PlatformName,
    Press,
    Program,
    Ran,
    Scenario,
    Step,
    Stop,
    Submit,
    Tick,
    Type,
    Write,
)
from .scene import Scene
from .stage import Stage, Wrong
from .talking import Talking
from .transcript import Transcript
from .verdict import lost_cards, model_troubles, unacked, unanswered

__all__ = ["play"]

_LAST_ACKS = 4.0
_LOOK = 0.05
_PLATFORMS: Mapping[PlatformName, Platform] = {"slack": Slack(), "discord": Discord()}


async def play(
    scenario: Scenario, base_url: str, out: Callable[[str], None], platforms: Collection[str] | None = None
) -> list[str]:
    """Play a scenario against the services at that address; return the problems, empty if all was well.

    It is played on each platform that it names, in turn; `platforms` limits them if given. Their bots have to be
    connected. `out` gets the transcript line by line, which contains only data that was read back.
    """
    names: list[PlatformName] = [name for name in scenario.platforms if platforms is None or name in platforms]
    problems: list[str] = []
    for number, name in enumerate(names):
        platform = _PLATFORMS[name]
        if number:
            out("")
        found = await _play(scenario.played_on(platform.name), base_url, platform, out)
        problems += [f"{platform.name}: {problem}" if len(names) > 1 else problem for problem in found]
    return problems


async def _play(scenario: Scenario, base_url: str, platform: Platform, out: Callable[[str], None]) -> list[str]:
    try:
        transcript = Transcript(out)
        async with ApiClient(base_url, platform) as client, Programs(transcript) as programs:
            return await _Player(scenario, client, transcript, programs).play()
    except (aiohttp.ClientError, TooLate) as error:
        return [f"{base_url} does not answer as the services do: {error}"]


class _Player:
    def __init__(self, scenario: Scenario, client: ApiClient, transcript: Transcript, programs: Programs) -> None:
        self._scenario = scenario
        self._client = client
        self._transcript = transcript
        self._programs = programs
        self._stage = Stage(scenario, client)
        self._acting = Acting(self._stage, transcript)
        self._talking = Talking(self._stage, transcript, programs)
        self._ran_before = 0
        self._ran: list[JsonObject] | None = None
        """The exact tool runs that the last such step expects; None if no step expects any."""

    async def play(self) -> list[str]:
        client, scenario = self._client, self._scenario
        known = {one.id for one in client.scene.interactions}
        self._ran_before = len(await client.ran())
        begun = max((_at(call) for call in await client.api_log()), default=0.0)
        self._transcript.skip(client.scene)
        self._transcript.title(client.platform.name, scenario.title)
        scripts: JsonValue = [script.model_dump(mode="json") for script in scenario.scripts]
        ordered = await client.order(scripts=scripts)
        if ordered.get("ok") is not True:
            return [f"the model does not take this scenario: {ordered.get('error')}"]
        problems = await self._steps()
        await self._settle(finished=not problems, known=known)
        calls = [call for call in await client.api_log() if _at(call) > begun]
        if not problems and (wrong := await self._ran_wrong()):
            problems.append(f"{scenario.source}: at the end, {wrong}")
        if not problems:
            problems += [f"{scenario.source}: at the end, {unread}" for unread in self._programs.find_unread()]
        problems += self._verdict(finished=not problems, known=known, calls=calls)
        if not problems:
            self._transcript.end(self._summary(known))
        return problems

    async def _steps(self) -> list[str]:
        """Play the steps up to the first failure, because later failures would only be its consequences."""
        for number, step in self._scenario.steps:
            try:
                await self._do(step)
            except (Wrong, NotFound, TooLate) as wrong:
                return [f"{self._scenario.source}, step {number} ({type(step).__name__.lower()}): {wrong}"]
            finally:
                self._transcript.show(self._client.scene, self._stage.heard())
        return []

    async def _do(self, step: Step) -> None:
        person = self._stage.person(step.by)
        within = step.within or self._scenario.within
        if isinstance(step, Expect):
            await self._expect(step, person, within)
            return
        self._stage.look(person)
        if isinstance(step, Write | Stop):
            self._acting.turns_away(person)
        match step:
            case Write():
                await self._talking.write(step, person, within)
            case Program():
                await self._talking.ask(step, person, within)
            case Press():
                await self._acting.press(step, person, within)
            case Pick() | Tick():
                await self._acting.pick(step, person, within)
            case Edit():
                await self._acting.edit(step, person, within)
            case Stop():
                await self._talking.stop(person, within)
            case Type():
                await self._acting.type(step, person, within)
                if step.submit:
                    await self._acting.submit(person, within)
            case Give():
                await self._acting.give(step, person, within)
                if step.submit:
                    await self._acting.submit(person, within)
            case Submit():
                await self._acting.submit(person, within)
            case Close():
                await self._acting.close(person, within)

    async def _expect(self, step: Expect, person: str, within: float) -> None:
        lacking: list[Missing] = []

        def there(scene: Scene) -> bool:
            lacking[:] = missing(step, self._stage.seen(scene, person))
            return not lacking or any(one.final for one in lacking)

        try:
            await self._client.until(there, within)
        except TooLate as late:
            raise Wrong(f"{late}: {'; '.join(one.text for one in lacking)}") from None
        if lacking:
            raise Wrong("; ".join(one.text for one in lacking))
        if step.ran is not None:
            await self._expect_ran(step.ran, within)
        if step.outcome is not None:
            await self._programs.expect_outcome(step.outcome, within)
        self._stage.told += step.told is not None
        if step.says is not None:
            self._stage.since = self._said_at(step.says, person)

    async def _expect_ran(self, wanted: Sequence[Ran], within: float) -> None:
        """Wait until the tools have run exactly so since the play began; later extra runs are found at the end."""
        self._ran = [run.model_dump(mode="json") for run in wanted]
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while await self._ran_wrong() is not None:  # noqa: ASYNC110 - another program is asked
                    await asyncio.sleep(_LOOK)
        if wrong := await self._ran_wrong():
            raise Wrong(wrong)

    async def _ran_wrong(self) -> str | None:
        """Return the difference between the actual and the expected tool runs; None if there is none."""
        found = (await self._client.ran())[self._ran_before :]
        if self._ran is None or found == self._ran:
            return None
        return f"tools ran as {json.dumps(found)}, and not as {json.dumps(self._ran)}"

    def _said_at(self, texts: Sequence[str], person: str) -> str:
        """Return the position of the bot's message, so that later expectations do not search before it."""
        seen = self._stage.seen(self._client.scene, person)
        for message in said(seen):
            alone = replace(seen.scene, messages=(message,))
            if message.at >= seen.since and not missing(Expect(says=tuple(texts)), replace(seen, scene=alone)):
                return message.at
        return seen.since

    async def _settle(self, *, finished: bool, known: set[str]) -> None:
        """Wait for pending acks, last results and last card updates."""

        def quiet(scene: Scene) -> bool:
            self._stage.remember(scene)
            waiting = any(one.acked is None and one.id not in known for one in scene.interactions)
            owed = finished and (unanswered(self._stage.heard()) or lost_cards(scene, self._stage.cards))
            return not waiting and not owed

        with suppress(TooLate):  # the verdict reports the missing ones
            await self._client.until(quiet, self._scenario.within if finished else _LAST_ACKS)
        await self._client.listen()

    def _verdict(self, *, finished: bool, known: set[str], calls: Sequence[JsonObject]) -> list[str]:
        scene, heard = self._client.scene, self._stage.heard()
        self._transcript.show(scene, heard, last=True)
        problems = [
            *unacked(scene, known),
            *self._client.platform.refusals(calls, scene, self._scenario.forgive),
            *model_troubles(self._stage.log(), heard),
        ]
        owed = unanswered(heard)
        if owed:
            return [*problems, *(owed if finished else [])]
        return [*problems, *lost_cards(scene, self._stage.cards)]

    def _summary(self, known: set[str]) -> str:
        took = [one.ack_ms for one in self._client.scene.interactions if one.clicked and one.id not in known]
        slowest = max((ms for ms in took if ms is not None), default=0.0)
        told = sum(len(call.results) for call in self._stage.heard())
        clicks = "1 click or dialog" if len(took) == 1 else f"{len(took)} clicks and dialogs"
        programs = self._programs.count
        questions = [f"{_count(told, 'question')} of the model"] if told or not programs else []
        questions += [f"{_count(programs, 'question')} of a program"] if programs else []
        return (
            f"{clicks}, acknowledged within {slowest:.0f} ms at most; "
            f"{' and '.join(questions)}, each answered exactly once."
        )


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _at(call: JsonObject) -> float:
    at = call.get("at")
    return float(at) if isinstance(at, int | float) else 0.0
