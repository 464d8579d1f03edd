"""The types of settings. Each reads a value as operators write it, in the environment or in the file.

Their errors continue the name of the setting, and never contain the value.
"""

from __future__ import annotations

__all__ = [
    "AnswererList", "ApproverList", "DurationList", "LanguageName", "ListenAddress", "LogLevel", "Pace", "PatternList",
    "Retention", "RunTime", "TimeLimit", "TokenCount", "ToolList",
]  # fmt: skip

from typing import Annotated, Final, cast

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

from askback.agent.audience import ANSWERER_KINDS
from askback.agent.compaction import LEAST
from askback.domain.ask_policy import LONGEST_WAIT
from askback.ports.installed_bots import list_bot_names
from askback.settings.address import check_address
from askback.settings.approvers import parse_approver
from askback.settings.durations import is_never, parse_duration
from askback.tools import TOOLS, is_import_path
from askback.translations.catalogue import Language, normalize_language


def _replace_never(value: object) -> object:
    """Return None for "never". Raises `ValueError` for a bool, which pydantic would accept as a number."""
    if isinstance(value, bool):
        raise ValueError("is not a number")
    return None if is_never(value) else value


def _parse_duration(value: object) -> object:
    value = _replace_never(value)
    return parse_duration(value) if isinstance(value, str) else value


def _parse_list(value: object) -> tuple[str, ...] | None:
    """Return the entries of a list, or of a text with commas, without duplicates. None means that it is neither."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, (list, tuple)):
        return None
    entries = (str(entry).strip() for entry in cast("list[object]", value))
    return tuple(dict.fromkeys(entry for entry in entries if entry))


def _parse_tools(value: object) -> object:
    names = _parse_list(value)
    if names is None:
        return value
    unknown = [name for name in names if name not in TOOLS and not is_import_path(name)]
    if unknown or not names:
        raise ValueError(f"names {', '.join(unknown) or 'no tool'}, but the tools are {', '.join(TOOLS)}")
    return names


def _parse_patterns(value: object) -> object:
    entries = _parse_list(value)
    if entries == ():
        raise ValueError("names no tool: fill it in, or leave it out")
    return value if entries is None else entries


def _parse_approvers(value: object) -> object:
    entries = _parse_list(value)
    if entries is None:
        return value
    if not entries:
        raise ValueError("names nobody: fill it in, or leave it out")
    for number, entry in enumerate(entries, 1):
        try:
            parse_approver(entry, list_bot_names())
        except ValueError as error:
            raise ValueError(f"has an entry (number {number}) that {error}") from None
    return entries


def _parse_answerers(value: object) -> object:
    entries = _parse_list(value)
    if entries is not None and len(entries) == 1 and entries[0].lower() in ANSWERER_KINDS:
        return (entries[0].lower(),)
    return _parse_approvers(value)


def _parse_durations(value: object) -> object:
    entries = _parse_list((value,) if isinstance(value, int | float) and not isinstance(value, bool) else value)
    return value if entries is None else tuple(map(parse_duration, entries))


def _check_log_level(value: str) -> str:
    level = value.strip().upper()
    if level not in {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}:
        raise ValueError("is not a log level")
    return level


_DURATION: Final = BeforeValidator(_parse_duration)

RunTime = Annotated[float, Field(gt=0, le=LONGEST_WAIT, allow_inf_nan=False), _DURATION]
"""Seconds, or a duration such as "90s"."""
TimeLimit = Annotated[float | None, Field(gt=0, le=LONGEST_WAIT, allow_inf_nan=False), _DURATION]
"""A duration, or "never" for no limit."""
Pace = Annotated[float | None, Field(ge=0, le=LONGEST_WAIT, allow_inf_nan=False), _DURATION]
"""The time between two things, which may be 0."""
Retention = Annotated[float | None, Field(ge=3600, le=LONGEST_WAIT, allow_inf_nan=False), _DURATION]
"""A duration of at least an hour, or "never"."""
DurationList = Annotated[tuple[float, ...], NoDecode, BeforeValidator(_parse_durations)]
"""One duration, or several."""
TokenCount = Annotated[int | None, Field(ge=LEAST), BeforeValidator(_replace_never)]
"""The number of tokens at which a conversation is compacted, or "never"."""
ToolList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parse_tools)]
"""Question tools by name, and import paths of the operator's own tools."""
PatternList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parse_patterns)]
"""Names of tools, or patterns such as `db_*`."""
ApproverList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parse_approvers)]
"""Ids of people, user groups and roles, each after its platform."""
AnswererList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parse_answerers)]
"""One of `ANSWERER_KINDS`, or a list as for approvers."""
LanguageName = Annotated[Language | None, BeforeValidator(normalize_language)]
ListenAddress = Annotated[str | None, AfterValidator(check_address)]
"""`HOST:PORT`, or a port alone."""
LogLevel = Annotated[str, AfterValidator(_check_log_level)]
