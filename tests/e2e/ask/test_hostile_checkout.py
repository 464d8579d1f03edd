"""Others write a pipeline's checkout: nothing in the working directory is trusted, run or followed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, Place
from askback.domain.interview import settle, start_interview
from askback.domain.open_ask_limits import Limits
from askback.domain.outcome import Answer, Choice, Outcome
from askback.domain.who import Who
from askback.manager import QuestionManager, build_ask, build_policy
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store

from .office import OPTIONS, OURS, Office

ASKBACK = Path(sys.executable).with_name("askback")
KEY = "release-1.4.2"
START_WITHIN = 100.0
"""Seconds; these are separate processes, which import everything."""
MODULES = (
    "evil", "sitecustomize", "usercustomize", "askback_slack", "askback_discord", "askback_sandbox", "aiohttp", "typer",
    "pydantic", "rich", "platformdirs", "alembic", "slack_bolt", "discord", "anthropic", "deploying",
)  # fmt: skip
"""Modules that some command imports, or might import."""


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[int, list[bytes]]]:
    """Yield the port of the attacker's server, and the data that reaches it."""
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(4096))
        writer.close()

    async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], heard


async def approved(path: Path, place: Place) -> None:
    """Make a database in which the pipeline's question was answered with Yes."""
    options = tuple(Option(value=label, label=label) for label in ("Yes", "No"))
    form = Form(questions=(Question(id="answer", prompt="Deploy 1.4.2?", options=options, allow_custom=False),))
    mallory = Actor(platform=place.platform, id="U0MALLORY", name="ada")
    database = await asyncio.to_thread(SqliteDatabase, path)
    try:
        manager = QuestionManager(Store(database), Limits())
        approval = Approval(approving=("Yes",), refusing=("No",))
        policy = build_policy(Who(anyone=True), 7200.0, approval=approval)
        ask = await manager.submit(build_ask(form, to=place, policy=policy, key=KEY))

        def answer(_: Ask | None) -> tuple[Ask | None, None]:
            answers = (Answer(question_id="answer", choices=(Choice(index=0, value="Yes", label="Yes"),)),)
            outcome = Outcome(status="answered", answers=answers, by=mallory, at=datetime.now(UTC))
            return ask.evolve(interview=settle(start_interview(form), outcome), drawn_revision=9), None

        await Store(database).decide(ask.id, answer)
    finally:
        await database.close()


