"""The hand-over of an outcome to the program that waits for it. It takes place at most once. Pure.

Most agent frameworks run a call twice if they are resumed twice. So a process claims the hand-over before it resumes
the framework, and acknowledges it afterwards. If the process dies in between, nobody knows what the framework did.
"""

from __future__ import annotations

__all__ = [
    "CALLERS",
    "HAND_OVER",
    "NOT_ASKED",
    "CallId",
    "ClaimResult",
    "HandOver",
    "HandOverState",
    "build_known_notice",
    "build_unknown_notice",
    "name_call",
    "name_caller_call",
]

from collections.abc import Collection, Sequence
from typing import Final, Literal

from pydantic import AwareDatetime, Field

from askback.domain.ask import Ask
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.who import Who
from askback.internal.values import Value
from askback.translations.catalogue import N_, _, use_language

HandOverState = Literal["asked", "claimed", "acknowledged", "unknown"]
ClaimResult = Literal["claimed", "taken", "acknowledged", "unknown", "changed", "missing"]
"""`claimed`, or the reason why nothing was claimed. `taken` means that another process resumes the framework now.
`changed` means that people were shown another call."""

HAND_OVER: Final = "handover:"
"""Prefix of `OutgoingMessage.target` for notices about a hand-over. The ask's id follows."""
CALLERS: Final = "askback"
"""The framework of calls of the clients of askback's servers."""
NOT_ASKED: Final = ""
"""The id of an ask that is about to be stored."""
UNKNOWN: Final = N_(
    "The program that asked this was interrupted while it acted on the answer, so the outcome is unknown. It will not "
    "act on it again by itself: please check what it has done."
)
KNOWN: Final = N_("The outcome is known now: the program has finished its work after this answer.")


class CallId(Value):
    """The identity of one call of an agent framework. It is the same when the call is repeated."""

    framework: str = Field(min_length=1)
    run: str = Field(min_length=1)
    """The framework's id of the run, such as a thread or a conversation."""
    call: str = Field(min_length=1)


class HandOver(Value):
    """The state of the hand-over of one call's outcome."""

    id: CallId
    ask_id: str
    digest: str
    """A digest of what people were shown."""
    state: HandOverState
    holder: str | None = None
    """The claim that resumes the framework, or did: a machine, a process, and a random part."""
    claimed_at: AwareDatetime | None = None

    def check_claim(self, digest: str, holder: str) -> ClaimResult:
        """Return the result of a claim for a call with this digest; `claimed` if nothing prevents it."""
        if self.state == "claimed":
            return "claimed" if self.holder == holder else "taken"
        if self.state != "asked":
            return self.state
        return "claimed" if self.digest == digest else "changed"


def name_call(
    framework: str, run: str, name: str, known: Sequence[HandOver], ended: Collection[HandOverState]
) -> CallId:
    """Return the id of a call. A call of the same name in a state of `ended` is an earlier one."""
    number = 0
    done = {one.id.call for one in known if one.state in ended}
    while f"{name}.{number}" in done:
        number += 1
    return CallId(framework=framework, run=run, call=f"{name}.{number}")


def name_caller_call(ask: Ask) -> CallId:
    """Return the call of a client of askback's servers, by the key of its ask.

    The run is all of the key but its last part, so equal calls are of one run.
    """
    run, _, call = (ask.key or "").rpartition(":")
    return CallId(framework=CALLERS, run=run, call=call)


def build_unknown_notice(ask: Ask, hand_over: HandOver) -> OutgoingMessage:
    """Return the notice for people that the outcome of a hand-over is unknown. It names those who decided."""
    return _build_notice(ask, f"{HAND_OVER}{ask.id}:{hand_over.holder}", UNKNOWN)


def build_known_notice(ask: Ask, hand_over: HandOver) -> OutgoingMessage:
    """Return the notice for the same people that the outcome is no longer unknown."""
    return _build_notice(ask, f"{HAND_OVER}{ask.id}:{hand_over.holder}:known", KNOWN)


def _build_notice(ask: Ask, target: str, sentence: str) -> OutgoingMessage:
    outcome = ask.outcome
    deciders = () if outcome is None else tuple(vote.by for vote in outcome.votes) or tuple(filter(None, (outcome.by,)))
    with use_language(ask.policy.language):
        text = _(sentence)
    return OutgoingMessage(
        target=target,
        text=text,
        markdown=False,
        mention=Who.from_people(*deciders) if deciders else None,
        reply_to=next(iter(ask.messages), None),
        language=ask.policy.language,
    )
