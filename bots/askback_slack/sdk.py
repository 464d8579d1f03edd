"""Types for the parts of slack_sdk and slack_bolt that are used here, where the libraries leave them open."""

from __future__ import annotations

__all__ = ["Answer", "Client", "Listener", "Listeners"]

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias

Listener: TypeAlias = Callable[..., Awaitable[object]]
"""A listener. slack-bolt passes arguments by their names."""


class Answer(Protocol):
    """The used part of `AsyncSlackResponse`."""

    @property
    def data(self) -> object: ...
    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...


class Client(Protocol):
    """The used part of `AsyncWebClient`."""

    def api_call(
        self,
        api_method: str,
        *,
        http_verb: str = "POST",
        json: Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
    ) -> Awaitable[Answer]: ...


class Listeners(Protocol):
    """The part of `AsyncApp` that registers listeners."""

    def event(self, event: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
    def options(self, constraints: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
    def view(self, constraints: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
    def view_closed(self, constraints: str | re.Pattern[str], /) -> Callable[[Listener], object]: ...
