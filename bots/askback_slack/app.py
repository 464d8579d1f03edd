"""The Slack bot, built on slack-bolt, over Socket Mode or signed HTTP.

It translates Slack's payloads into the core's types and sends the core's answers back. Payloads arrive through
`socket_mode` or `http`; both pass them to slack-bolt through `dispatch`.
"""

from __future__ import annotations

__all__ = ["SlackBot", "create_bot"]

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import aiohttp
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from askback.errors import OperatorError
from askback.network.http_server import serve_http
from askback.ports.bot import Bot, BotOptions, BotServices
from askback.ports.files import FileReader
from askback.ports.membership import Membership
from askback.ports.platform import DeliveryError, HistoryReader, MessageNotFound, Platform, RetryableError
from askback.settings.address import Address
from askback.settings.loader import load
from askback_slack.api_calls import SlackApi
from askback_slack.catch_up import CatchUp
from askback_slack.click_middleware import ClickMiddleware
from askback_slack.clicks import Clicks
from askback_slack.directory import SlackDirectory
from askback_slack.dispatch import dispatch, record_ack
from askback_slack.events import MessageListener
from askback_slack.files import SlackFiles
from askback_slack.groups import SlackUserGroups
from askback_slack.history import History
from askback_slack.http import SignedEndpoint
from askback_slack.http_session import open_session
from askback_slack.installation import Installation
from askback_slack.json_access import Json, get_object, get_text, get_value
from askback_slack.newest_messages import NewestMessages
from askback_slack.other_processes import OtherProcesses
from askback_slack.picked_names import PickedNames
from askback_slack.posting import SlackPlatform
from askback_slack.reader_languages import ReaderLanguages
from askback_slack.sdk import Listeners
from askback_slack.settings import SlackCalls, SlackSettings, is_configured, load_settings
from askback_slack.setup import SlackSetup
from askback_slack.socket_mode import Ack, SocketModeClient
from askback_slack.submissions import Submissions
from askback_slack.task_group import Background
from askback_slack.user_names import UserNames

log = logging.getLogger("askback.slack")

CALL_SECONDS = 30
FINISH_SECONDS = 3.0
"""Seconds that the work behind acks may still take at shutdown."""
ANY = re.compile(r".*", re.DOTALL)


class SlackBot:
    """The bot for Slack."""

    name = "slack"

    def __init__(self, http: str | None = None) -> None:
        """`http` is the address to listen on for Slack's requests. It overrides the settings."""
        self._http = http
        self.setup = SlackSetup(http)

    def check(self) -> None:
        load_settings(self._http)

    def is_configured(self) -> bool:
        return is_configured(self._http)

    @asynccontextmanager
    async def connect(self, services: BotServices) -> AsyncGenerator[SlackConnection]:
        settings = load_settings(self._http)
        async with open_session(settings.api_url, CALL_SECONDS) as session, Background() as background:
            client = _build_client(settings, session)
            api = SlackApi(client, session)
            me = await _read_identity(api, settings.bot_token.get_secret_value())
            # Read this before events arrive, so that no new message hides those that were missed.
            newest = NewestMessages(await services.list_recent())
            token = settings.bot_token.get_secret_value()
            files = SlackFiles(api, session, settings.api_url, token)
            connection = SlackConnection(settings, client, api, files, me, services, background, newest)
            try:
                yield connection
                await background.settle(FINISH_SECONDS)
            finally:
                await connection.close()

    @asynccontextmanager
    async def open_directory(self) -> AsyncGenerator[SlackDirectory]:
        settings = load(SlackCalls)
        async with open_session(settings.api_url, CALL_SECONDS) as session:
            api = SlackApi(_build_client(settings, session), session)
            me = await _read_identity(api, settings.bot_token.get_secret_value())
            yield SlackDirectory(api, Installation(team=me.team_id, org=me.enterprise_id))


