"""A receiver of webhooks on this machine, which answers as a test tells it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@dataclass
class Received:
    """One attempt."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.body)


def is_signed(one: Received, secret: str = SECRET) -> bool:
    """Verify a signature as a receiver does, by nothing of askback."""
    signed = b".".join((one.id.encode(), one.headers["webhook-timestamp"].encode(), one.body))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return f"v1,{expected}" in one.headers["webhook-signature"].split(" ")


Answer = int | web.Response | float
"""A status, a response, or a number of seconds after which the answer is 200."""


@dataclass
class Receiver:
    """Answers with `answers` in their order, and with 204 afterwards."""

    answers: list[Answer] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    url: str = ""
    on_request: Callable[[], None] = lambda: None

    async def handle(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append(Received(headers, await request.read()))
        self.on_request()
        answer = self.answers.pop(0) if self.answers else 204
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            answer = 200
        return answer if isinstance(answer, web.Response) else web.Response(status=answer)


@asynccontextmanager
async def receiving(*answers: Answer, port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Receiver]:
    """Listen until the block ends, over TLS with the certificate of `tls`."""
    receiver = Receiver([*answers])
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls)
        await site.start()
        receiver.url = f"http{'' if tls is None else 's'}://127.0.0.1:{runner.addresses[0][1]}/outcomes/"
        yield receiver
    finally:
        await runner.cleanup()
