"""The scopes that the app requests at installation, as in the manifests, and the reason for each."""

from __future__ import annotations

__all__ = ["ASKING", "SCOPES"]

from collections.abc import Mapping
from typing import Final

SCOPES: Final[Mapping[str, str]] = {
    "app_mentions:read": "it does not hear when it is mentioned",
    "assistant:write": "Slack shows neither that it works nor a button to stop it",
    "channels:history": "it does not hear what is written in its threads in public channels",
    "channels:read": "`askback ask` finds no public channel by its name",
    "chat:write": "it cannot post anything",
    "groups:history": "it does not hear what is written in its threads in private channels",
    "groups:read": "`askback ask` finds no private channel by its name",
    "im:history": "it does not hear direct messages",
    "im:write": "`askback ask` begins no direct message with anybody",
    "mpim:history": "it does not hear what is written in group messages",
    "usergroups:read": "it does not know who is in the user groups that its settings name, and lets none of them in",
    "users:read": "it does not know people's names",
}
"""The scopes of the bot's token, each with what fails without it."""
ASKING: Final = frozenset({"channels:read", "groups:read", "im:write"})
"""The scopes that only `askback ask` needs. An older installation without them still works otherwise."""
