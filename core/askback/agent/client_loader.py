"""The client of the Messages API. A thread imports the SDK, so people can click while it loads.

No other part of a start takes longer than this import.
"""

from __future__ import annotations

__all__ = ["Client", "ModelClient", "require_agent"]

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from askback.internal.extras import require

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

Client = Callable[[], Awaitable["AsyncAnthropic"]]
"""Returns the client once it is loaded."""


def require_agent() -> None:
    """Raise `OperatorError` if the package is not installed. This does not import it."""
    require("anthropic", "agent", "The agent")


class ModelClient:
    """One client for the whole process, closed when the block ends."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._client: AsyncAnthropic | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def get(self) -> AsyncAnthropic:
        """Return the client, once a thread has loaded the package."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_open, self._key)
            return self._client

    async def load(self) -> None:
        """Load the client before the first turn needs it."""
        await self.get()


def _open(key: str) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(api_key=key)
