"""Run bots until a signal ends them."""

from __future__ import annotations

__all__ = ["serve"]

import logging
from collections.abc import Sequence

from askback.agent.client_loader import require_agent
from askback.errors import OperatorError
from askback.observability.logs import configure_logging
from askback.ports.bot import Bot
from askback.runtime.app import open_host
from askback.runtime.shutdown import ShutdownHandler
from askback.settings.core import Settings
from askback.settings.env_file import describe_unread_env_file
from askback.settings.environment import describe_unknown_variables, register_secrets_of_bots
from askback.settings.loader import load
from askback.settings.working_directory import check_database
from askback.user_tools.loader import load_tools

log = logging.getLogger("askback.serve")


async def serve(bots: Sequence[Bot]) -> int:
    """Run these bots until a signal ends them. Raises one `OperatorError` that lists everything that is missing."""
    register_secrets_of_bots()
    problems = describe_unknown_variables()
    settings: Settings | None = None
    try:
        settings = load(Settings)
        check_database(settings)
        _ = settings.model_key
        load_tools(settings.tools, settings.folder, settings.approval_tools)
    except OperatorError as error:
        problems.append(str(error))
    for check in (require_agent, *(bot.check for bot in bots)):
        try:
            check()
        except OperatorError as error:
            problems.append(str(error))
    if not all(bot.is_configured() for bot in bots):
        problems.append(describe_unread_env_file(bots[0].name) or _suggest_init(bots))
    if settings is None or problems:
        raise OperatorError("\n".join(dict.fromkeys(problems)))
    configure_logging(settings.log_level, settings.log_format)
    ending = ShutdownHandler()
    async with open_host(bots, settings) as host:
        ending.can_drain = True
        await ending.wait()
        log.info("Shutting down: finishing work in progress.", extra={"action": "draining"})
        await host.drain()
    return 0


def _suggest_init(bots: Sequence[Bot]) -> str:
    name = next(bot.name for bot in bots if not bot.is_configured())
    return f"To set it up step by step, run: askback init {name}"
