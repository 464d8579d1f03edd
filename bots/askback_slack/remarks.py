"""Sentences of the bot's own: to those who are meant, and with the time until which something holds."""

from __future__ import annotations

__all__ = ["Remark", "private", "remark"]

from dataclasses import dataclass

from askback.domain.conversation import Say
from askback_slack.blocks import Block, date, link, rich_text, runs, section, text
from askback_slack.parts import listed
from askback_slack.texts import escape, literal


@dataclass(frozen=True, slots=True)
class Remark:
    """One message."""

    text: str
    blocks: tuple[Block, ...]
    """None, where the text says all."""


def private(words: str) -> Remark:
    """A sentence for one person alone. In blocks, since Slack reads the text of such a message as mark-up."""
    return Remark(text=escape(literal(words)), blocks=(rich_text([section(runs(words))]),))


def remark(say: Say) -> Remark:
    """The message of a sentence."""
    words = escape(literal(say.text))
    if say.mention is None and say.until is None and say.link is None:
        return Remark(text=words, blocks=())
    line: list[Block] = [] if say.mention is None else [*listed(say.mention), text(" ")]
    line += runs(say.text)
    if say.until is not None:
        line += [text("  ·  until "), date(say.until)]
        words += f" (until {say.until:%Y-%m-%d %H:%M} {say.until:%Z})"
    if say.link is not None:
        line += [text(" "), link(say.link, "Go to the question")]
        words += f" {escape(literal(say.link))}"
    return Remark(text=words, blocks=(rich_text([section(line)]),))
