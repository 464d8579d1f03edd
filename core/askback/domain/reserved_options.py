"""Options that askback itself adds to a question. No question of a program or a model may use their values."""

from __future__ import annotations

__all__ = ["NONE_OF_THESE", "NONE_OPTION", "NO_ANSWER", "NO_ANSWER_OPTION", "RESERVED"]

from typing import Final

from askback.domain.form import Option

NO_ANSWER: Final = "askback:no-answer"
"""Value of the option that leaves an optional question without an answer."""
NONE_OF_THESE: Final = "askback:none-of-these"
"""Value of the option that chooses none of the others."""
NO_ANSWER_OPTION: Final = Option(value=NO_ANSWER, label="(no answer)")
NONE_OPTION: Final = Option(value=NONE_OF_THESE, label="(none of these)")
RESERVED: Final = frozenset({NO_ANSWER, NONE_OF_THESE})
