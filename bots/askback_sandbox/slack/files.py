"""Files as Slack describes them in a message; their URLs open for a token with files:read."""

from pathlib import PurePath
from urllib.parse import quote

from askback_sandbox.attached import Attached
from askback_sandbox.json_values import JsonObject

from .values import Person
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


def file_object(workspace: Workspace, person: Person, attached: Attached) -> JsonObject:
    """Return a file that a person has just attached to a message, in the shape of recorded ones."""
    file_id = workspace.next_id("F")
    extension = PurePath(attached.name).suffix.removeprefix(".").lower()
    kind, pretty = _KINDS.get(extension, (extension or "binary", extension.upper() or "Binary"))
    path = quote(attached.name)
    now, team = int(workspace.clock.time()), workspace.team
    private = f"https://files.slack.com/files-pri/{team.id}-{file_id}"
    return {
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
