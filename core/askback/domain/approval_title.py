"""The title of an approval: a template of the tool's author, filled in with the arguments of the call. No I/O."""

from __future__ import annotations

__all__ = ["MISSING", "find_template_problem", "format_title"]

import json
from collections.abc import Collection, Iterator, Mapping
from string import Formatter
from typing import Final

from pydantic import JsonValue

from askback.text.literal import fit_line, quote_line
from askback.text.unseen import escape_unseen, has_visible_text
from askback.translations.catalogue import N_, _

LONGEST_TEMPLATE: Final = 150
"""Maximum number of characters of a template, so that the title stays one line with short arguments."""
LONGEST_ARGUMENT: Final = 60
"""Maximum number of UTF-16 units of an argument in the title. The card shows all of it below."""
MISSING: Final = N_("(not given)")


def find_template_problem(template: str, parameters: Collection[str]) -> str | None:
    """Return what is wrong with a template, in words for the tool's author. None means that it can be used.

    Only names of parameters are allowed in braces. Attributes and indexes would run code of the arguments' types.
    """
    if not has_visible_text(template) or not template.isprintable():
        return "is empty, or has a line break or another unprintable character. Write one line."
    if len(template) > LONGEST_TEMPLATE:
        return f"has {len(template)} characters. Shorten it to {LONGEST_TEMPLATE}."
    try:
        names = [*_list_names(template)]
    except ValueError as error:
        return f"is not a template ({error}). Write a brace that is none of its own twice, like {{{{."
    for name in names:
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            return f"contains {{{name}}}, which is not a parameter of the tool. Its parameters are: {known}."
    return None


def format_title(template: str, data: JsonValue) -> str:
    """Return the title for the arguments of a call.

    Texts have quotation marks that no text in them can end, so that an argument cannot continue the sentence.
    """
    given: Mapping[str, JsonValue] = data if isinstance(data, dict) else {}
    parts: list[str] = []
    for words, name, _style, _conversion in Formatter().parse(template):
        parts.append(words)
        if name is not None:
            parts.append(_format_argument(given[name]) if name in given else _(MISSING))
    return "".join(parts)


def _list_names(template: str) -> Iterator[str]:
    for _words, name, style, conversion in Formatter().parse(template):
        if name is None:
            continue
        if style or conversion:
            raise ValueError(f"{{{name}}} has a format or a conversion, which is not possible")
        yield name


def _format_argument(value: JsonValue) -> str:
    if isinstance(value, str):
        return quote_line(escape_unseen(value), LONGEST_ARGUMENT)
    text = escape_unseen(json.dumps(value, ensure_ascii=False))
    # A number, true, false and null need no quotation marks. A list or an object could hold any words.
    return quote_line(text, LONGEST_ARGUMENT) if isinstance(value, dict | list) else fit_line(text, LONGEST_ARGUMENT)
