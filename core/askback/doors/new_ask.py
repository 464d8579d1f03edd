"""A question that a caller wants to ask, and the errors that it may get."""

from __future__ import annotations

__all__ = ["KeyReused", "NewAsk", "StoppedWaiting", "hash_text", "parse_kind"]

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, get_args

from pydantic import JsonValue

from askback.domain.ask import Ask
from askback.domain.ask_policy import Policy
from askback.domain.form import Form
from askback.domain.identity import Place
from askback.domain.webhook import Webhook
from askback.doors.results import CallKind
from askback.errors import CallerError, OperatorError

ROW_BYTES: Final = 2000
"""About the number of bytes of a question in the database, besides its texts and its people."""
_KINDS: Final[tuple[CallKind, ...]] = get_args(CallKind)


class StoppedWaiting(OperatorError):
    """Raised if this process ends while a caller waits."""

    def __init__(self) -> None:
        super().__init__("askback stopped waiting for this question, which stays open.")


class KeyReused(CallerError):
    """Raised if a caller's key already names another question."""

    def __init__(self, key: str | None) -> None:
        super().__init__(
            f"The key {key!r} belongs to another question, or to this one before the operator changed who may answer "
            "it, or how. Nobody was asked: give each question a key of its own."
        )


@dataclass(frozen=True, slots=True)
class NewAsk:
    """A question that a caller wants to ask."""

    kind: CallKind
    form: Form
    place: Place
    build_policy: Callable[[], Policy]
    """Return the policy; its times count from the call."""
    who: JsonValue
    """The people who decide, as part of what identifies the question."""
    call: str | None = None
    """The caller's own id of the call, which is the same when the call is repeated."""
    is_key: bool = False
    """True if the caller chose the id of the call as a key, which never names two questions."""
    webhook: Webhook | None = None
    """An address that gets the outcome. The same question with another address is still the same question."""

    def compute_digest(self) -> str:
        """Return a digest of what is asked, where, and of whom."""
        parts = [self.kind, self.form.model_dump(mode="json"), self.place.key, self.who]
        return hash_text(json.dumps(parts, sort_keys=True))

    def count_bytes(self) -> int:
        """Return about the number of bytes that the question takes in the database."""
        parts = (self.form, self.build_policy())
        return ROW_BYTES + sum(len(part.model_dump_json().encode()) for part in parts)


def parse_kind(ask: Ask) -> CallKind | None:
    """Return the kind of the call that asked; None if no call of a door did."""
    parts = (ask.key or "").split(":")
    return next((kind for kind in _KINDS if len(parts) == 5 and parts[2] == kind), None)


def hash_text(text: str) -> str:
    """Return a digest of a text, as a part of a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
