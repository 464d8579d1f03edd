"""Starts the command line, and ends it quietly on Ctrl-C while it imports the commands."""

from __future__ import annotations

__all__ = ["start"]

from askback.internal.early_interrupt import end_quietly_on_interrupt


def start() -> None:
    """Run the command `askback`."""
    end_quietly_on_interrupt()
    from askback.cli.main import main

    main()