class Checkout:
    """A directory that an attacker wrote, and commands that run in it."""

    def __init__(self, office: Office, root: Path, port: int) -> None:
        self.office = office
        self.folder = root / "checkout"
        self.home = root / "home"
        self.victim = root / "victim"
        self.marks = root / "imported"
        self._forks = 0
        self._address = f"http://127.0.0.1:{port}"

    async def plant(self) -> None:
        for folder in (self.folder, self.home, self.marks):
            folder.mkdir(mode=0o755)
        self.victim.write_text("precious")
        self.victim.chmod(0o644)
        await approved(self.folder / "askback.db", Place(platform=self.office.platform, channel="C0DEPLOYS"))
        for name in ("askback.db.lock", "askback.db.sock"):
            (self.folder / name).unlink(missing_ok=True)
            (self.folder / name).symlink_to(self.victim)
        lines = [
            f'slack_api_url = "{self._address}/api/"', f'discord_api_url = "{self._address}/api/v10"',
            f'discord_gateway_url = "{self._address.replace("http", "ws")}/"', 'tools = ["evil:x"]',
            'database_url = "askback.db"', 'approvers = ["slack:U0MALLORY"]', 'slack_allow_people = "*"',
        ]  # fmt: skip
        (self.folder / "askback.toml").write_text("\n".join(lines))
        variables = [
            f"ASKBACK_SLACK_API_URL={self._address}/api/", f"ASKBACK_DISCORD_API_URL={self._address}/api/v10",
            "ASKBACK_DATABASE_URL=askback.db", "ASKBACK_CONFIG=askback.toml", f"ANTHROPIC_BASE_URL={self._address}",
        ]  # fmt: skip
        (self.folder / ".env").write_text("\n".join(variables))
        for name in MODULES:
            (self.folder / f"{name}.py").write_text(f"open({str(self.marks / name)!r}, 'w').close()\n")

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith((*OURS, "XDG_", "PYTHON"))}
        wanted = {n: v for n, v in self.office.services.environment.items() if self.office.platform.upper() in n}
        return kept | wanted | {"HOME": str(self.home), "COLUMNS": "200"}

    async def start(
        self, *arguments: str, program: Sequence[str | Path] = (ASKBACK,), **more: str
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *program,
            *arguments,
            cwd=self.folder,
            env=self.environment() | more,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(
        self, *arguments: str, program: Sequence[str | Path] = (ASKBACK,), **more: str
    ) -> tuple[int, str, str]:
        return await ended(await self.start(*arguments, program=program, **more))

    async def run_forked(self, *arguments: str) -> tuple[int, str, str]:
        """Run `askback` without its imports, which is ten times as fast, for tests that plant no modules."""
        self._forks += 1
        out, err = (self.home.parent / f"{self._forks}.{name}" for name in ("out", "err"))
        forked = await self.office.launcher.start_into(
            out, *arguments, errors=err, folder=self.folder, environment=self.environment()
        )
        async with asyncio.timeout(START_WITHIN):
            code = await forked.wait()
        return code, out.read_text(), err.read_text()

    def check(self) -> None:
        """Check that no planted code ran, and that nothing outside was changed."""
        assert [mark.name for mark in self.marks.iterdir()] == []
        assert (self.victim.read_text(), self.victim.stat().st_mode & 0o777) == ("precious", 0o644)


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    async with asyncio.timeout(START_WITHIN):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.fixture
async def checkout(office: Office, tmp_path: Path) -> AsyncIterator[Checkout]:
    async with listening() as (port, heard):
        checkout = Checkout(office, tmp_path, port)
        await checkout.plant()
        yield checkout
        checkout.check()
        assert heard == [], "a token has left for another address"


INSTALLED = (ASKBACK,)
MODULE = (sys.executable, "-m", "askback")
PROGRAMS = pytest.mark.parametrize("program", [INSTALLED, MODULE], ids=["askback", "python -m askback"])


@PROGRAMS
async def test_a_planted_approval_is_not_believed_and_people_are_asked(
    checkout: Checkout, program: tuple[str | Path, ...]
) -> None:
    office = checkout.office
    asked = await checkout.start(
        "ask", "Deploy 1.4.2?", "--to", f"{office.platform}:#deploys", *OPTIONS,
        "--approvers", "anyone", "--key", KEY, program=program,
    )  # fmt: skip
    clicking = asyncio.ensure_future(office.click("ben", "No"))
    code, out, err = await ended(asked)
    clicking.cancel()
    assert code == 3, err
    assert json.loads(out)["approved"] is False
    assert "askback.toml in this folder is not read" in err
    assert "askback.db in this folder is not used" in err


async def test_the_key_of_a_planted_approval_alone_leads_to_nothing(checkout: Checkout) -> None:
    code, out, err = await checkout.run("ask", "--key", KEY)
    assert (code, out) == (2, ""), err
    assert f"This database has no question with the key {KEY!r}" in err


@pytest.mark.parametrize("platform", ["slack"])  # these commands load all bots, whatever the platform
@pytest.mark.parametrize(
    ("program", "command"),
    [
        (INSTALLED, ("pending",)),
        (MODULE, ("show", "a")),
        (INSTALLED, ("cancel", "a")),
        (MODULE, ("backup", "copy.db")),
        (INSTALLED, ("doctor", "--wait", "2")),
        (MODULE, ("doctor", "--wait", "2")),
    ],
)
async def test_commands_neither_read_nor_run_what_lies_there(
    checkout: Checkout, command: tuple[str, ...], program: tuple[str | Path, ...]
) -> None:
    _, out, err = await checkout.run(*command, program=program)
    assert "Deploy 1.4.2?" not in out
    assert "askback.toml in this folder is not read" in out + err
    assert "evil" not in out + err
    assert not (checkout.folder / "copy.db").exists()


def plant_notes(checkout: Checkout, kind: str) -> str:
    """Plant a file that a pipeline gives to askback, and return its name."""
    notes = checkout.folder / "notes.md"
    match kind:
        case "environment":
            notes.symlink_to("/proc/self/environ")
        case "file":
            notes.symlink_to(checkout.victim)
        case "device":
            notes.symlink_to("/dev/zero")
        case "folder":
            (checkout.folder / "docs").symlink_to(checkout.victim.parent)
            return "docs/victim"
        case "absolute":
            (checkout.folder / "docs").symlink_to("/proc/self")
            return str(checkout.folder / "docs" / "environ")
        case "around":
            (checkout.folder / "docs").symlink_to("/proc/self")
            return f"../{checkout.folder.name}/docs/environ"
        case "pipe":
            os.mkfifo(notes)
        case _:
            notes.write_text("x" * 5_000_000)
    return notes.name


@pytest.mark.parametrize("kind", ["environment", "file", "device", "folder", "absolute", "around", "pipe", "huge"])
async def test_planted_details_carry_no_secret_into_a_channel(checkout: Checkout, kind: str) -> None:
    office = checkout.office
    name = plant_notes(checkout, kind)
    code, out, err = await checkout.run_forked(
        "ask", "Deploy 1.4.2?", "--to", f"{office.platform}:#deploys", *OPTIONS, "--approvers", "anyone",
        "--wait", "1s", "--details", name,
    )  # fmt: skip
    assert (code, out) == (2, ""), err
    assert f"--details {name} is " in err
    assert ("link" in err) == (kind not in ("pipe", "huge")), err
    assert "precious" not in err
    assert not office.shown()


@pytest.mark.parametrize("kind", ["environment", "folder", "pipe"])
@pytest.mark.parametrize("command", [("preview",), ("demo", "--play", "--port", "0")], ids=["preview", "demo"])
async def test_no_planted_link_is_read_into_the_log_of_a_pipeline(
    checkout: Checkout, command: tuple[str, ...], kind: str
) -> None:
    name = plant_notes(checkout, kind)
    code, out, err = await checkout.run_forked(*command, name)
    assert (code, out) == (2, ""), err
    assert name in err.replace("\n", "")
    assert "precious" not in err


async def test_a_secret_of_this_process_is_not_asked_about(checkout: Checkout) -> None:
    """A step before this one may have copied it."""
    office = checkout.office
    names = ("SLACK_BOT_TOKEN", "DISCORD_TOKEN")
    secret = next(value for name, value in checkout.environment().items() if name in names)
    (checkout.folder / "notes.md").write_text(f"Set it to {secret}.")
    where = ("--to", f"{office.platform}:#deploys", "--approvers", "anyone", "--wait", "1s")
    for asked in (
        ("Deploy?", *OPTIONS, "--details", "notes.md"),
        (f"Deploy {secret}?", *OPTIONS),
        ("Deploy?", *OPTIONS, "--option", secret),
    ):
        code, out, err = await checkout.run_forked("ask", *where, *asked)
        assert (code, out) == (2, ""), err
        assert "contains a secret of this process" in err
        assert secret not in err
    assert not office.shown()


async def test_a_file_outside_may_lie_behind_a_link_of_the_operator(checkout: Checkout) -> None:
    office, outside = checkout.office, checkout.home.parent / "outside"
    outside.mkdir()
    (outside / "notes.md").write_text("The changes.")
    (checkout.home / "linked").symlink_to(outside)
    code, _, err = await checkout.run_forked(
        "ask", "Deploy 1.4.2?", "--to", f"{office.platform}:#deploys", *OPTIONS, "--approvers", "anyone",
        "--wait", "1s", "--details", str(checkout.home / "linked" / "notes.md"),
    )  # fmt: skip
    assert code == 4, err


async def test_a_bot_does_not_start_with_half_of_its_settings(checkout: Checkout) -> None:
    code, out, err = await checkout.run(checkout.office.platform, ANTHROPIC_API_KEY="sk-local")
    assert (code, out) == (2, ""), err
    assert "askback.toml in this folder is not read" in err
    assert f"askback {checkout.office.platform} --config askback.toml" in err


@pytest.mark.parametrize("end", ["", ".lock", ".sock", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["symbolic", "hard"])
async def test_no_link_is_followed_where_the_database_is_named(
    office: Office, tmp_path: Path, end: str, kind: str
) -> None:
    """This also covers a database that the operator names in a folder that others can write to."""
    if kind == "hard" and end == ".sock":
        pytest.skip("a file in the way of the socket is left alone")
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("")
    victim.chmod(0o644)
    planted = folder / f"team.db{end}"
    planted.symlink_to(victim) if kind == "symbolic" else planted.hardlink_to(victim)
    asked = await office.start(
        "ask", "Deploy 1.4.2?", "--to", f"{office.platform}:#deploys", *OPTIONS, "--approvers", "anyone",
        "--wait", "1s", ASKBACK_DATABASE_URL=str(folder / "team.db"),
    )  # fmt: skip
    code, out = await asked.ended()
    assert (victim.read_text(), victim.stat().st_mode & 0o777) == ("", 0o644)
    if end == ".sock":
        assert code == 4, asked.err
    else:
        assert (code, out) == (2, ""), asked.err
        assert "link" in asked.err
        assert str(planted) in asked.err
