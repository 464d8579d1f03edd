"""Discord's Markdown as people read it: the words without the marks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from askback_sandbox.play.moments import moment, since

__all__ = ["Names", "read"]

Names = Mapping[str, str]
"""The drawn names for the ids of people, roles and channels: @ada, @release, #general."""

_INSIDE = r"(?:\\[\s\S]|[^\\])+?"
_FENCE = re.compile(r"```(?:[a-z0-9_+\-.#]+\n)?\n?([\s\S]*?)\n?```", re.IGNORECASE)
_LINE = re.compile(
    r"^(?P<small>-#\s+)|^(?P<heading>#{1,3}\s+)|^(?P<quote>>(?:>>)?\s)|^(?P<list>\s*[-*]\s+)", re.MULTILINE
)
_QUOTED, _LISTED = "  ", "• "
_INLINE = re.compile(
    rf"\\(?P<escaped>[^0-9A-Za-z\s])"
    rf"|(?P<ticks>`+)(?P<code>[\s\S]*?[^`])(?P=ticks)(?!`)"
    rf"|<t:(?P<time>-?\d{{1,17}})(?::(?P<style>[tTdDfFsSR]))?>"
    rf"|<(?:@[!&]?|\#)(?P<id>\d+)>"
    rf"|<a?(?P<emoji>:\w+:)\d+>"
    rf"|<(?P<address>https?://[^ >]+)>"
    rf"|\[(?P<link>(?:\\[\s\S]|[^\]\\])+)\]\(\s*<?https?:[^)]*\)"
    rf"|\*\*(?P<bold>{_INSIDE})\*\*(?!\*)"
    rf"|__(?P<under>{_INSIDE})__(?!_)"
    rf"|~~(?P<strike>{_INSIDE})~~"
    rf"|\|\|(?P<spoiler>{_INSIDE})\|\|"
    rf"|\*(?=\S)(?P<slanted>(?:\\[\s\S]|\*\*|[^*\\])+?)(?<!\s)\*(?!\*)"
    rf"|(?<!\w)_(?P<italic>(?:__|\\[\s\S]|[^_\\])+?)_(?!\w)"
)
_MARKED = ("bold", "under", "strike", "spoiler", "slanted", "italic", "link")


def read(markdown: str, names: Names) -> str:
    """Return the text as it is drawn; quotations are indented, and mentions become names."""
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(markdown):
        if _escaped(markdown, fence.start()):
            continue
        parts += [_lines(markdown[end : fence.start()], names), fence[1]]
        end = fence.end()
    return "".join([*parts, _lines(markdown[end:], names)])


def _escaped(text: str, at: int) -> bool:
    before = text[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _lines(text: str, names: Names) -> str:
    def marked(found: re.Match[str]) -> str:
        if found["quote"] is not None:
            return _QUOTED
        return _LISTED if found["list"] is not None else ""

    return _words(_LINE.sub(marked, text), names)


def _format_time(seconds: int, style: str | None) -> str:
    """Return a time as its style draws it: the time since or until it, a date, a time of the day, or both."""
    if style == "R":
        return since(seconds)
    date, _space, time = moment(seconds).partition(" ")
    return {"d": date, "t": time}.get(style or "", f"{date} {time}")


def _words(text: str, names: Names) -> str:
    def plain(found: re.Match[str]) -> str:
        if found["escaped"] is not None:
            return found["escaped"]
        if found["code"] is not None:
            return found["code"].strip()
        if found["time"] is not None:
            return _format_time(int(found["time"]), found["style"])
        if found["id"] is not None:
            return names.get(found["id"], found[0])
        for verbatim in ("emoji", "address"):
            if found[verbatim] is not None:
                return found[verbatim]
        return next((_words(found[mark], names) for mark in _MARKED if found[mark] is not None), found[0])

    return _INLINE.sub(plain, text)
