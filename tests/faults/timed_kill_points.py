"""Named points around the time-based steps of an ask: a reminder, an escalation, its deadline.

WHAT:due      the transaction has found that the time has come, and has written nothing yet
WHAT:noted    the transaction is committed, and nothing was notified
WHAT:telling  the reminder, or the card that shows the timeout, is about to be posted
WHAT:told     the platform has accepted it, and the process does not know yet
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from askback.domain.ask import Ask
from askback.domain.outgoing_message import REMINDER, OutgoingMessage
from askback.domain.reminder_messages import ESCALATED
from askback.store.store import Store
from askback_discord.posting import DiscordPlatform
from askback_slack.posting import SlackPlatform

REACHED = Callable[[], None]


def arm(what: str, when: str, reached: REACHED) -> None:
    """Call `reached` whenever the program passes that point."""
    if when in ("due", "noted"):
        attend_on(what, when, reached)
    else:
        tell_on(SlackPlatform, what, when, reached)
        tell_on(DiscordPlatform, what, when, reached)


def attend_on(what: str, when: str, reached: REACHED) -> None:
    attend = Store.run_due

    async def attending(self: Store, ask_id: str, decision: Any) -> Any:
        came = False

        def deciding(ask: Ask, now: Any) -> Any:
            nonlocal came
            after, say = decision(ask, now)
            came = what in happened(ask, after, say)
            if came and when == "due":
                reached()
            return after, say

        acted = await attend(self, ask_id, deciding)
        if came and when == "noted":
            reached()
        return acted

    Store.run_due = attending  # type: ignore[method-assign]


def happened(before: Ask, after: Ask | None, say: OutgoingMessage | None) -> Iterator[str]:
    if after is not None and after.outcome is not None:
        yield "deadline"
    elif after is not None and say is not None:
        if after.policy.reminders != before.policy.reminders:
            yield "reminder"
        if after.policy.escalations != before.policy.escalations:
            yield "escalation"


def tell_on(platform: Any, what: str, when: str, reached: REACHED) -> None:
    post, show = platform.post, platform.show

    async def posting(self: Any, place: Any, said: OutgoingMessage) -> Any:
        told = "escalation" if said.text.startswith(ESCALATED.partition("{")[0]) else "reminder"
        return await around(said.target.startswith(REMINDER) and told == what, post(self, place, said))

    async def showing(self: Any, ask: Ask) -> Any:
        over = ask.outcome is not None and ask.outcome.status == "timed_out"
        return await around(over and what == "deadline", show(self, ask))

    async def around(hit: bool, telling: Any) -> Any:
        if hit and when == "telling":
            reached()
        answer = await telling
        if hit and when == "told":
            reached()
        return answer

    platform.post, platform.show = posting, showing
