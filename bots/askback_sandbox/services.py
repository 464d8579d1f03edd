"""The services that a bot needs, on one local port: Slack, Discord, the Messages API, and the page."""

import asyncio
import time
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate
from importlib.resources import files
from pathlib import Path
from types import TracebackType

from aiohttp import web

from askback_sandbox.discord.guild import Guild
from askback_sandbox.discord.parts import Discord
from askback_sandbox.model.model import Model
from askback_sandbox.model.persona import persona
from askback_sandbox.play.play import play
from askback_sandbox.play.scenario import Scenario
from askback_sandbox.play.scenario_reader import ScenarioError, load
from askback_sandbox.slack.api import SlackApi
from askback_sandbox.slack.clicks import Clicks
from askback_sandbox.slack.files import SlackFiles
from askback_sandbox.slack.modals import Modals
from askback_sandbox.slack.page_api import SlackPageApi
from askback_sandbox.slack.people import People
from askback_sandbox.slack.posting import Posting
from askback_sandbox.slack.response_urls import ResponseUrls
from askback_sandbox.slack.socket import SlackSocket
from askback_sandbox.slack.views import ViewMethods
from askback_sandbox.slack.workspace import Workspace

from .clock import Clock
from .guard import Handler, is_loopback, same_origin_only
from .ledger import Ledger
from .model import api as model_api
from .results import FindCalls, Results
from .start_page import StartPage

