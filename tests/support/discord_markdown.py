"""A small parser of Discord's Markdown, for tests: the text that people see, and its formats.

It follows Khan's simple-markdown, which Discord's clients use, and the known rules of Discord's own. If clients
differ, it finds more formats than either: it tries each rule at every character, not only at the end of a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Node:
    kind: str
    """`plain` for text without any format."""
    text: str = ""
    children: list[Node] = field(default_factory=list)


_INLINE = {
    "bold": re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)"),
    "underline": re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)"),
    "italics": re.compile(r"\*(?=\S)((?:\\[\s\S]|\*\*|[^*\\])+?)(?<!\s)\*(?!\*)|_((?:__|\\[\s\S]|[^\\_])+?)_"),
    "strike": re.compile(r"~~([\s\S]+?)~~"),
    "spoiler": re.compile(r"\|\|([\s\S]+?)\|\|"),
}
_VERBATIM = {
    "block of code": re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```", re.IGNORECASE),
    "code": re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)"),
}
_OTHER = {
    "link": re.compile(r"\[((?:\\[\s\S]|[^\]\\])*)\]\(\s*<?[a-z]+:[^)]*\)", re.IGNORECASE),
    "time": re.compile(r"<t:-?\d{1,17}(?::[tTdDfFsSR])?>"),
    "address": re.compile(r"<[a-z]+:[^ >]+>|(?:https?|discord)://[^\s<]+[^<.,:;\"'\]\s]", re.IGNORECASE),
    "mention": re.compile(r"<@[!&]?\d+>|<#\d+>|</[^<>\n]+:\d+>|<id:[^>\n]+>|@everyone|@here"),
    "custom emoji": re.compile(r"<a?:\w+:\d+>"),
    "emoji": re.compile(r":[^\s:]+?(?:::skin-tone-\d)?:"),
    "shrug": re.compile(r"¯\\_\(ツ\)_/¯"),
}
_LINES = {
    "quotation": re.compile(r" *>>> ([\s\S]*)|( *> [^\n]*(?:\n *> [^\n]*)*\n?)"),
    "heading": re.compile(r" *#{1,3} +(?!#)([^\n]+)"),
    "small": re.compile(r" *-# +(?!-#)([^\n]+)"),
    "list": re.compile(r" *(?:[+*-]|\d+\.) +([^\n]+)"),
}
_NOTHING = re.compile(r"(?:[^\\*_~|`\[<:@¯hd\n]|h(?!ttps?://)|d(?!iscord://))+", re.IGNORECASE)
"""Text in which no rule begins, except those of lines."""
_ESCAPE = re.compile(r"\\([^0-9A-Za-z\s])")
_FIRST = {
    "bold": "*", "underline": "_", "italics": "*_", "strike": "~", "spoiler": "|", "block of code": "`", "code": "`",
    "link": "[", "time": "<", "address": "<hdHD", "mention": "<@", "custom emoji": "<", "emoji": ":", "shrug": "¯",
}  # fmt: skip
"""The characters with which the rules begin, except those of lines. Trying every rule at each would take seconds."""


def read(source: str, *, quoted: bool = False, starts: bool = True) -> list[Node]:
    """Parse a text into nodes."""
    nodes: list[Node] = []
    at = 0
    while at < len(source):
        end, node = _next(source, at, quoted, starts)
        at = end
        if node.kind == "plain" and nodes and nodes[-1].kind == "plain":
            nodes[-1].text += node.text
        else:
            nodes.append(node)
        if node.kind != "plain":
            starts = source[at - 1] == "\n"
        elif node.text == "\n" or (starts and node.text == " "):
            starts = True
        else:
            starts = False
    return nodes


def seen(nodes: list[Node]) -> str:
    """Return the words that people see."""
    return "".join(node.text + seen(node.children) for node in nodes)


def formats(nodes: list[Node]) -> Iterator[str]:
    """Yield the kinds of formats at every depth, except plain text."""
    for node in nodes:
        if node.kind != "plain":
            yield node.kind
        yield from formats(node.children)


def _next(source: str, at: int, quoted: bool, starts: bool) -> tuple[int, Node]:
    if not starts and (match := _NOTHING.match(source, at)):
        return match.end(), Node("plain", match[0])
    first = source[at]
    if first == "\\" and (match := _ESCAPE.match(source, at)):
        return match.end(), Node("plain", match[1])
    if starts:
        for kind, rule in _LINES.items():
            match = rule.match(source, at)
            if match is None or (kind == "quotation" and quoted):
                continue
            inside = match[1] or ""
            if kind == "quotation" and match[1] is None:
                inside = re.sub(r"(?m)^ *> ?", "", match[2])
            return match.end(), Node(kind, "", read(inside, quoted=quoted or kind == "quotation"))
    for kind, rule in _VERBATIM.items():
        if first in _FIRST[kind] and (match := rule.match(source, at)):
            return match.end(), Node(kind, match[2])
    for kind, rule in _OTHER.items():
        if first in _FIRST[kind] and (match := rule.match(source, at)):
            return match.end(), Node(kind, match[0])
    found = [
        (match.end(), kind, match)
        for kind, rule in _INLINE.items()
        if first in _FIRST[kind] and (match := rule.match(source, at))
    ]
    if found:
        _, kind, match = max(found, key=lambda entry: entry[0])
        inside = next(group for group in match.groups() if group is not None)
        return match.end(), Node(kind, "", read(inside, quoted=quoted, starts=starts))
    return at + 1, Node("plain", first)
