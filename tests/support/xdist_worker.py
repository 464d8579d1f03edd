"""Be the interpreter that execnet starts for a test process of xdist.

execnet calls it as it calls Python: `-u -c CODE`, after the arguments that `build_command` adds. It does not run the
code itself. It asks the launcher of test processes for a fork that does, and ends with it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

LAUNCHER = Path(__file__).with_name("xdist_launcher.py")


def build_command(address: Path, paths: Sequence[str]) -> str:
    """Return the command for `python=` in a gateway specification of execnet. `paths` are those of the tests."""
    return shlex.join([sys.executable, __file__, str(address), *paths])


async def run_in_fork(address: Path, paths: Sequence[str], code: str) -> int:
    sys.path[0] = str(Path(__file__).parents[1])
    from support.processes import Launcher

    with closing(Launcher(address, LAUNCHER, *paths)) as launcher:
        worker = await launcher.start(
            code, folder=Path.cwd(), environment=os.environ, streams=(0, 1, 2), program=Path(__file__)
        )
        return await worker.wait()


def main() -> None:
    match sys.argv[1:]:
        case [code]:
            exec(code, {"__name__": "__main__"})
        case [address, *paths, "-u", "-c", code]:
            sys.exit(asyncio.run(run_in_fork(Path(address), paths, code)))
        case _:
            sys.exit("Only execnet starts this program.")


if __name__ == "__main__":
    main()
