"""Settings from the environment and an optional settings file."""

from __future__ import annotations

__all__ = ["Settings"]

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import AliasChoices, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from askback.agent.approvals import ApprovalRules
from askback.agent.audience import WORDS, Answerers
from askback.agent.budget import ROUNDS
from askback.agent.compaction import COMPACT_AT, LEAST
from askback.agent.prompt import SYSTEM_PROMPT
from askback.domain.policy import LONGEST_WAIT, Limits, Reasons
from askback.errors import OperatorError
from askback.inbound.typed_text import TypedReplies
from askback.settings.address import checked_address
from askback.settings.approvers import approver, approvers
from askback.settings.durations import seconds_of
from askback.settings.loader import TomlSettings, file
from askback.settings.paths import default_database
from askback.store.url import anchored
from askback.tools import TOOLS, is_import_path

_APPROVERS = (
    "Give ids in a list, each behind its platform and a colon: of people, U… or a number; of groups, S… or @& and a "
    "number."
)


class Settings(TomlSettings):
    """The settings of askback itself."""

    model_config = SettingsConfigDict(env_prefix="ASKBACK_")

    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("ANTHROPIC_API_KEY", "anthropic_api_key"),
        description="Make a key in the Anthropic console.",
    )
    model: str = Field(default="claude-sonnet-5-5", min_length=1, description="Give the name of an Anthropic model.")
    max_tokens: int = Field(default=8192, ge=1, description="Give the most tokens that one answer may have.")
    tools: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("AskUserQuestion",),
        description="Give names of question tools, and import paths such as mypackage.tools:deploy, in a list.",
    )
    tool_timeout: float = Field(
        default=60.0,
        gt=0,
        le=LONGEST_WAIT,
        allow_inf_nan=False,
        description='Give how long a tool of your own may take, such as "90s".',
    )
    tool_result_limit: int = Field(
        default=100_000, ge=1000, description="Give the most characters that the model reads of one tool's result."
    )
    approval_tools: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Give names of tools of your own, or patterns such as db_*, in a list.",
    )
    approvers: Annotated[tuple[str, ...], NoDecode] = Field(default=(), description=_APPROVERS)
    answerers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("participants",),
        description=f"Give one of {', '.join(WORDS)}; or ids in a list, as for approvers.",
    )
    approval_quorum: int = Field(default=1, ge=1, description="Give how many approvers have to agree.")
    approval_refusals: int = Field(default=1, ge=1, description="Give how many approvers have to refuse.")
    approval_reasons: Reasons = Field(
        default="no", description="Give none, no, yes or both: for which decisions an approver says why."
    )
    approval_own: bool = Field(
        default=False, description="Give true or false: whether approvers decide about their own requests."
    )
    approval_always: bool = Field(
        default=False,
        description="Give true or false: whether approvers may let a tool run for the rest of a conversation.",
    )
    approval_timeout: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_WAIT,
        allow_inf_nan=False,
        description='Give how long approvers are waited for, such as "2h", or "never" to wait for ever.',
    )
    approval_remind: Annotated[tuple[float, ...], NoDecode] = Field(
        default=(), description='Give after how long approvers are reminded, such as "30m", or several in a list.'
    )
    approval_escalate_to: Annotated[tuple[str, ...], NoDecode] = Field(default=(), description=_APPROVERS)
    approval_escalate_after: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_WAIT,
        allow_inf_nan=False,
        validate_default=True,
        description='Give after how long those in approval_escalate_to are asked as well, such as "1h".',
    )
    timeout: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_WAIT,
        allow_inf_nan=False,
        description='Give how long the agent\'s questions wait for people, such as "2h", or "never" to wait for ever.',
    )
    budget_conversation: int | None = Field(
        default=None, ge=1, description="Give the most tokens that one conversation may use up, or leave it out."
    )
    budget_day: int | None = Field(
        default=None, ge=1, description="Give the most tokens that all conversations may use up on one day (UTC)."
    )
    rounds: int = Field(
        default=ROUNDS, ge=1, description="Give how often the model is called without a word from a person."
    )
    compact_at: int | None = Field(
        default=COMPACT_AT,
        ge=LEAST,
        description=f'Give the tokens from which on a conversation is compacted, {LEAST} at least, or "never".',
    )
    open_questions: int = Field(
        default=10, ge=1, description="Give how many questions may be open in one conversation or channel."
    )
    question_pace: float | None = Field(
        default=None,
        ge=0,
        le=LONGEST_WAIT,
        allow_inf_nan=False,
        description='Give how long after one question the next is posted in the same place, such as "5s".',
    )
    retention: float | None = Field(
        default=None,
        ge=3600,
        le=LONGEST_WAIT,
        allow_inf_nan=False,
        description='Give how long conversations are kept, such as "90d", one hour at least, or "never".',
    )
    typed_replies: TypedReplies = Field(
        default="offer",
        description="Give answer, offer or off: what becomes of a message that may be meant as an answer.",
    )
    system_prompt: str = Field(default=SYSTEM_PROMPT, description="Give what the model is told about its task.")
    database_url: str = Field(
        default_factory=default_database,
        min_length=1,
        # The URL may contain a password.
        repr=False,
        description="Give the path of an SQLite file, or postgresql://user:password@host/database.",
    )
    log_level: str = Field(default="INFO", description="Give DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    log_format: Literal["text", "json"] = Field(default="text", description="Give text or json.")
    health: str | None = Field(
        default=None, description="Give HOST:PORT, where /healthz and /readyz are answered, such as 127.0.0.1:8080."
    )

    @property
    def folder(self) -> Path | None:
        """The settings file's folder, for importing the operator's tools; None if the file does not exist."""
        path = file()
        return path.parent if path is not None and path.exists() else None

    @classmethod
    def anchored(cls, values: dict[str, object], folder: Path) -> dict[str, object]:
        url = values.get("database_url")
        return {**values, "database_url": anchored(url, folder)} if isinstance(url, str) else values

    @property
    def limits(self) -> Limits:
        """The limits on the number and pace of questions."""
        limits = Limits(pending_per_place=self.open_questions)
        return limits if self.question_pace is None else limits.evolve(seconds_between_asks=self.question_pace)

    @property
    def approvals(self) -> ApprovalRules:
        """The rules for approving tool calls."""
        return ApprovalRules(
            approvers=approvers(self.approvers, _platforms()),
            quorum=self.approval_quorum,
            refusals=self.approval_refusals,
            reasons=self.approval_reasons,
            own=self.approval_own,
            always=self.approval_always,
            timeout=self.approval_timeout,
            remind=self.approval_remind,
            escalate_after=self.approval_escalate_after,
            escalate_to=approvers(self.approval_escalate_to, _platforms()),
        )

    @property
    def asked(self) -> Answerers:
        """The people who may answer the agent's questions."""
        for word in WORDS:
            if self.answerers == (word,):
                return Answerers(kind=word)
        return Answerers(kind="given", given=approvers(self.answerers, _platforms()))

    @property
    def model_key(self) -> str:
        """The key for the model. Raises `OperatorError` if there is none."""
        if self.anthropic_api_key is None:
            raise OperatorError(
                "ANTHROPIC_API_KEY is missing. Make a key in the Anthropic console; `askback demo` needs none."
            )
        return self.anthropic_api_key.get_secret_value()

    @field_validator("tools", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, (list, tuple)):
            return value
        names = [str(name).strip() for name in value if str(name).strip()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - from a file
        unknown = [name for name in names if name not in TOOLS and not is_import_path(name)]
        if unknown or not names:
            raise ValueError(f"names {', '.join(unknown) or 'no tool'}, but the tools are {', '.join(TOOLS)}")
        return tuple(dict.fromkeys(names))

    @field_validator("approval_tools", mode="before")
    @classmethod
    def _patterns(cls, value: object) -> object:
        entries = _listed(value)
        return value if entries is None else entries

    @field_validator("approvers", "approval_escalate_to", mode="before")
    @classmethod
    def _approvers(cls, value: object) -> object:
        entries = _listed(value)
        if entries is None:
            return value
        for number, entry in enumerate(entries, 1):
            try:
                approver(entry, _platforms())
            except ValueError as error:
                raise ValueError(f"has an entry (number {number}) that {error}") from None
        return entries

    @field_validator("answerers", mode="before")
    @classmethod
    def _answerers(cls, value: object) -> object:
        entries = _listed(value)
        if entries is None:
            return value
        if not entries:
            raise ValueError("names nobody")
        if len(entries) == 1 and entries[0].lower() in WORDS:
            return (entries[0].lower(),)
        return cls._approvers(entries)

    @field_validator("approval_quorum", "approval_refusals")
    @classmethod
    def _many(cls, value: int, info: ValidationInfo) -> int:
        if value > 1 and info.data.get("approvers") == ():
            raise ValueError(f"is {value}, but `approvers` names nobody: name them there")
        return value

    @field_validator("approval_remind", mode="before")
    @classmethod
    def _times(cls, value: object) -> object:
        entries = _listed((value,) if isinstance(value, int | float) and not isinstance(value, bool) else value)
        return value if entries is None else tuple(map(seconds_of, entries))

    @field_validator("approval_remind")
    @classmethod
    def _in_time(cls, value: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        timeout: float | None = info.data.get("approval_timeout")
        if any(not 0 < one <= LONGEST_WAIT or (timeout is not None and one >= timeout) for one in value):
            raise ValueError("has a time that is not before approval_timeout")
        return value

    @field_validator("approval_escalate_after")
    @classmethod
    def _further(cls, value: float | None, info: ValidationInfo) -> float | None:
        to, timeout = info.data.get("approval_escalate_to"), info.data.get("approval_timeout")
        if value is None and to:
            raise ValueError("is missing, since approval_escalate_to is set")
        if value is not None and to == ():
            raise ValueError("is set, but approval_escalate_to names nobody: name them there")
        if value is not None and timeout is not None and value >= timeout:
            raise ValueError("is not before approval_timeout")
        return value

    @field_validator(
        "timeout",
        "tool_timeout",
        "approval_timeout",
        "approval_escalate_after",
        "question_pace",
        "retention",
        mode="before",
    )
    @classmethod
    def _kept(cls, value: object) -> object:
        value = _ending(value)
        return seconds_of(value) if isinstance(value, str) else value

    @field_validator("compact_at", mode="before")
    @classmethod
    def _never(cls, value: object) -> object:
        return _ending(value)

    @field_validator("health")
    @classmethod
    def _health(cls, value: str | None) -> str | None:
        return checked_address(value)

    @field_validator("log_level")
    @classmethod
    def _level(cls, value: str) -> str:
        level = value.strip().upper()
        if level not in {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}:
            raise ValueError("is no level")
        return level


def _ending(value: object) -> object:
    """Return None for "never" and "none". Raises `ValueError` for a bool, which pydantic would accept as a number."""
    if isinstance(value, bool):
        raise ValueError("is no number")
    return None if isinstance(value, str) and value.strip().lower() in {"never", "none"} else value


def _listed(value: object) -> tuple[str, ...] | None:
    """Return the entries of a list, or of a text with commas, without duplicates. None means that it is neither."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, (list, tuple)):
        return None
    entries = (str(entry).strip() for entry in cast("list[object]", value))
    return tuple(dict.fromkeys(entry for entry in entries if entry))


def _platforms() -> tuple[str, ...]:
    return tuple(sorted(one.name for one in entry_points(group="askback.bots")))
