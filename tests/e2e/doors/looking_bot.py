"""A bot that looks for callers that have left at once and often. The real one waits for 30 seconds first."""

from __future__ import annotations

from e2e.ask.office import Office

PROGRAM = """
from askback.cli.main import main
from askback.runtime import maintenance

maintenance.RENEWAL_SECONDS = maintenance.LOOK_SECONDS = 0.5
main()
"""


async def looking_bot(office: Office) -> None:
    """Start the bot; return once it listens."""
    file = office.folder / "looking.py"
    file.write_text(PROGRAM)
    process = await office.start(
        office.platform, program=file, ANTHROPIC_API_KEY="sk-local", ANTHROPIC_BASE_URL=office.services.url
    )
    await office.until(lambda: office.connections == 1 or process.is_over, what=lambda: process.err)
