"""The caller's function that stores a run before people are asked, for the frameworks that do not store it themselves.

A program that is asynchronous has often only asynchronous code for its database, so the function may be that, too.
"""

from __future__ import annotations

__all__ = ["Save", "save_run"]

import inspect
from collections.abc import Awaitable, Callable

Save = Callable[[str, str], Awaitable[None] | None]
"""Stores a text for the id of a conversation."""


async def save_run(save: Save, conversation: str, text: str) -> None:
    """Store a run, and return once it is stored. Raises the errors of the function."""
    storing = save(conversation, text)
    if inspect.isawaitable(storing):
        await storing
