"""Servers, a receiver and a database, with a time that the test controls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select

from askback.agent.approvals import ApprovalRules
from askback.domain.attached_file import AttachedFile
from askback.domain.file_rules import FileRules
from askback.domain.form import Form, Option, Question
from askback.domain.open_ask_limits import Limits
from askback.domain.webhook import Webhook, WebhookDelivery
from askback.domain.who import Who
from askback.doors.caller_asks import CallerAsks
from askback.doors.caller_file import CallerFile
from askback.doors.http_door import HttpDoor
from askback.doors.webhook_worker import WebhookWorker
from askback.manager import QuestionManager, build_ask, build_policy
from askback.runtime.shutdown import end_tasks
from askback.settings.core import Settings
from askback.store.database import Database
from askback.store.postgres.address import PostgresAddress
from askback.store.queries import webhooks
from askback.store.schema import webhooks as table
from askback.store.store import Store
from support.board import ANN, HERE
from support.clocks import DrivenTime
from support.engine import eventually
from support.stores import url_in
from support.webhook_receiver import SECRET

OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
TEA = Form(questions=(Question(id="answer", prompt="Tea?", options=OPTIONS),))
LOGO = Form(questions=(Question(id="answer", prompt="The notes?", files=FileRules(kinds=("text",))),))
NOTES = AttachedFile(name="notes.txt", id="F1", media_type="text/plain", size=5, address="https://board.example/F1")
HOUR, DAY = 3600.0, 86_400.0


@dataclass
class Rig:
    """A store, and servers that send what is due in it."""

    store: Store
    database: Database
    folder: Path
    driven: DrivenTime

    def __post_init__(self) -> None:
        self.manager = QuestionManager(self.store, Limits(pending_per_place=50))
        self.callers = CallerFile(self.folder / "callers.toml", ApprovalRules())

    def allow(self, *urls: str, more: str = "", secret: str = f'"{SECRET}"') -> None:
        """Write and read the file of the callers, whose only caller may name these addresses."""
        lines = f"webhooks = {[*urls]}\nwebhook_secret = {secret}\n" if urls else ""
        caller = f'[one]\ntoken = "{"t" * 24}"\nto = "slack:#deploys"\nwho = "anyone"\n{lines}{more}'
        self.write(caller)

    def write(self, text: str) -> None:
        file = self.folder / "callers.toml"
        file.write_text(text)
        file.chmod(0o600)
        self.callers.load()

    async def ask(self, *urls: str, form: Form = TEA) -> str:
        """Store an ask with webhooks, and return its id."""
        ask = build_ask(form, to=HERE, policy=build_policy(Who.from_people(ANN), None))
        first = Webhook(caller="one", url=urls[0]) if urls else None
        await self.manager.submit(ask.evolve(webhook=first))
        for url in urls[1:]:
            await self.store.add_webhook(ask.id, Webhook(caller="one", url=url))
        return ask.id

    async def settle(self, *urls: str) -> str:
        """Store an ask that is settled at once, and return its id."""
        ask_id = await self.ask(*urls)
        await self.manager.cancel(ask_id, reason="Enough.")
        return ask_id

    async def states(self, ask_id: str) -> tuple[WebhookDelivery, ...]:
        return await self.database.read(lambda connection: webhooks.list_of_ask(connection, ask_id))

    async def state(self, ask_id: str) -> WebhookDelivery:
        (found,) = await self.states(ask_id)
        return found

    async def tried(self, ask_id: str, attempts: int) -> WebhookDelivery:
        """Wait until this number of attempts has ended."""

        leased = select(table.c.leased_until).where(table.c.ask_id == ask_id)

        def look(connection: Connection) -> WebhookDelivery | None:
            (found,) = webhooks.list_of_ask(connection, ask_id)
            is_running = connection.execute(leased).scalar_one() is not None
            return found if found.attempts >= attempts and not is_running else None

        async def ended() -> WebhookDelivery | None:
            return await self.database.read(look)

        return await eventually(ended)

    async def ended(self, ask_id: str) -> WebhookDelivery:
        """Wait until nothing more is sent."""

        async def ended() -> WebhookDelivery | None:
            found = await self.state(ask_id)
            return found if found.state != "pending" else None

        return await eventually(ended)

    def create_worker(self) -> WebhookWorker:
        url = url_in(self.folder)
        where = self.folder / "askback.db" if url is None else PostgresAddress.read(url)
        door = HttpDoor(self.callers, CallerAsks(Settings(), where, "http"), "1")
        return WebhookWorker(where, self.callers, door, "1")

    @asynccontextmanager
    async def server(self) -> AsyncGenerator[WebhookWorker]:
        """Run a worker until the block ends."""
        worker = self.create_worker()
        task = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            await end_tasks([task])

    async def pass_time(self, worker: WebhookWorker, seconds: float) -> None:
        self.driven.advance(seconds)
        worker.wake()
