"""Files as Slack describes them in a message; their URLs open for a token with files:read.

Anybody else gets the page on which a person logs in, with HTTP 200, as in Slack.
"""

from pathlib import PurePath
from urllib.parse import quote

from aiohttp import web

from askback_sandbox.attached import Attached
from askback_sandbox.json_values import JsonObject, copied

from .arguments import Arguments
from .checks import SlackRefusalError
from .values import ApiCall, Person
from .workspace import Workspace

_KINDS = {
    "txt": ("text", "Plain Text"),
    "log": ("text", "Plain Text"),
    "md": ("markdown", "Markdown (raw)"),
    "py": ("python", "Python"),
    "json": ("json", "JSON"),
    "csv": ("csv", "CSV"),
    "pdf": ("pdf", "PDF"),
    "png": ("png", "PNG"),
    "jpg": ("jpg", "JPEG"),
    "jpeg": ("jpg", "JPEG"),
    "zip": ("zip", "Zip"),
}

LOGIN_PAGE = b'<!DOCTYPE html><html lang="en-US"><head><title>Slack</title></head><body>Sign in</body></html>'


def file_object(workspace: Workspace, person: Person, attached: Attached) -> JsonObject:
    """Return a file that a person has just attached to a message, in the shape of recorded ones."""
    file_id = workspace.next_id("F")
    extension = PurePath(attached.name).suffix.removeprefix(".").lower()
    kind, pretty = _KINDS.get(extension, (extension or "binary", extension.upper() or "Binary"))
    path = quote(attached.name)
    now, team = int(workspace.clock.time()), workspace.team
    private = f"{workspace.files_url}/files-pri/{team.id}-{file_id}"
    described: JsonObject = {
        "id": file_id,
        "created": now,
        "timestamp": now,
        "name": attached.name,
        "title": attached.name,
        "mimetype": attached.mimetype,
        "filetype": kind,
        "pretty_type": pretty,
        "user": person.id,
        "user_team": team.id,
        "editable": kind == "text",
        "size": attached.size,
        "mode": "snippet" if kind == "text" else "hosted",
        "is_external": False,
        "external_type": "",
        "is_public": True,
        "public_url_shared": False,
        "display_as_bot": False,
        "username": "",
        "url_private": f"{private}/{path}",
        "url_private_download": f"{private}/download/{path}",
        "media_display_type": "unknown",
        "permalink": f"https://{team.domain}.slack.com/files/{person.id}/{file_id}/{path}",
        "permalink_public": f"https://slack-files.com/{team.id}-{file_id}-local",
        "has_rich_preview": False,
        "file_access": "visible",
    }
    workspace.files[file_id] = described
    if attached.content is not None:
        workspace.contents[file_id] = attached.content
    return described


class SlackFiles:
    """The contents of files, and the method that describes a file."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        return [
            web.get("/files-pri/{key}/{name}", self._send),
            web.get("/files-pri/{key}/download/{name}", self._send),
        ]

    def info(self, arguments: Arguments) -> JsonObject:
        """Describe a file: `files.info`."""
        described = self._workspace.files.get(arguments.text("file") or "")
        if described is None:
            raise SlackRefusalError("file_not_found")
        return {"file": copied(described)}

    async def _send(self, request: web.Request) -> web.StreamResponse:
        workspace, file_id = self._workspace, request.match_info["key"].partition("-")[2]
        if fault := workspace.faults.take("delay", "files-pri"):
            await workspace.clock.sleep(fault.seconds)
        response = self._answer(request, file_id)
        workspace.log.append(
            ApiCall(
                method="files-pri",
                arguments={"file": file_id},
                status=response.status,
                answer={},
                at=workspace.clock.time(),
                ms=0.0,
            )
        )
        return response

    def _answer(self, request: web.Request, file_id: str) -> web.Response:
        faults, bot = self._workspace.faults, self._workspace.bot
        if fault := faults.take("error", "files-pri"):
            headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            return web.Response(status=fault.status, headers=headers)
        if fault := faults.take("foreign", "files-pri"):
            return fault.to_response()
        if request.headers.get("Authorization") != f"Bearer {bot.token}" or "files:read" not in bot.scopes:
            return web.Response(body=LOGIN_PAGE, content_type="text/html")
        described, content = self._workspace.files.get(file_id), self._workspace.contents.get(file_id)
        if described is None or content is None:
            return web.Response(status=404, body=b"File not found")
        return web.Response(body=content, content_type=str(described["mimetype"]))
