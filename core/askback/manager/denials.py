"""Limits how often a person reads, and the audit records, that they may not act: strangers can click endlessly."""

from __future__ import annotations

__all__ = ["NOTICE_SECONDS", "UNCERTAIN", "DenialThrottle", "describe_failure", "describe_unread", "reword"]

from askback.domain import late_answers as late
from askback.domain.actions import Action
from askback.domain.ask_policy import Denied
from askback.domain.click_response import Notice, Response
from askback.internal.throttle import Throttle
from askback.ports.membership import Resolved
from askback.store.errors import StoreError
from askback.translations.catalogue import N_, _, translate_reason

NOTICE_SECONDS = 30.0
"""Seconds between two notices to a person who may not act on a question, however often they click."""
AUDITED_AGAIN_SECONDS = 3600.0
"""Seconds between two audit entries about such clicks."""
UNREAD_GROUPS = N_(
    "I could not look up just now whether you may decide here, so your click changed nothing. "
    "Please try again in a moment."
)
UNREADABLE_GROUPS = N_("It cannot be looked up whether you may decide here, so your click changed nothing.")
NOT_SAVED = N_("I could not save that just now, so it does not count. Please try again in a moment.")
UNCERTAIN = N_(
    "I am not certain that this was saved. Please check the card in a moment, and try again if it did not change."
)
MEMBERS_ONLY: frozenset[Denied] = frozenset({"not_asked", "not_admitted", "not_taking_part"})
"""Denials that may change once the members of a group are known."""

_Denial = tuple[str, str, str, Denied]
"""Ask, platform, person, and reason."""


def describe_failure(error: Exception) -> str:
    """Return the notice to a person whose click failed: not saved, or uncertain."""
    return _(NOT_SAVED if isinstance(error, StoreError) and not error.in_doubt else UNCERTAIN)


def describe_unread(sender: Resolved) -> str | None:
    """Return the notice to a person who may be a member of a group that could not be read. None if all were read."""
    if sender.unreadable:
        return " ".join((_(UNREADABLE_GROUPS), *map(translate_reason, sender.unreadable)))
    return _(UNREAD_GROUPS) if sender.unread else None


def reword(response: Response, unread: str | None) -> Response:
    """Return the response; for a person who may be a member of a group that could not be read, with the text `unread`.

    They do not read that the question is for others.
    """
    if unread is None or not isinstance(response, Notice) or response.denied not in MEMBERS_ONLY:
        return response
    return response.evolve(text=unread)


class DenialThrottle:
    """Remembers lately given denials. It never changes a decision."""

    def __init__(self, interval: float = NOTICE_SECONDS) -> None:
        self._notices: Throttle[_Denial] = Throttle(interval)
        self._audited: Throttle[_Denial] = Throttle(AUDITED_AGAIN_SECONDS)

    def is_audited(self, action: Action, response: Response) -> bool:
        """Return True if the audit records the response. It records a denial once an hour."""
        denial = _to_denial(action, response)
        return denial is None or not self._audited.is_recent(denial)

    def limit(self, action: Action, response: Response, *, unread: str | None) -> Response:
        """Return the response, marked if this person has received the same denial lately.

        `unread` is the text if a group could not be read; see `reword`.
        """
        denial = _to_denial(action, response)
        if denial is None or not isinstance(response, Notice):
            return response
        self._audited.try_allow(denial)
        # A person gets their own text back each time.
        if not self._notices.try_allow(denial) and not late.get_text(action):
            response = response.evolve(is_repeated=True)
        return reword(response, unread)


def _to_denial(action: Action, response: Response) -> _Denial | None:
    if not isinstance(response, Notice) or response.denied is None:
        return None
    return action.ask_id, action.actor.platform, action.actor.id, response.denied
