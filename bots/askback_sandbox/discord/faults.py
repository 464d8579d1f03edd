"""Discord's faults that tests can cause by name."""

from dataclasses import dataclass
from typing import Literal, get_args

from askback_sandbox.active_faults import ActiveFaults, AnyFault

DiscordFaultKind = Literal[
    "error",  # the operation is refused with `status` and `code`
    "ratelimit",  # HTTP 429 with Retry-After; with `via` as Discord sends it, without as its proxy does
    "drop",  # the connection is cut before anything is done
    "lost_answer",  # everything is done, then the connection is cut instead of an answer
    "foreign",  # something in between answers with `status` and `body`; with `done`, after everything is done
    "delay",  # the operation waits `seconds` first
    "swallow",  # the answer is good and nothing is done (a callback that never reaches the person)
    "twice",  # INTERACTION_CREATE is dispatched twice with the same id and token
    "late",  # INTERACTION_CREATE is dispatched `seconds` after the click
    "replay",  # a dispatch of type `operation` is sent twice, as RESUME does
    "lose",  # a dispatch of type `operation` is not sent, and not replayed
    "no_heartbeat_ack",  # heartbeats are not answered
    "no_resume",  # the next RESUME is answered with INVALID_SESSION
    "close",  # the next IDENTIFY is answered by closing the socket with `code`
    "silent",  # the next IDENTIFY is not answered at all
]
DISCORD_FAULTS: tuple[str, ...] = get_args(DiscordFaultKind)


@dataclass(frozen=True, kw_only=True)
class DiscordFault(AnyFault):
    """One fault. `operation` is an operationId of the OpenAPI document, a dispatch type, or "*" for any."""

    kind: DiscordFaultKind
    operation: str = "*"
    code: int = 0
    message: str = "Internal Server Error"
    retry_after: float = 1.0
    via: bool = True
    everywhere: bool = False  # the rate limit is the global one


class DiscordFaults(ActiveFaults[DiscordFault]):
    """The active faults of Discord."""

    def fail(
        self, operation: str, status: int, code: int = 0, message: str = "Refused on purpose", *, times: int | None = 1
    ) -> int:
        """Let an operation be refused."""
        fault = DiscordFault(kind="error", operation=operation, status=status, code=code, message=message, times=times)
        return self.add(fault)

    def ratelimit(
        self, operation: str, *, retry_after: float = 1.0, via: bool = True, everywhere: bool = False, times: int = 1
    ) -> int:
        """Let an operation be answered with HTTP 429."""
        fault = DiscordFault(
            kind="ratelimit",
            operation=operation,
            retry_after=retry_after,
            via=via,
            everywhere=everywhere,
            times=times,
        )
        return self.add(fault)

    def take(self, kind: DiscordFaultKind, operation: str = "*") -> DiscordFault | None:
        """Return the first fault that applies and use it up once; None if there is none."""
        return self._use_up(lambda fault: fault.kind == kind and fault.operation in ("*", operation))
