"""An HTTP client of the people's routes: it acts as a person and follows every change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Self

import aiohttp
from pydantic import JsonValue, TypeAdapter, ValidationError

from askback_sandbox.json_values import JsonObject, as_object, objects

from .platform import Platform, Request
from .scene import Scene

__all__ = ["ApiClient", "TooLate"]

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
_WAIT = 20
_LOOK_AGAIN = 1.0


class TooLate(Exception):
    """The awaited state did not occur in time, or the services went away."""


class ApiClient:
    """A client of the local services that follows one platform."""

    def __init__(self, base_url: str, platform: Platform) -> None:
        self.platform = platform
        self._base = base_url.rstrip("/")
        self._http: aiohttp.ClientSession | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._changed = asyncio.Event()
        self._broken: str | None = None
        self.model_log: list[JsonObject] = []
        self.scene = Scene(bot="")

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, sock_connect=5))
        try:
            self.scene = await self.look()
            self.model_log = objects(await self._get("/log/model"))
        except BaseException:
            await self._http.close()
            raise
        self._tasks = [asyncio.create_task(self._watch_platform()), asyncio.create_task(self._watch_model())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            if self._http is not None:
                await self._http.close()

    async def look(self) -> Scene:
        """Return the current scene."""
        return self.platform.scene(as_object(await self._get(f"{self.platform.people_path}/state")))

    async def api_log(self) -> list[JsonObject]:
        """Return the bot's calls of the platform's API, with the answers."""
        return objects(await self._get(self.platform.log))

    async def ran(self) -> list[JsonObject]:
        """Return the log of the tool runs so far."""
        return objects(await self._get("/log/ran"))

    async def act(self, request: Request) -> JsonObject:
        """Send a person's act and return the answer."""
        return await self._post(f"{self.platform.people_path}/{request.route}", request.body)

    async def listen(self) -> None:
        """Bring the model's log up to date, because it arrives separately from the scene and perhaps later."""
        self._heard(objects(await self._get(f"/log/model?after={self._newest()}")))

    async def order(self, **body: JsonValue) -> JsonObject:
        """Send orders to the local model, such as its scripts."""
        return await self._post("/model/script", body)

    async def until(self, condition: Callable[[Scene], bool], within: float) -> None:
        """Return when the condition holds for the scene; it is checked after each change, and each second.

        Raises:
            TooLate: it did not hold within that many seconds, or the services went away.
        """
        try:
            async with asyncio.timeout(within):
                while True:
                    self._changed.clear()
                    self.scene = await self.look()
                    if condition(self.scene):
                        return
                    if self._broken is not None:
                        raise TooLate(self._broken)
                    # Some states end by time alone and send no event: typing, a status.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_AGAIN):
                            await self._changed.wait()
        except TimeoutError:
            raise TooLate(f"not within {within:g} s") from None

    @property
    def _session(self) -> aiohttp.ClientSession:
        assert self._http is not None, "use it as a context manager"
        return self._http

    async def _get(self, path: str) -> JsonValue:
        async with self._session.get(self._base + path) as response:
            return await _json_of(response)

    async def _post(self, path: str, body: JsonObject) -> JsonObject:
        async with self._session.post(self._base + path, json=body) as response:
            return as_object(await _json_of(response))

    async def _watch_platform(self) -> None:
        async with self._watching(), self._session.get(f"{self._base}{self.platform.people_path}/events") as events:
            async for line in events.content:
                if line.startswith(b"data:"):
                    self._changed.set()
            self._broken = f"{self.platform.name} went away"
            self._changed.set()

    async def _watch_model(self) -> None:
        async with self._watching():
            while True:
                self._heard(objects(await self._get(f"/log/model?after={self._newest()}&wait={_WAIT}")))

    def _newest(self) -> int:
        return max((_number(entry) for entry in self.model_log), default=0)

    def _heard(self, found: Sequence[JsonObject]) -> None:
        """Add the new entries only, because two requests may have fetched the same ones."""
        newest = self._newest()
        news = [entry for entry in found if _number(entry) > newest]
        if news:
            self.model_log += news
            self._changed.set()

    @asynccontextmanager
    async def _watching(self) -> AsyncGenerator[None]:
        try:
            yield
        except (aiohttp.ClientError, TooLate) as error:
            self._broken = f"the services went away: {error}"
            self._changed.set()


async def _json_of(response: aiohttp.ClientResponse) -> JsonValue:
    try:
        return _JSON.validate_json(await response.read())
    except ValidationError:
        raise TooLate(f"{response.url.path} is no route of the services: HTTP {response.status}") from None


def _number(entry: JsonObject) -> int:
    number = entry.get("recorded")
    return number if isinstance(number, int) else 0
