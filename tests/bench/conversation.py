"""The cost of a conversation in the model's tokens and requests: ten questions, one after the other.

The service is local, and no tokenizer of the model is public, so tokens are estimated: four characters are one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

from askback_sandbox.model.request import ReceivedRequest
from askback_sandbox.model.script import Turn

from .bot import running_bot
from .figures import Figure, median
from .runner import Bench
from .stage import AskingModel, Stage, ask_colour

QUESTIONS = 10
CHARACTERS = 4
"""Characters of a token."""
MOST_TOKENS = 1_200
"""The largest number of tokens that askback may add to a request: its system prompt and its tool."""
PER_CENT = 100
SETTINGS = {"ASKBACK_QUESTION_PACE": "0s"}
"""Without the pause between two questions of a conversation, which changes no request."""


class ManyQuestions(AskingModel):
    """A model that asks again after each answer. It keeps the requests."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.requests: list[ReceivedRequest] = []

    def _next(self, asked: ReceivedRequest) -> Turn:
        self.requests.append(asked)
        return ask_colour() if len(asked.turns) < self.count else super()._next(asked)


async def run(bench: Bench) -> AsyncIterator[Figure]:
    count = bench.times(QUESTIONS, 2)
    model = ManyQuestions(count)
    async with Stage.open("slack", model) as stage, running_bot("slack", stage, bench.folder / "slack", **SETTINGS):
        card = await stage.asks()
        for number in range(count):
            await stage.press(card)
            if number < count - 1:
                card = await stage.next_card(card)
        await stage.calm(card)
    first = model.requests[0].body
    own = (len(str(first["system"])) + len(json.dumps(first["tools"]))) / CHARACTERS
    yield Figure(
        what="askback's part of a request: the system prompt and the schema of AskUserQuestion",
        median=own, unit="tokens", n=1, goal=f"≤ {MOST_TOKENS:,} tokens", met=own <= MOST_TOKENS,
        note=f"estimated: {CHARACTERS} characters are one",
    )  # fmt: skip
    requests = len(model.requests)
    yield Figure(
        what=f"requests of a conversation with {count} questions", median=requests, unit="", n=1,
        goal=f"{count + 1}: no more than the model's own turns", met=requests == count + 1,
    )  # fmt: skip
    shares = _list_cached_shares(model.requests)
    yield Figure(
        what=f"part of the request before that a prompt cache serves again, {count} questions",
        median=median(shares), unit="%", n=len(shares), p99=min(shares), goal="100 %", met=min(shares) == PER_CENT,
        note="a request begins with all of the one before it",
    )  # fmt: skip


def _list_cached_shares(requests: Sequence[ReceivedRequest]) -> list[float]:
    """Return the part of each request, in percent, with which the next one begins."""
    texts = [_serialize(request) for request in requests]
    return [_count_equal(one, after) / len(one) * PER_CENT for one, after in pairwise(texts)]


def _count_equal(one: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _serialize(request: ReceivedRequest) -> str:
    """Return what the cache compares: the tools, the system prompt and the messages, in this order."""
    parts = [request.body.get("tools"), request.body.get("system"), *request.messages]
    return "\n".join(json.dumps(part, default=dict) for part in parts)
