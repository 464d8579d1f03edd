"""The guide of a platform to somebody who creates the bot there for the first time, as `askback init` shows it."""

from __future__ import annotations

__all__ = ["Credential", "SetupGuide"]

from askback.internal.values import Value


class Credential(Value):
    """A secret that the operator copies from the platform's pages."""

    key: str
    """Its name in the settings file."""
    variable: str
    """The environment variable that takes precedence over the settings file."""
    title: str
    """Its name on the platform's pages."""
    source: str
    """The way to it, in a sentence."""


class SetupGuide(Value):
    """The steps from nothing to a bot that answers."""

    page: str
    """The address of the page where the bot is created."""
    steps: tuple[str, ...]
    """The steps on that page, until the first credential can be copied."""
    credentials: tuple[Credential, ...]
    """The secrets that the bot needs, in the order in which the platform shows them."""
    needs_invitation: bool
    """True if somebody has to open the address of `BotSetup.get_invitation` before the bot can be used."""
    channel_access: str
    """The way to let the bot ask in a channel, in a sentence."""
    first_message: str
    """The way to talk to the running bot, in a sentence."""
