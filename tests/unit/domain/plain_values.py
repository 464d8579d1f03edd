"""One plain, valid example of each value of a form."""

from __future__ import annotations

from typing import Any

from askback.domain.actions import Action, Select
from askback.domain.ask_policy import Policy
from askback.domain.form import Condition, Form, Option, Question, TextRules
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.open_ask_limits import Limits
from askback.domain.outcome import Answer, Choice, Outcome
from askback.domain.who import Who
from askback.internal.values import Value
from support.cases import NOON

PLAIN: dict[type[Value], dict[str, Any]] = {
    Option: {"value": "v", "label": "L"},
    TextRules: {},
    Condition: {"question": "a"},
    Question: {"id": "a", "prompt": "Which?"},
    Form: {"questions": [{"id": "a", "prompt": "Which?"}]},
    Choice: {"index": 0, "value": "v", "label": "L"},
    Answer: {"question_id": "a", "text": "yes"},
    Outcome: {"status": "cancelled", "at": NOON},
    Actor: {"platform": "local", "id": "U1"},
    Place: {"platform": "local", "channel": "C1"},
    MessageRef: {"channel": "C1", "id": "1"},
    Who: {"anyone": True},
    Policy: {"who": {"anyone": True}},
    Limits: {},
    Select: {"chosen": [0]},
    Action: {
        "ask_id": "x",
        "actor": {"platform": "p", "id": "U"},
        "at": NOON,
        "step": 0,
        "operation": {"kind": "open"},
    },
}
"""The required fields of each value."""
