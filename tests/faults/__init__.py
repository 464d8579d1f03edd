"""Faults, and the count of what they cost. `python -m tests.faults` plays many."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[1])
if TESTS not in sys.path:
    # What all tests share is found there by pytest's own setting; the command has none.
    sys.path.append(TESTS)
