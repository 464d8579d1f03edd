"""The start of the page: messages to send with a click, and the command that asks from a script."""

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from aiohttp import web

from askback_sandbox.discord.guild import Guild
from askback_sandbox.discord.objects import sees
from askback_sandbox.json_values import JsonObject
from askback_sandbox.model.model import Model
from askback_sandbox.slack.workspace import Workspace

__all__ = ["StartPage", "Suggestion"]


@dataclass(frozen=True)
class Suggestion:
    """A message that a person can send with a click."""

    title: str
    about: str
    text: str


SUGGESTIONS = (
    Suggestion("Choose one", "One question with three answers", "Ask me to choose where to deploy."),
    Suggestion("Choose several", "Any of four answers", "Let me choose several checks."),
    Suggestion("Find one of thirty", "A menu with all of them", "Ask me for a city in a list of thirty."),
    Suggestion("Fill in a form", "Four questions and a review", "Ask me the four questions of a form."),
    Suggestion("Write an answer", "Your own words", "Let me answer in my own words."),
)
"""Messages that the scripted model understands, and a real one, too."""
APPROVAL = Suggestion("Approve a call", "The agent wants to deploy 1.4.2", "Deploy it, with my approval.")
"""A message that needs the demo's tool."""

_PLATFORMS = {"slack": "DISCORD", "discord": "SLACK"}
"""The platforms, each with the word in the variables of the other one."""


class StartPage:
    """The start of the page, which it shows while a channel is empty."""

    def __init__(
        self, workspace: Workspace, guild: Guild, model: Model, environment: Callable[[], Mapping[str, str]]
    ) -> None:
        self._workspace = workspace
        self._guild = guild
        self._model = model
        self._environment = environment
        self._more: dict[str, str] = {}
        self._real_model: str | None = None

    def describe_run(self, environment: Mapping[str, str], model: str | None) -> None:
        """Add variables to the command, and name the real model that answers instead of the scripted one."""
        self._more.update(environment)
        self._real_model = model

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        return [web.get("/people/start", self._start)]

    async def _start(self, request: web.Request) -> web.StreamResponse:
        del request
        offered: list[Suggestion] = []
        if self._real_model is not None:
            offered = [*SUGGESTIONS]
        elif self._model.persona is not None:
            offered = [*SUGGESTIONS, APPROVAL]
        suggestions: list[JsonObject] = [asdict(suggestion) for suggestion in offered]
        places = {"slack": "slack:#general", "discord": f"discord:{self._guild.name}/#general"}
        deaf = [channel.id for channel in self._workspace.channels.values() if not channel.bot_in]
        deaf += [place.id for place in self._guild.places.values() if not sees(self._guild, place)]
        commands = {platform: self._format_command(platform, place) for platform, place in places.items()}
        return web.json_response(
            {"model": self._real_model, "suggestions": suggestions, "commands": commands, "deaf": deaf}
        )

    def _format_command(self, platform: str, place: str) -> str:
        """Return the lines for a shell that ask two people in a place, with the variables that they need."""
        lines = [
            f"export {name}={shlex.quote(value)}"
            for name, value in {**self._environment(), **self._more}.items()
            if _PLATFORMS[platform] not in name and not name.startswith(("ANTHROPIC_", "DEMO_"))
        ]
        asks = f'{_find_command()} ask "Deploy 1.4.2?" --to {shlex.quote(place)} --option Yes --option No \\'
        return "\n".join([*lines, asks, "  --approvers @ada --approvers @ben --quorum 2"])


def _find_command() -> str:
    """Return the askback of this process, which another shell may not have on its path."""
    installed = Path(sys.executable).with_name("askback")
    return shlex.quote(str(installed)) if sys.prefix != sys.base_prefix and installed.is_file() else "askback"
