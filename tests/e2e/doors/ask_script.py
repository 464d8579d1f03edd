"""A script that runs `askback ask --server`."""

from __future__ import annotations

from e2e.ask.office import OPTIONS, Office, Process

from .fresh_program import prepare_fresh
from .http_caller import FIRST

NOTHING = {
    "ASKBACK_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "SLACK_BOT_TOKEN": "", "SLACK_APP_TOKEN": "", "DISCORD_TOKEN": "",
}  # fmt: skip
"""The script has no database and no token of a platform."""


async def ask(office: Office, address: str, *arguments: str, **more: str) -> Process:
    """Start the script, which asks through the server at an address."""
    return await office.start(
        "ask", *arguments, "--server", address, **(NOTHING | {"ASKBACK_SERVER_TOKEN": FIRST} | more)
    )


async def deploy_fresh(office: Office, address: str, *arguments: str, **more: str) -> Process:
    """Start the script in a process that reads the certificates of this machine itself."""
    program, own = prepare_fresh(office)
    given = ("ask", "Deploy 1.4.2?", *OPTIONS, *arguments, "--server", address)
    return await office.start(*given, program=program, **(NOTHING | {"ASKBACK_SERVER_TOKEN": FIRST} | own | more))


async def deploy(office: Office, address: str, *arguments: str, **more: str) -> Process:
    """Start the script, which asks if version 1.4.2 may be deployed."""
    return await ask(office, address, "Deploy 1.4.2?", *OPTIONS, *arguments, **more)