class SlackConnection:
    """A connection of the bot to Slack."""

    def __init__(
        self,
        settings: SlackSettings,
        client: AsyncWebClient,
        api: SlackApi,
        files: FileReader,
        me: AuthorizeResult,
        services: BotServices,
        background: Background,
        newest: NewestMessages,
    ) -> None:
        self._socket: SocketModeClient | None = None
        self._endpoint: SignedEndpoint | None = None
        self._routes = services.routes
        self._find_deleted = services.missed
        self.address: Address | None = None
        """The address that it listens on; None if it does not listen over HTTP."""
        self._api = api
        names = UserNames(api)
        home = Installation(team=me.team_id, org=me.enterprise_id)
        slack = SlackPlatform(api, me.bot_user_id)
        self.platform: Platform = slack
        self.history: HistoryReader = History(api, names, me.bot_user_id or "", home)
        self.membership: Membership = SlackUserGroups(api)
        self.files: FileReader = files
        self._close = slack.close
        self.access = settings.to_access(home.tenant)
        self._settings = settings
        picked_names = PickedNames(api, names, services.manager)
        languages = ReaderLanguages(names, background)
        clicks = Clicks(
            services.manager,
            slack,
            api,
            background,
            services.choose,
            languages,
            picked_names,
            home,
            takes_messages=services.takes_typed_answers,
        )
        submissions = Submissions(services.manager, background, names, languages, picked_names, home)
        self._app = _create_app(client, me, clicks, submissions)
        others = OtherProcesses(api, slack, background, me.bot_user_id or "", home)
        listener = MessageListener(
            services, slack, names, picked_names, background, newest, others, me.bot_user_id or "", home
        )
        self._catch_up = CatchUp(api, listener, newest)
        self._catching_up: asyncio.Task[None] | None = None
        _register(self._app, listener, submissions)

    async def close(self) -> None:
        """Stop the tasks that show the agent's status."""
        await self._close()

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._catching_up = tasks.create_task(self._catch_up.run(), name="askback slack catch up")
            try:
                await self._receive()
            finally:
                self._catching_up.cancel()

    async def _receive(self) -> None:
        secret, token = self._settings.signing_secret, self._settings.app_token
        if self._settings.http is not None and secret is not None:
            await self._listen(Address.read(self._settings.http), secret.get_secret_value())
        elif token is not None:
            await self._connect(token.get_secret_value())

    def _on_gap(self) -> None:
        """Catch up on messages and deletions that the bot missed while no event could arrive."""
        self._find_deleted()
        self._catch_up.schedule()

    def is_connected(self) -> bool:
        return self.address is not None if self._socket is None else self._socket.is_connected

    async def drain(self) -> None:
        if self._catching_up is not None:
            self._catching_up.cancel()
        if self._endpoint is not None:
            self._endpoint.is_closed = True
        if self._socket is not None:
            await self._socket.drain()

    async def _listen(self, address: Address, secret: str) -> None:
        self._endpoint = SignedEndpoint(self._app, secret, self._routes)
        async with serve_http(self._endpoint.build_application(), address) as self.address:
            log.info(
                "Listening for Slack's requests at http://%s/slack/events.",
                self.address,
                extra={"action": "slack_listening", "address": str(self.address)},
            )
            self._on_gap()
            await asyncio.Event().wait()

    async def _connect(self, token: str) -> None:
        self._socket = SocketModeClient(
            lambda: self._api.open_socket_address(token), self._handle_envelope, self._on_gap
        )
        await self._socket.run()

    async def _handle_envelope(self, envelope: Json) -> Ack | None:
        began = time.monotonic()
        again = {"x-slack-retry-num": str(get_value(envelope, "retry_attempt") or 0)}
        body = cast("dict[str, object]", get_object(envelope, "payload"))
        try:
            request = AsyncBoltRequest(mode="socket_mode", body=body, headers={**again})
        except (TypeError, ValueError, AttributeError, KeyError):
            # slack-bolt parses the payload at once. A second delivery would fail the same way.
            log.exception(
                "Could not handle a payload from Slack because of a bug. Please report this.",
                extra={"action": "payload_failed"},
            )
            return Ack({}, lambda: None)
        response = await dispatch(self._app, request, interactive=get_text(envelope, "type") != "events_api")
        if response.status != 200:
            return None
        return Ack(get_object(json.loads(response.body)) if response.body else {}, lambda: record_ack(request, began))


