"""Flush a folder to the disk."""

from __future__ import annotations

__all__ = ["flush_folder"]

import os
from pathlib import Path


def flush_folder(folder: Path) -> None:
    """Make sure that the names of the folder's files outlive a power failure. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
