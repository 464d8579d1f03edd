"""Any other server in Discord's place gives a readable error."""

from __future__ import annotations

import pytest
from aiohttp import web

from askback.errors import OperatorError
from askback_discord.setup import DiscordSetup


@pytest.mark.parametrize(
    ("body", "kind"),
    [("<h1>Welcome</h1>", "text/html"), ('{"id": "1"}', "application/json"), ('{"id": "1"', "application/json")],
    ids=["a page", "something else", "half of it"],
)
async def test_what_is_not_discord(monkeypatch: pytest.MonkeyPatch, body: str, kind: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body.encode(), headers={"Content-Type": kind})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        monkeypatch.setenv("DISCORD_TOKEN", "secret")
        monkeypatch.setenv("ASKBACK_DISCORD_API_URL", f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10")
        with pytest.raises(OperatorError, match="not Discord's API"):
            await DiscordSetup().get_invitation()
    finally:
        await runner.cleanup()
