"""`askback show` names the model's call, and what the model got for it, each in a line."""

from __future__ import annotations

import json
from pathlib import Path

from askback import tool
from askback.domain.actions import Choose, EditArguments, FieldAnswer
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from support.approvals import APPROVE, TEAM, Deploying, to
from support.board import BEN, Board
from support.engine import engine, question

from .operators import HOSTILE, askback


async def test_the_model_s_question_and_its_answer(tmp_path: Path, database: Path) -> None:
    async with Services(port=0) as services:
        services.model.script(turn(question("Which colour?")), turn("Thanks."))
        async with engine(tmp_path, Board(), services) as one:
            await one.write("paint it")
            (ask,) = await one.asked()
            open_lines = askback("show", ask.id).stdout.splitlines()
            await one.press(ask, Choose(index=0))
            await one.says("Thanks.")
    assert "call     AskUserQuestion · 1 question · Which colour" in open_lines
    assert not any(line.startswith("result") for line in open_lines)
    label = ask.interview.form.questions[0].options[0].label
    assert f'"{label}"' in next(line for line in _show(ask.id) if line.startswith("result   Answered · "))
    shown = json.loads(askback("show", ask.id, "--json").stdout)["call"]
    assert (shown["tool"], shown["summary"]) == ("AskUserQuestion", "AskUserQuestion · 1 question · Which colour")


async def test_a_call_that_people_approved_and_nothing_in_it_is_obeyed(tmp_path: Path, database: Path) -> None:
    deploying = Deploying()
    async with Services(port=0) as services:
        services.model.script(turn(to(HOSTILE)), turn("Thanks."))
        async with engine(tmp_path, Board(), services, own=(deploying.tool,), approvals=TEAM) as one:
            await one.write("deploy it")
            (ask,) = await one.asked()
            await one.press(ask, APPROVE, BEN)
            await one.says("Thanks.")
    lines = _show(ask.id)
    assert any(line.startswith("call") and "deploy · {" in line for line in lines)
    assert any(line.startswith("result") and "deployed to Red" in line for line in lines)
    assert not {"\x1b", "\x9b", "\x07"} & {*"\n".join(lines)}


async def test_what_people_changed_about_a_call(tmp_path: Path, database: Path) -> None:
    @tool(approval=True, edit=True)
    def deploy(where: str) -> str:
        return f"deployed to {where}"

    async with Services(port=0) as services:
        services.model.script(turn(to("staging")), turn("Thanks."))
        async with engine(tmp_path, Board(), services, own=(deploy,), approvals=TEAM) as one:
            await one.write("deploy it")
            (ask,) = await one.asked()
            await one.press(ask, EditArguments(answers=(FieldAnswer(index=0, text="[bold]pro"),)), BEN)
    lines = _show(ask.id)
    assert any(line.endswith('Ben (U2) where: staging → "[bold]pro"') for line in lines)
    assert any(line.endswith("Ben (U2) changed the arguments") for line in lines)
    (change,) = json.loads(askback("show", ask.id, "--json").stdout)["changes"]
    assert (change["name"], change["before"], change["after"]) == ("where", "staging", "[bold]pro")


def _show(ask_id: str) -> list[str]:
    return askback("show", ask_id).stdout.splitlines()
