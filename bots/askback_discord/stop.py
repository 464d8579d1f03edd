"""The button below a text that is being written, which ends the work.

It names the text and not the conversation: where it is pressed tells that. By the text's name a restarted bot finds
the message again.
"""

from __future__ import annotations

__all__ = ["is_placeholder", "stop_id", "stop_row"]

import base64
import hashlib

from askback_discord import ids
from askback_discord.components import Component, button, row

_PLACEHOLDER = 1
"""The revision in the id of a placeholder's button."""


def stop_id(name: str) -> str:
    """What stands for the name of a text in the id of its button: such names are long."""
    return base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()).decode()[:22]


def stop_row(name: str, *, placeholder: bool = False) -> Component:
    """The row with the button. `placeholder`: the message holds nothing yet but words of the bot's own."""
    revision = _PLACEHOLDER if placeholder else 0
    return row([button("Stop", ids.Control(kind="stop", ask_id=stop_id(name), turn=0, revision=revision))])


def is_placeholder(components: object) -> bool:
    """Return whether a message with these components is a placeholder. Its words do not tell: an agent may say them."""
    return any(one.kind == "stop" and one.revision == _PLACEHOLDER for one in ids.controls_in(components))
