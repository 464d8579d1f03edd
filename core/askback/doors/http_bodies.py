"""The bodies of `askback serve`: what callers send, and what they get."""

from __future__ import annotations

__all__ = ["AskBody", "AskList", "CancelBody", "PendingAsk", "build_question"]

from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from askback.client.request import AskRequest
from askback.domain.ask_policy import LONGEST_WAIT, Approval, Reasons
from askback.domain.form import Form
from askback.doors import tool_inputs
from askback.doors.results import CallKind
from askback.doors.tool_inputs import AskInput
from askback.errors import CallerError, InvalidValue
from askback.tools.lenient_parser import LenientText, to_list

MAX_VOTERS = 100
"""Largest number of votes that a caller can ask for."""


class AskBody(AskInput):
    """A question: with options, with a form, with questions of askback, or for a written answer."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["question"], "properties": {"question": {"minLength": 1}}},
                {"required": ["questions"], "properties": {"questions": {"type": "array"}}},
            ]
        }
    )

    question: LenientText = Field(default="", description="The complete question. It is shown literally.")
    questions: list[dict[str, JsonValue]] | None = Field(
        default=None,
        description="Instead of a question: the questions of a form, as in `askback ask --form`. The answers come back "
        "in `answers`.",
    )
    yes: Annotated[list[str], BeforeValidator(to_list)] | None = Field(
        default=None, description="The options that mean “yes”."
    )
    no: Annotated[list[str], BeforeValidator(to_list)] | None = Field(
        default=None, description="The options that mean “no”. Default: those called no, deny, reject and the like."
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


class CancelBody(BaseModel):
    """The reason of a cancellation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: str | None = Field(default=None, max_length=500, description="Why, for the people who were asked.")


class PendingAsk(BaseModel):
    """An open question in a list."""

    id: str
    question: str
    where: str
    since: str
    deadline: str | None


class AskList(BaseModel):
    """The open questions of a caller."""

    asks: list[PendingAsk]


def build_question(given: AskBody) -> tuple[CallKind, Form, Approval | None]:
    """Return the form that a caller asks for, and the rules of its vote. None means that the first answer decides.

    Raises `CallerError`.
    """
    _check_vote(given)
    if given.questions is not None:
        if given.question.strip() or given.options or given.form is not None or given.details is not None:
            raise CallerError("`questions` is the whole form: leave out question, options, form and details.")
        return "askback_form", _read_questions(given.questions), None
    if not given.question.strip():
        raise CallerError("`question` is missing: write the question to ask.")
    form, vote = tool_inputs.build_question(given)
    if not given.options:
        return "ask" if given.form is None else "form", form, None
    if vote is None and not _has_vote(given):
        return "ask", form, None
    request = AskRequest(
        question=given.question,
        to="",
        options=tuple(option.label for option in given.options),
        yes=None if given.yes is None else tuple(given.yes),
        no=None if given.no is None else tuple(given.no),
        quorum=given.quorum,
        refusals=given.refusals,
        reasons=given.reasons,
    )
    decided = form.questions[0].evolve(allow_custom=False)
    return "ask", Form(questions=(decided,)), request.build_approval()


def _has_vote(given: AskBody) -> bool:
    """Return True if something is given that only a vote has."""
    numbers = given.quorum > 1 or given.refusals > 1
    return numbers or given.yes is not None or given.no is not None or given.reasons != "none"


def _check_vote(given: AskBody) -> None:
    if _has_vote(given) and not given.options:
        raise CallerError("`quorum`, `refusals`, `yes`, `no` and `reasons` need `options` to choose from.")


def _read_questions(given: list[dict[str, JsonValue]]) -> Form:
    try:
        form = Form.parse(cast("dict[str, object]", {"questions": given}))
    except InvalidValue as error:
        raise CallerError("`questions` cannot be asked: " + "; ".join(map(str, error.problems[:10]))) from None
    if any(question.rules.pattern is not None for question in form.questions):
        # A bot matches it against people's answers, and Python's patterns can take hours.
        raise CallerError("`questions` has a pattern, which could take hours to match: use a `kind`.")
    return form
