"""The people's routes of Discord: the JSON API through which the page and a scenario player act as people."""

from dataclasses import asdict, replace

from aiohttp import web
from pydantic import TypeAdapter, ValidationError

from askback_sandbox.guard import FILES_BODY_BYTES, read_object
from askback_sandbox.json_values import JsonObject, as_object, as_text, objects, texts
from askback_sandbox.page_routes import attached, polite, stream_revisions

from .clicks import Delivery, DiscordClicks, Target
from .faults import DISCORD_FAULTS, DiscordFault
from .gateway import Gateway
from .guild import Guild
from .people import DiscordPeople
from .posting import Posting
from .state import state_object
from .values import Done

_fault: TypeAdapter[DiscordFault] = TypeAdapter(DiscordFault)
_ACTS = ("drop_gateway", "reconnect", "invalidate", "archive", "unarchive", "remove_channel")


class DiscordPageApi:
    """The routes under /people/discord/, /faults/discord and /log/discord."""

    def __init__(
        self, guild: Guild, gateway: Gateway, posting: Posting, people: DiscordPeople, clicks: DiscordClicks
    ) -> None:
        self._guild = guild
        self._gateway = gateway
        self._posting = posting
        self._people = people
        self._clicks = clicks

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        root = "/people/discord"
        return [
            web.get(f"{root}/state", self._state),
            web.get(f"{root}/events", self._events),
            web.post(f"{root}/write", polite(self._write)),
            web.post(f"{root}/edit", polite(self._edit)),
            web.post(f"{root}/delete", polite(self._delete)),
            web.post(f"{root}/click", polite(self._click)),
            web.post(f"{root}/select", polite(self._select)),
            web.post(f"{root}/submit", polite(self._submit)),
            web.post(f"{root}/dismiss", polite(self._dismiss)),
            web.post(f"{root}/raw", polite(self._raw)),
            web.get("/faults/discord", self._list_faults),
            web.post("/faults/discord", self._add_fault),
            web.delete("/faults/discord", self._clear_faults),
            web.get("/log/discord", self._log),
        ]

    async def _state(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.json_response(state_object(self._guild))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        return await stream_revisions(request, self._guild)

    async def _write(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request, FILES_BODY_BYTES)
        reference = body.get("reference")
        post = self._people.write(
            as_text(body.get("person")),
            as_text(body.get("channel")),
            as_text(body.get("content")),
            reference if isinstance(reference, str) else None,
            files=attached(body),
        )
        return web.json_response({"ok": True, "id": post.id})

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        post = self._people.edit(
            as_text(body.get("person")),
            as_text(body.get("channel")),
            as_text(body.get("message")),
            as_text(body.get("content")),
        )
        return web.json_response({"ok": True, "id": post.id})

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        delete = self._people.moderate if body.get("moderator") is True else self._people.delete
        delete(as_text(body.get("person")), as_text(body.get("channel")), as_text(body.get("message")))
        return web.json_response({"ok": True})

    async def _click(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        return _outcome(await self._clicks.click(_target(body), _delivery(body)))

    async def _select(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        return _outcome(await self._clicks.select(_target(body), texts(body.get("values")), _delivery(body)))

    async def _submit(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request, FILES_BODY_BYTES)
        person, custom_id = as_text(body.get("person")), as_text(body.get("custom_id"))
        return _outcome(await self._clicks.submit(person, custom_id, as_object(body.get("values")), _delivery(body)))

    async def _dismiss(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        self._clicks.dismiss(as_text(body.get("person")))
        return web.json_response({"ok": True})

    async def _raw(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        return _outcome(await self._clicks.raw(as_object(body.get("payload")), _delivery(body)))

    async def _list_faults(self, request: web.Request) -> web.StreamResponse:
        del request
        active = self._guild.faults.active.items()
        return web.json_response([{"id": fault_id, **asdict(fault)} for fault_id, fault in active])

    async def _add_fault(self, request: web.Request) -> web.StreamResponse:
        body = await read_object(request)
        if body.get("kind") in _ACTS:
            return self._act(as_text(body.get("kind")), body)
        try:
            fault = _fault.validate_python(body)
        except ValidationError as error:
            known = ", ".join((*DISCORD_FAULTS, *_ACTS))
            answer = {"ok": False, "error": f"not a fault (kinds: {known}): {error.error_count()} problems"}
            return web.json_response(answer, status=400)
        return web.json_response({"ok": True, "id": self._guild.faults.add(fault)})

    def _act(self, kind: str, body: JsonObject) -> web.StreamResponse:
        """Carry out an act that happens once and immediately."""
        resumable = body.get("resumable") is not False
        if kind == "drop_gateway":
            self._gateway.drop(resumable=resumable)
        elif kind == "reconnect":
            self._gateway.reconnect()
        elif kind == "invalidate":
            self._gateway.invalidate(resumable=body.get("resumable") is True)
        else:
            place = self._guild.place(as_text(body.get("channel")))
            if place is None or place.kind == "dm":
                return web.json_response({"ok": False, "error": "there is no such channel"}, status=400)
            if kind == "remove_channel":
                self._posting.remove_place(place)
            else:
                locked = body.get("locked") is True
                self._posting.change_place(replace(place, archived=kind == "archive", locked=locked))
        return web.json_response({"ok": True, "id": None})

    async def _clear_faults(self, request: web.Request) -> web.StreamResponse:
        del request
        self._guild.faults.clear()
        return web.json_response({"ok": True})

    async def _log(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.json_response([asdict(call) for call in self._guild.log])


def _target(body: JsonObject) -> Target:
    return Target(
        person=as_text(body.get("person")),
        channel=as_text(body.get("channel")),
        message=as_text(body.get("message")),
        custom_id=as_text(body.get("custom_id")),
        components=tuple(objects(body["components"])) if "components" in body else None,
    )


def _delivery(body: JsonObject) -> Delivery:
    """Read `twice`, which sends the same interaction two times, and `late`, the seconds after the click."""
    late = body.get("late")
    seconds = float(late) if isinstance(late, int | float) and not isinstance(late, bool) else 0.0
    return Delivery(times=2 if body.get("twice") is True else 1, late=seconds)


def _outcome(done: Done) -> web.StreamResponse:
    answer: JsonObject = {"ok": done.error is None, "interaction": done.id}
    if done.error is not None:
        answer["error"] = done.error
    return web.json_response(answer)
