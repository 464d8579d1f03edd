"""Helps an operator to set the Slack bot up: the app's manifest, its installation, checks and previews."""

from __future__ import annotations

__all__ = ["SlackSetup"]

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from urllib.parse import quote

from pydantic import JsonValue, SecretStr

from askback.domain.card import Card
from askback.ports.bot import Invitation
from askback.ports.findings import Finding, Scene
from askback.ports.setup_guide import SetupGuide
from askback.settings.credentials import build_credential, examine_form
from askback.settings.loader import list_set_fields
from askback_slack import doctor, render
from askback_slack.settings import SlackSettings

NEW_APP = "https://api.slack.com/apps?new_app=1"
"""The page where one creates an app from a manifest and installs it. `manifest_json` fills the manifest in."""
REMARK = (
    "Choose “From a manifest” there, and paste the output of `askback slack --manifest` (for signed HTTP: `askback "
    "slack --manifest --http HOST:PORT`)."
)


_BOT_TOKEN = build_credential(SlackSettings, "bot_token", "Bot User OAuth Token")
_APP_TOKEN = build_credential(SlackSettings, "app_token", "App-Level Token")
_SIGNING_SECRET = build_credential(SlackSettings, "signing_secret", "Signing Secret")
_FIELDS = {_BOT_TOKEN.key: "bot_token", _APP_TOKEN.key: "app_token", _SIGNING_SECRET.key: "signing_secret"}
"""The field of each credential in the settings."""


class SlackSetup:
    """See `BotSetup`."""

    def __init__(self, http: str | None) -> None:
        self._http = http

    def get_manifest(self) -> str:
        name = "manifest.json" if self._http is None else "manifest-http.json"
        return (files("askback_slack") / name).read_text()

    def get_guide(self) -> SetupGuide:
        over_http = self._http is not None or "http" in list_set_fields(SlackSettings)
        second = _SIGNING_SECRET if over_http else _APP_TOKEN
        return SetupGuide(
            page=NEW_APP if over_http else f"{NEW_APP}&manifest_json={quote(_minify(self.get_manifest()), safe='')}",
            steps=(
                REMARK if over_http else "Choose your workspace, then Next and Create. The manifest is filled in.",
                "On the page Install App, install the app to the workspace.",
            ),
            credentials=(_BOT_TOKEN, second),
            needs_invitation=False,
            channel_access="In Slack, write /invite @askback in each channel in which it is to ask.",
            first_message="In Slack, write /invite @askback in a channel, then: @askback hello",
        )

    async def examine_credential(self, key: str, given: Mapping[str, SecretStr], seconds: float) -> Sequence[Finding]:
        value = given[key]
        malformed = examine_form(SlackSettings, _FIELDS[key], value)
        if malformed is not None:
            return [malformed]
        if key == _BOT_TOKEN.key:
            return await doctor.examine_bot_token(value, seconds)
        if key == _APP_TOKEN.key:
            return await doctor.examine_app_token(value, given[_BOT_TOKEN.key], seconds)
        return [doctor.examine_signing_secret(value)]

    async def get_invitation(self) -> Invitation:
        return Invitation(NEW_APP, REMARK)

    async def examine(self, scene: Scene) -> Sequence[Finding]:
        return await doctor.examine(scene)

    def preview(self, card: Card) -> Sequence[dict[str, JsonValue]]:
        return [{"text": part.text, "blocks": list[JsonValue](part.blocks)} for part in render.render_messages(card)]


def _minify(manifest: str) -> str:
    """Return the manifest without spaces: an address should be short."""
    return json.dumps(json.loads(manifest), ensure_ascii=False, separators=(",", ":"))
