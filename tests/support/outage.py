"""Outages of a platform's API, as platforms have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from askback_sandbox.discord.faults import DiscordFault, DiscordFaults
from askback_sandbox.slack.faults import Fault, Faults

KINDS = ("500", "429", "silent", "lost", "page", "blocked", "empty", "half")
"""The ways in which the platform is away.

A server error; a rate limit; no answer; a lost answer to a call that was executed; a proxy's page, as a success or as a
refusal; an empty answer; half an answer to a call that was executed.
"""
DONE = frozenset({"lost", "half"})
"""Kinds in which calls are executed."""
RETRY_AFTER = 3600
HANGS = 86_400.0

End = Callable[[], None]
FOREIGN: dict[str, dict[str, Any]] = {
    "page": {"status": 200, "body": "<html>Maintenance</html>"},
    "blocked": {"status": 403, "body": "<html>Blocked</html>"},
    "empty": {"status": 200, "body": "", "content_type": "application/json"},
    "half": {"status": 200, "body": '{"ok": tru', "content_type": "application/json", "done": True},
}
"""Answers in place of the platform's, by kind."""


def of_slack(faults: Faults, kind: str, *, methods: Sequence[str] = ("*",), retry_after: int = RETRY_AFTER) -> End:
    """Make these methods fail that way until the returned function is called."""
    made = {
        "500": partial(Fault, kind="error", error="fatal_error", status=500),
        "429": partial(Fault, kind="error", error="ratelimited", status=429, retry_after=retry_after),
        "silent": partial(Fault, kind="delay", seconds=HANGS),
        "lost": partial(Fault, kind="lost_answer"),
        **{name: partial(Fault, kind="foreign", **answer) for name, answer in FOREIGN.items()},
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
        **{name: partial(DiscordFault, kind="foreign", **answer) for name, answer in FOREIGN.items()},
    }[kind]
    numbers = [faults.add(made(operation=operation, times=None)) for operation in operations]

    def end() -> None:
        for number in numbers:
            faults.remove(number)

    return end