class _Essential(logging.Filter):
    """Drop slack-bolt's warning about SLACK_BOT_TOKEN next to its client, and its advice to programmers."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return "`token`" not in message and not message.startswith("Unhandled request")


def _create_app(client: AsyncWebClient, me: AuthorizeResult, clicks: Clicks, submissions: Submissions) -> AsyncApp:
    """Return the part of slack-bolt that calls listeners."""

    async def authorize() -> AuthorizeResult:
        return me  # read once at startup, so that no click waits for it

    return AsyncApp(
        # Without a name, slack-bolt searches the source of every loaded module. It also gives the logger of that
        # name the root logger's level, so this must not be the name of askback's own logger.
        name="slack-bolt-app",
        client=client,
        authorize=authorize,
        before_authorize=ClickMiddleware(clicks.commit_click, submissions.handle_submission),
        logger=_build_bolt_log(),
        # Answer as soon as a listener returns. By default, slack-bolt polls for the answer every 10 ms. The
        # listeners here only commit, so they return quickly.
        process_before_response=True,
        # Socket Mode carries no signatures, because the socket itself is authenticated. Over HTTP, `http` checks
        # the signature before it reads anything.
        request_verification_enabled=False,
        raise_error_for_unhandled_request=False,
        # If a person deletes a message of the bot, Slack attributes that event to the bot. `message_events` filters
        # out the bot's own messages.
        ignoring_self_events_enabled=False,
    )


def _register(app: AsyncApp, messages: MessageListener, submissions: Submissions) -> None:
    """Name the listener for each kind of event, and one for all others."""
    listeners = cast("Listeners", app)
    listeners.event("app_mention")(messages.handle_message)
    listeners.event("message")(messages.handle_message)
    listeners.event("agent_session_stopped")(messages.handle_stop)
    listeners.event("channel_archive")(messages.handle_channel_closed)
    listeners.event("channel_deleted")(messages.handle_channel_closed)
    listeners.event("group_archive")(messages.handle_channel_closed)
    listeners.event("group_deleted")(messages.handle_channel_closed)
    # Ack every event, including those that the user's own manifest subscribes to.
    listeners.event(ANY)(messages.ignore)
    listeners.options(ANY)(submissions.suggest_options)
    listeners.view(ANY)(submissions.handle_unknown_view)
    listeners.view_closed(ANY)(submissions.ack_closed_view)


def _build_bolt_log() -> logging.Logger:
    bolt = logging.getLogger("askback.slack.bolt")
    bolt.setLevel(logging.WARNING)
    if not bolt.filters:
        bolt.addFilter(_Essential())
    return bolt


def _build_client(settings: SlackSettings, session: aiohttp.ClientSession) -> AsyncWebClient:
    return AsyncWebClient(
        token=settings.bot_token.get_secret_value(),
        base_url=settings.api_url,
        session=session,
        # A message may exist although its response was lost, so the outbox checks before it posts again.
        retry_handlers=[],
    )


async def _read_identity(api: SlackApi, token: str) -> AuthorizeResult:
    """Return the bot's identity. Raises `OperatorError` if Slack does not give it."""
    try:
        response = await api.write("auth.test")
    except DeliveryError as error:
        raise OperatorError(f"Could not connect to Slack: {error}") from error
    except (MessageNotFound, RetryableError) as error:
        raise OperatorError(
            f"{error} Check the network, a proxy in between, and ASKBACK_SLACK_API_URL if it is set."
        ) from error
    me = get_text(response, "user_id")
    if me is None:
        raise OperatorError("SLACK_BOT_TOKEN is not a bot token: copy the Bot User OAuth Token (xoxb-…).")
    team, org = get_text(response, "team_id"), get_text(response, "enterprise_id")
    if team is None and org is None:
        # Without it, the bot could not tell who belongs to its workspace, and would treat everyone as a member.
        raise OperatorError("Slack's response does not name the bot's workspace: check ASKBACK_SLACK_API_URL.")
    return AuthorizeResult(
        enterprise_id=org,
        team_id=team,
        bot_user_id=me,
        bot_id=get_text(response, "bot_id"),
        bot_token=token,
    )


def create_bot(options: BotOptions) -> Bot:
    """Return the bot. The entry point names this function."""
    if options.shard is not None:
        raise OperatorError(
            "Slack has no shards: it distributes events over all connected processes itself. Leave out --shard."
        )
    return SlackBot(options.http)
