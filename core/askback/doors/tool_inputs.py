"""The inputs of a door's tools, as a model writes them. Nothing in these hostile texts changes who decides."""

from __future__ import annotations

__all__ = [
    "EXAMPLE",
    "AskInput",
    "CancelInput",
    "NoInput",
    "PermitInput",
    "WaitInput",
    "build_question",
    "check_secrets",
    "parse_input",
    "repair_texts",
]

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError, model_validator

from askback.client.moments import RFC_3339, parse_moment
from askback.client.parameter_names import describe_problems
from askback.client.request import AskRequest
from askback.client.result import QUESTION_ID
from askback.domain.ask_policy import Approval
from askback.domain.choice_words import Picks
from askback.domain.form import Form, Option, Question
from askback.domain.form_limits import MAX_DETAILS, MAX_ID, MAX_LABEL, MAX_NOTE_OPTIONS, MAX_OPTIONS, MAX_PROMPT
from askback.domain.json_schema import read_form
from askback.domain.timeout_action import TimeoutAction
from askback.doors.results import CallKind
from askback.errors import CallerError, InvalidValue, ModelError, to_problems
from askback.internal.values import repair_surrogates
from askback.text.redaction import contains_known_secret
from askback.tools.aliases import CHOICES, DESCRIPTION, LABEL, PROMPT, SEVERAL
from askback.tools.lenient_parser import (
    LenientText,
    build_length_limits,
    decode_json,
    drop_blank,
    rename_aliases,
    to_options,
)

Input = TypeVar("Input", bound=BaseModel)


