"""The settings of askback itself: one field for each, and the rules about several of them.

`field_types` reads the values.
"""

from __future__ import annotations

__all__ = ["Settings"]

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import SettingsConfigDict

from askback.agent.approvals import ApprovalRules
from askback.agent.audience import ANSWERER_KINDS, Answerers
from askback.agent.budget import MAX_ROUNDS
from askback.agent.compaction import COMPACT_AT, LEAST
from askback.agent.prompt import SYSTEM_PROMPT
from askback.domain.ask_policy import LONGEST_WAIT, Reasons
from askback.domain.open_ask_limits import Limits
from askback.errors import OperatorError
from askback.inbound.answer_parser import TypedReplies
from askback.ports.installed_bots import list_bot_names
from askback.settings.approvers import parse_approvers
from askback.settings.field_types import (
    AnswererList,
    ApproverList,
    DurationList,
    LanguageName,
    ListenAddress,
    LogLevel,
    Pace,
    PatternList,
    Retention,
    RunTime,
    TimeLimit,
    TokenCount,
    ToolList,
)
from askback.settings.loader import TomlSettings, find_file
from askback.settings.paths import find_default_database
from askback.store.url import resolve_url
from askback.translations.catalogue import LANGUAGES

_APPROVERS = (
    "Give a list of ids, each after its platform and a colon. A person is U… or a number; a group is S… or @& and a "
    "number."
)


