"""What the app asks for when it is installed, as the manifests say it, and what each part of that is for."""

from __future__ import annotations

__all__ = ["SCOPES"]

from collections.abc import Mapping
from typing import Final

SCOPES: Final[Mapping[str, str]] = {
    "app_mentions:read": "it does not hear when it is mentioned",
    "assistant:write": "Slack shows neither that it works nor a button to stop it",
    "channels:history": "it does not hear what is written in its threads in public channels",
    "chat:write": "it cannot post anything",
    "groups:history": "it does not hear what is written in its threads in private channels",
    "im:history": "it does not hear direct messages",
    "mpim:history": "it does not hear what is written in group messages",
    "usergroups:read": "it does not know who is in the user groups that its settings name, and lets none of them in",
    "users:read": "it does not know people's names",
}
"""Each scope of the bot's token, with what does not work without it."""
