"""A rolling upgrade: the released process works in parallel with the current one, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import psycopg
import pytest

from askback.store.migrate import NEWEST
from askback_sandbox.discord.guild import WINDOWS
from askback_sandbox.model.script import turn
from support.processes import Launcher

from .driver import ADA, Card, Talk, asks, card, line, one, settled, turn_of, until
from .replicas import Office, open_office

RELEASED = "4fae56b"
"""The newest commit with the tables of the last release."""
RELEASED_VERSION = "0004_team_approvals"
ROOT = Path(__file__).parents[3]
TOOLS = "AskUserQuestion,question,askQuestion"
"""The question tools of the last release."""
START_SECONDS = 60.0


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of the last release, with its metadata."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "archive", "--format=tar", RELEASED]
    try:
        packed = subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"The history of this checkout does not reach back to {RELEASED}: fetch all of it ({error}).")
    folder = tmp_path_factory.mktemp("released")
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    # Its entry points may have other names than today's, which are the installed ones.
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = folder / "core" / "askback-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: askback\nVersion: 0\n", encoding="utf-8")
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


class Old:
    """A process of the last release."""

    def __init__(self, office: Office, code: Path, folder: Path) -> None:
        self._output = folder / "released.log"
        paths = os.pathsep.join(str(code / name) for name in ("core", "bots"))
        with self._output.open("wb") as output:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "askback", office.desk.platform],
                cwd=folder,
                env=office.environment | {"PYTHONPATH": paths, "ASKBACK_TOOLS": TOOLS},
                stdout=output,
                stderr=output,
            )

    @property
    def said(self) -> str:
        return self._output.read_text()

    @property
    def is_gone(self) -> bool:
        return self._popen.poll() is not None

    async def listens(self) -> None:
        def there() -> bool:
            assert not self.is_gone, self.said
            return any(word in self.said for word in ("Listening on", "Connected to"))

        await until(there, "it listens", within=START_SECONDS)

    def end(self) -> None:
        self._popen.kill()
        self._popen.wait()


@pytest.fixture
async def office(
    platform: str, tmp_path: Path, empty_url: str, launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Office]:
    # The released process starts one thread per rate-limit window on Discord, and the current window is minutes long.
    monkeypatch.delitem(WINDOWS, "create_thread_from_message")
    async with open_office(platform, tmp_path, empty_url, launcher) as opened:
        yield opened


@pytest.fixture
async def old(office: Office, released: Path, tmp_path: Path) -> AsyncIterator[Old]:
    process = Old(office, released, tmp_path)
    try:
        await process.listens()
        yield process
    finally:
        process.end()


def version(url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT version_num FROM askback_version").fetchone()
    assert row is not None
    return str(row[0])


def stored(url: str) -> int:
    """Return the number of stored questions."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM asks").fetchone()
    assert row is not None
    return int(row[0])


async def asked(office: Office, fruit: str) -> Talk:
    office.desk.model.script(
        turn(asks(one(f"Which {fruit}?", "Apple", "Pear"))), turn(f"Enjoy the {fruit}."), when=fruit
    )
    return await office.desk.mention(ADA, f"{fruit}, please")


async def chosen(office: Office, shown: Card) -> None:
    """Click as ada; once more if the click went to a process that was just killed, and visibly failed."""
    try:
        await office.desk.press(ADA, shown, "Pear")
    except AssertionError:
        await office.desk.press(ADA, shown, "Pear")


async def answered(office: Office, talk: Talk, fruit: str) -> None:
    """Check that ada's click counts in either process, and that the agent receives it once."""
    await chosen(office, await card(office.desk, talk, f"Which {fruit}?"))
    await settled(office.desk, talk, "Pear")
    assert f'"Which {fruit}?"="Pear"' in (await turn_of(office.desk, fruit, 2)).result
    await line(office.desk, talk, f"Enjoy the {fruit}.")


async def test_the_released_process_goes_on_beside_todays(office: Office, old: Old, empty_url: str) -> None:
    assert version(empty_url) == RELEASED_VERSION
    # The released process knows no other audience; with this one it can read the current process's asks.
    office.environment["ASKBACK_ANSWERERS"] = "starter"
    before = await asked(office, "plum")
    await card(office.desk, before, "Which plum?")
    new = await office.start()
    assert version(empty_url) == NEWEST
    # Begun before and during the upgrade; both processes take clicks and turns as they come.
    await answered(office, before, "plum")
    names = [f"fruit{number}" for number in range(6)]
    talks = [await asked(office, name) for name in names]
    await asyncio.gather(*(answered(office, talk, name) for talk, name in zip(talks, names, strict=True)))
    assert not old.is_gone, old.said
    assert not new.is_gone, new.said
    for said in (old.said, new.said):
        assert "Traceback" not in said, said
        assert " ERROR " not in said, said
    # At the end of the upgrade, the current process finishes the released one's work.
    last = await asked(office, "quince")
    shown = await card(office.desk, last, "Which quince?")
    old.end()
    await chosen(office, shown)
    await line(office.desk, last, "Enjoy the quince.")


async def test_what_the_released_process_cannot_read_waits_for_todays(office: Office, old: Old, empty_url: str) -> None:
    # The current process lets anyone in the thread answer; the released one does not know that audience.
    new = await office.start()
    names = [f"fruit{number}" for number in range(6)]
    talks = [await asked(office, name) for name in names]
    # A turn that dies before its reply is stored is repeated, and would get the next scripted reply.
    await until(lambda: stored(empty_url) == len(names), "every question is stored")
    assert not old.is_gone, old.said
    old.end()
    await asyncio.gather(*(answered(office, talk, name) for talk, name in zip(talks, names, strict=True)))
    assert not new.is_gone, new.said
    assert "Traceback" not in new.said, new.said
    assert " ERROR " not in new.said, new.said
