"""The run of MCP's conformance suite says what it needs, and counts only what applies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from conformance.suite import read_results

ROOT = Path(__file__).parents[2]


def test_without_the_suite_the_command_says_what_to_install(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.conformance", str(tmp_path), "--node", str(tmp_path / "node")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "npm install --prefix conformance-0.1.16 @modelcontextprotocol/conformance@0.1.16" in ran.stderr
    assert "Node 22" in ran.stderr


def test_a_check_that_applies_and_fails_is_counted_and_a_fixture_is_not(tmp_path: Path) -> None:
    checks = [
        {"id": "ours", "status": "FAILURE", "errorMessage": "wrong"},
        {"id": "sep-2549-prompts-list-caching-hints", "status": "FAILURE"},
        {"id": "good", "status": "SUCCESS"},
        {"id": "left out", "status": "SKIPPED"},
    ]
    for name in ("caching", "tools-call-image", "server-initialize"):
        folder = tmp_path / f"server-{name}-2026-11-27T05-20-46-858Z"
        folder.mkdir()
        (folder / "checks.json").write_text(json.dumps(checks), encoding="utf-8")
    results = {one.scenario: one for one in read_results(tmp_path)}
    assert {*results} == {"caching", "tools-call-image", "server-initialize"}
    assert results["caching"].failed == (("ours", "wrong"),)
    assert results["caching"].passed == ("good",)
    assert results["caching"].inapplicable is None
    assert results["tools-call-image"].inapplicable is not None
