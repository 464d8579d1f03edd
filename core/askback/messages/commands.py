"""The few words that are meant for the bot itself and not for the model. Pure."""

from __future__ import annotations

__all__ = ["Command", "command_of"]

from typing import Final, Literal, TypeAlias

Command: TypeAlias = Literal["new", "stop"]

_WORDS: Final[dict[str, Command]] = {"new": "new", "stop": "stop", "cancel": "stop"}


def command_of(text: str) -> Command | None:
    """What a message orders, if it is nothing but that word: "Stop!" is an order, "stop the server" is not."""
    return _WORDS.get(text.strip().removeprefix("/").rstrip(".! ").casefold())
