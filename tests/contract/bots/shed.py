"""A tool that needs approval, which the model of a desk may call."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from askback import ToolContext, tool

from .driver import GROUPS, PlatformTests


class Shed:
    """A tool that needs approval, and its effects."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []

    def deploy(self, version: str, plan: str = "") -> str:
        """Deploy a version."""
        self.ran.append((version, plan))
        return f"{version} is live"

    @tool(approval="Move {version} to {where}?")
    def move(self, version: str, where: str = "staging") -> str:
        """Move a version."""
        self.ran.append((version, where))
        return f"{version} is on {where}"

    @tool(approval="Refund {amount}?", approval_if=lambda amount: amount > 100)
    def refund(self, amount: int, context: ToolContext) -> str:
        """Pay back."""
        self.ran.append((str(amount), " ".join(person.id for person in context.approvers)))
        return f"{amount} paid"

    def wipe(self, version: str) -> str:
        """Wipe a version."""
        self.ran.append((version, "wiped"))
        return f"{version} is gone"

    @classmethod
    def needing_approval(
        cls, platform: str, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch, module_name: str
    ) -> Shed:
        """Offer the tool to the model of the next desk, with the group as its approvers."""
        shed = cls()
        module = ModuleType(module_name)
        vars(module)["tools"] = [shed.deploy, shed.wipe, shed.move, shed.refund]
        monkeypatch.setitem(sys.modules, module_name, module)
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.setattr(tests_of.desk, "TOOLS", f"AskUserQuestion,ask,{module_name}:tools")
        monkeypatch.setenv("ASKBACK_APPROVAL_TOOLS", "deploy,wipe")
        mark = "" if platform == "slack" else "@&"
        monkeypatch.setenv("ASKBACK_APPROVERS", f"{platform}:{mark}{GROUPS[platform]}")
        return shed
