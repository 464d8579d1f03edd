"""The Discord bot, built on discord.py, over the gateway.

It translates Discord's payloads into the core's types and sends the core's answers back.
"""

from __future__ import annotations

__all__ = ["DiscordBot", "create_bot"]

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

import aiohttp
import discord

from askback.domain.bot_access import Access
from askback.errors import OperatorError
from askback.network.connector import open_connector
from askback.ports.bot import Bot, BotOptions, BotServices
from askback.ports.files import FileReader
from askback.ports.membership import Membership
from askback.ports.platform import HistoryReader, Platform
from askback.settings.loader import is_configured
from askback_discord.answer_check import build_answer_check
from askback_discord.api_calls import DiscordApi
from askback_discord.channels import ChannelCache
from askback_discord.clicks import Clicks
from askback_discord.directory import DiscordDirectory
from askback_discord.events import MessageListener
from askback_discord.files import DiscordFiles
from askback_discord.gateway import Gateway
from askback_discord.groups import DiscordRoles
from askback_discord.history import History
from askback_discord.install import INTENTS
from askback_discord.locales import Locales
from askback_discord.login import ignore_voice, open_client, use_addresses
from askback_discord.message_positions import MessagePositions
from askback_discord.missed_messages import MissedMessages
from askback_discord.posting import DiscordPlatform
from askback_discord.rate_limits import wait_only_where_spent
from askback_discord.settings import OPENING, DiscordSettings, load_settings
from askback_discord.setup import DiscordSetup
from askback_discord.shards import Shard
from askback_discord.threads import ThreadOpener

log = logging.getLogger("askback.discord")

ANSWER_SECONDS = 10
CLOSED = {
    4004: "Copy DISCORD_TOKEN again from the page Bot of your application in the developer portal",
    4010: "The shard is invalid: check --shard and ASKBACK_DISCORD_SHARD",
    4011: "The bot is on too many servers for so few sessions. askback doctor says how many processes it needs, each "
    "with its own shard: askback discord --shard 0/2, askback discord --shard 1/2",
}
"""Operator advice for the codes with which Discord closes the gateway permanently.

See https://discord.com/developers/docs/topics/opcodes-and-status-codes
"""
NAMED = 10
"""Maximum number of server ids in one log line."""
FINISH_SECONDS = 3.0
RATE_LIMIT_SECONDS = 30
"""Maximum wait of discord.py for a rate limit. If it would be longer, the outbox retries later, and a look-up fails."""


class DiscordBot:
    """The bot for Discord."""

    name = "discord"

    def __init__(self, shard: str | None = None) -> None:
        """`shard` is the shard to listen to. It overrides the settings."""
        self._shard = shard
        self.setup = DiscordSetup()

    def check(self) -> None:
        load_settings(self._shard)

    def is_configured(self) -> bool:
        return is_configured(DiscordSettings)

    @asynccontextmanager
    async def connect(self, services: BotServices) -> AsyncGenerator[DiscordConnection]:
        settings = load_settings(self._shard)
        ignore_voice()
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        with use_addresses(settings):
            # The answers to clicks go over the connections of the other calls. discord.py closes the connector.
            connector = open_connector()
            async with aiohttp.ClientSession(connector=connector, connector_owner=False, timeout=timeout) as session:
                reads_everything = await _can_read_everything(settings)
                client = _Client(settings.part, connector, reads_everything=reads_everything)
                async with open_client(client, settings):
                    me = client.user
                    if me is None:
                        raise OperatorError("Discord's response does not identify the bot: check DISCORD_TOKEN.")
                    api = DiscordApi(client.http, session, settings.api_url)
                    platform = DiscordPlatform(api, me.id)
                    # If Discord does not say, assume that anyone may have invited the bot anywhere.
                    public = client.application is None or client.application.bot_public
                    locales = Locales()
                    client.clicks = Clicks(services.manager, platform, api, services.choose, services.stop, locales)
                    channels, client.positions = ChannelCache(platform), MessagePositions()
                    client.listener = MessageListener(
                        platform,
                        services.receive,
                        services.changes,
                        channels,
                        client.positions,
                        locales,
                        services.manager.language,
                        reads_everything=reads_everything,
                    )
                    client.missed_messages = MissedMessages(client.listener, channels, client.positions)
                    # Read this before the gateway opens, so that no new message hides those that were missed.
                    recent = await services.list_recent()
                    client.positions.restore([one for one in recent if settings.part.contains(one.place.tenant)])
                    client.missed = services.missed
                    client.rooms = ThreadOpener(services.manager, platform, settings.part)
                    client.access = settings.to_access(public=public, owners=_list_owners(client.application))
                    try:
                        history = History(api, str(me.id), reads_everything=reads_everything)
                        files = DiscordFiles(api, session, settings.api_url)
                        yield DiscordConnection(client, platform, history, DiscordRoles(api), files)
                    finally:
                        try:
                            await client.finish()
                        finally:
                            await platform.close()

    @asynccontextmanager
    async def open_directory(self) -> AsyncGenerator[DiscordDirectory]:
        settings = load_settings(self._shard)
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        ignore_voice()
        with use_addresses(settings):
            client = discord.Client(
                intents=INTENTS, max_ratelimit_timeout=RATE_LIMIT_SECONDS, http_trace=build_answer_check()
            )
            wait_only_where_spent(client.http)
            async with aiohttp.ClientSession(timeout=timeout) as session, open_client(client, settings):
                yield DiscordDirectory(DiscordApi(client.http, session, settings.api_url))


