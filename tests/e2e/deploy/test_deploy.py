"""Dockerfile, compose.yaml and the systemd unit: every command, path, port and variable in them works.

No image is built here, since that needs a Docker daemon and the network. The programs of the files run as processes.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from askback.settings.core import Settings
from askback.settings.loader import list_environment_variables
from askback.store.postgres.address import PostgresAddress
from askback.store.url import parse_database_url
from askback_sandbox.services import Services
from support.clocks import SharedClock
from support.free_port import free_port
from support.processes import Launched, Launcher

from .files import ROOT, Dockerfile, Unit

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
HEALTH = "127.0.0.1:8080"
UNITS = ("askback", "askback-serve")
TOKEN = "a-token-of-a-program-1"
SECRETS = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DISCORD_TOKEN", "ANTHROPIC_API_KEY")


def test_the_image_gets_the_files_that_the_wheel_is_built_from_and_no_others() -> None:
    copied = {
        source
        for instruction, rest in Dockerfile.read().stages[1]
        if instruction == "COPY"
        for source in rest.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = {package.partition("/")[0] for package in wheel}
    needed |= {"pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert copied == needed
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*", "what nobody named stays out, such as .env"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == copied


def test_the_image_installs_an_extra_that_exists_and_runs_the_command_as_no_root() -> None:
    image = Dockerfile.read()
    (install,) = [rest for name, rest in image.stages[1] if name == "RUN"]
    (extra,) = re.findall(r"\[(\w+)\]", install)
    assert extra in PROJECT["project"]["optional-dependencies"]
    assert image.command("ENTRYPOINT") == list(PROJECT["project"]["scripts"])
    assert image.last("USER") == "askback"
    assert image.last("STOPSIGNAL") == "SIGTERM"
    assert Path(image.environment["ASKBACK_DATABASE_URL"]).parent == Path(image.last("VOLUME"))


def test_every_variable_of_the_files_is_a_setting() -> None:
    compose = [name for one in COMPOSE["services"].values() for name in one.get("environment", {})]
    units = [one for name in UNITS for one in Unit.read(name).all("Environment")]
    unit = [one.partition("=")[0] for one in units]
    ours = {name for name in (*Dockerfile.read().environment, *compose, *unit) if name.startswith("ASKBACK_")}
    assert ours == {"ASKBACK_DATABASE_URL", "ASKBACK_HEALTH", "ASKBACK_CONFIG"}
    assert ours - {"ASKBACK_CONFIG"} <= list_environment_variables(Settings)


def test_compose_has_one_profile_for_each_database_and_opens_no_port() -> None:
    services = COMPOSE["services"]
    by_profile = {
        profile: {name for name, one in services.items() if one["profiles"] == [profile]}
        for profile in ("sqlite", "postgres")
    }
    assert by_profile == {"sqlite": {"bot"}, "postgres": {"bot-on-postgres", "postgres"}}
    assert {name for name in services if name.startswith("serve")} == {"serve", "serve-on-postgres"}
    for name, beside in (("serve", "bot"), ("serve-on-postgres", "bot-on-postgres")):
        assert services[name]["profiles"] == [name]
        for setting in ("environment", "depends_on"):
            assert services[name].get(setting) == services[beside].get(setting), "both use one database"
    assert set(services["bot"]["volumes"]) < set(services["serve"]["volumes"])
    assert not any("ports" in one for one in services.values())
    for name in ("bot", "bot-on-postgres", "serve", "serve-on-postgres"):
        assert (services[name]["env_file"], services[name]["read_only"]) == (".env", True)
        assert float(services[name]["stop_grace_period"].removesuffix("s")) > 10, "a drain takes up to ten seconds"
    volume, _, where = services["bot"]["volumes"][0].partition(":")
    assert volume in COMPOSE["volumes"]
    assert where == Dockerfile.read().last("VOLUME")


def test_the_bot_on_postgres_uses_the_server_of_its_profile() -> None:
    given = COMPOSE["services"]["postgres"]["environment"]
    url = COMPOSE["services"]["bot-on-postgres"]["environment"]["ASKBACK_DATABASE_URL"]
    assert "${POSTGRES_PASSWORD:-}" in url
    assert given["POSTGRES_PASSWORD"] == "${POSTGRES_PASSWORD:-}"
    address = parse_database_url(url.replace("${POSTGRES_PASSWORD:-}", "s3cret"))
    assert isinstance(address, PostgresAddress)
    assert url.endswith(f"@postgres/{given['POSTGRES_DB']}")
    assert url.startswith(f"postgresql://{given['POSTGRES_USER']}:")
    assert COMPOSE["services"]["bot-on-postgres"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


class Deployed:
    """The program of an image or a unit, with its environment, on this machine."""

    def __init__(self, process: Launched, log: Path, check: list[str]) -> None:
        self.process = process
        self._log = log
        self._check = check

    def log(self) -> str:
        return self._log.read_text()

    async def is_healthy(self) -> bool:
        """Run the image's HEALTHCHECK."""
        done = await asyncio.create_subprocess_exec(*self._check, stderr=asyncio.subprocess.DEVNULL)
        return await done.wait() == 0

    async def serves(self, services: Services) -> None:
        """Wait until it is connected to both platforms and healthy."""
        async with asyncio.timeout(60):
            while True:
                connections = services.socket.connections, services.discord.gateway.connections
                if all(connections) and await self.is_healthy():
                    return
                assert self.process.returncode is None, self.log()
                await asyncio.sleep(0.05)


