"""Changes discord.py's rate limits, so that a call waits only if its limit is used up.

discord.py rejects each call whose window ends later than `max_ratelimit_timeout`, even if the window has calls left.
The window for starting threads is minutes long, so that discord.py would reject the second thread.
"""

from __future__ import annotations

__all__ = ["wait_only_where_spent"]

import aiohttp
from discord.http import HTTPClient, Ratelimit


class _Window(Ratelimit):
    """A rate-limit window that counts as near while it has calls left."""

    __slots__ = ()

    def update(self, response: aiohttp.ClientResponse, *, use_clock: bool = False) -> None:
        super().update(response, use_clock=use_clock)
        longest = self._max_ratelimit_timeout
        if self.remaining > 0 and self.expires is not None and longest is not None and self.reset_after > longest:
            # discord.py then resets the window too early. If it is used up by then, Discord's own response gives the
            # time to wait.
            self.expires -= self.reset_after - longest
            self.reset_after = longest


def wait_only_where_spent(http: HTTPClient) -> None:
    """Make this client reject or delay a call only if its rate limit is used up."""
    known = http.get_ratelimit

    def get_ratelimit(key: str) -> Ratelimit:
        window = known(key)
        if not isinstance(window, _Window):
            window = http._buckets[key] = _Window(http.max_ratelimit_timeout)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - no public API has it
        return window

    http.get_ratelimit = get_ratelimit  # pyright: ignore[reportAttributeAccessIssue] - replaces a method
