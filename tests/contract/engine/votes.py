"""An ask that several people decide."""

from __future__ import annotations

import asyncio
from typing import Any

from askback.domain.actions import Choose
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option, Question
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from support.board import ANN, BEN, HERE
from support.engine import Engine

CID = ANN.evolve(id="U3", name="Cid")
DEE = ANN.evolve(id="U4", name="Dee")
OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
DEPLOY = Form(
    questions=(Question(id="deploy", prompt="Deploy?", options=OPTIONS, allow_custom=False, details="The whole log"),)
)
TWO = Approval(quorum=2, refusing=("no",))
THREE = Who.from_people(ANN, BEN, CID)
YES, NO = Choose(index=0), Choose(index=1)


async def asked(one: Engine, approval: Approval | None = TWO, **more: Any) -> tuple[asyncio.Task[Outcome], Ask]:
    asking = asyncio.create_task(
        one.manager.ask(DEPLOY, **{"to": HERE, "who": THREE, "timeout": None, "approval": approval, **more})
    )
    (card,) = await one.asked()
    await one.recorded(card)
    return asking, card
