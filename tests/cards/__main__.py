"""Take pictures of typical cards, and print their sizes: `python -m tests.cards FOLDER`."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from askback.translations.catalogue import ENGLISH, LANGUAGES, use_language

from .pictures import Measured, measure


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cards",
        description="Posts typical cards on the local platforms, before and after the end of their asks. Takes a "
        "picture of each in Chromium, light and dark, 1280 and 390 pixels wide, and prints a table of their sizes.",
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path("screenshots"), help="for the pictures (screenshots)"
    )
    parser.add_argument("--platform", choices=("slack", "discord"), help="only this platform")
    parser.add_argument("--language", choices=LANGUAGES, default=ENGLISH, help="of the cards' own words (en)")
    parser.add_argument("--film", type=Path, metavar="FILE", help="draw the README's moving picture instead (a PNG)")
    given = parser.parse_args()
    if given.film is not None:
        from .film import take_film  # Pillow comes with the extra `bench`

        asyncio.run(take_film(given.film))
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    platforms = (given.platform,) if given.platform else ("slack", "discord")
    print("| card | words | controls | height | settled: words | controls | height |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with use_language(given.language):
        measured = measure(platforms, given.folder)
    for platform, cards in measured.items():
        for name, opened, settled in cards:
            print(f"| {platform}: {name} | {_format(opened)} | {_format(settled)} |")


def _format(size: Measured) -> str:
    return f"{size.words} | {size.controls} | {size.height}"


if __name__ == "__main__":
    main()
