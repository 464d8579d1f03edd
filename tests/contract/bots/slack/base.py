"""The state of the desk on Slack: its services, and the look-ups that every part needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from askback.domain.open_ask_limits import Limits
from askback.runtime.app import Host
from askback_sandbox.json_values import JsonObject
from askback_sandbox.model.model import Model
from askback_sandbox.services import Services
from askback_sandbox.slack.http import SlackHttp
from askback_sandbox.slack.socket import Ack, SlackSocket
from askback_sandbox.slack.values import Message, Person
from contract.bots.driver import Journal, Talk


class SlackBase:
    """The services of a desk on Slack, and what it remembers."""

    platform = "slack"
    host: Host

    def __init__(self, services: Services, delivery: SlackSocket | SlackHttp, journal: Journal, limits: Limits) -> None:
        self.services = services
        self.workspace = services.workspace
        self.journal = journal
        self._delivery = delivery
        self._limits = limits
        self.model: Model = services.model
        self._last: JsonObject = {}
        self._told: list[JsonObject] = []
        """The events about messages that people wrote or edited."""
        self._tell = services.socket.tell
        services.socket.tell = self._noted  # type: ignore[method-assign]

    def _noted(self, payload: JsonObject, done: Callable[[Ack], None] | None = None) -> None:
        if done is not None:
            self._told.append(payload)
        self._tell(payload, done)

    def _person(self, name: str) -> Person:
        person = self.workspace.person(name)
        assert person is not None, name
        return person

    def _messages(self, talk: Talk) -> list[Message]:
        found = [
            message
            for message in self.workspace.messages.values()
            if message.channel == talk.channel
            and message.ephemeral_to is None
            and (message.root == talk.thread if talk.thread is not None else message.thread_ts is None)
        ]
        return [replace(message) for message in sorted(found, key=lambda message: message.ts)]
