"""A fresh database for each round, chosen as users do, by ASKBACK_DATABASE_URL."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

STORES = ("sqlite", "postgres")


@contextmanager
def fresh(store: str, folder: Path) -> Generator[str]:
    """Yield the URL of an empty database, which is removed afterwards."""
    if store == "sqlite":
        yield str(folder / "askback.db")
        return
    from tests.support.stores import STANDARD, VARIABLE, Server  # its dependency is an optional extra

    with Server(os.environ.get(VARIABLE, STANDARD[-1])).database() as url:
        yield url
