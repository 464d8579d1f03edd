"""Any other server in Discord's place gives a readable error."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from aiohttp import web
from discord.http import Route
from pydantic import SecretStr

from askback.errors import OperatorError
from askback_discord.login import use_addresses
from askback_discord.settings import DiscordSettings
from askback_discord.setup import DiscordSetup


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, "<h1>Welcome</h1>", "text/html"),
        (200, '{"id": "1"}', "application/json"),
        (200, '{"id": "1"', "application/json"),
        (401, "<h1>Who are you?</h1>", "text/html"),
        (403, "<h1>Blocked</h1>", "text/html"),
        (302, "", "text/html"),
    ],
    ids=["a page", "something else", "half of it", "a login page", "a block", "a redirect"],
)
async def test_what_is_not_discord(monkeypatch: pytest.MonkeyPatch, status: int, body: str, kind: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(
            status=status, body=body.encode(), headers={"Content-Type": kind, "Location": "/elsewhere/than/discord"}
        )

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


def test_a_client_that_ends_leaves_the_address_to_the_others() -> None:
    settings = DiscordSettings(token=SecretStr("secret"), api_url="http://127.0.0.1:9/api/v10")
    before = Route.BASE
    with ExitStack() as directory, ExitStack() as bot:
        directory.enter_context(use_addresses(settings))
        bot.enter_context(use_addresses(settings))
        directory.close()
        assert settings.api_url == Route.BASE
    assert before == Route.BASE
