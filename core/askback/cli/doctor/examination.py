"""Run all checks of `askback doctor` at the same time, each within its time limit."""

from __future__ import annotations

__all__ = ["examine", "run_doctor"]

import asyncio
import logging
import threading
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import replace

from rich.console import Console
from sqlalchemy import Connection

from askback.cli.doctor.database import examine_database
from askback.cli.doctor.report import Section, exit_code, report
from askback.cli.doctor.settings import examine_file, examine_settings, parse_warning
from askback.cli.doctor.webhooks import examine_webhooks
from askback.errors import OperatorError
from askback.internal.extras import import_extra
from askback.ports.bot import Bot
from askback.ports.findings import Finding, Scene, report_broken, report_error, report_warning
from askback.ports.installed_bots import get_bot, load_bots
from askback.settings.core import Settings
from askback.settings.env_file import describe_unread_env_file
from askback.store.external_access import DatabaseLocation, find_worker_pid, list_worker_platforms, read_snapshot
from askback.store.postgres.address import PostgresAddress
from askback.store.queries import asks
from askback.store.url import parse_database_url

log = logging.getLogger("askback.doctor")

CLICK_SECONDS = 2.0
"""Seconds for which the check tries a commit. The bot rejects a click that it cannot commit within this time."""


async def run_doctor(platform: str | None, seconds: float, console: Console) -> int:
    """Examine, print, and return the exit code. Raises `OperatorError` if the platform does not exist."""
    with console.status("Checking …"):
        sections = await examine(platform, Scene(seconds=seconds))
    report(sections, console)
    return exit_code(sections)


async def examine(platform: str | None = None, scene: Scene | None = None) -> list[Section]:
    """Examine everything, or only one of the platforms, and return the findings."""
    if unreadable := examine_file():
        return [Section("Settings", unreadable)]
    scene = scene or Scene()
    chosen, unclear = _select_bots(platform)
    settings, about_settings = examine_settings()
    done = [Section("Settings", [*about_settings, *unclear])]
    work: list[tuple[str, Awaitable[Sequence[Finding]]]] = []
    workers: dict[str, int] = {}
    open_in: dict[str, frozenset[str]] = {}
    if settings is None:
        cure = "Fix the settings first, then run askback doctor again."
        left = report_broken(
            "not checked", "Without valid settings, the database and the model cannot be checked.", cure
        )
        done.append(Section("Database and model", [left]))
    else:
        try:
            where = parse_database_url(settings.database_url)
        except OperatorError as error:
            done.append(Section("Database", report_error("file", error, "Set ASKBACK_DATABASE_URL to a file.")))
        else:
            workers, open_in = await asyncio.to_thread(_read_workers_and_tenants, where, [bot.name for bot in chosen])
            work.append(("Database", _examine_database_and_webhooks(where)))
        work.append(("Model", _examine_model(settings, scene.seconds)))
    nowhere = frozenset[str]()
    for bot in chosen:
        worker = scene.worker if scene.worker is not None else workers.get(bot.name)
        its = replace(scene, worker=worker, tenants=open_in.get(bot.name, nowhere))
        work.append((bot.name.title(), bot.setup.examine(its)))
    found = await asyncio.gather(*(_run_examination(title, part) for title, part in work))
    return [*done, *(Section(title, part) for (title, _), part in zip(work, found, strict=True))]


def _select_bots(platform: str | None) -> tuple[Sequence[Bot], list[Finding]]:
    """Return the bots to examine, and findings for those with wrong settings or if there are none."""
    if platform is not None:
        return [get_bot(platform)], []
    chosen: list[Bot] = []
    found: list[Finding] = []
    for bot in load_bots().values():
        try:
            if bot.is_configured():
                chosen.append(bot)
        except OperatorError as error:
            findings = report_error("settings", error, "Fix the setting there.")
            found += [finding for finding in findings if finding not in found]
            chosen.append(bot)
    if not chosen:
        names = ", ".join(f"askback doctor --platform {name}" for name in sorted(load_bots()))
        summary = "No platform has a token, so there is no bot to run."
        found.append(
            report_broken("platforms", summary, f"To set a bot up, run: askback init. To see what is missing: {names}")
        )
        found += parse_warning("settings", describe_unread_env_file("doctor"))
    return chosen, found


