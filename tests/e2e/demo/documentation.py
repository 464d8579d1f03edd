"""The pages of the documentation, and the programs on them."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", PAGES[page], re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for _, block in found]


def block(page: str, language: str, words: str) -> str:
    """Return the only block with these words."""
    (found,) = (block for block in blocks(page, language) if words in block)
    return found


def started(file: Path, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}
    command = [sys.executable, str(file), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


async def output_of(file: Path, acts: Callable[[], Awaitable[None]], *arguments: str) -> str:
    """Run a program while people act; return what it printed."""
    with started(file, *arguments) as process:
        try:
            await acts()
            out, err = await asyncio.to_thread(process.communicate, timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, err.decode()
    return out.decode()
