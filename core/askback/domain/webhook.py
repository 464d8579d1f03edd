"""The delivery of an outcome to a caller's address, at least once. Pure.

The row is stored together with its ask. It is due once the ask is settled, whichever process settled it.
"""

from __future__ import annotations

__all__ = [
    "GIVE_UP",
    "LONGEST_URL",
    "MAX_PAUSE",
    "MOST",
    "Webhook",
    "WebhookDelivery",
    "WebhookState",
    "compute_pause",
    "create_webhook_id",
]

import secrets
from datetime import datetime, timedelta
from typing import Final, Literal
from urllib.parse import urlsplit

from askback.internal.values import Value

WebhookState = Literal["pending", "delivered", "failed"]

GIVE_UP: Final = timedelta(hours=24)
"""Time after the first attempt from which no further one begins. A receiver that is down over a night still gets the
outcome. Later, its operator has noticed, and can get the outcome by its id."""
FIRST_PAUSE: Final = timedelta(seconds=5)
"""Pause after the first attempt: long enough for a restart of the receiver. Each further one is twice as long."""
MAX_PAUSE: Final = timedelta(hours=2)
"""Longest pause, even if the receiver asks for more. About 20 attempts fit into `GIVE_UP`."""
JITTER: Final = 0.25
"""Greatest change of a pause, as a part of it, so that a receiver is not called by all at once when it is back."""
LONGEST_URL: Final = 2000
"""Maximum number of characters of an address. PostgreSQL can index that many."""
MOST: Final = 10
"""Maximum number of addresses for one ask."""


class Webhook(Value):
    """An address that gets the outcome of an ask."""

    caller: str
    """The name of the caller that asked."""
    url: str


class WebhookDelivery(Value):
    """The state of the delivery to one address."""

    id: str
    """The id that the receiver sees. It is the same in each attempt."""
    ask_id: str
    caller: str
    url: str
    state: WebhookState
    attempts: int
    """Number of attempts so far. One that was interrupted counts, too."""
    tried_at: datetime | None = None
    """The time of the first attempt."""
    ended_at: datetime | None = None
    """The time from which the state is `delivered` or `failed`."""
    error: str | None = None
    """The reason why the last attempt failed. It contains no secret."""

    @property
    def origin(self) -> str:
        """The address without its path and its query, which may contain a secret of the receiver."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


def create_webhook_id() -> str:
    """Return a new id of a delivery."""
    return f"msg_{secrets.token_urlsafe(16)}"


def compute_pause(attempts: int, chance: float) -> timedelta:
    """Return the pause after this number of attempts. `chance` is a random number from 0 to 1."""
    pause = min(FIRST_PAUSE * 2 ** min(attempts - 1, 16), MAX_PAUSE)
    return min(pause * (1 + JITTER * (2 * chance - 1)), MAX_PAUSE)
