"""The demo's tool, with arguments that approvers may change. A scenario asks for it."""

from __future__ import annotations

__all__ = ["deploy"]

from askback.cli.demo_tools import record
from askback.user_tools.decorator import tool


@tool(approval=True, edit=True)
async def deploy(version: str, target: str, note: str = "") -> str:
    """Deploy a version of the product.

    Args:
        version: Which version, such as 1.4.2.
        target: Where to: staging or production.
        note: What the customers read about it.
    """
    await record("deploy", {"version": version, "target": target} | ({"note": note} if note else {}))
    return f"Deployed {version} to {target}."
