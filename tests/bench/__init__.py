"""Benchmarks: `python -m tests.bench` measures, and prints a line of JSON per figure."""
