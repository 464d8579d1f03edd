"""A question whose answer is a file, and a person who gives one."""

from __future__ import annotations

import json

from askback_sandbox.attached import Attached
from e2e.ask.office import Office
from support.files import make_png

LOGO = make_png()
QUESTION = {"id": "logo", "prompt": "What is the logo?", "files": {"kinds": ["pictures"]}}


async def is_posted(office: Office) -> bool:
    """Return True once the bot knows the messages of all asks."""
    listing = await office.start("list", "--format", "json")
    code, listed = await listing.ended()
    assert code == 0, listing.err
    return bool(listed) and all(json.loads(line)["posted"] is not None for line in listed.splitlines())


async def give(office: Office, *files: Attached) -> None:
    """Let Ada reply to the card with nothing but files, once the bot knows the message of its card."""
    shown = await office.card("What is the logo?")
    while not await is_posted(office):
        pass
    if office.platform == "slack":
        office.services.people.write("ada", shown.channel, "", shown.ts, files=files)
    else:
        office.services.discord.people.write("ada", shown.channel, "", reference=shown.id, files=files)
