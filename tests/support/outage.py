"""Outages of a platform's API, as platforms have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from askback_sandbox.discord.faults import DiscordFault, DiscordFaults
from askback_sandbox.slack.faults import Fault, Faults

KINDS = ("500", "429", "silent", "lost")
"""A server error; a rate limit; no answer; a lost answer to a call that was executed."""
RETRY_AFTER = 3600
HANGS = 86_400.0

End = Callable[[], None]


def of_slack(faults: Faults, kind: str, *, methods: Sequence[str] = ("*",), retry_after: int = RETRY_AFTER) -> End:
    """Make these methods fail that way until the returned function is called."""
    made = {
        "500": partial(Fault, kind="error", error="fatal_error", status=500),
        "429": partial(Fault, kind="error", error="ratelimited", status=429, retry_after=retry_after),
        "silent": partial(Fault, kind="delay", seconds=HANGS),
        "lost": partial(Fault, kind="lost_answer"),
    }[kind]
    numbers = [faults.add(made(method=method, times=None)) for method in methods]

    def end() -> None:
        for number in numbers:
            faults.remove(number)

    return end


def of_discord(
    faults: DiscordFaults, kind: str, *, operations: Sequence[str] = ("*",), retry_after: float = RETRY_AFTER
) -> End:
    """Make these operations fail that way until the returned function is called."""
    made = {
        "500": partial(DiscordFault, kind="error", status=500),
        "429": partial(DiscordFault, kind="ratelimit", retry_after=retry_after),
        "silent": partial(DiscordFault, kind="delay", seconds=HANGS),
        "lost": partial(DiscordFault, kind="lost_answer"),
    }[kind]
    numbers = [faults.add(made(operation=operation, times=None)) for operation in operations]

    def end() -> None:
        for number in numbers:
            faults.remove(number)

    return end
