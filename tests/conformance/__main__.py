"""`python -m tests.conformance FOLDER…`: exits with 1 if a case that applies to `askback mcp` does not pass."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from e2e.ask.offices import opened
from support.processes import Launcher

from .cases import CHECKS, SCENARIOS
from .proxy import add_token
from .suite import NODE, PACKAGE, VERSIONS, Missing, Result, Suite, find_suites

TOKEN = "a-token-of-the-conformance-suite"
INSTALL = "\n".join(f"  npm install --prefix conformance-{one} {PACKAGE}@{one}" for one in VERSIONS)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Runs MCP's conformance suite against a real `askback mcp` over HTTP.",
        epilog=f"Install the suite first, each version into a separate folder, and name these:\n{INSTALL}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="where npm has installed the suite")
    parser.add_argument("--node", default="node", help=f"the program of Node {NODE} or newer (node)")
    parser.add_argument("--markdown", action="store_true", help="print the cases as a table for the documentation")
    return parser.parse_args()


async def run(suites: list[Suite]) -> list[tuple[Suite, list[Result]]]:
    """Run each suite against a separate server."""
    results: list[tuple[Suite, list[Result]]] = []
    base = TemporaryDirectory(prefix="askback-conformance-", ignore_cleanup_errors=True)
    with base, closing(Launcher(Path(base.name) / "launcher")) as launcher:
        for number, suite in enumerate(suites):
            folder = Path(base.name) / str(number)
            folder.mkdir()
            async with opened("slack", folder, launcher) as office:
                tokens = folder / "tokens"
                tokens.write_text(f"suite:{TOKEN}\n", encoding="utf-8")
                tokens.chmod(0o600)
                options = ("--to", "slack:#deploys", "--who", "anyone", "--http", "0", "--tokens", str(tokens))
                server = await office.start("mcp", *options)
                await server.said("Serving MCP at ")
                (address,) = re.findall(r"Serving MCP at (http\S+/mcp)\.", server.err)
                async with add_token(address, TOKEN) as url:
                    results.append((suite, await suite.run(url, folder / "results")))
    return results


def show(suite: Suite, results: list[Result]) -> None:
    table = Table(title=f"{PACKAGE} {suite.version}", title_justify="left")
    for name in ("case", "passed", "failed", "not applicable"):
        table.add_column(name)
    for one in results:
        if one.inapplicable is not None:
            table.add_row(one.scenario, "", "", one.inapplicable)
        else:
            table.add_row(one.scenario, str(len(one.passed)), str(len(one.failed) or ""), "")
    console = Console(width=140)
    console.print(table)
    for one in results:
        for check, error in one.failed if one.inapplicable is None else ():
            console.print(f"{one.scenario}: {check}: {error}", markup=False)


def print_markdown(found: list[tuple[Suite, list[Result]]]) -> None:
    applicable = list(dict.fromkeys(one.scenario for _, results in found for one in results if not one.inapplicable))
    print("| case | " + " | ".join(suite.version for suite, _ in found) + " |")
    print("|---|" + "---:|" * len(found))
    for name in applicable:
        cells: list[str] = []
        for _, results in found:
            one = next((one for one in results if one.scenario == name), None)
            cells.append("" if one is None else f"{len(one.passed)} of {len(one.passed) + len(one.failed)}")
        print(f"| `{name}` | " + " | ".join(cells) + " |")


def main() -> int:
    given = parse()
    try:
        suites = find_suites(given.folders, given.node)
    except Missing as missing:
        print(f"{missing} It needs Node {NODE} or newer (--node), and:\n{INSTALL}", file=sys.stderr)
        return 2
    found = asyncio.run(run(suites))
    if given.markdown:
        print_markdown(found)
    failed = 0
    for suite, results in found:
        if not given.markdown:
            show(suite, results)
        failed += sum(len(one.failed) for one in results if one.inapplicable is None)
    known = {one.scenario for _, results in found for one in results}
    if unknown := sorted({*SCENARIOS} - known) if len(found) == len(VERSIONS) else []:
        print(f"The suite has no cases of these names any more: {', '.join(unknown)}.", file=sys.stderr)
        return 1
    print(f"Checks that apply and failed: {failed}. Single checks that do not apply: {len(CHECKS)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