@asynccontextmanager
async def deployed(
    launcher: Launcher, folder: Path, command: list[str], environment: Mapping[str, str]
) -> AsyncIterator[Deployed]:
    """Run a command of `askback`. The port of its health check is replaced by a free one, since others may use it."""
    image = Dockerfile.read()
    port = str(free_port())
    assert environment["ASKBACK_HEALTH"] == HEALTH
    check = [part.replace(HEALTH.partition(":")[2], port) for part in image.command("HEALTHCHECK")]
    assert port in check[-1], "the check asks at the address where the bot answers"
    assert check[0] == "python"
    given = {**environment, "ASKBACK_HEALTH": f"127.0.0.1:{port}", "PATH": os.environ["PATH"], "HOME": str(folder)}
    process = await launcher.start_into(folder / "log", *command, folder=folder, environment=given)
    try:
        yield Deployed(process, folder / "log", [sys.executable, *check[1:]])
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    clock = SharedClock()
    async with clock.running(), Services(port=0, clock=clock) as found:
        yield found


def image_environment(services: Services, data: Path) -> dict[str, str]:
    of_image = {name: value for name, value in Dockerfile.read().environment.items() if name != "PATH"}
    of_image["ASKBACK_DATABASE_URL"] = of_image["ASKBACK_DATABASE_URL"].replace("/data", str(data))
    return {**of_image, **services.environment}


def unit_environment(services: Services, folder: Path, unit: str = "askback") -> dict[str, str]:
    """Return the environment as systemd makes it: tokens in a credential, and the state folder behind a link."""
    (folder / "private").mkdir(mode=0o700)
    (folder / "state").symlink_to("private")
    (folder / "private/askback").mkdir(mode=0o700)
    secrets = {name.lower(): value for name, value in services.environment.items() if name in SECRETS}
    (folder / "askback.toml").write_text("\n".join(f'{name} = "{value}"' for name, value in secrets.items()))
    (folder / "askback.toml").chmod(0o400)
    given = dict(one.partition("=")[::2] for one in Unit.read(unit).all("Environment"))
    named, where = Unit.read(unit).all("LoadCredential")[0].split(":")
    assert given["ASKBACK_CONFIG"] == f"%d/{named}"
    assert where == "/etc/askback/askback.toml"
    given = {
        name: value.replace("%d", str(folder)).replace("%S", str(folder / "state")) for name, value in given.items()
    }
    return {**{name: value for name, value in services.environment.items() if name not in SECRETS}, **given}


