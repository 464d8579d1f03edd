"""SIGTERM, Ctrl-C, a closed terminal: work in progress is finished.

The process exits within ten seconds in every case.
"""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.model.script import Fault as ModelFault
from askback_sandbox.model.script import turn
from askback_sandbox.slack.faults import Fault
from support.clocks import SharedClock

from .on_discord import DiscordRig
from .on_slack import SlackRig
from .rig import Rig, question

COLOUR = "Which colour?"
GOING_ON = "Thank you, it is on its way now."
WORDS = "It takes a while to say this. " * 12
HANGS = ModelFault(kind="stall")


async def ends(rig: Rig, *signals: int) -> tuple[int, float]:
    """Send the signals one after the other; return the exit code and the seconds until the exit.

    Seconds in which the machine runs no process do not count.
    """
    process, clock = rig._process, SharedClock()
    assert process is not None
    async with clock.running():
        began = clock.time()
        for count, number in enumerate(signals):
            if count:
                # A pending signal is not queued twice; wait until the one before was handled.
                await rig.until(lambda: "action=draining" in rig.log())
            os.kill(process.pid, number)
        async with asyncio.timeout(30):
            code = await process.wait()
        return code, clock.time() - began


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["SIGTERM", "SIGINT", "SIGHUP"])
async def test_with_nothing_to_do_it_ends_at_once(rig: Rig, number: int) -> None:
    await rig.start()
    code, seconds = await ends(rig, number)
    assert code == 0, rig.log()
    assert seconds < 5
    assert "ended_late" not in rig.log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
async def test_a_turn_that_is_under_way_is_said_to_its_end(rig: Rig, number: int) -> None:
    rig.model.script(turn(WORDS), name="ship")
    rig.model.delay = 0.03
    rig.settings["RIG_REST"] = "20"  # more than this turn takes, also where the machine stalls
    await rig.start()
    rig.write()
    await rig.until(lambda: rig.says("It takes"))
    code, _ = await ends(rig, number)
    assert code == 0, rig.log()
    assert rig.whole(WORDS.strip()), rig.picture()
    assert len(rig.model.log) == 1
    assert "draining" in rig.log()


async def test_a_card_is_settled_before_the_end(rig: Rig) -> None:
    rig.model.script(turn(question(COLOUR, "Green", "Blue")), turn(GOING_ON), name="ship")
    await rig.start()
    rig.write()
    shown = await rig.card(COLOUR)
    pressed = asyncio.create_task(rig.press(shown, "Green"))
    assert (await pressed).acked
    code, _ = await ends(rig, signal.SIGTERM)
    assert code == 0, rig.log()
    assert rig.settled(COLOUR, "Green"), rig.picture()
    # The next process does the work that was not begun.
    await rig.start()
    await rig.until(lambda: rig.whole(GOING_ON))
    await rig.stop()


async def test_a_model_that_hangs_is_not_waited_for_and_asked_again_at_the_next_start(rig: Rig) -> None:
    rig.model.script(turn(WORDS, HANGS), turn(WORDS), name="ship")
    await rig.start()
    rig.write()
    await rig.until(lambda: rig.says("It takes"))
    code, seconds = await ends(rig, signal.SIGTERM)
    assert code == 0, rig.log()
    assert seconds < 10
    await rig.start()
    await rig.until(lambda: rig.whole(WORDS.strip()))
    assert len(rig.bots()) == 1, rig.picture()
    await rig.stop()


async def test_a_platform_that_hangs_is_not_waited_for(rig: Rig) -> None:
    rig.model.script(turn(question(COLOUR, "Green", "Blue")), turn(GOING_ON), name="ship")
    await rig.start()
    if isinstance(rig, SlackRig):
        rig.workspace.faults.add(Fault(kind="delay", method="*", times=None, seconds=60.0))
    else:
        assert isinstance(rig, DiscordRig)
        rig.guild.faults.add(DiscordFault(kind="delay", times=None, seconds=60.0))
    rig.write()
    await rig.until(lambda: len(rig.model.log) == 1)
    code, seconds = await ends(rig, signal.SIGTERM)
    assert code == 0, rig.log()
    assert seconds < 10


async def test_a_second_signal_ends_at_once(rig: Rig) -> None:
    rig.model.script(turn(WORDS, HANGS), name="ship")
    await rig.start()
    rig.write()
    await rig.until(lambda: rig.says("It takes"))
    code, seconds = await ends(rig, signal.SIGTERM, signal.SIGTERM)
    assert code == 128 + signal.SIGTERM, rig.log()
    assert seconds < 3
