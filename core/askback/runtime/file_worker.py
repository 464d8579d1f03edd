"""Reads the files of people's messages from the platforms, and stores them for the agent."""

from __future__ import annotations

__all__ = ["FileWorker"]

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

from askback.domain.attached_file import FileProblem
from askback.domain.file_check import check_content, get_read_limit
from askback.domain.file_kinds import format_size
from askback.domain.file_problems import describe_unread
from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.clock import utc_now
from askback.manager import QuestionManager
from askback.ports.files import FileReader, FileTooLarge, TransferTooSlow
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.runtime.periodic import STORE_PAUSE, repeat
from askback.store.errors import StoreError
from askback.store.queries.files import PendingFile
from askback.store.queries.outbox_leases import MAX_PAUSE
from askback.store.store import Store
from askback.store.unreadable_rows import UnreadableRow
from askback.text.literal import quote_name
from askback.translations.catalogue import get_language, use_language

log = logging.getLogger("askback.worker")

AT_ONCE = 3
"""Maximum number of files that are read from one platform at the same time. Each is held in memory."""
TRY_SECONDS = 90.0
"""Seconds that one try may take. The lease lasts longer."""
FIRST_PAUSE = 1.0
"""Seconds before the first retry."""
GIVE_UP = timedelta(minutes=15)
"""Time after which a file counts as unreachable. The agent has not waited for it that long."""
LONGEST_NAME = 80
"""Maximum number of characters of a file's name in a sentence."""


class FileWorker:
    """Reads what is due, a few files at once on each platform."""

    def __init__(
        self, store: Store, manager: QuestionManager, readers: Mapping[str, FileReader], look_again: float
    ) -> None:
        """`readers` maps platforms to their readers. `look_again` is the longest sleep in seconds."""
        self._store = store
        self._manager = manager
        self._readers = readers
        self._look_again = look_again
        self._wakeup = asyncio.Event()
        self._in_flight: Counter[str] = Counter()
        """Number of files that are being read from each platform."""

    def wake(self) -> None:
        """Check for files to read now."""
        self._wakeup.set()

    async def run(self) -> None:
        """Read files until cancelled. A slow one delays at most those of its own platform."""
        async with asyncio.TaskGroup() as tasks:

            async def start_due() -> timedelta | None:
                pauses = [await self._start_due(name, tasks) for name in tuple(self._readers)]
                return min((pause for pause in pauses if pause is not None), default=None)

            await repeat("files", self._wakeup, start_due, self._look_again)

    async def _start_due(self, platform: str, tasks: asyncio.TaskGroup) -> timedelta | None:
        """Start to read what is due. Return the time until the next check. None means when a file is read."""
        while free := AT_ONCE - self._in_flight[platform]:
            try:
                items = await self._store.lease_files(free, platform)
            except UnreadableRow as error:
                log.warning("Left a file to a newer process: %s", error, extra={"action": "file_left"})
                return timedelta(seconds=self._look_again)
            if not items:
                return await self._store.get_time_until_file_due(platform)
            for item in items:
                self._in_flight[platform] += 1
                tasks.create_task(self._run_read(item, platform), name=f"askback file {item.id}")
        return None

    async def _run_read(self, item: PendingFile, platform: str) -> None:
        try:
            await self._read(item, platform)
        except StoreError as error:
            log.error(
                "Could not store a file; it is read again later: %s",
                error,
                extra={"action": "store_failed", "file": item.id},
            )
            await asyncio.sleep(STORE_PAUSE)
        finally:
            self._in_flight[platform] -= 1
            self._wakeup.set()

    async def _read(self, item: PendingFile, platform: str) -> None:
        limit = get_read_limit(item.file)
        try:
            async with asyncio.timeout(TRY_SECONDS):
                content = await self._readers[platform].read(item.file, item.message, limit)
        except FileTooLarge:
            await self._fail(item, FileProblem(code="too_large", detail=format_size(limit)))
        except MessageNotFound:
            await self._fail(item, FileProblem(code="deleted"))
        except DeliveryError as error:
            await self._fail(item, FileProblem(code="forbidden", detail=str(error)))
        except RetryableError as error:
            await self._retry(item, error)
        except TimeoutError:
            await self._retry(item, TransferTooSlow(f"it did not arrive within {TRY_SECONDS:.0f} s."))
        except Exception as error:
            log.exception("A bug made reading a file fail.", extra={"action": "file_failed", "file": item.id})
            await self._retry(item, RetryableError(f"there is a bug in askback ({type(error).__name__})."))
        else:
            checked = check_content(item.file, content)
            if isinstance(checked, FileProblem):
                await self._fail(item, checked)
            else:
                await self._store.store_file(item, content, checked)
                extra = {"action": "file_read", "file": item.id, "kind": checked, "bytes": len(content)}
                log.info("Read a file of a message.", extra=extra)

    async def _retry(self, item: PendingFile, error: RetryableError) -> None:
        """Try again later, longer after each failure. Give up after `GIVE_UP`."""
        if item.first_failed_at is not None and utc_now() - item.first_failed_at > GIVE_UP:
            await self._fail(item, FileProblem(code="unreachable", detail=str(error)))
            return
        growing = min(FIRST_PAUSE * 2 ** min(item.attempts - 1, 16), MAX_PAUSE.total_seconds())
        after = growing if error.seconds is None else error.seconds
        log.warning(
            "Could not read a file; trying again in %.1f s: %s",
            after,
            error,
            extra={"action": "file_later", "file": item.id, "attempts": item.attempts},
        )
        await self._store.retry_file(item, timedelta(seconds=after))

    async def _fail(self, item: PendingFile, problem: FileProblem) -> None:
        log.log(
            logging.WARNING if problem.code in {"forbidden", "unreachable"} else logging.INFO,
            "A file of a message cannot be read (%s)%s",
            problem.code,
            f": {problem.detail}" if problem.detail else ".",
            extra={"action": "file_rejected", "file": item.id, "problem": problem.code},
        )
        with use_language(self._manager.language or item.language):
            name = quote_name(item.file.name, LONGEST_NAME)
            notice = OutgoingMessage(
                target=f"file:{item.id}",
                text=describe_unread(name, problem),
                markdown=False,
                only_for=item.author,
                reply_to=item.message,
                language=get_language(),
            )
        await self._store.fail_file(item, problem, notice)
