"""Approvers change the arguments of a call, on both stores: what they saw last runs, once, also after a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from askback import tool
from askback.agent.approvals import ApprovalRules
from askback.domain import approval
from askback.domain.actions import EditArguments, FieldAnswer, OpenEdit
from askback.domain.apply_edit import EDITED_MEANWHILE, NOBODY_ELSE
from askback.domain.ask import Ask
from askback.domain.click_response import AskForm, FormErrors, Notice, Redraw
from askback.domain.voting import CHANGED_SINCE
from askback.domain.who import Who
from askback.store.schema import actions, asks, calls
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.approvals import APPROVE, CID, PAIR, TEAM, current, to, told
from support.board import ANN, BEN, Board
from support.engine import Engine, engine

pytestmark = pytest.mark.usefixtures("stored")

DEE = ANN.evolve(id="U4", name="Dee")
TRIO = ApprovalRules(approvers={"board": Who.from_people(BEN, CID, DEE)}, quorum=2)


class Deploying:
    """A tool whose calls people may change, and its effects."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        ran = self.ran

        @tool(approval=True, edit=True)
        def deploy(where: str, count: int = 1) -> str:
            """Deploy it."""
            ran.append(f"{where} {count}")
            return f"deployed to {where}"

        self.tool = deploy


@pytest.fixture
def deploying() -> Deploying:
    return Deploying()


def edit(where: str, count: str = "") -> EditArguments:
    return EditArguments(answers=(FieldAnswer(index=0, text=where), FieldAnswer(index=1, text=count)))


async def asked(one: Engine) -> Ask:
    await one.write("deploy it")
    (ask,) = await one.asked()
    await one.recorded(ask)
    return ask