class _Input(BaseModel):
    """The base class of the inputs. An unknown field is an error, so that no caller believes that it had an effect."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OptionInput(_Input):
    """One option with an explanation."""

    label: LenientText = Field(
        min_length=1, description="The text that people choose.", json_schema_extra=build_length_limits(MAX_LABEL)
    )
    description: LenientText | None = Field(default=None, description="What choosing it means.")


def _read_option(value: object) -> object:
    # A model also writes numbers: “How many?” with 1, 2 and 3.
    if isinstance(value, str | int | float):
        return {"label": value}
    # The answer is the label, so a value next to it has no effect.
    return rename_aliases(value, label=LABEL, description=DESCRIPTION)


def _read_deadline(value: object) -> object:
    text = drop_blank(value) if isinstance(value, str) else value
    if text is not None and not isinstance(text, str):
        raise ValueError(f"is not a moment: give a text such as {RFC_3339}")
    return None if text is None else parse_moment(text, local=False)


_Options = Annotated[list[Annotated[OptionInput, BeforeValidator(_read_option)]], BeforeValidator(to_options)]

EXAMPLE: Final = (
    '{"question": "Which database?", "options": ["PostgreSQL", {"label": "SQLite", "description": "A file"}]}'
)
"""A proper input of `ask`."""
_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "question": PROMPT,
    "options": CHOICES,
    "allow_note": ("allowNotes",),
    "allow_custom": ("allowOther",),
    "form": ("schema",),
    "picks": ("pick",),
    "several": ("multiSelect", *SEVERAL),
    "default": ("defaults",),
    "deadline": ("until",),
}
"""Other names under which models send a field."""


class AskInput(_Input):
    """The input of `ask`."""

    question: LenientText = Field(
        description="The complete question, for people who do not see your conversation. It is shown literally.",
        json_schema_extra=build_length_limits(MAX_PROMPT, least=1),
    )
    options: _Options = Field(
        default_factory=list[OptionInput],
        description="The choices, as texts or as {label, description}. Leave it out if people write their answer. If "
        "one of them is a “no” (No, Deny, Cancel, Nein, …), people decide by choosing; otherwise they can also write "
        "another answer.",
        json_schema_extra={
            "maxItems": MAX_OPTIONS,
            "items": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["label"]}]},
        },
    )
    allow_note: bool = Field(
        default=False,
        description="With options of which none is a “no”: people can write a note to the option that they choose, "
        "such as “but after six”. It comes back in `note`.",
    )
    allow_custom: bool | None = Field(
        default=None,
        description="With options of which none is a “no”: false if people can only choose one. By default, they can "
        "also write their own answer.",
    )
    form: Annotated[dict[str, JsonValue] | None, BeforeValidator(decode_json)] = Field(
        default=None,
        description="Instead of options: a JSON Schema for several answers, which come back in `values`. An object of "
        "flat properties: string (minLength, maxLength, format email, uri, date or date-time), number, integer, "
        "boolean, enum, oneOf of const and title, and arrays of enum.",
    )
    picks: Picks | None = Field(
        default=None,
        description="Instead of options or a form: “people” or “channels”, which people choose from the chat's own "
        "list. They come back in `picked`, with id and name. Being chosen gives nobody a right, and anybody can choose "
        "a name: use the id.",
    )
    several: bool = Field(
        default=False,
        description="With `picks`, or with options of which none is a “no”: true if several may be chosen.",
    )
    details: LenientText | None = Field(
        default=None,
        description="A long text behind “Show everything”, such as a diff.",
        json_schema_extra=build_length_limits(MAX_DETAILS),
    )
    place: LenientText | None = Field(default=None, description="Where to ask. Leave it out for the usual place.")
    on_timeout: TimeoutAction = Field(
        default="report",
        description="What happens if nobody answers in time. report: the result says so. halt: the card and the result "
        "say that you stop until a person tells you more. default: `default`, or the defaults in `form`, apply. The "
        "card names them beforehand.",
    )
    default: LenientText | None = Field(
        default=None,
        description="With on_timeout “default”: the option, or the written answer, that applies if nobody answers.",
        json_schema_extra=build_length_limits(MAX_LABEL),
    )

    deadline: Annotated[datetime | None, BeforeValidator(_read_deadline)] = Field(
        default=None,
        description="When the question times out, with an offset, such as 2026-12-01T17:00:00+01:00. It is never later "
        "than the operator allows.",
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_aliases(value, **{name: _SYNONYMS.get(name, ()) for name in cls.model_fields})

    @property
    def is_vote(self) -> bool:
        """True if people can only choose an option, even if none of them is a “no”."""
        return False

    def build_request(self) -> AskRequest:
        """Return the question with options, or for a written answer."""
        labels = tuple(option.label for option in self.options)
        return AskRequest(
            question=self.question,
            to="",
            options=labels,
            on_timeout=self.on_timeout,
            default=drop_blank(self.default),
            details=drop_blank(self.details),
        )


class WaitInput(_Input):
    """The input of `wait`."""

    id: LenientText = Field(description="The id that `ask` returned with the status “open”, or that `pending` lists.")


class CancelInput(_Input):
    """The input of `cancel`."""

    id: LenientText = Field(description="The id of your open question.")
    reason: LenientText | None = Field(default=None, description="Why, for the people who were asked.")


class NoInput(_Input):
    """The input of `pending`."""


class PermitInput(BaseModel):
    """The input of `permit`, as Claude Code calls it. Further fields are for others."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tool_name: LenientText = Field(min_length=1, max_length=MAX_ID, description="The tool that is to run.")
    input: dict[str, JsonValue] = Field(description="Its arguments.")
    tool_use_id: LenientText | None = Field(default=None, description="The id of the call.")


def parse_input(tool: str, kind: type[Input], data: object) -> Input:
    """Return the typed input of a tool. Raises `ModelError`, which says how to call the tool."""
    example = EXAMPLE if issubclass(kind, AskInput) else None
    try:
        return kind.model_validate(data if data is not None else {})
    except ValidationError as error:
        problems = "; ".join(map(str, to_problems(error)[:10]))
        wrong = f"The input of {tool} is invalid, so nothing was done: {problems}."
        raise ModelError(f"{wrong} Correct it." if example is None else wrong, example=example) from None


