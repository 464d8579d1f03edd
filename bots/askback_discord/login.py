"""Log in to Discord at the configured addresses."""

from __future__ import annotations

__all__ = ["ignore_voice", "open_client", "use_addresses"]

from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from askback.errors import OperatorError
from askback.network.network_error import get_failure_reason
from askback_discord.answer_check import ForeignAnswer
from askback_discord.settings import DiscordSettings

NOT_DISCORD = (
    "What answers there is not Discord's API, whose answers are application/json. "
    "Check the network, a proxy in between, and ASKBACK_DISCORD_API_URL if it is set."
)


class _Addresses:
    """The addresses of discord.py, whose classes hold them, so that all clients of a process share them."""

    def __init__(self) -> None:
        self._users = 0
        self._before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY

    @contextmanager
    def use(self, settings: DiscordSettings) -> Generator[None]:
        if not self._users:
            self._before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
        self._users += 1
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = settings.api_url, yarl.URL(settings.gateway_url)
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = self._before


_ADDRESSES = _Addresses()


def use_addresses(settings: DiscordSettings) -> AbstractContextManager[None]:
    """Point discord.py at the configured addresses. Restore its own when the last of several users ends.

    The users may end in any order: a directory may be open while a bot starts.
    """
    return _ADDRESSES.use(settings)


def ignore_voice() -> None:
    """Let discord.py not warn about missing libraries for voice, which askback does not use."""
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False


@asynccontextmanager
async def open_client(client: discord.Client, settings: DiscordSettings) -> AsyncGenerator[None]:
    """Log in with the bot's token, and close the client at the end.

    Raises `OperatorError` if Discord does not accept the token, or cannot be reached.
    """
    try:
        async with client:
            await _log_in(client, settings)
            yield
    finally:
        # discord.py leaves its session open if it is cancelled while it closes the client.
        await client.http.close()


async def _log_in(client: discord.Client, settings: DiscordSettings) -> None:
    try:
        await client.login(settings.token.get_secret_value())
    except discord.LoginFailure as error:
        # discord.py takes every 401 for Discord's, also that of a proxy.
        if _is_foreign(error.__cause__):
            raise OperatorError(NOT_DISCORD) from None
        raise OperatorError(
            "Discord rejects DISCORD_TOKEN: copy it again from the page Bot in Discord's developer portal."
        ) from None
    except (ForeignAnswer, TypeError, KeyError, ValueError):
        # discord.py treats any response that is not exactly application/json as text, and then fails on it.
        raise OperatorError(NOT_DISCORD) from None
    except (TimeoutError, discord.HTTPException, aiohttp.ClientError, OSError) as error:
        if _is_foreign(error):
            raise OperatorError(NOT_DISCORD) from None
        raise OperatorError(
            f"Could not reach Discord ({get_failure_reason(error)}). "
            "Check the network, and ASKBACK_DISCORD_API_URL if it is set."
        ) from None


def _is_foreign(error: BaseException | None) -> bool:
    """Return True if something other than Discord answered.

    Discord's own proxy answers with pages, too, while Discord is down or limits calls.
    """
    if not isinstance(error, discord.HTTPException) or error.status == 429 or error.status >= 500:
        return False
    return error.response.headers.get("Content-Type") != "application/json"
