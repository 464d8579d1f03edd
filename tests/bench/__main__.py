"""`python -m tests.bench`: one line of JSON per figure on standard output; progress on standard error."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from .compare import format_table, run_in_turn
from .runner import BENCHES, Bench, Unavailable, module
from .table import placed, table

INTERRUPTED = 130


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="Measures, and prints a line of JSON for each figure."
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[*BENCHES], help="run these only")
    parser.add_argument("--quick", action="store_true", help="a few times each: to see that it works, not how fast")
    parser.add_argument("--list", action="store_true", help="say what there is, and end")
    parser.add_argument("--table", type=Path, metavar="FILE", help="make a table of such lines, and end")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="with --table: put it into this page; others stay")
    parser.add_argument(
        "--curves", nargs=2, type=Path, metavar=("FILE", "FOLDER"), help="draw such lines as curves, and end"
    )
    parser.add_argument(
        "--compare", nargs=2, metavar=("BASE", "HEAD"), help="measure two commits in turn; end with 1 if HEAD is slower"
    )
    parser.add_argument("--rounds", type=int, default=3, help="with --compare: how often each is measured (3)")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("/var/tmp"),
        help="where the databases are, on the disk that is to be measured (%(default)s)",
    )
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def measure(names: list[str], folder: Path, *, quick: bool) -> int:
    from .figures import database_in

    failed = 0
    for name in names:
        began = time.monotonic()
        say(f"{name}: {BENCHES[name]}")
        with tempfile.TemporaryDirectory(prefix=f"askback-bench-{name}-", dir=folder) as own:
            bench = Bench(Path(own), await database_in(Path(own)), quick, lambda text: say(f"  {text}"))
            try:
                async for figure in module(name).run(bench):
                    print(figure.line(name), flush=True)
            except Unavailable as why:
                say(f"  left out: {why}")
            except Exception as error:  # noqa: BLE001 - the other benchmarks still run
                failed += 1
                say(f"  failed: {error!r}")
                traceback.print_exc()
        say(f"  {time.monotonic() - began:.1f} s")
    return 1 if failed else 0


def compare_commits(base: str, head: str, options: argparse.Namespace) -> int:
    """Print what differs between two commits. Return 1 if the second is slower in anything."""
    passed_on = ["--folder", str(options.folder), *(["--quick"] if options.quick else [])]
    passed_on += ["--only", *options.only] if options.only else []
    try:
        found = run_in_turn(base, head, rounds=options.rounds, options=passed_on, folder=options.folder, say=say)
    except subprocess.CalledProcessError as error:
        say(f"failed, with exit code {error.returncode}: {' '.join(error.cmd)}")
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    print(format_table(found))
    slower = [one for one in found if one.verdict == "slower"]
    say(f"{len(found)} figures compared; slower beyond the noise: {len(slower)}.")
    return 1 if slower else 0


def main() -> int:
    options = arguments()
    if options.list:
        for name, what in BENCHES.items():
            print(f"{name:<14}{what}")
        return 0
    if options.table is not None:
        lines = options.table.read_text(encoding="utf-8")
        if options.into is None:
            print(table(lines))
            return 0
        try:
            page = placed(lines, options.into.read_text(encoding="utf-8"))
        except ValueError as error:
            say(str(error))
            return 1
        options.into.write_text(page, encoding="utf-8")
        return 0
    if options.curves is not None:
        from .curves import draw

        file, folder = options.curves
        for drawn in draw(file.read_text(encoding="utf-8"), folder):
            say(f"drawn: {drawn}")
        return 0
    if options.compare is not None:
        return compare_commits(*options.compare, options)
    try:
        return asyncio.run(measure(options.only or [*BENCHES], options.folder, quick=options.quick))
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
