"""The buttons of a card that mean the same operation on every platform. Bots use these names in the ids of buttons."""

from __future__ import annotations

__all__ = ["OPERATIONS"]

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from askback.domain.actions import (
    Back,
    Cancel,
    ClearText,
    Next,
    OpenDecline,
    OpenEdit,
    OpenFiles,
    OpenForm,
    OpenTextField,
    Operation,
    Review,
    ShowDetails,
    Submit,
    UndoVote,
)

OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType(
    {
        "write": OpenTextField(),
        "files": OpenFiles(),
        "form": OpenForm(),
        "edit": OpenEdit(),
        "erase": ClearText(),
        "next": Next(),
        "back": Back(),
        "review": Review(),
        "submit": Submit(),
        "cancel": Cancel(),
        "undo": UndoVote(),
        "postpone": OpenDecline(),
        "look": ShowDetails(),
    }
)
"""The operation of each button that needs no argument."""
