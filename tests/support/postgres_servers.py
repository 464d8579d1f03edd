"""PostgreSQL servers for one test: one that can be restarted, and a primary with its standby.

They listen only on a socket in their own folder: another process could take a port while a server is down.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.stores import Server

STREAMING_SECONDS = 60.0


def programs() -> Path | None:
    """Return the folder of initdb and similar programs; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found is not None:
        # A link among other programs may lead into the folder that has all of them.
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


class Restartable(Server):
    """A server that a test may stop and start."""

    def __init__(self, folder: Path, *, source: Restartable | None = None) -> None:
        """Take the primary as `source` to become its standby."""
        found = programs()
        if found is None:
            pytest.skip("Only where PostgreSQL is installed may a test restart a server.")
        self._bin = found
        self._data = folder / "data"
        self.folder = folder
        # A primary confirms no commit until its standby streams again: the standby's usual 5 s between two attempts
        # would count as time of the bot.
        self._options = (
            f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c max_connections=100 "
            "-c wal_retrieve_retry_interval=100ms"
        )
        super().__init__(f"postgresql://postgres@/postgres?host={folder}")
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
        if source is None:
            self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "--no-sync")
            self.start()
        else:
            self.follow(source)

    @property
    def socket(self) -> Path:
        return self.folder / ".s.PGSQL.5432"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/")

    def start(self) -> None:
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-l", log, "-o", self._options, "-w", "start")

    def stop(self) -> None:
        """Stop it suddenly, as when its machine fails."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    @property
    def runs(self) -> bool:
        return (self._data / "postmaster.pid").exists()

    def made(self, name: str) -> str:
        """Make an empty database on this server, and return its name."""
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    # A pair

    def follow(self, primary: Restartable) -> None:
        """Become the standby of a primary, from a fresh copy of it."""
        if self.runs:
            self.stop()
        shutil.rmtree(self._data, ignore_errors=True)
        primary.execute("CHECKPOINT")
        where = ("-h", str(primary.folder), "-U", "postgres")
        self._run("pg_basebackup", *where, "-D", str(self._data), "-R", "-c", "fast", "-X", "stream", "--no-sync")
        self.start()

    def promote(self) -> None:
        """Become the primary; return once commits are accepted."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "promote")


@contextmanager
def server_folder() -> Iterator[Path]:
    """Yield a folder that the server's user can reach."""
    with TemporaryDirectory(prefix="askback-server-") as name:
        folder = Path(name)
        if os.getuid() == 0:
            # Another user runs the server, and needs access. Pytest's own folders admit only their owner.
            folder.parent.chmod(folder.parent.stat().st_mode | 0o011)
        yield folder


@contextmanager
def restartable_server() -> Iterator[Restartable]:
    with server_folder() as folder:
        server = Restartable(folder)
        try:
            yield server
        finally:
            if server.runs:
                server.stop()


class Pair:
    """A primary and its standby."""

    def __init__(self, primary: Restartable, standby: Restartable) -> None:
        self.primary = primary
        self.standby = standby

    def switch(self) -> None:
        """Stop the primary suddenly, and promote its standby."""
        self.primary.stop()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self) -> None:
        """Make the former primary the standby of the new one."""
        self.standby.follow(self.primary)
        self.join()

    def join(self) -> None:
        """Confirm commits only once they are on the standby, from now on.

        PostgreSQL could otherwise lose commits in a switch. A primary without a standby does not wait for one.
        """
        self.primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.execute("SELECT pg_reload_conf()")
        # The standby's copy contains the setting.
        self.standby.execute("ALTER SYSTEM RESET synchronous_standby_names")
        self.standby.execute("SELECT pg_reload_conf()")
        # Commits that were confirmed before the setting reach the standby once it streams.
        until = time.monotonic() + STREAMING_SECONDS
        while not self.primary.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"):
            assert time.monotonic() < until, "the standby does not stream from its primary"
            time.sleep(0.02)


@contextmanager
def server_pair() -> Iterator[Pair]:
    with server_folder() as first, server_folder() as second:
        primary = Restartable(first)
        standby = Restartable(second, source=primary)
        pair = Pair(primary, standby)
        pair.join()
        try:
            yield pair
        finally:
            for server in (primary, standby):
                if server.runs:
                    server.stop()
