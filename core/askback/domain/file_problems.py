"""The sentences about files that the model does not get, for the model and for people."""

from __future__ import annotations

__all__ = ["describe_unread", "explain_to_model", "explain_to_person"]

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from askback.domain.attached_file import FileProblem, FileProblemCode
from askback.translations.catalogue import ENGLISH, N_, _, use_language

_SENTENCES: Final[Mapping[FileProblemCode, str]] = MappingProxyType(
    {
        "too_large": N_("It is too large: the limit is {detail}."),
        "too_many": N_("The limit is {detail} files in a message."),
        "unsupported": N_("Only pictures (PNG, JPEG, GIF, WebP), PDF and text can be read."),
        "mismatch": N_("Its content is not what its name says."),
        "not_asked": N_("The question does not ask for such a file."),
        "not_text": N_("It is not text in UTF-8."),
        "too_wide": N_("The picture is too large: the limit is {detail} pixels in each direction."),
        "protected": N_("It is protected by a password."),
        "broken": N_("It is broken, or not a complete file."),
        "empty": N_("It is empty."),
        "deleted": N_("It was deleted before it was read."),
        "forbidden": N_("Access was refused: {detail}"),
        "unreachable": N_("It could not be fetched: {detail}"),
        "refused": N_("The model's service rejected it."),
    }
)


UNREAD: Final = N_("I cannot read {names}. {reason}")


def describe_unread(names: str, problem: FileProblem) -> str:
    """Return the sentences for people, in their language, about files that the model does not get."""
    return _(UNREAD).format(names=names, reason=_explain(problem))


def explain_to_model(problem: FileProblem) -> str:
    """Return a sentence in English about why the model does not get a file."""
    with use_language(ENGLISH):
        return _explain(problem)


def explain_to_person(problem: FileProblem) -> str:
    """Return the same sentence in the current language."""
    return _explain(problem)


def _explain(problem: FileProblem) -> str:
    return _(_SENTENCES[problem.code]).format(detail=problem.detail)