def _read_workers_and_tenants(
    where: DatabaseLocation, platforms: Sequence[str]
) -> tuple[dict[str, int], dict[str, frozenset[str]]]:
    """Return the process that serves each platform, and the tenants with open questions; empty if they cannot be read.

    The database's own findings report the cause then.
    """
    workers: dict[str, int] = {}
    if not isinstance(where, PostgresAddress):
        with suppress(OperatorError):
            worker = find_worker_pid(where)
            if worker is not None:
                served = list_worker_platforms(where)
                workers = {name: worker for name in platforms if served is None or name in served}

    def work(connection: Connection) -> tuple[dict[str, int], dict[str, frozenset[str]]]:
        tenants: dict[str, set[str]] = {}
        for ask in asks.list_open(connection):
            if ask.place.tenant is not None:
                tenants.setdefault(ask.place.platform, set()).add(ask.place.tenant)
        others = _find_postgres_workers(connection, platforms) if isinstance(where, PostgresAddress) else workers
        return others, {platform: frozenset(found) for platform, found in tenants.items()}

    try:
        return read_snapshot(where, work)
    except OperatorError:
        return workers, {}


def _find_postgres_workers(connection: Connection, platforms: Sequence[str]) -> dict[str, int]:
    """Return 0 for each platform that some process may serve, perhaps on another machine."""
    from askback.store.postgres.external_access import list_processes

    there = list_processes(connection)
    only_asking = there.hearing > len(there.serving)  # a process that only asks does not announce its platform
    return {name: 0 for name in platforms if only_asking or there.may_serve(name)}


async def _examine_database_and_webhooks(where: DatabaseLocation) -> list[Finding]:
    found = await _examine_database(where)
    return [*found, *await asyncio.to_thread(examine_webhooks, where)]


async def _examine_database(where: DatabaseLocation) -> list[Finding]:
    stop = threading.Event()
    try:
        if not isinstance(where, PostgresAddress):
            return await asyncio.to_thread(examine_database, where, patience=CLICK_SECONDS, stop=stop)
        with import_extra("postgres", "PostgreSQL"):
            from askback.cli.doctor.postgres import examine_postgres
        return await asyncio.to_thread(examine_postgres, where, stop=stop)
    finally:
        stop.set()  # after a cancellation, no one waits for the thread


async def _examine_model(settings: Settings, seconds: float) -> list[Finding]:
    if settings.anthropic_api_key is None or not settings.anthropic_api_key.get_secret_value().strip():
        summary = "ANTHROPIC_API_KEY is missing, so `askback run` has no model. Asking needs none."
        cure = "If you want the agent, set it to a key from the Anthropic console."
        return [report_warning("key", summary, cure)]
    with import_extra("agent", "The agent"):
        from askback.cli.doctor.model import examine_model
    return await examine_model(settings, seconds)


async def _run_examination(title: str, work: Awaitable[Sequence[Finding]]) -> Sequence[Finding]:
    """Turn an unexpected error in one part into a finding, so that the other parts are still shown."""
    try:
        return await work
    except OperatorError as error:
        return report_error(title.lower(), error, "Fix that, and run askback doctor again.")
    except Exception as error:
        log.debug("A check failed with a bug.", exc_info=True, extra={"action": "examination_failed", "part": title})
        summary = f"This check failed with an unexpected error ({type(error).__name__})."
        return [report_warning("not checked", summary, "Please report it, with the log of ASKBACK_LOG_LEVEL=DEBUG.")]
