"""Ask from the caller's own process: next to a bot on the same database, or without one."""

from __future__ import annotations

__all__ = ["Progress", "UnknownKey", "ask_people"]

import asyncio
import logging
import secrets

from askback.client.addressing import parse_address
from askback.client.duration_parameters import check_wait
from askback.client.external_writes import write
from askback.client.key_check import (
    check_names,
    check_question,
    check_timeout_action,
    format_other_wait,
    has_other_wait,
)
from askback.client.parameter_names import PYTHON, Terms
from askback.client.presence import Loss, Presence
from askback.client.request import AskRequest, Prepared, prepare
from askback.client.result import AskOutcome, get_outcome
from askback.client.session import AskSession, open_session
from askback.domain.ask import Ask
from askback.domain.wait_report import WaitReport
from askback.errors import AskbackError, CallerError
from askback.ports.bot import Bot
from askback.ports.installed_bots import find_only_bot, get_bot, list_bot_names
from askback.settings.core import Settings
from askback.settings.environment import load_settings
from askback.settings.working_directory import describe_unread_database, describe_unread_file
from askback.store.external_access import (
    DatabaseLocation,
    DatabaseNotFound,
    DatabaseNotReady,
    OutdatedDatabase,
    read_snapshot,
)
from askback.store.queries import asks, receipts
from askback.store.url import parse_database_url

log = logging.getLogger("askback.ask")


class UnknownKey(CallerError):
    """Raised when no question was asked with this key."""


class Progress:
    """Receives progress reports while the caller waits; the default ignores them."""

    terms: Terms = PYTHON
    """The caller's names for the parameters of a question."""

    def on_begin(self, ask: Ask, prepared: Prepared | None, *, again: bool) -> None:
        """Report that the ask is stored. `prepared` has the resolved names. `again` means that the key is not new."""

    def on_change(self, ask: Ask) -> None:
        """Report that the ask may be posted now, or that someone may have voted."""

    def note(self, sentence: str) -> None:
        """Report any other note."""


async def ask_people(request: AskRequest | None, key: str | None, progress: Progress) -> AskOutcome:
    """Ask a question, or resume the one that was asked with this key, and wait for its outcome.

    A cancellation leaves the question open. Raises `UnknownKey` or another `CallerError` if the request is wrong, and
    `OperatorError`.
    """
    form = approval = None
    if request is not None:
        # Raise errors in the request before anything is opened.
        form, approval = request.build_form(), request.build_approval()
        request.check_timeout(form)
    settings = load_settings()
    if not progress.terms.is_shell:  # the command reports this itself
        for unread in filter(None, (describe_unread_file(), describe_unread_database(settings))):
            log.warning("%s", unread, extra={"action": "unread_file"})
    where = parse_database_url(settings.database_url)
    if request is not None:
        request.check_secrets()
    known = None if key is None else await asyncio.to_thread(_find_by_key, where, key, alone=request is None)
    if known is not None:
        if request is not None and form is not None:
            check_question(known, form, approval, request.terms)
            check_timeout_action(known, request.on_timeout, request.terms)
            await _check_names(known, request, progress)
        if known.is_complete and (outcome := get_outcome(known)) is not None:
            await _record_receipt(where, known)
            return outcome
        if request is not None and has_other_wait(known, request.wait):
            progress.note(format_other_wait(progress.terms))
        return await _follow(settings, where, known, progress, None)
    if request is None:
        raise UnknownKey(
            f"This database has no question with the key {key!r}: check the key, or give the question and "
            f"{progress.terms.name('to')}."
        )
    # The outcome of an earlier question is there even after its deadline.
    check_wait("wait", request.wait, request.terms)
    prepared = await _prepare_request(request, key or secrets.token_hex(8))
    # Nobody learns a random key that is not reported.
    loss: Loss | None = "with wait" if key is None and type(progress) is Progress else None
    return await _follow(settings, where, prepared, progress, loss)


