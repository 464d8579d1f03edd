"""`askback pending` and `show` name who has decided what, and who is missing."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from askback.domain.actions import Action, Choose
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Escalation, Policy
from askback.domain.form import Form
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.manager import QuestionManager
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store

from .operators import ANN, COLOUR, askback, stored

BEN = ANN.evolve(id="U2", name="Ben")
CID = ANN.evolve(id="U3", name="Cid\x1b[31m")
DEE = ANN.evolve(id="U4", name="Dee")


def voted(database: Path, *votes: tuple[Actor, Choose]) -> Ask:
    """Store an ask that needs two votes for the same colour; blue is a "no"."""
    later = utc_now() + timedelta(hours=1)
    policy = Policy(
        who=Who(people=(ANN, BEN, CID), groups=("G1",)),
        deadline=later + timedelta(hours=1),
        approval=Approval(quorum=2, refusing=("blue",), requesters=(DEE,), subject="sha256:cafe"),
        reminders=(later,),
        escalations=(Escalation(at=later, who=Who.from_people(DEE)),),
    )
    asked = Form(questions=(COLOUR.questions[0].evolve(allow_custom=False),))
    ask = stored(database, policy=policy, form=asked)

    async def work() -> Ask:
        writer = SqliteDatabase(database)
        try:
            manager = QuestionManager(Store(writer))
            for who, operation in votes:
                await manager.act(Action(ask_id=ask.id, actor=who, at=utc_now(), step=0, operation=operation))
            after = await manager.get(ask.id)
            assert after is not None
            return after
        finally:
            await writer.close()

    return asyncio.run(work())


def test_show_and_pending_tell_who_has_decided_what_and_who_is_missing(database: Path) -> None:
    ask = voted(database, (BEN, Choose(index=0, reason="fine\nby me")))
    said = askback("show", ask.id).stdout
    _, _, votes = said.partition("\nVotes\n")
    lines = votes.partition("\n\n")[0].splitlines()
    assert lines[0] == "  1 of 2 agreed, 0 of 1 refused"
    assert lines[1].endswith("  Ben (U2) “Green”: fine by me")
    assert lines[2] == "  not voted yet: Ann (U1), Cid␛[31m (U3), group G1"
    assert lines[3:] == ["  requesters: Dee (U4)", "  digest: sha256:cafe"]
    assert "\nremind   20" in said
    assert "\nescalate Dee (U4), from 20" in said
    assert "Ben (U2) chose “Green”: “fine by me”" in said
    assert "\x1b" not in said
    assert "  1 of 2 agreed, 0 of 1 refused" in askback("pending").stdout.splitlines()
    told: dict[str, Any] = json.loads(askback("show", ask.id, "--json").stdout)
    assert told["decision"] == {
        "quorum": 2,
        "refusals": 1,
        "refusing": ["blue"],
        "votes": 1,
        "missing": Who(people=(ANN, CID), groups=("G1",)).model_dump(mode="json"),
    }
    assert [(vote["by"]["id"], vote["choice"]["value"], vote["reason"]) for vote in told["votes"]] == [
        ("U2", "green", "fine\nby me")
    ]
    assert Policy.parse(told["policy"]) == ask.policy
    listed: dict[str, Any] = json.loads(askback("pending", "--json").stdout)
    assert listed["decision"] == told["decision"]


def test_show_tells_of_a_refusal_whose_it_was_and_what_still_waits_no_more(database: Path) -> None:
    ask = voted(database, (ANN, Choose(index=0)), (BEN, Choose(index=1, reason="too cold")))
    said = askback("show", ask.id).stdout
    assert " by Ben (U2), refused\nreason   too cold\n" in said
    assert "1 of 2 agreed, 1 of 1 refused" in said
    assert "missing" not in said
    assert "\nremind" not in said
    told: dict[str, Any] = json.loads(askback("show", ask.id, "--json").stdout)
    assert (told["outcome"]["refused"], len(told["outcome"]["votes"])) == (True, 2)
    assert told["decision"]["missing"] is None


def test_a_question_that_one_person_answers_has_no_votes(database: Path) -> None:
    ask = stored(database, Choose(index=0))
    assert "Votes" not in askback("show", ask.id).stdout
    told: dict[str, Any] = json.loads(askback("show", ask.id, "--json").stdout)
    assert (told["decision"], told["votes"]) == (None, [])
