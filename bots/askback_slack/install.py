"""The scopes that the app requests at installation, as in the manifests, and the reason for each."""

from __future__ import annotations

__all__ = ["OPTIONAL", "SCOPES"]

from collections.abc import Mapping
from typing import Final

SCOPES: Final[Mapping[str, str]] = {
    "app_mentions:read": "the bot does not receive mentions",
    "assistant:write": "Slack shows neither the agent's status nor a Stop button",
    "channels:history": "the bot does not receive messages in its threads in public channels",
    "channels:read": "`askback ask` cannot find public channels by name",
    "chat:write": "the bot cannot post anything",
    "files:read": "the agent does not get the files that people attach to their messages",
    "groups:history": "the bot does not receive messages in its threads in private channels",
    "groups:read": "`askback ask` cannot find private channels by name",
    "im:history": "the bot does not receive direct messages",
    "im:write": "`askback ask` cannot begin direct messages",
    "mpim:history": "the bot does not receive group messages",
    "usergroups:read": "the bot does not know who is in the user groups of its settings, and gives none of them access",
    "users:read": "the bot does not know people's names",
}
"""Maps each scope of the bot's token to the feature that fails without it."""
OPTIONAL: Final = frozenset({"channels:read", "files:read", "groups:read", "im:write"})
"""The scopes without which everything else works, as in older installations."""
