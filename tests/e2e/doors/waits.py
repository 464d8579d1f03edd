"""Waits of programs for answers, as the database has them and as cards tell of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import psycopg

from e2e.ask.office import Office

AWAY = "The program that asked is not waiting at the moment. Your answer is kept for it."
GONE = "The program that asked no longer waits, so nobody will receive your answer."
UNRECEIVED = "The program that asked has not received this answer yet."
LOST = "The program that asked no longer waits, so nobody has received this answer."


def run(office: Office, statement: str) -> list[Any]:
    """Run a statement on the database of the office."""
    url = office.settings.get("ASKBACK_DATABASE_URL")
    if url is None:
        with closing(sqlite3.connect(office.database, timeout=20.0)) as connection, connection:
            return connection.execute(statement).fetchall()
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


async def waited_for(office: Office, count: int = 1) -> None:
    """Wait until the database knows so many questions for which somebody waits."""
    await office.until(lambda: len(run(office, "SELECT ask_id FROM waits")) == count)


def pass_time(office: Office, seconds: int = 100, of: str = "waits_until") -> None:
    """Move one of the times of all waits into the past."""
    run(office, f"UPDATE waits SET {of} = {of} - {seconds * 1_000_000}")


async def reads(office: Office, *words: str, without: str = "") -> str:
    """Wait until a card that can be answered has these words, and not others."""

    def found() -> list[str]:
        texts = [office.reads(one) for one in office.shown() if office.list_acting(one)]
        return [text for text in texts if all(word in text for word in words) and not (without and without in text)]

    await office.until(found)
    return found()[0]
