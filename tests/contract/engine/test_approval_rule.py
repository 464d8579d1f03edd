"""A tool's own rule, which says for each call if people have to approve it. Only a clear “no” lets a call run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askback import ToolContext, tool
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.approvals import APPROVE, CID, PAIR, TEAM, told
from support.board import ANN, BEN, Board
from support.engine import engine

pytestmark = pytest.mark.usefixtures("stored")


class Till:
    """A tool that pays back, and what it did: each amount, and who had approved it."""

    def __init__(self, rule: Callable[..., Any], *, is_async: bool = False) -> None:
        self.paid: list[tuple[int, tuple[str, ...]]] = []

        @tool(approval="Refund {amount}?", approval_if=rule)
        def refund(amount: int, context: ToolContext, currency: str = "EUR") -> str:
            """Pay back."""
            self.paid.append((amount, tuple(person.name for person in context.approvers)))
            return f"{amount} {currency} paid"

        @tool(approval="Refund {amount}?", approval_if=rule)
        async def refund_async(amount: int, context: ToolContext, currency: str = "EUR") -> str:
            """Pay back."""
            return refund(amount, context, currency)

        self.tool = refund_async if is_async else refund
        self.name = "refund_async" if is_async else "refund"


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_call_that_the_rule_exempts_runs_at_once_and_the_tool_learns_who_approved_another(
    tmp_path: Path, board: Board, services: Services, is_async: bool
) -> None:
    till = Till(lambda amount: amount > 100, is_async=is_async)
    services.model.script(
        turn(call(till.name, amount=7)), turn(call(till.name, amount=100), call(till.name, amount=700)), turn("Thanks.")
    )
    async with engine(tmp_path, board, services, own=(till.tool,), approvals=PAIR) as one:
        await one.write("refund them")
        (ask,) = await one.asked()
        assert ask.interview.form.questions[0].prompt.startswith("Refund 700?")
        await board.until(lambda: till.paid == [(7, ()), (100, ())])
        await one.press(ask, APPROVE, CID)
        await one.press(ask, APPROVE, BEN)
        *_, first, second = await told(one, services)
    assert (first["content"], second["content"]) == ("100 EUR paid", "700 EUR paid")
    assert till.paid[2:] == [(700, ("Cid", "Ben"))]
    assert ANN.name not in till.paid[2][1]


def fail(**_: object) -> bool:
    raise RuntimeError("the price list is gone")


@pytest.mark.parametrize("rule", [fail, lambda amount: None, lambda amount: 0, lambda amount: ""])
async def test_anything_but_a_clear_no_asks_people(
    tmp_path: Path, board: Board, services: Services, caplog: pytest.LogCaptureFixture, rule: Callable[..., Any]
) -> None:
    till = Till(rule)
    services.model.script(turn(call("refund", amount=0)), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(till.tool,), approvals=TEAM) as one:
        await one.write("refund it")
        (ask,) = await one.asked()
        assert till.paid == []
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
    assert till.paid == [(0, ("Ben",))]
    failed = [one for one in caplog.records if getattr(one, "action", "") == "approval_rule_failed"]
    assert [one.levelno for one in failed] == ([logging.ERROR] if rule is fail else [])


async def test_the_rule_sees_what_the_tool_would_get(tmp_path: Path, board: Board, services: Services) -> None:
    seen: list[dict[str, object]] = []

    def note(**arguments: object) -> bool:
        seen.append(arguments)
        return False

    till = Till(note)
    # The model's text becomes a number, as the tool's types say, and the default is filled in.
    services.model.script(turn(call("refund", amount="7")), turn(call("refund", amount="many")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(till.tool,), approvals=TEAM) as one:
        await one.write("refund it")
        *_, result = await told(one, services)
    assert result["is_error"] is True
    assert "amount" in result["content"]
    assert till.paid == [(7, ())]
    assert seen == [{"amount": 7, "currency": "EUR"}] * 2, "before anybody is asked, and before the call runs"


async def test_a_rule_that_changes_its_mind_before_the_call_runs_stops_it(
    tmp_path: Path, board: Board, services: Services
) -> None:
    answers = [False, True]
    till = Till(lambda amount: answers.pop(0) if answers else True)
    services.model.script(turn(call("refund", amount=7)), turn(call("refund", amount=7)), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(till.tool,), approvals=TEAM) as one:
        await one.write("refund it")
        (ask,) = await one.asked()
        assert till.paid == []
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
    assert till.paid == [(7, ("Ben",))]
