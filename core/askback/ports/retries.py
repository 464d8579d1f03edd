"""Retries calls after a temporary error of a platform. Deliveries are different: the outbox retries them."""

from __future__ import annotations

__all__ = ["call_again"]

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_before_delay

from askback.ports.platform import RetryableError

T = TypeVar("T")


async def call_again(call: Callable[[], Awaitable[T]], *, within: float, pause: float) -> T:
    """Call a platform until it accepts the call, and return the result.

    After a `RetryableError` this waits for its Retry-After, or for `pause` seconds if there is none. Raises that error
    if the next attempt would begin `within` seconds after the first one or later.
    """

    async def attempt() -> T:  # tenacity awaits a coroutine function only
        return await call()

    def wait(state: RetryCallState) -> float:
        error = None if state.outcome is None else state.outcome.exception()
        return (isinstance(error, RetryableError) and error.seconds) or pause

    again = retry_if_exception_type(RetryableError)
    return await AsyncRetrying(retry=again, wait=wait, stop=stop_before_delay(within), reraise=True)(attempt)
