"""A fresh database for each round, named as people name it: by ASKBACK_DATABASE_URL."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

STORES = ("sqlite", "postgres")


@contextmanager
def fresh(store: str, folder: Path) -> Generator[str]:
    """An empty database, gone afterwards, and its URL."""
    if store == "sqlite":
        yield str(folder / "askback.db")
        return
    from tests.stores import STANDARD, VARIABLE, Server  # what it needs is an extra

    with Server(os.environ.get(VARIABLE, STANDARD[-1])).database() as url:
        yield url
