"""Blocks as a tree: their nesting, and the fields that Slack fills in."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, as_text, copied_all, objects


@dataclass(frozen=True)
class Placed:
    """An element and the block that contains it."""

    block: JsonObject
    element: JsonObject

    @property
    def block_id(self) -> str:
        return as_text(self.block.get("block_id"))

    @property
    def action_id(self) -> str:
        return as_text(self.element.get("action_id"))


def each_block(blocks: list[JsonObject]) -> Iterator[JsonObject]:
    """Yield every block, including those inside containers."""
    for block in blocks:
        yield block
        yield from each_block(objects(block.get("child_blocks")))


def each_element(blocks: list[JsonObject]) -> Iterator[Placed]:
    """Yield every interactive element at any depth."""
    for block in each_block(blocks):
        kind = block.get("type")
        if kind == "section":
            found = [as_object(block.get("accessory"))]
        elif kind == "input":
            found = [as_object(block.get("element"))]
        elif kind == "actions":
            found = objects(block.get("elements"))
        elif kind == "card":
            found = objects(block.get("actions"))
        else:
            found = []
        yield from (Placed(block, element) for element in found if element and element.get("type") != "image")


def with_defaults(value: JsonValue) -> JsonValue:
    """Return a value whose text objects have the fields that Slack adds."""
    if isinstance(value, list):
        return [with_defaults(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    filled = {name: with_defaults(entry) for name, entry in value.items()}
    if filled.get("type") == "plain_text":
        filled.setdefault("emoji", True)
    elif filled.get("type") == "mrkdwn":
        filled.setdefault("verbatim", False)
    return filled


def filled_in(blocks: list[JsonObject]) -> list[JsonObject]:
    """Return copies of the blocks with the fields that Slack adds: block_id, action_id, emoji, verbatim."""
    result = [as_object(with_defaults(block)) for block in copied_all(blocks)]
    for block in each_block(result):
        # Generated ids are new each time, so that state of an earlier message version does not apply to them.
        if not block.get("block_id"):
            block["block_id"] = secrets.token_urlsafe(4)
    for placed in each_element(result):
        if not placed.action_id:
            placed.element["action_id"] = secrets.token_urlsafe(4)
    return result
