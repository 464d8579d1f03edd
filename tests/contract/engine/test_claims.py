"""A process resumes a framework inside a claim: what it took is handed over, and nothing else is lost or repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from askback.domain.hand_over import CallId, ClaimResult, HandOver
from askback.doors import hand_over
from askback.doors.hand_over import HandOvers, NotClaimed, OutcomeUnknown
from askback.store.errors import StoreBusy
from askback.store.postgres.address import PostgresAddress
from askback.store.store import Store
from support.engine import eventually
from support.stores import url_in

pytestmark = pytest.mark.usefixtures("stored")

AT = datetime(2026, 11, 27, 9, tzinfo=UTC)
FIRST, SECOND = (CallId(framework="langgraph", run="thread", call=name) for name in ("first", "second"))


@pytest.fixture
async def outcomes(store: Store, tmp_path: Path) -> HandOvers:
    """The hand-overs of another process on the same database, with the outcomes of two calls."""
    for call in (FIRST, SECOND):
        await store.record_hand_over(call, "ask", "digest")
    url = url_in(tmp_path)
    return HandOvers(tmp_path / "askback.db" if url is None else PostgresAddress.read(url))


async def states(outcomes: HandOvers) -> list[str]:
    return [one.state for one in await outcomes.list_of_run("langgraph", "thread")]


async def test_what_a_framework_took_inside_the_claim_is_handed_over_and_never_again(outcomes: HandOvers) -> None:
    async with outcomes.claim({FIRST: "digest", SECOND: "digest"}):
        assert await states(outcomes) == ["claimed", "claimed"]
        with pytest.raises(NotClaimed, match="Another process is handing it over now") as refused:
            async with outcomes.claim({SECOND: "digest"}):
                raise AssertionError("the framework continued twice")
        assert refused.value.result == "taken"
    assert await states(outcomes) == ["acknowledged", "acknowledged"]
    with pytest.raises(NotClaimed, match="handed over before"):
        async with outcomes.claim({FIRST: "digest"}):
            raise AssertionError("the framework continued twice")


@pytest.mark.parametrize("error", [RuntimeError("no space left"), asyncio.CancelledError()])
async def test_a_framework_that_fails_or_is_cancelled_leaves_unknown_what_it_did(
    outcomes: HandOvers, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        async with outcomes.claim({FIRST: "digest"}):
            raise error
    assert await states(outcomes) == ["unknown", "asked"]


async def test_a_framework_that_took_nothing_leaves_the_outcome_for_the_next(outcomes: HandOvers) -> None:
    async with outcomes.claim({FIRST: "digest"}, lambda: False):
        pass
    assert await states(outcomes) == ["asked", "asked"]
    with pytest.raises(RuntimeError):
        async with outcomes.claim({FIRST: "digest"}, lambda: False):
            raise RuntimeError("it did not start")
    assert await states(outcomes) == ["asked", "asked"]


async def test_a_claim_is_renewed_in_time_for_as_long_as_the_framework_works(
    outcomes: HandOvers, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hand_over.CLAIM_SECONDS / hand_over.RENEWALS == 10.0, "two of them may fail"
    monkeypatch.setattr(hand_over, "CLAIM_SECONDS", 0.3)

    async def is_renewed() -> bool:
        return await _read_end(store) > 1

    async with outcomes.claim({FIRST: "digest"}):
        for _ in range(2):
            await _lapse(store)
            await eventually(is_renewed)
        assert await states(outcomes) == ["claimed", "asked"]
    assert await states(outcomes) == ["acknowledged", "asked"]


async def test_a_process_that_was_too_slow_to_renew_says_so_once_and_still_ends_its_claim(
    outcomes: HandOvers, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hand_over, "CLAIM_SECONDS", 0.3)

    def losses() -> list[str]:
        return [record.message for record in caplog.records if getattr(record, "action", "") == "claim_lost"]

    async def is_said() -> bool:
        return bool(losses())

    async with outcomes.claim({FIRST: "digest"}):
        await _lapse(store)
        await store.expire_hand_overs("langgraph")
        await eventually(is_said)
        await asyncio.sleep(0.3)
    assert len(losses()) == 1
    assert await states(outcomes) == ["acknowledged", "asked"]


async def test_an_error_while_a_claim_is_renewed_does_not_end_it(
    outcomes: HandOvers, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hand_over, "CLAIM_SECONDS", 0.3)
    renew, failures = Store.renew_hand_overs, [StoreBusy("The disk is slow.") for _ in range(2)]

    async def fail_twice(store: Store, holder: str) -> bool:
        if failures:
            raise failures.pop()
        return await renew(store, holder)

    monkeypatch.setattr(Store, "renew_hand_overs", fail_twice)

    async def is_renewed() -> bool:
        return await _read_end(store) > 1

    async with outcomes.claim({FIRST: "digest"}):
        await _lapse(store)
        await eventually(is_renewed)
    assert [getattr(record, "action", "") for record in caplog.records].count("claim_not_renewed") == 2
    assert await states(outcomes) == ["acknowledged", "asked"]


@pytest.mark.parametrize("in_doubt", [2, 3])
async def test_a_claim_whose_commit_is_in_doubt_is_tried_again_under_the_same_name_and_not_for_ever(
    outcomes: HandOvers, monkeypatch: pytest.MonkeyPatch, in_doubt: int
) -> None:
    claim, holders = Store.claim_hand_overs, list[str]()

    async def lose_answers(store: Store, digests: Mapping[CallId, str], holder: str, *, exclusive: bool) -> ClaimResult:
        holders.append(holder)
        result = await claim(store, digests, holder, exclusive=exclusive)
        if len(holders) <= in_doubt:
            raise StoreBusy("The disk took too long.", in_doubt=True)
        return result

    monkeypatch.setattr(Store, "claim_hand_overs", lose_answers)
    if in_doubt == 3:
        with pytest.raises(StoreBusy):
            await outcomes.claim_once(FIRST, "digest", "me")
    else:
        assert await outcomes.claim_once(FIRST, "digest", "me") == "claimed"
    assert holders == ["me"] * 3
    assert await states(outcomes) == ["claimed", "asked"]


async def test_a_claim_that_certainly_failed_is_not_tried_again(
    outcomes: HandOvers, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 0

    async def refuse(*_: Any, exclusive: bool) -> ClaimResult:
        nonlocal attempts
        attempts += 1
        raise StoreBusy("The disk is slow.")

    monkeypatch.setattr(Store, "claim_hand_overs", refuse)
    with pytest.raises(StoreBusy):
        async with outcomes.claim({FIRST: "digest"}):
            raise AssertionError("nothing was claimed")
    assert attempts == 1


async def test_the_error_of_the_framework_is_not_hidden_if_the_end_of_its_claim_cannot_be_recorded(
    outcomes: HandOvers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(*_: Any) -> bool:
        raise StoreBusy("The disk is slow.")

    monkeypatch.setattr(Store, "abandon_hand_overs", refuse)
    with pytest.raises(RuntimeError, match="no space left"):
        async with outcomes.claim({FIRST: "digest"}):
            raise RuntimeError("no space left")
    assert "claim_not_ended" in {getattr(record, "action", "") for record in caplog.records}


@pytest.mark.parametrize(
    ("since", "words"), [(AT, "langgraph at 2026-11-27 09:00 UTC (thread)"), (None, "langgraph (thread)")]
)
def test_an_unknown_outcome_names_the_question_the_run_and_since_when_and_what_to_do(
    since: datetime | None, words: str
) -> None:
    lost = HandOver(
        id=FIRST, ask_id="the-question", digest="digest", state="unknown", holder="host:1:a", claimed_at=since
    )
    told = str(OutcomeUnknown(lost, "To go on, call resume(again=True)."))
    assert told.startswith(f"The answer to the question the-question was handed over to {words}, and")
    assert told.endswith("check that first. To go on, call resume(again=True).")


async def _lapse(store: Store) -> None:
    """Let the time of every claim pass."""
    past = text("UPDATE hand_overs SET claimed_until = 1 WHERE state = 'claimed'")
    await store._database.run(lambda connection: connection.execute(past).rowcount)


async def _read_end(store: Store) -> int:
    end = text("SELECT claimed_until FROM hand_overs WHERE state = 'claimed'")
    return await store._database.read(lambda connection: connection.execute(end).scalar_one())
