"""A disk that is full, or that does not flush, under the real bot: only committed work counts for anyone.

A custom VFS (`bad_disk.py`), which runs everywhere, makes the disk fail. Where a file system can be mounted, the tests
also use a small one that is really full.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from .rig import WITHIN, Rig
from .ship import ASKING, COLOUR, GOING_ON, ONE, TWO, all_well, answer_all, list_private_texts, script

NOT_SAVED = "could not save that just now"
IN_DOUBT = "not certain that this was saved"


class Disk(ABC):
    """The disk with the bot's database."""

    @abstractmethod
    def fill(self) -> None: ...
    @abstractmethod
    def free(self) -> None: ...


class Wrapped(Disk):
    """Any disk, as `bad_disk.py` presents it."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self.free()

    def fill(self) -> None:
        self._say("full")

    def lose_flushes(self) -> None:
        self._say("sync")

    def refuse_writes(self) -> None:
        self._say("write")

    def free(self) -> None:
        self._say("well")

    def _say(self, what: str) -> None:
        new = self._state.with_suffix(".new")
        new.write_text(what)
        new.rename(self._state)


class Small(Disk):
    """A file system of four megabytes."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as file:
            for size in (65536, 4096, 1):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        self._ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wrapped:
    (tmp_path / "askback.toml").write_text('health = "127.0.0.1:0"\n', encoding="utf-8")
    monkeypatch.setenv("RIG_DISK", str(tmp_path / "disk"))
    return Wrapped(tmp_path / "disk")


@pytest.fixture(params=["refused", "really full"])
def any_disk(request: pytest.FixtureRequest, disk: Wrapped, tmp_path: Path, rig: Rig) -> Iterator[Disk]:
    if request.param == "refused":
        yield disk
        return
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"Nobody but root can mount a file system ({mounted.stderr.strip()}); the other disk is looked at.")
    try:
        rig.settings["ASKBACK_DATABASE_URL"] = str(small / "askback.db")
        yield Small(small)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def whole_log(rig: Rig) -> str:
    return "".join(path.read_text(errors="replace") for path in sorted(rig._folder.glob("bot.*.log")))


async def ready(rig: Rig) -> tuple[int, str]:
    """Return the status and the text of /readyz."""
    addresses = re.findall(r"Serving health checks at (http://\S+)/healthz", whole_log(rig))
    async with aiohttp.ClientSession() as session, session.get(f"{addresses[-1]}/readyz") as answer:
        return answer.status, await answer.text()


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WITHIN):
        while not await holds():  # noqa: ASYNC110 - polled over HTTP
            await asyncio.sleep(0.1)


async def not_ready(rig: Rig) -> None:
    async def no() -> bool:
        return await ready(rig) == (503, "database: does not accept commits\n")

    await eventually(no)


async def ready_again(rig: Rig) -> None:
    async def yes() -> bool:
        return await ready(rig) == (200, "ok\n")

    await eventually(yes)


async def refused(rig: Rig, label: str, words: str) -> None:
    """Check that a click does not count: the person is notified, and the card stays as it is."""
    before = len(list_private_texts(rig))
    await rig.press(await rig.card(COLOUR), label)
    await rig.until(lambda: len(list_private_texts(rig)) > before)
    assert words in list_private_texts(rig)[-1]
    assert rig.usable(COLOUR)


async def test_on_a_full_disk_a_click_is_refused_and_with_room_it_counts(rig: Rig, any_disk: Disk) -> None:
    script(rig, ONE)
    await rig.start()
    rig.write()
    await rig.card(COLOUR)
    await ready_again(rig)
    any_disk.fill()
    for _ in range(3):
        await refused(rig, "Blue", NOT_SAVED)
    await not_ready(rig)
    assert "free space on its disk" in whole_log(rig), "the log says what to do"
    any_disk.free()
    await ready_again(rig)
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_what_was_refused_on_a_full_disk_is_not_there_after_a_restart_either(rig: Rig, any_disk: Disk) -> None:
    script(rig, ONE)
    await rig.start()
    rig.write()
    await rig.card(COLOUR)
    any_disk.fill()
    await refused(rig, "Blue", NOT_SAVED)
    await rig.kill()
    any_disk.free()
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_an_answer_that_was_given_before_the_disk_was_full_is_settled_and_told_when_there_is_room(
    rig: Rig, any_disk: Disk
) -> None:
    script(rig, TWO)
    await rig.start()
    rig.write()
    for prompt in TWO:
        await rig.card(prompt)
    await rig.answer(COLOUR, TWO[COLOUR])
    any_disk.fill()
    await refused_size(rig)
    any_disk.free()
    await answer_all(rig, {prompt: label for prompt, label in TWO.items() if prompt != COLOUR})
    await all_well(rig, TWO)


