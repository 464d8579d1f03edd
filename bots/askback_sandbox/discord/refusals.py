"""Discord's refusals: an HTTP status, a code, a sentence, and the faults of a body with their paths."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from askback_sandbox.json_values import JsonObject, as_object

Path = tuple[str | int, ...]

# code: (HTTP status, sentence) [dd topics/opcodes-and-status-codes]
REFUSALS: dict[int, tuple[int, str]] = {
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10013: (404, "Unknown User"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50003: (403, "Cannot execute action on a DM channel"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    160004: (400, "A thread has already been created for this message"),
    160005: (403, "Thread is locked"),
}


@dataclass(frozen=True)
class Fault:
    """A fault of a body."""

    path: Path
    code: str
    message: str


@dataclass
class Found:
    """All faults of a body, because Discord reports them together."""

    faults: list[Fault] = field(default_factory=list[Fault])

    def add(self, path: Path, code: str, message: str) -> None:
        """Add a fault."""
        self.faults.append(Fault(path, code, message))

    def check(self) -> None:
        """Refuse the body if there are faults.

        Raises:
            DiscordRefusalError: 50035.
        """
        if self.faults:
            raise DiscordRefusalError(50035, faults=self.faults)


class DiscordRefusalError(Exception):
    """A refusal in Discord's words."""

    def __init__(
        self, code: int, *, status: int | None = None, message: str | None = None, faults: Sequence[Fault] = ()
    ) -> None:
        known_status, known_message = REFUSALS.get(code, (400, "Bad Request"))
        self.code = code
        self.status = status or known_status
        self.message = message or known_message
        self.faults = tuple(faults)
        super().__init__(f"{self.status} {self.code}: {self.message}")

    def answer(self) -> JsonObject:
        """Return the body that Discord would send."""
        body: JsonObject = {"message": self.message, "code": self.code}
        if self.faults:
            body["errors"] = error_tree(self.faults)
        return body


def error_tree(faults: Sequence[Fault]) -> JsonObject:
    """Return the faults by their path: {"components": {"0": {"_errors": […]}}}."""
    tree: JsonObject = {}
    for fault in faults:
        node = tree
        for step in fault.path:
            node = as_object(node.setdefault(str(step), {}))
        errors = node.setdefault("_errors", [])
        if isinstance(errors, list):
            errors.append({"code": fault.code, "message": fault.message})
    return tree
