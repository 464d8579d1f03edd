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
    """The tokens that one call of the model may use. Calls of all processes share the budget in the database.

    They are reserved in the commit that begins the turn (`TurnTransactions.begin_turn`).
    """

    def __init__(self, store: Store, budget: Budget) -> None:
        self.id = secrets.token_urlsafe(16)
        self.meter = TokenMeter(0)
        self.grant = Grant()
        self.request: ModelRequest | None = None
        """The request within its budget. None means that no request was built."""
        self._store = store
        self._budget = budget

    def decide(self, request: ModelRequest, spent: TokenUsage) -> int:
        """Decide about a call. Return the tokens to reserve; 0 means that the call must not run.

        Runs in the transaction that reserves them, and again if that is repeated. The last decision counts.
        """
        self.meter = TokenMeter(request.input_estimate)
        self.grant = self._budget.grant(spent, self.meter.input_estimate, request.max_tokens)
        is_rationed = 0 < self.grant.output_tokens < request.max_tokens
        self.request = request.evolve(max_tokens=self.grant.output_tokens, is_rationed=True) if is_rationed else request
        return self.grant.tokens

    async def adjust(self) -> None:
        """Replace the estimate with the input tokens that the service has reported. Raises `StoreError`."""
        if self._budget.is_set and self.request is not None:
            tokens = self.meter.input_tokens + self.meter.cached_tokens + self.request.max_tokens
            await self._store.adjust(self.id, tokens)

    async def settle(self) -> None:
        """Count the tokens of a call whose turn commits nothing. Does nothing if the turn was committed."""
        if self.request is None:
            return
        try:
            await self._store.settle(self.id, self.meter.total_tokens)
        except StoreError as error:
            log.warning(
                "Could not store how many tokens a model call used, so its whole reservation counts: %s",
                error,
                extra={"action": "not_settled"},
            )
