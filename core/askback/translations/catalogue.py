"""Translates the sentences for people in a chat into the current language.

The English sentence is the key of its translations, so that English needs no catalogue, and a missing translation
shows English. The catalogues in `locales` are read when they are first needed.

Templates are always askback's own, and have their values filled in after they are translated:
`_("Only {names} can answer this.").format(names=…)`. CONTRIBUTING.md explains how to change a sentence.
"""

from __future__ import annotations

__all__ = [
    "ENGLISH",
    "LANGUAGES",
    "LOCALES",
    "N_",
    "Language",
    "_",
    "find_language",
    "get_language",
    "ngettext",
    "normalize_language",
    "translate_reason",
    "use_language",
]

import gettext
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args

Language = Literal["en", "de", "es", "fr", "ja", "zh_CN"]
"""A language in which askback speaks to people, as gettext names it."""
ENGLISH: Final[Language] = "en"
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
LOCALES: Final = Path(__file__).parent / "locales"
"""The folder with the catalogues."""
DOMAIN: Final = "askback"
"""Name of the files of a catalogue."""

_BY_NAME: Final[dict[str, Language]] = {language: language for language in LANGUAGES}
_TRADITIONAL: Final = frozenset({"tw", "hk", "mo", "hant"})
"""The parts of a locale's name that mean traditional Chinese, which is not among the languages."""
_current: ContextVar[Language] = ContextVar("askback_language", default=ENGLISH)


def _(message: str) -> str:
    """Return the sentence in the current language."""
    language = _current.get()
    return message if language == ENGLISH else _load(language).gettext(message)


def ngettext(one: str, many: str, number: int) -> str:
    """Return the sentence for this number of things in the current language."""
    language = _current.get()
    if language == ENGLISH:
        return one if number == 1 else many
    return _load(language).ngettext(one, many, number)


def N_(message: str) -> str:  # noqa: N802 - the name that gettext's programs know
    """Return the sentence as it is. This marks a constant that is translated where it is shown."""
    return message


def translate_reason(reason: str) -> str:
    """Return the reason of a failure in the current language, if it is one of the bots' own sentences.

    A bot marks these with `N_`. Error codes, and what a platform says itself, stay as they are.
    """
    return _(reason) if reason else reason  # an empty text is the key of the catalogue's header


def get_language() -> Language:
    """Return the current language."""
    return _current.get()


@contextmanager
def use_language(language: Language | None) -> Generator[None]:
    """Speak this language inside the block. None means English.

    Tasks that begin inside the block speak it, too.
    """
    token = _current.set(language or ENGLISH)
    try:
        yield
    finally:
        _current.reset(token)


def normalize_language(value: object) -> object:
    """Return a language for another usual spelling of its name, such as "zh-CN". Any other value stays as it is."""
    if not isinstance(value, str):
        return value
    name = value.strip().replace("-", "_")
    return next((language for language in LANGUAGES if language.lower() == name.lower()), value)


def find_language(locale: str | None) -> Language | None:
    """Return the language for a locale such as "de-AT", "zh_CN" or "en-GB".

    It is English for a locale that has none of askback's languages. None means that no locale is given.
    """
    if locale is None or not locale.strip():
        return None
    name, *parts = locale.strip().lower().replace("-", "_").split("_")
    if name == "zh":
        return ENGLISH if _TRADITIONAL.intersection(parts) else "zh_CN"
    return _BY_NAME.get(name, ENGLISH)


@cache
def _load(language: Language) -> gettext.NullTranslations:
    """Read a catalogue. Without its file, people read English."""
    return gettext.translation(DOMAIN, LOCALES, [language], fallback=True)
