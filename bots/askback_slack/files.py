"""Reads the files of Slack's messages, with the bot's token."""

from __future__ import annotations

__all__ = ["SlackFiles", "list_files"]

from collections.abc import Mapping
from typing import Final

import aiohttp

from askback.domain.attached_file import AttachedFile
from askback.domain.identity import MessageRef
from askback.network.download import Download, download, is_from_host
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback_slack.api_calls import SlackApi, SlackRejection
from askback_slack.json_access import get_list, get_object, get_text, get_value

# GovSlack has other hosts.
HOSTS: Final = frozenset({"slack.com", "slack-gov.com"})
NEEDS_SCOPE: Final = (
    "the Slack app lacks the permission files:read. My operator has to add it under OAuth & Permissions, and reinstall "
    "the app."
)
_GONE: Final = frozenset({"file_deleted", "file_not_found"})
_REMOVED: Final = frozenset({"tombstone", "hidden_by_limit"})
"""Values of `mode` of files that Slack has removed."""


def list_files(message: object) -> tuple[AttachedFile, ...]:
    """Return the files that are attached to a message."""
    return tuple(_read_file(file) for file in get_list(message, "files"))


def _read_file(file: object) -> AttachedFile:
    size = get_value(file, "size")
    return AttachedFile(
        name=get_text(file, "name") or get_text(file, "title") or "unnamed file",
        id=get_text(file, "id") or "",
        media_type=get_text(file, "mimetype"),
        size=size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        address=get_text(file, "url_private"),
    )


class SlackFiles:
    """Reads files through the addresses in Slack's messages."""

    def __init__(self, api: SlackApi, session: aiohttp.ClientSession, api_url: str, token: str) -> None:
        self._api = api
        self._session = session
        self._api_url = api_url
        self._headers: Mapping[str, str] = {"Authorization": f"Bearer {token}"}

    async def read(self, file: AttachedFile, message: MessageRef | None, at_most: int) -> bytes:
        del message  # a file has the same address in every message
        address = file.address or await self._fetch_address(file)
        if not is_from_host(address, HOSTS, self._api_url):
            raise DeliveryError("it is stored outside Slack, and I read only files in Slack.")
        answer = await download(self._session, address, at_most, self._headers, "Slack")
        if answer.status == 200 and not _is_login_page(file, answer):
            return answer.content
        raise await self._explain(file, answer)

    async def _fetch_address(self, file: AttachedFile) -> str:
        """Return the address of a file that the event does not describe, as in channels with other organizations."""
        found = get_object(await self._fetch_info(file), "file")
        address = get_text(found, "url_private")
        if address is None or get_text(found, "mode") in _REMOVED:
            raise MessageNotFound("Slack: file_deleted")
        return address

    async def _fetch_info(self, file: AttachedFile) -> Mapping[str, object]:
        try:
            return await self._api.read("files.info", file=file.id)
        except SlackRejection as error:
            if error.code in _GONE:
                raise MessageNotFound(f"Slack: {error.code}") from error
            if error.code == "missing_scope":
                raise DeliveryError(NEEDS_SCOPE) from error
            raise

    async def _explain(self, file: AttachedFile, answer: Download) -> Exception:
        """Return the error for a response that is not the file."""
        if answer.status == 429 or answer.status >= 500:
            return RetryableError(f"Slack did not send the file (HTTP {answer.status}).")
        is_login = answer.status == 200 or (300 <= answer.status < 400 and self._is_own(answer.location))
        if not is_login and 300 <= answer.status < 400:
            return DeliveryError("Slack refers to another host for it, which would get my token.")
        # Slack shows a login page for a deleted file, too, and for one that the bot may not see.
        try:
            await self._fetch_info(file)
        except (DeliveryError, MessageNotFound, RetryableError) as error:
            return error
        if answer.status == 404:
            return MessageNotFound("Slack: file_not_found")
        return DeliveryError(NEEDS_SCOPE if is_login else f"Slack does not send it (HTTP {answer.status}).")

    def _is_own(self, location: str | None) -> bool:
        """Return True if a redirect stays in Slack. A relative one does."""
        if location is None:
            return False
        return (location.startswith("/") and not location.startswith("//")) or is_from_host(
            location, HOSTS, self._api_url
        )


def _is_login_page(file: AttachedFile, answer: Download) -> bool:
    """Return True if Slack sent the page on which a person logs in, instead of the file."""
    if answer.content_type != "text/html":
        return False
    is_page = (file.media_type or "").startswith("text/html")
    return not is_page or (file.size is not None and len(answer.content) != file.size)
