"""A request of another program without a form, which people accept or decline."""

from __future__ import annotations

__all__ = ["build_confirmation"]

from typing import Final

from askback.domain.ask_policy import Approval
from askback.domain.form import Form
from askback.doors.results import CallKind
from askback.doors.tool_inputs import AskInput, build_question

ACCEPT: Final = "Accept"
DECLINE: Final = "Decline"


def build_confirmation(message: str) -> tuple[CallKind, Form, Approval | None]:
    """Return a question with which people accept or decline what a program says.

    Raises `CallerError` if people cannot read the message.
    """
    return build_question(AskInput.model_validate({"question": message, "options": [ACCEPT, DECLINE]}))
