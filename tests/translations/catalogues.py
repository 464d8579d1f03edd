"""Reads and writes the catalogues of askback, with Babel."""

from __future__ import annotations

__all__ = ["build_template", "get_path", "read_catalogue", "to_mo", "to_po", "update"]

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from askback.translations.catalogue import LOCALES, Language

from .sentences import find_wrapped, list_sources

DATE = datetime(2026, 1, 1, tzinfo=UTC)
"""The date of each file."""


def get_path(language: Language, suffix: str) -> Path:
    """Return the path of a language's catalogue; `suffix` is ".po" or ".mo"."""
    return LOCALES / language / "LC_MESSAGES" / f"askback{suffix}"


def build_template() -> Catalog:
    """Return the sentences of the sources, each with the modules that say it."""
    template = Catalog(fuzzy=False)
    for module in list_sources():
        for one in find_wrapped(module):
            name = one.ids[0] if len(one.ids) == 1 else one.ids
            flags = ("python-brace-format",) if "{" in one.ids[0] else ()
            template.add(name, locations=[(module, None)], flags=flags)
    return template


def read_catalogue(language: Language) -> Catalog:
    """Return a language's catalogue."""
    with get_path(language, ".po").open("rb") as file:
        return read_po(file, locale=language)


def update(language: Language) -> tuple[str, ...]:
    """Bring a language's catalogue up to date with the sources. Return the sentences that it still lacks."""
    path = get_path(language, ".po")
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue = read_catalogue(language) if path.exists() else Catalog(locale=language, fuzzy=False)
    catalogue.update(build_template(), no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    catalogue.header_comment = f"# The sentences of askback ({language}). CONTRIBUTING.md says how to change one."
    catalogue.project, catalogue.version = "askback", ""
    path.write_bytes(to_po(catalogue))
    get_path(language, ".mo").write_bytes(to_mo(read_catalogue(language)))
    return tuple(str(one.id) for one in catalogue if one.id and not all(_list_translations(one.string)))


def to_po(catalogue: Catalog) -> bytes:
    """Return a catalogue as the text that translators edit, in the order of the modules."""
    file = BytesIO()
    write_po(file, catalogue, width=110, omit_header=False, sort_by_file=True, ignore_obsolete=True)
    lines = file.getvalue().decode().splitlines(keepends=True)
    dropped = ("POT-Creation-Date", "PO-Revision-Date", "Last-Translator", "Language-Team", "Generated-By", "Report-Ms")
    return "".join(line for line in lines if not line.startswith(tuple(f'"{name}' for name in dropped))).encode()


def to_mo(catalogue: Catalog) -> bytes:
    """Return a catalogue as the file that the programs read. It changes only if the sentences do."""
    catalogue.creation_date = catalogue.revision_date = DATE
    file = BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def _list_translations(string: object) -> tuple[str, ...]:
    return tuple(map(str, string)) if isinstance(string, tuple | list) else (str(string or ""),)
