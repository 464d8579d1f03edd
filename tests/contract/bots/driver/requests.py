"""The requests that the model received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .desk import Desk
from .waits import until


@dataclass(frozen=True)
class Told:
    """One request to the model."""

    messages: tuple[dict[str, Any], ...]

    @property
    def news(self) -> list[dict[str, Any]]:
        """The blocks of the newest message."""
        return list(self.messages[-1]["content"])

    @property
    def results(self) -> dict[str, str]:
        """The newest message's tool results, by the id of their call."""
        return {block["tool_use_id"]: block["content"] for block in self.news if block["type"] == "tool_result"}

    @property
    def result(self) -> str:
        (one,) = self.results.values()
        return one

    @property
    def texts(self) -> list[str]:
        """The texts of people in the newest message."""
        return [block["text"] for block in self.news if block["type"] == "text"]

    @property
    def all_texts(self) -> list[str]:
        """The texts of people in the whole conversation."""
        return [
            block["text"]
            for message in self.messages
            if message["role"] == "user"
            for block in message["content"]
            if block["type"] == "text"
        ]


def told(desk: Desk, about: str) -> list[Told]:
    """Return the requests of conversations whose first message contains `about`, except refused ones."""
    found: list[Told] = []
    for exchange in desk.model.log:
        request: Any = exchange.request
        if exchange.status != 200 or not isinstance(request, dict):
            continue
        one = Told(tuple(request["messages"]))
        if one.all_texts and about in one.all_texts[0]:
            found.append(one)
    return found


async def turn_of(desk: Desk, about: str, number: int) -> Told:
    """Return the model's `number`th request of a conversation, counted from 1, once it exists."""

    def heard() -> Told | None:
        requests = told(desk, about)
        return requests[number - 1] if len(requests) >= number else None

    return await until(heard, f"request {number} of {about!r}; there are {len(told(desk, about))}")
