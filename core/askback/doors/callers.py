"""The callers of `askback serve`: each has a token, and the operator's rules for it."""

from __future__ import annotations

__all__ = ["Caller", "Callers", "Scope", "read_callers"]

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from askback.agent.approvals import ApprovalRules
from askback.client.parameter_names import PYTHON
from askback.domain.ask_policy import LONGEST_WAIT
from askback.doors.rules import DoorRules
from askback.doors.tokens import Tokens, hash_token
from askback.doors.webhook_rules import WebhookRules, read_webhook_rules
from askback.errors import CallerError, OperatorError, Problem, to_problems
from askback.settings.durations import is_never, parse_duration
from askback.translations.catalogue import Language, normalize_language

Scope = Literal["ask", "cancel", "permit"]
"""A right of a caller. Every caller may also read its own questions. `permit` is for approvals of tool calls."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
MAX_CALLERS: Final = 1000
MAX_SECRETS: Final = 3
"""Maximum number of secrets that sign a webhook. A second one lets receivers change theirs without a gap."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A program that may ask people."""

    name: str
    digest: bytes
    """The digest of its token."""
    rules: DoorRules
    scopes: frozenset[Scope]
    webhooks: WebhookRules | None = field(default=None, compare=False)
    """None if it may name no webhook. Two callers are equal without it, so that a new secret ends no request."""


@dataclass(frozen=True)
class Callers:
    """All callers, by their names."""

    by_name: Mapping[str, Caller]

    def find(self, token: str) -> Caller | None:
        """Return the caller with this token; None if none has."""
        name = self._tokens.find_principal(token)
        return None if name is None else self.by_name[name]

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens({name: caller.digest for name, caller in self.by_name.items()})


def _read_seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _read_forever(value: object) -> object:
    return None if is_never(value) else value


def _read_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


_Seconds = Annotated[float, BeforeValidator(_read_seconds), Field(gt=0, le=LONGEST_WAIT, allow_inf_nan=False)]
_Names = Annotated[tuple[str, ...], BeforeValidator(_read_list), Field(max_length=100)]


class _Entry(BaseModel):
    """One table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: SecretStr | None = None
    token_sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    to: _Names = Field(min_length=1)
    who: _Names = ()
    scopes: tuple[Scope, ...] = ("ask", "cancel")
    approvers: _Names = ()
    requested_by: _Names = ()
    own: bool | None = None
    edit: _Names = ()
    language: Annotated[Language | None, BeforeValidator(normalize_language)] = None
    wait: Annotated[_Seconds | None, BeforeValidator(_read_forever)] = None
    remind: Annotated[tuple[_Seconds, ...], BeforeValidator(_read_list)] = ()
    escalate: dict[_Seconds, _Names] = Field(default_factory=dict[float, tuple[str, ...]])
    webhooks: _Names = ()
    webhook_networks: _Names = ()
    webhook_secret: Annotated[tuple[SecretStr, ...], BeforeValidator(_read_list), Field(max_length=MAX_SECRETS)] = ()

    def get_digest(self, name: str, source: str) -> bytes:
        if (self.token is None) == (self.token_sha256 is None):
            raise OperatorError(f"[{name}] in {source} needs either token or token_sha256, and not both.")
        if self.token_sha256 is not None:
            return bytes.fromhex(self.token_sha256)
        assert self.token is not None
        return hash_token(self.token.get_secret_value(), name, source)

    def build_rules(self, approvals: ApprovalRules) -> DoorRules:
        own = approvals.allow_self_approval if self.own is None else self.own
        return DoorRules(
            places=self.to,
            answerers=self.who,
            approvers=self.approvers,
            requesters=self.requested_by,
            editable=self.edit,
            wait=self.wait,
            remind=self.remind,
            escalate=self.escalate,
            language=self.language,
            approvals=replace(approvals, allow_self_approval=own),
            terms=PYTHON,
        )

    def read_webhooks(self, name: str, source: str) -> WebhookRules | None:
        secrets = [secret.get_secret_value() for secret in self.webhook_secret]
        return read_webhook_rules(self.webhooks, self.webhook_networks, secrets, f"[{name}] in {source}")


def read_callers(text: str, source: str, approvals: ApprovalRules) -> Callers:
    """Read the callers from TOML with a table for each. Raises `OperatorError`, which shows no token."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OperatorError(f"{source} is not TOML: {error}. Correct it.") from None
    if not tables:
        raise OperatorError(
            f'{source} names no caller: add a table such as [deploys] with token = "…", to = "PLATFORM:#deploys" and '
            'who = "@release". '
            "Make a token with: openssl rand -hex 24"
        )
    if len(tables) > MAX_CALLERS:
        raise OperatorError(f"{source} has more than {MAX_CALLERS:,} callers: split them over several servers.")
    callers: dict[str, Caller] = {}
    for name, table in tables.items():
        entry = _read_entry(name, table, source)
        digest = entry.get_digest(name, source)
        if any(digest == other.digest for other in callers.values()):
            raise OperatorError(f"[{name}] in {source} has the token of another caller: give each its own.")
        rules = entry.build_rules(approvals)
        try:
            rules.check()
        except CallerError as error:
            raise OperatorError(f"[{name}] in {source}: {error}") from None
        webhooks = entry.read_webhooks(name, source)
        callers[name] = Caller(name, digest, rules, frozenset(entry.scopes), webhooks)
    return Callers(callers)


def _describe(problem: Problem) -> str:
    known = _Entry.model_fields
    if "." in problem.field or "[" in problem.field or problem.field in known or not problem.field:
        return f"{problem.field or 'it'} {problem.message}"
    # A misspelt name must not be left out: it may be a rule.
    near = difflib.get_close_matches(problem.field, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known)}"
    return f"{problem.field} is an unknown field ({hint})"


def _read_entry(name: str, table: object, source: str) -> _Entry:
    if not NAME.fullmatch(name):
        raise OperatorError(
            f"[{name[:60]!r}] in {source} is not a name: use letters, digits, dots, dashes and underscores."
        )
    try:
        return _Entry.model_validate(table)
    except ValidationError as error:
        # A token in the wrong type must not appear in the error.
        problems = "; ".join(map(_describe, to_problems(error)[:10]))
        scopes = f" Scopes are {', '.join(get_args(Scope))}." if "scopes" in problems else ""
        raise OperatorError(f"[{name}] in {source} is wrong: {problems}.{scopes}") from None
