"""response_url: up to five messages in answer to an interaction, within half an hour."""

import json
from dataclasses import replace
from typing import Final

from aiohttp import web
from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object

from . import limits
from .arguments import Arguments
from .blocks import check_message_blocks
from .chat import NO_FALLBACK
from .checks import SlackRefusalError
from .places import thread_root
from .posting import Posting
from .values import ApiCall, Message, ResponseUrl
from .workspace import Workspace

METHOD: Final = "response_url"  # the name in faults and in the log
_GONE = ("used_url", "expired_url", "message_not_found", "invalid_url")


class ResponseUrls:
    """The route under /response/."""

    def __init__(self, workspace: Workspace, posting: Posting) -> None:
        self._workspace = workspace
        self._posting = posting

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        return [web.post("/response/{token}", self._handle)]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        faults = self._workspace.faults
        status = 200
        headers: dict[str, str] = {}
        body: JsonObject = {}
        if fault := faults.take("delay", METHOD):
            await self._workspace.clock.sleep(fault.seconds)
        if faults.take("drop", METHOD):
            return self._cut(request)
        if (foreign := faults.take("foreign", METHOD)) and not foreign.done:
            return foreign.to_response()
        try:
            if fault := faults.take("error", METHOD):
                status = fault.status if fault.status != 200 else 500
                if fault.retry_after is not None:
                    headers["Retry-After"] = str(fault.retry_after)
                raise SlackRefusalError(fault.error)
            try:
                decoded: JsonValue = json.loads(await request.text())
            except ValueError as error:
                raise SlackRefusalError("invalid_payload") from error
            body = as_object(decoded)
            self._respond(request.match_info["token"], body)
            answer: JsonObject = {"ok": True}
        except SlackRefusalError as refusal:
            answer = refusal.answer()
            if status == 200:
                status = 404 if refusal.code in _GONE else 400
        # The token in the address is a secret, so the log holds only the body.
        self._workspace.log.append(
            ApiCall(
                method=METHOD,
                arguments=body,
                status=status,
                answer=answer,
                at=self._workspace.clock.time(),
                ms=0.0,
            )
        )
        if foreign is not None:
            return foreign.to_response()
        if faults.take("lost_answer", METHOD):
            return self._cut(request)
        if status == 200:
            return web.Response(text="ok")
        return web.json_response(answer, status=status, headers=headers)

    @staticmethod
    def _cut(request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    def _respond(self, token: str, body: JsonObject) -> None:
        url = self._workspace.response_urls.get(token)
        if url is None:
            raise SlackRefusalError("invalid_url")
        if self._workspace.clock.time() - url.issued > limits.RESPONSE_URL_SECONDS:
            raise SlackRefusalError("expired_url")
        if url.uses >= limits.RESPONSE_URL_USES:
            raise SlackRefusalError("used_url")
        arguments = Arguments(body)
        if arguments.flag("delete_original"):
            self._delete(url)
        else:
            self._write(url, arguments)
        self._workspace.response_urls[token] = replace(url, uses=url.uses + 1)

    def _original(self, url: ResponseUrl) -> Message:
        message = self._workspace.message(url.channel, url.ts)
        if message is None:
            raise SlackRefusalError("message_not_found")
        return message

    def _delete(self, url: ResponseUrl) -> None:
        message = self._original(url)
        if not self._workspace.faults.take("ignore", METHOD):
            self._posting.remove(message)

    def _write(self, url: ResponseUrl, arguments: Arguments) -> None:
        text = arguments.text("text") or ""
        if len(text) > limits.MESSAGE_TEXT:
            raise SlackRefusalError("msg_too_long")
        given = arguments.raw("blocks")
        blocks = tuple(check_message_blocks(given)) if given is not None else ()
        if not text and not blocks:
            raise SlackRefusalError("no_text")
        shown = text or NO_FALLBACK
        if arguments.flag("replace_original"):
            message = self._original(url)
            if not self._workspace.faults.take("ignore", METHOD):
                self._posting.change(message, replace(message, text=shown, blocks=blocks, markdown=None))
            return
        channel = self._workspace.channels[url.channel]
        in_channel = arguments.text("response_type") == "in_channel"
        message = Message(
            channel=url.channel,
            ts=self._workspace.next_ts(),
            user=self._workspace.bot.id,
            username=self._workspace.bot.name,
            text=shown,
            blocks=blocks,
            thread_ts=thread_root(self._workspace, channel, arguments),
            bot=True,
            ephemeral_to=None if in_channel else url.person,
        )
        if not self._workspace.faults.take("ignore", METHOD):
            self._posting.post(message)
