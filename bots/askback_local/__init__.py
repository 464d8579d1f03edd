"""A local workspace for trials and tests: everything that a bot needs from Slack, Discord and the model.

It imports neither askback nor a bot, so that it cannot be adapted to them by accident.
"""

from .services import Services as services  # noqa: N813 - the entry point `askback.local` names it so

__all__ = ["services"]
