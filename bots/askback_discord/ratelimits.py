"""Discord's rate limits as discord.py keeps them, but for one thing: a call waits only where nothing is left.

discord.py refuses every call whose window ends later than `max_ratelimit_timeout`, whatever is left in it. The window
in which threads may be started is minutes long, so that the second thread would be refused.
"""

from __future__ import annotations

__all__ = ["wait_only_where_spent"]

import aiohttp
from discord.http import HTTPClient, Ratelimit


class _Window(Ratelimit):
    """A window that does not count as far off while something of it is left."""

    __slots__ = ()

    def update(self, response: aiohttp.ClientResponse, *, use_clock: bool = False) -> None:
        super().update(response, use_clock=use_clock)
        longest = self._max_ratelimit_timeout
        if self.remaining > 0 and self.expires is not None and longest is not None and self.reset_after > longest:
            # It is taken for full again too early then. Discord's own answer says how long to wait if it is not.
            self.expires -= self.reset_after - longest
            self.reset_after = longest


def wait_only_where_spent(http: HTTPClient) -> None:
    """Let this client refuse or hold back a call only where its rate limit is used up."""
    known = http.get_ratelimit

    def get_ratelimit(key: str) -> Ratelimit:
        window = known(key)
        if not isinstance(window, _Window):
            window = http._buckets[key] = _Window(http.max_ratelimit_timeout)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        return window

    http.get_ratelimit = get_ratelimit  # pyright: ignore[reportAttributeAccessIssue]
