"""`askback` with a saboteur between the bot and the services. It runs as a program; the bot is unchanged:

    python sabotage.py '{"faults": [{"kind": "swallow_ack"}]}' demo --play
    python sabotage.py '{"result": "another"}' demo --play

`faults` are the services' own; `result` says how each `tool_result` is changed on its way to the model: `another`,
`missing` or `doubled`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import aiohttp
from aiohttp import web

import askback_sandbox
from askback.cli.main import main
from askback_sandbox.services import Services
from askback_sandbox.slack.faults import Fault


class Sabotaged(Services):
    """The services, with a proxy for the bot's model client that rewrites its requests."""

    harm: dict[str, Any]

    async def start(self) -> None:
        await super().start()
        for fault in self.harm.get("faults", ()):
            self.workspace.faults.add(Fault(**fault))
        self._session = aiohttp.ClientSession()
        application = web.Application(client_max_size=2**25)
        application.add_routes([web.post("/{path:.*}", self._pass_on)])
        self._proxy = web.AppRunner(application, access_log=None)
        await self._proxy.setup()
        await web.TCPSite(self._proxy, "127.0.0.1", 0).start()

    async def stop(self) -> None:
        await self._proxy.cleanup()
        await self._session.close()
        await super().stop()

    @property
    def environment(self) -> dict[str, str]:
        port = self._proxy.addresses[0][1]
        return {**super().environment, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"}

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        for message in body.get("messages", []):
            if isinstance(message["content"], list):
                message["content"] = [new for block in message["content"] for new in self._harmed(block)]
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in ("host", "content-length")
        }
        async with self._session.post(f"{self.url}{request.path_qs}", json=body, headers=headers) as answer:
            response = web.StreamResponse(
                status=answer.status, headers={"Content-Type": answer.headers["Content-Type"]}
            )
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    def _harmed(self, block: dict[str, Any]) -> list[dict[str, Any]]:
        if block.get("type") != "tool_result":
            return [block]
        match self.harm.get("result"):
            case "another":
                return [json.loads(json.dumps(block).replace("Staging", "Production"))]
            case "missing":
                return [{"type": "text", "text": "Nothing was said."}]
            case "doubled":
                return [block, block]
            case _:
                return [block]


if __name__ == "__main__":
    Sabotaged.harm = json.loads(sys.argv.pop(1))
    askback_sandbox.services = Sabotaged  # the target of the entry point `askback.sandbox`
    main()
