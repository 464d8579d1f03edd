"""Run `askback` with few file descriptors; the first argument is their number."""

from __future__ import annotations

import resource
import sys

from askback.cli import main

if __name__ == "__main__":
    number = int(sys.argv.pop(1))
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))
    main.main()
