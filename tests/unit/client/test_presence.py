"""A process reports the asks for which it waits: at once, then now and then, and at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from askback.client import presence
from askback.client.presence import Presence
from askback.domain.wait_report import WaitReport
from askback.errors import OperatorError


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(30.0):
        while not holds():  # noqa: ASYNC110 - reports come at times of their own
            await asyncio.sleep(0.005)


async def test_a_caller_that_polls_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "END_SECONDS", 0.3)
    monkeypatch.setattr(presence, "PAUSE_SECONDS", 0.0)
    reports: list[WaitReport] = []

    async def record(report: WaitReport) -> None:
        reports.append(report)

    waiting = Presence(record)
    async with waiting.running():
        for _ in range(10):
            with waiting.wait("ask"):
                await asyncio.sleep(0.02)
        assert reports == [WaitReport(waiting=("ask",))]
        await until(lambda: len(reports) > 1)
        assert reports[1:] == [WaitReport(ended=("ask",))]
        with waiting.wait("ask"):
            await until(lambda: len(reports) > 2)
        assert reports[2:] == [WaitReport(waiting=("ask",))]
    assert reports[3:] == [WaitReport(ended=("ask",))], "at once, since the process ends"


async def test_waits_are_renewed_and_a_report_that_failed_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("RENEWAL_SECONDS", 0.2), ("RETRY_SECONDS", 0.05), ("PAUSE_SECONDS", 0.0)):
        monkeypatch.setattr(presence, name, seconds)
    reports: list[WaitReport] = []

    async def record(report: WaitReport) -> None:
        reports.append(report)
        if len(reports) in {1, 3}:
            raise OperatorError("The database is away.")

    waiting = Presence(record)
    async with waiting.running():
        with waiting.wait("one", "with wait"), waiting.wait("two", "with process"):
            await until(lambda: len(reports) >= 6)
        both = WaitReport(waiting=("one", "two"), lost=frozenset({"one", "two"}))
        assert reports[:6] == [both] * 6
        waiting.poll("three")
        waiting.forget("one")
        del reports[:]
        await asyncio.sleep(0.1)
    assert WaitReport(ended=("three", "two"), lost=frozenset({"two"})) == reports[-1]


async def test_a_process_reports_which_answers_only_its_later_calls_can_receive_until_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, seconds in (("END_SECONDS", 0.05), ("RENEWAL_SECONDS", 0.3), ("PAUSE_SECONDS", 0.0)):
        monkeypatch.setattr(presence, name, seconds)
    reports: list[WaitReport] = []

    async def record(report: WaitReport) -> None:
        reports.append(report)

    waiting = Presence(record)
    async with waiting.running():
        with (
            waiting.wait("any"),
            waiting.wait("later", "with process"),
            waiting.wait("now", "with wait"),
            waiting.wait("settled", "with process"),
        ):
            await until(lambda: reports)
        await until(lambda: reports[-1].ended)
        assert reports[-1] == WaitReport(
            ended=("any", "later", "now", "settled"), lost=frozenset({"now"}), kept=frozenset({"later", "settled"})
        )
        waiting.forget("settled")
        del reports[:]
        await until(lambda: reports)
        assert reports == [WaitReport(kept=frozenset({"later"}))], "renewed, so that others notice a kill"
        with waiting.wait("later", "with process"):
            await until(lambda: reports[-1].waiting)
            assert reports[-1] == WaitReport(waiting=("later",), lost=frozenset({"later"}))
        await until(lambda: reports[-1].ended)
    assert reports[-1] == WaitReport(lost=frozenset({"later"}))


@pytest.mark.parametrize("renewed", [False, True])
async def test_callers_that_begin_during_a_report_are_in_the_next(
    monkeypatch: pytest.MonkeyPatch, renewed: bool
) -> None:
    times = {"END_SECONDS": 0.05, "PAUSE_SECONDS": 0.0, "RENEWAL_SECONDS": 0.3 if renewed else 25.0}
    for name, seconds in times.items():
        monkeypatch.setattr(presence, name, seconds)
    reports: list[WaitReport] = []
    goes_on = asyncio.Event()

    async def record(report: WaitReport) -> None:
        reports.append(report)
        if "again" in report.ended:
            await goes_on.wait()

    waiting = Presence(record)
    async with waiting.running():
        with waiting.wait("again"):
            await until(lambda: reports)
        await until(lambda: "again" in reports[-1].ended)
        with waiting.wait("again"), waiting.wait("other"):
            waiting.poll("polls")
            del reports[:]
            goes_on.set()
            await until(lambda: reports)
            assert reports[0].waiting == ("again", "other", "polls")
