"""Selects questions by their state, place, people and time."""

from __future__ import annotations

__all__ = ["STATES", "AskFilter", "AskState", "get_state"]

from typing import Final, Literal, get_args

from pydantic import AwareDatetime

from askback.domain.ask import Ask
from askback.domain.outcome import OutcomeState
from askback.internal.values import Value

AskState = Literal["open"] | OutcomeState
"""The state of a question, as people read it: an answer that means "no" is a refusal."""
STATES: Final[tuple[AskState, ...]] = ("open", *get_args(OutcomeState))


class AskFilter(Value):
    """The wanted questions. A field that is None or empty selects all."""

    states: tuple[AskState, ...] = ()
    platform: str | None = None
    place: str | None = None
    """The id of a channel, a thread or a server."""
    person: str | None = None
    """The id or the name of a person who asked, answered or voted."""
    caller: str | None = None
    """The operator's name for the program that asked."""
    since: AwareDatetime | None = None
    """The earliest time of asking."""

    def matches(self, ask: Ask) -> bool:
        """Return True if a question is wanted."""
        place = ask.place
        return (
            (not self.states or get_state(ask) in self.states)
            and self.platform in {None, place.platform}
            and self.place in {None, place.channel, place.thread, place.tenant}
            and (self.person is None or self.person.casefold() in _list_names(ask))
            and (self.caller is None or self.caller.casefold() == (ask.policy.caller or "").casefold())
            and (self.since is None or ask.created_at >= self.since)
        )


def get_state(ask: Ask) -> AskState:
    """Return the state of a question."""
    return "open" if ask.outcome is None else ask.outcome.state


def _list_names(ask: Ask) -> set[str]:
    """Return the ids and names of the people who asked, answered or voted, without differences of case."""
    outcome = ask.outcome
    people = [ask.asked_by, None if outcome is None else outcome.by, *(vote.by for vote in ask.interview.votes)]
    names = [text for one in people if one is not None for text in (one.id, one.name)]
    return {name.casefold() for name in names if name}
