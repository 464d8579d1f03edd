"""A sandbox for `askback demo` and the tests, and for nothing else: a local Slack, Discord and Messages API.

It never talks to the real services, and no bot in production imports it. It imports neither askback nor a bot, so that
it cannot be adapted to them by accident.
"""

from .services import Services as services  # noqa: N813 - the entry point `askback.sandbox` names it so

__all__ = ["services"]
