"""Rules and fixtures for every test."""

from __future__ import annotations

import gc
import ssl
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web_app
from hypothesis import HealthCheck, Phase, settings

from askback.text import redaction
from support import compiled_statements, xdist_worker
from support.processes import Launcher

if TYPE_CHECKING:
    from execnet import XSpec
    from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["support.stores"]

compiled_statements.share()

LAUNCHER_FOLDER = pytest.StashKey[TemporaryDirectory[str]]()

GROUPS: tuple[tuple[str, ...], ...] = (
    # Two of these must never run at once: their fixture takes half a minute, and every processor.
    (
        "tests/e2e/demo/test_play_scenarios.py::test_an_unseen_scenario_plays",
        "tests/e2e/demo/test_play_failures.py::test_what_goes_wrong_between_bot_and_services_ends_it_with_1",
    ),
    ("tests/e2e/demo/test_site.py::",),  # the built site
    ("tests/contract/bots/test_rolling_upgrade.py::",),  # the compiled code of the last release
)
"""Beginnings of the ids of cases that one process runs, because they share something that takes long to build."""

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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[XSpec]) -> None:
    """Fork the test processes from one that has imported the tests: each would take ten seconds to import them."""
    config.stash[LAUNCHER_FOLDER] = TemporaryDirectory()
    folder = Path(config.stash[LAUNCHER_FOLDER].name)
    for spec in specs:
        if spec.popen and not spec.python:
            spec.python = xdist_worker.build_command(folder / "launcher", config.args)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (folder := config.stash.get(LAUNCHER_FOLDER, None)) is not None:
        folder.cleanup()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """With `-n`, give each test to the next free process. `xdist_group` would not work: pytest 9.2 ignores it."""
    from xdist.scheduler import LoadScopeScheduling

    class OneByOne(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((group[0] for group in GROUPS if nodeid.startswith(group)), nodeid)

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
