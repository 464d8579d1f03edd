"""The button below a text that is being written, which ends the work.

It names the text and not the conversation: where it is pressed tells that. By the text's name a restarted bot finds
the message again.
"""

from __future__ import annotations

__all__ = ["stop_id", "stop_row"]

import base64
import hashlib

from askback_discord import ids
from askback_discord.components import Component, button, row


def stop_id(name: str) -> str:
    """What stands for the name of a text in the id of its button: such names are long."""
    return base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()).decode()[:22]


def stop_row(name: str) -> Component:
    """The row with the button."""
    return row([button("Stop", ids.Control(kind="stop", ask_id=stop_id(name), turn=0))])
