"""Fork the test processes of xdist from one process that has imported every test.

A test process would take most of its first ten seconds to import the tests and the SDKs. Its arguments are those of
`askback_launcher.py`, then the paths of the tests.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support import launcher


class Warm:
    """Import what tests use, while pytest watches imports: the test processes refuse plugins that it did not see."""

    def pytest_collection_finish(self) -> None:
        from support.askback_launcher import warm

        warm()


def collect() -> None:
    os.environ.pop("PYTEST_ADDOPTS", None)
    options = ["--collect-only", "-qq", "-p", "no:cacheprovider", "-p", "no:xdist"]
    if pytest.main([*options, *sys.argv[3:]], plugins=[Warm()]) != pytest.ExitCode.OK:
        forget_tests()


def forget_tests() -> None:
    """Remove the modules of tests, so that the test processes import them again and report the errors.

    pytest leaves a module whose import failed in `sys.modules`. A test process would find no test there, and no error.
    """
    for name, module in [*sys.modules.items()]:
        file = Path(getattr(module, "__file__", None) or "")
        if file.name == "conftest.py" or file.name.startswith("test_"):
            del sys.modules[name]


if __name__ == "__main__":
    launcher.serve(Path(sys.argv[1]), int(sys.argv[2]), collect)
