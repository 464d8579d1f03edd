"""The workspace of the app, and the people of other workspaces who meet it there."""

from __future__ import annotations

__all__ = [
    "UNKNOWN_INSTALLATION",
    "Installation",
    "find_tenant",
    "read_actor",
]

from dataclasses import dataclass

from askback.domain.identity import Actor
from askback_slack.id_patterns import PLATFORM
from askback_slack.json_access import Json, get_text


@dataclass(frozen=True, slots=True)
class Installation:
    """The workspace and organisation where the app is installed, as far as Slack names them."""

    team: str | None = None
    org: str | None = None

    @property
    def tenant(self) -> str | None:
        return self.org or self.team


UNKNOWN_INSTALLATION = Installation()


def read_actor(body: Json, home: Installation = UNKNOWN_INSTALLATION) -> Actor | None:
    """Return the sender of an interactive payload, or None if it names no one."""
    identity = get_text(body, "user", "id")
    if identity is None:
        return None
    own = get_text(body, "user", "team_id") or get_text(body, "team", "id")
    name = get_text(body, "user", "name") or get_text(body, "user", "username") or ""
    return Actor(
        platform=PLATFORM, id=identity, tenant=find_tenant(own, _get_team(body), _get_org(body), home), name=name
    )


def _get_team(body: Json) -> str | None:
    return get_text(body, "team", "id") or get_text(body, "team_id")


def _get_org(body: Json) -> str | None:
    return (
        get_text(body, "enterprise", "id") or get_text(body, "team", "enterprise_id") or get_text(body, "enterprise_id")
    )


def find_tenant(own: str | None, here: str | None, org: str | None, home: Installation) -> str | None:
    """Return a person's own tenant, the same for every payload about them.

    Slack's payloads name the team in one case and the organisation in another. For people of the app's own workspace or
    organisation it is the app's tenant. For guests it is their team. It is None if only their organisation (E…) is
    known, because other payloads name the team.
    """
    own = own or here or org
    if own is None:
        return None
    at_home = own in {home.team, home.org} or (org is not None and org == home.org and here in {None, own})
    if at_home:
        return home.tenant
    return None if own.startswith("E") else own