@pytest.mark.parametrize("kind", ["image", "unit"])
async def test_its_command_serves_every_platform_is_healthy_and_ends_well_for_a_reload(
    launcher: Launcher, services: Services, tmp_path: Path, kind: str
) -> None:
    """SIGHUP is what the unit's `ExecReload` sends."""
    if kind == "image":
        command, environment = Dockerfile.read().command("CMD"), image_environment(services, tmp_path)
    else:
        program, *command = Unit.read().one("ExecStart").split()
        assert Path(program).name in PROJECT["project"]["scripts"]
        assert Unit.read().one("ExecReload") == "/bin/kill -HUP $MAINPID"
        assert Unit.read().one("Restart") == "always", "an end with 0 is no failure"
        environment = unit_environment(services, tmp_path)
    async with deployed(launcher, tmp_path, command, environment) as bot:
        await bot.serves(services)
        assert os.path.exists(environment["ASKBACK_DATABASE_URL"])  # noqa: PTH110, ASYNC240 - at once
        bot.process.send_signal(signal.SIGHUP)
        async with asyncio.timeout(30):
            assert await bot.process.wait() == 0, bot.log()
        assert "action=draining" in bot.log()
        assert not await bot.is_healthy(), "a check that always succeeds would prove nothing"
        assert not any(services.environment[name] in bot.log() for name in SECRETS)


@pytest.mark.parametrize("kind", ["compose", "unit"])
async def test_the_server_for_programs_is_ready_shows_nothing_and_ends_well_for_a_reload(
    launcher: Launcher, services: Services, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "callers.toml").write_text(f"[ci]\ntoken = '{TOKEN}'\nto = 'slack:#deploys'\nwho = 'anyone'\n")
    (tmp_path / "callers.toml").chmod(0o600)
    service, unit = COMPOSE["services"]["serve"], Unit.read("askback-serve")
    if kind == "compose":
        command, environment = service["command"], image_environment(services, tmp_path)
        assert "./callers:/callers:ro" in service["volumes"]
        given = {"/callers/callers.toml": str(tmp_path / "callers.toml"), "0.0.0.0:8700": "127.0.0.1:8700"}
    else:
        program, *command = unit.one("ExecStart").split()
        assert Path(program).name in PROJECT["project"]["scripts"]
        assert unit.one("ExecReload") == "/bin/kill -HUP $MAINPID"
        assert "callers.toml:/etc/askback/callers.toml" in unit.all("LoadCredential")
        assert (unit.one("User"), unit.one("StateDirectory")) == ("askback", Unit.read().one("StateDirectory"))
        environment = unit_environment(services, tmp_path, "askback-serve")
        given = {"${CREDENTIALS_DIRECTORY}/callers.toml": str(tmp_path / "callers.toml")}
    port = str(free_port())
    words = [given.get(word, word).replace("8700", port) for word in command]
    environment |= {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    environment.pop("ANTHROPIC_API_KEY", None)
    process = await launcher.start_into(tmp_path / "log", *words, folder=tmp_path, environment=environment)
    _, program, *check = (part.replace("8700", port) for part in service["healthcheck"]["test"])
    assert program == "python"
    server = Deployed(process, tmp_path / "log", [sys.executable, *check])
    try:
        async with asyncio.timeout(60):
            while not await server.is_healthy():
                assert process.returncode is None, server.log()
                await asyncio.sleep(0.05)
        async with aiohttp.ClientSession() as session:
            for path in ("/healthz", "/readyz"):
                async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                    assert (response.status, await response.json()) == (200, {"status": "ok"})
            (tmp_path / "callers.toml").write_text("[broken")
            async with asyncio.timeout(30):
                while await server.is_healthy():
                    assert process.returncode is None, server.log()
                    await asyncio.sleep(0.05)
            async with session.get(f"http://127.0.0.1:{port}/readyz") as response:
                assert (response.status, await response.json()) == (503, {"status": "not ready"})
        process.send_signal(signal.SIGHUP)
        async with asyncio.timeout(30):
            assert await process.wait() == 0, server.log()
        assert not await server.is_healthy(), "a check that always succeeds would prove nothing"
        assert not any(secret in server.log() for secret in (TOKEN, *(services.environment[one] for one in SECRETS)))
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_the_unit_and_finds_it_confined(tmp_path: Path, name: str) -> None:
    unit = tmp_path / f"{name}.service"
    text = (ROOT / f"packaging/{name}.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/askback/bin/askback", str(Path(sys.executable).with_name("askback"))))
    for command in (["verify"], ["security", "--offline=true", "--threshold=20"]):
        done = subprocess.run(["systemd-analyze", *command, str(unit)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        assert command != ["verify"] or not done.stderr.strip()
