"""Kills at the windows of a hand-over: `python -m tests.faults --doors` counts answers that are lost or used twice."""
