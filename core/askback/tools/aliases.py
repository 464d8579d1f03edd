"""Other names under which models send the fields of options and questions, the same for every tool."""

from __future__ import annotations

__all__ = ["CHOICES", "DESCRIPTION", "HEADER", "LABEL", "PROMPT", "SEVERAL"]

from typing import Final

LABEL: Final = ("title", "name", "text", "value", "id")
"""Of an option's label. A value or an id is used only if there is no other text."""
DESCRIPTION: Final = ("desc", "detail", "explanation")
PROMPT: Final = ("question", "prompt", "text")
HEADER: Final = ("header", "label", "title")
CHOICES: Final = ("choices", "answers")
"""Of a question's options."""
SEVERAL: Final = ("multiple", "multi", "allowMultiple")
"""Of `multiSelect`."""
