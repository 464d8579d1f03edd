"""`askback demo`, run as people run it: in its own process."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.demo.plays import ASKBACK, environment
from support.free_port import free_port


def test_a_file_that_is_not_there_and_a_file_without_play_are_told(tmp_path: Path) -> None:
    for arguments, words in (
        (("--play", "none.toml"), "askback: none.toml cannot be read"),
        (("none.toml",), "askback demo --play none.toml"),
        (("--port", "70000"), "70000 is not a valid port"),
    ):
        done = subprocess.run(
            [ASKBACK, "demo", *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=60
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@contextlib.contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a demo; yield it with its port once it has printed its address."""
    port = free_port()
    process = subprocess.Popen(
        [ASKBACK, "demo", "--port", str(port), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**environment(), "COLUMNS": "80"},
        # The test runner may ignore Ctrl-C; the demo must not inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "Press Ctrl-C to stop." in line:
                break
        yield process, port
    finally:
        process.kill()
        process.communicate()


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with demo(tmp_path) as (_, port):
        done = subprocess.run(
            [ASKBACK, "demo", "--port", str(port)], capture_output=True, text=True, env=environment(), timeout=60
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == f"askback: Port {port} is in use: stop the program that listens there, or choose another port with --port.\n"
    )


def _page(port: int) -> Any:
    return urllib.request.urlopen(f"http://127.0.0.1:{port}/people/events", timeout=10)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_the_demo_cleanly_and_at_once(tmp_path: Path, number: int, code: int) -> None:
    with demo(tmp_path) as (process, port), _page(port) as events:
        # An open page keeps a connection; that must not keep the demo from ending.
        events.readline()
        begun = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - begun
    assert (process.returncode, err) == (code, "")
    assert "Traceback" not in out
    assert took < 15, "an open page keeps a server for a minute"


def loads(process: subprocess.Popen[str]) -> None:
    """Wait until the command has begun, which is when its dependencies are loaded.

    Before that, Python itself is starting, and would answer Ctrl-C with a traceback.
    """
    end = time.monotonic() + 60
    while "pydantic_core" not in Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8"):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="nothing here says what a process has loaded")
@pytest.mark.parametrize("after", [0.0, 0.3, 0.8, 1.5])
def test_ctrl_c_while_it_starts_is_quiet(tmp_path: Path, after: float) -> None:
    process = subprocess.Popen(
        [ASKBACK, "demo", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    loads(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")


def test_the_database_of_a_demo_can_be_kept(tmp_path: Path) -> None:
    for _ in range(2):
        with demo(tmp_path, "--database", "kept.db") as (process, _):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        assert (tmp_path / "kept.db").stat().st_size > 0
