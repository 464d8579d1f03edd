"""A workspace on this machine: what a bot needs from Slack and from the model, for trying and for testing.

It imports neither askback nor a bot: what works here was not written to fit.
"""

from .services import Services as services  # noqa: N813 - the entry point `askback.local` names it so

__all__ = ["services"]
