"""The log of a whole conversation: no secret at any level, and above DEBUG no text of a person or the model."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from askback.observability.logs import configure_logging
from askback.text.redaction import REDACTED_TEXT
from askback_sandbox.model.script import Fault, turn

from .driver import ADA, BEN, CY, Desk, PlatformTests, asks, card, form_of, line, notice, one, program_asks, settled

WRITTEN = "Zebrafish"
"""A word in every text that people and the model write here."""


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("askback")
    before = root.handlers[:], root.level, ours.level
    yield
    logging.captureWarnings(False)
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


async def converse(desk: Desk) -> None:
    """Do everything that a person can do, with some faults."""
    desk.journal.announce("delivery_rejected", "model_failed")
    text = turn(f"I say {WRITTEN}.", asks(one(f"{WRITTEN}?", f"{WRITTEN} A", f"{WRITTEN} B")))
    desk.model.script(text, turn(f"So be it, {WRITTEN}."), turn(f"Again, {WRITTEN}."), when=WRITTEN)
    talk = await desk.mention(ADA, f"{WRITTEN}, please")
    shown = await card(desk, talk)
    await desk.say(BEN, f"hurry, {WRITTEN}", talk)
    await line(desk, talk, "I will continue once")
    await desk.press(CY, shown, f"{WRITTEN} A")
    await notice(desk, CY, "can answer")
    await desk.open_field(ADA, shown)
    await desk.submit(ADA, f"my {WRITTEN}")
    await settled(desk, talk, f"my {WRITTEN}")
    await line(desk, talk, "So be it")
    desk.model.fail(Fault(kind="bad_key", times=1))
    await desk.say(ADA, f"and {WRITTEN}?", talk)
    await line(desk, talk, "rejected my API key")
    desk.slow_down("post", seconds=1)
    async with program_asks(desk, talk, form_of(f"Late {WRITTEN}?", [f"{WRITTEN} Y", f"{WRITTEN} N"])) as asking:
        await desk.press(ADA, await card(desk, talk, "Late"), f"{WRITTEN} Y")
        assert (await asking.outcome()).status == "answered"
    why = desk.refuse("everything", times=None)
    async with program_asks(desk, talk, form_of(f"Go, {WRITTEN}?", [f"{WRITTEN} Y", f"{WRITTEN} N"])) as asking:
        outcome = await asking.outcome()
        assert outcome.status == "undeliverable"
        assert why in str(outcome.reason)


def secrets_of(desk: Any) -> dict[str, str]:
    """Return all secrets that the bot received: tokens, keys, and addresses or tokens to act with."""
    found = {name: value for name, value in desk.services.environment.items() if name.endswith(("_TOKEN", "_KEY"))}
    found = {name: value for name, value in found.items() if value}
    assert len(found) >= 3
    if desk.platform == "slack":
        found |= {f"response_url {number}": one for number, one in enumerate(desk.workspace.response_urls)}
    else:
        found |= {f"interaction {done.id}": done.token for done in desk.guild.done}
    assert len(found) >= 5, "clicks came with something to answer them by"
    return found


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
async def test_a_conversation_with_all_its_faults_leaves_no_secret_and_no_text_in_the_log(
    tests_of: PlatformTests,
    level: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging(level)
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        await converse(desk)
        secrets = secrets_of(desk)
        # Current libraries may log little at this level; this simulates one that logs everything.
        for what in (secrets["ANTHROPIC_API_KEY"], WRITTEN):
            logging.getLogger("a.library").debug("I was told %s.", what)
    shown = capsys.readouterr().err
    assert "action=delivery_rejected" in shown
    assert "action=model_failed" in shown
    for name, secret in secrets.items():
        assert secret not in shown, name
    if level == "INFO":
        assert WRITTEN not in shown, [entry for entry in shown.splitlines() if WRITTEN in entry]
    else:
        assert WRITTEN in shown, "at DEBUG, libraries show payloads: else this proves nothing"
        assert REDACTED_TEXT in shown
