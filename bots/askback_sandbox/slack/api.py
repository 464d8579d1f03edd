"""Slack's Web API: tokens, faults, the log, and the methods by name."""

import time
from collections.abc import Callable

from aiohttp import web

from askback_sandbox.json_values import JsonObject, copied

from .arguments import Arguments, bearer, read_arguments
from .chat import ChatMethods
from .checks import SlackRefusalError
from .directory import DirectoryMethods, needed
from .faults import Fault
from .files import SlackFiles
from .posting import Posting
from .reading import ReadingMethods
from .sessions import SessionMethods
from .socket import SlackSocket
from .streams import StreamMethods
from .values import ApiCall
from .views import ViewMethods
from .workspace import Workspace

Method = Callable[[Arguments], JsonObject]


class SlackApi:
    """The routes under /api/."""

    def __init__(self, workspace: Workspace, socket: SlackSocket, posting: Posting, views: ViewMethods) -> None:
        self._workspace = workspace
        self._socket = socket
        chat = ChatMethods(workspace, posting)
        streams = StreamMethods(workspace, posting)
        directory = DirectoryMethods(workspace)
        reading = ReadingMethods(workspace, directory)
        sessions = SessionMethods(workspace)
        self._methods: dict[str, Method] = {
            "auth.test": reading.auth_test,
            "bots.info": reading.bot_info,
            "apps.connections.open": self._connections_open,
            "chat.postMessage": chat.post_message,
            "chat.update": chat.update,
            "chat.delete": chat.delete,
            "chat.postEphemeral": chat.post_ephemeral,
            "chat.getPermalink": chat.get_permalink,
            "chat.startStream": streams.start,
            "chat.appendStream": streams.append,
            "chat.stopStream": streams.stop,
            "reactions.add": chat.add_reaction,
            "conversations.replies": reading.replies,
            "conversations.history": reading.history,
            "conversations.info": directory.conversation_info,
            "conversations.list": directory.channels,
            "conversations.open": directory.conversation_open,
            "files.info": SlackFiles(workspace).info,
            "users.info": reading.user_info,
            "users.list": directory.people,
            "usergroups.list": reading.groups,
            "usergroups.users.list": reading.group_users,
            "views.open": views.open,
            "views.push": views.push,
            "views.update": views.update,
            "assistant.threads.setStatus": sessions.set_status,
            "agents.sessions.setStatus": sessions.set_session_status,
            "agents.sessions.rename": sessions.rename,
        }
        self._base = ""

    def serve_at(self, base: str) -> None:
        """Set the base address of the sockets: ws://host:port."""
        self._base = base

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        return [web.post("/api/{method}", self._handle), web.get("/api/{method}", self._handle)]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        started = time.perf_counter()
        faults = self._workspace.faults
        arguments = Arguments({})
        foreign: Fault | None = None
        status, headers = 200, dict[str, str]()
        try:
            arguments = await read_arguments(request)
            if fault := faults.take("delay", method):
                await self._workspace.clock.sleep(fault.seconds)
            if faults.take("drop", method):
                return self._cut(request)
            if (foreign := faults.take("foreign", method)) and not foreign.done:
                return foreign.to_response()
            if fault := faults.take("error", method):
                status = fault.status
                if fault.retry_after is not None:
                    headers["Retry-After"] = str(fault.retry_after)
                raise SlackRefusalError(fault.error)
            if bearer(request, arguments) == self._workspace.bot.token:
                headers["X-OAuth-Scopes"] = ",".join(self._workspace.bot.scopes)
            answer = self._answer(request, method, arguments)
        except SlackRefusalError as refusal:
            answer = refusal.answer()
        self._workspace.log.append(
            ApiCall(
                method=method,
                arguments=copied(arguments.without_token()),
                status=status,
                answer=copied(answer),
                at=self._workspace.clock.time(),
                ms=(time.perf_counter() - started) * 1000,
            )
        )
        if foreign is not None:
            return foreign.to_response()
        if faults.take("lost_answer", method):
            return self._cut(request)
        return web.json_response(answer, status=status, headers=headers)

    def _answer(self, request: web.Request, method: str, arguments: Arguments) -> JsonObject:
        token = bearer(request, arguments)
        if not token:
            raise SlackRefusalError("not_authed")
        bot = self._workspace.bot
        if token not in (bot.token, bot.app_token):
            raise SlackRefusalError("invalid_auth")
        handler = self._methods.get(method)
        if handler is None:
            raise SlackRefusalError("unknown_method")
        for_app = method == "apps.connections.open"
        if (token == bot.app_token) != for_app:
            raise SlackRefusalError("not_allowed_token_type")
        missing = None if for_app else needed(method, arguments, bot.scopes)
        if missing is not None:
            raise SlackRefusalError("missing_scope", needed=missing, provided=",".join(bot.scopes))
        return {"ok": True, **handler(arguments)}

    @staticmethod
    def _cut(request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    def _connections_open(self, arguments: Arguments) -> JsonObject:
        ticket = self._socket.ticket()
        return {"url": f"{self._base}/link/?ticket={ticket}&app_id={self._workspace.bot.app_id}"}
