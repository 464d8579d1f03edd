"""The agent's settings."""

from __future__ import annotations

__all__ = ["AgentSettings"]

from dataclasses import dataclass, field

from askback.agent.approvals import ApprovalRules
from askback.agent.audience import Answerers
from askback.agent.budget import MAX_ROUNDS, Budget
from askback.agent.compaction import COMPACT_AT
from askback.agent.prompt import SYSTEM_PROMPT
from askback.tools import QuestionTool, ToolInput


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The agent's settings."""

    model: str
    tools: tuple[QuestionTool[ToolInput], ...]
    system_prompt: str = SYSTEM_PROMPT
    max_tokens: int = 8192
    timeout: float | None = None
    """Seconds that a question waits for people. None means no deadline."""
    silence_timeout: float = 120.0
    """Seconds that the model may be silent in the middle of an answer."""
    compact_at: int | None = COMPACT_AT
    """Number of tokens at which the API compacts a conversation. None means never."""
    budget: Budget = field(default_factory=Budget)
    earlier_answers: int = 0
    """Maximum number of a person's earlier answers to the same question that the model gets with their new answer."""
    rounds: int = MAX_ROUNDS
    """Maximum number of model calls in a row without a message from a person."""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    """The rules for the operator's tools that need approval."""
    answerers: Answerers = field(default_factory=Answerers)
    """The people who may answer questions."""
