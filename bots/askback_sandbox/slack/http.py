"""Signed HTTP: delivers events and interactions to a bot that has no socket."""

import asyncio
import hashlib
import hmac
import itertools
import json
from collections.abc import Callable
from urllib.parse import urlencode

import aiohttp
from pydantic import JsonValue

from askback_sandbox.clock import done_within
from askback_sandbox.json_values import JsonObject, as_object, as_text

from . import limits
from .socket import NO_ANSWER, NOT_CONNECTED, Ack, SlackSocket
from .workspace import Workspace

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"  # noqa: S105 - the one in Slack's own documentation
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


def signed(secret: str, body: bytes, now: float) -> dict[str, str]:
    """Return the headers that prove to an app that a request is Slack's."""
    timestamp = str(int(now))
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


class SlackHttp(SlackSocket):
    """Delivers to request URLs instead of sockets.

    An event that is not answered with 200 in time is sent again, with `x-slack-retry-num`. An interaction never is.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        secret: str = SECRET,
        ack_seconds: float = limits.ACK_SECONDS,
        event_retries: tuple[float, ...] = limits.EVENT_RETRIES,
    ) -> None:
        super().__init__(workspace, ack_seconds=ack_seconds, event_retries=event_retries)
        self.secret = secret
        self._bases: tuple[str, ...] = ()
        self._next = itertools.count()
        self._there = asyncio.Event()
        self._session: aiohttp.ClientSession | None = None
        self.sent: list[tuple[str, dict[str, str], int | None]] = []
        """Path, headers and status of every request; the status is None if no answer came in time."""

    @property
    def connections(self) -> int:
        """The number of processes behind the request URLs."""
        return len(self._bases)

    async def connected(self) -> None:
        """Wait until a request URL is set."""
        await self._there.wait()

    async def send_to(self, *bases: str) -> bool:
        """Set the request URLs, as on the app's page; return False if one does not answer Slack's challenge.

        Several URLs belong to processes behind one load balancer, which takes them in turn and skips those that are
        gone.
        """
        self._bases = tuple(base.rstrip("/") for base in bases)
        for _ in bases:
            challenge = self._workspace.next_id("challenge")
            asked: JsonObject = {
                "token": "local-verification-token",
                "challenge": challenge,
                "type": "url_verification",
            }
            status, text = await self._post("/slack/events", json.dumps(asked).encode(), JSON)
            if status != 200 or challenge not in (text.strip(), as_object(_read(text)).get("challenge")):
                self._bases = ()
                return False
        self._there.set()
        return True

    async def interact(self, payload: JsonObject, *, wants_answer: bool) -> Ack:
        """Send an interaction and wait for its answer, three seconds at most."""
        name = self._workspace.bot.name
        if not self._bases:
            return Ack(acked=False, error=NOT_CONNECTED.format(name=name))
        path = "/slack/options" if as_text(payload.get("type")) == "block_suggestion" else "/slack/interactions"
        before = self._workspace.clock.time()
        status, text = await self._post(path, urlencode({"payload": json.dumps(payload)}).encode(), FORM)
        swallowed = self._workspace.faults.take("swallow_ack", "interactive")
        if status is None or swallowed:
            return Ack(acked=False, error=NO_ANSWER.format(name=name))
        if status != 200:
            return Ack(acked=False, error=f"{name} answered with HTTP {status}")
        answer = as_object(_read(text)) if wants_answer and text else None
        return Ack(acked=True, ms=(self._workspace.clock.time() - before) * 1000, payload=answer)

    async def _deliver(self, payload: JsonObject, done: Callable[[Ack], None] | None) -> None:
        faults, clock = self._workspace.faults, self._workspace.clock
        body = json.dumps(payload).encode()
        reason = ""
        for attempt in range(len(self._event_retries) + 1):
            if attempt:
                await clock.sleep(self._event_retries[attempt - 1])
            await faults.until_off("hold_events")
            await self._there.wait()
            again = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason} if attempt else {}
            before = clock.time()
            if faults.take("duplicate_events", "events_api"):
                await self._post("/slack/events", body, JSON, again)
            status, _ = await self._post("/slack/events", body, JSON, again)
            if status == 200 and not faults.take("swallow_ack", "events_api"):
                if done:
                    done(Ack(acked=True, ms=(clock.time() - before) * 1000))
                return
            reason = "http_timeout" if status in (None, 200) else "http_error"
        if done:
            done(Ack(acked=False, error=NO_ANSWER.format(name=self._workspace.bot.name)))

    async def _post(
        self, path: str, body: bytes, kind: str, more: dict[str, str] | None = None
    ) -> tuple[int | None, str]:
        """Return the status and the body of the answer; the status is None if no answer came in time."""
        if self._session is None:
            self._session = aiohttp.ClientSession()
        headers = {"Content-Type": kind, **(more or {}), **signed(self.secret, body, self._workspace.clock.time())}
        status, text = None, ""
        posting = asyncio.create_task(self._balanced(self._session, path, body, headers))
        try:
            if await done_within(self._workspace.clock, posting, self._ack_seconds):
                status, text = posting.result()
        except aiohttp.ClientError:
            status = None
        finally:
            posting.cancel()
            await asyncio.gather(posting, return_exceptions=True)
        self.sent.append((path, headers, status))
        return status, text

    async def _balanced(
        self, session: aiohttp.ClientSession, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, str]:
        """Send to the process whose turn it is, or to the next one if it does not accept connections.

        Other errors do not move on, because the process may have received the request.
        """
        start, last = next(self._next), len(self._bases) - 1
        for offset in range(last + 1):
            base = self._bases[(start + offset) % len(self._bases)]
            try:
                async with session.post(f"{base}{path}", data=body, headers=headers) as response:
                    return response.status, await response.text()
            except aiohttp.ClientConnectorError:
                if offset == last:
                    raise
        raise aiohttp.ClientConnectionError("nobody is there")

    async def close(self) -> None:
        """End every delivery."""
        try:
            await super().close()
        finally:
            if self._session is not None:
                await self._session.close()


def _read(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return None
    return value
