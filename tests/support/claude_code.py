"""The real Claude Code, which the Claude Agent SDK brings, without any connection to the outside."""

from __future__ import annotations

import json
import os
from pathlib import Path

from support.optional import optional

KEY = "sk-test"
_FOREIGN = ("ANTHROPIC", "ASKBACK", "CLAUDE", "DISCORD", "MCP", "SLACK")


def find_claude() -> Path:
    """Return the program of Claude Code. If the SDK is missing, skip the test; in CI, it fails."""
    return Path(optional("claude_agent_sdk").__file__).parent / "_bundled" / "claude"


def prepare_session(config_dir: Path, folder: Path) -> None:
    """Answer beforehand what Claude Code asks at its first start at a terminal: its looks, the key and the folder."""
    config_dir.mkdir(exist_ok=True)
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {str(folder): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (config_dir / ".claude.json").write_text(json.dumps(known), encoding="utf-8")


def build_claude_environment(base_url: str, config_dir: Path) -> dict[str, str]:
    """Return the environment in which Claude Code talks only to the Messages API at `base_url`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return environment | {
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CONFIG_DIR": str(config_dir),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