PORT = 8800
LARGEST_BODY = 32 * 2**20  # the limit of the Messages API; the people's routes take one megabyte
PAGE_POLICY = (
    "default-src 'self'; img-src 'self' data: https:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
BUILT_IN = ("tour.toml", "forms.toml", "german.toml", "pipeline.toml", "pictures.toml")
"""The scenarios to play if no file is given."""
_SCENARIOS = Path(str(files("askback_sandbox") / "scenarios"))
_PAGE = Path(str(files("askback_sandbox") / "page"))


class Services:
    """The services on this machine, as an async context manager.

    Only a loopback address can be bound, because these services trust every client.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = PORT,
        *,
        workspace: Workspace | None = None,
        model: Model | None = None,
        clock: Clock | None = None,
        socket: SlackSocket | None = None,
        guild: Guild | None = None,
        discord_openapi: Path | None = None,
    ) -> None:
        """Create the services; port 0 takes any free one.

        Raises:
            ValueError: `host` is not a loopback address.
        """
        if not is_loopback(host):
            raise ValueError(f"{host!r} is not a loopback address: these services are for this machine only")
        self._host = host
        self._port = port
        self.workspace = workspace or Workspace(clock=clock)
        self.model = model or Model(persona=persona)
        self.socket = socket or SlackSocket(self.workspace)
        self.posting = posting = Posting(self.workspace, self.socket)
        views = ViewMethods(self.workspace)
        self.people = People(self.workspace, self.socket, posting)
        self.clicks = Clicks(self.workspace, self.socket)
        self.modals = Modals(self.workspace, self.socket, views)
        self._api = SlackApi(self.workspace, self.socket, posting, views)
        self._responses = ResponseUrls(self.workspace, posting)
        self.discord = Discord(guild or Guild(clock=clock), openapi=discord_openapi)
        self._page_api = SlackPageApi(self.workspace, self.socket, self.people, self.clicks, self.modals)
        self._start_page = StartPage(self.workspace, self.discord.guild, self.model, lambda: self.environment)
        self._results = Results(self.model)
        self.ledger = Ledger()
        self._runner: web.AppRunner | None = None
        self.date_ahead: float | None = None
        """Seconds by which the Date header of every answer is ahead; None leaves it unchanged."""

    @property
    def url(self) -> str:
        """The page's URL."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def slack_api_url(self) -> str:
        """The `base_url` for slack_sdk."""
        return f"{self.url}/api/"

    @property
    def discord_api_url(self) -> str:
        """The local replacement for https://discord.com/api/v10."""
        return self.discord.api_url(self.url)

    @property
    def discord_gateway_url(self) -> str:
        """The local replacement for wss://gateway.discord.gg."""
        return self.discord.gateway_url(self.url)

    @property
    def anthropic_url(self) -> str:
        """The `base_url` for the anthropic client."""
        return self.url

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that point a bot at these services instead of the real ones."""
        bot = self.workspace.bot
        return {
            "SLACK_BOT_TOKEN": bot.token,
            "SLACK_APP_TOKEN": bot.app_token,
            "ASKBACK_SLACK_API_URL": self.slack_api_url,
            "DISCORD_TOKEN": self.discord.guild.app.token,
            "ASKBACK_DISCORD_API_URL": self.discord_api_url,
            "ASKBACK_DISCORD_GATEWAY_URL": self.discord_gateway_url,
            "ANTHROPIC_API_KEY": "sk-local",
            "ANTHROPIC_BASE_URL": self.anthropic_url,
            "DEMO_LEDGER": f"{self.url}/ran",
        }

    def describe_run(self, environment: Mapping[str, str], model: str | None = None) -> None:
        """Tell the page what runs next to these services.

        `environment` has more variables for a program that asks, such as the database of the running bot. `model` is
        the name of a real model; None means that the scripted one answers.
        """
        self._start_page.describe_run(environment, model)

    @contextmanager
    def find_calls_with(self, find_calls: FindCalls) -> Generator[None]:
        """Let the page show the result that the model got for a card, until the block ends.

        `find_calls` takes names of messages, and returns those that are ids of asks, each with the id of the model's
        call that asked, or None if a program asked.
        """
        self._results.find_calls = find_calls
        try:
            yield
        finally:
            self._results.find_calls = None

    async def __aenter__(self) -> "Services":
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start to listen.

        Raises:
            OSError: the address or port is not available.
        """
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        self._port = int(runner.addresses[0][1])
        self._api.serve_at(self.url.replace("http", "ws", 1))
        self.workspace.files_url = self.url
        self.clicks.serve_at(self.url)
        self.discord.serve_at(self.url)

    async def stop(self) -> None:
        """Stop listening and end everything that waits."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def trouble(self, scenario: Path) -> str | None:
        """Return the problems of a scenario file, one per line; None if it can be played."""
        try:
            load(scenario)
        except ScenarioError as error:
            return str(error)
        return None

    def platforms(self, scenario: Path | None) -> tuple[str, ...]:
        """Return the bot names of the platforms that a scenario wants; None means the built-in scenarios."""
        return tuple(dict.fromkeys(name for played in _scenarios(scenario) for name in played.platforms))

    def tools(self, scenario: Path | None) -> tuple[str, ...]:
        """Return the names of the tools that the scenario's model calls."""
        return tuple(dict.fromkeys(name for played in _scenarios(scenario) for name in played.tools))

    def approvals(self, scenario: Path | None) -> dict[str, str]:
        """Return the bot's settings for tool approval: approvers, quorum and reasons."""
        return {name: value for played in _scenarios(scenario) for name, value in self._approvals(played).items()}

    def lets_edit(self, scenario: Path | None) -> bool:
        """Return True if approvers may change the arguments of calls."""
        return any(played.approval is not None and played.approval.edit for played in _scenarios(scenario))

    async def play(self, scenario: Path | None, out: Callable[[str], None], platforms: Collection[str]) -> list[str]:
        """Play a scenario on those of the given platforms that it wants; return the problems found."""
        connected = {"slack": self.socket.connected, "discord": self.discord.gateway.connected}
        problems: list[str] = []
        for number, played in enumerate(_scenarios(scenario)):
            for name in played.platforms:
                if name in platforms:
                    await connected[name]()
            if number:
                out("")
            self._set_locales(played.locales)
            problems += await play(played, self.url, out, platforms)
        return problems

    def _set_locales(self, locales: Mapping[str, str]) -> None:
        for person in [*self.workspace.people.values()]:
            if person.name in locales:
                self.workspace.people[person.id] = replace(person, locale=locales[person.name])
        for member in [*self.discord.guild.people.values()]:
            if member.name in locales:
                self.discord.guild.people[member.id] = replace(member, locale=locales[member.name])

    def _approvals(self, played: Scenario) -> dict[str, str]:
        rules = played.approval
        if rules is None:
            return {}
        on_slack = {person.name: f"slack:{person.id}" for person in self.workspace.people.values()}
        on_discord = {person.name: f"discord:{person.id}" for person in self.discord.guild.people.values()}
        approvers = [ids[name] for name in rules.approvers for ids in (on_slack, on_discord) if name in ids]
        return {
            "ASKBACK_APPROVERS": ",".join(approvers),
            "ASKBACK_APPROVAL_QUORUM": str(rules.quorum),
            "ASKBACK_APPROVAL_REASONS": rules.reasons,
        }

    async def run(self) -> None:
        """Serve until cancelled."""
        async with self:
            await asyncio.Event().wait()

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[same_origin_only, _with_page_policy], client_max_size=LARGEST_BODY)
        application.add_routes(self._api.routes())
        application.add_routes([web.get("/link/", self.socket.handle)])
        application.add_routes(SlackFiles(self.workspace).routes())
        application.add_routes(self._responses.routes())
        application.add_routes(self._page_api.routes())
        application.add_routes(self._start_page.routes())
        application.add_routes(self._results.routes())
        application.add_routes(self.discord.routes())
        application.add_routes(self.ledger.routes())
        application.add_routes(model_api.routes(self.model))
        application.add_routes([web.get("/", _index), web.static("/page", _PAGE)])
        application.on_response_prepare.append(self._date)
        application.on_shutdown.append(self._close)
        return application

    async def _date(self, request: web.Request, response: web.StreamResponse) -> None:
        del request
        if self.date_ahead is not None:
            response.headers["Date"] = formatdate(time.time() + self.date_ahead, usegmt=True)

    async def _close(self, application: web.Application) -> None:
        del application
        self.workspace.close()
        await self.discord.close()
        await self.socket.close()


def _scenarios(file: Path | None) -> tuple[Scenario, ...]:
    return (load(file),) if file is not None else tuple(load(_SCENARIOS / name) for name in BUILT_IN)


@web.middleware
async def _with_page_policy(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = await handler(request)
    if (request.path == "/" or request.path.startswith("/page/")) and not response.prepared:
        response.headers["Content-Security-Policy"] = PAGE_POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        # For browsers without frame-ancestors: a frame could trick people into clicking controls that they do not see.
        response.headers["X-Frame-Options"] = "DENY"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-cache"
    return response


async def _index(request: web.Request) -> web.StreamResponse:
    del request
    return web.FileResponse(_PAGE / "index.html")
