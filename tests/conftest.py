"""Rules and fixtures for every test."""

from __future__ import annotations

import gc
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web_app
from hypothesis import HealthCheck, Phase, settings

from askback.text import redaction
from support import compiled_statements
from support.processes import ROOT, Launcher

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["support.stores"]

compiled_statements.share()

TOGETHER = (
    "tests/e2e/demo/test_demo.py::test_an_unseen_scenario_plays",
    "tests/e2e/demo/test_demo.py::test_what_goes_wrong_between_bot_and_services_ends_it_with_1",
)
"""Cases that share a fixture which takes half a minute and every processor; two of these must never run at once."""

SITE = "tests/e2e/demo/test_site.py::"
"""Cases that share the built site, so one process builds it for all of them."""

# The examples are the same each time, at any speed of the machine, so that a result depends only on the code. `pytest
# --hypothesis-profile explore` tries new examples. `unshrunk` is for runs that only ask if a test fails.
settings.register_profile(
    "askback",
    max_examples=50,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("unshrunk", parent=settings.get_profile("askback"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("askback")


COMPILERS = 2
"""Processes that compile the tests before the others start."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Compile the code and the tests before the processes start: in a new clone, each would do it for ten seconds."""
    missing = [str(file) for file in sorted((ROOT / "tests").rglob("test_*.py")) if not _is_compiled(file)]
    if not missing or sys.dont_write_bytecode:
        return
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "0", "core", "bots"], cwd=ROOT, check=True)
    # Only pytest compiles tests as it reads them, so it collects them once and runs none.
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    compilers = [
        subprocess.Popen([*collect, *part], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        for part in (missing[number::COMPILERS] for number in range(COMPILERS))
        if part
    ]
    # If one fails, the error is in a test module, and the processes that collect it report it.
    for compiler in compilers:
        compiler.wait()


def _is_compiled(file: Path) -> bool:
    return next(file.parent.glob(f"__pycache__/{file.stem}.*.pyc"), None) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """With `-n`, give each test to the next free process. `xdist_group` would not work: pytest 9.2 ignores it."""
    from xdist.scheduler import LoadScopeScheduling

    class OneByOne(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(SITE):
                return SITE
            return "together" if nodeid.startswith(TOGETHER) else nodeid

    return OneByOne(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the unit tests as quick."""
    unit = Path(__file__).with_name("unit")
    for item in items:
        if item.path.is_relative_to(unit):
            item.add_marker("quick")


def pytest_collection_finish() -> None:
    """Keep modules and test items out of the collector's way: a full collection of them takes half a second.

    A test leaves little in cycles, so collections after every 700 objects would find nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture(autouse=True, scope="session")
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the settings file and the database of the user who runs the tests."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.delenv("ASKBACK_CONFIG", raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let each client trust one authority. Reading the system's 150 takes 16 ms, and no test connects through TLS."""
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    with pytest.MonkeyPatch.context() as patch:
        if known:
            file = tmp_path_factory.mktemp("certificates") / "one.pem"
            file.write_text(ssl.DER_cert_to_PEM_cert(known[0]), encoding="ascii")
            patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(autouse=True)
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget, at the end of a test, the secrets that it registered: others would find them hidden in their texts."""
    monkeypatch.setattr(redaction, "_known", redaction._known)
    monkeypatch.setattr(redaction, "_any_known", redaction._any_known)
    monkeypatch.setattr(redaction, "_SHAPES", [*redaction._SHAPES])


@pytest.fixture(autouse=True)
def no_applications_left() -> Iterator[None]:
    """Drop what aiohttp remembers of the last 1,024 servers: whole workspaces, bots and databases of other tests."""
    yield
    web_app._cached_build_middleware.cache_clear()


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Launcher]:
    """Start processes quickly. With `-n`, all test processes share one launcher: its start takes four seconds."""
    base = tmp_path_factory.getbasetemp()
    with closing(Launcher((base if worker_id == "master" else base.parent) / "launcher")) as launcher:
        yield launcher
