"""The values that a scenario sees: people, places, cards, controls, and clicks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from askback.domain.card_labels import EXPANDING

WITHIN = 30.0
"""Seconds that any step may take before a scenario fails; waits end as soon as they can."""
ACK_MS = 3_000.0
COMMIT_SECONDS = 60.0
"""Seconds within which a click must be committed here. A machine that stalls would make the bot refuse it after 2 s."""
ADA, BEN, CY = "ada", "ben", "cy"
"""The people at the desk."""
RELEASE = "release"
"""The group, or role, whose only member is ada."""
GENERAL, DEPLOYS = "general", "deploys"
"""The channels. People mention the bot in the first one by default."""
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
"""Environment variables that no desk may inherit."""
TOOLS = "AskUserQuestion,question,askQuestion,ask"
"""The tools of the model at each desk."""

What = Literal["post", "text", "change", "field", "answer", "look"]
"""Calls of a bot to its platform: post a message, change one, open a text field, answer a click."""
GROUPS = {"slack": "S0LOCALREL", "discord": "1100000000000000010"}
"""The id of `RELEASE` on each platform."""


@dataclass(frozen=True)
class Talk:
    """One conversation with the bot."""

    channel: str
    thread: str | None


@dataclass(frozen=True)
class Choice:
    """An entry of a menu or a set of boxes."""

    label: str
    on: bool


@dataclass(frozen=True)
class Control:
    """A part of a card that people can use."""

    kind: Literal["button", "menu", "several"]
    label: str
    choices: tuple[Choice, ...] = ()
    searched: bool = False
    boxes: bool = False
    """True if the options of `several` are shown as separate boxes."""
    handle: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Card:
    """A message about a question, as a person sees it at one moment. Using an old one is a late click."""

    id: str
    talk: Talk
    text: str
    """All readable text, except the controls'."""
    notification: str
    """The text that a phone notification or a screen reader gives."""
    controls: tuple[Control, ...]
    handle: Any = field(default=None, compare=False, repr=False)

    @property
    def buttons(self) -> tuple[str, ...]:
        return tuple(control.label for control in self.controls if control.kind == "button")

    @property
    def shown(self) -> str:
        """The readable text, followed by the entries of menus and boxes, with a tick at each that is on."""
        entries = [choice for control in self.controls for choice in control.choices]
        return "\n".join([self.text, *(f"{choice.label}{'  ✓' if choice.on else ''}" for choice in entries)])

    @property
    def is_live(self) -> bool:
        """True if the card still has something to decide."""
        return any(control.label not in EXPANDING for control in self.controls)

    def control(self, label: str) -> Control:
        """Return the button with that label, else the first that begins with it."""
        buttons = [control for control in self.controls if control.kind == "button"]
        for control in buttons:
            if control.label == label:
                return control
        for control in buttons:
            if control.label.startswith(label):
                return control
        raise AssertionError(f"no button {label!r} among {self.buttons} on:\n{self.text}")

    @property
    def menu(self) -> Control:
        """The only menu or set of boxes."""
        (menu,) = (control for control in self.controls if control.kind != "button")
        return menu


@dataclass(frozen=True)
class TextField:
    """An open text field."""

    text: str
    """All readable text on it."""
    placeholder: str
    value: str
    errors: tuple[str, ...]
    ways: tuple[str, ...] = ()
    """The labels of the ways to leave the question for now."""


@dataclass(frozen=True)
class Line:
    """One public message of a conversation."""

    author: str
    text: str
    bot: bool
    card: bool = False
    links: tuple[str, ...] = ()
    """The targets of its links."""


@dataclass(frozen=True)
class Clicked:
    """The outcome of a click."""

    acked: bool
    ms: float | None
    error: str | None


def checked(clicked: Clicked) -> Clicked:
    """Check that the click was acked in time; this holds for every click of every scenario."""
    assert clicked.acked, clicked
    assert clicked.ms is not None
    assert clicked.ms < ACK_MS, clicked
    return clicked


def is_label(shown: str, wanted: str) -> bool:
    """Return True if a control shows this label, perhaps with a number before it, or shortened."""
    bare = re.sub(r"^\d+\. ", "", shown)
    return wanted in (bare, shown) or (bare.endswith("…") and wanted.startswith(bare[:-1]))


def person_of(platform: str, person: str) -> str:
    """Return a person in the setting's notation."""
    slack, discord = {ADA: ("U0LOCALADA", "1100000000000000201"), BEN: ("U0LOCALBEN", "1100000000000000202")}[person]
    return f"{platform}:{slack if platform == 'slack' else discord}"


def group_of(platform: str) -> str:
    """Return the group in the setting's notation."""
    return f"{platform}:{'' if platform == 'slack' else '@&'}{GROUPS[platform]}"