class DiscordConnection:
    """A connection of the bot to Discord."""

    def __init__(
        self,
        client: _Client,
        platform: Platform,
        history: HistoryReader,
        membership: Membership,
        files: FileReader,
    ) -> None:
        self.platform = platform
        self.history = history
        self.membership = membership
        self.files = files
        self.access = client.access
        self._client = client
        self._gateway = Gateway(client)

    def is_connected(self) -> bool:
        return self._gateway.is_connected

    async def drain(self) -> None:
        await self._gateway.drain()
        await self._client.finish()

    async def serve(self) -> None:
        try:
            await self._gateway.run()
        except discord.PrivilegedIntentsRequired:
            raise OperatorError(
                "Discord does not grant the bot the intents that it requested. If you have changed Message Content "
                "Intent on the page Bot of your application in the developer portal, restart askback."
            ) from None
        except discord.ConnectionClosed as error:
            why = CLOSED.get(error.code, "Please report this")
            raise OperatorError(f"Discord closed the gateway permanently (code {error.code}). {why}.") from None


class _Client(discord.Client):
    """discord.py's client with askback's event handlers. It caches no messages and no members."""

    access: Access
    clicks: Clicks
    listener: MessageListener
    positions: MessagePositions
    missed_messages: MissedMessages
    rooms: ThreadOpener
    missed: Callable[[], None]

    def __init__(self, shard: Shard, connector: aiohttp.BaseConnector, *, reads_everything: bool) -> None:
        intents = INTENTS | discord.Intents(message_content=reads_everything)
        super().__init__(
            intents=intents,
            connector=connector,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            allowed_mentions=discord.AllowedMentions.none(),
            guild_ready_timeout=0.5,
            max_ratelimit_timeout=RATE_LIMIT_SECONDS,
            http_trace=build_answer_check(),
            shard_id=shard.number,
            shard_count=shard.count,
        )
        wait_only_where_spent(self.http)
        self._at_work: set[asyncio.Task[object]] = set()

    async def finish(self) -> None:
        """Give running event handlers time to answer, then cancel the rest."""
        # discord.py leaves this task running, and it would then fail.
        starting = cast("asyncio.Task[None] | None", self._connection._ready_task)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]  # noqa: SLF001 - no public API has it
        if starting is not None:
            starting.cancel()
        await asyncio.sleep(0)  # let the handlers of the last events start
        for grace in (FINISH_SECONDS, 0.0):
            if self._at_work:
                await asyncio.wait(self._at_work, timeout=grace or None)
            for task in self._at_work:
                task.cancel()

    @contextmanager
    def _hold_task(self) -> Generator[None]:
        """Keep a reference to the task of an event, because discord.py keeps none."""
        task = asyncio.current_task()
        if task is None:
            yield
            return
        self._at_work.add(task)
        try:
            yield
        finally:
            self._at_work.discard(task)

    async def on_connect(self) -> None:
        self.positions.start_session()  # before any message of the new session

    async def on_ready(self) -> None:
        part = "" if self.shard_count in {None, 1} else f" as shard {self.shard_id} of {self.shard_count}"
        log.info("Connected to Discord%s.", part, extra={"action": "discord_connected"})
        if self.access.is_closed and self.guilds:
            line = OPENING.format_setting(*(str(guild.id) for guild in self.guilds[:NAMED]))
            log.warning(
                "Nobody may talk to the bot yet. To allow it, set %s",
                line,
                extra={"action": "nobody_allowed", "set": line},
            )
        with self._hold_task():
            await self.rooms.open_all()
            self.missed()
            if self.user is not None:
                await self.missed_messages.catch_up(self, self.user, await self.rooms.list_open_channels())

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        with self._hold_task():
            await self.clicks.handle_interaction(interaction)

    async def on_message(self, message: discord.Message) -> None:
        if self.user is not None:
            with self._hold_task():
                await self.listener.handle_message(message, self.user)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        if self.user is not None:
            with self._hold_task():
                await self.listener.handle_edit(payload.message, self.user)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        with self._hold_task():
            await self.listener.handle_deletion(payload.channel_id, (payload.message_id,))

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        with self._hold_task():
            await self.listener.handle_deletion(payload.channel_id, payload.message_ids)

    async def on_raw_thread_update(self, payload: discord.RawThreadUpdateEvent) -> None:
        with self._hold_task():
            await self.rooms.handle_update(payload)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        with self._hold_task():
            await self.rooms.handle_channel_closed(str(payload.thread_id))

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        with self._hold_task():
            await self.rooms.handle_channel_closed(str(channel.id))

    async def on_error(self, event_method: str, /, *args: object, **kwargs: object) -> None:
        del args, kwargs  # payloads contain people's texts, which must not be logged
        log.error(
            "Could not handle an event from Discord because of a bug. Please report this.",
            exc_info=True,  # noqa: LOG014 - see above
            extra={"action": "event_failed", "event": event_method},
        )


def _list_owners(application: discord.AppInfo | None) -> tuple[str, ...]:
    """Return the ids of the people who own the application."""
    if application is None:
        return ()
    team = application.team
    people = [application.owner] if team is None else team.members
    return tuple(str(person.id) for person in people)


async def _can_read_everything(settings: DiscordSettings) -> bool:
    """Return True if the application may read messages that do not mention it."""
    client = discord.Client(intents=INTENTS, http_trace=build_answer_check())
    async with open_client(client, settings):
        flags = client.application_flags
        return flags.gateway_message_content or flags.gateway_message_content_limited


def create_bot(options: BotOptions) -> Bot:
    """Return the bot. The entry point names this function."""
    if options.shard is not None:
        try:
            Shard.read(options.shard)
        except ValueError as error:
            raise OperatorError(f"--shard {options.shard} {error}.") from None
    if options.http is not None:
        raise OperatorError("Discord sends events only over its gateway: leave out --http.")
    return DiscordBot(options.shard)
