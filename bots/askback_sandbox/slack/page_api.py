"""The people's routes of Slack: the JSON API through which the page and a scenario player act as people."""

from dataclasses import asdict

from aiohttp import web
from pydantic import TypeAdapter, ValidationError

from askback_sandbox.guard import FILES_BODY_BYTES, read_object
from askback_sandbox.json_values import JsonObject, as_object, as_text, objects, texts
from askback_sandbox.page_routes import attached, polite, stream_revisions

from .clicks import Clicks, Target
from .faults import KINDS, Fault
from .modals import Modals
from .people import People
from .socket import SlackSocket
from .state import state_object
from .values import Interaction
from .workspace import Workspace

_fault: TypeAdapter[Fault] = TypeAdapter(Fault)


def _outcome(interaction: Interaction | None) -> JsonObject:
    """Return the answer to a person's act; None means that nothing had to be sent."""
    if interaction is None:
        return {"ok": True, "interaction": None}
    if interaction.error is not None:
        return {"ok": False, "error": interaction.error, "interaction": interaction.id}
    return {"ok": True, "interaction": interaction.id}


class SlackPageApi:
    """The routes under /people/, /faults and /log/slack."""

    def __init__(
        self, workspace: Workspace, socket: SlackSocket, people: People, clicks: Clicks, modals: Modals
    ) -> None:
        self._workspace = workspace
        self._socket = socket
        self._people = people
        self._clicks = clicks
        self._modals = modals

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        return [
            web.get("/people/state", self._state),
            web.get("/people/events", self._events),
            web.post("/people/write", polite(self._write)),
            web.post("/people/edit", polite(self._edit)),
            web.post("/people/delete", polite(self._delete)),
            web.post("/people/stop", polite(self._stop)),
            web.post("/people/act", polite(self._act)),
            web.post("/people/options", polite(self._options)),
            web.post("/people/submit", polite(self._submit)),
            web.post("/people/close", polite(self._close)),
            web.post("/people/raw", polite(self._raw)),
            web.get("/faults", self._list_faults),
            web.post("/faults", self._add_fault),
            web.delete("/faults", self._clear_faults),
            web.get("/log/slack", self._log),
        ]

    async def _state(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.json_response(state_object(self._workspace))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        return await stream_revisions(request, self._workspace)

    async def _write(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request, FILES_BODY_BYTES)
        thread_ts = body.get("thread_ts")
        message = self._people.write(
            as_text(body.get("person")),
            as_text(body.get("channel")),
            as_text(body.get("text")),
            thread_ts if isinstance(thread_ts, str) else None,
            files=attached(body),
        )
        return web.json_response({"ok": True, "ts": message.ts})

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        message = self._people.edit(
            as_text(body.get("person")),
            as_text(body.get("channel")),
            as_text(body.get("ts")),
            as_text(body.get("text")),
        )
        return web.json_response({"ok": True, "ts": message.ts})

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        delete = self._people.moderate if body.get("moderator") is True else self._people.delete
        delete(as_text(body.get("person")), as_text(body.get("channel")), as_text(body.get("ts")))
        return web.json_response({"ok": True})

    async def _stop(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        interaction = self._people.stop(
            as_text(body.get("person")), as_text(body.get("channel")), as_text(body.get("thread_ts"))
        )
        return web.json_response(_outcome(interaction))

    @staticmethod
    def _target(body: JsonObject) -> Target:
        return Target(
            person=as_text(body.get("person")),
            block_id=as_text(body.get("block_id")),
            action_id=as_text(body.get("action_id")),
            channel=as_text(body.get("channel")),
            ts=as_text(body.get("ts")),
            view_id=as_text(body.get("view_id")),
        )

    async def _act(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        given = body.get("selected")
        selected = [given] if isinstance(given, str) else texts(given)
        as_seen = objects(body["blocks"]) if "blocks" in body else None
        interaction = await self._clicks.act(self._target(body), selected, as_seen=as_seen)
        return web.json_response(_outcome(interaction))

    async def _options(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        options = await self._clicks.options(self._target(body), as_text(body.get("query")))
        return web.json_response({"ok": True, "options": options})

    async def _submit(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request, FILES_BODY_BYTES)
        done = await self._modals.submit(
            as_text(body.get("person")), as_text(body.get("view_id")), as_object(body.get("values"))
        )
        answer: JsonObject = {"ok": done.ok, "interaction": done.interaction.id if done.interaction else None}
        if done.errors:
            answer["errors"] = dict(done.errors)
        if done.error is not None:
            answer["error"] = done.error
        return web.json_response(answer)

    async def _close(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        interaction = await self._modals.close(
            as_text(body.get("person")), as_text(body.get("view_id")), everything=body.get("clear") is True
        )
        return web.json_response(_outcome(interaction))

    async def _raw(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        ack = await self._people.raw(as_object(body.get("payload")))
        return web.json_response(
            {"ok": ack.acked, "acked": ack.acked, "ack_ms": ack.ms, "payload": ack.payload, "error": ack.error}
        )

    async def _list_faults(self, request: web.Request) -> web.StreamResponse:
        del request
        active = self._workspace.faults.active.items()
        return web.json_response([{"id": fault_id, **asdict(fault)} for fault_id, fault in active])

    async def _add_fault(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        kind = body.get("kind")
        if kind == "drop_sockets":
            self._socket.drop()
            return web.json_response({"ok": True, "id": None})
        if kind == "disconnect":
            await self._socket.disconnect(as_text(body.get("reason"), "refresh_requested"))
            return web.json_response({"ok": True, "id": None})
        try:
            fault = _fault.validate_python(body)
        except ValidationError as error:
            known = ", ".join((*KINDS, "drop_sockets", "disconnect"))
            answer = {"ok": False, "error": f"not a fault (kinds: {known}): {error.error_count()} problems"}
            return web.json_response(answer, status=400)
        return web.json_response({"ok": True, "id": self._workspace.faults.add(fault)})

    async def _clear_faults(self, request: web.Request) -> web.StreamResponse:
        del request
        self._workspace.faults.clear()
        return web.json_response({"ok": True})

    async def _log(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.json_response([asdict(call) for call in self._workspace.log])