def build_question(given: AskInput) -> tuple[CallKind, Form, Approval | None]:
    """Return the form that a caller asks for, and the rules of its vote. None means that the first answer decides.

    Raises `CallerError`.
    """
    for name, text, longest in (("question", given.question, MAX_PROMPT), ("details", given.details, MAX_DETAILS)):
        if text is not None and len(text) > longest:
            raise CallerError(f"`{name}` has {len(text):,} characters: shorten it to {longest:,}.")
    if given.allow_custom is not None and not given.options:
        raise CallerError("`allow_custom` is for `options`: give some, or leave it out.")
    if given.form is not None:
        if given.picks is not None:
            raise CallerError("There are both `picks` and a `form`: ask for people or channels in a call of its own.")
        if given.options:
            raise CallerError("There are both `options` and a `form`: put the options into the form, or leave it out.")
        if given.allow_note:
            raise CallerError("`allow_note` does not go together with a `form`: leave it out.")
        if drop_blank(given.default) is not None:
            raise CallerError("There are both `default` and a `form`: put the default into the form, or leave it out.")
        message, details = drop_blank(given.question), drop_blank(given.details)
        return "form", read_form(given.form, message=message, details=details, titled=True), None
    if given.picks is None and given.several and not given.options:
        raise CallerError("`several` is for `picks` and `options`: give one of them, or leave it out.")
    if given.picks is not None:
        return "ask", _build_picks(given, given.picks), None
    request = given.build_request()
    (question,) = request.build_form().questions
    options = tuple(map(_build_option, given.options))
    decides = given.is_vote or bool(request.list_refusing_options())
    # Without options, the question may offer its default.
    options = options or question.options
    if given.allow_note:
        _check_note(options, decides=decides)
    if given.allow_custom and decides:
        raise CallerError(
            "People who decide choose an option: leave out `allow_custom`, or the options that are a “no”."
        )
    if given.several:
        _check_several(given, decides=decides)
    form = Form(
        questions=(
            question.evolve(
                id=QUESTION_ID,
                options=options,
                allow_custom=not decides and given.allow_custom is not False,
                allow_note=given.allow_note and not decides,
                multi_select=given.several,
            ),
        )
    )
    return "ask", form, request.build_approval() if decides else None


def _build_option(given: OptionInput) -> Option:
    try:
        return Option(value=given.label, label=given.label, description=drop_blank(given.description))
    except InvalidValue as error:
        raise CallerError(describe_problems(error, {"option": "An option"})) from None


def _build_picks(given: AskInput, picks: Picks) -> Form:
    if given.allow_note:
        raise CallerError("There are both `picks` and `allow_note`: leave out one of them. Notes are for options.")
    if given.options or drop_blank(given.default) is not None:
        raise CallerError("There are both `picks` and `options` or a `default`: leave out `picks`, or the others.")
    try:
        question = Question(
            id=QUESTION_ID,
            prompt=given.question,
            picks=picks,
            multi_select=given.several,
            details=drop_blank(given.details),
        )
    except InvalidValue as error:
        raise CallerError(describe_problems(error, {"prompt": "`question`", "details": "`details`"})) from None
    return Form(questions=(question,))


def _check_note(options: Sequence[Option], *, decides: bool) -> None:
    """Raise `CallerError` if the question takes no notes."""
    if decides:
        raise CallerError("People who decide give reasons, and no notes: leave out `allow_note`.")
    if not 1 <= len(options) <= MAX_NOTE_OPTIONS:
        raise CallerError(
            f"`allow_note` needs 1 to {MAX_NOTE_OPTIONS} options, and there are {len(options):,}: correct them, or "
            "leave it out."
        )


def _check_several(given: AskInput, *, decides: bool) -> None:
    """Raise `CallerError` if only one option can be chosen."""
    if decides:
        raise CallerError("People who decide choose one option: leave out `several`, or the options that are a “no”.")
    if given.allow_note:
        raise CallerError("There are both `several` and `allow_note`: leave out one of them. A note is for one option.")


def check_secrets(form: Form) -> None:
    """Raise `CallerError` if people would read a secret that askback knows. The error does not show it."""
    if any(map(contains_known_secret, form.list_texts())):
        raise CallerError("The text contains a secret of askback's process, which people would read: take it out.")


def repair_texts(value: JsonValue) -> JsonValue:
    """Return a JSON value in which each half of a surrogate pair is repaired: neither people nor JSON can have it."""
    if isinstance(value, str):
        return repair_surrogates(value)
    if isinstance(value, Mapping):
        return {repair_surrogates(key): repair_texts(one) for key, one in value.items()}
    if isinstance(value, Sequence):
        return [repair_texts(one) for one in cast("Sequence[JsonValue]", value)]
    return value
