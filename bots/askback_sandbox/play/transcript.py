"""A conversation as people saw it, in plain text, from data that was read back from the services."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from askback_sandbox.model.call_results import DeliveredCall

from .scene import Dialog, Key, Message, Scene

__all__ = ["Transcript"]

_WIDTH = 96


class Transcript:
    """Prints each message once, and a card again when it has changed."""

    def __init__(self, out: Callable[[str], None]) -> None:
        self._out = out
        self._shown: dict[Key, str] = {}
        self._cards: set[Key] = set()
        self._heard: set[tuple[str, str]] = set()
        self._dialogs: dict[str, Dialog] = {}
        self._place = ""

    def title(self, platform: str, text: str) -> None:
        head = f"── {platform} ── {text} "
        self._out(head + "─" * max(2, _WIDTH - len(head)))

    def end(self, text: str) -> None:
        self._out(f"\n✓ {text}")

    def did(self, text: str) -> None:
        """Print an act of a person, because the state shows only its consequences."""
        self._out(f"    » {text}")

    def printed(self, text: str) -> None:
        """Print the outcome that a program printed."""
        self._out(f"    → the program printed: {text}")

    def skip(self, scene: Scene) -> None:
        """Mark existing messages as shown, because they are not part of this conversation."""
        for message in scene.messages:
            self._shown[message.key] = "\n".join(_lines(message))

    def show(self, scene: Scene, heard: Sequence[DeliveredCall] = (), *, last: bool = False) -> None:
        """Print everything new: changed messages, then the model's tool results, then new messages and dialogs.

        The bot's last text may still grow, so it is printed when another message follows it, or if `last` is set.
        """
        news: list[tuple[Message, bool]] = []
        newest = {(message.channel, message.root): message.key for message in scene.messages if not message.only_for}
        for message in scene.messages:
            text, known = "\n".join(_lines(message)), self._shown.get(message.key)
            growing = message.bot and not message.card and newest.get((message.channel, message.root)) == message.key
            if text != known and not message.unfinished and (last or not growing or message.key in self._cards):
                self._shown[message.key] = text
                news.append((message, known is not None))
        for message, again in news:
            if again:
                self._message(message, scene, again=True)
        self._told(heard)
        for message, again in news:
            if not again:
                self._message(message, scene, again=False)
        for dialog in scene.dialogs:
            self._dialog(dialog, scene)
        open_ones = {dialog.id for dialog in scene.dialogs}
        self._dialogs = {known: dialog for known, dialog in self._dialogs.items() if known in open_ones}

    def _told(self, calls: Sequence[DeliveredCall]) -> None:
        for call in calls:
            for result in call.results:
                if (call.id, result.text) not in self._heard:
                    self._heard.add((call.id, result.text))
                    head = f"    → the model was told{' (as an error)' if result.error else ''}: "
                    self._out(head + result.text.replace("\n", "\n      "))

    def _message(self, message: Message, scene: Scene, *, again: bool) -> None:
        channel = scene.channel(message.channel)
        opens = not message.bot and message.begins and channel.kind != "dm"
        if not again and (opens or channel.id != self._place):
            self._place = channel.id
            head = f"#{channel.name}" if channel.kind == "channel" else f"direct message with {channel.name}"
            self._out(f"\n{head}")
        who = scene.bot if message.bot else message.author
        note = f" (only {scene.name(message.only_for)} sees this)" if message.only_for else ""
        if message.card:
            self._cards.add(message.key)
        lines = _lines(message)
        if message.key not in self._cards:
            body = textwrap.indent("\n".join(lines), " " * (len(who) + 6)).strip()
            self._out(f"  {who} ▸{note} {body}")
            return
        head = f"  ╭─ {who}{note}{' ─ now' if again else ''} "
        self._out(head + "─" * max(2, _WIDTH - len(head)))
        for line in lines:
            indent = line[: len(line) - len(line.lstrip())]
            for part in textwrap.wrap(line, _WIDTH - 4, subsequent_indent=indent) or [""]:
                self._out(f"  │ {part}".rstrip())
        self._out("  ╰" + "─" * (_WIDTH - 3))

    def _dialog(self, dialog: Dialog, scene: Scene) -> None:
        if self._dialogs.get(dialog.id) == dialog:
            return
        self._dialogs[dialog.id] = dialog
        head = f"    ╔═ {dialog.title} ═ in front of {scene.name(dialog.person)} "
        self._out(head + "═" * max(2, _WIDTH - len(head)))
        for line in [*dialog.lines, *(f"! {error}" for error in dialog.errors)]:
            self._out(f"    ║ {line}".rstrip())
        self._out("    ╚" + "═" * (_WIDTH - 5))


def _lines(message: Message) -> list[str]:
    lines = [*message.lines]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
