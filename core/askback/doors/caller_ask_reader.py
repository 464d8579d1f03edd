"""Reads the asks of a door's callers. Each caller sees only its own."""

from __future__ import annotations

__all__ = ["CallerAskReader"]

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, select

from askback.client.answer_contents import read_content
from askback.domain.ask import Ask
from askback.domain.ask_page import MOST_LISTED, AskPage, Cursor
from askback.domain.attached_file import MessageFile
from askback.domain.webhook import WebhookDelivery
from askback.doors.new_ask import hash_text
from askback.doors.receipt_records import ReceiptRecords
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, DatabaseNotReady, OutdatedDatabase
from askback.store.queries import ask_pages, asks, webhooks
from askback.store.snapshot_reader import SnapshotReader

Found = TypeVar("Found")


class CallerAskReader:
    """Reads asks by the principals that asked them."""

    def __init__(self, where: DatabaseLocation, door: str, receipts: ReceiptRecords | None) -> None:
        """`door` begins the key of each ask, so that no door reaches the asks of another."""
        self._where = where
        self._door = door
        self._receipts = receipts
        self._reader = SnapshotReader(where)

    def get_prefix(self, principal: str) -> str:
        """Return the beginning of the keys of this principal's asks."""
        return f"{self._door}:{hash_text(principal)}:"

    async def find(self, principal: str, ask_id: str) -> Ask | None:
        """Return an ask of this principal; None if no ask of this principal has that id."""
        ask = await self._read(lambda connection: asks.get(connection, ask_id), None)
        return ask if ask is not None and (ask.key or "").startswith(self.get_prefix(principal)) else None

    async def read_file(self, ask: Ask, file_id: str) -> tuple[MessageFile, bytes] | None:
        """Return a file of the answers to an ask with its contents. None if there is none, or if it was not read."""
        return await asyncio.to_thread(read_content, self._where, ask.id, file_id)

    async def check_database(self) -> None:
        """Raise `AskbackError` if the database cannot be read, or not yet. The first question creates it."""
        await self._read(lambda connection: connection.execute(select(1)).scalar(), None)

    async def list_open(self, principal: str) -> tuple[Ask, ...]:
        """Return all open asks of this principal, oldest first."""
        prefix = self.get_prefix(principal)
        return await self._read(lambda connection: asks.list_open_with_key(connection, prefix), ())

    async def list_page(self, principal: str, after: Cursor | None, at_most: int) -> AskPage:
        """Return the open asks of this principal after a cursor, oldest first."""
        prefix = self.get_prefix(principal)
        return await self._read(lambda connection: ask_pages.read_page(connection, prefix, after, at_most), AskPage())

    async def list_unread(self, principal: str) -> AskPage:
        """Return the newest settled asks of this principal whose outcome no call has received, oldest first."""
        receipts, prefix = self._receipts, self.get_prefix(principal)
        if receipts is None:
            return AskPage()
        return await self._read(lambda connection: receipts.list_unreceived(connection, prefix, MOST_LISTED), AskPage())

    async def list_webhooks(self, ask: Ask) -> tuple[WebhookDelivery, ...]:
        """Return the addresses that get the outcome of an ask."""
        return await self._reader.read(lambda connection: webhooks.list_of_ask(connection, ask.id))

    async def close(self) -> None:
        """Close the connection to the database."""
        await self._reader.close()

    async def _read(self, query: Callable[[Connection], Found], default: Found) -> Found:
        """Return what a query finds; the default as long as there is no database."""
        try:
            return await self._reader.read(query)
        except OutdatedDatabase:
            raise  # what is asked for may be in it
        except (DatabaseNotFound, DatabaseNotReady):
            return default
