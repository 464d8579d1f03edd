"""Fault injection, and a count of the damage. `python -m tests.faults` runs many rounds."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[1])
if TESTS not in sys.path:
    # pytest finds the shared test modules through its own setting; the command needs this path.
    sys.path.append(TESTS)
