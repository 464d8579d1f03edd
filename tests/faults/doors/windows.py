"""The windows in which a process is killed, in the order in which it passes them.

Most are points of `kill_points.py` around a transaction of the store. The others are:

    waiting       the card is posted, and nobody has answered; killed from outside
    tool:began    the tool of the framework has begun
    tool:ended    the tool has taken effect, and has not returned
    result        a server has read the outcome, and builds the result of a request
    sent          the client has received the result; killed from outside
"""

from __future__ import annotations

from collections.abc import Mapping

WAITING, SENT = "waiting", "sent"
OUTSIDE = frozenset({WAITING, SENT})
"""Windows in which the process is killed from outside, once the other side has seen them."""
TOOL_BEGAN, TOOL_ENDED, RESULT = "tool:began", "tool:ended", "result"

OF_FRAMEWORKS: Mapping[str, str] = {
    "before:announce_hand_over": "before the announce",
    "commit:announce_hand_over": "at the commit of the announce",
    "before:ask": "between announce and ask",
    "commit:ask": "at the commit of the ask",
    "after:ask": "after the ask, before its record",
    "after:record_hand_over": "after the record of the ask",
    WAITING: "while it waits",
    "before:claim_hand_overs": "after the answer, before the claim",
    "commit:claim_hand_overs": "at the commit of the claim",
    "after:claim_hand_overs": "after the claim, before the framework resumes",
    TOOL_BEGAN: "inside the tool, before its effect",
    TOOL_ENDED: "inside the tool, after its effect",
    "before:acknowledge_hand_overs": "after the tool, before the ack",
    "commit:acknowledge_hand_overs": "at the commit of the ack",
    "after:acknowledge_hand_overs": "after the ack",
}
IN_DOUBT = frozenset(
    {
        "after:claim_hand_overs", TOOL_BEGAN, TOOL_ENDED, "before:acknowledge_hand_overs",
        "commit:acknowledge_hand_overs",
    }
)  # fmt: skip
"""Windows between the claim and the ack: nobody can know what the framework has done."""
PROVEN: Mapping[str, frozenset[str]] = dict.fromkeys(
    ("langgraph", "langgraph, two nodes"),
    frozenset({"before:acknowledge_hand_overs", "commit:acknowledge_hand_overs"}),
)
"""Windows of a door in which the framework has saved already that it has finished."""
BEFORE_CLAIM = tuple(OF_FRAMEWORKS)[: tuple(OF_FRAMEWORKS).index("after:claim_hand_overs")]
"""Windows after which the next process hands the answer over."""
OF_SERVERS: Mapping[str, str] = {
    "before:ask": "before the ask",
    "commit:ask": "at the commit of the ask",
    "after:ask": "after the ask, before its id is sent",
    WAITING: "while it waits",
    "before:decide": "before the commit of the answer",
    "after:decide": "after the commit of the answer",
    RESULT: "before the result is sent",
    "before:receive_hand_over": "after the result, before the record of its receipt",
    "commit:receive_hand_over": "at the commit of the receipt",
    SENT: "after the result",
}
OF_EQUAL_CALLS: Mapping[str, str] = {name: words for name, words in OF_SERVERS.items() if name != SENT}
"""Windows of a client whose calls have no ids: once its answer is received, the same call asks again."""
ALONE = frozenset({"before:decide", "after:decide"})
"""Windows that a server passes only if it serves the answer itself, without a bot on the same database."""
ORDER = tuple(dict.fromkeys((*OF_FRAMEWORKS, *OF_SERVERS)))
"""All windows, in the order in which a table lists them."""


def list_in_doubt(door: str) -> frozenset[str]:
    """Return the windows of a door in which nobody can know what the framework has done."""
    return IN_DOUBT - PROVEN.get(door, frozenset())
