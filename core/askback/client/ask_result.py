"""The result of a question, as `askback serve` and `askback mcp` write it and a client reads it. Pure."""

from __future__ import annotations

__all__ = ["AskResult", "PickedResult", "VoteResult", "WebhookResult"]

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from askback.domain.outcome import OutcomeState
from askback.domain.webhook import WebhookState


class VoteResult(BaseModel):
    """The vote of one person."""

    model_config = ConfigDict(frozen=True)

    by: str
    by_id: str
    choice: str
    reason: str | None = None
    at: AwareDatetime


class PickedResult(BaseModel):
    """A person or a channel that somebody chose."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="The id on the platform, which alone says who or what it is.")
    name: str = Field(description="A name, which anybody can choose.")


class WebhookResult(BaseModel):
    """The delivery of the outcome to one webhook."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="The `webhook-id` of each attempt.")
    url: str = Field(description="The address without its query.")
    state: WebhookState = Field(description="`failed` means that no further attempt is made.")
    attempts: int
    error: str | None = Field(default=None, description="The reason why the last attempt failed.")


class AskResult(BaseModel):
    """A question and its outcome. Fields without a value are left out."""

    model_config = ConfigDict(frozen=True)

    status: Literal["open", OutcomeState] = Field(
        description="`timed_out` means that nobody answered, which is neither a yes nor a no."
    )
    id: str
    question: str | None = None
    answer: str | None = Field(
        default=None,
        description="The chosen option, or the written text. Of several, each with a comma is written as JSON.",
    )
    written: bool | None = Field(
        default=None,
        description="True if `answer` is in the person's own words, even if it reads like an option. Left out for a "
        "chosen option.",
    )
    picked: tuple[PickedResult, ...] | None = Field(
        default=None, description="With `picks`: the people or channels that they chose."
    )
    approved: bool | None = Field(default=None, description="True if people chose an option that means “yes”.")
    values: dict[str, JsonValue] | None = Field(default=None, description="An instance of the JSON Schema in `form`.")
    answers: dict[str, JsonValue] | None = Field(
        default=None, description="The answers to `questions`, by their ids, or by their texts if they have no ids."
    )
    note: str | None = Field(default=None, description="The note that they wrote to the chosen option.")
    notes: dict[str, JsonValue] | None = Field(
        default=None, description="The notes to the choices in a form, by the ids of its questions."
    )
    by: str | None = Field(default=None, description="A name, which alone proves nothing.")
    by_id: str | None = None
    votes: tuple[VoteResult, ...] = ()
    fallback: dict[str, JsonValue] | None = Field(
        default=None,
        description="The defaults that apply because nobody answered in time, by the ids of the questions. Nobody "
        "chose them.",
    )
    halted: bool | None = Field(
        default=None, description="True if nobody answered in time, and the caller must therefore stop its work."
    )
    where: str
    deadline: AwareDatetime | None = Field(
        default=None, description="When the question times out, while it is open and if it has a deadline."
    )
    at: AwareDatetime | None = None
    reason: str | None = None
    message: str = Field(description="The same in words.")
    webhooks: tuple[WebhookResult, ...] | None = Field(
        default=None, description="The deliveries of the outcome. Only a request for the question by its id has them."
    )
