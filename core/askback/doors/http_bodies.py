"""The bodies of `askback serve`, and the limits of its requests: what callers send, and what they get."""

from __future__ import annotations

__all__ = ["LONGEST_KEY", "MAX_BODY", "MAX_WAIT", "AskBody", "AskList", "CancelBody", "build_question"]

from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from askback.client.http_client import LONGEST_KEY
from askback.client.request import AskRequest
from askback.domain.ask_policy import LONGEST_WAIT, Approval, Reasons
from askback.domain.form import Form
from askback.domain.form_limits import MAX_PROMPT
from askback.domain.webhook import LONGEST_URL
from askback.doors import tool_inputs
from askback.doors.ask_lists import PendingAsk
from askback.doors.results import CallKind
from askback.doors.tool_inputs import AskInput
from askback.errors import CallerError, InvalidValue
from askback.text.unseen import has_visible_text
from askback.tools.lenient_parser import LenientText, build_length_limits, to_list

MAX_WAIT = 300.0
"""Longest wait of one request, in seconds. Proxies end requests that take longer."""
MAX_BODY = 1_000_000
"""Largest body in bytes. A body without a valid token is not read."""
MAX_VOTERS = 100
"""Largest number of votes that a caller can ask for."""


class AskBody(AskInput):
    """A question: with options, with a form, with questions of askback, or for a written answer."""

    # No `anyOf` says which of `question` and `questions` is required: generators of clients would lose all fields.
    question: LenientText = Field(
        default="",
        description="The complete question, which is shown literally. It is required, unless there are `questions`.",
        json_schema_extra=build_length_limits(MAX_PROMPT),
    )
    questions: list[dict[str, JsonValue]] | None = Field(
        default=None,
        description="Instead of a question: the questions of a form, as in `askback ask --form`. The answers come back "
        "in `answers`.",
    )
    yes: Annotated[list[str], BeforeValidator(to_list)] | None = Field(
        default=None, description="The options that mean “yes”."
    )
    no: Annotated[list[str], BeforeValidator(to_list)] | None = Field(
        default=None,
        description="The options that mean “no”. Default: those called no, deny, reject and the like, and cancel or "
        "stop next to others, in each language of askback.",
    )
    quorum: int = Field(default=1, ge=1, le=MAX_VOTERS, description="How many people have to agree.")
    refusals: int = Field(default=1, ge=1, le=MAX_VOTERS, description="How many people have to refuse.")
    reasons: Reasons = Field(default="none", description="Which decisions need a reason.")
    timeout: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_WAIT,
        allow_inf_nan=False,
        description="Seconds until the question times out. It is never longer than the operator allows.",
    )
    webhook: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_URL,
        description="An address that gets the outcome, too, as `webhooks` of this document describes. It must be one "
        "that the operator allows.",
        json_schema_extra={"format": "uri"},
    )

    @property
    def is_vote(self) -> bool:
        """True if something is given that only a vote has."""
        numbers = self.quorum > 1 or self.refusals > 1
        return numbers or self.yes is not None or self.no is not None or self.reasons != "none"

    def build_request(self) -> AskRequest:
        """Return the question with options and the rules of its vote, or for a written answer."""
        request = super().build_request()
        return request.evolve(
            yes=None if self.yes is None else tuple(self.yes),
            no=None if self.no is None else tuple(self.no),
            quorum=self.quorum,
            refusals=self.refusals,
            reasons=self.reasons,
        )


class CancelBody(BaseModel):
    """The reason of a cancellation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: str | None = Field(default=None, max_length=500, description="Why, for the people who were asked.")


class AskList(BaseModel):
    """Open questions of a caller, oldest first."""

    asks: list[PendingAsk]
    next_cursor: str | None = Field(
        default=None,
        description="Send it as `cursor` to get the questions after these. It is missing if there are no more.",
    )


def build_question(given: AskBody) -> tuple[CallKind, Form, Approval | None]:
    """Return the form that a caller asks for, and the rules of its vote. None means that the first answer decides.

    Raises `CallerError`.
    """
    if given.timeout is not None and given.deadline is not None:
        raise CallerError("There are both `timeout` and `deadline`: leave out one of them.")
    if given.is_vote and not given.options:
        raise CallerError("`quorum`, `refusals`, `yes`, `no` and `reasons` need `options` to choose from.")
    if given.questions is not None:
        others = (given.form, given.picks, given.details, given.default)
        has_others = given.options or given.allow_note or any(one is not None for one in others)
        if has_visible_text(given.question) or has_others:
            raise CallerError("`questions` is the whole form: leave out the other fields of a question.")
        return "askback_form", _read_questions(given.questions), None
    if not has_visible_text(given.question):
        raise CallerError("`question` is missing: write the question to ask.")
    return tool_inputs.build_question(given)


def _read_questions(given: list[dict[str, JsonValue]]) -> Form:
    try:
        form = Form.parse(cast("dict[str, object]", {"questions": given}))
    except InvalidValue as error:
        raise CallerError("`questions` cannot be asked: " + "; ".join(map(str, error.problems[:10]))) from None
    if form.has_pattern:
        # A bot matches it against people's answers, and Python's patterns can take hours.
        raise CallerError("`questions` has a pattern, which could take hours to match: use a `kind`.")
    return form
