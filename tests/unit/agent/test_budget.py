"""The tokens that a budget grants, and the measured usage of a call, for any outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from anthropic import AsyncAnthropic
from hypothesis import given
from hypothesis import strategies as st

from askback.agent.budget import MAX_ROUNDS, MIN_OUTPUT_TOKENS, Budget, Grant
from askback.agent.messages_api import ModelRequest, stream_response
from askback.agent.token_meter import TokenMeter
from askback.domain.turn import TokenUsage
from askback.errors import InvalidValue

CALLS = st.lists(
    st.tuples(
        st.integers(0, 4),  # the conversation
        st.integers(1, 6_000),  # the most that it can read
        st.floats(0, 1),  # the share of that which it reads
        st.floats(0, 1),  # the share of its limit that it writes
    ),
    max_size=40,
)
LIMITS = st.one_of(st.none(), st.integers(1, 20_000))


@given(calls=CALLS, conversation=LIMITS, day=LIMITS)
def test_calls_at_the_same_time_go_over_a_budget_by_one_call_at_most(
    calls: list[tuple[int, int, float, float]], conversation: int | None, day: int | None
) -> None:
    """Each conversation has one call at a time, so its next step is the end of that call."""
    budget = Budget(conversation=conversation, day=day)
    used = dict.fromkeys(range(5), 0)
    running: dict[int, tuple[int, int]] = {}
    over = 0
    for who, read, reads, writes in calls:
        if who in running:
            reserved, actual = running.pop(who)
            used[who] += actual - reserved
            continue
        held = sum(reserved for reserved, _ in running.values())
        grant = budget.grant(TokenUsage(conversation=used[who], today=sum(used.values()), reserved=held), read, 8_192)
        if not grant.tokens:
            assert grant.problem is not None or held, "who waits waits for a call that runs"
            continue
        assert MIN_OUTPUT_TOKENS <= grant.output_tokens <= 8_192
        assert grant.tokens == read + grant.output_tokens
        used[who] += grant.tokens
        running[who] = grant.tokens, int(read * reads) + int(grant.output_tokens * writes)
        over = max(over, read + MIN_OUTPUT_TOKENS)
        assert conversation is None or used[who] <= conversation + over
        assert day is None or sum(used.values()) <= day + over


def spent(conversation: int, today: int | None = None, reserved: int = 0) -> TokenUsage:
    return TokenUsage(conversation=conversation, today=conversation if today is None else today, reserved=reserved)


def test_without_a_budget_a_call_writes_as_much_as_it_wants() -> None:
    assert Budget().grant(spent(10**9), 5_000, 8_192) == Grant(tokens=13_192, output_tokens=8_192)
    assert Budget().grant(spent(0), 5_000, 100) == Grant(tokens=5_100, output_tokens=100)


@pytest.mark.parametrize(
    ("budget", "write"),
    [
        (Budget(conversation=10_000), 4_000),
        (Budget(day=8_000), 2_000),
        (Budget(conversation=10_000, day=8_000), 2_000),
        (Budget(conversation=7_500, day=8_000), 1_500),
        (Budget(conversation=100_000, day=100_000), 8_192),
        (Budget(conversation=3_001), MIN_OUTPUT_TOKENS),
        (Budget(day=3_001), MIN_OUTPUT_TOKENS),
    ],
)
def test_a_call_writes_what_the_smaller_budget_leaves_but_enough_for_a_sentence(budget: Budget, write: int) -> None:
    """3,000 are used, and the call reads 3,000 more."""
    assert budget.grant(spent(3_000), 3_000, 8_192) == Grant(tokens=3_000 + write, output_tokens=write)


@pytest.mark.parametrize("used", [3_000, 3_001, 9_000])
def test_what_is_used_up_ends_it_in_words_for_people(used: int) -> None:
    of_conversation = Budget(conversation=3_000, day=3_000).grant(spent(used), 10, 10)
    of_day = Budget(conversation=10_000, day=3_000).grant(spent(0, today=used), 10, 10)
    assert "This conversation has used up its budget" in (of_conversation.problem or "")
    assert "Today's budget is used up" in (of_day.problem or "")
    assert (of_conversation.tokens, of_conversation.output_tokens) == (of_day.tokens, of_day.output_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("used", "reserved", "waits"),
    [(3_000, 1, True), (3_000, 0, False), (3_005, 6, True), (3_005, 5, False), (3_001, 3_001, True)],
)
def test_a_call_waits_for_those_that_run_where_they_may_give_back_what_it_needs(
    used: int, reserved: int, waits: bool
) -> None:
    grant = Budget(day=3_000).grant(spent(0, today=used, reserved=reserved), 10, 10)
    assert grant.tokens == 0
    assert (grant.problem is None) == waits


def test_a_budget_is_one_token_at_least() -> None:
    for wrong in ({"conversation": 0}, {"day": 0}):
        with pytest.raises(InvalidValue):
            Budget(**wrong)
    assert [Budget(conversation=1).is_set, Budget(day=1).is_set, Budget().is_set] == [True, True, False]


def test_what_a_request_reads_is_estimated_at_two_characters_a_token() -> None:
    """The densest languages take two characters a token; the estimate is rounded up."""
    assert ModelRequest(model="m", system="x" * 1_001, max_tokens=100, messages=(), tools=()).input_estimate == 501


def test_the_limits_are_those_that_people_were_told() -> None:
    assert (MAX_ROUNDS, MIN_OUTPUT_TOKENS) == (25, 1024)


@asynccontextmanager
async def service(answer: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A service that records requests, sends this answer, and closes the connection."""
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heard


async def measured(url: str, *, retries: int) -> TokenMeter:
    request = ModelRequest(model="m", system="Be brief.", max_tokens=100, messages=(), tools=())
    meter = TokenMeter(1_000)

    async def follow(text: str) -> None:
        del text

    async with AsyncAnthropic(api_key="k", base_url=url, max_retries=retries) as client:
        said = await stream_response(client, request, follow, meter)
    assert said.problem is not None
    return meter


@pytest.mark.parametrize("retries", [0, 1])
async def test_every_attempt_that_got_no_answer_counts_as_read(retries: int) -> None:
    """The package repeats such attempts automatically, and the service may have billed each."""
    async with service(b"") as (url, heard):
        meter = await measured(url, retries=retries)
    assert (len(heard), meter.total_tokens) == (retries + 1, (retries + 1) * 1_000)


async def test_what_never_reached_the_service_counts_nothing() -> None:
    async with service(b"") as (url, _):
        pass
    assert (await measured(url, retries=1)).total_tokens == 0


async def test_what_the_service_refuses_counts_nothing() -> None:
    async with service(b"HTTP/1.1 529 Overloaded\r\nContent-Length: 0\r\n\r\n") as (url, heard):
        meter = await measured(url, retries=1)
    assert (len(heard), meter.total_tokens) == (2, 0)


async def test_an_answer_that_says_nothing_counts_as_read() -> None:
    async with service(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n") as (url, _):
        meter = await measured(url, retries=0)
    assert meter.total_tokens == 1_000
