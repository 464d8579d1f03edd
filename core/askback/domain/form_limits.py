"""Limits of a form: the maximum number of questions and options, and the maximum length of texts in characters.

They apply on every platform. The `limits.py` of each bot has the limits of one message, modal or menu. Longer content
continues in more messages or pages.
"""

from __future__ import annotations

__all__ = [
    "DEFAULT_ANSWER",
    "FIELD_ANSWER",
    "MAX_ANSWER",
    "MAX_DESCRIPTION",
    "MAX_DETAILS",
    "MAX_FORMAT",
    "MAX_HEADER",
    "MAX_HELP_TEXT",
    "MAX_ID",
    "MAX_IMAGE_URL",
    "MAX_LABEL",
    "MAX_NOTE",
    "MAX_NOTE_OPTIONS",
    "MAX_OPTIONS",
    "MAX_PICKED",
    "MAX_PICKED_ID",
    "MAX_PICKED_NAME",
    "MAX_PLACEHOLDER",
    "MAX_PREVIEW",
    "MAX_PROMPT",
    "MAX_QUESTIONS",
    "MAX_TITLE",
    "MAX_UNIT",
    "MAX_VALUE",
]

from typing import Final

MAX_QUESTIONS: Final = 20
MAX_OPTIONS: Final = 1000
"""Maximum number of options of a question. If a menu cannot hold them all, people search or page through them."""

MAX_PICKED: Final = 25
"""Maximum number of people or channels in one answer: Discord's limit, which is the lower one of the two platforms."""
MAX_PICKED_ID: Final = 64
MAX_PICKED_NAME: Final = 200
"""Maximum length of the name of a picked person or channel. The platforms' own limits are lower."""

MAX_PROMPT: Final = 10_000
MAX_HEADER: Final = 200
MAX_HELP_TEXT: Final = 1000
MAX_ID: Final = 200
MAX_TITLE: Final = 150
"""Maximum length of the title of a form in UTF-16 units: Slack's limit for a heading."""
MAX_DETAILS: Final = 1_000_000
"""Maximum length of the full text behind "Show everything"."""

MAX_LABEL: Final = 2000
MAX_VALUE: Final = 2000
MAX_DESCRIPTION: Final = 4000
MAX_PREVIEW: Final = 10_000
MAX_IMAGE_URL: Final = 3000
"""Maximum length of an image's address: Slack's limit, which is the lower one of the two platforms."""

MAX_PLACEHOLDER: Final = 150
"""Slack's limit for the hint in an empty text field."""
MAX_UNIT: Final = 30
"""Maximum length of the unit of a number, in UTF-16 units."""
MAX_FORMAT: Final = 30
"""Maximum length of the name of a format of JSON Schema, in UTF-16 units."""
DEFAULT_ANSWER: Final = 1000
"""Maximum length of a written answer if the question does not say it, from the design documents of the tools."""
MAX_ANSWER: Final = 4000
"""Maximum length of a written answer: that of Discord's text field, which is the longer one of the two platforms."""
FIELD_ANSWER: Final = 3000
"""Maximum length that the text field of every platform holds. A longer answer can also be a message."""
MAX_NOTE: Final = 1000
"""Maximum length of a note to a choice."""
MAX_NOTE_OPTIONS: Final = 25
"""Maximum number of options with a note: Discord's limit for the menu of a modal, which is the lower one."""
