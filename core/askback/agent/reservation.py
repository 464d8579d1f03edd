"""Reserves budget for a call of the model, and counts what the call used."""

from __future__ import annotations

__all__ = ["Reservation"]

import logging
import secrets

from askback.agent.budget import Budget, Grant
from askback.agent.messages_api import ModelRequest
from askback.agent.token_meter import TokenMeter
from askback.domain.turn import TokenUsage
from askback.store.errors import StoreError
from askback.store.store import Store

log = logging.getLogger("askback.agent")


class Reservation:
    """The tokens that one call of the model may use. Calls of all processes share the budget in the database."""

    def __init__(self, store: Store, budget: Budget, conversation_id: str, request: ModelRequest) -> None:
        self.id = secrets.token_urlsafe(16)
        self.meter = TokenMeter(request.input_estimate)
        self._store = store
        self._budget = budget
        self._conversation_id = conversation_id
        self._max_tokens = request.max_tokens

    async def reserve(self) -> Grant:
        """Reserve the tokens if the budget allows the call. Raises `StoreError`."""

        def grant(spent: TokenUsage) -> Grant:
            return self._budget.grant(spent, self.meter.input_estimate, self._max_tokens)

        spent = await self._store.reserve(self._conversation_id, self.id, lambda spent: grant(spent).tokens)
        result = grant(spent)
        if result.tokens:
            self._max_tokens = min(self._max_tokens, result.output_tokens)
        return result

    async def adjust(self) -> None:
        """Replace the estimate with the input tokens that the service has reported. Raises `StoreError`."""
        if self._budget.is_set:
            tokens = self.meter.input_tokens + self.meter.cached_tokens + self._max_tokens
            await self._store.adjust(self.id, tokens)

    async def settle(self) -> None:
        """Count the tokens of a call whose turn commits nothing. Does nothing if the turn was committed."""
        try:
            await self._store.settle(self.id, self.meter.total_tokens)
        except StoreError as error:
            log.warning(
                "Could not store how many tokens a model call used, so its whole reservation counts: %s",
                error,
                extra={"action": "not_settled"},
            )
