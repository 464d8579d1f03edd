"""Finds the installed bots. Each package registers a `BotFactory` under the entry points `askback.bots`."""

from __future__ import annotations

__all__ = [
    "NotInstalled",
    "describe_missing",
    "find_only_bot",
    "get_bot",
    "list_bot_names",
    "list_entries",
    "load_bots",
    "load_configured_bots",
    "load_whole_bots",
]  # fmt: skip

import logging
import re
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from typing import TYPE_CHECKING, cast

from askback.errors import OperatorError
from askback.internal.extras import format_install

if TYPE_CHECKING:
    from askback.ports.bot import Bot, BotFactory, BotOptions

log = logging.getLogger("askback.bots")

GROUP = "askback.bots"


@cache
def list_entries() -> tuple[EntryPoint, ...]:
    """Return the registered bots by name. Cached, because Python searches every installed package for them."""
    return tuple(sorted(entry_points(group=GROUP), key=lambda entry: entry.name))


class NotInstalled(OperatorError):
    """Raised if a bot's libraries are not installed, because its extra was left out."""


def list_bot_names() -> list[str]:
    """Return the names of all known bots in alphabetical order, without loading their libraries."""
    return [entry.name for entry in list_entries()]


def get_bot(name: str, options: BotOptions | None = None) -> Bot:
    """Return the bot for a platform, by default as its settings describe it.

    Raises `OperatorError` if the bot is not installed, or does not support an option.
    """
    for entry in list_entries():
        if entry.name == name:
            return _load(entry, options)
    raise OperatorError(f"There is no bot for {name!r}. The bots are: {', '.join(list_bot_names())}.")


def load_bots() -> dict[str, Bot]:
    """Return every bot whose libraries are installed, by name. Raises `OperatorError` if one is broken."""
    found, _ = _load_all()
    return found


def load_configured_bots() -> list[Bot]:
    """Return the bots whose platforms have a token. Raises `OperatorError` if none has."""
    found, lacking = _load_all()
    for error in lacking:
        log.warning("A bot does not run: %s", error, extra={"action": "bot_not_installed"})
    chosen = [bot for bot in found.values() if bot.is_configured()]
    if not chosen:
        raise OperatorError(
            "No platform has a token. To set a bot up step by step, run `askback init`. To see what is missing, run "
            f"{' or '.join(f'`askback {name}`' for name in sorted(found))}."
        )
    return chosen


def load_whole_bots() -> list[Bot]:
    """Return the bots that have all their settings. One that cannot be imported is logged, and left out."""
    found: list[Bot] = []
    for entry in list_entries():
        try:
            bot = _load(entry)
            bot.check()
        except NotInstalled:
            continue
        except OperatorError as error:
            log.debug("A bot does not run: %s", error)
            continue
        if bot.is_configured():
            found.append(bot)
    return found


def find_only_bot() -> Bot | None:
    """Return the only bot whose platform has a token. None if none has, or several."""
    configured = [bot for bot in load_bots().values() if bot.is_configured()]
    return configured[0] if len(configured) == 1 else None


def _load_all() -> tuple[dict[str, Bot], list[NotInstalled]]:
    """Return the bots by name, and an error for each whose libraries are not installed."""
    found: dict[str, Bot] = {}
    lacking: list[NotInstalled] = []
    for entry in list_entries():
        try:
            bot = _load(entry)
        except NotInstalled as error:
            lacking.append(error)
        else:
            found[bot.name] = bot
    return found, lacking


def _load(entry: EntryPoint, options: BotOptions | None = None) -> Bot:
    """Import and create a bot.

    Raises `NotInstalled` if its extra is missing, and `OperatorError` if any other import fails.
    """
    from askback.ports.bot import BotOptions  # the names of bots are needed where its imports would cost time

    try:
        create = cast("BotFactory", entry.load())
    except ImportError as error:
        if lacking := describe_missing(entry):
            raise NotInstalled(lacking) from None
        raise OperatorError(
            f"Could not import the bot for {entry.name} ({type(error).__name__}: {error}). Reinstall or uninstall it."
        ) from error
    return create(options or BotOptions())


def describe_missing(entry: EntryPoint) -> str | None:
    """Say which libraries of a bot are not installed, and how to install them. None means that all are there."""
    missing = _find_missing(entry)
    if not missing:
        return None
    needs = f"The bot for {entry.name} needs {' and '.join(missing)}"
    if entry.dist is None or entry.dist.name == "askback":
        return f"{needs}. {format_install(entry.name)}"
    return f"{needs}: install it with pip install '{entry.dist.name}[{entry.name}]'."


def _find_missing(entry: EntryPoint) -> list[str]:
    """Return the distributions that the bot's own extra asks for and that are not installed."""
    missing: list[str] = []
    for requirement in (entry.dist and entry.dist.requires) or ():
        name, _, condition = requirement.partition(";")
        extra = re.search(r"""extra\s*==\s*["']([\w.-]+)["']""", condition)
        wanted = re.match(r"[\w.-]+", name.strip())
        if extra is None or wanted is None or extra[1] != entry.name:
            continue
        try:
            distribution(wanted[0])
        except PackageNotFoundError:
            missing.append(wanted[0])
    return missing
