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
    # An error in a test module is reported by the test processes, which collect it again.
    options = ["--collect-only", "-qq", "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main([*options, *sys.argv[3:]], plugins=[Warm()])


if __name__ == "__main__":
    launcher.serve(Path(sys.argv[1]), int(sys.argv[2]), collect)
