"""The input of `ask`: questions and options as a model writes them, with lenient names and types.

Two things of a form are for programs alone. The address of a picture could carry what the model has read to a foreign
server as soon as the card is posted. A pattern could be one that takes hours to match.
"""

from __future__ import annotations

__all__ = ["AskInput", "ConditionInput", "OptionInput", "QuestionInput"]

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from askback.domain.choice_words import Picks
from askback.domain.form_limits import (
    DEFAULT_ANSWER,
    MAX_ANSWER,
    MAX_DESCRIPTION,
    MAX_DETAILS,
    MAX_HEADER,
    MAX_ID,
    MAX_LABEL,
    MAX_NOTE_OPTIONS,
    MAX_OPTIONS,
    MAX_PICKED,
    MAX_PLACEHOLDER,
    MAX_PREVIEW,
    MAX_PROMPT,
    MAX_QUESTIONS,
    MAX_VALUE,
)
from askback.domain.timeout_action import TimeoutAction
from askback.tools.aliases import CHOICES, DESCRIPTION, HEADER, LABEL, PROMPT, SEVERAL
from askback.tools.files_input import OptionalFiles
from askback.tools.lenient_parser import (
    TO_DESCRIPTION,
    LenientBool,
    LenientText,
    NameList,
    ToolInput,
    add_fields,
    add_names,
    build_length_limits,
    drop_blank,
    rename_fields,
    to_list,
    to_options,
    wrap_in_object,
)

Kind = Literal["text", "integer", "number", "email", "uri", "date", "time", "date-time"]

Values = Annotated[list[LenientText], BeforeValidator(to_list)]
"""Values of options. Accepts a single one."""


class OptionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["label"]})

    label: LenientText = Field(
        description="The text that people choose.", min_length=1, json_schema_extra=build_length_limits(MAX_LABEL)
    )
    value: LenientText | None = Field(
        default=None,
        description="The value that you get. Default: the label.",
        json_schema_extra=build_length_limits(MAX_VALUE),
    )
    description: LenientText | None = Field(
        default=None, description="What choosing it means.", json_schema_extra=build_length_limits(MAX_DESCRIPTION)
    )
    preview: LenientText | None = Field(
        default=None,
        description="A text to look at before choosing: code, a draft.",
        json_schema_extra=build_length_limits(MAX_PREVIEW),
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="label",
            label=LABEL,
            value=("id",),
            description=DESCRIPTION,
            preview=(),
        )

    @property
    def sent_value(self) -> str:
        return drop_blank(self.value) or self.label


class ConditionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["question"]})

    question: LenientText = Field(description="The id of an earlier question.")
    any_of: Values = Field(
        default_factory=list[str],
        alias="anyOf",
        description="Values, one of which must be chosen. Without anything else, any answer is enough.",
    )
    none_of: Values = Field(
        default_factory=list[str], alias="noneOf", description="Values, none of which may be chosen."
    )
    skipped: LenientBool = Field(default=False, description="True: the earlier question was not asked.")

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="question",
            question=("id",),
            anyOf=("is", "isOneOf", "oneOf", "in", "equals", "value", "values"),
            noneOf=("isNot", "not", "notIn"),
            skipped=("wasSkipped",),
        )


class QuestionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["id", "question"]})

    id: LenientText = Field(
        min_length=1, description="A stable id for the answer.", json_schema_extra=build_length_limits(MAX_ID)
    )
    question: LenientText = Field(
        description="The complete question.", json_schema_extra=build_length_limits(MAX_PROMPT, least=1)
    )
    header: LenientText | None = Field(
        default=None,
        description="A very short name, for the head of the card and the review.",
        json_schema_extra=build_length_limits(MAX_HEADER),
    )
    options: Annotated[list[OptionInput], BeforeValidator(to_options)] = Field(
        default_factory=list[OptionInput],
        description="The choices. Leave it out to ask for a written answer.",
        json_schema_extra={"maxItems": MAX_OPTIONS},
    )
    picks: Picks | None = Field(
        default=None,
        description="Instead of options: people choose one of the people or channels of this workspace. You get its id "
        f"and name, or a list of up to {MAX_PICKED} of them with multiSelect.",
    )
    files: OptionalFiles = Field(
        default=None,
        description="Instead of options: people give files. You get their names and sizes, and what is in them.",
    )
    multi_select: LenientBool = Field(default=False, alias="multiSelect", description="True: several may be chosen.")
    min_choices: int | None = Field(default=None, alias="minChoices", ge=1)
    max_choices: int | None = Field(default=None, alias="maxChoices", ge=1)
    allow_custom: LenientBool = Field(
        default=True,
        alias="allowCustom",
        description="True: people may write another answer instead. The default is False with picks or files.",
    )
    allow_note: LenientBool = Field(
        default=False,
        alias="allowNote",
        description="True: people may write a note to the option that they choose, such as “but after six”. You get it "
        f"in `notes`. For one choice of up to {MAX_NOTE_OPTIONS} options.",
    )
    kind: Kind = Field(default="text", description="The kind of a written answer, and of the options' values.")
    min_length: int | None = Field(default=None, alias="minLength", ge=1, le=MAX_ANSWER)
    max_length: int | None = Field(
        default=None, alias="maxLength", ge=1, le=MAX_ANSWER, description=f"Default: {DEFAULT_ANSWER}."
    )
    minimum: float | None = Field(default=None, description="The smallest number.", allow_inf_nan=False)
    maximum: float | None = Field(default=None, description="The largest number.", allow_inf_nan=False)
    placeholder: LenientText | None = Field(
        default=None,
        description="A hint in the empty text field.",
        json_schema_extra=build_length_limits(MAX_PLACEHOLDER),
    )
    default: Values = Field(default_factory=list[str], description="Values that are chosen at the start.")
    optional: LenientBool = Field(default=False, description="True: people may leave it without an answer.")
    show_if: ConditionInput | None = Field(
        default=None, alias="showIf", description="Ask it only after certain answers to an earlier question."
    )
    details: LenientText | None = Field(
        default=None,
        description="A long text that people can open, such as a diff.",
        json_schema_extra=build_length_limits(MAX_DETAILS),
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="question",
            id=("key", "name"),
            question=PROMPT,
            header=HEADER,
            options=CHOICES,
            picks=("pick",),
            files=("file", "attachments"),
            multiSelect=SEVERAL,
            minChoices=(),
            maxChoices=(),
            allowCustom=("allowOther", "other"),
            allowNote=("allowNotes", "note", "notes"),
            kind=("type", "format"),
            minLength=(),
            maxLength=(),
            minimum=("min",),
            maximum=("max",),
            placeholder=("hint",),
            default=("defaults",),
            optional=(),
            showIf=("condition", "when"),
            details=(),
        )

    @model_validator(mode="after")
    def _check(self) -> QuestionInput:
        if self.optional and (self.min_choices or 1) > 1:
            raise ValueError("is optional, but needs several choices: leave out optional or minChoices")
        if self.optional and self.picks is not None:
            raise ValueError("is optional, but has picks, which need an answer: leave out optional, or use showIf")
        if self.optional and self.files is not None:
            raise ValueError("is optional, but has files, which need an answer: leave out optional, or use showIf")
        return self

    def find_value(self, named: str) -> str:
        """Return the value of an option that the model named by its value or its label."""
        values = [option.sent_value for option in self.options]
        if named in values:
            return named
        return next((option.sent_value for option in self.options if option.label == named), named)


def _read_action(value: object) -> object:
    """Return the action that a model means: another case, or another word for it."""
    if not isinstance(value, str):
        return value
    word = value.strip().lower()
    return {"": "report", "stop": "halt", "defaults": "default"}.get(word, word)


class AskInput(ToolInput):
    questions: Annotated[list[QuestionInput], BeforeValidator(to_list)] = Field(
        description="One question, or several that are asked together.",
        json_schema_extra={"minItems": 1, "maxItems": MAX_QUESTIONS},
    )
    to: NameList = Field(default_factory=list[str], description=TO_DESCRIPTION)
    on_timeout: Annotated[TimeoutAction, BeforeValidator(_read_action)] = Field(
        default="report",
        alias="onTimeout",
        description="What happens if nobody answers in time. report: you learn that nobody answered. halt: you must "
        "stop until a person writes. default: the `default` of each question applies, and the card tells people so "
        "beforehand.",
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        understood = add_names(value, wrap_in_object(value, "questions", "question", "prompt"))
        return add_fields(value, understood, onTimeout=("timeoutAction", "ifNobodyAnswers"))
