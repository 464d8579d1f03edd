"""Writes and stops the bot for the people in a scenario, each in one conversation."""

from __future__ import annotations

from askback_sandbox.json_values import JsonObject, as_text

from .api_client import ApiClient, TooLate
from .platform import Request
from .program import Programs
from .scenario import Program, Write, conversation_key
from .scene import Message, Place, Scene
from .stage import Stage, Wrong
from .transcript import Transcript

__all__ = ["Talking", "noted"]

_DONE = ("element_not_found", "component_not_found", "nothing_to_stop")


class Talking:
    """Writes, and presses Stop, for the people in a scenario."""

    def __init__(self, stage: Stage, transcript: Transcript, programs: Programs) -> None:
        self._stage = stage
        self._client = stage.client
        self._platform = stage.client.platform
        self._transcript = transcript
        self._programs = programs

    async def write(self, step: Write, person: str, within: float) -> None:
        scenario = self._stage.scenario
        key = conversation_key(step, scenario.place, scenario.by)
        known = None if step.new else self._stage.places.get(key)
        channel = self._stage.channel(step.place or scenario.place, person)
        direct = channel.kind == "dm"
        bot = self._client.scene.bot
        text = step.write.replace("@askback", f"@{bot}")
        if known is None and not direct and f"@{bot}" not in text:
            text = f"@{bot} {text}"
        if known is not None and known.root is not None:
            await self._thread(known.root, within)
        files = [file if isinstance(file, str) else file.entry for file in step.attach]
        answer = await self._client.act(self._platform.write(person, channel.id, text, known, files))
        if answer.get("ok") is not True:
            raise Wrong(str(answer.get("error")))
        identifier = self._platform.written(channel.id, answer)[1]

        def posted(scene: Scene) -> Message | None:
            return next((one for one in scene.messages if one.key[1] == identifier), None)

        await self._client.until(lambda scene: posted(scene) is not None, within)
        message = posted(self._client.scene)
        place = known or Place(channel.id, None if direct else identifier)
        self._stage.go(key, place, message.at if message is not None else "")

    async def ask(self, step: Program, person: str, within: float) -> None:
        """Let a program ask, and make the card that it posts the current conversation."""
        channel = self._stage.channel(step.place or self._stage.scenario.place, person)
        known = {message.key for message in self._client.scene.messages}

        def posted(scene: Scene) -> Message | None:
            self._programs.check_running()
            new = (one for one in scene.live if one.channel == channel.id and one.key not in known)
            return next(new, None)

        await self._programs.start(step.program, self._platform.address(channel), step.approvers)
        try:
            await self._client.until(lambda scene: posted(scene) is not None, within)
        except TooLate as late:
            raise Wrong(f"the program has posted no card ({late})") from None
        card = posted(self._client.scene)
        assert card is not None, "it was there, in this very scene"
        root = None if channel.kind == "dm" else card.root
        self._stage.go(f"program {self._programs.count}", Place(channel.id, root), card.at)

    async def _thread(self, root: str, within: float) -> None:
        """Wait for the thread, on platforms where the bot opens it."""
        try:
            await self._client.until(lambda scene: scene.threads is None or root in scene.threads, within)
        except TooLate as late:
            raise Wrong(f"the bot has opened no thread to write in ({late})") from None

    async def stop(self, person: str, within: float) -> None:
        """Press Stop where the bot is at work in this conversation; later steps check the effect."""
        here = self._stage.here

        def found(scene: Scene) -> Request | None:
            work = next((one for one in scene.works if one.stoppable and here.has(one)), None)
            if work is not None:
                return self._platform.stop(person, work)
            for message in reversed(scene.messages):
                if message.stop is not None and message.only_for in (None, person) and here.holds(message):
                    return self._platform.click(person, message, message.stop, None)
            return None

        try:
            await self._client.until(lambda scene: found(scene) is not None, within)
        except TooLate as late:
            raise Wrong(f"{late}: the bot is not at work here, or shows no Stop") from None
        self._transcript.show(self._client.scene, self._stage.heard())
        request = found(self._client.scene)
        assert request is not None, "it was there, in this very scene"
        answer = await self._client.act(request)
        if answer.get("code") in _DONE:
            raise Wrong("the bot was done before it could be stopped")
        await noted(self._client, self._transcript, "presses Stop", person, answer, within)


async def noted(
    client: ApiClient, transcript: Transcript, what: str, person: str, answer: JsonObject, within: float
) -> None:
    """Print a person's act, with the bot's acknowledgement of it.

    Raises:
        Wrong: the platform refused the act.
    """
    if "code" in answer:
        raise Wrong(str(answer.get("error")))
    identifier = as_text(answer.get("interaction"))

    def acked(scene: Scene) -> bool:
        interaction = scene.interaction(identifier)
        return interaction is not None and interaction.acked is not None

    await client.until(acked if identifier else lambda _: True, within)
    interaction = client.scene.interaction(identifier)
    note = ""
    if interaction is not None and interaction.acked is False:
        note = f"   (never acknowledged: {interaction.error})"
    elif interaction is not None and interaction.ack_ms is not None:
        note = f"   (acknowledged in {interaction.ack_ms:.0f} ms)"
    transcript.did(f"{client.scene.name(person)} {what}{note}")
