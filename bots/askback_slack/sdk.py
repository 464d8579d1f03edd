"""What of slack_sdk and slack_bolt is used, with the types that those leave open."""

from __future__ import annotations

__all__ = ["Answer", "Client", "Listener", "Listeners"]

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias

Listener: TypeAlias = Callable[..., Awaitable[object]]
"""slack-bolt looks at the names of its arguments, and gives it what they stand for."""


class Answer(Protocol):
    """`AsyncSlackResponse`."""

    @property
    def data(self) -> object: ...
    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...


class Client(Protocol):
    """`AsyncWebClient`."""

    def api_call(
        self,
        api_method: str,
        *,
        http_verb: str = "POST",
        json: Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
    ) -> Awaitable[Answer]: ...


class Listeners(Protocol):
    """`AsyncApp`, as far as listeners are registered."""

    def event(self, event: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
    def action(self, constraints: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
    def options(self, constraints: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
    def view(self, constraints: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
    def view_closed(self, constraints: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
