"""One version of the suite, which npm has installed into a folder, and the results of its scenarios."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .cases import CHECKS, SCENARIOS

PACKAGE = "@modelcontextprotocol/conformance"
VERSIONS = ("0.1.16", "0.2.0-alpha.12")
"""The versions that were tried: for the specifications up to 2025-11-25, and up to 2026-07-28 with tasks."""
NODE = 22
"""The oldest version of Node that the suite runs on."""
RUN_SECONDS = 600.0
WHEN = re.compile(r"-\d{4}-\d\d-\d\dT.*$")
"""The time in the name of a folder of results."""


class Missing(Exception):
    """The suite cannot run here. The message says what to install."""


@dataclass(frozen=True)
class Result:
    """The result of one scenario."""

    scenario: str
    passed: tuple[str, ...]
    """The ids of its checks that passed."""
    failed: tuple[tuple[str, str], ...]
    """The id and the error of each check that failed, and applies."""
    inapplicable: str | None
    """The reason why none of its checks applies; None if some do."""


@dataclass(frozen=True)
class Suite:
    """An installed version."""

    version: str
    node: str
    program: Path

    async def run(self, url: str, folder: Path) -> list[Result]:
        """Run all scenarios for servers; return their results in the order of the suite. `folder` gets its files."""
        command = (self.node, str(self.program), "server", "--url", url, "--suite", "all", "-o", str(folder))
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        try:
            async with asyncio.timeout(RUN_SECONDS):
                out, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        results = [*read_results(folder)]
        if not results:
            raise RuntimeError(f"The suite has written no results: {out.decode(errors='replace')[-2000:]}")
        return results


def find_suites(folders: list[Path], node: str) -> list[Suite]:
    """Return the suite in each of these folders. Raises `Missing`."""
    if not folders:
        raise Missing("Name the folders into which npm has installed the suite.")
    _check_node(node)
    suites: list[Suite] = []
    for folder in folders:
        package = folder / "node_modules" / PACKAGE
        try:
            described = json.loads((package / "package.json").read_text(encoding="utf-8"))
        except OSError:
            raise Missing(f"{PACKAGE} is not installed in {folder}.") from None
        suites.append(Suite(described["version"], node, package / described["bin"]["conformance"]))
    return suites


def _check_node(node: str) -> None:
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise Missing(f"{node} does not run.") from None
    if int(said.strip().removeprefix("v").partition(".")[0]) < NODE:
        raise Missing(f"{node} is {said.strip()}, and the suite needs Node {NODE}.")


def read_results(folder: Path) -> Iterator[Result]:
    """Return the results that the suite has written, oldest first."""
    files = sorted(folder.glob("*/checks.json"), key=lambda file: file.stat().st_mtime_ns)
    for file in files:
        # server-NAME-2026-11-27T05-02-46-858Z
        scenario = WHEN.sub("", file.parent.name.removeprefix("server-"))
        yield judge(scenario, json.loads(file.read_text(encoding="utf-8")))


def judge(scenario: str, checks: list[dict[str, str]]) -> Result:
    """Return the result of a scenario from its checks."""
    passed = tuple(one["id"] for one in checks if one["status"] == "SUCCESS")
    failed = tuple(
        (one["id"], str(one.get("errorMessage"))) for one in checks if one["status"] == "FAILURE" and _applies(one)
    )
    return Result(scenario, passed, failed, SCENARIOS.get(scenario))


def _applies(check: dict[str, str]) -> bool:
    return check["id"] not in CHECKS
