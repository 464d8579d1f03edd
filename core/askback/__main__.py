"""Run the command line: `python -m askback`."""

import os
import sys

try:
    here = os.getcwd()  # noqa: PTH109 - nothing else may be imported yet
except FileNotFoundError:
    here = ""
if not sys.flags.safe_path and sys.path[:1] in ([""], [here]):
    # `python -m` adds the working directory there, and with it any files that others wrote into it.
    del sys.path[0]

from askback.cli.start import start

start()