async def _record_receipt(where: DatabaseLocation, known: Ask) -> None:
    """Record that this caller has received an answer that was there, if its card says, or soon may, that none has."""
    try:
        if await asyncio.to_thread(read_snapshot, where, lambda connection: receipts.is_missing(connection, known.id)):
            await write(where, lambda store: store.record_waits(WaitReport(received=frozenset({known.id}))))
    except AskbackError as error:
        log.info("Could not record a receipt: %s", error, extra={"action": "receipt_not_recorded"})


async def _check_names(known: Ask, request: AskRequest, progress: Progress) -> None:
    """Raise `CallerError` if the names mean other people or places than when the question was first asked.

    Also raises the errors of `_prepare_request`.
    """
    try:
        prepared = await _prepare_request(request, known.key or "", again=True)
    except AskbackError:
        progress.note("This question was asked before. To wait for it without looking up the names, give only its key.")
        raise
    check_names(known, prepared, request.terms)


async def _prepare_request(request: AskRequest, key: str, *, again: bool = False) -> Prepared:
    platform, place = parse_address(request.to, list_bot_names(), request.terms)
    bot = _get_only_bot(request.terms) if platform is None else get_bot(platform)
    async with bot.open_directory() as directory:
        return await prepare(request, place, directory, key, again=again)


def _get_only_bot(terms: Terms) -> Bot:
    bot = find_only_bot()
    if bot is None:
        names = " or ".join(terms.format_parameter("to", f"{name}:#channel") for name in list_bot_names())
        raise CallerError(f"Name the platform of the place, since not exactly one has a token: {names}.")
    return bot


def _find_by_key(where: DatabaseLocation, key: str, *, alone: bool) -> Ask | None:
    """Return the ask with this key, or None. `alone` means that the caller gave the key alone, without a question.

    If `alone`, this raises `OutdatedDatabase` for a database of an earlier release, since the ask may be in it.
    Otherwise the key is looked up again once the database is up to date.
    """
    try:
        return read_snapshot(where, lambda connection: asks.get_by_key(connection, key))
    except OutdatedDatabase as older:
        if alone:
            raise OutdatedDatabase(
                f"{older} Or give the question as well: askback then upgrades the database if no bot is running."
            ) from None
        return None
    except (DatabaseNotFound, DatabaseNotReady):
        return None


async def _follow(
    settings: Settings, where: DatabaseLocation, subject: Prepared | Ask, progress: Progress, loss: Loss | None
) -> AskOutcome:
    """Ask, unless `subject` was asked before, and wait for the outcome."""
    place = subject.found.place if isinstance(subject, Prepared) else subject.place
    async with open_session(settings, where, place.platform, progress.note) as session:
        if isinstance(subject, Prepared):
            ask = await _submit(session, subject, progress)
        else:
            ask = subject
            progress.on_begin(ask, None, again=True)
        presence = Presence(session.record_waits)
        async with presence.running():
            with presence.wait(ask.id, loss):
                settled = await session.wait(ask.id, progress.on_change)
            presence.receive(ask.id)
        await session.wait_until_drawn(settled)
    outcome = get_outcome(settled)
    assert outcome is not None
    return outcome


async def _submit(session: AskSession, prepared: Prepared, progress: Progress) -> Ask:
    """Store the ask, or return the one that was asked with the same key meanwhile."""
    wanted: Ask | None = None

    def build() -> Ask:
        nonlocal wanted
        wanted = prepared.build_ask()
        return wanted

    stored = await session.submit(build)
    again = wanted is not None and stored.id != wanted.id
    if again:
        check_question(stored, prepared.form, prepared.approval, progress.terms)
        check_timeout_action(stored, prepared.on_timeout, progress.terms)
        check_names(stored, prepared, progress.terms)
        if has_other_wait(stored, prepared.wait) and stored.outcome is None:
            progress.note(format_other_wait(progress.terms))
    progress.on_begin(stored, prepared, again=again)
    return stored
