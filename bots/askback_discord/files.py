"""Reads the files of Discord's messages from Discord's own hosts. This needs no token."""

from __future__ import annotations

__all__ = ["DiscordFiles", "list_files", "read_attachment"]

from typing import Final, cast

import aiohttp
import discord

from askback.domain.attached_file import AttachedFile
from askback.domain.identity import MessageRef
from askback.domain.incoming_message import FORWARDED
from askback.network.download import download, is_from_host
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_discord.api_calls import DiscordApi, DiscordRejection, Json

HOSTS: Final = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
_EXPIRED: Final = frozenset({401, 403, 404, 410})
"""Responses for an address whose signature has expired, and for a file that was deleted."""


def list_files(message: discord.Message) -> tuple[AttachedFile, ...]:
    """Return what is attached to a message: files, stickers and forwarded messages. Only files have a content."""
    files = (
        AttachedFile(
            name=attachment.filename or "unnamed file",
            id=str(attachment.id),
            media_type=attachment.content_type,
            size=attachment.size,
            address=attachment.url,
        )
        for attachment in message.attachments
    )
    stickers = (AttachedFile(name=f"the sticker {sticker.name}") for sticker in message.stickers)
    return (*files, *stickers, *(AttachedFile(name=FORWARDED) for _ in message.message_snapshots))


def read_attachment(attachment: Json) -> AttachedFile:
    """Return an attachment of a payload that discord.py does not read. Never raises."""
    name, media_type, size = (attachment.get(key) for key in ("filename", "content_type", "size"))
    address = attachment.get("url")
    return AttachedFile(
        name=name if isinstance(name, str) and name else "unnamed file",
        id=str(attachment.get("id") or ""),
        media_type=media_type if isinstance(media_type, str) else None,
        size=size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        address=address if isinstance(address, str) else None,
    )


class DiscordFiles:
    """Reads files through the addresses in Discord's messages, which expire after about a day."""

    def __init__(self, api: DiscordApi, session: aiohttp.ClientSession, api_url: str) -> None:
        self._api = api
        self._session = session
        self._api_url = api_url

    async def read(self, file: AttachedFile, message: MessageRef | None, at_most: int) -> bytes:
        content = None if file.address is None else await self._download(file.address, at_most)
        if content is not None:
            return content
        # The address has expired, or the file is gone. The message tells which, and has a fresh address.
        address = None if message is None else await self._fetch_address(file, message)
        content = None if address is None else await self._download(address, at_most)
        if content is None:
            raise MessageNotFound("Discord: the file is gone")
        return content

    async def _download(self, address: str, at_most: int) -> bytes | None:
        """Return a file. None if the address does not, or no longer, lead to it."""
        if not is_from_host(address, HOSTS, self._api_url):
            raise DeliveryError("it is stored outside Discord, and I read only files in Discord.")
        answer = await download(self._session, address, at_most, {}, "Discord")
        if answer.status == 200:
            return answer.content
        if answer.status in _EXPIRED:
            return None
        if 300 <= answer.status < 400:
            raise DeliveryError("Discord refers to another host for it, which I do not trust.")
        raise RetryableError(f"Discord did not send the file (HTTP {answer.status}).")

    async def _fetch_address(self, file: AttachedFile, message: MessageRef) -> str | None:
        """Return the present address of a file. None if its message does not have it any more."""
        try:
            found = await self._api.fetch_message(message.channel, message.id)
        except DiscordRejection as error:
            raise DeliveryError(str(error)) from error
        entries = found.get("attachments")
        for one in cast("list[object]", entries) if isinstance(entries, list) else ():
            attachment: Json = cast("Json", one) if isinstance(one, dict) else {}
            url = attachment.get("url")
            if str(attachment.get("id")) == file.id and isinstance(url, str):
                return url
        return None
