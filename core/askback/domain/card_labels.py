"""The labels of a card's buttons, in English. A platform translates them as it draws the card."""

from __future__ import annotations

__all__ = [
    "ANSWER_REST",
    "EDIT",
    "EVERYTHING",
    "EXPANDING",
    "NOT_NOW",
    "REMIND_ME",
    "SHOW_QUESTION",
    "SHOW_QUESTIONS",
    "UNDO_VOTE",
    "WITHDRAW",
]

from typing import Final

from askback.translations.catalogue import N_

NOT_NOW = N_("Not now…")
ANSWER_REST = N_("Answer the rest")
"""Label of the button that leads from a review to the first question without an answer."""
EDIT = N_("Edit…")
"""Label of the button with which an approver changes the arguments of a tool call."""
REMIND_ME = N_("Remind me…")
"""Label of the button with which a voter asks for a reminder of a decision of several people."""
UNDO_VOTE = N_("Undo my vote")
"""Label of the button with which a voter withdraws their own vote."""
WITHDRAW = N_("Withdraw request")
"""Label of the button with which the requester ends a decision of several people."""
EVERYTHING = N_("Show everything")
"""Label of the button that shows `Card.details`."""
SHOW_QUESTION = N_("Show question")
"""Label of the button that shows what a settled card leaves out."""
SHOW_QUESTIONS = N_("Show questions")
"""Label of that button on the card of a form with several questions."""
EXPANDING: Final = frozenset({EVERYTHING, SHOW_QUESTION, SHOW_QUESTIONS})
"""Labels of the buttons that only show more text. A card with no other control is settled, or waits for others."""
