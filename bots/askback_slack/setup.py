"""Helps an operator to set the Slack bot up: the app's manifest, its installation, checks and previews."""

from __future__ import annotations

__all__ = ["SlackSetup"]

from collections.abc import Sequence
from importlib.resources import files

from pydantic import JsonValue

from askback.domain.card import Card
from askback.ports.bot import Invitation
from askback.ports.findings import Finding, Scene
from askback_slack import doctor, render

NEW_APP = "https://api.slack.com/apps?new_app=1"
"""The page where one creates an app from a manifest and installs it."""
REMARK = (
    "Choose “From a manifest” there, and paste the output of `askback slack --manifest` (for signed HTTP: `askback "
    "slack --manifest --http HOST:PORT`)."
)


class SlackSetup:
    """See `BotSetup`."""

    def __init__(self, http: str | None) -> None:
        self._http = http

    def get_manifest(self) -> str:
        name = "manifest.json" if self._http is None else "manifest-http.json"
        return (files("askback_slack") / name).read_text()

    async def get_invitation(self) -> Invitation:
        return Invitation(NEW_APP, REMARK)

    async def examine(self, scene: Scene) -> Sequence[Finding]:
        return await doctor.examine(scene)

    def preview(self, card: Card) -> Sequence[dict[str, JsonValue]]:
        return [{"text": part.text, "blocks": list[JsonValue](part.blocks)} for part in render.render_messages(card)]
