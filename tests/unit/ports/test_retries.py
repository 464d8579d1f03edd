"""Calls that a platform refuses for now."""

from __future__ import annotations

import time

import pytest

from askback.ports.platform import DeliveryError, RetryableError
from askback.ports.retries import call_again


class Refusing:
    """Refuses with these errors, one after the other, and accepts the next call."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = [*errors]
        self.calls: list[float] = []

    async def __call__(self) -> str:
        self.calls.append(time.monotonic())
        if self.errors:
            raise self.errors.pop(0)
        return "done"


async def test_it_waits_for_retry_after_and_otherwise_for_the_pause() -> None:
    refusing = Refusing(RetryableError("busy", 0.3), RetryableError("busy"))
    assert await call_again(refusing, within=5, pause=0.1) == "done"
    first, second, third = refusing.calls
    assert second - first >= 0.3
    assert 0.1 <= third - second < 0.3


async def test_it_gives_up_at_once_if_the_next_attempt_came_too_late() -> None:
    refusing = Refusing(RetryableError("busy", 30), RetryableError("not reached"))
    began = time.monotonic()
    with pytest.raises(RetryableError, match="busy"):
        await call_again(refusing, within=20, pause=0.1)
    assert time.monotonic() - began < 5
    assert len(refusing.calls) == 1


async def test_a_permanent_refusal_is_not_retried() -> None:
    refusing = Refusing(DeliveryError("gone"))
    with pytest.raises(DeliveryError, match="gone"):
        await call_again(refusing, within=20, pause=0.1)
    assert len(refusing.calls) == 1