async def refused_size(rig: Rig) -> None:
    await rig.press(await rig.card("Which size?"), "Large")
    await rig.until(lambda: any(NOT_SAVED in text for text in list_private_texts(rig)))


async def test_a_turn_whose_end_finds_the_disk_full_is_taken_again_by_itself(rig: Rig, any_disk: Disk) -> None:
    script(rig, ONE)
    rig.model.delay = 0.1
    await rig.start()
    rig.write()
    await rig.until(lambda: rig.says(ASKING[:8]))
    any_disk.fill()
    await rig.until(lambda: "Could not commit a turn of the agent" in whole_log(rig))
    rig.model.delay = 0
    any_disk.free()
    await rig.answer(COLOUR, "Green")
    calls = len(rig.model.log)
    rig.kills = calls  # each failed end repeats one call of the model
    await all_well(rig, ONE)


@pytest.mark.only("slack", reason="Discord's gateway delivers a message once, whatever becomes of it")
async def test_a_message_that_finds_the_disk_full_is_delivered_again(rig: Rig, any_disk: Disk) -> None:
    script(rig, ONE)
    await rig.start()
    any_disk.fill()
    rig.write()
    await rig.until(lambda: "free space on its disk" in whole_log(rig))
    assert not rig.bots()
    any_disk.free()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_a_click_whose_flush_fails_is_told_that_it_is_in_doubt_and_is_answered_again(
    rig: Rig, disk: Wrapped
) -> None:
    script(rig, ONE)
    await rig.start()
    rig.write()
    await rig.card(COLOUR)
    disk.lose_flushes()
    for _ in range(3):
        await refused(rig, "Blue", IN_DOUBT)
    await not_ready(rig)
    assert "check its disk" in whole_log(rig), "the log says what to do"
    disk.free()
    await ready_again(rig)
    assert rig.usable(COLOUR), "undone: there was no crash"
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_what_was_in_doubt_is_one_thing_for_everybody_after_a_restart(rig: Rig, disk: Wrapped) -> None:
    """Data that was written without a flush may be there or not; card, agent and person see the same."""
    script(rig, ONE)
    await rig.start()
    rig.write()
    await rig.card(COLOUR)
    disk.lose_flushes()
    await refused(rig, "Blue", IN_DOUBT)
    await rig.kill()
    disk.free()
    await rig.start()
    await rig.until(lambda: rig.settled(COLOUR, "Blue") or rig.link.connections)
    await asyncio.sleep(1)
    if not rig.settled(COLOUR, "Blue"):
        await rig.answer(COLOUR, "Blue")
    await all_well(rig, {COLOUR: "Blue"})


async def test_a_disk_that_writes_nothing_loses_nothing_that_was_acked(rig: Rig, disk: Wrapped) -> None:
    script(rig, TWO)
    await rig.start()
    rig.write()
    await rig.card(COLOUR)
    await rig.card("Which size?")
    await rig.answer("Which size?", "Small")
    await rig.until(lambda: rig.settled("Which size?", "Small"))
    disk.refuse_writes()
    before = len(list_private_texts(rig))
    await rig.press(await rig.card(COLOUR), "Blue")
    await rig.until(lambda: len(list_private_texts(rig)) > before)
    assert NOT_SAVED in list_private_texts(rig)[-1] or IN_DOUBT in list_private_texts(rig)[-1]
    await rig.kill()
    disk.free()
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, TWO)


async def test_a_bot_that_begins_on_a_full_disk_says_so_and_ends(rig: Rig, disk: Wrapped, tmp_path: Path) -> None:
    disk.fill()
    process: Any = await rig.launch()
    async with asyncio.timeout(WITHIN):
        assert await process.wait() == 2
    assert "free space on its disk" in whole_log(rig)
    assert "Traceback" not in whole_log(rig)
    disk.free()
    script(rig, ONE)
    await rig.start()
    rig.write()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)
    assert rig.whole(GOING_ON)
