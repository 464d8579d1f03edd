"""Payloads with nothing but the fields that askback needs, as a proxy or another server may send them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from askback_sandbox.json_values import JsonObject, as_object
from askback_sandbox.model.script import turn
from askback_sandbox.slack.values import OpenView
from askback_slack.text_modal import ANSWER, TEXT

from . import slack
from .driver import ADA, asks, card, one, settled
from .slack import SlackDesk


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlackDesk]:
    async with slack.open_desk(tmp_path, monkeypatch) as desk:
        yield desk
    assert not desk.journal.unexpected(), "\n".join(desk.journal.unexpected())


async def test_a_written_answer_is_not_lost_for_a_field_of_the_modal_that_nothing_needs(desk: SlackDesk) -> None:
    """slack-bolt fails on a modal without a type. Its failure was acked, so that the modal closed and the text went."""
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await desk.mention(ADA, "fruit")
    await desk.open_field(ADA, await card(desk, talk))
    (view,) = desk.workspace.stack("U0LOCALADA")
    blank = await desk.services.people.raw(submission(desk, view, None))
    assert "it is empty" in str(as_object(blank.payload).get("errors"))
    sent = await desk.services.people.raw(submission(desk, view, "  Quince "))
    assert (sent.acked, sent.payload) == (True, None)
    await settled(desk, talk, "Quince")


def submission(desk: SlackDesk, view: OpenView, text: str | None) -> JsonObject:
    given: JsonObject = {name: view.view[name] for name in ("callback_id", "private_metadata")}
    return {
        "type": "view_submission",
        "team": {"id": desk.workspace.team.id},
        "user": {"id": "U0LOCALADA"},
        "view": {**given, "state": {"values": {ANSWER: {TEXT: {"value": text}}}}},
    }
