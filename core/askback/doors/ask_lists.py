"""The lists of a caller's questions: the open ones, and those that ended without a reader. Pure."""

from __future__ import annotations

__all__ = ["CallerAskList", "PendingAsk", "UnreadAsk"]

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from askback.domain.outcome import OutcomeState


class _ListedAsk(BaseModel):
    """A question in a list."""

    model_config = ConfigDict(frozen=True)

    id: str
    question: str
    where: str
    since: AwareDatetime


class PendingAsk(_ListedAsk):
    """An open question in a list."""

    deadline: AwareDatetime | None


class UnreadAsk(_ListedAsk):
    """A question that has ended, and whose result its caller has not read."""

    status: OutcomeState
    at: AwareDatetime


class CallerAskList(BaseModel):
    """The questions of a caller to which it may want to return."""

    model_config = ConfigDict(frozen=True)

    pending: tuple[PendingAsk, ...] = Field(description="The open questions, oldest first.")
    unread: tuple[UnreadAsk, ...] = Field(
        description="The questions that have ended and whose result no call has received, oldest first."
    )
    message: str = Field(description="The same in words.")
