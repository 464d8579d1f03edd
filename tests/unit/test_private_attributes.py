"""The private attributes of libraries that the bots use exist, and only the tested releases are installed."""

from __future__ import annotations

import ast
import inspect
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aiohttp
import discord
import pytest
from discord.gateway import DiscordWebSocket, KeepAliveHandler
from discord.http import HTTPClient
from discord.state import ConnectionState
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
OWNERS: dict[str, list[type[Any]]] = {
    "_buckets": [HTTPClient],
    "_connection": [discord.Client],
    "_from_value": [discord.ApplicationFlags],
    "_keep_alive": [DiscordWebSocket],
    "_last_ack": [KeepAliveHandler],
    "_last_recv": [KeepAliveHandler],
    "_ready_task": [ConnectionState],
    "_response": [aiohttp.ClientWebSocketResponse],
    "_roles": [discord.Member],
}
"""The classes that own them."""
OWN = ("_socket",)
"""The bots' own attributes on the same lines."""


def used() -> set[str]:
    """Return the private attributes of objects other than `self`, on lines that the type checker ignores."""
    found: set[str] = set()
    files = [*ROOT.glob("bots/askback_slack/**/*.py"), *ROOT.glob("bots/askback_discord/**/*.py")]
    assert files
    for file in files:
        text = file.read_text()
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
                and "reportPrivateUsage" in lines[(node.end_lineno or node.lineno) - 1]
                and node.attr not in OWN
            ):
                found.add(node.attr)
    return found


def test_each_that_is_used_is_known_here() -> None:
    assert used() == set(OWNERS)


@pytest.mark.parametrize("name", OWNERS)
def test_each_is_there(name: str) -> None:
    for owner in OWNERS[name]:
        source = "".join(
            inspect.getsource(one)
            for one in owner.__mro__
            if one.__module__.partition(".")[0] in ("discord", "aiohttp")
        )
        assert hasattr(owner, name) or f"self.{name}" in source, f"{owner.__name__} has no {name} in this release"


def test_a_minor_release_of_discord_py_is_not_taken_unseen() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (requirement,) = map(Requirement, extras["discord"])
    assert version("discord.py") in requirement.specifier
    major, minor, *_ = version("discord.py").split(".")
    assert f"{major}.{int(minor) + 1}.0" not in requirement.specifier


def test_no_release_of_aiohttp_with_a_known_hole_is_taken() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (requirement,) = [one for one in map(Requirement, wanted) if one.name == "aiohttp"]
    assert version("aiohttp") in requirement.specifier
    for hole in ("3.12.13", "3.13.2", "3.13.3", "3.14.0", "3.14.1", "3.14.2"):
        assert hole not in requirement.specifier
