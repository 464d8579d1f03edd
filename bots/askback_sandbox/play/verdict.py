"""Finds errors that no scenario may have, as pure functions of the data that was read back."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from askback_sandbox.json_values import JsonObject, as_object, as_text, objects
from askback_sandbox.model.call_results import DeliveredCall, refusals

from .scene import Key, Message, Scene

__all__ = ["lost_cards", "model_troubles", "unacked", "unanswered"]

ACK_MS = 3000


def unacked(scene: Scene, before: Collection[str] = ()) -> list[str]:
    """Return the clicks and messages that the bot did not acknowledge within the platforms' limit of 3 s."""
    problems: list[str] = []
    for interaction in scene.interactions:
        if interaction.id in before:
            continue
        what = f"{interaction.kind} by {scene.name(interaction.person)}"
        if not interaction.acked:
            problems.append(f"never acknowledged: {what}{f' ({interaction.error})' if interaction.error else ''}")
        elif interaction.ack_ms is not None and interaction.ack_ms > ACK_MS:
            problems.append(f"acknowledged too late, after {interaction.ack_ms / 1000:.1f} s: {what}")
    return problems


def model_troubles(log: Sequence[JsonObject], heard: Sequence[DeliveredCall]) -> list[str]:
    """Return the refused requests, contradictory results, and unplanned turns or tools of the model."""
    problems = [f"the Messages API refused a request: {reason}" for reason in refusals(log)]
    for call in heard:
        if len(call.results) > 1:
            told = " / ".join(result.text for result in call.results)
            problems.append(f"{call.name} ({call.id}) got {len(call.results)} different results: {told}")
    problems += _not_offered(log)
    beyond = [entry for entry in log if entry.get("beyond") and entry.get("script")]
    if beyond:
        turn = beyond[0].get("turn")
        number = turn + 1 if isinstance(turn, int) else turn
        problems.append(f"the model was asked for a turn {number}, which the scenario does not have")
    return problems


def _not_offered(log: Sequence[JsonObject]) -> list[str]:
    """Report a called tool that the bot does not offer, because a real model would not call it.

    The scenario and the bot's settings do not match then.
    """
    for entry in log:
        offered = {as_text(tool.get("name")) for tool in objects(as_object(entry.get("request")).get("tools"))}
        for block in objects(as_object(entry.get("answer")).get("content")):
            name = as_text(block.get("name"))
            if block.get("type") == "tool_use" and name not in offered:
                known = ", ".join(sorted(offered)) or "none"
                return [f"the scenario calls the tool `{name}`, which the bot does not offer (it offers {known})"]
    return []


def unanswered(heard: Sequence[DeliveredCall]) -> list[str]:
    """Return the tool calls that never got a result."""
    return [
        f"{call.name} ({call.id}) never got a result" for call in heard if not call.results and not call.asked_again
    ]


def lost_cards(scene: Scene, pressed: Collection[Key]) -> list[str]:
    """Return the answered cards that still look unanswered."""
    return [
        "a card update was lost: the question was answered, "
        f"and the card still has {_labels(message)}: {_head(message)}"
        for message in scene.live
        if message.key in pressed
    ]


def _labels(message: Message) -> str:
    return ", ".join(f"“{control.label}”" for control in message.controls)


def _head(message: Message) -> str:
    return message.text.strip().split("\n")[0]
