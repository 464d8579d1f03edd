"""A tool of the demo, loaded like the operator's tools. It only records each call in the demo's ledger."""

from __future__ import annotations

__all__ = ["LEDGER", "deploy", "record"]

import os
from collections.abc import Mapping
from typing import Final

import aiohttp

from askback.user_tools.decorator import tool

LEDGER: Final = "DEMO_LEDGER"
"""The environment variable with the ledger's address. It is set while a demo runs."""
SECONDS: Final = 5.0


@tool(approval=True)
async def deploy(version: str, target: str) -> str:
    """Deploy a version of the product.

    Args:
        version: Which version, such as 1.4.2.
        target: Where to: staging or production.
    """
    await record("deploy", {"version": version, "target": target})
    return f"Deployed {version} to {target}."


async def record(name: str, given: Mapping[str, str]) -> None:
    """Record the call of a tool in the ledger."""
    entry = {"tool": name, "input": {**given}}
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as http,
        http.post(os.environ[LEDGER], json=entry),
    ):
        pass