class Settings(TomlSettings):
    """The settings of askback itself."""

    model_config = SettingsConfigDict(env_prefix="ASKBACK_")

    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("ANTHROPIC_API_KEY", "anthropic_api_key"),
        description="Create a key in the Anthropic console.",
    )
    """The key for Anthropic's API. The agent needs it; `askback ask` and the library do not."""
    model: str = Field(default="claude-sonnet-5-5", min_length=1, description="Give the name of an Anthropic model.")
    """The model that the agent uses."""
    max_tokens: int = Field(default=8192, ge=1, description="Give the maximum number of tokens in one answer.")
    """The maximum number of tokens in one answer of the model."""
    tools: ToolList = Field(
        default=("AskUserQuestion",),
        description="Give a list of question tools and of import paths such as mypackage.tools:deploy.",
    )
    """The question tools that the model may call, by name, and import paths of your own tools."""
    tool_timeout: RunTime = Field(
        default=60.0,
        description='Give the maximum time for one of your own tools, such as "90s".',
    )
    """The longest time that one of your own tools may run. A tool's own `timeout` takes precedence."""
    tool_result_limit: int = Field(
        default=100_000, ge=1000, description="Give the maximum number of characters of a tool result."
    )
    """The maximum number of characters of one tool result that the model reads."""
    approval_tools: PatternList = Field(
        default=(),
        description="Give a list of names of your own tools, or of patterns such as db_*.",
    )
    """Your own tools that people have to approve, by name or by a pattern such as `db_*`."""
    approvers: ApproverList = Field(default=(), description=_APPROVERS)
    """The people, user groups and roles who approve tool calls. If the list is empty, the person who began the
    conversation confirms each call."""
    answerers: AnswererList = Field(
        default=("participants",),
        description=f"Give one of {', '.join(ANSWERER_KINDS)}, or a list of ids as for approvers.",
    )
    """The people who may answer the agent's questions. `starter` is the person who began the conversation,
    `participants` is everybody who has written in the thread, and `allowed` is everybody who may talk to the bot.
    Any other value is a list of people, user groups and roles."""
    approval_quorum: int = Field(default=1, ge=1, description="Give the number of approvers who have to agree.")
    """The number of approvers who have to agree."""
    approval_refusals: int = Field(default=1, ge=1, description="Give the number of approvers who have to refuse.")
    """The number of approvers who have to refuse before the call is denied."""
    approval_reasons: Reasons = Field(
        default="no", description="Give none, no, yes or both: the decisions that need a reason."
    )
    """The decisions for which an approver has to give a reason."""
    approval_own: bool = Field(
        default=False, description="Give true to let approvers decide about their own requests, or false."
    )
    """Lets approvers decide about their own requests."""
    approval_always: bool = Field(
        default=False,
        description="Give true to let approvers permit a tool for the rest of a conversation, or false.",
    )
    """Adds the option “Always in this conversation” to approvals."""
    approval_timeout: TimeLimit = Field(
        default=None,
        description='Give the time to wait for approvers, such as "2h", or "never" for no limit.',
    )
    """The longest time to wait for approvers, counted from the posting of the card. `never` means no limit."""
    approval_remind: DurationList = Field(
        default=(), description='Give the time after which approvers get a reminder, such as "30m", or a list of times.'
    )
    """The times, counted from the posting of the card, at which approvers who have not voted get a reminder."""
    approval_escalate_to: ApproverList = Field(default=(), description=_APPROVERS)
    """More people, user groups and roles, who may also approve after `approval_escalate_after`."""
    approval_escalate_after: TimeLimit = Field(
        default=None,
        validate_default=True,
        description='Give the time after which the people in approval_escalate_to are asked too, such as "1h".',
    )
    """The time, counted from the posting of the card, after which the people in `approval_escalate_to` are asked
    too."""
    timeout: TimeLimit = Field(
        default=None,
        description='Give the time to wait for answers to the agent\'s questions, such as "2h", or "never".',
    )
    """The longest time that the agent's questions wait for an answer, counted from the posting of the card.
    `never` means no limit."""
    budget_conversation: int | None = Field(
        default=None, ge=1, description="Give the maximum number of tokens for one conversation, or leave it out."
    )
    """The maximum number of tokens that one conversation may use. By default, there is no limit."""
    budget_day: int | None = Field(
        default=None, ge=1, description="Give the maximum number of tokens per day (UTC) for all conversations."
    )
    """The maximum number of tokens that all conversations together may use per day (UTC). By default, there is no
    limit."""
    rounds: int = Field(
        default=MAX_ROUNDS, ge=1, description="Give the maximum number of model calls without a message from a person."
    )
    """The maximum number of model calls in a row without a message from a person. Then the agent pauses until somebody
    writes."""
    compact_at: TokenCount = Field(
        default=COMPACT_AT,
        description=f'Give the number of tokens at which a conversation is compacted, at least {LEAST}, or "never".',
    )
    """The number of tokens at which the API compacts a conversation. `never` switches that off."""
    open_questions: int = Field(
        default=10, ge=1, description="Give the maximum number of open questions in one conversation or channel."
    )
    """The maximum number of open questions in one conversation or channel."""
    question_pace: Pace = Field(
        default=None,
        description='Give the minimum time between two questions in one place, such as "5s".',
    )
    """The minimum time between two questions in one place. By default, it is 5 seconds for the agent's questions and 0
    for those of programs."""
    question_bytes: int = Field(
        default=100_000_000,
        ge=1_000_000,
        description="Give the number of bytes that one caller's questions may store in a day, at least 1000000.",
    )
    """The number of bytes that the questions of one program (`askback serve`) or agent (`askback mcp`) may store in a
    day. The default is 100,000,000."""
    earlier_answers: int = Field(
        default=0, ge=0, le=10, description="Give the number of earlier answers that the agent gets, up to 10."
    )
    """The number of a person's earlier answers to the same question that the agent gets with their new answer. They are
    from the same channel. The default is 0."""
    retention: Retention = Field(
        default=None,
        description='Give the time to keep conversations, such as "90d", at least one hour, or "never".',
    )
    """The time for which askback keeps data that is no longer used. The minimum is an hour. `never` means that askback
    keeps everything."""
    typed_replies: TypedReplies = Field(
        default="offer",
        description="Give answer, offer or off: the treatment of a message that may be an answer.",
    )
    """The treatment of a message that matches no option of an open question. `offer` asks its author whether it is an
    answer, `answer` uses it as the written answer, and `off` always treats it as a message."""
    language: LanguageName = Field(default=None, description=f"Give one of {', '.join(LANGUAGES)}, or leave it out.")
    """The language of cards, and of what askback itself writes in a channel: `en`, `de`, `es`, `fr`, `ja` or `zh_CN`.
    By default, it is the language of the person who began the conversation. Private notices and windows are in the
    reader's own language."""
    system_prompt: str = Field(default=SYSTEM_PROMPT, description="Give the instructions to the model.")
    """The instructions to the model. The default says when to ask and when not to."""
    database_url: str = Field(
        default_factory=find_default_database,
        min_length=1,
        # The URL may contain a password.
        repr=False,
        description="Give the path of an SQLite file, or postgresql://user:password@host/database.",
    )
    """The SQLite file, or `postgresql://user:password@host/database`. A relative path in the settings file starts
    at that file's folder. The default is `askback.db` in your state folder."""
    log_level: LogLevel = Field(default="INFO", description="Give DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    """The least severe log records to write: `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`."""
    log_format: Literal["text", "json"] = Field(default="text", description="Give text or json.")
    """The format of log lines. `json` writes one object per line."""
    mcp_tokens: SecretStr | None = Field(
        default=None, description="Give NAME:TOKEN for each agent, separated by commas."
    )
    """The tokens of `askback mcp --http`, each with the name of its agent. `--tokens` takes precedence."""
    server_token: SecretStr | None = Field(
        default=None, description="Give the token that the operator of the server made for you."
    )
    """The token for `askback ask --server`. `--token-file` takes precedence."""
    health: ListenAddress = Field(
        default=None, description="Give the HOST:PORT for /healthz and /readyz, such as 127.0.0.1:8080."
    )
    """The address (`HOST:PORT`) at which askback serves `/healthz` and `/readyz`. By default, it does not."""

    @property
    def folder(self) -> Path | None:
        """The settings file's folder, for importing the operator's tools; None if the file does not exist."""
        path = find_file()
        return path.parent if path is not None and path.exists() else None

    @classmethod
    def resolve_paths(cls, values: dict[str, object], folder: Path) -> dict[str, object]:
        url = values.get("database_url")
        return {**values, "database_url": resolve_url(url, folder)} if isinstance(url, str) else values

    @property
    def limits(self) -> Limits:
        """The limits on the number and pace of questions."""
        limits = Limits(pending_per_place=self.open_questions)
        return limits if self.question_pace is None else limits.evolve(seconds_between_asks=self.question_pace)

    @property
    def approvals(self) -> ApprovalRules:
        """The rules for approving tool calls."""
        return ApprovalRules(
            approvers=parse_approvers(self.approvers, list_bot_names()),
            quorum=self.approval_quorum,
            refusals=self.approval_refusals,
            reasons=self.approval_reasons,
            allow_self_approval=self.approval_own,
            allow_always=self.approval_always,
            timeout=self.approval_timeout,
            reminder_delays=self.approval_remind,
            escalate_after=self.approval_escalate_after,
            escalate_to=parse_approvers(self.approval_escalate_to, list_bot_names()),
        )

    @property
    def asked(self) -> Answerers:
        """The people who may answer the agent's questions."""
        for word in ANSWERER_KINDS:
            if self.answerers == (word,):
                return Answerers(kind=word)
        return Answerers(kind="given", by_platform=parse_approvers(self.answerers, list_bot_names()))

    @property
    def model_key(self) -> str:
        """The key for the model. Raises `OperatorError` if there is none."""
        if self.anthropic_api_key is None:
            raise OperatorError(
                "ANTHROPIC_API_KEY is missing. Create a key in the Anthropic console. (`askback demo` needs no key.)"
            )
        return self.anthropic_api_key.get_secret_value()

    @field_validator("approval_quorum", "approval_refusals")
    @classmethod
    def _check_vote_counts(cls, value: int, info: ValidationInfo) -> int:
        if value > 1 and info.data.get("approvers") == ():
            raise ValueError(f"is {value}, but `approvers` is empty: add approvers there")
        return value

    @field_validator("approval_remind")
    @classmethod
    def _check_reminder_delays(cls, value: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        timeout: float | None = info.data.get("approval_timeout")
        if any(not 0 < one <= LONGEST_WAIT or (timeout is not None and one >= timeout) for one in value):
            raise ValueError("has a time that is not before approval_timeout")
        return value

    @field_validator("approval_escalate_after")
    @classmethod
    def _check_escalation(cls, value: float | None, info: ValidationInfo) -> float | None:
        to, timeout = info.data.get("approval_escalate_to"), info.data.get("approval_timeout")
        if value is None and to:
            raise ValueError("is missing, since approval_escalate_to is set")
        if value is not None and to == ():
            raise ValueError("is set, but approval_escalate_to is empty: add people or groups there")
        if value is not None and timeout is not None and value >= timeout:
            raise ValueError("is not before approval_timeout")
        return value
