"""A page on another port of this machine can neither write as people, nor show the workspace in a frame."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from playwright.async_api import async_playwright

from askback_sandbox.services import Services
from support.browser import CHROMIUM, FLAGS, PATIENCE

ATTACK = """<!doctype html><body><form id=form method=post enctype="text/plain" target=shown></form>
<iframe name=shown></iframe><iframe id=framed src="TARGET/"></iframe>
<script type=module>
const body = JSON.stringify({person: "ada", channel: "general", text: "planted"});
for (const kind of ["text/plain", "application/json"]) {
  for (const mode of ["no-cors", "cors"]) {
    await fetch("TARGET/people/write", {method: "POST", mode, body, headers: {"Content-Type": kind}}).catch(() => 0);
  }
}
navigator.sendBeacon("TARGET/people/write", body);
const field = document.createElement("input");
field.name = body.slice(0, -1) + ', "more": "';
field.value = '"}';
form.append(field);
form.action = "TARGET/people/write";
form.submit();
document.title = "done";
</script>"""


@pytest.fixture
async def elsewhere(services: Services) -> AsyncIterator[str]:
    """The address of a foreign page on this machine."""

    async def page(request: web.Request) -> web.Response:
        del request
        return web.Response(text=ATTACK.replace("TARGET", services.url), content_type="text/html")

    application = web.Application()
    application.add_routes([web.get("/", page)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to open the page with")
async def test_another_page_writes_nothing_and_shows_nothing(services: Services, elsewhere: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page: Any = await browser.new_page()
        page.set_default_timeout(PATIENCE)
        async with page.expect_response(
            lambda response: response.request.is_navigation_request() and response.url.endswith("/people/write")
        ) as written:
            await page.goto(elsewhere)
        assert (await written.value).status == 403
        await page.wait_for_function("document.title === 'done'")
        framed = await (await page.query_selector("#framed")).content_frame()
        await framed.wait_for_load_state()
        assert await framed.query_selector("textarea") is None
        assert "chrome-error" in framed.url
        assert not [one for one in services.workspace.messages.values() if "planted" in one.text]
        # The page itself can still be opened, also by a link from another page.
        await page.evaluate(f"location.href = '{services.url}/'")
        await page.wait_for_selector(".main textarea")
        await browser.close()
