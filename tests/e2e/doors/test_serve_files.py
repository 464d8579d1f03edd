"""`askback serve`, and `askback show --save`: programs and operators get the files that people gave as answers."""

from __future__ import annotations

import asyncio

from askback_sandbox.attached import Attached
from e2e.ask.office import Office

from .file_answers import LOGO, QUESTION, give
from .http_caller import SECOND, caller


async def test_the_program_gets_the_file_and_nobody_else_does(stored_office: Office) -> None:
    office = stored_office
    async with caller(office) as one:
        asking = asyncio.create_task(one.ask(wait=60, questions=[QUESTION]))
        await give(office, Attached("..logo.png", content=LOGO))
        answer = await asking
        assert answer["status"] == "answered", answer
        file = answer["answers"]["logo"]
        assert file == {"id": file["id"], "name": "..logo.png", "size": len(LOGO), "type": "image/png"}
        path = f"/v1/asks/{answer['id']}/files/{file['id']}"
        async with one.open("GET", path) as response:
            assert (response.status, await response.read()) == (200, LOGO)
            assert response.headers["Content-Type"] == "image/png"
            assert response.headers["Content-Disposition"] == "attachment"
            assert response.headers["X-Content-Type-Options"] == "nosniff"
        await one.problem(401, "GET", path, token="wrong")
        await one.problem(404, "GET", path, token=SECOND)
        assert "no file" in await one.problem(404, "GET", f"/v1/asks/{answer['id']}/files/F0")
        folder = office.folder / "saved"
        for names in (["logo.png"], ["logo (2).png", "logo.png"]):
            shown = await office.start("show", answer["id"], "--save", str(folder))
            assert (await shown.ended())[0] == 0, shown.err
            assert sorted(saved.name for saved in folder.iterdir()) == names
        assert all(saved.read_bytes() == LOGO for saved in folder.iterdir())
        assert str(folder) in shown.err