async def test_the_changed_call_survives_a_restart_and_runs_with_what_people_saw(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        ask = await asked(one)
        assert isinstance(await one.press(ask, edit("production", "3"), BEN), Redraw)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        changed = await current(one, ask)
        assert changed.interview.question.prompt == 'Run deploy?\n{\n  "where": "production",\n  "count": 3\n}'
        assert changed.interview.step == ask.interview.step + 1
        assert deploying.ran == []
        await one.press(changed, APPROVE, CID)
        (result,) = await told(one, services)
        assert result["content"] == (
            'People approved deploy with changes: "where" is "production" and not "staging" (changed by Ben); '
            '"count" is 3 (changed by Ben). The call ran with these arguments and not with yours. They meant that, so '
            "do not repeat your call.\n\ndeployed to production"
        )
    assert deploying.ran == ["production 3"]


async def test_a_removed_argument_stays_removed_after_a_restart_and_the_audit_has_it(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(call("deploy", where="staging", count=3)), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        ask = await asked(one)
        assert isinstance(await one.press(ask, edit("staging", ""), BEN), Redraw)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        changed = await current(one, ask)
        assert changed.interview.question.prompt == 'Run deploy?\n{\n  "where": "staging"\n}'
        assert changed.policy.approval is not None
        assert changed.policy.approval.subject == approval.compute_digest("deploy", {"where": "staging"})
        (removed,) = changed.interview.changes
        assert (removed.name, removed.before, removed.is_removed, removed.by.id) == ("count", 3, True, BEN.id)
        await one.press(changed, APPROVE, CID)
        (result,) = await told(one, services)
        assert '"count" is left out and not 3 (changed by Ben)' in result["content"]
    assert deploying.ran == ["staging 1"]


async def test_a_vote_from_before_a_change_never_counts_for_what_it_changed_to(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TRIO) as one:
        ask = await asked(one)
        # The vote is first: the change removes it.
        assert isinstance(await one.press(ask, APPROVE, CID), Redraw)
        assert isinstance(await one.press(ask, edit("production"), BEN), Redraw)
        assert (await current(one, ask)).interview.votes == ()
        # The change is first: the vote is refused.
        late = await one.press(ask, APPROVE, CID)
        assert isinstance(late, Notice)
        assert late.text == CHANGED_SINCE
        assert (await current(one, ask)).interview.votes == ()
        newest = await current(one, ask)
        await one.press(newest, APPROVE, CID)
        await one.press(newest, APPROVE, DEE)
        await told(one, services)
        assert deploying.ran == ["production 1"]


async def test_in_the_same_moment_votes_and_a_change_end_in_one_of_their_orders(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("v0")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TRIO) as one:
        ask = await asked(one)
        for number in range(1, 8):
            seen = await current(one, ask)
            done: list[Any] = await asyncio.gather(
                one.press(seen, APPROVE, CID), one.press(seen, edit(f"v{number}"), BEN), one.press(seen, APPROVE, DEE)
            )
            after = await current(one, ask)
            if after.outcome is not None:  # both votes came first, so the change came too late
                assert isinstance(done[1], Notice)
                break
            assert after.interview.votes == ()
            assert approval.is_approval(after)
        else:
            newest = await current(one, ask)
            await one.press(newest, APPROVE, CID)
            await one.press(newest, APPROVE, DEE)
        settled = await current(one, ask)
        await told(one, services)
        (ran,) = deploying.ran
        assert f'"where": "{ran.partition(" ")[0]}"' in (settled.interview.question.details or "")


async def test_of_two_changes_in_the_same_moment_one_is_told_about_the_other(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        ask = await asked(one)
        done = await asyncio.gather(one.press(ask, edit("one"), BEN), one.press(ask, edit("two"), CID))
        (refused,) = (response for response in done if isinstance(response, Notice))
        assert refused.text == EDITED_MEANWHILE
        (change,) = (await current(one, ask)).interview.changes
        assert change.after in ("one", "two")


async def test_a_change_that_is_delivered_again_counts_once(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=PAIR) as one:
        ask = await asked(one)
        await one.press(ask, edit("production"), BEN, delivery="d1")
        await one.press(await current(one, ask), APPROVE, CID)
        before = await current(one, ask)
        assert isinstance(await one.press(ask, edit("production"), BEN, delivery="d1"), Redraw)
        after = await current(one, ask)
        assert after.interview.votes == before.interview.votes != ()
        assert after.interview.step == before.interview.step


async def test_each_wrong_value_is_named_and_nothing_changes(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        ask = await asked(one)
        refused = await one.press(ask, edit("", "many"), BEN)
        assert isinstance(refused, FormErrors)
        assert [(one.header, one.message) for one in refused.problems] == [
            ("where", "Please write an answer: it is empty."),
            ("count", "Please write a whole number, such as 42."),
        ]
        after = await current(one, ask)
        assert (after.interview.form, after.interview.step) == (ask.interview.form, ask.interview.step)


async def test_who_would_be_the_only_one_left_to_approve_it_cannot_change_it(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    only = ApprovalRules(approvers={"board": Who.from_people(BEN)})
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=only) as one:
        ask = await asked(one)
        for operation in (OpenEdit(), edit("production")):
            refused = await one.press(ask, operation, BEN)
            assert isinstance(refused, Notice)
            assert refused.text == NOBODY_ELSE
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
        assert deploying.ran == ["staging 1"]


@pytest.mark.parametrize(
    "rules",
    [
        ApprovalRules(),
        ApprovalRules(approvers={"board": Who.from_people(ANN)}, allow_self_approval=True),
    ],
    ids=["confirms", "approval_own"],
)
async def test_who_may_decide_about_their_own_request_may_approve_their_own_change(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, rules: ApprovalRules
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        ask = await asked(one)
        assert isinstance(await one.press(ask, OpenEdit(), ANN), AskForm)
        await one.press(ask, edit("production"), ANN)
        await one.press(await current(one, ask), APPROVE, ANN)
        await told(one, services)
        assert deploying.ran == ["production 1"]


async def test_the_audit_has_the_change_and_a_row_that_somebody_edits_does_not_run(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        ask = await asked(one)
        await one.press(ask, edit("production"), BEN)
        database = one.store._database  # pyright: ignore[reportPrivateUsage] - someone reads and edits the rows
        rows = await database.read(lambda connection: connection.execute(select(actions)).mappings().all())
        (row,) = (row for row in rows if row["action"].startswith('{"kind":"edit_arguments"'))
        assert (row["verdict"], '"production"' in row["action"]) == ("changed", True)
        await database.run(
            lambda connection: connection.execute(update(calls).values(input='{"where": "elsewhere"}')).rowcount
        )
        await one.press(await current(one, ask), APPROVE, CID)
        (result,) = await told(one, services)
        assert result["content"] == "The call was not run, because it is not the call that people approved."
        assert deploying.ran == []


async def test_an_older_process_leaves_a_call_that_people_may_change_to_a_newer_one(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        ask = await asked(one)
        await one.press(ask, edit("production"), BEN)
        database = one.store._database  # pyright: ignore[reportPrivateUsage]
        (row,) = await database.read(lambda connection: connection.execute(select(asks)).mappings().all())
        # It rejects fields that it does not know, so it neither shows the call nor counts a vote on it.
        assert '"edits":{' in row["policy"]
        assert '"changes":[' in row["interview"]
