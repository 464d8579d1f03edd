"""Retries calls after a temporary error of a platform. Deliveries are different: the outbox retries them."""

from __future__ import annotations

__all__ = ["call_again"]

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_before_delay

from askback.ports.platform import RetryableError

T = TypeVar("T")


async def call_again(
    call: Callable[[], Awaitable[T]],
    *,
    within: float,
    pause: float,
    on_retry: Callable[[RetryableError], None] | None = None,
) -> T:
    """Call a platform until it accepts the call, and return the result.

    After a `RetryableError` this waits for its Retry-After, or for `pause` seconds if there is none. Raises that error
    if the next attempt would begin `within` seconds after the first one or later. `on_retry` gets each error before
    the next attempt.
    """

    async def attempt() -> T:  # tenacity awaits a coroutine function only
        return await call()

    def wait(state: RetryCallState) -> float:
        error = _get_error(state)
        return (error is not None and error.seconds) or pause

    def report(state: RetryCallState) -> None:
        error = _get_error(state)
        if error is not None and on_retry is not None:
            on_retry(error)

    again = retry_if_exception_type(RetryableError)
    stop = stop_before_delay(within)
    return await AsyncRetrying(retry=again, wait=wait, stop=stop, before_sleep=report, reraise=True)(attempt)


def _get_error(state: RetryCallState) -> RetryableError | None:
    error = None if state.outcome is None else state.outcome.exception()
    return error if isinstance(error, RetryableError) else None
