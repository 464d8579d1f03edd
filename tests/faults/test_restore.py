"""A backup made while the bot works, and restored: everything that was open in it continues."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from askback_sandbox.discord import limits as discord_limits
from askback_sandbox.model.script import Fault, turn

from .rig import Rig, question
from .ship import ASKING, COLOUR, GOING_ON, ONE, SIZE, all_well, list_private_texts, script

UNKNOWN = "know this question"


async def back_up(folder: Path) -> None:
    """Make a backup with the command, while the bot runs."""
    environment = {**os.environ, "ASKBACK_DATABASE_URL": str(folder / "askback.db")}
    command = [sys.executable, "-m", "askback", "backup", str(folder / "backup.db")]
    running = await asyncio.create_subprocess_exec(*command, cwd=folder, env=environment, stdout=-3)
    assert await running.wait() == 0


def restore(folder: Path) -> None:
    """Restore the backup as docs/operations.md says."""
    for end in ("", "-wal", "-shm"):
        (folder / f"askback.db{end}").unlink(missing_ok=True)
    (folder / "backup.db").rename(folder / "askback.db")


async def test_an_open_question_is_answered_on_its_old_card(rig: Rig, tmp_path: Path) -> None:
    script(rig, ONE)
    await rig.start()
    rig.write()
    await rig.card(COLOUR)
    await back_up(tmp_path)
    await rig.stop()
    restore(tmp_path)
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_a_turn_that_was_under_way_is_taken_again(rig: Rig, tmp_path: Path) -> None:
    script(rig, ONE)
    # The model stalls in the middle, so that even a slow backup contains an unfinished turn.
    rig.model.fail(Fault(kind="stall"))
    await rig.start()
    rig.write()
    await rig.until(lambda: rig.says(ASKING[:8]))
    await back_up(tmp_path)
    await rig.kill()
    restore(tmp_path)
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_a_card_of_after_the_back_up_belongs_to_nothing_and_says_so(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question from after the backup does not exist for the bot: the person is notified, and nothing else changes."""
    # As long as Discord really waits; for most of that time the bot leaves such a click to other replicas.
    monkeypatch.setattr(discord_limits, "RESPONSE_SECONDS", 3.0)
    script(rig, ONE)
    await rig.start()
    await back_up(tmp_path)
    rig.write()
    card = await rig.card(COLOUR)
    await rig.stop()
    restore(tmp_path)
    await rig.start()
    clicked = await rig.press(card, "Green")
    assert clicked.acked
    await rig.until(lambda: any(UNKNOWN in text for text in list_private_texts(rig)))
    assert rig.usable(COLOUR), "nobody settles it: to the bot it is a stranger's"
    await rig.stop()


async def test_an_answer_of_after_the_back_up_has_to_be_given_again(rig: Rig, tmp_path: Path) -> None:
    """Its card was shown as settled; the bot redraws it as open, so that it can be answered again."""
    asked = {COLOUR: question(COLOUR, "Green", "Blue"), SIZE: question(SIZE, "Small", "Large")}
    rig.model.script(turn(ASKING, *asked.values()), turn(GOING_ON), name="ship")
    await rig.start()
    rig.write()
    await rig.card(COLOUR)
    await rig.card(SIZE)
    await back_up(tmp_path)
    await rig.answer(SIZE, "Small")
    await rig.until(lambda: rig.settled(SIZE, "Small"))
    await rig.stop()
    restore(tmp_path)
    await rig.start()
    await rig.answer(SIZE, "Large")
    await rig.answer(COLOUR, "Green")
    await all_well(rig, {COLOUR: "Green", SIZE: "Large"})


@pytest.mark.only("slack", reason="what a file is knows no platform")
async def test_the_back_up_of_a_bot_that_was_killed_has_its_last_commit(rig: Rig, tmp_path: Path) -> None:
    script(rig, ONE)
    await rig.start("after:decide")
    rig.write()
    await rig.press(await rig.card(COLOUR), "Green")
    await rig.killed()
    assert (tmp_path / "askback.db-wal").stat().st_size, "it is still in the log"
    await back_up(tmp_path)
    restore(tmp_path)
    await rig.start()
    await all_well(rig, ONE)
