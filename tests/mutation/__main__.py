"""`python -m tests.mutation [MODULE ...]`: change the code in small ways, and list the changes that no test notices.

cosmic-ray makes the changes, one at a time; they are never written into a file. Each runs the tests of its module in
its own process, forked from one that has loaded everything except askback. A change that no test notices is shown, and
must be listed in `equivalent.toml` with the reason why it has no effect. Needs the extra `mutation`.
"""

from __future__ import annotations

import argparse
import sys

from .modules import MODULES, Equivalent, equivalents
from .mutants import mutants_of
from .runs import Runner

LEAST = 0.9
"""The share of the mutants that the tests have to kill."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)}; by default all")
    parser.add_argument("--line", type=int, help="only the mutants of this line")
    arguments = parser.parse_args()
    unknown = set(arguments.modules) - set(MODULES)
    if unknown:
        parser.error(f"no tests are named for {', '.join(sorted(unknown))}")
    known = equivalents()
    runner = Runner()
    bad = [name for name in arguments.modules or MODULES if not run(runner, name, known, arguments.line)]
    if bad:
        print(f"Not good enough: {', '.join(bad)}")
    return 1 if bad else 0


def run(runner: Runner, module: str, known: tuple[Equivalent, ...], line: int | None) -> bool:
    """Run the mutants of one module. Return True if enough were killed and each survivor has a known reason."""
    tests = MODULES[module]
    seconds = runner.baseline(module, tests)
    mutants = [mutant for mutant in mutants_of(module) if line in (None, mutant.line)]
    print(f"{module}: {len(mutants)} mutants; its tests take {seconds:.1f} s", flush=True)
    survivors: list[str] = []
    unexplained = 0
    for number, mutant in enumerate(mutants, 1):
        if runner.kills(mutant, tests):
            continue
        why = next((one.why for one in known if one.fits(mutant)), None)
        unexplained += why is None
        survivors.append(f"{mutant}\n    {why or 'NO REASON IS KNOWN'}")
        print(f"  {number}/{len(mutants)} survived: {survivors[-1]}", flush=True)
    killed = len(mutants) - len(survivors)
    score = killed / len(mutants) if mutants else 1.0
    print(
        f"{module}: {killed} of {len(mutants)} killed ({score:.1%}), {runner.timeouts} of them by the timeout; "
        f"{unexplained} survivors without a reason\n"
    )
    return score >= LEAST and not unexplained


if __name__ == "__main__":
    sys.exit(main())
