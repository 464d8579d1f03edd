"""The Stop button below a text that is being written.

Its id contains a hash of the text's name, with which a restarted bot finds the message again. It does not contain the
conversation, which follows from the place of the click.
"""

from __future__ import annotations

__all__ = ["is_placeholder", "stop_id", "stop_row"]

import base64
import hashlib

from askback.translations.catalogue import _
from askback_discord import control_ids
from askback_discord.components import Component, button, row

_PLACEHOLDER = 1
"""The revision in the id of a placeholder's button."""


def stop_id(name: str) -> str:
    """Return a hash of a text's name for the id of its button, because such names are long."""
    return base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()).decode()[:22]


def stop_row(name: str, *, placeholder: bool = False) -> Component:
    """Return the row with the button. `placeholder` marks a message that holds only the bot's own words."""
    revision = _PLACEHOLDER if placeholder else 0
    return row([button(_("Stop"), control_ids.Control(kind="stop", ask_id=stop_id(name), step=0, revision=revision))])


def is_placeholder(components: object) -> bool:
    """Return True if a message with these components is a placeholder.

    The text is ignored, since an agent may write the same.
    """
    return any(one.kind == "stop" and one.revision == _PLACEHOLDER for one in control_ids.find_controls(components))
