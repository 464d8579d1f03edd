"""Bring the catalogues up to date with the sources, and print what they lack: `python -m tests.translations`."""

from __future__ import annotations

from askback.translations.catalogue import ENGLISH, LANGUAGES

from .catalogues import update


def main() -> int:
    """Return 1 if a language lacks a sentence."""
    lacking = False
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        missing = update(language)
        lacking = lacking or bool(missing)
        print(f"{language}: {len(missing)} sentences are not translated.")
        for sentence in missing:
            print(f"  {sentence}")
    return int(lacking)


if __name__ == "__main__":
    raise SystemExit(main())
