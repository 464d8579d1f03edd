"""Ends a command quietly on Ctrl-C while it starts. It imports nothing else, so that it is in force at once."""

from __future__ import annotations

__all__ = ["end_quietly_on_interrupt", "raise_on_interrupt"]

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


def end_quietly_on_interrupt() -> None:
    """Make Ctrl-C end the process at once, with 130, until `raise_on_interrupt` is called."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)


def raise_on_interrupt() -> None:
    """Make Ctrl-C raise `KeyboardInterrupt` again."""
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _quit(number: int, frame: FrameType | None) -> None:
    """Exit at once: an exception would surface in the middle of some import."""
    os._exit(130)
