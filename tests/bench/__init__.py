"""The figures: `python -m tests.bench` measures, and prints a line of JSON for each."""
