"""One trace across a restart, a correct count of open questions after one, and no effect without an SDK."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.trace import StatusCode

from askback.domain.actions import Choose
from askback.domain.form import Form, Option, Question
from askback.domain.who import Who
from askback.observability import telemetry
from askback.store.errors import StoreUnavailable
from askback_sandbox.model.script import Fault, turn
from askback_sandbox.services import Services
from support.board import HERE, Board
from support.engine import engine, eventually, question
from support.telemetry_backend import Backend, linked, parents, reported

COLOURS = (Option(value="green", label="Green"), Option(value="blue", label="Blue"))
FORM = Form(questions=(Question(id="colour", prompt="Which colour?", options=COLOURS),))


@pytest.fixture
def backend() -> Iterator[Backend]:
    with reported() as backend:
        yield backend


async def test_a_trace_goes_on_after_a_restart(backend: Backend, services: Services, tmp_path: Path) -> None:
    board = Board()
    services.model.script(turn(question()), turn("Green it is."), when="colour")
    async with engine(tmp_path, board, services) as before:
        await before.write("a colour, please")
        (asked,) = await before.asked()
        await before.recorded(asked)
    async with engine(tmp_path, board, services) as after:
        with telemetry.observe_open_asks(after.store.count_open):
            assert [point.value for point in backend.points("askback.asks.open")] == [1]
            await after.press(asked, Choose(index=0))
            assert [point.value for point in backend.points("askback.asks.open")] == [0]
        await after.says("Green it is.")
        await eventually(lambda: _seen(backend, "askback.turn", 2))
    assert len(backend.traces()) == 1
    spans = backend.spans()
    assert set(parents(spans)) == {
        ("askback.message", None),
        ("askback.turn", "askback.message"),
        ("askback.model", "askback.turn"),
        ("askback.ask", "askback.turn"),
        ("askback.deliver", "askback.ask"),
        ("askback.wait", "askback.ask"),
        ("askback.click", "askback.ask"),
        ("askback.turn", "askback.ask"),
        ("askback.tool_result", "askback.turn"),
    }
    assert linked(backend.span("askback.wait"), spans) == ["askback.click"]


async def test_a_turn_that_a_restart_broke_off_is_begun_again_in_its_trace(
    backend: Backend, services: Services, tmp_path: Path
) -> None:
    board = Board()
    services.model.script(turn("At last, a text.", Fault(kind="stall", times=1)), when="colour")
    async with engine(tmp_path, board, services) as before:
        await before.write("a colour, please")
        await board.until(lambda: board.texts())
    async with engine(tmp_path, board, services) as after:
        await after.says("At last, a text.")
        await eventually(lambda: _seen(backend, "askback.turn", 2))
    broken, whole = backend.spans("askback.turn")
    assert (broken.attributes or {})["askback.turn.resumed"] is False
    assert (whole.attributes or {})["askback.turn.resumed"] is True
    assert (broken.attributes or {})["error.type"] == "CancelledError"
    assert broken.status.status_code is StatusCode.UNSET
    assert len(backend.traces()) == 1


async def test_a_question_that_nobody_answers_is_measured_and_joins_its_trace(backend: Backend, tmp_path: Path) -> None:
    async with engine(tmp_path, Board()) as one:
        outcome = await one.manager.ask(FORM, to=HERE, who=Who(anyone=True), timeout=0.05)
    assert outcome.status == "timed_out"
    (point,) = backend.points("askback.ask.duration")
    assert point.attributes == {"status": "timed_out"}
    assert point.value >= 0.05
    wait = backend.span("askback.wait")
    assert wait.parent is not None
    assert wait.parent.span_id == backend.span("askback.ask").context.span_id
    assert not wait.links


async def test_open_questions_are_counted_from_wherever_an_exporter_runs(backend: Backend, tmp_path: Path) -> None:
    assert backend.points("askback.asks.open") == [], "nothing runs, so nothing is known"
    async with engine(tmp_path, Board(), work=False) as one:
        with telemetry.observe_open_asks(one.store.count_open):
            asking = asyncio.create_task(one.manager.ask(FORM, to=HERE, who=Who(anyone=True)))
            await eventually(one.manager.list_open_asks)
            in_loop = backend.points("askback.asks.open")
            beside = await asyncio.to_thread(backend.points, "askback.asks.open")
            assert [point.value for point in (*in_loop, *beside)] == [1, 1]
            asking.cancel()
            await asyncio.wait([asking])


async def test_a_database_that_cannot_be_read_is_named_and_breaks_no_export(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def unavailable() -> int:
        raise StoreUnavailable("The disk is gone.")

    with telemetry.observe_open_asks(unavailable), caplog.at_level(logging.WARNING, "askback"):
        assert backend.points("askback.asks.open") == []
    assert [getattr(record, "action", None) for record in caplog.records] == ["count_failed"]


def test_a_parent_that_cannot_be_read_begins_a_trace_of_its_own(backend: Backend) -> None:
    for wrong in ("", "00-0-0-0", "rubbish", f"00-{'0' * 32}-{'0' * 16}-01"):
        with telemetry.trace_turn(wrong, [], resumed=False):
            pass
    assert [span.parent for span in backend.spans("askback.turn")] == [None] * 4


async def test_without_an_sdk_nothing_is_kept_and_everything_works(services: Services, tmp_path: Path) -> None:
    board = Board()
    services.model.script(turn(question()), turn("Green it is."), when="colour")
    async with engine(tmp_path, board, services) as one:
        await one.write("a colour, please")
        (asked,) = await one.asked()
        conversation = await one.store.find_conversation(HERE)
        assert conversation is not None
        assert conversation.trace is None
        assert asked.trace is None
        await one.press(asked, Choose(index=0))
        await one.says("Green it is.")


def test_the_sdk_need_not_be_installed() -> None:
    script = """
import sys
class NoSdk:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("opentelemetry.sdk"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoSdk())
from datetime import UTC, datetime
import askback.runtime.app
from askback.observability import telemetry
now = datetime.now(UTC)
with telemetry.trace_turn(None, [], resumed=False), telemetry.trace_model_call("model") as call:
    call.record_result("end_turn", read=1, cached=0, written=1)
    assert telemetry.start_ask_trace("here") is None
    telemetry.record_settled(None, "answered", now, now)
    telemetry.record_ack("here", "press", 0.0)
assert not [name for name in sys.modules if name.startswith("opentelemetry.sdk")]
print("well")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


async def _seen(backend: Backend, name: str, count: int) -> bool:
    return len(backend.spans(name)) >= count
