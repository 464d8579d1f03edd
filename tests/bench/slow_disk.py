"""The bot on a disk that takes 50 ms for each flush: `python -m tests.bench.slow_disk FILE slack`.

The file is the switch of the failing disk; see `tests/faults/bad_disk.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.faults import bad_disk

if __name__ == "__main__":
    state = Path(sys.argv[1])
    state.write_text("slow", encoding="utf-8")
    bad_disk.install(state)
    sys.argv = ["askback", *sys.argv[2:]]
    from askback.cli.main import main

    main()
