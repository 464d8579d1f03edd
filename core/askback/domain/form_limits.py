"""Limits of a form: how many questions and options it holds, and how long its texts may be, in characters.

They hold on every platform. `limits.py` of each bot has what fits into one message, modal or menu there; what is longer
goes to further messages or pages.
"""

from __future__ import annotations

__all__ = [
    "MAX_ANSWER",
    "MAX_DESCRIPTION",
    "MAX_DETAILS",
    "MAX_HEADER",
    "MAX_ID",
    "MAX_IMAGE_URL",
    "MAX_LABEL",
    "MAX_OPTIONS",
    "MAX_PLACEHOLDER",
    "MAX_PREVIEW",
    "MAX_PROMPT",
    "MAX_QUESTIONS",
    "MAX_VALUE",
]

from typing import Final

MAX_QUESTIONS: Final = 20
MAX_OPTIONS: Final = 1000
"""Options of one question. More than a menu holds are found by a search or on pages."""

MAX_PROMPT: Final = 10_000
MAX_HEADER: Final = 200
MAX_ID: Final = 200
MAX_DETAILS: Final = 1_000_000
"""The whole text behind "Show everything"."""

MAX_LABEL: Final = 2000
MAX_VALUE: Final = 2000
MAX_DESCRIPTION: Final = 4000
MAX_PREVIEW: Final = 10_000
MAX_IMAGE_URL: Final = 3000
"""Slack's limit for the address of an image, which is the smaller one of both platforms."""

MAX_PLACEHOLDER: Final = 150
"""Slack's limit for the hint in an empty text field."""
MAX_ANSWER: Final = 1000
"""A written answer, as the design documents set it."""
