"""Runs the conformance suite of MCP against `askback mcp`: `python -m tests.conformance`."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[1])
if TESTS not in sys.path:
    # pytest finds the shared test modules through its own setting; the command needs this path.
    sys.path.append(TESTS)
