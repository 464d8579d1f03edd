"""Counts the tokens of one call of the model. The count is valid at any moment, since the call may end at any."""

from __future__ import annotations

__all__ = ["TokenMeter"]

from typing import TYPE_CHECKING, Any, cast

from askback.agent.budget import CHARACTERS_PER_TOKEN

# Importing it is the slowest part of a start (`askback.agent.client_loader`).
if TYPE_CHECKING:
    from anthropic import APIRequest, AsyncAPIResponse, AsyncCallNext

_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol"})
"""Names of transport errors after which nothing has reached the service, whichever package raises them."""


class TokenMeter:
    """Counts tokens as the service bills them. It estimates what the service has not reported yet, on the high side."""

    def __init__(self, input_estimate: int) -> None:
        """`input_estimate` is a high estimate of the tokens that a request reads."""
        self.input_estimate = input_estimate
        self._lost = 0
        """Attempts that may have reached the service but got no answer. The client retries them automatically."""
        self._answered = False
        self._has_usage = False
        """True once the service has reported the request's input tokens."""
        self._fresh = self._stored = 0
        """Input tokens read without the cache, and input tokens written to the cache."""
        self._written = 0
        self._characters = 0
        """Characters written since the service last reported output tokens."""
        self._is_compacting = False
        self._compactions: tuple[int, int] | None = None
        """Tokens that compactions read and wrote, once the service has reported them."""
        self.cached_tokens = 0
        """Tokens read from the cache."""

    @property
    def input_tokens(self) -> int:
        """Input tokens, without those read from the cache."""
        read = 0
        if self._answered:
            read = self._fresh + self._stored if self._has_usage else self.input_estimate
        if self._compactions is not None:
            read += self._compactions[0]
        elif self._is_compacting:
            read += self.input_estimate
        return read + self._lost * self.input_estimate

    @property
    def output_tokens(self) -> int:
        """Output tokens."""
        compacted = 0 if self._compactions is None else self._compactions[1]
        return self._written + compacted + -(-self._characters // CHARACTERS_PER_TOKEN)

    @property
    def total_tokens(self) -> int:
        """All tokens so far, read and written."""
        return self.input_tokens + self.cached_tokens + self.output_tokens

    async def attempt(self, request: APIRequest, call_next: AsyncCallNext) -> AsyncAPIResponse[Any]:
        """Count one attempt of the client, as middleware of the SDK."""
        try:
            response = await call_next(request)
        except BaseException as error:
            if type(error.__cause__).__name__ not in _NEVER_SENT:
                self._lost += 1
            raise
        self._answered = response.status_code < 400
        return response

    def add_event(self, event: Any) -> None:
        """Count the tokens and characters that an event of the stream reports."""
        if event.type == "message_start":
            self._record_usage(getattr(event.message, "usage", None))
        elif event.type == "message_delta":
            self._record_usage(getattr(event, "usage", None))
        elif event.type == "content_block_start":
            self._is_compacting |= event.content_block.type == "compaction"
        elif event.type == "content_block_delta":
            parts = (getattr(event.delta, name, None) for name in ("text", "partial_json", "thinking", "content"))
            self._characters += sum(len(part) for part in parts if isinstance(part, str))

    def _record_usage(self, usage: Any) -> None:
        """Take over the service's figures: totals of the answer so far. Input figures come only if they have
        changed.

        A gateway with another model behind it may leave out figures. Those stay estimates.
        """
        fresh, stored, cached, written = (
            getattr(usage, name, None)
            for name in (
                "input_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
                "output_tokens",
            )
        )
        self._has_usage = self._has_usage or fresh is not None
        self._fresh = self._fresh if fresh is None else fresh
        self._stored = self._stored if stored is None else stored
        self.cached_tokens = self.cached_tokens if cached is None else cached
        if written is not None:
            self._written, self._characters = written, 0
        # The totals do not include a compaction's tokens; `iterations` reports them separately.
        rounds = cast("list[Any]", getattr(usage, "iterations", None) or [])
        if compactions := [one for one in rounds if one.type == "compaction"]:
            self._compactions = (
                sum(map(_count_input_tokens, compactions)),
                sum(one.output_tokens for one in compactions),
            )


def _count_input_tokens(usage: Any) -> int:
    stored, cached = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
    return usage.input_tokens + stored + cached
