"""The bot's work in a thread, as it reports it: the session of an agent, and the older free status text."""

from dataclasses import replace
from typing import get_args

from askback_sandbox.json_values import JsonObject, texts

from . import limits
from .arguments import Arguments
from .checks import Problem, SlackRefusalError
from .places import joined_channel, thread_root
from .values import Channel, Session, SessionStatus
from .workspace import Workspace

SESSION_STATUSES: dict[str, SessionStatus] = {status: status for status in get_args(SessionStatus)}
NOT_STOPPABLE = "missing_agent_session_stopped_event_subscription"


def checked_status(given: str) -> SessionStatus:
    """Return one of the four statuses of a session.

    Raises:
        SlackRefusalError: `invalid_arguments`; free text is the most common mistake here.
    """
    status = SESSION_STATUSES.get(given)
    if status is None:
        raise SlackRefusalError("invalid_arguments", [Problem("must be a valid enum value", "/status")])
    return status


class SessionMethods:
    """agents.sessions.* and assistant.threads.setStatus."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def set_session_status(self, arguments: Arguments) -> JsonObject:
        """agents.sessions.setStatus"""
        channel, thread_ts = self._thread(arguments)
        status = checked_status(arguments.need("status"))
        title = self._title(arguments)
        initiator = arguments.text("initiator_user_id")
        if initiator and not self._is_in(channel, initiator):
            raise SlackRefusalError("user_not_in_channel")
        session = self._workspace.session(channel.id, thread_ts)
        if session is None:
            # Title and initiator count only when the session begins [ref agents.sessions.setStatus].
            session = Session(channel=channel.id, thread_ts=thread_ts, status=status, title=title, initiator=initiator)
        else:
            session = replace(session, status=status, stopped_by=None)
        if not self._workspace.faults.take("ignore", "agents.sessions.setStatus"):
            self._workspace.put_session(session)
        answer: JsonObject = {"status": session.status, "agent_status": session.status, "title": session.title}
        if not self._workspace.hears_stop:
            return {**answer, "warning": NOT_STOPPABLE, "response_metadata": {"warnings": [NOT_STOPPABLE]}}
        return answer

    def rename(self, arguments: Arguments) -> JsonObject:
        """agents.sessions.rename"""
        channel, thread_ts = self._thread(arguments)
        arguments.need("title")
        session = self._workspace.session(channel.id, thread_ts)
        if session is None:
            raise SlackRefusalError("session_not_found")
        renamed = self._workspace.put_session(replace(session, title=self._title(arguments)))
        return {"title": renamed.title}

    def set_status(self, arguments: Arguments) -> JsonObject:
        """assistant.threads.setStatus"""
        channel, thread_ts = self._thread(arguments)
        if "status" not in arguments:
            raise SlackRefusalError("invalid_arguments", [Problem("missing required field: status", "/status")])
        loading = arguments.raw("loading_messages")
        if loading is not None and not isinstance(loading, list):
            raise SlackRefusalError("invalid_arguments", [Problem("must be a valid array", "/loading_messages")])
        if isinstance(loading, list) and len(loading) > limits.LOADING_MESSAGES:
            problem = Problem(f"no more than {limits.LOADING_MESSAGES} items allowed", "/loading_messages")
            raise SlackRefusalError("invalid_arguments", [problem])
        if not self._workspace.faults.take("ignore", "assistant.threads.setStatus"):
            text = arguments.text("status") or ""
            self._workspace.set_status(channel.id, thread_ts, text, tuple(texts(loading)))
        return {}

    def _thread(self, arguments: Arguments) -> tuple[Channel, str]:
        """Return the channel and the thread; a message without replies counts as a thread, too."""
        channel = joined_channel(self._workspace, arguments, name="channel_id")
        thread_ts = arguments.need("thread_ts")
        thread_root(self._workspace, channel, arguments)
        return channel, thread_ts

    @staticmethod
    def _title(arguments: Arguments) -> str | None:
        title = arguments.text("title")
        if title and len(title) > limits.SESSION_TITLE:
            problem = Problem(f"must be less than {limits.SESSION_TITLE + 1} characters", "/title")
            raise SlackRefusalError("invalid_arguments", [problem])
        return title

    def _is_in(self, channel: Channel, person: str) -> bool:
        return person in self._workspace.people and self._workspace.can_see(person, channel)
