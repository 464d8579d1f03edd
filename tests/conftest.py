"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from launching import Launcher

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["stores"]

TOGETHER = (
    "tests/demo/test_demo.py::test_an_unseen_scenario_plays",
    "tests/demo/test_demo.py::test_what_goes_wrong_between_bot_and_services_ends_it_with_1",
)
"""Cases that share something which takes half a minute and every processor: never two of these at once."""

# The same examples each time, however fast the machine is: a run says something about the code alone. New examples
# are looked for with `pytest --hypothesis-profile explore`. `unshrunk` is for whoever asks only whether a test fails.
settings.register_profile(
    "askback", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("unshrunk", parent=settings.get_profile("askback"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("askback")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """With `-n`, one by one to whichever process is free. Not by `xdist_group`, which pytest 9.2 takes no notice of."""
    from xdist.scheduler import LoadScopeScheduling

    class OneByOne(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "together" if nodeid.startswith(TOGETHER) else nodeid

    return OneByOne(config, log)


@pytest.fixture(autouse=True, scope="session")
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No settings file and no database of whoever runs the tests."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.delenv("ASKBACK_CONFIG", raising=False)
        yield


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    launcher = Launcher()
    yield launcher
    launcher.close()
