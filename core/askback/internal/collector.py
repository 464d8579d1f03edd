"""Python's garbage collector, paused while a process of ours starts.

Imports make half a million objects that live as long as the process. Without a pause, the collector looks through them
dozens of times while the bot starts (0.1 s), and through all of them again during clicks (0.14 s each time).
"""

from __future__ import annotations

__all__ = ["pause_collector", "resume_collector"]

import gc

_is_paused = False


def pause_collector() -> None:
    """Pause the collector. Only commands call this: the collector of a program that imports askback is its own."""
    global _is_paused
    if gc.isenabled():
        _is_paused = True
        gc.disable()


def resume_collector() -> None:
    """Leave everything that exists now to the end of the process, and resume. Does nothing if it is not paused."""
    global _is_paused
    if _is_paused:
        _is_paused = False
        gc.freeze()
        gc.enable()
