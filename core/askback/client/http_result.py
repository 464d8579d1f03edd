"""The problems of `askback serve`, and its results in the form that a script reads."""

from __future__ import annotations

__all__ = ["Problem", "to_outcome"]

from pydantic import BaseModel, Field

from askback.client.ask_result import AskResult
from askback.client.result import AskOutcome, AskVote


def to_outcome(result: AskResult, key: str) -> AskOutcome | None:
    """Return the outcome of a question that was asked with this key; None while it is open."""
    if result.status == "open" or result.at is None:
        return None
    return AskOutcome(
        id=result.id,
        key=key,
        status=result.status,
        approved=result.approved if result.status == "answered" else False,
        answer=result.answer,
        answers=result.answers,
        by=result.by,
        by_id=result.by_id,
        reason=result.reason,
        votes=tuple(
            AskVote(by=vote.by, id=vote.by_id, choice=vote.choice, reason=vote.reason, at=vote.at)
            for vote in result.votes
        ),
        at=result.at,
        fallback=result.fallback,
        halted=bool(result.halted),
        note=result.note,
        notes=result.notes,
        written=bool(result.written),
    )


class Problem(BaseModel):
    """An error, in the format of RFC 9457."""

    title: str
    status: int
    detail: str = Field(description="What failed, why, and the next step.")
