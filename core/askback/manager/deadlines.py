"""Applies what is due for an ask: reminders, escalations and its deadline."""

from __future__ import annotations

__all__ = ["Deadlines"]

from askback.domain import schedule
from askback.manager.access_control import AccessControl
from askback.store.store import Store


class Deadlines:
    """Applies what is due for an ask, by the clock of the database."""

    def __init__(self, store: Store, access: AccessControl) -> None:
        self._store = store
        self._access = access

    async def apply(self, ask_id: str) -> bool:
        """Remind people, ask further ones, or end the ask, if that is due. Return True if the ask ended."""
        ask = await self._store.get(ask_id)
        if ask is None:
            return False
        groups = schedule.find_groups_to_resolve(ask, await self._store.get_current_time())
        listed = await self._access.list_members(ask.place, groups)
        members = {name: group.people for name, group in listed.items() if group.is_complete}
        return (await self._store.run_due(ask_id, lambda ask, now: schedule.apply_due(ask, now, members))).settled
