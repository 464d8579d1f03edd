"""The bearer tokens of a server over HTTP. Each token has a name, and each name is a principal."""

from __future__ import annotations

__all__ = ["Tokens", "hash_token", "is_sendable", "read_tokens"]

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from askback.errors import OperatorError
from askback.text.redaction import register_secrets

MIN_LENGTH: Final = 20
"""Fewest characters of a token."""


@dataclass(frozen=True, slots=True, repr=False)
class Tokens:
    """The tokens, of which only digests are kept."""

    digests: Mapping[str, bytes]
    """The digests by the names of their principals."""

    def find_principal(self, token: str) -> str | None:
        """Return the name of the token's principal; None if the token is not valid.

        The time that this takes does not depend on how much of a token is right.
        """
        given = _hash(token)
        found: str | None = None
        for name, digest in self.digests.items():
            if hmac.compare_digest(digest, given):
                found = name
        return found


def read_tokens(text: str, source: str) -> Tokens:
    """Read lines, or entries separated by commas, of the form NAME:TOKEN. A line that begins with # is a remark.

    Raises `OperatorError`, which shows no token.
    """
    digests: dict[str, bytes] = {}
    lines = [line.strip() for line in text.splitlines()]
    entries = [entry.strip() for line in lines if not line.startswith("#") for entry in line.split(",")]
    for number, entry in enumerate(filter(None, entries), 1):
        name, colon, token = (part.strip() for part in entry.partition(":"))
        if not colon or not name or not is_sendable(token):
            raise OperatorError(f"Entry {number} of {source} is not NAME:TOKEN: write a name, a colon, and the token.")
        digest = hash_token(token, name, source)
        if name in digests or digest in digests.values():
            raise OperatorError(f"Entry {number} of {source} repeats a name or a token: use each once.")
        digests[name] = digest
    if not digests:
        raise OperatorError(f"{source} has no token: add a line NAME:TOKEN. Make a token with: openssl rand -hex 24")
    return Tokens(digests)


def hash_token(token: str, name: str, source: str) -> bytes:
    """Return the digest of a token, which no log shows from now on.

    Raises `OperatorError`, which shows no token, if a request cannot carry it, or if it could be guessed.
    """
    register_secrets(token)
    if not is_sendable(token):
        raise OperatorError(
            f"The token of {name} in {source} has characters that no request can carry. Make one with: "
            "openssl rand -hex 24"
        )
    if len(token) < MIN_LENGTH:
        raise OperatorError(
            f"The token of {name} in {source} has fewer than {MIN_LENGTH} characters, so it could be guessed. "
            "Make one with: openssl rand -hex 24"
        )
    return _hash(token)


def is_sendable(token: str) -> bool:
    """Return True if the header of a request can carry the token."""
    return token.isascii() and token.isprintable() and " " not in token


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
