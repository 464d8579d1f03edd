"""`python -m askback`: the command line."""

import os
import sys

try:
    here = os.getcwd()  # noqa: PTH109 - nothing else may be imported yet
except FileNotFoundError:
    here = ""
if not sys.flags.safe_path and sys.path[:1] in ([""], [here]):
    # `python -m` puts the working directory there, and with it whatever others wrote into it.
    del sys.path[0]

from askback.cli.main import main

main()
